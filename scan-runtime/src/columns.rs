//! Inputs and outputs whose fields lie in arrays of their own.

mod device;
mod host;

use std::sync::Arc;

use cudarc::driver::{CudaStream, SyncOnDrop, sys};
use scan_codegen::Arrays;

use crate::{DeviceBuffer, DeviceBufferMut, Error, ScanElement, ScanOp, few::Few};
pub use device::DeviceColumnScan;
pub use host::ColumnScan;

/// An element whose fields can lie in arrays of their own (a struct of arrays), for
/// [`Scan::columns`](crate::Scan::columns) and [`DeviceScan::columns`](crate::DeviceScan::columns).
///
/// `#[scan_element]` implements it for structs of up to 16 fields: [`Slices`] is then a tuple of slices, one for each
/// field in the order of declaration. Of a struct with other visibility than its fields, these must be primitives or
/// arrays of primitives. Every other element lies in one array, and its [`Slices`] is one slice, not a tuple.
///
/// # Safety
///
/// [`Fields`](Columns::Fields) has the types of the fields that the layout tells of, in their order.
/// `#[scan_element]` sees to it.
#[diagnostic::on_unimplemented(
    message = "the fields of `{Self}` cannot lie in arrays of their own",
    label = "no element of columns",
    note = "mark it `#[scan_element]`; a struct has at most 16 fields then, each as visible as the struct, or a primitive"
)]
pub unsafe trait Columns: Sized {
    /// The fields, as a tuple; of an element that lies in one array, that as a whole.
    #[doc(hidden)]
    type Fields: Fields;
    #[doc(hidden)]
    fn from_fields(fields: Self::Fields) -> Self;
    #[doc(hidden)]
    fn into_fields(self) -> Self::Fields;
}

/// The arrays in which elements of type `T` lie: `(&[f32], &[u8])` of a struct with fields of these types, `&[f32]` of
/// `f32`.
pub type Slices<'a, T> = <<T as Columns>::Fields as Fields>::Slices<'a>;

/// The same for arrays that are written: `(&mut [f32], &mut [u8])`.
pub type SlicesMut<'a, T> = <<T as Columns>::Fields as Fields>::SlicesMut<'a>;

/// The same in device memory: `(&dyn DeviceBuffer<f32>, &dyn DeviceBuffer<u8>)`.
pub type DeviceSlices<'a, T> = <<T as Columns>::Fields as Fields>::DeviceSlices<'a>;

/// The same for arrays in device memory that are written.
pub type DeviceSlicesMut<'a, T> = <<T as Columns>::Fields as Fields>::DeviceSlicesMut<'a>;

/// Where elements of type `T` lie in host memory.
pub(crate) type At<T> = <<T as Columns>::Fields as Fields>::At;

/// Every array of elements of type `T`.
pub(crate) fn arrays<T: Columns>(at: At<T>) -> Few<HostArray> {
    let mut arrays = Few::default();
    T::Fields::arrays(at, &mut |array| arrays.push(array));
    arrays
}

/// In how many arrays the elements of an input, and those of an output, lie.
pub(crate) type Layouts = (Arrays, Arrays);

/// In how many arrays elements of type `T` lie.
pub(crate) const fn layout<T: Columns>() -> Arrays {
    if <T::Fields as Fields>::BY_FIELD { Arrays::PerField } else { Arrays::One }
}

/// The layouts of a scan by columns.
fn layouts<Op: ScanOp<Input: Columns, Output: Columns>>() -> Layouts {
    (layout::<Op::Input>(), layout::<Op::Output>())
}

/// An array in host memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostArray {
    pub(crate) at: *mut u8,
    /// Bytes of an item.
    pub(crate) item: usize,
}

impl Default for HostArray {
    fn default() -> Self {
        HostArray { at: std::ptr::null_mut(), item: 0 }
    }
}

/// The fields of an element, and the arrays in which they lie.
///
/// # Safety
///
/// Nothing but this module implements it.
#[doc(hidden)]
#[allow(private_interfaces, reason = "sealed: nobody else calls what names private types")]
pub unsafe trait Fields: Copy + Send + Sync + 'static {
    type Slices<'a>: Copy;
    type SlicesMut<'a>;
    type DeviceSlices<'a>: Copy;
    type DeviceSlicesMut<'a>;
    /// Where the arrays begin.
    type At: Copy;
    /// Whether there is an array for each field.
    const BY_FIELD: bool;
    /// Where the arrays begin, and the length of each.
    fn read_at(slices: Self::Slices<'_>, each: &mut dyn FnMut(usize)) -> Self::At;
    fn write_at(slices: Self::SlicesMut<'_>, each: &mut dyn FnMut(usize)) -> Self::At;
    /// Every array, in their order.
    fn arrays(at: Self::At, each: &mut dyn FnMut(HostArray));
    /// # Safety
    ///
    /// The arrays are valid for a read of the item.
    unsafe fn read(at: Self::At, index: usize) -> Self;
    /// # Safety
    ///
    /// The arrays are valid for a write of the item.
    unsafe fn write(self, at: Self::At, index: usize);
    /// Every array in device memory.
    fn device_arrays<'a>(slices: &'a Self::DeviceSlices<'_>, each: &mut dyn FnMut(&'a dyn DeviceArray));
    fn device_arrays_mut<'a>(
        slices: &'a mut Self::DeviceSlicesMut<'_>,
        each: &mut dyn FnMut(&'a mut dyn DeviceArrayMut),
    );
}

/// An array in device memory, of any items.
#[doc(hidden)]
pub trait DeviceArray {
    fn items(&self) -> usize;
    fn stream(&self) -> &Arc<CudaStream>;
    fn pointer<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>);
}

/// The same, of an array that is written.
#[doc(hidden)]
pub trait DeviceArrayMut {
    fn items(&self) -> usize;
    fn stream(&self) -> &Arc<CudaStream>;
    fn pointer<'a>(&'a mut self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>);
}

impl<T> DeviceArray for &dyn DeviceBuffer<T> {
    fn items(&self) -> usize {
        (**self).len()
    }
    fn stream(&self) -> &Arc<CudaStream> {
        (**self).stream()
    }
    fn pointer<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (**self).device_ptr(stream)
    }
}

impl<T> DeviceArrayMut for &mut dyn DeviceBufferMut<T> {
    fn items(&self) -> usize {
        (**self).len()
    }
    fn stream(&self) -> &Arc<CudaStream> {
        (**self).stream()
    }
    fn pointer<'a>(&'a mut self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        (**self).device_ptr_mut(stream)
    }
}

/// An element that lies in one array.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Whole<T>(pub T);

// SAFETY: the one array is that of the elements.
#[allow(private_interfaces, reason = "as of the trait")]
unsafe impl<T: ScanElement> Fields for Whole<T> {
    type Slices<'a> = &'a [T];
    type SlicesMut<'a> = &'a mut [T];
    type DeviceSlices<'a> = &'a dyn DeviceBuffer<T>;
    type DeviceSlicesMut<'a> = &'a mut dyn DeviceBufferMut<T>;
    type At = *mut T;
    const BY_FIELD: bool = false;
    fn read_at(slice: &[T], each: &mut dyn FnMut(usize)) -> *mut T {
        each(slice.len());
        slice.as_ptr().cast_mut()
    }
    fn write_at(slice: &mut [T], each: &mut dyn FnMut(usize)) -> *mut T {
        each(slice.len());
        slice.as_mut_ptr()
    }
    fn arrays(at: *mut T, each: &mut dyn FnMut(HostArray)) {
        each(HostArray { at: at.cast(), item: size_of::<T>() });
    }
    #[inline(always)]
    unsafe fn read(at: *mut T, index: usize) -> Self {
        // SAFETY: the caller vouches for the item.
        Whole(unsafe { at.add(index).read() })
    }
    #[inline(always)]
    unsafe fn write(self, at: *mut T, index: usize) {
        // SAFETY: the caller vouches for the item.
        unsafe { at.add(index).write(self.0) }
    }
    fn device_arrays<'a>(slices: &'a &dyn DeviceBuffer<T>, each: &mut dyn FnMut(&'a dyn DeviceArray)) {
        each(slices);
    }
    fn device_arrays_mut<'a>(
        slices: &'a mut &mut dyn DeviceBufferMut<T>,
        each: &mut dyn FnMut(&'a mut dyn DeviceArrayMut),
    ) {
        each(slices);
    }
}

macro_rules! tuples {
    ($(($($field:ident $index:tt),*))*) => {$(
        // SAFETY: the arrays are those of the fields, in their order.
        #[allow(private_interfaces, reason = "as of the trait")]
        unsafe impl<$($field: ScanElement),*> Fields for ($($field,)*) {
            type Slices<'a> = ($(&'a [$field],)*);
            type SlicesMut<'a> = ($(&'a mut [$field],)*);
            type DeviceSlices<'a> = ($(&'a dyn DeviceBuffer<$field>,)*);
            type DeviceSlicesMut<'a> = ($(&'a mut dyn DeviceBufferMut<$field>,)*);
            type At = ($(*mut $field,)*);
            const BY_FIELD: bool = true;
            fn read_at(slices: Self::Slices<'_>, each: &mut dyn FnMut(usize)) -> Self::At {
                $(each(slices.$index.len());)*
                ($(slices.$index.as_ptr().cast_mut(),)*)
            }
            fn write_at(slices: Self::SlicesMut<'_>, each: &mut dyn FnMut(usize)) -> Self::At {
                $(each(slices.$index.len());)*
                ($(slices.$index.as_mut_ptr(),)*)
            }
            fn arrays(at: Self::At, each: &mut dyn FnMut(HostArray)) {
                $(each(HostArray { at: at.$index.cast(), item: size_of::<$field>() });)*
            }
            #[inline(always)]
            unsafe fn read(at: Self::At, index: usize) -> Self {
                // SAFETY: the caller vouches for the items.
                unsafe { ($(at.$index.add(index).read(),)*) }
            }
            #[inline(always)]
            unsafe fn write(self, at: Self::At, index: usize) {
                // SAFETY: the caller vouches for the items.
                unsafe { $(at.$index.add(index).write(self.$index);)* }
            }
            fn device_arrays<'a>(slices: &'a Self::DeviceSlices<'_>, each: &mut dyn FnMut(&'a dyn DeviceArray)) {
                $(each(&slices.$index);)*
            }
            fn device_arrays_mut<'a>(
                slices: &'a mut Self::DeviceSlicesMut<'_>,
                each: &mut dyn FnMut(&'a mut dyn DeviceArrayMut),
            ) {
                $(each(&mut slices.$index);)*
            }
        }
    )*};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15)
}

macro_rules! whole {
    ($([$($parameters:tt)*] $ty:ty;)*) => {$(
        // SAFETY: it has no fields that its layout tells of.
        unsafe impl<$($parameters)*> Columns for $ty {
            type Fields = Whole<Self>;
            #[inline(always)]
            fn from_fields(Whole(whole): Whole<Self>) -> Self {
                whole
            }
            #[inline(always)]
            fn into_fields(self) -> Whole<Self> {
                Whole(self)
            }
        }
    )*};
}

whole! {
    [] bool; [] i8; [] i16; [] i32; [] i64; [] i128; [] isize; [] u8; [] u16; [] u32; [] u64; [] u128; [] usize; [] f32; [] f64;
    [T: ScanElement, const N: usize] [T; N];
}

#[cfg(feature = "half")]
whole! { [] half::f16; [] half::bf16; }

/// The lengths of several arrays, which have to be the same.
struct Lengths {
    what: &'static str,
    arrays: usize,
    len: usize,
    odd: Option<Error>,
}

impl Lengths {
    fn of(what: &'static str) -> Self {
        Lengths { what, arrays: 0, len: 0, odd: None }
    }

    fn add(&mut self, len: usize) {
        if self.arrays == 0 {
            self.len = len;
        } else if len != self.len && self.odd.is_none() {
            self.odd = Some(Error::ColumnLength { what: self.what, column: self.arrays, len, first: self.len });
        }
        self.arrays += 1;
    }

    fn len(self) -> Result<usize, Error> {
        self.odd.map_or(Ok(self.len), Err)
    }
}

/// Where elements are read, and how many there are.
pub(crate) fn read_at<T: Columns>(slices: Slices<'_, T>) -> Result<(At<T>, usize), Error> {
    let mut lengths = Lengths::of("input");
    let at = T::Fields::read_at(slices, &mut |len| lengths.add(len));
    Ok((at, lengths.len()?))
}

/// Where elements are written, and how many there are.
pub(crate) fn write_at<T: Columns>(slices: SlicesMut<'_, T>) -> Result<(At<T>, usize), Error> {
    let mut lengths = Lengths::of("output");
    let at = T::Fields::write_at(slices, &mut |len| lengths.add(len));
    Ok((at, lengths.len()?))
}

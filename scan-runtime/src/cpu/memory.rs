//! Where inputs are read and outputs written: in one array each, or in one for each field.

use super::Places;
use crate::{
    ScanOp,
    arrays::fields::{Fields, HostArray, for_tuples},
};
#[cfg(feature = "cuda")]
use crate::{call::HostPlaces, few::Few};
#[cfg(feature = "cuda")]
use std::any::TypeId;

/// Elements in memory, by their index.
pub(crate) trait Memory<Op: ScanOp>: Copy {
    /// # Safety
    ///
    /// The index is in bounds, and no other thread writes there.
    unsafe fn read(self, index: usize) -> Op::Input;

    /// # Safety
    ///
    /// The index is in bounds, and no other thread touches it.
    unsafe fn write(self, index: usize, output: Op::Output);

    /// The same memory from an element on.
    ///
    /// # Safety
    ///
    /// The index is in bounds.
    unsafe fn skip(self, index: usize) -> Self;

    /// The first `len` elements, where the loops over vector registers can be had: in one array each.
    fn places(self, len: usize) -> Option<Places<Op>>;

    /// Whether only one thread may write.
    fn is_for_one_thread(self) -> bool;

    /// The same memory without types.
    #[cfg(feature = "cuda")]
    fn host(self, len: usize) -> HostPlaces;
}

/// Memory of elements of type `T` that are read.
#[doc(hidden)]
#[allow(private_interfaces, reason = "nobody else calls what names private types")]
pub trait Reader<T>: Copy {
    /// # Safety
    ///
    /// The index is in bounds.
    unsafe fn read(self, index: usize) -> T;
    /// # Safety
    ///
    /// The index is in bounds.
    unsafe fn skip(self, index: usize) -> Self;
    /// Where the elements begin, if they are in one array.
    fn pointer(self) -> Option<*const T>;
    fn arrays(self, each: &mut dyn FnMut(HostArray));
}

/// Memory of results of type `T` that are written.
#[doc(hidden)]
#[allow(private_interfaces, reason = "nobody else calls what names private types")]
pub trait Writer<T>: Copy {
    /// # Safety
    ///
    /// The index is in bounds, and no other thread touches it.
    unsafe fn write(self, index: usize, value: T);
    /// # Safety
    ///
    /// The index is in bounds.
    unsafe fn skip(self, index: usize) -> Self;
    /// Where the results begin, if they are in one array.
    fn pointer(self) -> Option<*mut T>;
    fn arrays(self, each: &mut dyn FnMut(HostArray));
    /// Whether only one thread may write: results of different indices may go to one place.
    fn is_for_one_thread(self) -> bool {
        false
    }
}

/// One array of elements.
#[allow(private_interfaces, reason = "as of the trait")]
impl<T> Reader<T> for *const T {
    #[inline(always)]
    unsafe fn read(self, index: usize) -> T {
        // SAFETY: the caller vouches for the index.
        unsafe { self.add(index).read() }
    }

    #[inline(always)]
    unsafe fn skip(self, index: usize) -> Self {
        // SAFETY: the caller vouches for the index.
        unsafe { self.add(index) }
    }

    #[inline(always)]
    fn pointer(self) -> Option<*const T> {
        Some(self)
    }

    fn arrays(self, each: &mut dyn FnMut(HostArray)) {
        each(HostArray { at: self.cast_mut().cast(), item: size_of::<T>() });
    }
}

/// One array of results.
#[allow(private_interfaces, reason = "as of the trait")]
impl<T> Writer<T> for *mut T {
    #[inline(always)]
    unsafe fn write(self, index: usize, value: T) {
        // SAFETY: the caller vouches for the index.
        unsafe { self.add(index).write(value) }
    }

    #[inline(always)]
    unsafe fn skip(self, index: usize) -> Self {
        // SAFETY: the caller vouches for the index.
        unsafe { self.add(index) }
    }

    #[inline(always)]
    fn pointer(self) -> Option<*mut T> {
        Some(self)
    }

    fn arrays(self, each: &mut dyn FnMut(HostArray)) {
        each(HostArray { at: self.cast(), item: size_of::<T>() });
    }
}

/// An array for each field: a tuple of them.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Apart<A>(pub(crate) A);

macro_rules! tuples {
    ($(($($field:ident $array:ident $index:tt),*))*) => {$(
        #[allow(private_interfaces, reason = "as of the trait")]
        impl<T: Fields<Tuple = ($($field,)*)>, $($field, $array: Reader<$field>),*> Reader<T> for Apart<($($array,)*)> {
            #[inline(always)]
            unsafe fn read(self, index: usize) -> T {
                // SAFETY: the caller vouches for the index.
                T::from_fields(unsafe { ($(self.0.$index.read(index),)*) })
            }
            #[inline(always)]
            unsafe fn skip(self, index: usize) -> Self {
                // SAFETY: the caller vouches for the index.
                Apart(unsafe { ($(self.0.$index.skip(index),)*) })
            }
            fn pointer(self) -> Option<*const T> {
                None
            }
            fn arrays(self, each: &mut dyn FnMut(HostArray)) {
                $(self.0.$index.arrays(each);)*
            }
        }

        #[allow(private_interfaces, reason = "as of the trait")]
        impl<T: Fields<Tuple = ($($field,)*)>, $($field, $array: Writer<$field>),*> Writer<T> for Apart<($($array,)*)> {
            #[inline(always)]
            unsafe fn write(self, index: usize, value: T) {
                let fields = value.into_fields();
                // SAFETY: the caller vouches for the index.
                unsafe { $(self.0.$index.write(index, fields.$index);)* }
            }
            #[inline(always)]
            unsafe fn skip(self, index: usize) -> Self {
                // SAFETY: the caller vouches for the index.
                Apart(unsafe { ($(self.0.$index.skip(index),)*) })
            }
            fn pointer(self) -> Option<*mut T> {
                None
            }
            fn arrays(self, each: &mut dyn FnMut(HostArray)) {
                $(self.0.$index.arrays(each);)*
            }
            fn is_for_one_thread(self) -> bool {
                $(self.0.$index.is_for_one_thread())||*
            }
        }
    )*};
}

for_tuples! { tuples }

/// Results that are not written, where only totals are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Unwritten;

impl<T> Writer<T> for Unwritten {
    #[inline(always)]
    unsafe fn write(self, _: usize, _: T) {}

    unsafe fn skip(self, _: usize) -> Self {
        self
    }

    fn pointer(self) -> Option<*mut T> {
        None
    }

    fn arrays(self, _: &mut dyn FnMut(HostArray)) {}
}

/// Where inputs are read, and where outputs are written.
#[derive(Clone, Copy)]
pub(crate) struct Both<R, W> {
    pub(crate) input: R,
    pub(crate) output: W,
}

impl<Op: ScanOp, R: Reader<Op::Input>, W: Writer<Op::Output>> Memory<Op> for Both<R, W> {
    #[inline(always)]
    unsafe fn read(self, index: usize) -> Op::Input {
        // SAFETY: the caller vouches for the index.
        unsafe { self.input.read(index) }
    }

    #[inline(always)]
    unsafe fn write(self, index: usize, output: Op::Output) {
        // SAFETY: the caller vouches for the index.
        unsafe { self.output.write(index, output) }
    }

    #[inline(always)]
    unsafe fn skip(self, index: usize) -> Self {
        // SAFETY: the caller vouches for the index.
        unsafe { Both { input: self.input.skip(index), output: self.output.skip(index) } }
    }

    #[inline(always)]
    fn places(self, len: usize) -> Option<Places<Op>> {
        let (input, output) = (self.input.pointer()?, self.output.pointer()?);
        Some(Places { input, output, len })
    }

    fn is_for_one_thread(self) -> bool {
        self.output.is_for_one_thread()
    }

    #[cfg(feature = "cuda")]
    fn host(self, len: usize) -> HostPlaces {
        let (mut input, mut output) = (Few::default(), Few::default());
        self.input.arrays(&mut |array| input.push(array));
        self.output.arrays(&mut |array| output.push(array));
        let one_each = self.input.pointer().is_some() && self.output.pointer().is_some();
        let in_place = one_each && TypeId::of::<Op::Input>() == TypeId::of::<Op::Output>();
        HostPlaces::new(input, output, len, in_place)
    }
}

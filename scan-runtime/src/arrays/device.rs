//! Arrays in device memory, as runs read and write them: slices, and tuples with an array for each field.

use cudarc::driver::CudaStream;
use scan_codegen::ArrayKind;

use super::{Layout, One, PerField, fields::for_tuples};
pub(super) use crate::device::arrays::NO_MEMORY;
pub(super) use crate::device::arrays::{Described, Words};
use crate::{DeviceBuffer, DeviceBufferMut, Fields, ScanElement, sealed::Sealed};

/// An [`Input`](super::Input) of elements of type `T` in device memory.
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[doc(hidden)]
pub unsafe trait DeviceInput<T> {
    const SEALED: Sealed;
    type Layout: Layout;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>));
    fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>);
}

/// An [`Output`](super::Output) of results of type `T` in device memory.
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[doc(hidden)]
pub unsafe trait DeviceOutput<T> {
    const SEALED: Sealed;
    type Layout: Layout;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>));
    fn words<'s>(&'s mut self, stream: &'s CudaStream, words: &mut Words<'s>);
}

// SAFETY: the buffer has as many items.
unsafe impl<T, B: DeviceBuffer<T> + ?Sized> DeviceInput<T> for &B {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        each(Described::of_slice(ArrayKind::Slice, (**self).len(), (**self).stream()));
    }
    fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>) {
        words.push_items((**self).device_ptr(stream), size_of::<T>());
    }
}

// SAFETY: the buffer has as many items.
unsafe impl<T, B: DeviceBufferMut<T> + ?Sized> DeviceOutput<T> for &mut B {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        each(Described::of_slice(ArrayKind::Slice, (**self).len(), (**self).stream()));
    }
    fn words<'s>(&'s mut self, stream: &'s CudaStream, words: &mut Words<'s>) {
        words.push_items((**self).device_ptr_mut(stream), size_of::<T>());
    }
}

macro_rules! tuples {
    ($(($($field:ident $array:ident $index:tt),*))*) => {$(
        // SAFETY: the arrays are those of the fields, in their order.
        unsafe impl<T, $($field: ScanElement, $array),*> DeviceInput<T> for ($($array,)*)
        where
            T: Fields<Tuple = ($($field,)*)>,
            $($array: DeviceInput<$field, Layout = One>,)*
        {
            const SEALED: Sealed = Sealed;
            type Layout = PerField;
            fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
                $(self.$index.describe(each);)*
            }
            fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>) {
                $(self.$index.words(stream, words);)*
            }
        }

        // SAFETY: as above.
        unsafe impl<T, $($field: ScanElement, $array),*> DeviceOutput<T> for ($($array,)*)
        where
            T: Fields<Tuple = ($($field,)*)>,
            $($array: DeviceOutput<$field, Layout = One>,)*
        {
            const SEALED: Sealed = Sealed;
            type Layout = PerField;
            fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
                $(self.$index.describe(each);)*
            }
            fn words<'s>(&'s mut self, stream: &'s CudaStream, words: &mut Words<'s>) {
                $(self.$index.words(stream, words);)*
            }
        }
    )*};
}

for_tuples! { tuples }

//! The arrays that runs over device memory take: one, or a tuple with an array for each field of an element.

use cudarc::driver::CudaStream;
use scan_codegen::{ArrayKind, Arrays};

use super::arrays::{Described, NO_MEMORY, Words};
use crate::{
    Columns, DeviceBufferMut, ScanElement,
    columns::{
        for_tuples, for_tuples_of_fifteen,
        kinds::{PlacedAt, ScatterComputed},
    },
    sealed::Sealed,
};

/// An input of elements of type `T` in device memory: a slice or view, [`indices`](crate::arrays::indices), a
/// [`device_gather`](crate::arrays::device_gather), a neighbour ([`device_previous`](crate::arrays::device_previous),
/// [`device_next`](crate::arrays::device_next)), or along an axis an array with strides of its own
/// ([`device_strided`](crate::arrays::device_strided)). Where `T` is a struct, a tuple with one of these for each field
/// is an input, too.
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an input of elements of type `{T}` in device memory",
    label = "not an input of `{T}`",
    note = "an input is a device slice or view, what the module `arrays` makes, or a tuple with one of these for each field of a struct, in the order of declaration"
)]
pub unsafe trait DeviceInput<T> {
    #[doc(hidden)]
    const SEALED: Sealed;
    #[doc(hidden)]
    type Layout: Layout;
    #[doc(hidden)]
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>));
    #[doc(hidden)]
    fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>);
}

/// An output of results of type `T` in device memory: a slice or mutable view, a
/// [`device_scatter`](crate::arrays::device_scatter), or [`discard`](crate::arrays::discard). Where `T` is a struct, a
/// tuple with one of these for each field is an output, too, and
/// [`scatter_computed`](crate::arrays::scatter_computed).
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an output of results of type `{T}` in device memory",
    label = "not an output of `{T}`",
    note = "an output is a mutable device slice or view, what the module `arrays` makes, or a tuple with one of these for each field of a struct, in the order of declaration (in `scatter_computed` slices and mutable views alone, one for each field after the place)"
)]
pub unsafe trait DeviceOutput<T> {
    #[doc(hidden)]
    const SEALED: Sealed;
    #[doc(hidden)]
    type Layout: Layout;
    #[doc(hidden)]
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>));
    #[doc(hidden)]
    fn words<'s>(&'s mut self, stream: &'s CudaStream, words: &mut Words<'s>);
}

/// In how many arrays elements are.
#[doc(hidden)]
pub trait Layout {
    const ARRAYS: Arrays;
}

/// In one.
#[doc(hidden)]
#[derive(Debug)]
pub enum One {}

/// In an array for each field.
#[doc(hidden)]
#[derive(Debug)]
pub enum PerField {}

impl Layout for One {
    const ARRAYS: Arrays = Arrays::One;
}

impl Layout for PerField {
    const ARRAYS: Arrays = Arrays::PerField;
}

macro_rules! tuples {
    ($(($($field:ident $array:ident $index:tt),*))*) => {$(
        // SAFETY: the arrays are those of the fields, in their order.
        unsafe impl<T, $($field: ScanElement, $array),*> DeviceInput<T> for ($($array,)*)
        where
            T: Columns<Fields = ($($field,)*)>,
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
            T: Columns<Fields = ($($field,)*)>,
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

macro_rules! computed {
    ($(($($field:ident $array:ident $index:tt),*))*) => {$(
        // SAFETY: the buffers have as many items as is told, and kernels touch no others.
        unsafe impl<'a, T, Place, $($field,)* $($array: ?Sized),*> DeviceOutput<T>
            for ScatterComputed<($(&'a mut $array,)*)>
        where
            T: Columns<Fields = (Place, $($field,)*)>,
            Place: ScanElement,
            $($field: PlacedAt<Place>, $array: DeviceBufferMut<<$field as PlacedAt<Place>>::Item>,)*
        {
            const SEALED: Sealed = Sealed;
            type Layout = PerField;
            fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
                each(NO_MEMORY);
                $(
                    let (count, stream) = (self.0.$index.len(), self.0.$index.stream());
                    each(Described { len: None, ..Described::of_slice(ArrayKind::Computed, count, stream) });
                )*
            }
            fn words<'s>(&'s mut self, stream: &'s CudaStream, words: &mut Words<'s>) {
                $(
                    let count = self.0.$index.len().min($field::PLACES) as u64;
                    words.push_pointer(self.0.$index.device_ptr_mut(stream));
                    words.push(count);
                )*
            }
        }
    )*};
}

for_tuples! { tuples }
for_tuples_of_fifteen! { computed }

//! Runs over host memory: the arrays that they take, one, or a tuple with an array for each field of an element.

use scan_codegen::ArrayKind;

use crate::{
    Columns, Error, ScanElement,
    columns::{
        Lengths, for_tuples, for_tuples_of_fifteen,
        kinds::{Lanes, PlacedAt, ScatterComputed, check_computed},
    },
    cpu::{Apart, Reader, Writer},
    device::arguments::{Layout, One, PerField},
    room::room,
    sealed::Sealed,
};

/// An input of elements of type `T` in host memory: a slice, or what borrows as one,
/// [`indices`](crate::arrays::indices), a [`gather`](crate::arrays::gather), a neighbour
/// ([`previous`](crate::arrays::previous), [`next`](crate::arrays::next)), or along an axis an array with strides of
/// its own ([`strided`](crate::arrays::strided)). Where `T` is a struct, a tuple with one of these for each field is an
/// input, too.
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an input of elements of type `{T}`",
    label = "not an input of `{T}`",
    note = "an input is a slice, what the module `arrays` makes, or a tuple with one of these for each field of a struct, in the order of declaration"
)]
pub unsafe trait HostInput<T> {
    #[doc(hidden)]
    const SEALED: Sealed;
    #[doc(hidden)]
    type Layout: Layout;
    #[doc(hidden)]
    type At: Reader<T>;
    /// The kind of each array.
    #[doc(hidden)]
    const KINDS: &'static [ArrayKind];
    #[doc(hidden)]
    type Held;
    /// How many items each array has, if it has a length.
    #[doc(hidden)]
    fn items(&self, lengths: &mut Lengths);
    /// As many items as the lanes have, as slices have them; or none where items need no memory, because they are
    /// computed.
    #[doc(hidden)]
    fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<Self::Held, Error>;
    /// Null where nothing is held.
    #[doc(hidden)]
    fn at(held: &Self::Held) -> Self::At;
}

/// An output of results of type `T` in host memory: a mutable slice, or what borrows as one, a
/// [`scatter`](crate::arrays::scatter), or [`discard`](crate::arrays::discard). Where `T` is a struct, a tuple with one
/// of these for each field is an output, too, and [`scatter_computed`](crate::arrays::scatter_computed).
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an output of results of type `{T}`",
    label = "not an output of `{T}`",
    note = "an output is a mutable slice, what the module `arrays` makes, or a tuple with one of these for each field of a struct, in the order of declaration (in `scatter_computed` mutable slices alone, one for each field after the place)"
)]
pub unsafe trait HostOutput<T> {
    #[doc(hidden)]
    const SEALED: Sealed;
    #[doc(hidden)]
    type Layout: Layout;
    #[doc(hidden)]
    type At: Writer<T>;
    /// The kind of each array.
    #[doc(hidden)]
    const KINDS: &'static [ArrayKind];
    #[doc(hidden)]
    type Held;
    #[doc(hidden)]
    fn items(&mut self, lengths: &mut Lengths);
    /// Room for `len` items; or none where items need no `memory`, because they are not written.
    #[doc(hidden)]
    fn hold(self, array: usize, len: usize, memory: bool) -> Result<Self::Held, Error>;
    /// Null where nothing is held.
    #[doc(hidden)]
    fn at(held: &mut Self::Held) -> Self::At;
    /// Moves what is held to where it belongs.
    ///
    /// # Safety
    ///
    /// All items have been written.
    #[doc(hidden)]
    unsafe fn finish(held: Self::Held) -> Result<(), Error>;
}

/// The kind of one array.
const fn kind(kinds: &[ArrayKind]) -> ArrayKind {
    match kinds {
        [kind, ..] => *kind,
        [] => ArrayKind::Slice,
    }
}

macro_rules! tuples {
    ($(($($field:ident $array:ident $index:tt),*))*) => {$(
        // SAFETY: the arrays are those of the fields, in their order.
        unsafe impl<T, $($field: ScanElement, $array),*> HostInput<T> for ($($array,)*)
        where
            T: Columns<Fields = ($($field,)*)>,
            $($array: HostInput<$field, Layout = One, At = *const $field>,)*
        {
            const SEALED: Sealed = Sealed;
            type Layout = PerField;
            type At = Apart<($($field,)*)>;
            const KINDS: &'static [ArrayKind] = &[$(kind(<$array as HostInput<$field>>::KINDS)),*];
            type Held = ($($array::Held,)*);
            #[inline]
    fn items(&self, lengths: &mut Lengths) {
                $(self.$index.items(lengths);)*
            }
            fn hold(self, _: usize, lanes: Lanes<'_>) -> Result<Self::Held, Error> {
                Ok(($(self.$index.hold($index, lanes)?,)*))
            }
            fn at(held: &Self::Held) -> Self::At {
                Apart(($($array::at(&held.$index).cast_mut(),)*))
            }
        }

        // SAFETY: as above.
        unsafe impl<T, $($field: ScanElement, $array),*> HostOutput<T> for ($($array,)*)
        where
            T: Columns<Fields = ($($field,)*)>,
            $($array: HostOutput<$field, Layout = One, At = *mut $field>,)*
        {
            const SEALED: Sealed = Sealed;
            type Layout = PerField;
            type At = Apart<($($field,)*)>;
            const KINDS: &'static [ArrayKind] = &[$(kind(<$array as HostOutput<$field>>::KINDS)),*];
            type Held = ($($array::Held,)*);
            #[inline]
    fn items(&mut self, lengths: &mut Lengths) {
                $(self.$index.items(lengths);)*
            }
            fn hold(self, _: usize, len: usize, memory: bool) -> Result<Self::Held, Error> {
                Ok(($(self.$index.hold($index, len, memory)?,)*))
            }
            fn at(held: &mut Self::Held) -> Self::At {
                Apart(($($array::at(&mut held.$index),)*))
            }
            unsafe fn finish(held: Self::Held) -> Result<(), Error> {
                // SAFETY: the caller vouches for the items.
                unsafe { $($array::finish(held.$index)?;)* }
                Ok(())
            }
        }
    )*};
}

macro_rules! computed {
    (kind $index:tt) => { ArrayKind::Computed };
    ($(($($field:ident $array:ident $index:tt),*))*) => {$(
        // SAFETY: what is held has room for so many items of each field.
        unsafe impl<'a, T, Place, $($field,)* $($array: ?Sized),*> HostOutput<T>
            for ScatterComputed<($(&'a mut $array,)*)>
        where
            T: Columns<Fields = (Place, $($field,)*)>,
            Place: ScanElement,
            $($field: PlacedAt<Place>, $array: AsMut<[<$field as PlacedAt<Place>>::Item]>,)*
        {
            const SEALED: Sealed = Sealed;
            type Layout = PerField;
            type At = Apart<(Place, $($field,)*)>;
            const KINDS: &'static [ArrayKind] = &[ArrayKind::NoMemory, $(computed!(kind $index)),*];
            type Held = (usize, Vec<Place>, ($(Vec<$field>,)*), ($(&'a mut $array,)*));
            #[inline]
    fn items(&mut self, lengths: &mut Lengths) {
                (0..=[$($index),*].len()).for_each(|_| lengths.add(None));
            }
            fn hold(self, _: usize, len: usize, _: bool) -> Result<Self::Held, Error> {
                Ok((len, room(len)?, ($(room::<$field>(len)?,)*), self.0))
            }
            fn at((_, places, items, _): &mut Self::Held) -> Self::At {
                Apart((places.as_mut_ptr(), $(items.$index.as_mut_ptr(),)*))
            }
            unsafe fn finish((len, mut places, mut items, arrays): Self::Held) -> Result<(), Error> {
                // SAFETY: there is room for so many, and the caller vouches that they have been written.
                unsafe { places.set_len(len) };
                $(check_computed::<Place, $field>($index + 1, &places, arrays.$index.as_mut().len())?;)*
                $(
                    // SAFETY: as above.
                    unsafe { items.$index.set_len(len) };
                    let array = arrays.$index.as_mut();
                    for (place, item) in places.iter().zip(items.$index) {
                        item.put(*place, array);
                    }
                )*
                Ok(())
            }
        }
    )*};
}

for_tuples! { tuples }
for_tuples_of_fifteen! { computed }

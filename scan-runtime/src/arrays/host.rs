//! Arrays in host memory, as runs read and write them: slices, and tuples with an array for each field.

use scan_codegen::{ArrayKind, Axis};

use super::{
    Layout, One, PerField,
    fields::{Lengths, for_tuples},
};
use crate::{
    Error, Fields, ScanElement, SegmentOffset,
    cpu::{Apart, Reader, Writer},
    sealed::Sealed,
};

/// An [`Input`](super::Input) of elements of type `T` in host memory.
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[doc(hidden)]
pub unsafe trait HostInput<T> {
    const SEALED: Sealed;
    type Layout: Layout;
    type At: Reader<T>;
    /// The kind of each array.
    const KINDS: &'static [ArrayKind];
    type Held;
    /// How many items each array has, if it has a length.
    fn items(&self, lengths: &mut Lengths);
    /// As many items as the lanes have, as slices have them; or none where items need no memory, because they are
    /// computed.
    fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<Self::Held, Error>;
    /// Null where nothing is held.
    fn at(held: &Self::Held) -> Self::At;
}

/// An [`Output`](super::Output) of results of type `T` in host memory.
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[doc(hidden)]
pub unsafe trait HostOutput<T> {
    const SEALED: Sealed;
    type Layout: Layout;
    type At: Writer<T>;
    /// The kind of each array.
    const KINDS: &'static [ArrayKind];
    type Held;
    fn items(&mut self, lengths: &mut Lengths);
    /// Room for `len` items; or none where items need no `memory`, because they are not written.
    fn hold(self, array: usize, len: usize, memory: bool) -> Result<Self::Held, Error>;
    /// Null where nothing is held.
    fn at(held: &mut Self::Held) -> Self::At;
    /// Moves what is held to where it belongs.
    ///
    /// # Safety
    ///
    /// All items have been written.
    unsafe fn finish(held: Self::Held) -> Result<(), Error>;
}

/// What the arrays of an input are held for.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Lanes<'a> {
    /// Items of each array.
    pub(crate) len: usize,
    /// Whether items that are computed need memory.
    pub(crate) memory: bool,
    /// Items of a row.
    pub(crate) row: usize,
    /// The axis, where the scan is along one.
    pub(crate) axis: Option<&'a Axis>,
}

impl Lanes<'_> {
    /// Whether an array of `len` items has as many as the others.
    pub(crate) fn same_len(&self, array: usize, len: usize) -> Result<(), Error> {
        same_len("input", array, len, self.len)
    }
}

fn same_len(what: &'static str, array: usize, len: usize, first: usize) -> Result<(), Error> {
    if len == first { Ok(()) } else { Err(Error::ArrayLength { what, array, len, first }) }
}

/// The places of an array, of which there are `len`: all are among `count`.
pub(super) fn check_places<P: SegmentOffset>(
    what: &'static str,
    array: usize,
    places: &[P],
    count: usize,
) -> Result<(), Error> {
    match places.iter().position(|place| place.index() >= count) {
        Some(position) => {
            Err(Error::IndexOutOfBounds { what, array, position, index: places[position].number(), len: count })
        }
        None => Ok(()),
    }
}

// SAFETY: what is held is a slice of so many items.
unsafe impl<'a, T: 'a, S: AsRef<[T]> + ?Sized> HostInput<T> for &'a S {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *const T;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::Slice];
    type Held = &'a [T];
    #[inline]
    fn items(&self, lengths: &mut Lengths) {
        lengths.add(Some((**self).as_ref().len()));
    }
    fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<&'a [T], Error> {
        let slice = self.as_ref();
        lanes.same_len(array, slice.len())?;
        Ok(slice)
    }
    fn at(held: &&'a [T]) -> *const T {
        held.as_ptr()
    }
}

// SAFETY: what is held is a slice of so many items.
unsafe impl<'a, T: 'a, S: AsMut<[T]> + ?Sized> HostOutput<T> for &'a mut S {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *mut T;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::Slice];
    type Held = &'a mut [T];
    #[inline]
    fn items(&mut self, lengths: &mut Lengths) {
        lengths.add(Some((**self).as_mut().len()));
    }
    fn hold(self, array: usize, len: usize, _: bool) -> Result<&'a mut [T], Error> {
        let slice = self.as_mut();
        same_len("output", array, slice.len(), len)?;
        Ok(slice)
    }
    fn at(held: &mut &'a mut [T]) -> *mut T {
        held.as_mut_ptr()
    }
    unsafe fn finish(_: &'a mut [T]) -> Result<(), Error> {
        Ok(())
    }
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
            T: Fields<Tuple = ($($field,)*)>,
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
            T: Fields<Tuple = ($($field,)*)>,
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

for_tuples! { tuples }

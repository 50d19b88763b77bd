//! Arrays in host memory, as runs read and write them: slices, and tuples with an array for each field.

use scan_codegen::{ArrayKind, Axis};

use super::{
    Layout, One, PerField,
    fields::{Lengths, for_tuples},
    shape::{Flat, Shape, Shaped},
};
use crate::{
    Error, Fields, ScanElement, SegmentOffset,
    cpu::{Apart, Reader, Writer},
    host::cost::EachSlice,
    run::{HostSlice, HostSliceMut},
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
    /// The kind of new results.
    type Shape: Shape;
    /// Whether an array has a shape.
    const SHAPED: bool = false;
    /// The kind of each array.
    const KINDS: &'static [ArrayKind];
    /// Bytes of an item that a device is given.
    const BYTES: usize = bytes_of_one::<T>(Self::KINDS);
    type Held;
    /// How many items each array has, if it has a length.
    fn items(&self, lengths: &mut Lengths);
    /// As many items as the lanes have, as slices have them; or none where items need no memory, because they are
    /// computed.
    fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<Self::Held, Error>;
    /// The slices that are held where they are.
    fn slices(&self, _: &mut EachSlice<'_>) {}
    /// Null where nothing is held.
    fn at(held: &Self::Held) -> Self::At;
    /// The shape of the arrays, if they have one.
    fn shape(&self) -> Result<Option<Shaped>, Error> {
        Ok(None)
    }
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
    /// Whether an array has a shape.
    const SHAPED: bool = false;
    /// The kind of each array.
    const KINDS: &'static [ArrayKind];
    /// Bytes of an item that a device gives.
    const BYTES: usize = bytes_of_one::<T>(Self::KINDS);
    type Held;
    fn items(&mut self, lengths: &mut Lengths);
    /// Room for the items that are written, or for as many of them as are held at once.
    fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<Self::Held, Error>;
    /// The slices that are held where they are.
    fn slices(&self, _: &mut EachSlice<'_>) {}
    /// Whether items are held before they are moved to where they belong.
    const STAGED: bool = false;
    /// Makes room for `len` items that a device writes, where the host moves them to their places.
    fn stage(_: &mut Self::Held, _len: usize) -> Result<(), Error> {
        Ok(())
    }
    /// Where items are written from this one on.
    fn at(held: &mut Self::Held, start: usize) -> Self::At;
    /// Moves the held items to their places: `len` of them, for elements from `start` on. Then none is held.
    ///
    /// # Safety
    ///
    /// These items have been written.
    unsafe fn flush(_: &mut Self::Held, _start: usize, _len: usize) -> Result<(), Error> {
        Ok(())
    }
    /// Ends the writing.
    ///
    /// # Safety
    ///
    /// All items have been written.
    unsafe fn finish(held: Self::Held) -> Result<(), Error>;
    /// The shape of the arrays, if they have one.
    fn shape(&self) -> Result<Option<Shaped>, Error> {
        Ok(None)
    }
}

/// What the arrays of an input or of an output are held for.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Lanes<'a> {
    /// Items of each array.
    pub(crate) len: usize,
    /// Whether indices are read from memory.
    pub(crate) memory: bool,
    /// Whether a device reads and writes what is held, and not the loops of the CPU.
    pub(crate) device: bool,
    /// Items that an output holds at once.
    pub(crate) part: usize,
    /// Items of a row.
    pub(crate) row: usize,
    /// The axis, where the scan is along one.
    pub(crate) axis: Option<&'a Axis>,
}

impl Lanes<'_> {
    /// Whether an array of `len` items has as many as the others.
    pub(crate) fn same_len(&self, what: &'static str, array: usize, len: usize) -> Result<(), Error> {
        let first = self.len;
        if len == first { Ok(()) } else { Err(Error::ArrayLength { what, array, len, first }) }
    }
}

/// The places of an array, of which there are `len`: all are among `count`.
pub(super) fn check_places<P: SegmentOffset>(
    what: &'static str,
    array: usize,
    places: &[P],
    count: usize,
) -> Result<(), Error> {
    // Without a branch for each place, the compiler looks at several at once.
    let is_beyond = |places: &[P]| places.iter().fold(false, |beyond, place| beyond | (place.index() >= count));
    if !places.chunks(64).any(is_beyond) {
        return Ok(());
    }
    match places.iter().position(|place| place.index() >= count) {
        Some(position) => {
            Err(Error::IndexOutOfBounds { what, array, position, index: places[position].number(), len: count })
        }
        None => Ok(()),
    }
}

// SAFETY: what is held is a slice of so many items.
unsafe impl<'a, T: 'a, S: HostSlice<Item = T> + ?Sized> HostInput<T> for &'a S {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *const T;
    type Shape = Flat;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::Slice];
    type Held = &'a [T];
    #[inline]
    fn items(&self, lengths: &mut Lengths) {
        lengths.add(Some((**self).slice().len()));
    }
    fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<&'a [T], Error> {
        let slice = self.slice();
        lanes.same_len("input", array, slice.len())?;
        Ok(slice)
    }
    fn slices(&self, each: &mut EachSlice<'_>) {
        let slice = (**self).slice();
        each(slice.as_ptr().cast(), size_of_val(slice));
    }
    fn at(held: &&'a [T]) -> *const T {
        held.as_ptr()
    }
}

// SAFETY: what is held is a slice of so many items.
unsafe impl<'a, T: 'a, S: HostSliceMut<Item = T> + ?Sized> HostOutput<T> for &'a mut S {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *mut T;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::Slice];
    type Held = &'a mut [T];
    #[inline]
    fn items(&mut self, lengths: &mut Lengths) {
        lengths.add(Some((**self).slice_mut().len()));
    }
    fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<&'a mut [T], Error> {
        let slice = self.slice_mut();
        lanes.same_len("output", array, slice.len())?;
        Ok(slice)
    }
    fn slices(&self, each: &mut EachSlice<'_>) {
        let slice = (**self).slice();
        each(slice.as_ptr().cast(), size_of_val(slice));
    }
    fn at(held: &mut &'a mut [T], start: usize) -> *mut T {
        held.as_mut_ptr().wrapping_add(start)
    }
    unsafe fn finish(_: &'a mut [T]) -> Result<(), Error> {
        Ok(())
    }
}

/// Bytes of an item of one array, unless it has no memory.
const fn bytes_of_one<T>(kinds: &[ArrayKind]) -> usize {
    match kinds {
        [ArrayKind::NoMemory] => 0,
        _ => size_of::<T>(),
    }
}

/// The kind of one array.
const fn kind(kinds: &[ArrayKind]) -> ArrayKind {
    match kinds {
        [kind, ..] => *kind,
        [] => ArrayKind::Slice,
    }
}

/// The shape of several arrays.
fn common<const N: usize>(shapes: [Option<Shaped>; N]) -> Result<Option<Shaped>, Error> {
    let mut shapes = shapes.into_iter();
    let first = shapes.next().unwrap_or_default();
    shapes.try_fold(first, Shaped::common)
}

macro_rules! first {
    ($first:ty $(, $_others:ty)*) => {
        $first
    };
}

macro_rules! tuples {
    ($(($($field:ident $array:ident $index:tt),*))*) => {$(
        // SAFETY: the arrays are those of the fields, in their order.
        unsafe impl<T, $($field: ScanElement, $array),*> HostInput<T> for ($($array,)*)
        where
            T: Fields<Tuple = ($($field,)*)>,
            $($array: HostInput<$field, Layout = One>,)*
        {
            const SEALED: Sealed = Sealed;
            type Layout = PerField;
            type At = Apart<($($array::At,)*)>;
            type Shape = first!($($array::Shape),*);
            const SHAPED: bool = $($array::SHAPED)||*;
            const KINDS: &'static [ArrayKind] = &[$(kind(<$array as HostInput<$field>>::KINDS)),*];
            type Held = ($($array::Held,)*);
            #[inline]
            fn items(&self, lengths: &mut Lengths) {
                $(self.$index.items(lengths);)*
            }
            fn hold(self, _: usize, lanes: Lanes<'_>) -> Result<Self::Held, Error> {
                Ok(($(self.$index.hold($index, lanes)?,)*))
            }
            const BYTES: usize = 0 $(+ <$array as HostInput<$field>>::BYTES)*;
            fn slices(&self, each: &mut EachSlice<'_>) {
                $(self.$index.slices(each);)*
            }
            fn at(held: &Self::Held) -> Self::At {
                Apart(($($array::at(&held.$index),)*))
            }
            fn shape(&self) -> Result<Option<Shaped>, Error> {
                common([$(self.$index.shape()?),*])
            }
        }

        // SAFETY: as above.
        unsafe impl<T, $($field: ScanElement, $array),*> HostOutput<T> for ($($array,)*)
        where
            T: Fields<Tuple = ($($field,)*)>,
            $($array: HostOutput<$field, Layout = One>,)*
        {
            const SEALED: Sealed = Sealed;
            type Layout = PerField;
            type At = Apart<($($array::At,)*)>;
            const SHAPED: bool = $($array::SHAPED)||*;
            const KINDS: &'static [ArrayKind] = &[$(kind(<$array as HostOutput<$field>>::KINDS)),*];
            type Held = ($($array::Held,)*);
            #[inline]
            fn items(&mut self, lengths: &mut Lengths) {
                $(self.$index.items(lengths);)*
            }
            fn hold(self, _: usize, lanes: Lanes<'_>) -> Result<Self::Held, Error> {
                Ok(($(self.$index.hold($index, lanes)?,)*))
            }
            fn shape(&self) -> Result<Option<Shaped>, Error> {
                common([$(self.$index.shape()?),*])
            }
            const BYTES: usize = 0 $(+ <$array as HostOutput<$field>>::BYTES)*;
            fn slices(&self, each: &mut EachSlice<'_>) {
                $(self.$index.slices(each);)*
            }
            const STAGED: bool = $($array::STAGED)||*;
            fn stage(held: &mut Self::Held, len: usize) -> Result<(), Error> {
                $($array::stage(&mut held.$index, len)?;)*
                Ok(())
            }
            fn at(held: &mut Self::Held, start: usize) -> Self::At {
                Apart(($($array::at(&mut held.$index, start),)*))
            }
            unsafe fn flush(held: &mut Self::Held, start: usize, len: usize) -> Result<(), Error> {
                // SAFETY: the caller vouches for the items.
                unsafe { $($array::flush(&mut held.$index, start, len)?;)* }
                Ok(())
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

//! Kinds of arrays: slices, indices, gathered inputs, scattered outputs, and outputs that are not written.

use std::ptr;

use cudarc::driver::CudaStream;
use scan_codegen::{ArrayKind, Axis};

use super::Lengths;
use crate::{
    DeviceBuffer, DeviceBufferMut, Error, ScanElement, SegmentOffset,
    device::{
        arguments::{DeviceInput, DeviceOutput, One},
        arrays::{Described, NO_MEMORY, Words},
    },
    host::{HostInput, HostOutput},
    room::room,
    sealed::Sealed,
};

/// An input in which each item is its own index; no memory is read. It is as long as the other arrays are.
///
/// Items are `u32`, `u64`, `usize`, `i32` or `i64`. Indices that 32 bits cannot hold wrap around.
#[derive(Clone, Copy, Debug, Default)]
pub struct Indices;

/// An input in which each item is its own index.
pub fn indices() -> Indices {
    Indices
}

/// An output that is not written. It is as long as the other arrays are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

/// An output that is not written.
pub fn discard() -> Discard {
    Discard
}

/// An input in which item `i` is `values[places[i]]`, in host memory.
#[derive(Clone, Copy, Debug)]
pub struct Gather<'a, T, P> {
    values: &'a [T],
    places: &'a [P],
}

/// An input in which item `i` is `values[places[i]]`. It is as long as `places`, which are `u32`, `u64` or `usize`. A
/// place that is not in `values` is [`Error::IndexOutOfBounds`].
pub fn gather<'a, T: ScanElement, P: SegmentOffset>(values: &'a [T], places: &'a [P]) -> Gather<'a, T, P> {
    Gather { values, places }
}

/// An output whose item `i` becomes `results[places[i]]`, in host memory.
#[derive(Debug)]
pub struct Scatter<'a, T, P> {
    results: &'a mut [T],
    places: &'a [P],
}

/// An output whose item `i` becomes `results[places[i]]`; other results stay what they are. It is as long as `places`,
/// which are `u32`, `u64` or `usize`. A place that is not in `results` is [`Error::IndexOutOfBounds`]. Of several items
/// with one place the last one stays.
pub fn scatter<'a, T: ScanElement, P: SegmentOffset>(results: &'a mut [T], places: &'a [P]) -> Scatter<'a, T, P> {
    Scatter { results, places }
}

/// As [`Gather`], in device memory.
#[derive(Clone, Copy)]
pub struct DeviceGather<'a, T, P> {
    values: &'a dyn DeviceBuffer<T>,
    places: &'a dyn DeviceBuffer<P>,
}

/// As [`gather`], of device memory. Where a place is not in `values`, the item is the last of them; without values there
/// is none, which is [`Error::NothingToGather`].
pub fn device_gather<'a, T: ScanElement, P: SegmentOffset>(
    values: &'a impl DeviceBuffer<T>,
    places: &'a impl DeviceBuffer<P>,
) -> DeviceGather<'a, T, P> {
    DeviceGather { values, places }
}

/// As [`Scatter`], in device memory.
pub struct DeviceScatter<'a, T, P> {
    results: &'a mut dyn DeviceBufferMut<T>,
    places: &'a dyn DeviceBuffer<P>,
}

/// As [`scatter`], to device memory. An item whose place is not in `results` is not written. Of several items with one
/// place any one stays, or, of items of more than one word, words of several.
pub fn device_scatter<'a, T: ScanElement, P: SegmentOffset>(
    results: &'a mut impl DeviceBufferMut<T>,
    places: &'a impl DeviceBuffer<P>,
) -> DeviceScatter<'a, T, P> {
    DeviceScatter { results, places }
}

/// The arrays of outputs whose first field is the place of the others.
#[derive(Debug)]
pub struct ScatterComputed<Arrays>(pub(crate) Arrays);

/// The arrays of outputs whose first field is the place of the others: of an output `(place, a, b, …)` field `a`
/// becomes `first[place]`, and `b` becomes `second[place]`. The arrays are a tuple, one for each field but the first,
/// which is `u32`, `u64` or `usize`: mutable slices, or slices and mutable views of device memory, each of any length. Leave
/// a field that is not wanted out of the output: nothing is [discarded](discard) here. An operator skips an element by the
/// largest place, such as `u32::MAX`. Other results stay what they are. Of several elements with one place any one stays.
///
/// Every other place has to be in each array. The number before the largest one is in none: an operator gives it where
/// the number of the place does not fit the type.
///
/// - In host memory a place beyond an array is [`Error::ComputedIndex`], and nothing is written. To learn how much room
///   the results take, run into [`discard`] for each field, with the total.
/// - In device memory what has a place beyond an array is not written there, and the host is not told. So have the
///   operator count what it places, run with the total, and compare it with the lengths of the arrays: where it is
///   larger, results are missing. A count has to stay at its largest value rather than wrap around, as those of
///   [`ops::filter`](crate::ops::filter) and [`ops::flat_map`](crate::ops::flat_map) do.
///
/// For up to `K` results of an element the first field is an array of `K` places, and each other field an array of `K`
/// items, of which item `j` goes to place `j`: `{ places: [u32; 2], tokens: [u32; 2], ends: [u64; 2] }` fills an array
/// of `u32` and one of `u64`. [An example](#several-results-of-an-element) is below.
///
/// With a count as carry that is stream compaction, in one launch. [`ops::filter`](crate::ops::filter) is an operator
/// that keeps the elements for which a function holds. Here each run of equal keys gives its key and where it begins:
///
/// ```
/// use scan_runtime::{ScanOp, Scanner, arrays, scan_element, scan_op};
///
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Element { index: u32, key: u32, before: u32 }
///
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Run { place: u32, key: u32, begin: u32 }
///
/// /// The number of runs of equal keys so far.
/// #[derive(Clone)]
/// struct Runs;
///
/// #[scan_op]
/// impl ScanOp for Runs {
///     type Input = Element;
///     type State = u32;
///     type Output = Run;
///     type Carry = u32;
///     const IDENTITY: u32 = 0;
///     const START: u32 = 0;
///     fn lift(x: Element) -> u32 { (x.index == 0 || x.key != x.before) as u32 }
///     fn combine(a: u32, b: u32) -> u32 { a + b }
///     fn apply(state: u32, count: u32) -> u32 { count + state }
///     fn step(count: u32, x: Element) -> u32 { count + (x.index == 0 || x.key != x.before) as u32 }
///     fn emit(count: u32, x: Element) -> Run {
///         let begins = x.index == 0 || x.key != x.before;
///         Run { place: if begins { count } else { u32::MAX }, key: x.key, begin: x.index }
///     }
///     fn project(count: u32) -> Run { Run { place: count, key: 0, begin: 0 } }
/// }
///
/// let keys = [7, 7, 4, 4, 4, 9];
/// let before = [0, 7, 7, 4, 4, 4];
/// let (mut runs, mut begins) = ([0; 6], [0; 6]);
/// let outputs = arrays::scatter_computed((&mut runs, &mut begins));
/// let scan = Scanner::new()?.scan(Runs);
/// let count = scan.with_total().run_into((arrays::indices(), &keys, &before), outputs)?;
/// assert_eq!((count, &runs[..3], &begins[..3]), (Some(3), &[7, 4, 9][..], &[0, 2, 5][..]));
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// # Several results of an element
///
/// UTF-8 to UTF-16: the last byte of a character gives one unit, or two. [`ops::flat_map`](crate::ops::flat_map) is an
/// operator for results that come of each element alone.
///
/// ```
/// use scan_runtime::{ScanOp, Scanner, arrays, scan_element, scan_op};
///
/// /// Units of the characters that have begun, and the last four bytes.
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Read { units: u32, bytes: u32, count: u32 }
///
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Units { places: [u32; 2], units: [u16; 2] }
///
/// /// UTF-16 of valid UTF-8.
/// struct Utf16;
///
/// #[scan_op]
/// impl ScanOp for Utf16 {
///     type Input = u8;
///     type State = Read;
///     type Output = Units;
///     const IDENTITY: Read = Read { units: 0, bytes: 0, count: 0 };
///     fn lift(x: u8) -> Read {
///         let units = match x { 0x80..=0xbf => 0_u32, 0xf0..=0xff => 2, _ => 1 };
///         Read { units, bytes: x as u32, count: 1 }
///     }
///     fn combine(a: Read, b: Read) -> Read {
///         let bytes = if b.count < 4 { a.bytes << (8 * b.count) | b.bytes } else { b.bytes };
///         Read { units: a.units + b.units, bytes, count: u32::min(a.count + b.count, 4) }
///     }
///     fn project(s: Read) -> Units {
///         let b = s.bytes;
///         let none = u32::MAX;
///         // The character, where this byte is its last.
///         let c = if b & 0x80 == 0 {
///             b & 0x7f
///         } else if b & 0xe0c0 == 0xc080 {
///             b >> 2 & 0x7c0 | b & 0x3f
///         } else if b & 0xf0c0c0 == 0xe08080 {
///             b >> 4 & 0xf000 | b >> 2 & 0xfc0 | b & 0x3f
///         } else if b & 0xf8c0c0c0 == 0xf0808080 {
///             b >> 6 & 0x1c0000 | b >> 4 & 0x3f000 | b >> 2 & 0xfc0 | b & 0x3f
///         } else {
///             none
///         };
///         if c == none {
///             Units { places: [none, none], units: [0_u16, 0] }
///         } else if c < 0x10000 {
///             Units { places: [s.units - 1, none], units: [c as u16, 0_u16] }
///         } else {
///             let units = [(0xd7c0 + (c >> 10)) as u16, (0xdc00 + (c & 0x3ff)) as u16];
///             Units { places: [s.units - 2, s.units - 1], units }
///         }
///     }
/// }
///
/// let text = "Ein Käfer 🪲 läuft";
/// let mut units = vec![0; text.len()];
/// let outputs = arrays::scatter_computed((&mut units,));
/// let read = Scanner::new()?.scan(Utf16).with_total().run_into(text.as_bytes(), outputs)?;
/// units.truncate(read.map_or(0, |read| read.units as usize));
/// assert_eq!(String::from_utf16_lossy(&units), text);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
pub fn scatter_computed<Arrays>(arrays: Arrays) -> ScatterComputed<Arrays> {
    ScatterComputed(arrays)
}

/// A field of an output that goes to places of type `P`: to one, or, of an array of items, item `j` to place `j`.
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[diagnostic::on_unimplemented(
    message = "the first field of the output, `{P}`, has not a place for each item of the field `{Self}`",
    label = "not a place for each item of `{Self}`",
    note = "the first field is a place, `u32`, `u64` or `usize`, or an array of places; then each other field is an array of as many items"
)]
pub unsafe trait PlacedAt<P>: ScanElement {
    #[doc(hidden)]
    const SEALED: Sealed;
    /// What goes to a place.
    type Item: ScanElement;
    /// The number of places in an array, however long it is: an array of more items has none for the rest. The two
    /// largest numbers are no places. The largest one skips an item. The one before it is beyond every array, which is
    /// what an operator gives whose count is at its end.
    #[doc(hidden)]
    const PLACES: usize;
    /// The first of the places that are not in an array of so many items, and do not skip an item.
    #[doc(hidden)]
    fn beyond(places: &P, len: usize) -> Option<usize>;
    /// Writes what has a place in the array.
    #[doc(hidden)]
    fn put(self, places: P, results: &mut [Self::Item]);
}

macro_rules! placed {
    ($($place:ty)*) => {$(
        // SAFETY: the one item is the field.
        unsafe impl<T: ScanElement> PlacedAt<$place> for T {
            const SEALED: Sealed = Sealed;
            type Item = T;
            const PLACES: usize = <$place>::MAX as usize - 1;
            #[inline]
            fn beyond(place: &$place, len: usize) -> Option<usize> {
                let is_beyond = place.index() >= len.min(<T as PlacedAt<$place>>::PLACES) && *place != <$place>::MAX;
                is_beyond.then(|| place.index())
            }
            #[inline]
            fn put(self, place: $place, results: &mut [T]) {
                let places = results.len().min(<T as PlacedAt<$place>>::PLACES);
                if let Some(result) = results[..places].get_mut(place.index()) {
                    *result = self;
                }
            }
        }

        // SAFETY: there are as many items as places.
        unsafe impl<T: ScanElement, const K: usize> PlacedAt<[$place; K]> for [T; K] {
            const SEALED: Sealed = Sealed;
            type Item = T;
            const PLACES: usize = <T as PlacedAt<$place>>::PLACES;
            #[inline]
            fn beyond(places: &[$place; K], len: usize) -> Option<usize> {
                places.iter().find_map(|place| <T as PlacedAt<$place>>::beyond(place, len))
            }
            #[inline]
            fn put(self, places: [$place; K], results: &mut [T]) {
                for (place, item) in places.into_iter().zip(self) {
                    item.put(place, results);
                }
            }
        }
    )*};
}

placed! { u32 u64 usize }

/// The type of an index: `u32`, `u64`, `usize`, `i32` or `i64`. A kernel copies the lower bytes of a 64-bit index to it, of
/// which each value of these types consists. It is sealed: nothing outside this crate implements it.
pub trait Index: ScanElement {
    #[doc(hidden)]
    const SEALED: Sealed;
    #[doc(hidden)]
    fn of(index: usize) -> Self;
}

macro_rules! indices {
    ($($ty:ty)*) => {$(
        impl Index for $ty {
            const SEALED: Sealed = Sealed;
            fn of(index: usize) -> $ty {
                index as $ty
            }
        }
    )*};
}

indices! { u32 u64 usize i32 i64 }

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

/// Whether each place that the operator has computed is in an array of `len` items, or skips an item.
pub(crate) fn check_computed<P, T: PlacedAt<P>>(array: usize, places: &[P], len: usize) -> Result<(), Error> {
    let beyond = |(element, places)| T::beyond(places, len).map(|index| (element, index));
    match places.iter().enumerate().find_map(beyond) {
        Some((element, index)) => Err(Error::ComputedIndex { array, element, index, len }),
        None => Ok(()),
    }
}

fn same_len(what: &'static str, column: usize, len: usize, first: usize) -> Result<(), Error> {
    if len == first { Ok(()) } else { Err(Error::ColumnLength { what, column, len, first }) }
}

/// The places of an array, of which there are `len`: all are among `count`.
fn check_places<P: SegmentOffset>(what: &'static str, array: usize, places: &[P], count: usize) -> Result<(), Error> {
    match places.iter().position(|place| place.index() >= count) {
        Some(position) => {
            Err(Error::IndexOutOfBounds { what, array, position, index: places[position].index(), len: count })
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

// SAFETY: what is held, if anything is, has so many items.
unsafe impl<T: Index> HostInput<T> for Indices {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *const T;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::NoMemory];
    type Held = Option<Vec<T>>;
    #[inline]
    fn items(&self, lengths: &mut Lengths) {
        lengths.add(None);
    }
    fn hold(self, _: usize, lanes: Lanes<'_>) -> Result<Option<Vec<T>>, Error> {
        if !lanes.memory {
            return Ok(None);
        }
        let mut indices = room(lanes.len)?;
        indices.extend((0..lanes.len).map(T::of));
        Ok(Some(indices))
    }
    fn at(held: &Option<Vec<T>>) -> *const T {
        held.as_ref().map_or(ptr::null(), |indices| indices.as_ptr())
    }
}

// SAFETY: as above.
unsafe impl<T: ScanElement, P: SegmentOffset> HostInput<T> for Gather<'_, T, P> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *const T;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::Places(P::WIDTH)];
    type Held = Vec<T>;
    #[inline]
    fn items(&self, lengths: &mut Lengths) {
        lengths.add(Some(self.places.len()));
    }
    fn hold(self, array: usize, lanes: Lanes<'_>) -> Result<Vec<T>, Error> {
        check_places("input", array, self.places, self.values.len())?;
        let mut items = room(lanes.len)?;
        items.extend(self.places.iter().map(|place| self.values[place.index()]));
        Ok(items)
    }
    fn at(held: &Vec<T>) -> *const T {
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

/// Results that are not at their places yet.
#[doc(hidden)]
#[derive(Debug)]
pub struct Scattering<'a, T, P> {
    items: Vec<T>,
    to: Scatter<'a, T, P>,
}

// SAFETY: what is held has room for so many items.
unsafe impl<'a, T: ScanElement, P: SegmentOffset> HostOutput<T> for Scatter<'a, T, P> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *mut T;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::Places(P::WIDTH)];
    type Held = Scattering<'a, T, P>;
    #[inline]
    fn items(&mut self, lengths: &mut Lengths) {
        lengths.add(Some(self.places.len()));
    }
    fn hold(self, array: usize, len: usize, _: bool) -> Result<Scattering<'a, T, P>, Error> {
        check_places("output", array, self.places, self.results.len())?;
        Ok(Scattering { items: room(len)?, to: self })
    }
    fn at(held: &mut Scattering<'a, T, P>) -> *mut T {
        held.items.as_mut_ptr()
    }
    unsafe fn finish(
        Scattering { mut items, to: Scatter { results, places } }: Scattering<'a, T, P>,
    ) -> Result<(), Error> {
        // SAFETY: there are as many items as places, and the caller vouches that they have been written.
        unsafe { items.set_len(places.len()) };
        for (place, item) in places.iter().zip(items) {
            results[place.index()] = item;
        }
        Ok(())
    }
}

// SAFETY: what is held, if anything is, has room for so many items.
unsafe impl<T: ScanElement> HostOutput<T> for Discard {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    type At = *mut T;
    const KINDS: &'static [ArrayKind] = &[ArrayKind::NoMemory];
    type Held = Option<Vec<T>>;
    #[inline]
    fn items(&mut self, lengths: &mut Lengths) {
        lengths.add(None);
    }
    fn hold(self, _: usize, len: usize, memory: bool) -> Result<Option<Vec<T>>, Error> {
        memory.then(|| room(len)).transpose()
    }
    fn at(held: &mut Option<Vec<T>>) -> *mut T {
        held.as_mut().map_or(ptr::null_mut(), Vec::as_mut_ptr)
    }
    unsafe fn finish(_: Option<Vec<T>>) -> Result<(), Error> {
        Ok(())
    }
}

// SAFETY: the buffer has as many items.
unsafe impl<T, B: DeviceBuffer<T> + ?Sized> DeviceInput<T> for &B {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        each(Described::of_slice(ArrayKind::Slice, (**self).len(), (**self).stream()));
    }
    fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>) {
        words.push_pointer((**self).device_ptr(stream));
    }
}

// SAFETY: kernels read no memory.
unsafe impl<T: Index> DeviceInput<T> for Indices {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        each(NO_MEMORY);
    }
    fn words<'s>(&'s self, _: &'s CudaStream, words: &mut Words<'s>) {
        words.push(0); // the first index
    }
}

// SAFETY: both buffers have as many items as is told, and kernels read no others.
unsafe impl<T: ScanElement, P: SegmentOffset> DeviceInput<T> for DeviceGather<'_, T, P> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        let (kind, len, count) = (ArrayKind::Places(P::WIDTH), Some(self.places.len()), self.values.len());
        let streams = [Some(self.values.stream()), Some(self.places.stream())];
        each(Described { kind, len, count, streams, strides: &[] });
    }
    fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>) {
        words.push_pointer(self.values.device_ptr(stream));
        words.push(self.values.len() as u64);
        words.push_pointer(self.places.device_ptr(stream));
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
        words.push_pointer((**self).device_ptr_mut(stream));
    }
}

// SAFETY: both buffers have as many items as is told, and kernels touch no others.
unsafe impl<T: ScanElement, P: SegmentOffset> DeviceOutput<T> for DeviceScatter<'_, T, P> {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        let (kind, len, count) = (ArrayKind::Places(P::WIDTH), Some(self.places.len()), self.results.len());
        let streams = [Some(self.results.stream()), Some(self.places.stream())];
        each(Described { kind, len, count, streams, strides: &[] });
    }
    fn words<'s>(&'s mut self, stream: &'s CudaStream, words: &mut Words<'s>) {
        let count = self.results.len() as u64;
        words.push_pointer(self.results.device_ptr_mut(stream));
        words.push(count);
        words.push_pointer(self.places.device_ptr(stream));
    }
}

// SAFETY: kernels write no memory.
unsafe impl<T: ScanElement> DeviceOutput<T> for Discard {
    const SEALED: Sealed = Sealed;
    type Layout = One;
    fn describe<'s>(&'s self, each: &mut dyn FnMut(Described<'s>)) {
        each(NO_MEMORY);
    }
    fn words<'s>(&'s mut self, _: &'s CudaStream, _: &mut Words<'s>) {}
}

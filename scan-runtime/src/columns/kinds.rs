//! Kinds of arrays: slices, indices, gathered inputs, scattered outputs, and outputs that are not written.

use std::sync::Arc;

use cudarc::driver::{CudaStream, SyncOnDrop, sys};
use scan_codegen::ArrayKind;

use crate::{DeviceBuffer, DeviceBufferMut, Error, ScanElement, SegmentOffset, room::room};

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
/// place that is not in `values` is [`Error::Place`].
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
/// which are `u32`, `u64` or `usize`. A place that is not in `results` is [`Error::Place`]. Of several items with one
/// place the last one stays.
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
pub struct ScatterComputed<Arrays>(pub(super) Arrays);

/// The arrays of outputs whose first field is the place of the others: of an output `(place, a, b, …)` field `a`
/// becomes `first[place]`, and `b` becomes `second[place]`. The arrays are a tuple of mutable slices, or of slices and
/// mutable views of device memory, one for each field but the first, which is `u32`, `u64` or `usize`; each has any
/// length. Leave a field that is not wanted out of the output: nothing is [discarded](discard) here. What has a place that is not in an array is not written
/// there: an operator skips an element by a place such as `u32::MAX`. Other results stay what they are. Of several
/// elements with one place any one stays.
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
/// let scan = Scanner::new()?.scan(Runs).columns();
/// let count = scan.run_into_with_total((arrays::indices(), &keys, &before), outputs)?;
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
/// let read = Scanner::new()?.scan(Utf16).columns().run_into_with_total(text.as_bytes(), outputs)?;
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
/// Nothing but this module implements it.
#[diagnostic::on_unimplemented(
    message = "the first field of the output, `{P}`, has not a place for each item of the field `{Self}`",
    label = "not a place for each item of `{Self}`",
    note = "the first field is a place, `u32`, `u64` or `usize`, or an array of places; then each other field is an array of as many items"
)]
pub unsafe trait PlacedAt<P>: ScanElement {
    /// What goes to a place.
    type Item: ScanElement;
    #[doc(hidden)]
    fn put(self, places: P, results: &mut [Self::Item]);
}

macro_rules! placed {
    ($($place:ty)*) => {$(
        // SAFETY: the one item is the field.
        unsafe impl<T: ScanElement> PlacedAt<$place> for T {
            type Item = T;
            #[inline]
            fn put(self, place: $place, results: &mut [T]) {
                if let Some(result) = results.get_mut(place.index()) {
                    *result = self;
                }
            }
        }

        // SAFETY: there are as many items as places.
        unsafe impl<T: ScanElement, const K: usize> PlacedAt<[$place; K]> for [T; K] {
            type Item = T;
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

/// The type of an index.
pub trait Index: ScanElement {
    #[doc(hidden)]
    fn of(index: usize) -> Self;
}

macro_rules! indices {
    ($($ty:ty)*) => {$(
        impl Index for $ty {
            fn of(index: usize) -> $ty {
                index as $ty
            }
        }
    )*};
}

indices! { u32 u64 usize i32 i64 }

/// An array of inputs of type `T` in host memory: a slice, or what borrows as one, [`indices`], or a [`gather`].
///
/// # Safety
///
/// Nothing but this module implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no array of inputs of type `{T}`",
    label = "not an array of `{T}`",
    note = "a scan by columns takes slices, and what the module `arrays` makes: one for each field, in their order"
)]
pub unsafe trait Source<T> {
    #[doc(hidden)]
    const KIND: ArrayKind;
    #[doc(hidden)]
    type Held;
    #[doc(hidden)]
    fn items(&self) -> Option<usize>;
    /// So many items, one after the other.
    #[doc(hidden)]
    fn hold(self, array: usize, len: usize) -> Result<Self::Held, Error>;
    #[doc(hidden)]
    fn at(held: &Self::Held) -> *mut T;
}

/// An array of outputs of type `T` in host memory: a mutable slice, or what borrows as one, a [`scatter`], or
/// [`discard`].
///
/// # Safety
///
/// Nothing but this module implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no array of outputs of type `{T}`",
    label = "not an array of `{T}`",
    note = "a scan by columns takes mutable slices, and what the module `arrays` makes: one for each field, in their order"
)]
pub unsafe trait Sink<T> {
    #[doc(hidden)]
    const KIND: ArrayKind;
    #[doc(hidden)]
    type Held;
    #[doc(hidden)]
    fn items(&mut self) -> Option<usize>;
    /// Room for `len` items.
    #[doc(hidden)]
    fn hold(self, array: usize, len: usize) -> Result<Self::Held, Error>;
    #[doc(hidden)]
    fn at(held: &mut Self::Held) -> *mut T;
    /// # Safety
    ///
    /// All items have been written.
    #[doc(hidden)]
    unsafe fn finish(held: Self::Held);
}

fn same_len(what: &'static str, column: usize, len: usize, first: usize) -> Result<(), Error> {
    if len == first { Ok(()) } else { Err(Error::ColumnLength { what, column, len, first }) }
}

/// The places of an array, of which there are `len`: all are among `count`.
fn check_places<P: SegmentOffset>(what: &'static str, array: usize, places: &[P], count: usize) -> Result<(), Error> {
    match places.iter().position(|place| place.index() >= count) {
        Some(index) => Err(Error::Place { what, array, index, place: places[index].index(), len: count }),
        None => Ok(()),
    }
}

// SAFETY: what is held is a slice of so many items.
unsafe impl<'a, T: ScanElement, S: AsRef<[T]> + ?Sized> Source<T> for &'a S {
    const KIND: ArrayKind = ArrayKind::Slice;
    type Held = &'a [T];
    fn items(&self) -> Option<usize> {
        Some((**self).as_ref().len())
    }
    fn hold(self, array: usize, len: usize) -> Result<&'a [T], Error> {
        let slice = self.as_ref();
        same_len("input", array, slice.len(), len)?;
        Ok(slice)
    }
    fn at(held: &&'a [T]) -> *mut T {
        held.as_ptr().cast_mut()
    }
}

// SAFETY: what is held has so many items.
unsafe impl<T: Index> Source<T> for Indices {
    const KIND: ArrayKind = ArrayKind::NoMemory;
    type Held = Vec<T>;
    fn items(&self) -> Option<usize> {
        None
    }
    fn hold(self, _: usize, len: usize) -> Result<Vec<T>, Error> {
        let mut indices = room(len)?;
        indices.extend((0..len).map(T::of));
        Ok(indices)
    }
    fn at(held: &Vec<T>) -> *mut T {
        held.as_ptr().cast_mut()
    }
}

// SAFETY: as above.
unsafe impl<T: ScanElement, P: SegmentOffset> Source<T> for Gather<'_, T, P> {
    const KIND: ArrayKind = ArrayKind::Places(P::WIDTH);
    type Held = Vec<T>;
    fn items(&self) -> Option<usize> {
        Some(self.places.len())
    }
    fn hold(self, array: usize, len: usize) -> Result<Vec<T>, Error> {
        check_places("input", array, self.places, self.values.len())?;
        let mut items = room(len)?;
        items.extend(self.places.iter().map(|place| self.values[place.index()]));
        Ok(items)
    }
    fn at(held: &Vec<T>) -> *mut T {
        held.as_ptr().cast_mut()
    }
}

// SAFETY: what is held is a slice of so many items.
unsafe impl<'a, T: ScanElement, S: AsMut<[T]> + ?Sized> Sink<T> for &'a mut S {
    const KIND: ArrayKind = ArrayKind::Slice;
    type Held = &'a mut [T];
    fn items(&mut self) -> Option<usize> {
        Some((**self).as_mut().len())
    }
    fn hold(self, array: usize, len: usize) -> Result<&'a mut [T], Error> {
        let slice = self.as_mut();
        same_len("output", array, slice.len(), len)?;
        Ok(slice)
    }
    fn at(held: &mut &'a mut [T]) -> *mut T {
        held.as_mut_ptr()
    }
    unsafe fn finish(_: &'a mut [T]) {}
}

/// Results that are not at their places yet.
#[doc(hidden)]
#[derive(Debug)]
pub struct Scattering<'a, T, P> {
    items: Vec<T>,
    to: Scatter<'a, T, P>,
}

// SAFETY: what is held has room for so many items.
unsafe impl<'a, T: ScanElement, P: SegmentOffset> Sink<T> for Scatter<'a, T, P> {
    const KIND: ArrayKind = ArrayKind::Places(P::WIDTH);
    type Held = Scattering<'a, T, P>;
    fn items(&mut self) -> Option<usize> {
        Some(self.places.len())
    }
    fn hold(self, array: usize, len: usize) -> Result<Scattering<'a, T, P>, Error> {
        check_places("output", array, self.places, self.results.len())?;
        Ok(Scattering { items: room(len)?, to: self })
    }
    fn at(held: &mut Scattering<'a, T, P>) -> *mut T {
        held.items.as_mut_ptr()
    }
    unsafe fn finish(Scattering { mut items, to: Scatter { results, places } }: Scattering<'a, T, P>) {
        // SAFETY: there are as many items as places, and the caller vouches that they have been written.
        unsafe { items.set_len(places.len()) };
        for (place, item) in places.iter().zip(items) {
            results[place.index()] = item;
        }
    }
}

// SAFETY: what is held has room for so many items.
unsafe impl<T: ScanElement> Sink<T> for Discard {
    const KIND: ArrayKind = ArrayKind::NoMemory;
    type Held = Vec<T>;
    fn items(&mut self) -> Option<usize> {
        None
    }
    fn hold(self, _: usize, len: usize) -> Result<Vec<T>, Error> {
        room(len)
    }
    fn at(held: &mut Vec<T>) -> *mut T {
        held.as_mut_ptr()
    }
    unsafe fn finish(_: Vec<T>) {}
}

/// What is known of an array in device memory before a run.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Described<'s> {
    pub(super) kind: ArrayKind,
    /// How many items the scan reads or writes, if the array tells.
    pub(super) len: Option<usize>,
    /// How many items places can be among.
    pub(super) count: usize,
    pub(super) streams: [Option<&'s Arc<CudaStream>>; 2],
}

pub(super) const NO_MEMORY: Described<'static> =
    Described { kind: ArrayKind::NoMemory, len: None, count: usize::MAX, streams: [None; 2] };

/// What kernels are given for the arrays of an input or of an output, and the guards of cudarc, which record the events
/// by which it orders work on several streams.
#[doc(hidden)]
pub struct Words<'s> {
    words: [u64; 3 * MOST_ARRAYS],
    count: usize,
    guards: [Option<SyncOnDrop<'s>>; 2 * MOST_ARRAYS],
    guarded: usize,
}

/// The most arrays of an input or output.
const MOST_ARRAYS: usize = crate::few::MOST_ARRAYS;

impl<'s> Words<'s> {
    pub(super) fn new() -> Self {
        let guards = [const { None }; 2 * MOST_ARRAYS];
        Words { words: [0; 3 * MOST_ARRAYS], count: 0, guards, guarded: 0 }
    }

    pub(super) fn push(&mut self, word: u64) {
        if let Some(place) = self.words.get_mut(self.count) {
            *place = word;
            self.count += 1;
        }
    }

    pub(super) fn push_pointer(&mut self, (pointer, guard): (sys::CUdeviceptr, SyncOnDrop<'s>)) {
        self.push(pointer);
        if let Some(place) = self.guards.get_mut(self.guarded) {
            *place = Some(guard);
            self.guarded += 1;
        }
    }

    /// A word at least: kernels are given one byte where there is no array.
    pub(super) fn words(&self) -> &[u64] {
        self.words.get(..self.count.max(1)).unwrap_or_default()
    }
}

/// An array of inputs of type `T` in device memory: a slice or view, [`indices`], or a [`device_gather`].
///
/// # Safety
///
/// Nothing but this module implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no array of inputs of type `{T}` in device memory",
    label = "not an array of `{T}`",
    note = "a scan by columns takes slices and views, and what the module `arrays` makes: one for each field, in their order"
)]
pub unsafe trait DeviceSource<T> {
    #[doc(hidden)]
    fn describe(&self) -> Described<'_>;
    #[doc(hidden)]
    fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>);
}

/// An array of outputs of type `T` in device memory: a slice or mutable view, a [`device_scatter`], or [`discard`].
///
/// # Safety
///
/// Nothing but this module implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no array of outputs of type `{T}` in device memory",
    label = "not an array of `{T}`",
    note = "a scan by columns takes slices and mutable views, and what the module `arrays` makes: one for each field, in their order"
)]
pub unsafe trait DeviceSink<T> {
    #[doc(hidden)]
    fn describe(&self) -> Described<'_>;
    #[doc(hidden)]
    fn words<'s>(&'s mut self, stream: &'s CudaStream, words: &mut Words<'s>);
}

// SAFETY: the buffer has as many items.
unsafe impl<T, B: DeviceBuffer<T> + ?Sized> DeviceSource<T> for &B {
    fn describe(&self) -> Described<'_> {
        let count = (**self).len();
        Described { kind: ArrayKind::Slice, len: Some(count), count, streams: [Some((**self).stream()), None] }
    }
    fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>) {
        words.push_pointer((**self).device_ptr(stream));
    }
}

// SAFETY: kernels read no memory.
unsafe impl<T: Index> DeviceSource<T> for Indices {
    fn describe(&self) -> Described<'_> {
        NO_MEMORY
    }
    fn words<'s>(&'s self, _: &'s CudaStream, words: &mut Words<'s>) {
        words.push(0); // the first index
    }
}

// SAFETY: both buffers have as many items as is told, and kernels read no others.
unsafe impl<T: ScanElement, P: SegmentOffset> DeviceSource<T> for DeviceGather<'_, T, P> {
    fn describe(&self) -> Described<'_> {
        let (kind, len, count) = (ArrayKind::Places(P::WIDTH), Some(self.places.len()), self.values.len());
        Described { kind, len, count, streams: [Some(self.values.stream()), Some(self.places.stream())] }
    }
    fn words<'s>(&'s self, stream: &'s CudaStream, words: &mut Words<'s>) {
        words.push_pointer(self.values.device_ptr(stream));
        words.push(self.values.len() as u64);
        words.push_pointer(self.places.device_ptr(stream));
    }
}

// SAFETY: the buffer has as many items.
unsafe impl<T, B: DeviceBufferMut<T> + ?Sized> DeviceSink<T> for &mut B {
    fn describe(&self) -> Described<'_> {
        let count = (**self).len();
        Described { kind: ArrayKind::Slice, len: Some(count), count, streams: [Some((**self).stream()), None] }
    }
    fn words<'s>(&'s mut self, stream: &'s CudaStream, words: &mut Words<'s>) {
        words.push_pointer((**self).device_ptr_mut(stream));
    }
}

// SAFETY: both buffers have as many items as is told, and kernels touch no others.
unsafe impl<T: ScanElement, P: SegmentOffset> DeviceSink<T> for DeviceScatter<'_, T, P> {
    fn describe(&self) -> Described<'_> {
        let (kind, len, count) = (ArrayKind::Places(P::WIDTH), Some(self.places.len()), self.results.len());
        Described { kind, len, count, streams: [Some(self.results.stream()), Some(self.places.stream())] }
    }
    fn words<'s>(&'s mut self, stream: &'s CudaStream, words: &mut Words<'s>) {
        let count = self.results.len() as u64;
        words.push_pointer(self.results.device_ptr_mut(stream));
        words.push(count);
        words.push_pointer(self.places.device_ptr(stream));
    }
}

// SAFETY: kernels write no memory.
unsafe impl<T: ScanElement> DeviceSink<T> for Discard {
    fn describe(&self) -> Described<'_> {
        NO_MEMORY
    }
    fn words<'s>(&'s mut self, _: &'s CudaStream, _: &mut Words<'s>) {}
}

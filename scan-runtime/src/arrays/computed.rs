//! Outputs whose first field is the place of the others.

use scan_codegen::ArrayKind;

#[cfg(doc)]
use super::discard;
use super::{
    PerField,
    fields::{Lengths, for_tuples_of_fifteen},
    host::{HostOutput, Lanes},
};
use crate::{Error, Fields, ScanElement, SegmentOffset, cpu::Apart, room::room, sealed::Sealed};
#[cfg(feature = "cuda")]
use {
    super::device::{Described, DeviceOutput, NO_MEMORY, Words},
    crate::DeviceBufferMut,
    cudarc::driver::CudaStream,
};

/// The arrays of outputs whose first field is the place of the others.
#[derive(Debug)]
pub struct ScatterByOutput<Arrays>(pub(crate) Arrays);

/// The arrays of outputs whose first field is the place of the others: of an output `(place, a, b, …)` field `a`
/// becomes `first[place]`, and `b` becomes `second[place]`. The arrays are a tuple, one for each field but the first,
/// which is `u32`, `u64`, `usize`, `i32` or `i64`: mutable slices, or slices and mutable views of device memory, each
/// of any length. Leave a field that is not wanted out of the output: nothing is [discarded](discard) here. An operator
/// skips an element by the largest place, such as `u32::MAX`, or by -1 where places are signed. Other results stay what
/// they are. Of several elements with one place any one stays.
///
/// Every other place has to be in each array. The unsigned number before the largest one is in none, and neither is a
/// negative number: an operator gives it where the number of the place does not fit the type.
///
/// - In host memory a place beyond an array is [`Error::ComputedIndex`]; the content of the arrays is then unspecified.
///   To learn how much room the results take, run into [`discard`] for each field, with the total.
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
/// let outputs = arrays::scatter_by_output((&mut runs, &mut begins));
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
/// let outputs = arrays::scatter_by_output((&mut units,));
/// let read = Scanner::new()?.scan(Utf16).with_total().run_into(text.as_bytes(), outputs)?;
/// units.truncate(read.map_or(0, |read| read.units as usize));
/// assert_eq!(String::from_utf16_lossy(&units), text);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
pub fn scatter_by_output<Arrays>(arrays: Arrays) -> ScatterByOutput<Arrays> {
    ScatterByOutput(arrays)
}

/// A field of an output that goes to places of type `P`: to one, or, of an array of items, item `j` to place `j`.
///
/// # Safety
///
/// It is sealed: nothing outside this crate implements it.
#[diagnostic::on_unimplemented(
    message = "the first field of the output, `{P}`, has not a place for each item of the field `{Self}`",
    label = "not a place for each item of `{Self}`",
    note = "the first field is a place, `u32`, `u64`, `usize`, `i32` or `i64`, or an array of places; then each other field is an array of as many items"
)]
pub unsafe trait PlacedAt<P>: ScanElement {
    #[doc(hidden)]
    const SEALED: Sealed;
    /// What goes to a place.
    type Item: ScanElement;
    /// The number of places in an array, however long it is: an array of more items has none for the rest. The two
    /// largest numbers are no places, nor are negative ones. All bits set, which is the largest number or -1, skip an
    /// item. The number before it is beyond every array, which is what an operator gives whose count is at its end.
    #[doc(hidden)]
    const PLACES: usize;
    /// The first of the places that are not in an array of so many items, and do not skip an item.
    #[doc(hidden)]
    fn beyond(places: &P, len: usize) -> Option<i128>;
    /// Writes what has a place in the array.
    #[doc(hidden)]
    fn put(self, places: P, results: &mut [Self::Item]);
}

macro_rules! placed {
    ($($place:ty: $places:expr;)*) => {$(
        // SAFETY: the one item is the field.
        unsafe impl<T: ScanElement> PlacedAt<$place> for T {
            const SEALED: Sealed = Sealed;
            type Item = T;
            const PLACES: usize = $places;
            #[inline]
            fn beyond(place: &$place, len: usize) -> Option<i128> {
                let is_beyond = place.index() >= len.min(<T as PlacedAt<$place>>::PLACES) && *place != !0;
                is_beyond.then(|| place.number())
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
            fn beyond(places: &[$place; K], len: usize) -> Option<i128> {
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

placed! {
    u32: u32::MAX as usize - 1;
    u64: u64::MAX as usize - 1;
    usize: usize::MAX - 1;
    i32: 1 << 31;
    i64: 1 << 63;
}

/// Whether each place that the operator has computed, for elements from `start` on, is in an array of `len` items, or
/// skips an item.
fn check_computed<P, T: PlacedAt<P>>(array: usize, start: usize, places: &[P], len: usize) -> Result<(), Error> {
    let beyond = |(element, places)| T::beyond(places, len).map(|index| (start + element, index));
    match places.iter().enumerate().find_map(beyond) {
        Some((element, index)) => Err(Error::ComputedIndex { array, element, index, len }),
        None => Ok(()),
    }
}

macro_rules! on_host {
    (kind $index:tt) => { ArrayKind::Computed };
    ($(($($field:ident $array:ident $index:tt),*))*) => {$(
        // SAFETY: what is held has room for so many items of each field.
        unsafe impl<'a, T, Place, $($field,)* $($array: ?Sized),*> HostOutput<T>
            for ScatterByOutput<($(&'a mut $array,)*)>
        where
            T: Fields<Tuple = (Place, $($field,)*)>,
            Place: ScanElement,
            $($field: PlacedAt<Place>, $array: AsMut<[<$field as PlacedAt<Place>>::Item]>,)*
        {
            const SEALED: Sealed = Sealed;
            type Layout = PerField;
            type At = Apart<(*mut Place, $(*mut $field,)*)>;
            const KINDS: &'static [ArrayKind] = &[ArrayKind::NoMemory, $(on_host!(kind $index)),*];
            const STAGED: bool = true;
            type Held = (Vec<Place>, ($(Vec<$field>,)*), ($(&'a mut $array,)*));
            #[inline]
            fn items(&mut self, lengths: &mut Lengths) {
                (0..=[$($index),*].len()).for_each(|_| lengths.add(None));
            }
            fn hold(self, _: usize, lanes: Lanes<'_>) -> Result<Self::Held, Error> {
                Ok((room(lanes.part)?, ($(room::<$field>(lanes.part)?,)*), self.0))
            }
            fn at((places, items, _): &mut Self::Held, _: usize) -> Self::At {
                Apart((places.as_mut_ptr(), $(items.$index.as_mut_ptr(),)*))
            }
            unsafe fn flush(
                (places, items, arrays): &mut Self::Held,
                start: usize,
                len: usize,
            ) -> Result<(), Error> {
                // SAFETY: there is room for so many, and the caller vouches that they have been written.
                unsafe { places.set_len(len) };
                $(check_computed::<Place, $field>($index + 1, start, places, arrays.$index.as_mut().len())?;)*
                $(
                    // SAFETY: as above.
                    unsafe { items.$index.set_len(len) };
                    let array = arrays.$index.as_mut();
                    for (place, item) in places.iter().zip(items.$index.drain(..)) {
                        item.put(*place, array);
                    }
                )*
                Ok(())
            }
            unsafe fn finish(_: Self::Held) -> Result<(), Error> {
                Ok(())
            }
        }
    )*};
}

for_tuples_of_fifteen! { on_host }

#[cfg(feature = "cuda")]
macro_rules! on_device {
    ($(($($field:ident $array:ident $index:tt),*))*) => {$(
        // SAFETY: the buffers have as many items as is told, and kernels touch no others.
        unsafe impl<'a, T, Place, $($field,)* $($array: ?Sized),*> DeviceOutput<T>
            for ScatterByOutput<($(&'a mut $array,)*)>
        where
            T: Fields<Tuple = (Place, $($field,)*)>,
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

#[cfg(feature = "cuda")]
for_tuples_of_fifteen! { on_device }

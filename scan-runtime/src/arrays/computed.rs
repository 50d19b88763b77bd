//! Outputs whose first field is the place of the others.
//!
//! Loops of the CPU write each item to its place as soon as it is computed, and remember the first place that is in no
//! array. A device has the outputs copied to memory of the host, which moves them then.

use std::{
    fmt,
    marker::PhantomData,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
};

use scan_codegen::ArrayKind;

#[cfg(doc)]
use super::discard;
use super::{
    PerField,
    fields::{HostArray, Lengths, for_tuples_of_fifteen},
    host::{HostOutput, Lanes},
};
use crate::{Error, Fields, ScanElement, SegmentOffset, cpu::Writer, room::room, sealed::Sealed};
#[cfg(feature = "cuda")]
use {
    super::device::{Described, DeviceOutput, NO_MEMORY, Words},
    crate::DeviceBufferMut,
    cudarc::driver::CudaStream,
};

/// The arrays of outputs whose first field is the place of the others. `CONSECUTIVE`: those of
/// [`consecutive`](ScatterByOutput::consecutive).
#[derive(Debug)]
pub struct ScatterByOutput<Arrays, const CONSECUTIVE: bool = false>(pub(crate) Arrays);

impl<Arrays> ScatterByOutput<Arrays> {
    /// The same arrays, of an operator that keeps results one after the other: the place of each result that it keeps
    /// is one more than the place of the one that it kept before, in the order of the scan, and it skips all others by
    /// the largest place. [`ops::filter`](crate::ops::filter) and operators that count the results they keep do so. The
    /// results are those of [`scatter_by_output`]; a GPU with look-ahead (from `sm_90` on) gathers them in shared
    /// memory and stores neighbours together, which is faster.
    ///
    /// Where places are not consecutive, what the arrays contain is unspecified, on a GPU. Nothing else is written. So
    /// it is in segments: a carry that begins anew gives the same places again. Several places of an output are
    /// scattered as without it.
    ///
    /// ```
    /// use scan_runtime::{Scanner, arrays, ops};
    ///
    /// let (flags, values, mut kept) = ([true, false, true], [10_u64, 20, 30], [0; 3]);
    /// let outputs = arrays::scatter_by_output((&mut kept,)).consecutive();
    /// Scanner::new()?.scan(ops::filter()).run_into((&flags, &values), outputs)?;
    /// assert_eq!(kept, [10, 30, 0]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn consecutive(self) -> ScatterByOutput<Arrays, true> {
        ScatterByOutput(self.0)
    }
}

/// The kind of the arrays.
const fn kind(consecutive: bool) -> ArrayKind {
    if consecutive { ArrayKind::Consecutive } else { ArrayKind::Computed }
}

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
///   To learn how much room the results take, run into [`discard`] for each field, with the total. On the CPU several
///   threads share a run only if the items are primitives of up to eight bytes.
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
///
/// # Parts that begin anew, and the first error
///
/// [`by_flags`](crate::Scan::by_flags) begins anew with the whole carry, also with the count that gives the places. If
/// the places go on, let the operator begin anew: the flag is a field of the input, at which `step` resets all but the
/// count. Flags are an array of `bool`s, or of [`bits`](super::bits). Of keys, compare each with the one
/// [before](super::previous).
///
/// The total says how many results there are. It can also say where the first error is: with
/// [`indices`](super::indices) as an array of the input, the carry keeps the least index of a wrong one.
///
/// Strings of hexadecimal digits to their bytes, two digits each. A digit left over at the end of a string gives nothing:
///
/// ```
/// use scan_runtime::{ScanOp, Scanner, arrays, scan_element, scan_fn, scan_op};
///
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Digit { code: u8, begins: bool, index: u32 }
///
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Byte { place: u32, byte: u8 }
///
/// /// The bytes of all strings so far, the first code that is no digit, and a digit that may wait for another one.
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Read { bytes: u32, first_error: u32, waits: bool, digit: u8 }
///
/// /// The effect of a part on any `Read`: the number of digits before a string begins, and what is read from there on.
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Part { digits: u32, begins: bool, rest: Read }
///
/// #[scan_fn]
/// fn value(code: u8) -> u8 {
///     match code { b'0'..=b'9' => code - b'0', b'a'..=b'f' => code - b'a' + 10, _ => 0xff }
/// }
///
/// #[scan_fn]
/// fn error(x: Digit) -> u32 {
///     if value(x.code) > 15 { x.index } else { u32::MAX }
/// }
///
/// #[scan_fn]
/// fn read(p: Part, c: Read) -> Read {
///     let digits = c.waits as u32 + p.digits;
///     let (bytes, first_error) = (c.bytes + digits / 2, c.first_error.min(p.rest.first_error));
///     if p.begins {
///         Read { bytes: bytes + p.rest.bytes, first_error, ..p.rest }
///     } else {
///         let digit = if p.digits > 0 { p.rest.digit } else { c.digit };
///         Read { bytes, first_error, waits: digits % 2 == 1, digit }
///     }
/// }
///
/// struct Hexadecimal;
///
/// #[scan_op]
/// impl ScanOp for Hexadecimal {
///     type Input = Digit;
///     type Carry = Read;
///     type Output = Byte;
///     const START: Read = Read { bytes: 0, first_error: u32::MAX, waits: false, digit: 0 };
///     fn advance(c: Read, x: Digit) -> (Read, Byte) {
///         let (digit, waits) = (value(x.code), c.waits && !x.begins);
///         let bytes = c.bytes + waits as u32;
///         let after = Read { bytes, first_error: c.first_error.min(error(x)), waits: !waits, digit };
///         (after, Byte { place: if waits { c.bytes } else { u32::MAX }, byte: c.digit << 4 | digit })
///     }
///     type State = Part;
///     const IDENTITY: Part = Part { digits: 0, begins: false, rest: Self::START };
///     fn lift(x: Digit) -> Part {
///         let rest = Read { bytes: 0, first_error: error(x), waits: x.begins, digit: value(x.code) };
///         Part { digits: !x.begins as u32, begins: x.begins, rest }
///     }
///     fn combine(a: Part, b: Part) -> Part {
///         if a.begins {
///             return Part { rest: read(b, a.rest), ..a };
///         }
///         let first_error = a.rest.first_error.min(b.rest.first_error);
///         let digit = if b.begins || b.digits > 0 { b.rest.digit } else { a.rest.digit };
///         Part { digits: a.digits + b.digits, begins: b.begins, rest: Read { first_error, digit, ..b.rest } }
///     }
///     fn apply(p: Part, c: Read) -> Read { read(p, c) }
/// }
///
/// let digits = b"4a6f02100!7";
/// let begins = [true, false, false, false, true, true, false, false, false, false, false];
/// let mut bytes = [0; 11];
/// let outputs = arrays::scatter_by_output((&mut bytes,));
/// let scan = Scanner::new()?.scan(Hexadecimal);
/// let read = scan.with_total().run_into((digits, &begins, arrays::indices()), outputs)?;
/// let read = read.ok_or("there are no digits")?;
/// assert_eq!(bytes[..read.bytes as usize - 1], [0x4a, 0x6f, 0x21, 0x00]);
/// assert_eq!((read.bytes, read.first_error), (5, 9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
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
    note = "the first field is a place, `u32`, `u64`, `usize`, `i32` or `i64`, or an array of places; then each other field is an array of as many items",
    note = "the output of `ops::pair` or `ops::zip` begins with an output, not with a place: in place of the pair write one operator, whose carry has the values of both and whose output begins with the place; or run the two one after the other"
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
    /// Writes the items that have a place in the array. Reports the places of the others, unless they skip an item.
    #[doc(hidden)]
    fn put(self, places: P, array: Target<Self::Item>, beyond: &impl Fn(i128));
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
                (*place != !0 && !is_in::<T, $place>(*place, len)).then(|| place.number())
            }
            #[inline(always)]
            fn put(self, place: $place, array: Target<T>, beyond: &impl Fn(i128)) {
                if place == !0 {
                    return;
                }
                match is_in::<T, $place>(place, array.len) {
                    // SAFETY: the place is in the array.
                    true => unsafe { array.write(place.index(), self) },
                    false => beyond(place.number()),
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
            #[inline(always)]
            fn put(self, places: [$place; K], array: Target<T>, beyond: &impl Fn(i128)) {
                for (place, item) in places.into_iter().zip(self) {
                    item.put(place, array, beyond);
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

/// Whether a place is in an array of `len` items. Two comparisons, because that with a constant answers those of
/// operators that count up to it.
#[inline(always)]
fn is_in<T: PlacedAt<P>, P: SegmentOffset>(place: P, len: usize) -> bool {
    place.index() < T::PLACES && place.index() < len
}

/// An array in host memory, to any place of which any thread may write.
#[doc(hidden)]
pub struct Target<T> {
    at: *mut T,
    len: usize,
}

impl<T> Clone for Target<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Target<T> {}

impl<T> fmt::Debug for Target<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<T: ScanElement> Target<T> {
    /// Whether several threads may write to one place: items are stored as a whole, in one instruction.
    const ATOMIC: bool = T::IS_PRIMITIVE && size_of::<T>() <= 8 && align_of::<T>() == size_of::<T>();

    fn new(array: &mut [T]) -> Self {
        Target { at: array.as_mut_ptr(), len: array.len() }
    }

    /// # Safety
    ///
    /// The place is in the array, which is exclusively borrowed for the threads that write, of which there is only one
    /// where items are not [atomic](Target::ATOMIC).
    #[inline(always)]
    unsafe fn write(self, place: usize, item: T) {
        // SAFETY: the caller vouches for the place. A primitive has no padding, and the alignment of the integer of
        // its size.
        unsafe {
            let at = self.at.add(place);
            match size_of::<T>() {
                1 if Self::ATOMIC => AtomicU8::from_ptr(at.cast()).store(std::mem::transmute_copy(&item), RELAXED),
                2 if Self::ATOMIC => AtomicU16::from_ptr(at.cast()).store(std::mem::transmute_copy(&item), RELAXED),
                4 if Self::ATOMIC => AtomicU32::from_ptr(at.cast()).store(std::mem::transmute_copy(&item), RELAXED),
                8 if Self::ATOMIC => AtomicU64::from_ptr(at.cast()).store(std::mem::transmute_copy(&item), RELAXED),
                _ => at.write(item),
            }
        }
    }
}

/// An operator may give several elements one place. Relaxed stores, which cost nothing, are no data race.
const RELAXED: Ordering = Ordering::Relaxed;

/// The first place that is in no array.
#[derive(Debug)]
struct Beyond {
    /// The position of the first such element.
    element: AtomicUsize,
    /// It, the number of the array, the place, and the length of the array.
    first: Mutex<Option<(usize, usize, i128, usize)>>,
}

impl Beyond {
    fn new() -> Self {
        Beyond { element: AtomicUsize::new(usize::MAX), first: Mutex::new(None) }
    }

    /// Keeps a place, unless one of an earlier element or array is kept already.
    #[cold]
    #[inline(never)]
    fn add(&self, element: usize, array: usize, place: i128, len: usize) {
        if element > self.element.load(RELAXED) {
            return;
        }
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none_or(|(kept, of, ..)| (element, array) < (kept, of)) {
            *first = Some((element, array, place, len));
            self.element.store(element, RELAXED);
        }
    }

    fn check(&self) -> Result<(), Error> {
        match *self.first.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((element, array, index, len)) => Err(Error::ComputedIndex { array, element, index, len }),
            None => Ok(()),
        }
    }
}

/// The arrays that are written, and the first place that is in none of them.
#[doc(hidden)]
#[derive(Debug)]
pub struct Placing<Place, Items, Arrays> {
    arrays: Arrays,
    beyond: Beyond,
    /// The places and items of a device, and where they are.
    staged: Option<(Vec<Place>, Items)>,
    staged_at: Vec<HostArray>,
}

/// The places of outputs, for elements from `first` on.
#[doc(hidden)]
#[derive(Debug)]
pub struct ToPlaces<Place, Targets> {
    targets: Targets,
    first: usize,
    beyond: *const Beyond,
    staged_at: *const [HostArray],
    places: PhantomData<Place>,
}

impl<Place, Targets: Copy> Clone for ToPlaces<Place, Targets> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Place, Targets: Copy> Copy for ToPlaces<Place, Targets> {}

macro_rules! on_host {
    (kind $consecutive:ident $index:tt) => { kind($consecutive) };
    ($(($($field:ident $array:ident $index:tt),*))*) => {$(
        // SAFETY: what is held has room for so many items of each field.
        unsafe impl<'a, T, Place, $($field,)* $($array: ?Sized,)* const CONSECUTIVE: bool> HostOutput<T>
            for ScatterByOutput<($(&'a mut $array,)*), CONSECUTIVE>
        where
            T: Fields<Tuple = (Place, $($field,)*)>,
            Place: ScanElement,
            $($field: PlacedAt<Place>, $array: AsMut<[<$field as PlacedAt<Place>>::Item]>,)*
        {
            const SEALED: Sealed = Sealed;
            type Layout = PerField;
            type At = ToPlaces<Place, ($(Target<<$field as PlacedAt<Place>>::Item>,)*)>;
            const KINDS: &'static [ArrayKind] = &[ArrayKind::NoMemory, $(on_host!(kind CONSECUTIVE $index)),*];
            type Held = Placing<Place, ($(Vec<$field>,)*), ($(&'a mut $array,)*)>;
            #[inline]
            fn items(&mut self, lengths: &mut Lengths) {
                (0..=[$($index),*].len()).for_each(|_| lengths.add(None));
            }
            fn hold(self, _: usize, _: Lanes<'_>) -> Result<Self::Held, Error> {
                Ok(Placing { arrays: self.0, beyond: Beyond::new(), staged: None, staged_at: Vec::new() })
            }
            fn stage(held: &mut Self::Held, len: usize) -> Result<(), Error> {
                let (places, items) = held.staged.insert((room(len)?, ($(room::<$field>(len)?,)*)));
                let item = size_of::<Place>();
                held.staged_at.push(HostArray { at: places.as_mut_ptr().cast(), item });
                $(
                    let item = size_of::<$field>();
                    held.staged_at.push(HostArray { at: items.$index.as_mut_ptr().cast(), item });
                )*
                Ok(())
            }
            fn at(held: &mut Self::Held, first: usize) -> Self::At {
                let targets = ($(Target::new(held.arrays.$index.as_mut()),)*);
                ToPlaces { targets, first, beyond: &held.beyond, staged_at: &*held.staged_at, places: PhantomData }
            }
            unsafe fn flush(held: &mut Self::Held, start: usize, len: usize) -> Result<(), Error> {
                if let Some((places, items)) = &mut held.staged {
                    // SAFETY: there is room for so many, and the caller vouches that they have been written.
                    unsafe {
                        places.set_len(len);
                        $(items.$index.set_len(len);)*
                    }
                    $(
                        let target = Target::new(held.arrays.$index.as_mut());
                        for (element, (places, item)) in places.iter().zip(items.$index.drain(..)).enumerate() {
                            let beyond = |place| held.beyond.add(start + element, $index + 1, place, target.len);
                            item.put(*places, target, &beyond);
                        }
                    )*
                }
                held.beyond.check()
            }
            unsafe fn finish(_: Self::Held) -> Result<(), Error> {
                Ok(())
            }
        }

        #[allow(private_interfaces, reason = "as of the trait")]
        impl<T, Place, $($field),*> Writer<T>
            for ToPlaces<Place, ($(Target<<$field as PlacedAt<Place>>::Item>,)*)>
        where
            T: Fields<Tuple = (Place, $($field,)*)>,
            Place: ScanElement,
            $($field: PlacedAt<Place>,)*
        {
            #[inline(always)]
            #[allow(non_snake_case, reason = "each item is named like its type")]
            unsafe fn write(self, index: usize, value: T) {
                let (places, $($field),*) = value.into_fields();
                // SAFETY: it points into the held arrays, which outlive the loops.
                let kept = unsafe { &*self.beyond };
                $(
                    let target = self.targets.$index;
                    let beyond = |place| kept.add(self.first + index, $index + 1, place, target.len);
                    $field.put(places, target, &beyond);
                )*
            }
            #[inline(always)]
            unsafe fn skip(self, index: usize) -> Self {
                ToPlaces { first: self.first + index, ..self }
            }
            fn pointer(self) -> Option<*mut T> {
                None
            }
            fn arrays(self, each: &mut dyn FnMut(HostArray)) {
                // SAFETY: what is held outlives the call.
                unsafe { &*self.staged_at }.iter().copied().for_each(each);
            }
            fn is_for_one_thread(self) -> bool {
                !($(Target::<<$field as PlacedAt<Place>>::Item>::ATOMIC)&&*)
            }
        }
    )*};
}

for_tuples_of_fifteen! { on_host }

#[cfg(feature = "cuda")]
macro_rules! on_device {
    ($(($($field:ident $array:ident $index:tt),*))*) => {$(
        // SAFETY: the buffers have as many items as is told, and kernels touch no others.
        unsafe impl<'a, T, Place, $($field,)* $($array: ?Sized,)* const CONSECUTIVE: bool> DeviceOutput<T>
            for ScatterByOutput<($(&'a mut $array,)*), CONSECUTIVE>
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
                    each(Described { len: None, ..Described::of_slice(kind(CONSECUTIVE), count, stream) });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Kept;

    /// Stores of other items than primitives could be torn.
    #[test]
    fn threads_share_a_run_only_if_items_are_stored_as_a_whole() {
        fn is_for_one_thread<T: ScanElement>(mut results: [T; 2]) -> bool {
            let mut held = <ScatterByOutput<(&mut [T; 2],)> as HostOutput<Kept<T>>>::hold(
                ScatterByOutput((&mut results,)),
                0,
                Lanes { len: 2, part: 2, memory: false, device: false, row: 2, axis: None },
            )
            .unwrap();
            let at = <ScatterByOutput<(&mut [T; 2],)> as HostOutput<Kept<T>>>::at(&mut held, 0);
            Writer::<Kept<T>>::is_for_one_thread(at)
        }
        assert!(!is_for_one_thread([false; 2]) && !is_for_one_thread([0_u32; 2]) && !is_for_one_thread([0.0; 2]));
        assert!(is_for_one_thread([0_u128; 2]) && is_for_one_thread([[0_u16; 2]; 2]));
    }
}

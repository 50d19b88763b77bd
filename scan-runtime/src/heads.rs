//! Sources of segment heads: the one place that knows all of them. Those in device memory are in `device/heads.rs`.

use std::{any::TypeId, borrow::Cow, mem::MaybeUninit, ops::Range};

use scan_codegen::{ElementType, OffsetWidth, PlanError, Segments};

#[cfg(feature = "cuda")]
use crate::host::cost::EachSlice;
use crate::{
    Error, ScanElement,
    cpu::{self, Order},
    error::expect_len,
    room::room,
};

/// A head flag: `u8` (anything but 0 is a head) or `bool`.
pub trait HeadFlag: ScanElement + sealed::Sealed {}

impl HeadFlag for u8 {}
impl HeadFlag for bool {}

/// A word of head bits, of which the least significant one is the first: `u8`, `u32`, `u64`, `i32` or `i64`.
pub trait BitWord: ScanElement + sealed::Sealed {}

impl BitWord for u8 {}
impl BitWord for u32 {}
impl BitWord for u64 {}
impl BitWord for i32 {}
impl BitWord for i64 {}

/// A position, at which a segment begins, or of an item that is gathered or scattered: `u32`, `u64`, `usize`, `i32` or
/// `i64`. A negative position is out of bounds.
pub trait SegmentOffset: ScanElement + sealed::Sealed {
    /// Its type.
    #[doc(hidden)]
    const TYPE: OffsetType;
    /// The position as an index; a negative position is one that no slice has.
    #[doc(hidden)]
    fn index(self) -> usize;
    /// The position as a number, for an error.
    #[doc(hidden)]
    fn number(self) -> i128;
}

/// The types of positions.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetType {
    U32,
    U64,
    I32,
    I64,
}

impl OffsetType {
    /// How the kernels read such positions: as unsigned numbers, so that a negative one is larger than all others.
    pub(crate) const fn width(self) -> OffsetWidth {
        match self {
            OffsetType::U32 | OffsetType::I32 => OffsetWidth::U32,
            OffsetType::U64 | OffsetType::I64 => OffsetWidth::U64,
        }
    }

    const fn bytes(self) -> usize {
        match self.width() {
            OffsetWidth::U32 => size_of::<u32>(),
            _ => size_of::<u64>(),
        }
    }

    /// Of `count` items those that have a position of this type, so that the bits of a negative one are the position of
    /// none.
    #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "the host reads signs"))]
    pub(crate) fn reached(self, count: usize) -> u64 {
        let count = count as u64;
        match self {
            OffsetType::U32 | OffsetType::U64 => count,
            OffsetType::I32 => count.min(1 << 31),
            OffsetType::I64 => count.min(1 << 63),
        }
    }
}

impl OffsetType {
    /// The number of a position of this type that has been read as unsigned.
    fn number(self, position: u64) -> i128 {
        match self {
            OffsetType::U32 | OffsetType::U64 => i128::from(position),
            OffsetType::I32 => i128::from(position as u32 as i32),
            OffsetType::I64 => i128::from(position as i64),
        }
    }
}

macro_rules! offsets {
    ($($ty:ident $offset:ident)*) => {$(
        const _: () = assert!(OffsetType::$offset.bytes() == size_of::<$ty>());

        impl SegmentOffset for $ty {
            const TYPE: OffsetType = OffsetType::$offset;
            #[inline]
            fn index(self) -> usize {
                self as usize // of 64 bits; negative numbers become more than half of the largest
            }
            #[inline]
            fn number(self) -> i128 {
                self as i128
            }
        }
    )*};
}

// A `ScanElement` of type `usize` has 64 bits, or the crate does not compile.
offsets! { u32 U32 u64 U64 usize U64 i32 I32 i64 I64 }

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for bool {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for usize {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
}

/// What the bytes of [`Heads`] mean: as [`Segments`], but no larger than a call can pass on without its showing.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HeadKind {
    None,
    Flags,
    Bits(Bits),
    Keys {
        key: TypeId,
        size: usize,
        layout: fn() -> ElementType,
    },
    Offsets(OffsetType),
    /// Of a reduction: where each segment begins, and in other memory where it ends.
    Ranges(OffsetType),
    Rows {
        len: usize,
    },
}

/// Where head bits lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bits {
    /// Bits of a word.
    word: usize,
    /// The bit of the first element.
    first: usize,
    /// Whether words that no element needs are an error: they are the bits of another input.
    exact: bool,
}

impl Bits {
    /// Those of one input. Bytes may be padded.
    pub(crate) fn of<W: BitWord>() -> Self {
        Bits { exact: size_of::<W>() > 1, ..Bits::at::<W>(0) }
    }

    /// A part of more bits.
    pub(crate) fn at<W: BitWord>(first: usize) -> Self {
        Bits { word: 8 * size_of::<W>(), first, exact: false }
    }

    /// Whether `found` words have a bit for each of `len` elements.
    fn check(self, found: usize, len: usize) -> Result<(), Error> {
        self.check_as(found, len, "there is a bit for each element")
    }

    fn check_as(self, found: usize, len: usize, why: &'static str) -> Result<(), Error> {
        let expected = self.first.saturating_add(len).div_ceil(self.word);
        let what = if self.word == 8 { "bytes of head bits" } else { "words of head bits" };
        match found < expected || self.exact && found > expected {
            true => Err(Error::Length { what, found, expected, why }),
            false => Ok(()),
        }
    }

    /// The same of words in device memory: kernels read 32 bits at a time, and none beyond the memory.
    #[cfg(feature = "cuda")]
    pub(crate) fn check_device(self, found: usize, len: usize) -> Result<(), Error> {
        self.check(found, len)?;
        self.check_as(found, len.div_ceil(32).saturating_mul(32), "kernels read 32 bits at a time, so append zeros")
    }

    /// Where kernels read device memory at this address.
    #[cfg(feature = "cuda")]
    pub(crate) fn address(self, memory: u64) -> Result<u64, Error> {
        let address = memory + self.first as u64 / 8;
        match self.first.is_multiple_of(8) && address.is_multiple_of(4) {
            true => Ok(address),
            false => Err(Error::HeadBitsAlignment { first: self.first }),
        }
    }
}

impl HeadKind {
    pub(crate) fn keys<K: ScanElement>() -> Self {
        HeadKind::Keys { key: TypeId::of::<K>(), size: size_of::<K>(), layout: K::layout }
    }

    pub(crate) fn is_none(self) -> bool {
        matches!(self, HeadKind::None)
    }

    /// Whether the same kernels are for both.
    pub(crate) fn is_like(self, other: HeadKind) -> bool {
        match (self, other) {
            (HeadKind::Keys { key, .. }, HeadKind::Keys { key: other, .. }) => key == other,
            (HeadKind::Offsets(ty), HeadKind::Offsets(other)) | (HeadKind::Ranges(ty), HeadKind::Ranges(other)) => {
                ty.width() == other.width()
            }
            _ => std::mem::discriminant(&self) == std::mem::discriminant(&other),
        }
    }

    /// What a caller calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            HeadKind::None => "no heads",
            HeadKind::Flags => "head flags",
            HeadKind::Bits(_) => "head bits",
            HeadKind::Keys { .. } => "keys of a type",
            HeadKind::Offsets(OffsetType::U32 | OffsetType::I32) => "offsets of 32 bits",
            HeadKind::Offsets(OffsetType::U64 | OffsetType::I64) => "offsets of 64 bits",
            HeadKind::Ranges(OffsetType::U32 | OffsetType::I32) => "ranges of 32 bits",
            HeadKind::Ranges(OffsetType::U64 | OffsetType::I64) => "ranges of 64 bits",
            HeadKind::Rows { .. } => "rows",
        }
    }

    /// In the planner's words.
    pub(crate) fn segments(self) -> Segments {
        match self {
            // No scan restarts at ranges: they have kernels of their own.
            HeadKind::None | HeadKind::Ranges(_) => Segments::None,
            HeadKind::Flags => Segments::HeadFlags,
            HeadKind::Bits(_) => Segments::HeadBits,
            HeadKind::Keys { layout, .. } => Segments::Keys(layout()),
            HeadKind::Offsets(ty) => Segments::Offsets(ty.width()),
            HeadKind::Rows { .. } => Segments::Rows,
        }
    }
}

/// A source of segment heads in host memory, with the initial value of each segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads<'h> {
    pub(crate) kind: HeadKind,
    pub(crate) bytes: &'h [u8],
    /// Where ranges end.
    ends: &'h [u8],
    /// How many flags, words, keys, offsets or begins of ranges there are.
    count: usize,
    /// Whether they are keys that the planner refuses.
    pub(crate) has_padding: bool,
    /// The initial values of the segments, if each has one.
    pub(crate) initial_values: Option<InitialValues<'h>>,
}

/// The initial values of segments, in host memory: carries of the scan that has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InitialValues<'h> {
    bytes: &'h [MaybeUninit<u8>],
    count: usize,
}

impl<'h> InitialValues<'h> {
    pub(crate) fn new<C: ScanElement>(values: &'h [C]) -> Self {
        // SAFETY: any byte of a slice, of padding too, is one that need not be initialised.
        let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) };
        InitialValues { bytes, count: values.len() }
    }

    /// The values.
    ///
    /// # Safety
    ///
    /// They are of this type.
    pub(crate) unsafe fn values<C: ScanElement>(self) -> &'h [C] {
        // SAFETY: the caller vouches for the type, of which `new` has taken a slice.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.count) }
    }

    pub(crate) fn bytes(self) -> &'h [MaybeUninit<u8>] {
        self.bytes
    }
}

impl<'h> Heads<'h> {
    pub(crate) const NONE: Heads<'static> =
        Heads { kind: HeadKind::None, bytes: &[], ends: &[], count: 0, has_padding: false, initial_values: None };

    /// Flags, words, keys or offsets, as `kind` says.
    #[inline]
    pub(crate) fn of<T: ScanElement>(kind: HeadKind, items: &'h [T]) -> Self {
        // To ask for the layout allocates.
        if !T::IS_PRIMITIVE && T::layout().padding() != 0 {
            // Padding must not be read. The planner refuses such keys, so that nobody misses their bytes.
            return Heads { kind, count: items.len(), has_padding: true, ..Heads::NONE };
        }
        // SAFETY: without padding, all bytes are initialised.
        unsafe { Heads::new(kind, items) }
    }

    /// Ranges, by where each begins and ends.
    pub(crate) fn ranges<T: SegmentOffset>(begins: &'h [T], ends: &'h [T]) -> Self {
        let of = |positions| Heads::of(HeadKind::Ranges(T::TYPE), positions);
        Heads { ends: of(ends).bytes, ..of(begins) }
    }

    /// These, if there are any.
    #[inline]
    pub(crate) fn given(&self) -> Option<&Self> {
        (!self.kind.is_none()).then_some(self)
    }

    pub(crate) fn rows(len: usize) -> Self {
        Heads { kind: HeadKind::Rows { len }, count: len, ..Heads::NONE }
    }

    /// # Safety
    ///
    /// `T` has no padding.
    #[inline(always)]
    unsafe fn new<T>(kind: HeadKind, slice: &'h [T]) -> Self {
        // SAFETY: the bytes of a slice of plain data without padding are initialised.
        let bytes = unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), size_of_val(slice)) };
        Heads { kind, bytes, count: slice.len(), ..Heads::NONE }
    }

    /// How many offsets there are, where it is offsets; how many elements a row has, where it is rows.
    pub(crate) fn head_count(&self) -> u64 {
        if matches!(self.kind, HeadKind::Offsets(_) | HeadKind::Rows { .. }) { self.count as u64 } else { 0 }
    }

    /// Whether they fit an input of this length.
    #[inline]
    pub(crate) fn check(&self, len: usize) -> Result<(), Error> {
        match self.kind {
            HeadKind::None => Ok(()),
            HeadKind::Offsets(ty) => self.check_offsets(ty, len),
            HeadKind::Ranges(ty) => self.check_ranges(ty, len),
            kind => check_length(kind, self.count, len),
        }
    }

    /// Signs are extended, so that a negative offset is past the end.
    fn check_offsets(&self, ty: OffsetType, len: usize) -> Result<(), Error> {
        let (narrow, wide) = (self.bytes.as_chunks().0.iter(), self.bytes.as_chunks().0.iter());
        match ty {
            OffsetType::U32 => check_offsets(narrow.map(|offset| u64::from(u32::from_ne_bytes(*offset))), false, len),
            OffsetType::I32 => {
                check_offsets(narrow.map(|offset| i64::from(i32::from_ne_bytes(*offset)) as u64), true, len)
            }
            OffsetType::U64 => check_offsets(wide.map(|offset| u64::from_ne_bytes(*offset)), false, len),
            OffsetType::I64 => check_offsets(wide.map(|offset| u64::from_ne_bytes(*offset)), true, len),
        }
    }

    fn check_ranges(&self, ty: OffsetType, len: usize) -> Result<(), Error> {
        check_range_ends(self.ends.len() / ty.bytes(), self.count)?;
        for index in 0..self.count {
            let [begin, end] = [self.bytes, self.ends].map(|positions| ty.number(self.position(positions, index)));
            if begin < 0 || begin > end || end > len as i128 {
                return Err(Error::RangeBounds { index, begin, end, len });
            }
        }
        Ok(())
    }

    /// How many segments an input of this length has, if that is known before they are looked for.
    pub(crate) fn segment_count(&self, len: usize) -> Option<usize> {
        segment_count(self.kind, self.count, len)
    }

    /// The elements of a segment: of rows, between offsets, or of ranges.
    pub(crate) fn segment(&self, index: usize) -> Range<usize> {
        match self.kind {
            HeadKind::Rows { len } => index * len..(index + 1) * len,
            HeadKind::Ranges(_) => self.offset(index) as usize..self.position(self.ends, index) as usize,
            _ => self.offset(index) as usize..self.offset(index + 1) as usize,
        }
    }

    /// How many segments there are, each of which has an initial value, or a total: they have an index, and every
    /// element of an input of this length is in one. The heads have been checked.
    pub(crate) fn check_each(&self, len: usize) -> Result<usize, Error> {
        let count = check_indexed(self.kind, self.count, len)?;
        if let (HeadKind::Offsets(_), Some(last)) = (self.kind, self.count.checked_sub(1)) {
            let (first, last) = (self.offset(0), self.offset(last));
            if (first, last) != (0, len as u64) {
                return Err(Error::OffsetsCover { first, last, len });
            }
        }
        match self.initial_values {
            Some(values) => check_initial_values(values.count, count).map(|()| count),
            None => Ok(count),
        }
    }

    /// Offset `index`, of those that there are. They have been checked, so that none is negative.
    fn offset(&self, index: usize) -> u64 {
        self.position(self.bytes, index)
    }

    /// The same of other positions of this type.
    fn position(&self, positions: &[u8], index: usize) -> u64 {
        match self.kind {
            HeadKind::Offsets(ty) | HeadKind::Ranges(ty) if ty.width() == OffsetWidth::U32 => {
                u64::from(u32::from_ne_bytes(item_at(positions, index)))
            }
            _ => u64::from_ne_bytes(item_at(positions, index)),
        }
    }

    /// The segments, where memory has the positions of each: between offsets, or ranges.
    pub(crate) fn positioned(&self) -> Option<Vec<Range<usize>>> {
        let is_positioned = matches!(self.kind, HeadKind::Offsets(_) | HeadKind::Ranges(_));
        let count = self.segment_count(0).filter(|_| is_positioned)?;
        Some((0..count).map(|index| self.segment(index)).collect())
    }

    /// How many elements are combined, of an input of this length. The heads have been checked.
    pub(crate) fn combined(&self, len: usize) -> usize {
        match self.kind {
            // They may overlap, and leave elements out.
            HeadKind::Ranges(_) => {
                (0..self.count).map(|index| self.segment(index).len()).fold(0, usize::saturating_add)
            }
            _ => len,
        }
    }

    /// Bytes of what a device is given: flags, words, keys or positions, and initial values.
    #[cfg(feature = "cuda")]
    pub(crate) fn copied_bytes(&self) -> usize {
        self.bytes.len() + self.ends.len() + self.initial_values.map_or(0, |values| values.bytes.len())
    }

    /// The slices among these that a device is given as they are.
    #[cfg(feature = "cuda")]
    pub(crate) fn slices(&self, each: &mut EachSlice<'_>) {
        if matches!(self.kind, HeadKind::Flags | HeadKind::Keys { .. }) {
            each(self.bytes.as_ptr(), self.bytes.len());
        }
        if let Some(values) = self.initial_values {
            each(values.bytes.as_ptr().cast(), values.bytes.len());
        }
    }

    /// Where ranges begin, and then where they end, as kernels read them.
    #[cfg(feature = "cuda")]
    pub(crate) fn bounds_of_ranges(&self) -> Result<Vec<u8>, Error> {
        let mut bounds = room(self.bytes.len() + self.ends.len())?;
        [self.bytes, self.ends].into_iter().for_each(|positions| bounds.extend_from_slice(positions));
        Ok(bounds)
    }

    /// How many offsets are below a position.
    pub(crate) fn offsets_below(&self, position: usize) -> usize {
        let (mut below, mut end) = (0, self.count);
        // Where most scans begin, from either end.
        if position == 0 {
            return 0;
        }
        if self.count.checked_sub(1).is_none_or(|last| self.offset(last) < position as u64) {
            return self.count;
        }
        while below < end {
            let middle = below.midpoint(end);
            if self.offset(middle) < position as u64 { below = middle + 1 } else { end = middle }
        }
        below
    }

    /// The first element of a range that begins a segment. Element 0 is not in the range.
    pub(crate) fn first_head(&self, range: Range<usize>) -> Option<usize> {
        let head = match self.kind {
            HeadKind::None | HeadKind::Ranges(_) => None,
            HeadKind::Rows { len } => Some(range.start.next_multiple_of(len)),
            HeadKind::Offsets(_) => {
                let index = self.offsets_below(range.start);
                (index < self.count).then(|| self.offset(index) as usize)
            }
            HeadKind::Flags | HeadKind::Bits(_) | HeadKind::Keys { .. } => {
                let head =
                    |group| self.mask_within(group, &range).map(|(at, mask)| at + mask.trailing_zeros() as usize);
                let Range { start, end } = groups(&range);
                let near = end.min(start + NEAR);
                (start..near).find_map(head).or_else(|| far(end - near, |group| head(near + group)))
            }
        };
        head.filter(|head| range.contains(head))
    }

    /// The last element of a range that begins a segment. Element 0 is not in the range.
    pub(crate) fn last_head(&self, range: Range<usize>) -> Option<usize> {
        let head = match self.kind {
            HeadKind::None | HeadKind::Ranges(_) => None,
            HeadKind::Rows { len } => Some((range.end - 1) / len * len),
            HeadKind::Offsets(_) => {
                let index = self.offsets_below(range.end).checked_sub(1);
                index.map(|index| self.offset(index) as usize)
            }
            HeadKind::Flags | HeadKind::Bits(_) | HeadKind::Keys { .. } => {
                let head = |group| self.mask_within(group, &range).map(|(at, mask)| at + mask.ilog2() as usize);
                let Range { start, end } = groups(&range);
                let near = start.max(end.saturating_sub(NEAR));
                (near..end).rev().find_map(head).or_else(|| far(near - start, |group| head(near - 1 - group)))
            }
        };
        head.filter(|head| range.contains(head))
    }

    /// The first element of a group, and the heads among its elements in a range, if there are any.
    fn mask_within(&self, group: usize, range: &Range<usize>) -> Option<(usize, u64)> {
        let first = group * GROUP;
        let mask = self.mask(first..range.end.min(first + GROUP));
        let mask = mask & u64::MAX << range.start.saturating_sub(first);
        (mask != 0).then_some((first, mask))
    }

    /// The heads of a part of the input, which begins where a segment does; offsets from the one of segment
    /// `segments.start` to that of segment `segments.end`. And the number that kernels are given.
    pub(crate) fn of_part(
        &self,
        elements: &Range<usize>,
        segments: &Range<usize>,
    ) -> Result<(Cow<'h, [u8]>, u64), Error> {
        let Range { start, end } = elements.clone();
        let bytes = self.bytes;
        Ok(match self.kind {
            HeadKind::None | HeadKind::Ranges(_) => (Cow::default(), 0),
            HeadKind::Rows { len } => (Cow::default(), len as u64),
            HeadKind::Flags => (Cow::Borrowed(&bytes[start..end]), 0),
            HeadKind::Keys { size, .. } => (Cow::Borrowed(&bytes[start * size..end * size]), 0),
            HeadKind::Bits(Bits { first, .. }) => {
                let (bit, count) = (first + start, elements.len().div_ceil(32));
                match self.bytes.get(bit / 8..bit / 8 + 4 * count) {
                    Some(words) if bit.is_multiple_of(8) && cfg!(target_endian = "little") => (Cow::Borrowed(words), 0),
                    _ => {
                        let mut part = room(4 * count)?;
                        (start..end).step_by(32).for_each(|at| part.extend((self.bits_from(at) as u32).to_ne_bytes()));
                        (Cow::Owned(part), 0)
                    }
                }
            }
            HeadKind::Offsets(ty) => {
                let count = (segments.end + 1).min(self.count) - segments.start.min(self.count);
                let mut part = room(count * ty.bytes())?;
                for index in (segments.start..).take(count) {
                    let offset = self.offset(index) - start as u64;
                    match ty.bytes() {
                        4 => part.extend((offset as u32).to_ne_bytes()),
                        _ => part.extend(offset.to_ne_bytes()),
                    }
                }
                (Cow::Owned(part), count as u64)
            }
        })
    }

    /// The heads of the whole input, as kernels read them.
    pub(crate) fn of_all(&self, len: usize) -> Result<Cow<'h, [u8]>, Error> {
        match self.kind {
            HeadKind::Bits(_) => Ok(self.of_part(&(0..len), &(0..0))?.0),
            _ => Ok(Cow::Borrowed(self.bytes)),
        }
    }

    /// The head bits of [`GROUP`] elements; zeros behind the last word.
    #[inline]
    pub(crate) fn bits_from(&self, element: usize) -> u64 {
        let HeadKind::Bits(Bits { word, first, .. }) = self.kind else { return 0 };
        let (byte, shift) = ((first + element) / 8, (first + element) % 8);
        let mut nine = [0; 9];
        if cfg!(target_endian = "little") {
            let from = self.bytes.get(byte..).unwrap_or_default();
            match from.first_chunk() {
                Some(all) => nine = *all,
                None => nine[..from.len()].copy_from_slice(from),
            }
        } else {
            let of_word = |byte: usize| self.bytes.get(byte ^ (word / 8 - 1)).copied().unwrap_or_default();
            (byte..).zip(&mut nine).for_each(|(byte, to)| *to = of_word(byte));
        }
        let [low @ .., high] = nine;
        u64::from_le_bytes(low) >> shift | u64::from(high) << 1 << (63 - shift)
    }

    /// Bit `i` is set where element `group.start + i` begins a segment, by anything but offsets; of element 0 it says
    /// nothing.
    fn mask(&self, group: Range<usize>) -> u64 {
        match self.kind {
            _ if group.is_empty() => 0,
            HeadKind::Flags => mask_of_flags(&self.bytes[group]),
            HeadKind::Bits(_) => {
                let mask = self.bits_from(group.start);
                // Bits past the last element mean nothing.
                if group.len() < GROUP { mask & ((1 << group.len()) - 1) } else { mask }
            }
            HeadKind::Keys { size, .. } => {
                let from = group.start.max(1);
                let before = &self.bytes[(from - 1) * size..(group.end - 1) * size];
                let these = &self.bytes[from * size..group.end * size];
                let mask = match size {
                    1 => mask_of_keys::<1>(before, these),
                    2 => mask_of_keys::<2>(before, these),
                    4 => mask_of_keys::<4>(before, these),
                    8 => mask_of_keys::<8>(before, these),
                    _ if before == these => 0,
                    size => mask_of(before.chunks_exact(size).zip(these.chunks_exact(size)).map(|(a, b)| a != b)),
                };
                mask << (from - group.start)
            }
            HeadKind::Rows { len } => {
                let mut mask = 0;
                let mut head = group.start.next_multiple_of(len);
                while head < group.end {
                    mask |= 1 << (head - group.start);
                    head += len;
                }
                mask
            }
            HeadKind::None | HeadKind::Offsets(_) | HeadKind::Ranges(_) => 0,
        }
    }

    /// The elements at which a scan of up to [`GROUP`] elements begins anew, a bit each; those of
    /// [`next_restarts`](Cursor::next_restarts).
    pub(crate) fn restarts(&self, order: Order, len: usize) -> u64 {
        match order {
            Order::Forward => self.cursor(0).mask(0..len) & !1,
            Order::Reversed => self.cursor(len).mask_back(1..len),
        }
    }

    /// Something to ask about one group after the other, from position `from` on.
    pub(crate) fn cursor(&self, from: usize) -> Cursor<'_> {
        let next_offset = if matches!(self.kind, HeadKind::Offsets(_)) { self.offsets_below(from) } else { 0 };
        Cursor { heads: self, from, next_offset }
    }
}

/// Elements that are asked about at once.
pub(crate) const GROUP: usize = 64;

/// Groups that are looked at before all threads are asked to.
const NEAR: usize = 1 << 10;

/// What `head` finds in the first of `count` groups in which it finds something. All threads look for it.
fn far(count: usize, head: impl Fn(usize) -> Option<usize> + Sync) -> Option<usize> {
    let part = |index: usize| (index * NEAR..count.min((index + 1) * NEAR)).find_map(&head).map_or(Ok(()), Err);
    cpu::try_each(count.div_ceil(NEAR), part).err()
}

/// The groups in which a range lies.
fn groups(range: &Range<usize>) -> Range<usize> {
    range.start / GROUP..range.end.div_ceil(GROUP)
}

/// Tells of one group of elements after the other which of them begin segments.
pub(crate) struct Cursor<'a> {
    heads: &'a Heads<'a>,
    /// Where it began.
    from: usize,
    /// How many offsets are below the position that has been reached.
    next_offset: usize,
}

impl Cursor<'_> {
    /// Of the groups of [`GROUP`] elements that follow each other in a range in the order of the scan, the next one in
    /// which the scan begins anew at some element; and a bit for each of these. They are the heads but for element 0,
    /// before which nothing is in any case. From the last element to the first they are the elements before the heads
    /// below the position at which the cursor began. The ranges end where the input, or the group before, ends in the
    /// order of the scan.
    pub(crate) fn next_restarts(&mut self, order: Order, range: &Range<usize>) -> Option<(Range<usize>, u64)> {
        let Range { mut start, mut end } = *range;
        while start < end {
            let group = match order {
                Order::Forward => {
                    start = self.skip(start);
                    start..end.min(start.saturating_add(GROUP))
                }
                Order::Reversed => {
                    end = self.skip_back(end);
                    start.max(end.saturating_sub(GROUP))..end
                }
            };
            if group.is_empty() {
                return None;
            }
            let mask = match order {
                Order::Forward => self.mask(group.clone()) & !u64::from(group.start == 0),
                Order::Reversed => self.mask_back(group.start + 1..group.end + 1),
            };
            if mask != 0 {
                return Some((group, mask));
            }
            match order {
                Order::Forward => start = group.end,
                Order::Reversed => end = group.start,
            }
        }
        None
    }

    /// Where the first group in which there may be a head begins, if one begins at `start`: between offsets no group is
    /// looked at.
    #[inline]
    fn skip(&self, start: usize) -> usize {
        match self.heads.kind {
            HeadKind::Offsets(_) if self.next_offset < self.heads.count => {
                let offset = self.heads.offset(self.next_offset) as usize;
                start + offset.saturating_sub(start) / GROUP * GROUP
            }
            HeadKind::Offsets(_) => usize::MAX,
            _ => start,
        }
    }

    /// The same from the last element to the first: where the group ends, if one ends at `end`.
    #[inline]
    fn skip_back(&self, end: usize) -> usize {
        match (self.heads.kind, self.next_offset.checked_sub(1)) {
            (HeadKind::Offsets(_), Some(index)) => {
                end - end.saturating_sub(self.heads.offset(index) as usize) / GROUP * GROUP
            }
            (HeadKind::Offsets(_), None) => 0,
            _ => end,
        }
    }

    /// Bit `i` is set where element `group.start + i` begins a segment; of element 0 it says nothing. The group has no
    /// more than [`GROUP`] elements, and the groups ascend.
    pub(crate) fn mask(&mut self, group: Range<usize>) -> u64 {
        if !matches!(self.heads.kind, HeadKind::Offsets(_)) {
            return self.heads.mask(group);
        }
        let mut mask = 0;
        while self.next_offset < self.heads.count {
            let offset = self.heads.offset(self.next_offset);
            if offset >= group.end as u64 {
                break;
            }
            mask |= 1 << (offset - group.start as u64);
            self.next_offset += 1;
        }
        mask
    }

    /// The same of the elements below the position at which the cursor began, where the groups descend.
    pub(crate) fn mask_back(&mut self, group: Range<usize>) -> u64 {
        let group = group.start..group.end.min(self.from);
        if !matches!(self.heads.kind, HeadKind::Offsets(_)) {
            return self.heads.mask(group);
        }
        let mut mask = 0;
        while let Some(index) = self.next_offset.checked_sub(1) {
            let offset = self.heads.offset(index);
            if offset < group.start as u64 {
                break;
            }
            mask |= 1 << (offset - group.start as u64);
            self.next_offset = index;
        }
        mask
    }
}

fn mask_of(begins: impl Iterator<Item = bool>) -> u64 {
    begins.zip(0..).fold(0, |mask, (begins, bit)| mask | u64::from(begins) << bit)
}

/// Bits of up to [`GROUP`] elements, sixteen at a time from a position on; the last sixteen may overlap those before.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn mask_by_sixteens(count: usize, sixteen: impl Fn(Range<usize>) -> u16, one: impl Fn(usize) -> bool) -> u64 {
    if count < 16 {
        return mask_of((0..count).map(one));
    }
    let (mut mask, mut start) = (0, 0);
    while start < count {
        let first = start.min(count - 16);
        mask |= u64::from(sixteen(first..first + 16)) << first;
        start += 16;
    }
    mask
}

/// Which of up to [`GROUP`] flags are set.
#[cfg(target_arch = "x86_64")]
fn mask_of_flags(flags: &[u8]) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_setzero_si128};
    let sixteen = |range: Range<usize>| {
        // SAFETY: every processor of this architecture has SSE2, and sixteen bytes are read of sixteen.
        let unset = unsafe {
            let flags = _mm_loadu_si128(flags[range].as_ptr().cast());
            _mm_movemask_epi8(_mm_cmpeq_epi8(flags, _mm_setzero_si128()))
        };
        !unset as u16
    };
    mask_by_sixteens(flags.len(), sixteen, |index| flags[index] != 0)
}

/// Where two lists of up to [`GROUP`] keys of `N` bytes differ.
#[cfg(target_arch = "x86_64")]
fn mask_of_keys<const N: usize>(before: &[u8], these: &[u8]) -> u64 {
    use std::arch::x86_64::*;
    let sixteen = |range: Range<usize>| {
        let bytes = range.start * N..range.end * N;
        let (before, these) = (before[bytes.clone()].as_ptr(), these[bytes].as_ptr());
        // SAFETY: every processor of this architecture has SSE2, and sixteen keys are read of sixteen.
        let equal = unsafe {
            let load = |from: *const u8, index: usize| _mm_loadu_si128(from.add(16 * index).cast());
            let words = |index| _mm_cmpeq_epi32(load(before, index), load(these, index));
            // A key of two words is equal where both are.
            let pairs = |index| {
                let [low, high] = [words(index), words(index + 1)].map(|words| _mm_castsi128_ps(words));
                let [even, odd] = [_mm_shuffle_ps::<0x88>(low, high), _mm_shuffle_ps::<0xdd>(low, high)];
                _mm_castps_si128(_mm_and_ps(even, odd))
            };
            let halves = |index| _mm_cmpeq_epi16(load(before, index), load(these, index));
            let narrow = |[a, b, c, d]: [__m128i; 4]| _mm_packs_epi16(_mm_packs_epi32(a, b), _mm_packs_epi32(c, d));
            let equal = match N {
                1 => _mm_cmpeq_epi8(load(before, 0), load(these, 0)),
                2 => _mm_packs_epi16(halves(0), halves(1)),
                4 => narrow([words(0), words(1), words(2), words(3)]),
                _ => narrow([pairs(0), pairs(2), pairs(4), pairs(6)]),
            };
            _mm_movemask_epi8(equal)
        };
        !equal as u16
    };
    let key = |keys: &[u8], index: usize| -> [u8; N] { keys.as_chunks().0[index] };
    mask_by_sixteens(these.len() / N, sixteen, |index| key(before, index) != key(these, index))
}

#[cfg(not(target_arch = "x86_64"))]
fn mask_of_keys<const N: usize>(before: &[u8], these: &[u8]) -> u64 {
    mask_of(before.as_chunks::<N>().0.iter().zip(these.as_chunks::<N>().0).map(|(a, b)| a != b))
}

/// Eight flags at a time.
#[cfg(not(target_arch = "x86_64"))]
fn mask_of_flags(flags: &[u8]) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let (eights, rest) = flags.as_chunks::<8>();
    let mut mask = mask_of(rest.iter().map(|&flag| flag != 0)).checked_shl(8 * eights.len() as u32).unwrap_or(0);
    for (eight, byte) in eights.iter().zip(0..) {
        let flags = u64::from_le_bytes(*eight);
        // The highest bit of each byte: whether any bit of it is set.
        let set = (((flags & LOW) + LOW) | flags) & !LOW;
        // The product gathers these bits in its highest byte, the first flag's lowest.
        mask |= (set >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56 << (8 * byte);
    }
    mask
}

/// Whether offsets ascend, up to the length of the input at most. Those of a signed type have its bits.
fn check_offsets(offsets: impl Iterator<Item = u64>, signed: bool, len: usize) -> Result<(), Error> {
    let mut before = 0;
    for (index, offset) in offsets.enumerate() {
        if offset < before {
            return Err(Error::OffsetsDescend { index, offset, before });
        }
        if offset > len as u64 {
            let offset = if signed { i128::from(offset as i64) } else { i128::from(offset) };
            return Err(Error::OffsetPastEnd { index, offset, len });
        }
        before = offset;
    }
    Ok(())
}

/// The number of segments of an input of length `len` with `heads` heads, if it is known before they are read.
pub(crate) fn segment_count(kind: HeadKind, heads: usize, len: usize) -> Option<usize> {
    match kind {
        HeadKind::None => Some(1),
        HeadKind::Rows { len: row } => Some(len.checked_div(row).unwrap_or(0)),
        HeadKind::Offsets(_) => Some(heads.saturating_sub(1)),
        HeadKind::Ranges(_) => Some(heads),
        HeadKind::Flags | HeadKind::Bits(_) | HeadKind::Keys { .. } => None,
    }
}

/// The same, where each segment must have an index before the scan, and each element a segment.
pub(crate) fn check_indexed(kind: HeadKind, heads: usize, len: usize) -> Result<usize, Error> {
    let no_index = || PlanError::NoSegmentIndex { segments: kind.segments().to_string() };
    let count = segment_count(kind, heads, len).filter(|_| !kind.is_none()).ok_or_else(no_index)?;
    let may_leave_out = matches!(kind, HeadKind::Ranges(_));
    if count == 0 && len > 0 && !may_leave_out {
        Err(Error::OffsetsCover { first: 0, last: 0, len })
    } else {
        Ok(count)
    }
}

/// Whether there is an initial value for each segment.
pub(crate) fn check_initial_values(found: usize, expected: usize) -> Result<(), Error> {
    expect_len("initial values", found, expected, "there is one for each segment or column")
}

/// Whether there is an end for each begin of a range.
pub(crate) fn check_range_ends(found: usize, begins: usize) -> Result<(), Error> {
    expect_len("ends of ranges", found, begins, "there is one for each begin")
}

/// Item `index`, of `N` bytes.
fn item_at<const N: usize>(items: &[u8], index: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&items[index * N..(index + 1) * N]);
    bytes
}

/// Whether `found` flags, words or keys fit an input of length `len`. Any number of offsets does.
pub(crate) fn check_length(kind: HeadKind, found: usize, len: usize) -> Result<(), Error> {
    let (what, expected, why) = match kind {
        HeadKind::Flags => ("head flags", len, "there is one for each element"),
        HeadKind::Bits(bits) => return bits.check(found, len),
        HeadKind::Keys { .. } => ("keys", len, "there is one for each element"),
        HeadKind::None | HeadKind::Offsets(_) | HeadKind::Ranges(_) => return Ok(()),
        HeadKind::Rows { len: row } => {
            return if len.is_multiple_of(row) { Ok(()) } else { Err(Error::RowLength { row, len }) };
        }
    };
    expect_len(what, found, expected, why)
}

/// By kinds, for the tests of what works on them.
#[cfg(test)]
impl<'h> Heads<'h> {
    pub(crate) fn flags<F: HeadFlag>(flags: &'h [F]) -> Self {
        Heads::of(HeadKind::Flags, flags)
    }

    pub(crate) fn bits<W: BitWord>(bits: &'h [W]) -> Self {
        Heads::of(HeadKind::Bits(Bits::of::<W>()), bits)
    }

    pub(crate) fn bits_at<W: BitWord>(bits: &'h [W], first: usize) -> Self {
        Heads::of(HeadKind::Bits(Bits::at::<W>(first)), bits)
    }

    pub(crate) fn keys<K: ScanElement>(keys: &'h [K]) -> Self {
        Heads::of(HeadKind::keys::<K>(), keys)
    }

    pub(crate) fn offsets<T: SegmentOffset>(offsets: &'h [T]) -> Self {
        Heads::of(HeadKind::Offsets(T::TYPE), offsets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan_element;

    #[scan_element(crate = crate)]
    #[derive(Clone, Copy)]
    struct Padded {
        small: u8,
        large: u32,
    }

    #[scan_element(crate = crate)]
    #[derive(Clone, Copy)]
    struct Packed {
        key: [u16; 3],
        other: u16,
    }

    #[test]
    fn padding_of_keys_is_never_read() {
        let padded = [Padded { small: 1, large: 2 }; 4];
        assert!(Heads::keys(&padded).bytes.is_empty());
        let packed = [0, 0, 1, 1, 0].map(|other| Packed { key: [1, 2, 3], other });
        let heads = Heads::keys(&packed);
        assert_eq!(heads.bytes.len(), size_of_val(&packed));
        assert_eq!(heads.cursor(0).mask(0..packed.len()), 0b10100);
    }

    /// Every part that begins where a segment does has the heads of the whole.
    #[test]
    fn heads_of_a_part_are_those_of_the_whole() {
        const LEN: usize = 300;
        let starts = [0, 1, 31, 32, 40, 40, 64, 127, 129, 192, 299];
        let flags: Vec<bool> = (0..LEN).map(|at| starts.contains(&at)).collect();
        let mut bits = [0_u32; LEN.div_ceil(32)];
        starts.iter().for_each(|at| bits[at / 32] |= 1 << (at % 32));
        let keys: Vec<[u8; 3]> =
            (0..LEN).map(|at| [7, starts.iter().filter(|start| **start <= at).count() as u8, 0]).collect();
        let narrow = starts.map(|at| at as u32);
        let bytes: Vec<u8> = bits.iter().flat_map(|word| word.to_le_bytes()).take(LEN.div_ceil(8)).collect();
        // Behind 77 bits that are set.
        let mut later = [u64::MAX; (77 + LEN).div_ceil(64) + 1];
        (77..77 + LEN).for_each(|bit| later[bit / 64] &= !(1 << (bit % 64)));
        starts.iter().for_each(|at| later[(77 + at) / 64] |= 1 << ((77 + at) % 64));
        let all = [
            Heads::flags(&flags),
            Heads::bits(&bits),
            Heads::bits(&bytes),
            Heads::bits_at(&later, 77),
            Heads::keys(&keys),
            Heads::offsets(&starts),
            Heads::offsets(&narrow),
        ];
        for heads in all {
            for (first, &start) in starts.iter().enumerate() {
                for (last, &end) in starts.iter().enumerate().skip(first + 1).filter(|(_, end)| **end > start) {
                    let (bytes, count) = heads.of_part(&(start..end), &(first..last)).unwrap();
                    // Kernels read bits in words of 32.
                    let (kind, item) = match heads.kind {
                        HeadKind::Bits(_) => (HeadKind::Bits(Bits::of::<u32>()), 4),
                        kind => (kind, heads.bytes.len() / heads.count),
                    };
                    let part = Heads { kind, bytes: &bytes, count: bytes.len() / item, ..Heads::NONE };
                    part.check(end - start).unwrap();
                    let is_offsets = matches!(heads.kind, HeadKind::Offsets(_));
                    assert_eq!(count, if is_offsets { (last - first + 1) as u64 } else { 0 });
                    let ahead = |at: usize| part.first_head(at..end - start);
                    let mut found: Vec<usize> = std::iter::successors(ahead(1), |head| ahead(head + 1)).collect();
                    let back = |end: usize| part.last_head(1..end);
                    let reversed = std::iter::successors(back(end - start), |head| back(*head));
                    let mut expected: Vec<_> = starts.iter().filter(|at| (start + 1..end).contains(at)).collect();
                    expected.dedup();
                    assert_eq!(
                        found.iter().map(|at| at + start).collect::<Vec<_>>(),
                        expected.iter().map(|at| **at).collect::<Vec<_>>()
                    );
                    found.reverse();
                    assert!(reversed.eq(found));
                }
            }
        }
    }

    /// The bits of a negative position are those of an unsigned one, which longer arrays may have.
    #[test]
    fn negative_positions_are_out_of_bounds_of_any_length() {
        let long = 1 << 33;
        assert!(Heads::offsets(&[0_u32, u32::MAX]).check(long).is_ok());
        let past_end = |error| match error {
            Err(Error::OffsetPastEnd { offset, .. }) => offset,
            other => panic!("{other:?}"),
        };
        assert_eq!(past_end(Heads::offsets(&[0_i32, -1]).check(long)), -1);
        assert_eq!(past_end(Heads::offsets(&[i64::MIN]).check(long)), i128::from(i64::MIN));
        let reached = |ty: OffsetType| [7, long].map(|count| ty.reached(count));
        assert_eq!(reached(OffsetType::I32), [7, 1 << 31]);
        assert_eq!([OffsetType::U32, OffsetType::I64].map(reached), [[7, long as u64]; 2]);
        assert_eq!((-1_i32).index(), usize::MAX);
    }

    #[test]
    fn bits_are_as_many_as_the_elements_or_more_of_a_longer_array() {
        let length = |heads: Heads<'_>, len| match heads.check(len) {
            Ok(()) => None,
            Err(Error::Length { what, found, expected, .. }) => Some((what, found, expected)),
            other => panic!("{other:?}"),
        };
        let (bytes, words) = ([0_u8; 8], [0_u64; 2]);
        assert_eq!(length(Heads::bits(&bytes), 64), None);
        assert_eq!(length(Heads::bits(&bytes), 3), None);
        assert_eq!(length(Heads::bits(&bytes), 65), Some(("bytes of head bits", 8, 9)));
        assert_eq!(length(Heads::bits(&words), 64), Some(("words of head bits", 2, 1)));
        assert_eq!(length(Heads::bits_at(&words, 3), 61), None);
        assert_eq!(length(Heads::bits_at(&words, 3), 126), Some(("words of head bits", 2, 3)));
        assert!(length(Heads::bits_at(&words, usize::MAX), 1).is_some());
    }

    /// Kernels that read all of the input are given whole words, from the first element on.
    #[test]
    fn all_bits_are_moved_to_the_beginning_of_a_word() {
        let words = [0x8421_9652_u32, 0x1357_9bdf, 0x0f];
        let expected: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let all = |heads: Heads<'_>| heads.of_all(68).unwrap().into_owned();
        assert_eq!(all(Heads::bits(&words)), expected);
        assert_eq!(all(Heads::bits(&expected[..9])), expected);
        assert_eq!(all(Heads::bits_at(&[&[7, 7], &expected[..]].concat(), 16)), expected);
        let shifted: Vec<u64> = [0, 1, 2]
            .map(|word| {
                let at = |index: usize| words.get(index).map_or(0, |word| u128::from(*word));
                let all = at(0) | at(1) << 32 | at(2) << 64;
                (if word == 0 { all << 37 } else { all >> (64 * word - 37) }) as u64
            })
            .to_vec();
        assert_eq!(all(Heads::bits_at(&shifted, 37)), expected);
    }

    #[cfg(feature = "cuda")]
    #[test]
    fn kernels_read_whole_words_of_bits_at_their_alignment() {
        let expected = |bits: Bits, found, len| match bits.check_device(found, len) {
            Ok(()) => None,
            Err(Error::Length { expected, .. }) => Some(expected),
            other => panic!("{other:?}"),
        };
        assert_eq!(expected(Bits::of::<u8>(), 5, 40), Some(8));
        assert_eq!(expected(Bits::of::<u8>(), 8, 40), None);
        assert_eq!(expected(Bits::of::<u32>(), 2, 40), None);
        assert_eq!(expected(Bits::of::<u64>(), 1, 40), None);
        assert_eq!(expected(Bits::of::<u32>(), 3, 40), Some(2));
        assert_eq!(expected(Bits::at::<u8>(32), 9, 40), Some(12));
        assert_eq!(expected(Bits::at::<u64>(32), 1, 33), Some(2));
        let address = |first, memory| Bits::at::<u8>(first).address(memory).ok();
        assert_eq!([address(0, 512), address(32, 512), address(8, 515)], [Some(512), Some(516), Some(516)]);
        assert_eq!([address(0, 513), address(8, 512), address(4, 512)], [None; 3]);
    }

    #[test]
    fn a_segment_is_a_row_or_lies_between_two_offsets() {
        assert_eq!([0, 2].map(|index| Heads::rows(4).segment(index)), [0..4, 8..12]);
        let offsets = [2_u32, 5, 5, 9];
        assert_eq!([0, 1, 2].map(|index| Heads::offsets(&offsets).segment(index)), [2..5, 5..5, 5..9]);
    }

    /// Offsets of a part count from its first element, which no segment may have.
    #[test]
    fn offsets_of_a_part_count_from_its_first_element() {
        let of_part = |elements: Range<usize>, segments: Range<usize>| {
            let offsets = [2_u32, 5, 8, 8, 11];
            let (bytes, count) = Heads::offsets(&offsets).of_part(&elements, &segments).unwrap();
            let words = bytes.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word)).collect::<Vec<_>>();
            assert_eq!(words.len() as u64, count);
            words
        };
        assert_eq!(of_part(0..5, 0..1), [2, 5]);
        assert_eq!(of_part(0..8, 0..3), [2, 5, 8, 8]);
        assert_eq!(of_part(5..11, 1..4), [0, 3, 3, 6]);
        let long = Heads::offsets(&[3_u64, 1 << 33, (1 << 33) + 4]);
        let (bytes, _) = long.of_part(&(1 << 33..(1 << 33) + 4), &(1..2)).unwrap();
        assert_eq!(&*bytes, [0_u64, 4].map(u64::to_ne_bytes).as_flattened());
    }

    #[test]
    fn distant_heads_are_found() {
        const LEN: usize = 5 * NEAR * GROUP + 7;
        let mut flags = vec![false; LEN];
        for (at, other) in [(70, 80), (LEN / 2, LEN / 2 + 1), (NEAR * GROUP, LEN - NEAR * GROUP), (9, LEN - 1)] {
            (flags[at], flags[other]) = (true, true);
            let heads = Heads::flags(&flags);
            assert_eq!((heads.first_head(1..LEN), heads.last_head(1..LEN)), (Some(at), Some(other)));
            assert_eq!((heads.first_head(at + 1..LEN), heads.last_head(1..other)), (Some(other), Some(at)));
            assert_eq!((heads.first_head(other + 1..LEN), heads.last_head(1..at)), (None, None));
            (flags[at], flags[other]) = (false, false);
        }
    }
}

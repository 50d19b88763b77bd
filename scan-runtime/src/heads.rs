//! What tells where segments begin, in host memory.

use scan_codegen::{OffsetWidth, Segments};

use crate::{Error, ScanElement};

/// A head flag: `u8` (anything but 0 is a head) or `bool`.
pub trait HeadFlag: ScanElement + sealed::Sealed {}

impl HeadFlag for u8 {}
impl HeadFlag for bool {}

/// The position at which a segment begins: `u32`, `u64` or `usize`.
pub trait SegmentOffset: ScanElement + sealed::Sealed {
    /// How the kernels read it.
    #[doc(hidden)]
    const WIDTH: OffsetWidth;
}

impl SegmentOffset for u32 {
    const WIDTH: OffsetWidth = OffsetWidth::U32;
}
impl SegmentOffset for u64 {
    const WIDTH: OffsetWidth = OffsetWidth::U64;
}
impl SegmentOffset for usize {
    // A `ScanElement` of this type has 64 bits, or the crate does not compile.
    const WIDTH: OffsetWidth = OffsetWidth::U64;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for bool {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
    impl Sealed for usize {}
}

/// What tells where segments begin: the bytes of a slice, and what they mean.
#[derive(Clone, Debug)]
pub(crate) struct Heads<'h> {
    pub(crate) segments: Segments,
    pub(crate) bytes: &'h [u8],
    /// How many flags, words, keys or offsets there are.
    count: usize,
}

impl<'h> Heads<'h> {
    pub(crate) const NONE: Heads<'static> = Heads { segments: Segments::None, bytes: &[], count: 0 };

    pub(crate) fn flags<F: HeadFlag>(flags: &'h [F]) -> Self {
        Heads::new(Segments::HeadFlags, flags)
    }

    pub(crate) fn bits(bits: &'h [u32]) -> Self {
        Heads::new(Segments::HeadBits, bits)
    }

    pub(crate) fn keys<K: ScanElement>(keys: &'h [K]) -> Self {
        Heads::new(Segments::Keys(K::layout()), keys)
    }

    pub(crate) fn offsets<T: SegmentOffset>(offsets: &'h [T]) -> Self {
        Heads::new(Segments::Offsets(T::WIDTH), offsets)
    }

    fn new<T: ScanElement>(segments: Segments, slice: &'h [T]) -> Self {
        // Padding must not be read. The planner refuses keys that have some, so that nobody misses their bytes.
        let bytes = match T::layout().padding() {
            // SAFETY: the bytes of a slice of plain data without padding are initialised.
            0 => unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), size_of_val(slice)) },
            _ => &[],
        };
        Heads { segments, bytes, count: slice.len() }
    }

    /// How many offsets there are, where it is offsets.
    pub(crate) fn offset_count(&self) -> u64 {
        if matches!(self.segments, Segments::Offsets(_)) { self.count as u64 } else { 0 }
    }

    /// Whether they fit an input of this length.
    pub(crate) fn check(&self, len: usize) -> Result<(), Error> {
        check_length(&self.segments, self.count, len)?;
        if !matches!(self.segments, Segments::Offsets(_)) {
            return Ok(());
        }
        let mut before = 0;
        for index in 0..self.count {
            let offset = self.offset(index);
            if offset < before {
                return Err(Error::OffsetsDescend { index, offset, before });
            }
            if offset > len as u64 {
                return Err(Error::OffsetPastEnd { index, offset, len });
            }
            before = offset;
        }
        Ok(())
    }

    /// Offset `index`, of those that there are.
    fn offset(&self, index: usize) -> u64 {
        match self.segments {
            Segments::Offsets(OffsetWidth::U32) => u64::from(u32::from_ne_bytes(self.bytes_at(index))),
            _ => u64::from_ne_bytes(self.bytes_at(index)),
        }
    }

    /// The bytes of flag, word, key or offset `index`.
    fn bytes_at<const N: usize>(&self, index: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.bytes[index * N..(index + 1) * N]);
        bytes
    }

    /// Something to ask about one element after the other, from `start` on.
    pub(crate) fn cursor(&self, start: usize) -> Cursor<'_> {
        let mut next_offset = 0;
        if matches!(self.segments, Segments::Offsets(_)) {
            let mut end = self.count;
            while next_offset < end {
                let middle = next_offset.midpoint(end);
                if self.offset(middle) < start as u64 { next_offset = middle + 1 } else { end = middle }
            }
        }
        Cursor { heads: self, next_offset }
    }
}

/// Tells of one element after the other whether it begins a segment.
pub(crate) struct Cursor<'a> {
    heads: &'a Heads<'a>,
    /// The first offset that is not below the next element.
    next_offset: usize,
}

impl Cursor<'_> {
    /// Whether element `index` begins a segment. The indices ascend by one.
    pub(crate) fn begins(&mut self, index: usize) -> bool {
        let heads = self.heads;
        let begins = match &heads.segments {
            Segments::HeadFlags => heads.bytes[index] != 0,
            Segments::HeadBits => u32::from_ne_bytes(heads.bytes_at(index / 32)) >> (index % 32) & 1 != 0,
            Segments::Keys(key) if index > 0 => {
                let (before, from_this) = heads.bytes[(index - 1) * key.size..].split_at(key.size);
                before != &from_this[..key.size]
            }
            Segments::Offsets(_) => {
                let first = self.next_offset;
                while self.next_offset < heads.count && heads.offset(self.next_offset) == index as u64 {
                    self.next_offset += 1;
                }
                self.next_offset > first
            }
            _ => false,
        };
        begins || index == 0
    }
}

/// Whether so many flags, words or keys fit an input of this length. Any number of offsets does.
pub(crate) fn check_length(segments: &Segments, found: usize, len: usize) -> Result<(), Error> {
    let (what, expected) = match segments {
        Segments::HeadFlags => ("head flags", len),
        Segments::HeadBits => ("words of head bits", len.div_ceil(32)),
        Segments::Keys(_) => ("keys", len),
        _ => return Ok(()),
    };
    if found == expected { Ok(()) } else { Err(Error::SegmentsLength { what, found, expected, len }) }
}

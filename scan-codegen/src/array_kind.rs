//! Kinds of arrays: a slice, items at places that an array or the operator gives, arrays without memory, neighbours,
//! arrays with strides of their own, and bits. `docs/extending/add-an-array-kind.md` says how to add one.

use std::fmt;

use crate::segments::OffsetWidth;

/// Where the items of an array lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArrayKind {
    /// One after the other.
    #[default]
    Slice,
    /// Item `i` at the place that item `i` of another array tells: of an input they are gathered, of an output
    /// scattered.
    Places(OffsetWidth),
    /// Of an output: at the place that is the first item of the element. The place itself is not written.
    Computed,
    /// The same, where the results that are kept have consecutive places, in the order of the scan.
    Consecutive,
    /// Nowhere. An item of an input is its own index, an item of an output is not written.
    NoMemory,
    /// Of an input: item `i` is the one before item `i` of a slice, or an edge value where its row has none.
    Previous,
    /// The same with the one after it.
    Next,
    /// Of an input that is scanned along an axis: as strides of its own say.
    Strided,
    /// Of an input of `bool`: as bits, of which the least significant one is the first.
    Bits,
}

impl ArrayKind {
    /// Whether an item is another one of the row.
    pub(crate) fn is_neighbour(self) -> bool {
        matches!(self, ArrayKind::Previous | ArrayKind::Next)
    }

    /// Whether an item goes to the place that is the first item of the element.
    pub fn is_computed(self) -> bool {
        matches!(self, ArrayKind::Computed | ArrayKind::Consecutive)
    }
}

/// The kinds of the arrays of an input, or of an output, in their order. There are 16 at most.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ArrayKinds {
    /// A few bits an array.
    bits: u64,
}

const BITS: u32 = 4;

impl ArrayKinds {
    /// These kinds; arrays beyond them are slices.
    pub fn new(kinds: impl IntoIterator<Item = ArrayKind>) -> Self {
        let bits = kinds.into_iter().take(16).zip((0..).step_by(BITS as usize)).map(|(kind, shift)| {
            let bits: u64 = match kind {
                ArrayKind::Slice => 0,
                ArrayKind::Places(OffsetWidth::U32) => 1,
                ArrayKind::Places(OffsetWidth::U64) => 2,
                ArrayKind::NoMemory => 3,
                ArrayKind::Computed => 4,
                ArrayKind::Previous => 5,
                ArrayKind::Next => 6,
                ArrayKind::Strided => 7,
                ArrayKind::Bits => 8,
                ArrayKind::Consecutive => 9,
            };
            bits << shift
        });
        ArrayKinds { bits: bits.fold(0, |all, bits| all | bits) }
    }

    /// The kind of an array.
    pub fn of(self, index: usize) -> ArrayKind {
        match self.bits.checked_shr(BITS * index as u32).unwrap_or(0) % (1 << BITS) {
            0 => ArrayKind::Slice,
            1 => ArrayKind::Places(OffsetWidth::U32),
            2 => ArrayKind::Places(OffsetWidth::U64),
            3 => ArrayKind::NoMemory,
            4 => ArrayKind::Computed,
            5 => ArrayKind::Previous,
            6 => ArrayKind::Next,
            7 => ArrayKind::Strided,
            8 => ArrayKind::Bits,
            _ => ArrayKind::Consecutive,
        }
    }

    /// Whether some items go to the place that is the first item of an element.
    pub fn are_computed(self) -> bool {
        (1..16).any(|index| self.of(index).is_computed())
    }

    /// Whether all arrays are slices.
    pub fn are_slices(self) -> bool {
        self.bits == 0
    }
}

impl ArrayKinds {
    /// Whether some array is of such a kind.
    pub fn any(self, is_such: impl Fn(ArrayKind) -> bool) -> bool {
        (0..16).map(|index| self.of(index)).any(is_such)
    }

    /// Whether all arrays are slices, or of such a kind.
    pub(crate) fn are_slices_or(self, is_such: impl Fn(ArrayKind) -> bool) -> bool {
        !self.any(|kind| kind != ArrayKind::Slice && !is_such(kind))
    }
}

impl fmt::Debug for ArrayKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = (0..16).rev().find(|&index| self.of(index) != ArrayKind::Slice).map_or(0, |last| last + 1);
        f.debug_list().entries((0..end).map(|index| self.of(index))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_stored_as_given() {
        let kinds = [
            ArrayKind::NoMemory,
            ArrayKind::Slice,
            ArrayKind::Places(OffsetWidth::U64),
            ArrayKind::Places(OffsetWidth::U32),
            ArrayKind::Computed,
            ArrayKind::Previous,
            ArrayKind::Next,
            ArrayKind::Strided,
            ArrayKind::Bits,
            ArrayKind::Consecutive,
        ];
        let given = ArrayKinds::new(kinds);
        assert_eq!((0..10).map(|index| given.of(index)).collect::<Vec<_>>(), kinds);
        assert_eq!((given.of(10), given.of(15), given.of(99)), Default::default());
        assert!(!given.are_slices() && ArrayKinds::new([ArrayKind::Slice; 3]).are_slices());
        let last = ArrayKinds::new((0..16).map(|index| if index == 15 { ArrayKind::NoMemory } else { kinds[1] }));
        assert_eq!(last.of(15), ArrayKind::NoMemory);
    }
}

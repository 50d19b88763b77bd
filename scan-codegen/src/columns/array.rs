//! The arrays of columns, as threads move them.

use super::ColumnLayout;
use crate::{
    array_kind::ArrayKind,
    constants::{COPY_ALIGNMENT, WARP, WORD},
    element::ElementType,
};

/// Words of the kernels' `Neighbour`, but for the edge value.
const NEIGHBOUR_WORDS: usize = 3;

/// How the items of a row lie that neighbouring columns have, where the array has strides of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lying {
    /// A stride apart.
    Apart,
    /// Side by side, as those of a slice.
    SideBySide,
    /// All columns of a warp have the same one.
    Repeated,
}

/// What the ways of lying ask of the columns.
pub(super) struct Columns {
    /// What strides and steps are a multiple of.
    pub(super) grain: u64,
    /// What the address of an array's first item is a multiple of, at the least.
    pub(super) alignment: u32,
    /// Whether those of any warp are side by side, and of one index in all dimensions but the innermost one.
    pub(super) fill_warps: bool,
}

/// An array of items: of whole elements, or of one of their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ColumnArray {
    /// Bytes of an item.
    pub(crate) bytes: u32,
    /// What the address of any item is a multiple of.
    alignment: u32,
    /// Bytes that a thread reads or writes at once. The address of the first item is a multiple of it.
    pub(crate) unit: u32,
    pub(crate) kind: ArrayKind,
    pub(crate) lying: Lying,
}

impl ColumnArray {
    pub(super) fn of(item: &ElementType, kind: ArrayKind) -> Self {
        let alignment = item.align as u32;
        ColumnArray { bytes: item.size as u32, alignment, unit: alignment, kind, lying: Lying::Apart }
    }

    /// The array of which a thread moves `width` neighbouring items in units as wide as can be: in parts of an item
    /// where items need not lie side by side.
    pub(super) fn aligned(&self, width: u32) -> Self {
        if self.kind == ArrayKind::Strided && self.lying == Lying::Apart {
            return self.unaligned();
        }
        let widest = COPY_ALIGNMENT.trailing_zeros();
        ColumnArray { unit: 1 << (width * self.bytes).trailing_zeros().min(widest), ..*self }
    }

    /// The array wherever it begins. An item that is repeated stays one piece.
    pub(super) fn unaligned(&self) -> Self {
        match self.lying {
            Lying::Repeated => self.aligned(1),
            _ => ColumnArray { unit: self.alignment, lying: Lying::Apart, ..*self },
        }
    }

    /// The ways in which rows of an array may lie that has strides of its own, but for the slowest one.
    pub(super) fn in_rows(&self, run: u32, width: u32) -> Vec<Self> {
        let with = |lying| ColumnArray { lying, ..*self }.aligned(width);
        let side_by_side = with(Lying::SideBySide);
        // Each lane loads one row at the most, which is one piece.
        let is_loaded_at_once = run <= WARP && side_by_side.unit == width * self.bytes;
        let repeated = is_loaded_at_once.then(|| with(Lying::Repeated));
        repeated.into_iter().chain([side_by_side]).collect()
    }

    /// Whether the array is one that begins at this address, and has this step and these strides of its own.
    pub(super) fn suits(&self, address: u64, steps: &[u64], columns: &Columns) -> bool {
        let is_aligned = address.is_multiple_of(self.unit.max(columns.alignment).into());
        let lie_so = |numbers: &[u64]| numbers.iter().all(|number| number.is_multiple_of(columns.grain));
        match (self.lying, steps) {
            (Lying::SideBySide, [step, 1, outer @ ..]) => is_aligned && lie_so(&[*step]) && lie_so(outer),
            (Lying::Repeated, [_, 0, ..]) => columns.fill_warps,
            (Lying::Apart, _) => is_aligned,
            _ => false,
        }
    }

    /// How many words kernels are given for the array. The first one is the pointer to its items.
    pub(super) fn words(&self) -> usize {
        match self.kind {
            ArrayKind::Strided => ColumnLayout::STRIDED_WORDS,
            kind if kind.is_neighbour() => NEIGHBOUR_WORDS + self.bytes.div_ceil(2 * WORD) as usize,
            _ => 1,
        }
    }
}

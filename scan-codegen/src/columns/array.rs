//! The arrays of columns, as threads move them.

use crate::{
    constants::{COPY_ALIGNMENT, WORD},
    element::ElementType,
};

/// An array of items: of whole elements, or of one of their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ColumnArray {
    /// Bytes of an item.
    pub(super) bytes: u32,
    /// What the address of any item is a multiple of.
    alignment: u32,
    /// Bytes that a thread reads or writes at once. The address of the first item is a multiple of it.
    pub(super) unit: u32,
    /// How many neighbouring lanes load for each other, so that a lane loads [`COPY_ALIGNMENT`] bytes at once: one where
    /// none does.
    pub(super) lanes: u32,
}

impl ColumnArray {
    pub(super) fn of(item: &ElementType) -> Self {
        let alignment = item.align as u32;
        ColumnArray { bytes: item.size as u32, alignment, unit: alignment, lanes: 1 }
    }

    /// The array of which a thread moves so many neighbouring items in units as wide as can be.
    pub(super) fn aligned(&self, width: u32) -> Self {
        let (row, widest) = (width * self.bytes, COPY_ALIGNMENT.trailing_zeros());
        let unit = 1 << row.trailing_zeros().min(widest);
        let lanes = if unit == row && unit >= WORD { COPY_ALIGNMENT / unit } else { 1 };
        ColumnArray { unit, lanes, ..*self }
    }

    /// What the address of the first item that is loaded is a multiple of.
    pub(super) fn loaded(&self) -> u32 {
        self.unit * self.lanes
    }

    /// The array of which each lane loads what it scans.
    pub(super) fn alone(&self) -> Self {
        ColumnArray { lanes: 1, ..*self }
    }

    /// The array wherever it begins.
    pub(super) fn unaligned(&self) -> Self {
        ColumnArray { unit: self.alignment, lanes: 1, ..*self }
    }
}

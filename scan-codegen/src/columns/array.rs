//! The arrays of columns, as threads move them.

use crate::{constants::COPY_ALIGNMENT, element::ElementType};

/// An array of items: of whole elements, or of one of their fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ColumnArray {
    /// Bytes of an item.
    pub(crate) bytes: u32,
    /// What the address of any item is a multiple of.
    alignment: u32,
    /// Bytes that a thread reads or writes at once. The address of the first item is a multiple of it.
    pub(crate) unit: u32,
}

impl ColumnArray {
    pub(super) fn of(item: &ElementType) -> Self {
        let alignment = item.align as u32;
        ColumnArray { bytes: item.size as u32, alignment, unit: alignment }
    }

    /// The array of which a thread moves `width` neighbouring items in units as wide as can be.
    pub(super) fn aligned(&self, width: u32) -> Self {
        let widest = COPY_ALIGNMENT.trailing_zeros();
        ColumnArray { unit: 1 << (width * self.bytes).trailing_zeros().min(widest), ..*self }
    }

    /// The array wherever it begins.
    pub(super) fn unaligned(&self) -> Self {
        ColumnArray { unit: self.alignment, ..*self }
    }
}

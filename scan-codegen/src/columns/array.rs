//! The arrays of columns, as threads move them.

use super::ColumnLayout;
use crate::{
    array_kind::ArrayKind,
    constants::{COPY_ALIGNMENT, WORD},
    element::ElementType,
};

/// Words of the kernels' `Neighbour`, but for the edge value.
const NEIGHBOUR_WORDS: usize = 3;

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
}

impl ColumnArray {
    pub(super) fn of(item: &ElementType, kind: ArrayKind) -> Self {
        let alignment = item.align as u32;
        ColumnArray { bytes: item.size as u32, alignment, unit: alignment, kind }
    }

    /// The array of which a thread moves `width` neighbouring items in units as wide as can be: in parts of an item
    /// where items need not lie side by side.
    pub(super) fn aligned(&self, width: u32) -> Self {
        if self.kind == ArrayKind::Strided {
            return self.unaligned();
        }
        let widest = COPY_ALIGNMENT.trailing_zeros();
        ColumnArray { unit: 1 << (width * self.bytes).trailing_zeros().min(widest), ..*self }
    }

    /// The array wherever it begins.
    pub(super) fn unaligned(&self) -> Self {
        ColumnArray { unit: self.alignment, ..*self }
    }

    /// How many words kernels are given for the array. The first one is the pointer to its items.
    pub(super) fn words(&self) -> usize {
        match self.kind {
            ArrayKind::Strided => ColumnLayout::STRIDED_WORDS,
            kind if kind.is_neighbour() => NEIGHBOUR_WORDS + self.bytes.div_ceil(2 * WORD) as usize,
            _ => 1,
        }
    }

    /// The statement that begins to load piece `piece` of a row from `from`, which is the array from that row on, to
    /// `to`. Copies of fewer bytes than a word are not asynchronous.
    pub(super) fn load(&self, from: &str) -> String {
        let piece = format!("Piece{}", self.unit);
        let copy = |from: &str| match self.unit < WORD {
            true => format!("*to = *({from})"),
            false => format!("cp_async(to, {from})"),
        };
        match self.kind {
            ArrayKind::Strided => copy(&format!("piece_of<{piece}>({from}, piece)")),
            kind if kind.is_neighbour() => {
                let edge = if kind == ArrayKind::Next { format!("{from}.row - 1") } else { "0".to_owned() };
                let load = copy(&format!("(const {piece}*){from}.values + piece"));
                format!("if ({from}.first == {edge}) {{ *to = edge_of<{piece}>({from}, piece); }} else {{ {load}; }}")
            }
            _ => copy(&format!("(const {piece}*){from} + piece")),
        }
    }
}

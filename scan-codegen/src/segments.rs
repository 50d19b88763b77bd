//! The source of segment heads, where a segmented scan restarts, and how the kernels read it.

use std::fmt;

use crate::{element::ElementType, error::PlanError};

/// The source of segment heads, where a scan restarts. The first element is always a head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Segments {
    /// None: the scan is not segmented.
    #[default]
    None,
    /// A byte for each element, nonzero at a head.
    HeadFlags,
    /// A bit for each element, set at a head: bit `i % 32` of 32-bit word `i / 32`.
    HeadBits,
    /// A key for each element: an element is a head if its key differs from that of the element before. Keys are
    /// compared by their bytes, so a key type must have no padding, a NaN equals a NaN of the same bits, and `-0.0`
    /// does not equal `0.0`.
    Keys(ElementType),
    /// The positions of the heads, ascending. A repeated position begins an empty segment. Positions that are not below
    /// the length of the input begin no segment, so a last one equal to the length is optional.
    Offsets(OffsetWidth),
    /// No memory: each row is a segment. All rows have one length, which is an argument, and are contiguous.
    Rows,
}

/// The type of the positions of [`Segments::Offsets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OffsetWidth {
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
}

impl OffsetWidth {
    /// The type of a position in kernels.
    pub(crate) fn word(self) -> &'static str {
        match self {
            OffsetWidth::U32 => "unsigned",
            OffsetWidth::U64 => "unsigned long long",
        }
    }
}

impl Segments {
    /// Whether the scan is not segmented.
    pub fn is_none(&self) -> bool {
        *self == Segments::None
    }

    /// Whether a segment may have no elements.
    pub(crate) fn has_empty(&self) -> bool {
        matches!(self, Segments::Offsets(_))
    }

    pub(crate) fn check(&self) -> Result<(), PlanError> {
        match self {
            Segments::Keys(key) if key.padding() > 0 => {
                Err(PlanError::KeyPadding { name: key.name.clone(), padding: key.padding() })
            }
            _ => Ok(()),
        }
    }

    /// The type of an offset in kernels.
    pub(crate) fn offset_word(&self) -> &'static str {
        match self {
            Segments::Offsets(width) => width.word(),
            _ => "",
        }
    }

    /// The type of the words in which kernels read keys, the widest that their alignment allows, and the words of a
    /// key.
    pub(crate) fn key_words(&self) -> (&'static str, usize) {
        match self {
            Segments::Keys(key) => match key.align {
                1 => ("unsigned char", key.size),
                2 => ("unsigned short", key.size / 2),
                4 => ("unsigned", key.size / 4),
                _ => ("unsigned long long", key.size / 8),
            },
            _ => ("", 0),
        }
    }
}

impl fmt::Display for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Segments::None => f.write_str("one segment"),
            Segments::HeadFlags => f.write_str("segments by head flags"),
            Segments::HeadBits => f.write_str("segments by head bits"),
            Segments::Keys(key) => write!(f, "segments by keys of type {}", key.name),
            Segments::Offsets(OffsetWidth::U32) => f.write_str("segments by 32-bit offsets"),
            Segments::Offsets(OffsetWidth::U64) => f.write_str("segments by 64-bit offsets"),
            Segments::Rows => f.write_str("rows"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{ElementKind, Field, Primitive};

    fn pair(first: Primitive, second: Primitive, size: usize, align: usize) -> Segments {
        let field = |name: &str, offset, primitive| Field {
            name: name.to_owned(),
            offset,
            ty: ElementType::primitive(primitive),
        };
        let fields = vec![field("a", 0, first), field("b", align, second)];
        Segments::Keys(ElementType {
            name: "Pair".to_owned(),
            size,
            align,
            kind: ElementKind::Struct(fields),
            compares: false,
        })
    }

    #[test]
    fn padded_keys_are_refused() {
        assert_eq!(pair(Primitive::U32, Primitive::F32, 8, 4).check(), Ok(()));
        let padded = pair(Primitive::U64, Primitive::U8, 16, 8);
        assert_eq!(padded.check(), Err(PlanError::KeyPadding { name: "Pair".to_owned(), padding: 7 }));
    }

    #[test]
    fn keys_are_compared_in_the_widest_words() {
        let words = |primitive| Segments::Keys(ElementType::primitive(primitive)).key_words();
        assert_eq!(words(Primitive::Bool), ("unsigned char", 1));
        assert_eq!(words(Primitive::F64), ("unsigned long long", 1));
        assert_eq!(words(Primitive::I128), ("unsigned long long", 2));
    }
}

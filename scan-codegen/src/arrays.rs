//! In how many arrays an input or an output lies.

use crate::element::{ElementKind, ElementType};

/// In how many arrays the elements of an input, or of an output, lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Arrays {
    /// One array of elements.
    #[default]
    One,
    /// An array for each field of an element, in the order of their declaration (a struct of arrays). Elements that
    /// have no fields lie in one array.
    PerField,
}

impl Arrays {
    /// Whether elements of this type lie in an array for each field.
    pub(crate) fn is_by_field(self, element: &ElementType) -> bool {
        self == Arrays::PerField && matches!(element.kind, ElementKind::Struct(_))
    }

    /// The types of the items of each array.
    pub(crate) fn items(self, element: &ElementType) -> Vec<&ElementType> {
        match &element.kind {
            ElementKind::Struct(fields) if self == Arrays::PerField => fields.iter().map(|field| &field.ty).collect(),
            _ => vec![element],
        }
    }

    /// Bytes of the items of an element, of all arrays together. Padding between fields lies in none of them.
    pub(crate) fn bytes(self, element: &ElementType) -> usize {
        self.items(element).into_iter().fold(0, |bytes, item| bytes.saturating_add(item.size))
    }
}

//! The layouts of elements, as Rust chose them.

use serde::Serialize;

/// A primitive type of the operator language, named as Rust names it; the halves are those of the crate `half`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "each variant is the Rust type of the same name")]
pub enum Primitive {
    Bool,
    I8,
    I16,
    I32,
    I64,
    I128,
    Isize,
    U8,
    U16,
    U32,
    U64,
    U128,
    Usize,
    F16,
    Bf16,
    F32,
    F64,
}

impl Primitive {
    /// Every primitive, in the order of their declaration.
    pub const ALL: [Primitive; 17] = [
        Primitive::Bool,
        Primitive::I8,
        Primitive::I16,
        Primitive::I32,
        Primitive::I64,
        Primitive::I128,
        Primitive::Isize,
        Primitive::U8,
        Primitive::U16,
        Primitive::U32,
        Primitive::U64,
        Primitive::U128,
        Primitive::Usize,
        Primitive::F16,
        Primitive::Bf16,
        Primitive::F32,
        Primitive::F64,
    ];

    /// The name, the same in Rust and in the generated CUDA.
    pub const fn name(self) -> &'static str {
        match self {
            Primitive::Bool => "bool",
            Primitive::I8 => "i8",
            Primitive::I16 => "i16",
            Primitive::I32 => "i32",
            Primitive::I64 => "i64",
            Primitive::I128 => "i128",
            Primitive::Isize => "isize",
            Primitive::U8 => "u8",
            Primitive::U16 => "u16",
            Primitive::U32 => "u32",
            Primitive::U64 => "u64",
            Primitive::U128 => "u128",
            Primitive::Usize => "usize",
            Primitive::F16 => "f16",
            Primitive::Bf16 => "bf16",
            Primitive::F32 => "f32",
            Primitive::F64 => "f64",
        }
    }

    /// Size in bytes; the alignment is the same. `usize` and `isize` have 64 bits, on both sides.
    pub const fn size(self) -> usize {
        match self {
            Primitive::Bool | Primitive::I8 | Primitive::U8 => 1,
            Primitive::I16 | Primitive::U16 | Primitive::F16 | Primitive::Bf16 => 2,
            Primitive::I32 | Primitive::U32 | Primitive::F32 => 4,
            Primitive::I64 | Primitive::U64 | Primitive::Isize | Primitive::Usize | Primitive::F64 => 8,
            Primitive::I128 | Primitive::U128 => 16,
        }
    }
}

/// The layout in memory of a type that a scan can read, combine or write, as Rust chose it.
///
/// Two types with the same name and the same layout are the same type in the generated CUDA.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElementType {
    /// The user's own name for it (`Affine`), generic arguments joined by `_` (`Pair_f32`).
    pub name: String,
    /// Size in bytes, trailing padding included.
    pub size: usize,
    /// Alignment in bytes.
    pub align: usize,
    /// Its structure.
    pub kind: ElementKind,
    /// Whether `==` compares two of them part by part, as with `#[derive(PartialEq)]`.
    pub compares: bool,
}

/// The structure of an [`ElementType`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ElementKind {
    /// A number or a truth value.
    Primitive(Primitive),
    /// A struct with its fields in memory order of declaration (`repr(C)`).
    Struct(Vec<Field>),
    /// An array of `len` items, one after the other.
    Array {
        /// The type of each item.
        item: Box<ElementType>,
        /// The number of items.
        len: usize,
    },
    /// One of several named values, stored as a number.
    Enum {
        /// The type of the number.
        repr: Primitive,
        /// The names, each with its number.
        variants: Vec<(String, i128)>,
    },
    /// Items in device memory: a pointer to them, and their number. Only a parameter can be one.
    Table {
        /// The type of each item.
        item: Box<ElementType>,
        /// What kernels are made for, if there are few items.
        short: Option<ShortTable>,
    },
}

/// A table that is short enough for shared memory. Kernels serve all tables of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShortTable {
    /// Bytes of shared memory with room for the items: a power of two.
    pub room: u32,
    /// Whether every byte is the index of an item, so that such an index need not be checked.
    pub covers_bytes: bool,
}

/// The most bytes of a short table, and of all those of an operator.
pub(crate) const SHORT_TABLES: u32 = 8 * 1024;

impl ShortTable {
    /// The class of a table of `len` items of `bytes` bytes each; `None` if it is not short.
    pub fn of(len: usize, bytes: usize) -> Option<Self> {
        let min = crate::constants::COPY_ALIGNMENT;
        let room = u32::try_from(len.checked_mul(bytes)?).ok()?.max(min).checked_next_power_of_two()?;
        (room <= SHORT_TABLES).then_some(ShortTable { room, covers_bytes: len > usize::from(u8::MAX) })
    }
}

/// The size from which on a constant array is kept in shared memory, as short tables are: more than a cache line. The
/// items of smaller ones are near each other, and compilers know those at indices that they know.
const KEPT_CONSTANT: usize = 256;

/// A field of a struct element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The field's Rust name; `0`, `1`, … in tuple structs.
    pub name: String,
    /// Its distance from the start of the struct, in bytes.
    pub offset: usize,
    /// Its type.
    pub ty: ElementType,
}

impl ElementType {
    /// Whether there is a float in it.
    #[doc(hidden)]
    pub fn has_floats(&self) -> bool {
        match &self.kind {
            ElementKind::Primitive(primitive) => {
                matches!(primitive, Primitive::F16 | Primitive::Bf16 | Primitive::F32 | Primitive::F64)
            }
            ElementKind::Struct(fields) => fields.iter().any(|field| field.ty.has_floats()),
            ElementKind::Array { item, .. } | ElementKind::Table { item, .. } => item.has_floats(),
            ElementKind::Enum { .. } => false,
        }
    }

    /// Whether all-zero bytes are a value of this type.
    pub(crate) fn has_zero(&self) -> bool {
        match &self.kind {
            ElementKind::Primitive(_) => true,
            ElementKind::Struct(fields) => fields.iter().all(|field| field.ty.has_zero()),
            ElementKind::Array { item, .. } => item.has_zero(),
            ElementKind::Enum { variants, .. } => variants.iter().any(|(_, number)| *number == 0),
            ElementKind::Table { .. } => false,
        }
    }

    /// The layout of a primitive.
    pub fn primitive(primitive: Primitive) -> Self {
        ElementType {
            name: primitive.name().to_owned(),
            size: primitive.size(),
            align: primitive.size(),
            kind: ElementKind::Primitive(primitive),
            compares: true,
        }
    }

    /// The layout of `[item; len]`.
    pub fn array(item: ElementType, len: usize) -> Self {
        ElementType {
            name: format!("{}x{len}", item.name),
            size: item.size.saturating_mul(len),
            align: item.align,
            compares: item.compares,
            kind: ElementKind::Array { item: Box::new(item), len },
        }
    }

    /// The layout of an enum without fields.
    pub fn enumeration(name: String, repr: Primitive, variants: Vec<(String, i128)>) -> Self {
        let ElementType { size, align, .. } = ElementType::primitive(repr);
        ElementType { name, size, align, kind: ElementKind::Enum { repr, variants }, compares: true }
    }

    /// The layout of a table of `len` items in device memory, as a kernel argument.
    pub fn table(item: ElementType, len: usize) -> Self {
        let name = format!("Table_{}", item.name);
        let short = ShortTable::of(len, item.size);
        let kind = ElementKind::Table { item: Box::new(item), short };
        ElementType { name, size: 16, align: 8, kind, compares: false }
    }

    /// The short tables in it, each with the names of the fields that lead to it, and its item.
    pub(crate) fn short_tables(&self) -> Vec<(Vec<&str>, &ElementType, ShortTable)> {
        let ElementKind::Struct(fields) = &self.kind else { return Vec::new() };
        let mut found = Vec::new();
        for field in fields {
            if let ElementKind::Table { item, short: Some(short) } = &field.ty.kind {
                found.push((vec![&*field.name], &**item, *short));
            }
            for (path, item, short) in field.ty.short_tables() {
                found.push(([vec![&*field.name], path].concat(), item, short));
            }
        }
        found
    }

    /// The items of a constant array that kernels for long inputs keep in shared memory, and the bytes that it takes
    /// there.
    pub(crate) fn kept_constant(&self) -> Option<(usize, u32)> {
        let ElementKind::Array { item, len } = &self.kind else { return None };
        let short = ShortTable::of(*len, item.size).filter(|_| self.size >= KEPT_CONSTANT)?;
        Some((*len, short.room))
    }

    /// The layout that C gives a struct of these fields, in this order.
    pub fn structure(name: String, fields: impl IntoIterator<Item = (String, ElementType)>) -> Self {
        let (mut size, mut align, mut placed) = (0_usize, 1, Vec::new());
        for (name, ty) in fields {
            let offset = next_multiple(size, ty.align);
            size = offset.saturating_add(ty.size);
            align = ty.align.max(align);
            placed.push(Field { name, offset, ty });
        }
        let size = next_multiple(size, align);
        ElementType { name, size, align, kind: ElementKind::Struct(placed), compares: false }
    }

    /// Whether there is an array anywhere in it.
    pub(crate) fn holds_array(&self) -> bool {
        match &self.kind {
            ElementKind::Array { .. } => true,
            ElementKind::Struct(fields) => fields.iter().any(|field| field.ty.holds_array()),
            ElementKind::Primitive(_) | ElementKind::Enum { .. } | ElementKind::Table { .. } => false,
        }
    }

    /// The number of padding bytes. Their contents are undefined.
    pub fn padding(&self) -> usize {
        match &self.kind {
            ElementKind::Primitive(_) | ElementKind::Enum { .. } | ElementKind::Table { .. } => 0,
            ElementKind::Struct(fields) => {
                let used = fields.iter().map(|field| field.ty.size.saturating_sub(field.ty.padding()));
                used.fold(self.size, usize::saturating_sub)
            }
            ElementKind::Array { item, len } => item.padding().saturating_mul(*len),
        }
    }
}

/// The least multiple that is no less than a number; the largest number if there is none. A layout made by hand may
/// have any numbers.
fn next_multiple(number: usize, of: usize) -> usize {
    number.checked_next_multiple_of(of.max(1)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_tables_are_of_a_few_classes() {
        let class = |len, bytes| ShortTable::of(len, bytes).map(|short| (short.room, short.covers_bytes));
        assert_eq!([class(0, 4), class(3, 4), class(5, 4)], [Some((16, false)), Some((16, false)), Some((32, false))]);
        assert_eq!([class(255, 16), class(256, 16)], [Some((4096, false)), Some((4096, true))]);
        assert_eq!([class(512, 16), class(513, 16), class(usize::MAX, 2)], [Some((8192, true)), None, None]);
    }

    #[test]
    fn constant_arrays_that_are_kept_are_neither_small_nor_large() {
        let kept = |primitive, len| ElementType::array(ElementType::primitive(primitive), len).kept_constant();
        assert_eq!([kept(Primitive::U8, 255), kept(Primitive::U8, 256)], [None, Some((256, 256))]);
        assert_eq!([kept(Primitive::U64, 97), kept(Primitive::U64, 1025)], [Some((97, 1024)), None]);
        assert_eq!(ElementType::primitive(Primitive::U64).kept_constant(), None);
    }

    #[test]
    fn short_tables_are_found_in_operators_of_operators() {
        let table = |len| ElementType::table(ElementType::primitive(Primitive::U32), len);
        let inner =
            ElementType::structure("Inner".to_owned(), [("b".to_owned(), table(2)), ("c".to_owned(), table(9_999))]);
        let outer =
            ElementType::structure("Outer".to_owned(), [("a".to_owned(), table(1)), ("inner".to_owned(), inner)]);
        let paths: Vec<_> = outer.short_tables().into_iter().map(|(path, _, _)| path.join(".")).collect();
        assert_eq!(paths, ["a", "inner.b"]);
    }

    #[test]
    fn a_structure_is_laid_out_as_in_c() {
        let field = |name: &str, primitive| (name.to_owned(), ElementType::primitive(primitive));
        let byte = ElementType::array(ElementType::primitive(Primitive::U8), 3);
        let table = ElementType::table(ElementType::primitive(Primitive::F32), 3);
        let fields =
            [field("a", Primitive::U16), ("b".to_owned(), byte), field("c", Primitive::U32), ("d".to_owned(), table)];
        let layout = ElementType::structure("Op".to_owned(), fields);
        let ElementKind::Struct(placed) = &layout.kind else { panic!("{layout:?}") };
        let offsets: Vec<usize> = placed.iter().map(|field| field.offset).collect();
        assert_eq!((offsets, layout.size, layout.align), (vec![0, 2, 8, 16], 32, 8));
        assert_eq!(ElementType::structure("Op".to_owned(), []).size, 0);
    }
}

//! Names in the generated CUDA: the user's own wherever C++ lets them stand.

use crate::element::{ElementKind, ElementType, ShortTable};
use std::collections::{BTreeMap, BTreeSet};

/// Words that C++ or CUDA has taken, and those that the prelude and the kernels around it use.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl", "concept", "const", "const_cast",
    "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else",
    "enum", "explicit", "export", "extern", "false", "final", "float", "for", "friend", "goto", "if", "import", "inline", "int",
    "long", "module", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq",
    "override", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed",
    "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw", "true",
    "try", "typedef", "typeid", "typename", "typeof", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
    "while", "xor", "xor_eq",
    "blockDim", "blockIdx", "gridDim", "threadIdx", "warpSize", "dim3", "size_t", "asm_volatile", "main", "NULL", "assert",
    "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize", "f16", "bf16",
    "f32", "f64",
    "as", "bytes_at", "bytes_at_packed", "bytes_at_pair", "chosen", "gather", "gather_packed", "invariant",
    "keep_reciprocal", "keep_reciprocals", "left_by", "raw", "panic", "range", "range_inclusive", "repeat", "right_by", "scan_panicked", "set_bits", "value_of", "zeros_above", "Array",
    "Invariant", "Range", "RangeInclusive", "Slots", "Table", "Values", "WideNumber", "linux", "unix",
    "clock", "clock64", "memcpy", "std", "combine", "lift", "project", "identity",
];

/// Names that CUDA declares on its own (`float2`, `uchar4`, `cudaError_t`), or that the prelude keeps for intrinsics.
fn is_cuda_name(name: &str) -> bool {
    let vector = [
        "char",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "longlong",
        "ulonglong",
        "float",
        "double",
    ];
    ["cuda", "CU", "NV_", "intrinsic_"].iter().any(|start| name.starts_with(start))
        || vector.iter().any(|stem| {
            name.strip_prefix(stem).is_some_and(|rest| matches!(rest.get(..1), Some("1" | "2" | "3" | "4")))
        })
}

/// Whether no type and no function of the user's gets this name.
#[cfg(test)]
pub(crate) fn is_kept(name: &str) -> bool {
    RESERVED.contains(&name) || is_cuda_name(name)
}

/// A local or a field. A reserved word gets an underscore, and so does what would otherwise look like one that did. Letters
/// beyond ASCII become numbers, and no name looks like one of the compiler's own (`__x`).
pub(crate) fn variable(name: &str) -> String {
    let name = &identifier(name);
    let name = match name.strip_prefix("__") {
        Some(rest) => &format!("_{}", rest.trim_start_matches('_')),
        None => name,
    };
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        return format!("_{name}");
    }
    if RESERVED.contains(&name.trim_end_matches('_')) { format!("{name}_") } else { name.clone() }
}

/// The names of the struct types of one text.
#[derive(Default)]
pub(crate) struct TypeNames {
    structs: Vec<(ElementType, String)>,
    taken: BTreeSet<String>,
}

impl TypeNames {
    /// Words that occur in the text as names of something else.
    pub(crate) fn avoid(&mut self, name: String) {
        self.taken.insert(name);
    }

    /// The name of a type, which is declared where it is a struct or an enum that is new.
    pub(crate) fn of(&mut self, ty: &ElementType) -> String {
        match &ty.kind {
            ElementKind::Primitive(primitive) => primitive.name().to_owned(),
            ElementKind::Array { item, len } => format!("Array<{}, {len}>", self.of(item)),
            ElementKind::Table { item, short: Some(ShortTable { covers_bytes: true, .. }) } => {
                format!("Table<{}, true>", self.of(item))
            }
            ElementKind::Table { item, .. } => format!("Table<{}>", self.of(item)),
            ElementKind::Struct(_) | ElementKind::Enum { .. } => {
                if let Some((_, name)) = self.structs.iter().find(|(known, _)| known == ty) {
                    return name.clone();
                }
                // What a struct consists of is declared before it.
                if let ElementKind::Struct(fields) = &ty.kind {
                    for field in fields {
                        self.of(&field.ty);
                    }
                }
                let name = self.fresh(&capital(&ty.name));
                self.structs.push((ty.clone(), name.clone()));
                name
            }
        }
    }

    /// A name that nothing else has: `Affine`, then `Affine_2`.
    pub(crate) fn fresh(&mut self, name: &str) -> String {
        let name = identifier(name);
        let own = if is_cuda_name(&name) { format!("{name}_") } else { variable(&name) };
        let mut fresh = own.clone();
        let mut number = 1;
        while !self.taken.insert(fresh.clone()) {
            number += 1;
            fresh = format!("{own}_{number}");
        }
        fresh
    }

    /// The structs and enums, each after those that it consists of.
    pub(crate) fn structs(&self) -> &[(ElementType, String)] {
        &self.structs
    }

    /// The primitives and arrays that the structs are made of, by name.
    pub(crate) fn parts(&self) -> BTreeMap<String, ElementType> {
        let mut parts = BTreeMap::new();
        for (ty, _) in &self.structs {
            collect(ty, &mut parts);
        }
        parts
    }
}

/// Every primitive, array, enum and table inside a type, itself included.
pub(crate) fn collect(ty: &ElementType, parts: &mut BTreeMap<String, ElementType>) {
    match &ty.kind {
        ElementKind::Primitive(_) => {
            parts.insert(ty.name.clone(), ty.clone());
        }
        ElementKind::Array { item, .. } | ElementKind::Table { item, .. } => {
            parts.insert(ty.name.clone(), ty.clone());
            collect(item, parts);
        }
        ElementKind::Enum { .. } => {
            parts.insert(ty.name.clone(), ty.clone());
        }
        ElementKind::Struct(fields) => fields.iter().for_each(|field| collect(&field.ty, parts)),
    }
}

/// A name with nothing in it but letters, digits and underscores.
fn identifier(name: &str) -> String {
    let mut identifier = String::new();
    for letter in name.chars() {
        if letter.is_ascii_alphanumeric() || letter == '_' {
            identifier.push(letter);
        } else {
            identifier.push_str(&format!("u{:x}", u32::from(letter)));
        }
    }
    identifier
}

/// The name of a type or a constant as Rust's style has it: `Std` of `std`. Small names at the top of a text are those of C++ and
/// CUDA: namespaces, functions (`clock`), variables (`warpSize`).
pub(crate) fn capital(name: &str) -> String {
    if name.starts_with(|first: char| first.is_ascii_lowercase()) { camel_case(name) } else { name.to_owned() }
}

/// `compose` and `running_max` as a type: `Compose`, `RunningMax`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut camel = String::new();
    for word in name.split('_').filter(|word| !word.is_empty()) {
        let mut letters = word.chars();
        if let Some(first) = letters.next() {
            camel.extend(first.to_uppercase());
            camel.push_str(letters.as_str());
        }
    }
    if camel.is_empty() { "Operator".to_owned() } else { camel }
}

/// `Largest` and `RunningMax` as the beginning of a name: `largest`, `running_max`.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut after_small = false;
    for letter in name.chars() {
        if letter.is_uppercase() && after_small {
            snake.push('_');
        }
        after_small = letter.is_lowercase() || letter.is_ascii_digit();
        snake.extend(letter.to_lowercase());
    }
    identifier(&snake).trim_start_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Field, Primitive};

    #[test]
    fn reserved_words_stay_apart_from_names_that_look_like_them() {
        assert_eq!(variable("x"), "x");
        assert_eq!(variable("int"), "int_");
        assert_eq!(variable("int_"), "int__");
        assert_eq!(variable("0"), "_0");
        assert_eq!(variable("as"), "as_");
        assert_eq!(variable("__x"), "_x");
        assert_eq!(variable("π"), "u3c0");
    }

    #[test]
    fn names_convert_to_camel_and_snake_case() {
        assert_eq!(camel_case("compose"), "Compose");
        assert_eq!(camel_case("running_max"), "RunningMax");
        assert_eq!(camel_case("Largest"), "Largest");
        assert_eq!(snake_case("RunningMax"), "running_max");
        assert_eq!(snake_case("compose"), "compose");
        assert_eq!(snake_case("__Long"), "long");
        assert_eq!(capital("std"), "Std");
        assert_eq!(capital("NULL"), "NULL");
    }

    #[test]
    fn the_same_name_with_another_layout_gets_a_number() {
        let pair = |primitive| ElementType {
            name: "Pair".to_owned(),
            size: 8,
            align: 8,
            compares: false,
            kind: ElementKind::Struct(vec![Field {
                name: "a".to_owned(),
                offset: 0,
                ty: ElementType::primitive(primitive),
            }]),
        };
        let mut names = TypeNames::default();
        assert_eq!(names.of(&pair(Primitive::F64)), "Pair");
        assert_eq!(names.of(&pair(Primitive::U64)), "Pair_2");
        assert_eq!(names.of(&pair(Primitive::F64)), "Pair");
        assert_eq!(names.fresh("float4"), "float4_");
    }
}

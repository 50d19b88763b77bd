//! The number types, each with what its template must know of it.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::element::Primitive;

/// An integer type, for its template.
#[derive(Serialize)]
pub(super) struct Integer {
    pub(super) name: &'static str,
    /// The C++ type of the value.
    pub(super) repr: &'static str,
    /// The unsigned type of the same width, and the name of its wrapper.
    unsigned: &'static str,
    unsigned_name: &'static str,
    /// The unsigned type in which C++ computes.
    bits: &'static str,
    pub(super) width: usize,
    signed: bool,
    constructors: Vec<&'static str>,
}

/// A float type, for its template.
#[derive(Serialize)]
pub(super) struct Float {
    pub(super) name: &'static str,
    pub(super) repr: &'static str,
    bits: &'static str,
    bits_name: &'static str,
    pub(super) width: usize,
    smallest_normal: &'static str,
    constructors: Vec<&'static str>,
}

/// A float of 16 bits, for its template.
#[derive(Serialize)]
pub(super) struct Half {
    pub(super) name: &'static str,
    /// The bits of infinity and of one.
    infinity: &'static str,
    one: &'static str,
}

pub(super) fn integer(primitive: Primitive, uses: &BTreeSet<&'static str>) -> Option<Integer> {
    use Primitive::*;
    let (repr, unsigned, unsigned_name) = match primitive {
        I8 => ("signed char", "unsigned char", "u8"),
        I16 => ("short", "unsigned short", "u16"),
        I32 => ("int", "unsigned", "u32"),
        I64 => ("long long", "unsigned long long", "u64"),
        Isize => ("long long", "unsigned long long", "usize"),
        I128 => ("__int128", "unsigned __int128", "u128"),
        U8 => ("unsigned char", "unsigned char", "u8"),
        U16 => ("unsigned short", "unsigned short", "u16"),
        U32 => ("unsigned", "unsigned", "u32"),
        U64 => ("unsigned long long", "unsigned long long", "u64"),
        Usize => ("unsigned long long", "unsigned long long", "usize"),
        U128 => ("unsigned __int128", "unsigned __int128", "u128"),
        Bool | F16 | Bf16 | F32 | F64 => return None,
    };
    let mut constructors = vec![repr];
    let literals = [
        ("literal", "int"),
        ("literal_64", "long long"),
        ("literal_u64", "unsigned long long"),
        ("literal_128", "__int128"),
    ];
    for (used, literal) in literals {
        if uses.contains(used) && !constructors.contains(&literal) {
            constructors.push(literal);
        }
    }
    Some(Integer {
        name: primitive.name(),
        repr,
        unsigned,
        unsigned_name,
        bits: match primitive.size() {
            16 => "unsigned __int128",
            8 => "unsigned long long",
            _ => "unsigned",
        },
        width: 8 * primitive.size(),
        signed: repr != unsigned,
        constructors,
    })
}

pub(super) fn float(primitive: Primitive, uses: &BTreeSet<&'static str>) -> Option<Float> {
    let literals = uses.contains("float_literal");
    match primitive {
        Primitive::F32 => Some(Float {
            name: "f32",
            repr: "float",
            bits: "unsigned",
            bits_name: "u32",
            width: 32,
            smallest_normal: "0x1p-126f",
            constructors: if literals { vec!["float", "double"] } else { vec!["float"] },
        }),
        Primitive::F64 => Some(Float {
            name: "f64",
            repr: "double",
            bits: "unsigned long long",
            bits_name: "u64",
            width: 64,
            smallest_normal: "0x1p-1022",
            constructors: vec!["double"],
        }),
        _ => None,
    }
}

pub(super) fn half(primitive: Primitive) -> Option<Half> {
    match primitive {
        Primitive::F16 => Some(Half { name: "f16", infinity: "0x7c00", one: "0x3c00" }),
        Primitive::Bf16 => Some(Half { name: "bf16", infinity: "0x7f80", one: "0x3f80" }),
        _ => None,
    }
}

//! Which parts of the prelude a part brings with it.

use std::collections::{BTreeMap, BTreeSet};

use crate::element::{ElementKind, ElementType, Primitive};

/// What a part of the prelude needs of the others.
const FOLLOW: &[(&str, &[&str])] = &[
    ("add_assign", &["add"]),
    ("sub_assign", &["sub"]),
    ("mul_assign", &["mul"]),
    ("div_assign", &["div"]),
    ("rem_assign", &["rem"]),
    ("bitand_assign", &["bitand"]),
    ("bitor_assign", &["bitor"]),
    ("bitxor_assign", &["bitxor"]),
    ("shl_assign", &["shl"]),
    ("shr_assign", &["shr"]),
    ("div", &["panic"]),
    ("rem", &["panic"]),
    ("clamp", &["panic"]),
    ("index", &["panic"]),
    ("anywhere", &["index", "panic"]),
    ("gather", &["anywhere", "cast"]),
    ("gather_packed", &["gather", "anywhere", "bitand", "cast", "index", "panic", "shr"]),
    ("div_euclid", &["panic"]),
    ("rem_euclid", &["panic"]),
    ("wrapping_div", &["div", "panic"]),
    ("wrapping_rem", &["rem", "panic"]),
    ("wrapping_div_euclid", &["div_euclid", "panic"]),
    ("wrapping_rem_euclid", &["rem_euclid", "panic"]),
    ("saturating_div", &["div", "panic"]),
    ("saturating_pow", &["saturating_mul"]),
    ("count_zeros", &["count_ones"]),
    ("leading_ones", &["leading_zeros"]),
    ("trailing_ones", &["leading_zeros"]),
    ("trailing_zeros", &["leading_zeros"]),
];

/// Parts that work on the bits or the limits of an integer.
pub(super) const NEEDS_LIMITS: &[&str] = &[
    "div",
    "rem",
    "shl",
    "shr",
    "count_ones",
    "count_zeros",
    "leading_zeros",
    "rotate_left",
    "rotate_right",
    "swap_bytes",
    "reverse_bits",
    "is_power_of_two",
    "saturating_add",
    "saturating_sub",
    "saturating_mul",
    "saturating_neg",
    "saturating_abs",
    "unbounded_shl",
    "unbounded_shr",
    "div_euclid",
    "rem_euclid",
];

/// Parts whose result or argument is a `u32`.
const NEEDS_U32: &[&str] = &[
    "pow",
    "saturating_pow",
    "count_ones",
    "count_zeros",
    "leading_zeros",
    "rotate_left",
    "rotate_right",
    "unbounded_shl",
    "unbounded_shr",
];

/// Whether one of these parts may panic.
pub(crate) fn may_panic(uses: impl Iterator<Item = &'static str>) -> bool {
    let mut uses = uses.collect();
    follow(&mut uses);
    uses.contains("panic")
}

pub(super) fn follow(uses: &mut BTreeSet<&'static str>) {
    // No part that follows has others that follow it but `panic`, so that once is enough.
    for (used, others) in FOLLOW {
        if uses.contains(used) {
            uses.extend(others.iter().copied());
        }
    }
    if uses.contains("div") || uses.contains("rem") {
        uses.insert("panic");
    }
}

/// The primitives of the text, and those that the prelude's own methods mention.
pub(super) fn primitives(
    parts: &BTreeMap<String, ElementType>,
    uses: &BTreeSet<&'static str>,
    arrays: bool,
) -> BTreeSet<Primitive> {
    let mut primitives: BTreeSet<Primitive> = parts
        .values()
        .filter_map(|part| match part.kind {
            ElementKind::Primitive(primitive) => Some(primitive),
            _ => None,
        })
        .collect();
    let has_half = primitives.contains(&Primitive::F16) || primitives.contains(&Primitive::Bf16);
    if has_half && ["to_f32", "from_f32", "factor"].iter().any(|used| uses.contains(used)) {
        primitives.insert(Primitive::F32);
    }
    if has_half && uses.contains("to_f64") {
        primitives.insert(Primitive::F64);
    }
    // What follows is asked of these floats, too.
    let present = primitives.clone();
    let has_float = |primitive| present.contains(&primitive);
    let has_integer = present.iter().any(|primitive| primitive.name().starts_with(['i', 'u']));
    if has_integer && NEEDS_U32.iter().any(|used| uses.contains(used)) {
        primitives.insert(Primitive::U32);
    }
    if uses.contains("abs_diff") || uses.contains("unsigned_abs") {
        use Primitive::*;
        let pairs = [(I8, U8), (I16, U16), (I32, U32), (I64, U64), (I128, U128), (Isize, Usize)];
        primitives.extend(pairs.iter().filter(|(signed, _)| present.contains(signed)).map(|(_, unsigned)| *unsigned));
    }
    if uses.contains("to_bits") || uses.contains("from_bits") {
        if has_float(Primitive::F32) {
            primitives.insert(Primitive::U32);
        }
        if has_float(Primitive::F64) {
            primitives.insert(Primitive::U64);
        }
        if has_half {
            primitives.insert(Primitive::U16);
        }
    }
    if uses.contains("powi") && (has_half || has_float(Primitive::F32) || has_float(Primitive::F64)) {
        primitives.insert(Primitive::I32);
    }
    if arrays {
        primitives.insert(Primitive::Usize);
    }
    primitives
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An `f64` that only `f16::to_f64` brings in has a `from_bits` of its own, which takes a `u64`.
    #[test]
    fn f64_from_a_half_brings_its_from_bits() {
        let parts = BTreeMap::from([("f16".to_owned(), ElementType::primitive(Primitive::F16))]);
        let found = primitives(&parts, &BTreeSet::from(["to_f64", "from_bits"]), false);
        assert_eq!(found, BTreeSet::from([Primitive::U16, Primitive::U64, Primitive::F16, Primitive::F64]));
    }
}

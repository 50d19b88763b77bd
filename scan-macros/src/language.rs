//! The numeric methods of the operator language, and the nearest ones to a name that is not among them.

/// The primitive types and the floats of the crate `half`, which calls may name (`f32::max(a, b)`).
#[rustfmt::skip]
pub(crate) const PRIMITIVES: &[&str] = &[
    "bool", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize", "f16", "bf16", "f32", "f64",
];
/// Functions of a type that take a value of another.
pub(crate) const CONVERSIONS: &[&str] = &["from", "from_bits", "from_f32"];

/// The types that have a method themselves; `scan_runtime::__private::types` has a type for each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Numbers,
    SignedNumbers,
    Euclidean,
    Integers,
    UnsignedIntegers,
    SignedIntegers,
    Floats,
    WideFloats,
    Halves,
}

impl Group {
    /// The function through which the receivers go.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Numbers => "numbers",
            SignedNumbers => "signed_numbers",
            Euclidean => "euclidean",
            Integers => "integers",
            UnsignedIntegers => "unsigned_integers",
            SignedIntegers => "signed_integers",
            Floats => "floats",
            WideFloats => "wide_floats",
            Halves => "halves",
        }
    }
}

use Group::*;

/// Name, number of arguments after the receiver, and the types that have it.
pub(crate) const METHODS: &[(&str, usize, Group)] = &[
    ("abs", 0, SignedNumbers),
    ("abs_diff", 1, Integers),
    ("acos", 0, Floats),
    ("asin", 0, Floats),
    ("atan", 0, Floats),
    ("atan2", 1, Floats),
    ("cbrt", 0, Floats),
    ("ceil", 0, Floats),
    ("clamp", 2, Numbers),
    ("copysign", 1, Floats),
    ("cos", 0, Floats),
    ("cosh", 0, Floats),
    ("count_ones", 0, Integers),
    ("count_zeros", 0, Integers),
    ("div_euclid", 1, Euclidean),
    ("exp", 0, Floats),
    ("exp2", 0, Floats),
    ("exp_m1", 0, Floats),
    ("floor", 0, Floats),
    ("fract", 0, Floats),
    ("hypot", 1, Floats),
    ("is_finite", 0, Floats),
    ("is_infinite", 0, Floats),
    ("is_nan", 0, Floats),
    ("is_negative", 0, SignedIntegers),
    ("is_normal", 0, Floats),
    ("is_positive", 0, SignedIntegers),
    ("is_power_of_two", 0, UnsignedIntegers),
    ("is_sign_negative", 0, Floats),
    ("is_sign_positive", 0, Floats),
    ("is_subnormal", 0, WideFloats),
    ("leading_ones", 0, Integers),
    ("leading_zeros", 0, Integers),
    ("ln", 0, Floats),
    ("ln_1p", 0, Floats),
    ("log10", 0, Floats),
    ("log2", 0, Floats),
    ("max", 1, Numbers),
    ("min", 1, Numbers),
    ("mul_add", 2, Floats),
    ("pow", 1, Integers),
    ("powf", 1, Floats),
    ("powi", 1, Floats),
    ("recip", 0, Floats),
    ("rem_euclid", 1, Euclidean),
    ("reverse_bits", 0, Integers),
    ("rotate_left", 1, Integers),
    ("rotate_right", 1, Integers),
    ("round", 0, Floats),
    ("round_ties_even", 0, WideFloats),
    ("saturating_abs", 0, SignedIntegers),
    ("saturating_add", 1, Integers),
    ("saturating_div", 1, Integers),
    ("saturating_mul", 1, Integers),
    ("saturating_neg", 0, SignedIntegers),
    ("saturating_pow", 1, Integers),
    ("saturating_sub", 1, Integers),
    ("signum", 0, SignedNumbers),
    ("sin", 0, Floats),
    ("sinh", 0, Floats),
    ("sqrt", 0, Floats),
    ("swap_bytes", 0, Integers),
    ("tan", 0, Floats),
    ("tanh", 0, Floats),
    ("to_bits", 0, Floats),
    ("to_f32", 0, Halves),
    ("to_f64", 0, Halves),
    ("trailing_ones", 0, Integers),
    ("trailing_zeros", 0, Integers),
    ("trunc", 0, Floats),
    ("unsigned_abs", 0, SignedIntegers),
    ("wrapping_abs", 0, SignedIntegers),
    ("wrapping_add", 1, Numbers),
    ("wrapping_div", 1, Integers),
    ("wrapping_div_euclid", 1, Integers),
    ("wrapping_mul", 1, Numbers),
    ("wrapping_neg", 0, Integers),
    ("wrapping_pow", 1, Integers),
    ("wrapping_rem", 1, Integers),
    ("wrapping_rem_euclid", 1, Integers),
    ("wrapping_shl", 1, Integers),
    ("wrapping_shr", 1, Integers),
    ("wrapping_sub", 1, Integers),
];

/// The method's entry: its own static name, and how many arguments it takes.
pub(crate) fn find(name: &str) -> Option<(&'static str, usize)> {
    METHODS.iter().find(|(known, ..)| *known == name).map(|(known, arguments, _)| (*known, *arguments))
}

/// The types that have the method.
pub(crate) fn group(name: &str) -> Option<Group> {
    METHODS.iter().find(|(known, ..)| *known == name).map(|(.., group)| *group)
}

/// What to say of a method that the language does not have.
pub(crate) fn unknown(name: &str) -> String {
    let instead = match name {
        "clone" | "to_owned" | "into" => Some("values are copied: leave the call out"),
        "checked_add" | "overflowing_add" => {
            Some("there is no `Option` on the GPU: write `wrapping_add` or `saturating_add`")
        }
        "checked_sub" | "overflowing_sub" => {
            Some("there is no `Option` on the GPU: write `wrapping_sub` or `saturating_sub`")
        }
        "checked_mul" | "overflowing_mul" => {
            Some("there is no `Option` on the GPU: write `wrapping_mul` or `saturating_mul`")
        }
        "from_f64" | "from_f64_const" => {
            Some("its last bit depends on the machine that runs it: write `from_f32(x as f32)`")
        }
        "from_f32_const" => Some("write `from_f32`"),
        "to_f32_const" => Some("write `to_f32`"),
        "to_f64_const" => Some("write `to_f64`"),
        "cmp" | "partial_cmp" | "total_cmp" => Some("compare with `<`, `==` and `>`"),
        "iter" | "iter_mut" | "into_iter" | "len" => Some("loop over the indices: `for i in 0..N { … x[i] … }`"),
        "log" => Some("write `x.ln() / base.ln()`, `log2` or `log10`"),
        "sin_cos" => Some("there are no tuples on the GPU: write `sin` and `cos`"),
        "gt" | "lt" | "ge" | "le" | "eq" | "ne" | "add" | "sub" | "mul" | "div" | "rem" | "not" | "neg" => {
            Some("write the operator itself")
        }
        _ => None,
    };
    if let Some(instead) = instead {
        return format!("no method `{name}` in an operator: {instead}");
    }
    let mut near: Vec<(usize, &str)> = METHODS
        .iter()
        .map(|(known, ..)| (if swapped(name, known) { 1 } else { distance(name, known) }, *known))
        .filter(|(distance, known)| *distance <= known.len().max(name.len()).div_ceil(3))
        .collect();
    near.sort();
    match near.as_slice() {
        [] => format!("no method `{name}` in an operator: write the arithmetic out, or use a numeric method of Rust's"),
        near => {
            let near: Vec<String> = near.iter().take(3).map(|(_, known)| format!("`{known}`")).collect();
            format!("no method `{name}` in an operator: did you mean {}?", near.join(", "))
        }
    }
}

/// Whether the words have the same letters, in another order.
fn swapped(a: &str, b: &str) -> bool {
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    sorted(a) == sorted(b)
}

/// How many letters must be put in, taken out or changed to make one word the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_found() {
        assert!(METHODS.is_sorted_by_key(|(name, ..)| name));
        assert_eq!(find("mul_add"), Some(("mul_add", 2)));
        assert_eq!(find("mull_add"), None);
    }

    #[test]
    fn near_names_come_first() {
        assert!(unknown("sqr").contains("`sqrt`"), "{}", unknown("sqr"));
        assert!(unknown("maximum").contains("write the arithmetic out"), "{}", unknown("maximum"));
        assert!(unknown("leading_zero").contains("did you mean `leading_zeros`"), "{}", unknown("leading_zero"));
        assert!(unknown("pwo").contains("did you mean `pow`"), "{}", unknown("pwo"));
        assert!(unknown("checked_add").contains("saturating_add"));
    }

    #[test]
    fn distances() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("max", "max"), 0);
    }
}

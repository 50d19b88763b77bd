//! The numeric methods of the operator language, and the nearest ones to a name that is not among them.

/// Name and number of arguments after the receiver.
pub(crate) const METHODS: &[(&str, usize)] = &[
    ("abs", 0),
    ("abs_diff", 1),
    ("acos", 0),
    ("asin", 0),
    ("atan", 0),
    ("atan2", 1),
    ("cbrt", 0),
    ("ceil", 0),
    ("clamp", 2),
    ("copysign", 1),
    ("cos", 0),
    ("cosh", 0),
    ("count_ones", 0),
    ("count_zeros", 0),
    ("div_euclid", 1),
    ("exp", 0),
    ("exp2", 0),
    ("exp_m1", 0),
    ("floor", 0),
    ("fract", 0),
    ("hypot", 1),
    ("is_finite", 0),
    ("is_infinite", 0),
    ("is_nan", 0),
    ("is_negative", 0),
    ("is_normal", 0),
    ("is_positive", 0),
    ("is_power_of_two", 0),
    ("is_sign_negative", 0),
    ("is_sign_positive", 0),
    ("is_subnormal", 0),
    ("leading_ones", 0),
    ("leading_zeros", 0),
    ("ln", 0),
    ("ln_1p", 0),
    ("log10", 0),
    ("log2", 0),
    ("max", 1),
    ("min", 1),
    ("mul_add", 2),
    ("pow", 1),
    ("powf", 1),
    ("powi", 1),
    ("recip", 0),
    ("rem_euclid", 1),
    ("reverse_bits", 0),
    ("rotate_left", 1),
    ("rotate_right", 1),
    ("round", 0),
    ("round_ties_even", 0),
    ("saturating_abs", 0),
    ("saturating_add", 1),
    ("saturating_div", 1),
    ("saturating_mul", 1),
    ("saturating_neg", 0),
    ("saturating_pow", 1),
    ("saturating_sub", 1),
    ("signum", 0),
    ("sin", 0),
    ("sinh", 0),
    ("sqrt", 0),
    ("swap_bytes", 0),
    ("tan", 0),
    ("tanh", 0),
    ("to_bits", 0),
    ("to_f32", 0),
    ("to_f64", 0),
    ("trailing_ones", 0),
    ("trailing_zeros", 0),
    ("trunc", 0),
    ("unsigned_abs", 0),
    ("wrapping_abs", 0),
    ("wrapping_add", 1),
    ("wrapping_div", 1),
    ("wrapping_div_euclid", 1),
    ("wrapping_mul", 1),
    ("wrapping_neg", 0),
    ("wrapping_pow", 1),
    ("wrapping_rem", 1),
    ("wrapping_rem_euclid", 1),
    ("wrapping_shl", 1),
    ("wrapping_shr", 1),
    ("wrapping_sub", 1),
];

/// The method's entry: its own static name, and how many arguments it takes.
pub(crate) fn find(name: &str) -> Option<(&'static str, usize)> {
    METHODS.iter().find(|(known, _)| *known == name).copied()
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
        .map(|(known, _)| (if swapped(name, known) { 1 } else { distance(name, known) }, *known))
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
        assert!(METHODS.is_sorted());
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

//! The message for a method that the language lacks: what to write instead, or the nearest names.

use super::{Group, METHODS};

/// The message for the type of a value that may be missing.
pub(crate) const NO_OPTION_TYPE: &str = "there is no `Option` and no `Result` on the GPU: keep a `bool` next to the value in a \
     `#[scan_element]` struct, or let one value stand for none";

/// Whether a type's name is that of a value that may be missing.
pub(crate) fn is_option(path: &syn::TypePath) -> bool {
    path.path.segments.last().is_some_and(|last| last.ident == "Option" || last.ident == "Result")
}

/// The message for `Some`, `None`, `Ok` and `Err`.
pub(crate) fn no_option(name: &str) -> String {
    format!(
        "no `{name}` in an operator, because there is no `Option` and no `Result` on the GPU: keep a `bool` next to the value \
         in a `#[scan_element]` struct, or let one value stand for none"
    )
}

/// The message for a method that the language lacks.
pub(crate) fn unknown(name: &str) -> String {
    let instead = match name {
        "clone" | "to_owned" => Some("values are copied: leave the call out"),
        "into" | "try_into" => Some("name the type: `u64::from(x)`, or `x as u64`"),
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
        "to_degrees" => Some("write `x * 180.0 / PI`, with a constant `PI` of your own"),
        "to_radians" => Some("write `x * PI / 180.0`, with a constant `PI` of your own"),
        "asinh" => Some("write `(x.abs() + (x * x + 1.0).sqrt()).ln().copysign(x)`"),
        "acosh" => Some("write `(x + (x * x - 1.0).sqrt()).ln()`"),
        "atanh" => Some("write `0.5 * (2.0 * x / (1.0 - x)).ln_1p()`"),
        "maximum" => Some("write `max`, or compare with `>` where a NaN must stay"),
        "minimum" => Some("write `min`, or compare with `<` where a NaN must stay"),
        "div_ceil" => Some("write `a / b + (a % b != 0) as u32`, with the type of `a` for `u32`"),
        "is_multiple_of" => Some("write `a % b == 0`"),
        "midpoint" => Some("write `a + (b - a) / 2`, where the difference cannot overflow"),
        "ilog2" => Some("write `u32::BITS - 1 - x.leading_zeros()`, with the type of `x` for `u32`"),
        "cast_signed" | "cast_unsigned" => Some("write the cast: `x as i32`"),
        "unwrap" | "expect" | "is_some" | "is_none" | "unwrap_or" | "map" | "and_then" | "ok_or" => {
            Some("there is no `Option` and no `Result` on the GPU: keep a `bool` next to the value")
        }
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
        .map(|method| method.name)
        .map(|known| (if swapped(name, known) { 1 } else { distance(name, known) }, known))
        .filter(|(distance, known)| *distance <= known.len().max(name.len()).div_ceil(3))
        .collect();
    near.sort();
    match near.as_slice() {
        [] => format!("no method `{name}` in an operator: write the arithmetic out; {}", known()),
        near => {
            let near: Vec<String> = near.iter().take(3).map(|(_, known)| format!("`{known}`")).collect();
            format!("no method `{name}` in an operator: did you mean {}?", near.join(", "))
        }
    }
}

/// The methods there are, by the types that have them.
fn known() -> String {
    let of = |groups: &[Group]| {
        let methods = METHODS.iter().filter(|method| groups.contains(&method.group)).map(|method| method.name);
        methods.collect::<Vec<_>>().join(", ")
    };
    use Group::*;
    format!(
        "the methods there are:\nof numbers: {}\nof integers: {}\nof floats: {}",
        of(&[Numbers, SignedNumbers, Euclidean]),
        of(&[Integers, UnsignedIntegers, SignedIntegers]),
        of(&[Floats, WideFloats, Halves])
    )
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

/// The edit distance of two words.
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
    fn near_names_come_first() {
        assert!(unknown("sqr").contains("`sqrt`"), "{}", unknown("sqr"));
        assert!(unknown("gcd_of_all").contains("of floats: acos, "), "{}", unknown("gcd_of_all"));
        assert!(unknown("to_degrees").contains("180.0"), "{}", unknown("to_degrees"));
        assert!(unknown("leading_zero").contains("did you mean `leading_zeros`"), "{}", unknown("leading_zero"));
        assert!(unknown("pwo").contains("did you mean `pow`"), "{}", unknown("pwo"));
        assert!(unknown("checked_add").contains("saturating_add"));
    }

    #[test]
    fn edit_distances_are_those_of_levenshtein() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("max", "max"), 0);
    }
}

//! The operator language's tables: primitive types, operators, numeric methods and conversions. The name of a method,
//! its arguments and its CUDA form are in its line here, and nowhere else in this crate.

mod near;
mod operator;

pub(crate) use near::{NO_OPTION_TYPE, is_option, no_option, unknown};
pub(crate) use operator::Operator;

/// The primitive types and the floats of the crate `half`, which calls may name (`f32::max(a, b)`).
#[rustfmt::skip]
pub(crate) const PRIMITIVES: &[&str] = &[
    "bool", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize", "f16", "bf16", "f32", "f64",
];
/// Types that hold their values elsewhere.
pub(crate) const HEAP_TYPES: &[&str] =
    &["Box", "Vec", "String", "Rc", "Arc", "VecDeque", "HashMap", "HashSet", "BTreeMap", "BTreeSet", "Cow", "RefCell"];

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

/// A numeric method.
#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) name: &'static str,
    /// How many arguments it takes after the receiver.
    pub(crate) arguments: usize,
    /// The types that have it.
    pub(crate) group: Group,
    pub(crate) written: Written,
    /// Whether it is an instruction or two, and does not panic.
    pub(crate) cheap: bool,
}

/// The CUDA form of a method.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Written {
    /// As the prelude's method of its name, which is also the part of the prelude that it needs.
    Itself,
    /// As the method of another name, which means the same in CUDA.
    Other(&'static str),
    /// As an operator, which does the same in CUDA.
    Operator(Operator),
    /// As the sign.
    Negative,
}

/// A method with the same name in CUDA.
const fn method(name: &'static str, arguments: usize, group: Group) -> Method {
    Method { name, arguments, group, written: Written::Itself, cheap: false }
}

impl Method {
    const fn other(self, name: &'static str) -> Self {
        Method { written: Written::Other(name), ..self }
    }

    const fn operator(self, operator: Operator) -> Self {
        Method { written: Written::Operator(operator), ..self }
    }

    const fn negation(self) -> Self {
        Method { written: Written::Negative, ..self }
    }

    const fn cheap(self) -> Self {
        Method { cheap: true, ..self }
    }

    /// Whether its value is a truth value.
    pub(crate) fn is_question(&self) -> bool {
        self.name.starts_with("is_")
    }
}

/// The conversion of a factor of a tangent: to `f32` from 16 bits, and none of wider floats. Only gradients call it.
static OF_GRADIENTS: Method = method("factor", 0, Floats);

/// The methods, in the order of their names.
pub(crate) static METHODS: &[Method] = &[
    method("abs", 0, SignedNumbers),
    method("abs_diff", 1, Integers),
    method("acos", 0, Floats),
    method("asin", 0, Floats),
    method("atan", 0, Floats),
    method("atan2", 1, Floats),
    method("cbrt", 0, Floats),
    method("ceil", 0, Floats),
    method("clamp", 2, Numbers),
    method("copysign", 1, Floats),
    method("cos", 0, Floats),
    method("cosh", 0, Floats),
    method("count_ones", 0, Integers),
    method("count_zeros", 0, Integers),
    method("div_euclid", 1, Euclidean),
    method("exp", 0, Floats),
    method("exp2", 0, Floats),
    method("exp_m1", 0, Floats),
    method("floor", 0, Floats),
    method("fract", 0, Floats),
    method("hypot", 1, Floats),
    method("is_finite", 0, Floats),
    method("is_infinite", 0, Floats),
    method("is_nan", 0, Floats),
    method("is_negative", 0, SignedIntegers),
    method("is_normal", 0, Floats),
    method("is_positive", 0, SignedIntegers),
    method("is_power_of_two", 0, UnsignedIntegers),
    method("is_sign_negative", 0, Floats),
    method("is_sign_positive", 0, Floats),
    method("is_subnormal", 0, WideFloats),
    method("leading_ones", 0, Integers),
    method("leading_zeros", 0, Integers),
    method("ln", 0, Floats),
    method("ln_1p", 0, Floats),
    method("log10", 0, Floats),
    method("log2", 0, Floats),
    method("max", 1, Numbers).cheap(),
    method("min", 1, Numbers).cheap(),
    method("mul_add", 2, Floats),
    method("pow", 1, Integers),
    method("powf", 1, Floats),
    method("powi", 1, Floats),
    method("recip", 0, Floats),
    method("rem_euclid", 1, Euclidean),
    method("reverse_bits", 0, Integers),
    method("rotate_left", 1, Integers),
    method("rotate_right", 1, Integers),
    method("round", 0, Floats),
    method("round_ties_even", 0, WideFloats),
    method("saturating_abs", 0, SignedIntegers),
    method("saturating_add", 1, Integers),
    method("saturating_div", 1, Integers),
    method("saturating_mul", 1, Integers),
    method("saturating_neg", 0, SignedIntegers),
    method("saturating_pow", 1, Integers),
    method("saturating_sub", 1, Integers),
    method("signum", 0, SignedNumbers),
    method("sin", 0, Floats),
    method("sinh", 0, Floats),
    method("sqrt", 0, Floats),
    method("swap_bytes", 0, Integers),
    method("tan", 0, Floats),
    method("tanh", 0, Floats),
    method("to_bits", 0, Floats),
    method("to_f32", 0, Halves),
    method("to_f64", 0, Halves),
    method("trailing_ones", 0, Integers),
    method("trailing_zeros", 0, Integers),
    method("trunc", 0, Floats),
    method("unbounded_shl", 1, Integers).cheap(),
    method("unbounded_shr", 1, Integers).cheap(),
    method("unsigned_abs", 0, SignedIntegers),
    method("wrapping_abs", 0, SignedIntegers).other("abs"),
    method("wrapping_add", 1, Numbers).operator(Operator::Add),
    method("wrapping_div", 1, Integers),
    method("wrapping_div_euclid", 1, Integers),
    method("wrapping_mul", 1, Numbers).operator(Operator::Mul),
    method("wrapping_neg", 0, Integers).negation(),
    method("wrapping_pow", 1, Integers).other("pow"),
    method("wrapping_rem", 1, Integers),
    method("wrapping_rem_euclid", 1, Integers),
    method("wrapping_shl", 1, Integers).operator(Operator::Shl),
    method("wrapping_shr", 1, Integers).operator(Operator::Shr),
    method("wrapping_sub", 1, Integers).operator(Operator::Sub),
];

/// The method of a name.
pub(crate) fn find(name: &str) -> Option<&'static Method> {
    METHODS.iter().chain([&OF_GRADIENTS]).find(|method| method.name == name)
}

/// A function of a type that takes a value of another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Conversion {
    /// `u64::from(x)`
    From,
    /// As the prelude's function of this name, of the types of a group.
    Function(&'static str, Group),
}

/// The conversion of a name.
pub(crate) fn conversion(name: &str) -> Option<Conversion> {
    match name {
        "from" => Some(Conversion::From),
        "from_bits" => Some(Conversion::Function("from_bits", Floats)),
        "from_f32" => Some(Conversion::Function("from_f32", Halves)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_found() {
        assert!(METHODS.is_sorted_by_key(|method| method.name));
        assert_eq!(find("mul_add").map(|method| method.arguments), Some(2));
        assert!(find("mull_add").is_none());
    }

    /// Each row of the page's table of methods names a group and its methods in code.
    #[test]
    fn the_page_of_the_language_has_every_method_and_no_other() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scan-runtime/src/guide/operator_language.md");
        let page = std::fs::read_to_string(page).unwrap_or_default();
        let section = page.split("\n## ").find(|section| section.starts_with("Methods")).unwrap_or_default();
        let mut listed: Vec<(&str, &str)> = Vec::new();
        for row in section.lines().filter(|line| line.starts_with("| ")) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            listed.extend(cells[2].split('`').skip(1).step_by(2).map(|method| (cells[1], method)));
        }
        let title = |group| match group {
            Numbers => "all numbers",
            SignedNumbers => "signed integers and floats",
            Euclidean => "integers, `f32`, `f64`",
            Integers => "integers",
            UnsignedIntegers => "unsigned integers",
            SignedIntegers => "signed integers",
            Floats => "floats",
            WideFloats => "`f32`, `f64`",
            Halves => "`f16`, `bf16`",
        };
        let mut known: Vec<(&str, &str)> = METHODS.iter().map(|method| (title(method.group), method.name)).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
    }
}

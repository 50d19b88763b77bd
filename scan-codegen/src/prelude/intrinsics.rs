//! Functions of C's mathematics.

use std::collections::BTreeSet;

use serde::Serialize;

/// A function of C's mathematics: Rust's name, C's name, its parameters.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Intrinsic {
    name: &'static str,
    cuda: &'static str,
    parameters: &'static [&'static str],
}

const fn intrinsic(name: &'static str, cuda: &'static str, parameters: &'static [&'static str]) -> Intrinsic {
    Intrinsic { name, cuda, parameters }
}

/// The functions that each float has. All but `rem` are methods, the first parameter the receiver.
const INTRINSICS: &[Intrinsic] = &[
    intrinsic("abs", "fabs", &["x"]),
    intrinsic("acos", "acos", &["x"]),
    intrinsic("asin", "asin", &["x"]),
    intrinsic("atan", "atan", &["x"]),
    intrinsic("atan2", "atan2", &["y", "x"]),
    intrinsic("cbrt", "cbrt", &["x"]),
    intrinsic("ceil", "ceil", &["x"]),
    intrinsic("copysign", "copysign", &["x", "sign"]),
    intrinsic("cos", "cos", &["x"]),
    intrinsic("cosh", "cosh", &["x"]),
    intrinsic("exp", "exp", &["x"]),
    intrinsic("exp2", "exp2", &["x"]),
    intrinsic("exp_m1", "expm1", &["x"]),
    intrinsic("floor", "floor", &["x"]),
    intrinsic("hypot", "hypot", &["x", "y"]),
    intrinsic("ln", "log", &["x"]),
    intrinsic("ln_1p", "log1p", &["x"]),
    intrinsic("log10", "log10", &["x"]),
    intrinsic("log2", "log2", &["x"]),
    intrinsic("max", "fmax", &["x", "y"]),
    intrinsic("min", "fmin", &["x", "y"]),
    intrinsic("mul_add", "fma", &["x", "y", "z"]),
    intrinsic("powf", "pow", &["x", "y"]),
    intrinsic("rem", "fmod", &["x", "y"]),
    intrinsic("round", "round", &["x"]),
    intrinsic("round_ties_even", "rint", &["x"]),
    intrinsic("sin", "sin", &["x"]),
    intrinsic("sinh", "sinh", &["x"]),
    intrinsic("sqrt", "sqrt", &["x"]),
    intrinsic("tan", "tan", &["x"]),
    intrinsic("tanh", "tanh", &["x"]),
    intrinsic("trunc", "trunc", &["x"]),
];

/// Intrinsics that methods of floats are made of.
const FLOAT_PARTS: &[(&str, &[&str])] = &[
    ("signum", &["copysign"]),
    ("fract", &["trunc"]),
    ("rem_euclid", &["rem", "abs"]),
    ("div_euclid", &["rem", "trunc"]),
];

/// The functions that parts of the prelude call.
pub(super) fn intrinsics(uses: &BTreeSet<&'static str>) -> Vec<Intrinsic> {
    let mut names = uses.clone();
    for (method, parts) in FLOAT_PARTS {
        if uses.contains(method) {
            names.extend(parts.iter().copied());
        }
    }
    INTRINSICS.iter().filter(|function| names.contains(function.name)).copied().collect()
}

/// Those that are methods of floats, with the parameters after the receiver.
pub(super) fn float_methods(uses: &BTreeSet<&'static str>) -> Vec<Intrinsic> {
    INTRINSICS
        .iter()
        .filter(|function| function.name != "rem" && uses.contains(function.name))
        .map(|function| Intrinsic { parameters: &function.parameters[1..], ..*function })
        .collect()
}

/// A method of floats without parameters that is an expression.
#[derive(Clone, Copy, Serialize)]
pub(super) struct FloatExpression {
    name: &'static str,
    value: &'static str,
}

const FLOAT_EXPRESSIONS: &[FloatExpression] = &[
    FloatExpression { name: "signum", value: "value != value ? value : intrinsic_copysign(1, value)" },
    FloatExpression { name: "recip", value: "1 / value" },
    FloatExpression { name: "fract", value: "value - intrinsic_trunc(value)" },
    // Of a half, the number as `f32`.
    FloatExpression { name: "factor", value: "*this" },
];

/// Those that are used.
pub(super) fn float_expressions(uses: &BTreeSet<&'static str>) -> Vec<FloatExpression> {
    FLOAT_EXPRESSIONS.iter().filter(|expression| uses.contains(expression.name)).copied().collect()
}

/// Functions of C beside those of the table that have no twin for `float`.
const OTHERS: &str = "\
    abs labs llabs min max umin umax llmin llmax ullmin ullmax printf malloc free memcpy memset norm clz \
    clzll popc popcll brev brevll sad usad mulhi umulhi mul64hi umul64hi mul24 umul24 saturate dadd dmul \
    dsub int_as_float float_as_int float2int float2uint int2float uint2float float2ll float2ull ll2float \
    ull2float double2float double2int double2uint double2ll double2ull int2double uint2double ll2double \
    ull2double float2double";

/// Functions of C that have one, and are not of the operator language.
const OTHER_FLOAT_FUNCTIONS: &str = "\
    acosh asinh atanh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv erfcx erfinv exp10 fdim fdivide \
    frexp ilogb isfinite isinf isnan j0 j1 jn ldexp lgamma llrint llround logb lrint lround modf nan \
    nearbyint nextafter norm3d norm4d normcdf normcdfinv rcbrt remainder remquo rhypot rnorm rnorm3d \
    rnorm4d rsqrt scalbln scalbn signbit sincos sincospi sinpi tgamma y0 y1 yn";

/// Functions of C that the compiler knows without being told.
pub(crate) fn c_functions() -> impl Iterator<Item = String> {
    let of_floats = INTRINSICS
        .iter()
        .map(|function| function.cuda)
        .chain(OTHER_FLOAT_FUNCTIONS.split_ascii_whitespace())
        .flat_map(|name| [name.to_owned(), format!("{name}f")]);
    OTHERS.split_ascii_whitespace().map(str::to_owned).chain(of_floats)
}

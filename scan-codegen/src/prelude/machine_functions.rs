//! Functions of C's mathematics.

use std::collections::BTreeSet;

use serde::Serialize;

/// A function of C's mathematics: Rust's name, C's name, its parameters.
#[derive(Clone, Copy, Serialize)]
pub(super) struct MachineFunction {
    name: &'static str,
    cuda: &'static str,
    parameters: &'static [&'static str],
}

const fn machine(name: &'static str, cuda: &'static str, parameters: &'static [&'static str]) -> MachineFunction {
    MachineFunction { name, cuda, parameters }
}

/// The functions that each float has. All but `rem` are methods, the first parameter the receiver.
const MACHINE_FUNCTIONS: &[MachineFunction] = &[
    machine("abs", "fabs", &["x"]),
    machine("acos", "acos", &["x"]),
    machine("asin", "asin", &["x"]),
    machine("atan", "atan", &["x"]),
    machine("atan2", "atan2", &["y", "x"]),
    machine("cbrt", "cbrt", &["x"]),
    machine("ceil", "ceil", &["x"]),
    machine("copysign", "copysign", &["x", "sign"]),
    machine("cos", "cos", &["x"]),
    machine("cosh", "cosh", &["x"]),
    machine("exp", "exp", &["x"]),
    machine("exp2", "exp2", &["x"]),
    machine("exp_m1", "expm1", &["x"]),
    machine("floor", "floor", &["x"]),
    machine("hypot", "hypot", &["x", "y"]),
    machine("ln", "log", &["x"]),
    machine("ln_1p", "log1p", &["x"]),
    machine("log10", "log10", &["x"]),
    machine("log2", "log2", &["x"]),
    machine("max", "fmax", &["x", "y"]),
    machine("min", "fmin", &["x", "y"]),
    machine("mul_add", "fma", &["x", "y", "z"]),
    machine("powf", "pow", &["x", "y"]),
    machine("rem", "fmod", &["x", "y"]),
    machine("round", "round", &["x"]),
    machine("round_ties_even", "rint", &["x"]),
    machine("sin", "sin", &["x"]),
    machine("sinh", "sinh", &["x"]),
    machine("sqrt", "sqrt", &["x"]),
    machine("tan", "tan", &["x"]),
    machine("tanh", "tanh", &["x"]),
    machine("trunc", "trunc", &["x"]),
];

/// Functions of the machine that methods of floats are made of.
const FLOAT_PARTS: &[(&str, &[&str])] = &[
    ("signum", &["copysign"]),
    ("fract", &["trunc"]),
    ("rem_euclid", &["rem", "abs"]),
    ("div_euclid", &["rem", "trunc"]),
];

/// The functions that parts of the prelude call.
pub(super) fn machine_functions(uses: &BTreeSet<&'static str>) -> Vec<MachineFunction> {
    let mut names = uses.clone();
    for (method, parts) in FLOAT_PARTS {
        if uses.contains(method) {
            names.extend(parts.iter().copied());
        }
    }
    MACHINE_FUNCTIONS.iter().filter(|function| names.contains(function.name)).copied().collect()
}

/// Those that are methods of floats, with the parameters after the receiver.
pub(super) fn float_methods(uses: &BTreeSet<&'static str>) -> Vec<MachineFunction> {
    MACHINE_FUNCTIONS
        .iter()
        .filter(|function| function.name != "rem" && uses.contains(function.name))
        .map(|function| MachineFunction { parameters: &function.parameters[1..], ..*function })
        .collect()
}

/// A method of floats without parameters that is an expression.
#[derive(Clone, Copy, Serialize)]
pub(super) struct FloatExpression {
    name: &'static str,
    value: &'static str,
}

const FLOAT_EXPRESSIONS: &[FloatExpression] = &[
    FloatExpression { name: "signum", value: "value != value ? value : machine_copysign(1, value)" },
    FloatExpression { name: "recip", value: "1 / value" },
    FloatExpression { name: "fract", value: "value - machine_trunc(value)" },
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
    let of_floats = MACHINE_FUNCTIONS
        .iter()
        .map(|function| function.cuda)
        .chain(OTHER_FLOAT_FUNCTIONS.split_ascii_whitespace())
        .flat_map(|name| [name.to_owned(), format!("{name}f")]);
    OTHERS.split_ascii_whitespace().map(str::to_owned).chain(of_floats)
}

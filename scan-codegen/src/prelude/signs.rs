//! The signs of arithmetic: which methods of the prelude are which operators of C++.

use serde::Serialize;

#[derive(Serialize)]
pub(super) struct Sign {
    name: &'static str,
    sign: &'static str,
    /// Whether floats have it as well.
    floats: bool,
}

const fn sign(name: &'static str, sign: &'static str, floats: bool) -> Sign {
    Sign { name, sign, floats }
}

pub(super) const ARITHMETIC: &[Sign] = &[
    sign("add", "+", true),
    sign("sub", "-", true),
    sign("mul", "*", true),
    sign("bitand", "&", false),
    sign("bitor", "|", false),
    sign("bitxor", "^", false),
];
pub(super) const DIVISIONS: &[Sign] = &[sign("div", "/", true), sign("rem", "%", true)];

/// A division that wraps where the smallest number is divided by -1: what it is elsewhere, and what it is there.
#[derive(Serialize)]
pub(super) struct WrappingDivision {
    name: &'static str,
    elsewhere: &'static str,
    by_minus_one: &'static str,
}

const fn wrapping(name: &'static str, elsewhere: &'static str, by_minus_one: &'static str) -> WrappingDivision {
    WrappingDivision { name, elsewhere, by_minus_one }
}

pub(super) const WRAPPING_DIVISIONS: &[WrappingDivision] = &[
    wrapping("wrapping_div", "*this / b", "Bits(0) - Bits(value)"),
    wrapping("wrapping_rem", "*this % b", "0"),
    wrapping("wrapping_div_euclid", "div_euclid(b)", "Bits(0) - Bits(value)"),
    wrapping("wrapping_rem_euclid", "rem_euclid(b)", "0"),
];
pub(super) const FLOAT_ARITHMETIC: &[Sign] =
    &[sign("add", "+", true), sign("sub", "-", true), sign("mul", "*", true), sign("div", "/", true)];
pub(super) const COMPARISONS: &[Sign] = &[
    sign("eq", "==", true),
    sign("lt", "<", true),
    sign("le", "<=", true),
    sign("gt", ">", true),
    sign("ge", ">=", true),
];
pub(super) const ASSIGNMENTS: &[Sign] = &[
    sign("add_assign", "+", true),
    sign("sub_assign", "-", true),
    sign("mul_assign", "*", true),
    sign("div_assign", "/", true),
    sign("rem_assign", "%", true),
    sign("bitand_assign", "&", false),
    sign("bitor_assign", "|", false),
    sign("bitxor_assign", "^", false),
];
pub(super) const SHIFT_ASSIGNMENTS: &[Sign] = &[sign("shl_assign", "<<", false), sign("shr_assign", ">>", false)];

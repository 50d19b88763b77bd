//! What the messages advise in place of a method is in the language, and computes what the method does.

#![allow(clippy::manual_is_multiple_of, reason = "what users without the method write")]

use scan_runtime::scan_op;
use std::f64::consts::PI;

#[scan_op]
fn to_degrees(x: f64, _: f64) -> f64 {
    x * 180.0 / PI
}

#[scan_op]
fn to_radians(x: f64, _: f64) -> f64 {
    x * PI / 180.0
}

#[scan_op]
fn asinh(x: f64, _: f64) -> f64 {
    (x.abs() + (x * x + 1.0).sqrt()).ln().copysign(x)
}

#[scan_op]
fn acosh(x: f64, _: f64) -> f64 {
    (x + (x * x - 1.0).sqrt()).ln()
}

#[scan_op]
fn atanh(x: f64, _: f64) -> f64 {
    0.5 * (2.0 * x / (1.0 - x)).ln_1p()
}

#[scan_op]
fn div_ceil(a: u32, b: u32) -> u32 {
    a / b + (a % b != 0) as u32
}

#[scan_op]
fn ilog2(x: u32, _: u32) -> u32 {
    u32::BITS - 1 - x.leading_zeros()
}

#[scan_op]
fn midpoint(a: u32, b: u32) -> u32 {
    a + (b - a) / 2
}

#[test]
fn advice_computes_what_the_method_does() {
    use scan_runtime::ScanOp;
    let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} {b}");
    for x in [-3.0, -0.5, 0.0, 0.25, 0.9, 7.0_f64] {
        near(to_degrees.combine(x, 0.0), x.to_degrees());
        near(to_radians.combine(x, 0.0), x.to_radians());
        near(asinh.combine(x, 0.0), x.asinh());
        near(acosh.combine(x.abs() + 1.0, 0.0), (x.abs() + 1.0).acosh());
        near(atanh.combine(x / 8.0, 0.0), (x / 8.0).atanh());
    }
    for (a, b) in [(1, 1), (6, 9), (7, 20), (1 << 31, u32::MAX)] {
        assert_eq!(div_ceil.combine(b, a), b.div_ceil(a));
        assert_eq!(ilog2.combine(a, 0), a.ilog2());
        assert_eq!(midpoint.combine(a, b), a.midpoint(b));
    }
}

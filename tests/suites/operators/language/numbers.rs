//! Every operation and method of every number type.

use super::harness::{Suite, Tolerance};
use scan_runtime::{ScanOp, ops, scan_element, scan_op};

/// An operator whose `lift` computes several results of one input.
macro_rules! results {
    ($suite:ident, $tolerance:expr, |$x:ident: $input:ty| $name:ident { $($field:ident: $ty:ty),* $(,)? } { $($body:tt)* }) => {{
        #[scan_element]
        #[derive(Clone, Copy, Debug, Default)]
        struct $name { $($field: $ty),* }
        struct Operator;
        #[scan_op]
        impl ScanOp for Operator {
            type Input = $input;
            type State = $name;
            type Output = $name;
            const IDENTITY: $name = Default::default();
            fn lift($x: $input) -> $name { $($body)* }
            fn combine(a: $name, _b: $name) -> $name { a }
        }
        $suite.lift(Operator, $tolerance);
    }};
}

/// An operator of a single expression.
macro_rules! binary {
    ($suite:ident, $tolerance:expr, $ty:ident, |$a:ident, $b:ident| $($body:tt)*) => {{
        struct Operator;
        #[scan_op]
        impl ScanOp for Operator {
            type Element = $ty;
            const IDENTITY: $ty = Default::default();
            fn combine($a: $ty, $b: $ty) -> $ty { $($body)* }
        }
        $suite.combine(Operator, $tolerance);
    }};
}

pub(crate) use {binary, results};

macro_rules! integers {
    ($suite:ident: $($ty:ident)*) => {$(
        results!($suite, 0, |x: [$ty; 2]| Arithmetic {
            add: $ty, sub: $ty, mul: $ty, and: $ty, or: $ty, xor: $ty, shl: $ty, shr: $ty, min: $ty, max: $ty,
            saturating_add: $ty, saturating_sub: $ty, saturating_mul: $ty, not: $ty, neg: $ty,
        } {
            let (a, b) = (x[0], x[1]);
            Arithmetic {
                not: !a,
                neg: a.wrapping_neg(),
                add: a.wrapping_add(b),
                sub: a.wrapping_sub(b),
                mul: a.wrapping_mul(b),
                and: a & b,
                or: a | b,
                xor: a ^ b,
                shl: a.wrapping_shl(b as u32),
                shr: a.wrapping_shr(b as u32),
                min: a.min(b),
                max: $ty::max(a, b),
                saturating_add: a.saturating_add(b),
                saturating_sub: a.saturating_sub(b),
                saturating_mul: a.saturating_mul(b),
            }
        });
        results!($suite, 0, |x: [$ty; 2]| Bits {
            left: $ty, right: $ty, out_left: $ty, out_right: $ty, swapped: $ty, reversed: $ty, power: $ty, ones: u32,
            zeros: u32, leading: u32,
            leading_ones: u32, trailing: u32, trailing_ones: u32, single: bool, equal: bool, unequal: bool, less: bool,
            at_most: bool, more: bool, at_least: bool, both: bool,
        } {
            let (a, b) = (x[0], x[1]);
            Bits {
                left: a.rotate_left(b as u32 % 200),
                right: a.rotate_right(b as u32 % 200),
                out_left: a.unbounded_shl(b as u32 % 200),
                out_right: a.unbounded_shr(b as u32 % 200),
                swapped: a.swap_bytes(),
                reversed: a.reverse_bits(),
                power: a.wrapping_pow(b as u32 & 15),
                ones: a.count_ones(),
                zeros: a.count_zeros(),
                leading: a.leading_zeros(),
                leading_ones: a.leading_ones(),
                trailing: a.trailing_zeros(),
                trailing_ones: a.trailing_ones(),
                single: a.count_ones() == 1,
                equal: a == b,
                unequal: a != b,
                less: a < b,
                at_most: a <= b,
                more: a > b,
                at_least: a >= b,
                both: (a < b) & (a != 0) | (b == 1) ^ (a > 5),
            }
        });
        results!($suite, 0, |x: $ty| Casts {
            to_u8: u8, to_u16: u16, to_u32: u32, to_u64: u64, to_u128: u128, to_usize: usize, to_i8: i8, to_i16: i16,
            to_i32: i32, to_i64: i64, to_i128: i128, to_isize: isize, to_f32: f32, to_f64: f64,
        } {
            Casts {
                to_u8: x as u8, to_u16: x as u16, to_u32: x as u32, to_u64: x as u64, to_u128: x as u128,
                to_usize: x as usize, to_i8: x as i8, to_i16: x as i16, to_i32: x as i32, to_i64: x as i64,
                to_i128: x as i128, to_isize: x as isize, to_f32: x as f32, to_f64: x as f64,
            }
        });
        results!($suite, 0, |x: [$ty; 2]| Divisions { div: $ty, rem: $ty, div_euclid: $ty, rem_euclid: $ty } {
            let (a, b) = (x[0], x[1]);
            Divisions { div: a / b, rem: a % b, div_euclid: a.div_euclid(b), rem_euclid: a.rem_euclid(b) }
        });
        results!($suite, 0, |x: [$ty; 2]| Wrapping {
            div: $ty, rem: $ty, div_euclid: $ty, rem_euclid: $ty, saturating_div: $ty, saturating_pow: $ty,
        } {
            let (a, b) = (x[0], x[1]);
            Wrapping {
                div: a.wrapping_div(b), rem: a.wrapping_rem(b), div_euclid: a.wrapping_div_euclid(b),
                rem_euclid: a.wrapping_rem_euclid(b), saturating_div: a.saturating_div(b),
                saturating_pow: a.saturating_pow(b as u32 & 63),
            }
        });
        binary!($suite, 0, $ty, |a, b| {
            let mut sum = a;
            for i in 3..(b & 7) {
                sum = sum.wrapping_mul(3).wrapping_add(i);
            }
            for i in ($ty::MAX - 3..=$ty::MAX).rev() {
                sum ^= i;
            }
            match b {
                0 | $ty::MAX => sum,
                1..=9 if a > 4 => !sum,
                $ty::MIN..=20 => sum.wrapping_add(100),
                _ => 5,
            }
        });
        binary!($suite, 0, $ty, |a, b| a.clamp(3, b));
        binary!($suite, 0, $ty, |a, b| {
            let mut x = a;
            x &= b;
            x |= 5;
            x ^= a;
            x >>= 2;
            x %= 19;
            x <<= b & 1;
            x /= 2;
            x
        });
        $suite.combine(ops::sum::<$ty>(), 0);
        $suite.combine(ops::product::<$ty>(), 0);
        $suite.combine(ops::max::<$ty>(), 0);
        $suite.combine(ops::min::<$ty>(), 0);
        $suite.combine(ops::bit_and::<$ty>(), 0);
        $suite.combine(ops::bit_or::<$ty>(), 0);
        $suite.combine(ops::bit_xor::<$ty>(), 0);
    )*};
}

macro_rules! signed {
    ($suite:ident: $($ty:ident $unsigned:ident)*) => {$(
        results!($suite, 0, |x: [$ty; 2]| Signed {
            abs: $ty, signum: $ty, unsigned_abs: $unsigned, abs_diff: $unsigned, unsigned_diff: $unsigned, positive: bool,
            negative: bool, saturating_neg: $ty, saturating_abs: $ty,
        } {
            let (a, b) = (x[0], x[1]);
            Signed {
                abs: a.wrapping_abs(),
                signum: a.signum(),
                unsigned_abs: a.unsigned_abs(),
                abs_diff: a.abs_diff(b),
                unsigned_diff: (a as $unsigned).abs_diff(b as $unsigned),
                positive: a.is_positive(),
                negative: a.is_negative(),
                saturating_neg: a.saturating_neg(),
                saturating_abs: a.saturating_abs(),
            }
        });
    )*};
}

/// How far the functions that IEEE 754 does not fix may be apart: as many units in the last place as NVIDIA's table in the CUDA
/// programming guide allows the GPU, and as many as the GNU C library's manual allows the CPU.
#[rustfmt::skip]
const F32_ULPS: &[(&str, u64)] = &[
    ("exp", 2 + 1), ("exp2", 2 + 1), ("exp_m1", 1 + 1), ("ln", 1 + 1), ("ln_1p", 1 + 1), ("log2", 1 + 1), ("log10", 2 + 2),
    ("sin", 2 + 1), ("cos", 2 + 1), ("tan", 4 + 1), ("asin", 2 + 1), ("acos", 2 + 1), ("atan", 2 + 1), ("sinh", 3 + 2),
    ("cosh", 2 + 2), ("tanh", 2 + 2), ("cbrt", 1 + 1), ("powf", 4 + 1), ("atan2", 3 + 2), ("hypot", 3 + 1),
];
#[rustfmt::skip]
const F64_ULPS: &[(&str, u64)] = &[
    ("exp", 1 + 1), ("exp2", 1 + 1), ("exp_m1", 1 + 1), ("ln", 1 + 1), ("ln_1p", 1 + 1), ("log2", 1 + 2), ("log10", 1 + 2),
    ("sin", 2 + 1), ("cos", 2 + 1), ("tan", 2 + 1), ("asin", 2 + 1), ("acos", 2 + 1), ("atan", 2 + 1), ("sinh", 2 + 2),
    ("cosh", 1 + 2), ("tanh", 1 + 2), ("cbrt", 1 + 4), ("powf", 2 + 1), ("atan2", 2 + 1), ("hypot", 2 + 1),
];

macro_rules! floats {
    ($suite:ident: $($ty:ident $bits:ident $ulps:ident)*) => {$(
        results!($suite, 0, |x: [$ty; 2]| Arithmetic {
            add: $ty, sub: $ty, mul: $ty, div: $ty, rem: $ty, neg: $ty, fma: $ty, not_fma: $ty, sign: $ty, euclid: $ty,
            div_euclid: $ty, literal: $ty, equal: bool, unequal: bool, less: bool, at_most: bool, more: bool, at_least: bool,
        } {
            let (a, b) = (x[0], x[1]);
            Arithmetic {
                add: a + b, sub: a - b, mul: a * b, div: a / b, rem: a % b, neg: -a, fma: a.mul_add(b, a),
                not_fma: a * b + a, sign: a.copysign(b), euclid: a.rem_euclid(b), div_euclid: a.div_euclid(b),
                literal: 0.1 * a - 2.0 / b,
                equal: a == b, unequal: a != b, less: a < b, at_most: a <= b, more: a > b, at_least: a >= b,
            }
        });
        results!($suite, 0, |x: $ty| Rounding {
            abs: $ty, sqrt: $ty, floor: $ty, ceil: $ty, round: $ty, even: $ty, trunc: $ty, fract: $ty, signum: $ty, recip: $ty,
            bits: $bits, back: $ty, nan: bool, finite: bool, infinite: bool, normal: bool,
            subnormal: bool, positive: bool, negative: bool,
        } {
            Rounding {
                abs: x.abs(), sqrt: x.sqrt(), floor: x.floor(), ceil: x.ceil(), round: x.round(), even: x.round_ties_even(),
                trunc: x.trunc(), fract: x.fract(), signum: x.signum(), recip: x.recip(),
                bits: if x.is_nan() { 0 } else { x.to_bits() },
                back: $ty::from_bits(x.to_bits() ^ 1),
                nan: x.is_nan(), finite: x.is_finite(), infinite: x.is_infinite(), normal: x.is_normal(),
                subnormal: x.is_subnormal(),
                positive: x.is_sign_positive() && !x.is_nan(), negative: x.is_sign_negative() && !x.is_nan(),
            }
        });
        results!($suite, 0, |x: $ty| Casts {
            to_u8: u8, to_u16: u16, to_u32: u32, to_u64: u64, to_u128: u128, to_usize: usize, to_i8: i8, to_i16: i16,
            to_i32: i32, to_i64: i64, to_i128: i128, to_isize: isize, to_f32: f32, to_f64: f64,
        } {
            Casts {
                to_u8: x as u8, to_u16: x as u16, to_u32: x as u32, to_u64: x as u64, to_u128: x as u128,
                to_usize: x as usize, to_i8: x as i8, to_i16: x as i16, to_i32: x as i32, to_i64: x as i64,
                to_i128: x as i128, to_isize: x as isize, to_f32: x as f32, to_f64: x as f64,
            }
        });
        // Which zero `min` and `max` give is left open by Rust.
        binary!($suite, Tolerance::EitherZero, $ty, |a, b| a.min(b));
        binary!($suite, Tolerance::EitherZero, $ty, |a, b| $ty::max(a, b));
        binary!($suite, 0, $ty, |a, b| a.clamp(-1.5, b));
        binary!($suite, 0, $ty, |a, b| {
            let mut x = a;
            x += b;
            x *= 0.3;
            x -= a;
            x /= b;
            x %= 7.0;
            x
        });
        results!($suite, Tolerance::Fields($ulps), |x: $ty| Curves {
            exp: $ty, exp2: $ty, exp_m1: $ty, ln: $ty, ln_1p: $ty, log2: $ty, log10: $ty, sin: $ty, cos: $ty, tan: $ty, asin: $ty,
            acos: $ty, atan: $ty, sinh: $ty, cosh: $ty, tanh: $ty, cbrt: $ty, powi: $ty,
        } {
            Curves {
                exp: x.exp(), exp2: x.exp2(), exp_m1: x.exp_m1(), ln: x.ln(), ln_1p: x.ln_1p(), log2: x.log2(),
                log10: x.log10(), sin: x.sin(), cos: x.cos(), tan: x.tan(), asin: x.asin(), acos: x.acos(), atan: x.atan(),
                sinh: x.sinh(), cosh: x.cosh(), tanh: x.tanh(), cbrt: x.cbrt(), powi: x.powi(-3),
            }
        });
        results!($suite, Tolerance::Fields($ulps), |x: [$ty; 2]| Surfaces { powf: $ty, atan2: $ty, hypot: $ty, powi: $ty } {
            let (a, b) = (x[0], x[1]);
            Surfaces { powf: a.powf(b), atan2: a.atan2(b), hypot: a.hypot(b), powi: a.powi(b as i32 % 40) }
        });
        $suite.combine(ops::sum::<$ty>(), 0);
        $suite.combine(ops::product::<$ty>(), 0);
        $suite.combine(ops::max::<$ty>(), 0);
        $suite.combine(ops::min::<$ty>(), 0);
    )*};
}

pub(crate) fn cases(suite: &mut Suite) {
    integers!(suite: u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);
    signed!(suite: i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 isize usize);
    floats!(suite: f32 u32 F32_ULPS f64 u64 F64_ULPS);
    results!(suite, 0, |x: bool| Casts {
        to_u8: u8, to_i32: i32, to_u128: u128, to_usize: usize, not: bool, and: bool, or: bool, xor: bool, from: u64,
    } {
        Casts {
            to_u8: x as u8, to_i32: x as i32, to_u128: x as u128, to_usize: x as usize, not: !x, and: x & true, or: x | !x,
            xor: x ^ true, from: u64::from(x),
        }
    });
    results!(suite, 0, |x: [bool; 2]| Truth { equal: bool, unequal: bool, less: bool, at_most: bool, and: bool, or: bool } {
        let (a, b) = (x[0], x[1]);
        Truth { equal: a == b, unequal: a != b, less: a < b, at_most: a <= b, and: a && !b, or: !a || b }
    });
    suite.combine(ops::all(), 0);
    suite.combine(ops::any(), 0);
    suite.combine(ops::bit_xor::<bool>(), 0);
    results!(suite, 0, |x: u64| PowersOfTwo { single: bool, wide: u128, from: f64 } {
        PowersOfTwo { single: x.is_power_of_two(), wide: u128::from(x), from: f64::from(x as u32) }
    });
}

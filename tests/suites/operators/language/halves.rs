//! The floats of 16 bits, as the crate `half` does them. The methods that it has by `num_traits` are among them.

use super::harness::{Sample, Suite, Tolerance};
use super::numbers::{binary, results};
use num_traits::Float;
use scan_runtime::half::{self, bf16, f16};
use scan_runtime::{ScanElement, ScanOp, ops, scan_element, scan_op};

macro_rules! halves {
    ($suite:ident: $($ty:ident)*) => {$(
        results!($suite, 0, |x: [$ty; 2]| Arithmetic {
            add: $ty, sub: $ty, mul: $ty, div: $ty, rem: $ty, neg: $ty, fma: $ty, not_fma: $ty, sign: $ty, min: $ty, max: $ty,
            assigned: $ty, equal: bool, unequal: bool, less: bool, at_most: bool, more: bool, at_least: bool,
        } {
            let (a, b) = (x[0], x[1]);
            let mut c = a;
            c += b;
            c *= $ty::from_f32(0.3);
            c -= a;
            c /= b;
            c %= $ty::PI;
            Arithmetic {
                add: a + b, sub: a - b, mul: a * b, div: a / b, rem: a % b, neg: -a, fma: a.mul_add(b, a),
                not_fma: a * b + a, sign: a.copysign(b), min: a.min(b), max: $ty::max(a, b), assigned: c,
                equal: a == b, unequal: a != b, less: a < b, at_most: a <= b, more: a > b, at_least: a >= b,
            }
        });
        results!($suite, 0, |x: $ty| Single {
            wide: f32, wider: f64, from: f32, from_f64: f64, back: $ty, bits: u16, twisted: $ty, signum: $ty, nan: bool,
            finite: bool, infinite: bool, positive: bool, negative: bool, abs: $ty, sqrt: $ty, floor: $ty, ceil: $ty,
            round: $ty, trunc: $ty, fract: $ty, recip: $ty, normal: bool,
        } {
            Single {
                wide: x.to_f32(), wider: x.to_f64(), from: f32::from(x), from_f64: f64::from(x),
                back: half::$ty::from_f32(x.to_f32()),
                bits: if x.is_nan() { 0 } else { x.to_bits() },
                twisted: $ty::from_bits(x.to_bits() ^ 0x8001), signum: x.signum(), nan: x.is_nan(),
                finite: x.is_finite(), infinite: x.is_infinite(), positive: x.is_sign_positive(),
                negative: x.is_sign_negative(), abs: x.abs(), sqrt: x.sqrt(), floor: x.floor(), ceil: x.ceil(),
                round: x.round(), trunc: x.trunc(), fract: x.fract(), recip: x.recip(), normal: x.is_normal(),
            }
        });
        // Halfway between each two neighbours, and next to that.
        results!($suite, 0, |x: $ty| Ties { even: $ty, above: $ty, below: $ty, half: $ty } {
            let next = $ty::from_bits(x.to_bits().wrapping_add(1)).to_f32();
            let sum = (x.to_f32() + next) * 0.5;
            let tie = if sum.is_nan() { 0.0 } else { sum };
            Ties {
                even: $ty::from_f32(tie),
                above: $ty::from_f32(f32::from_bits(tie.to_bits().wrapping_add(1))),
                below: $ty::from_f32(f32::from_bits(tie.to_bits().wrapping_sub(1))),
                half: $ty::from_f32(tie * 0.5),
            }
        });
        results!($suite, 0, |x: f32| Rounded { once: $ty, literal: $ty } {
            Rounded { once: $ty::from_f32(x), literal: $ty::from_f32(0.1) }
        });
        results!($suite, 0, |x: i8| Whole { signed: $ty, unsigned: $ty } {
            Whole { signed: $ty::from(x), unsigned: $ty::from(x as u8) }
        });
        results!($suite, 1, |x: $ty| Curves {
            exp: $ty, exp2: $ty, ln: $ty, log2: $ty, sin: $ty, cos: $ty, tan: $ty, tanh: $ty, cbrt: $ty, powi: $ty,
        } {
            Curves {
                exp: x.exp(), exp2: x.exp2(), ln: x.ln(), log2: x.log2(), sin: x.sin(), cos: x.cos(), tan: x.tan(),
                tanh: x.tanh(), cbrt: x.cbrt(), powi: x.powi(-3),
            }
        });
        binary!($suite, 1, $ty, |a, b| a.powf(b));
        binary!($suite, 0, $ty, |a, b| a.clamp($ty::NEG_ONE, b));
        $suite.combine(ops::sum::<$ty>(), 0);
        $suite.combine(ops::product::<$ty>(), 0);
        $suite.combine(ops::max::<$ty>(), 0);
        $suite.combine(ops::min::<$ty>(), 0);
    )*};
}

/// Both kinds in one struct, in an array too, and as a parameter.
#[scan_element]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mixed {
    a: f16,
    b: bf16,
    rows: [f16; 3],
}

impl Sample for Mixed {
    fn edges() -> Vec<Mixed> {
        let (a, b) = (f16::edges(), bf16::edges());
        a.iter().zip(b.iter().rev()).map(|(a, b)| Mixed { a: *a, b: *b, rows: [*a; 3] }).collect()
    }
    fn random(random: &mut super::harness::Random) -> Mixed {
        Mixed { a: f16::random(random), b: bf16::random(random), rows: <[f16; 3]>::random(random) }
    }
}

#[scan_element]
#[derive(Clone, Copy)]
struct Scale<T: ScanElement>(T, f16);

#[scan_op]
impl ScanOp for Scale<bf16> {
    type Element = Mixed;
    const IDENTITY: Mixed = Mixed { a: f16::ZERO, b: bf16::NEG_INFINITY, rows: [f16::ZERO; 3] };
    fn combine(&self, x: Mixed, y: Mixed) -> Mixed {
        let mut rows = [f16::EPSILON; 3];
        for i in 0..3_usize {
            rows[i] += if x.rows[i] < y.rows[2 - i] { x.rows[i] * self.1 } else { y.rows[i] };
        }
        let b = if x.b == Self::IDENTITY.b { self.0 } else { x.b / y.b };
        Mixed { rows, b, ..y }
    }
}

pub(crate) fn cases(suite: &mut Suite) {
    halves!(suite: f16 bf16);
    suite.combine(Scale(bf16::PI, f16::from_f32(0.7)), Tolerance::Exact);
}

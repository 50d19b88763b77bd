//! Divisions by what all elements share: parameters of the operator, and what is computed from them.

use super::harness::Suite;
use scan_runtime::{ScanOp, scan_element, scan_op};

macro_rules! divisors {
    ($suite:ident: $($ty:ident)*) => {$({
        #[scan_element]
        #[derive(Clone, Copy, Debug)]
        struct By { a: $ty, b: $ty, c: $ty, d: $ty, e: $ty }
        #[scan_op]
        impl ScanOp for By {
            type Input = $ty;
            type State = [$ty; 10];
            type Output = [$ty; 10];
            const IDENTITY: [$ty; 10] = [0; 10];
            fn lift(&self, x: $ty) -> [$ty; 10] {
                let (c, d) = (self.c, self.d);
                let half = self.e / 2 + 1;
                let mut rest = x;
                rest %= d;
                let mut whole = x;
                whole /= d;
                [x / self.a, x % self.a, x / self.b, x % self.b, x / c, x % c, whole, rest, x / half, 7 % (self.e)]
            }
            fn combine(a: [$ty; 10], _b: [$ty; 10]) -> [$ty; 10] { a }
        }
        let of = |[a, b, c, d, e]: [i128; 5]| By { a: a as $ty, b: b as $ty, c: c as $ty, d: d as $ty, e: e as $ty };
        let (least, most) = ($ty::MIN as i128, $ty::MAX as i128);
        $suite.lift(of([1, 2, 3, 7, 10]), 0);
        $suite.lift(of([-1, -3, most, most - 1, most / 2 + 1]), 0);
        $suite.lift(of([least | 1, most / 3, 0x1_0001_0001 | 1, 0x7fff_fffb, -7]), 0);
        $suite.lift(of([1, 1, 1, 0, 1]), 0);
    })*};
}

#[scan_element]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modulus {
    modulus: u32,
    period: f32,
}

#[scan_op]
impl ScanOp for Modulus {
    type Input = [u32; 2];
    type State = u64;
    type Output = u64;
    const IDENTITY: u64 = 0;
    fn lift(&self, x: [u32; 2]) -> u64 {
        let modulus = self.modulus as u64;
        // Floats are divided as ever.
        (x[0] as u64 * x[1] as u64 % modulus) << 8 | (x[0] as f32 % self.period) as u64
    }
    fn combine(a: u64, _b: u64) -> u64 {
        a
    }
}

pub(crate) const MODULUS: Modulus = Modulus { modulus: 7, period: 2.5 };

pub(super) fn cases(suite: &mut Suite) {
    divisors!(suite: u8 i8 u16 i16 u32 i32 u64 i64 usize isize u128 i128);
    for modulus in [1, 7, 998_244_353, u32::MAX] {
        suite.lift(Modulus { modulus, period: 2.5 }, 0);
    }
}

//! Functions that operators call: by path, through others, generic, under names that C++ has taken.

use super::harness::Suite;
use scan_runtime::{ScanElement, ScanOp, ops::Number, scan_element, scan_fn, scan_op};

#[scan_element]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Fraction {
    above: u32,
    below: u32,
}

mod number_theory {
    use scan_runtime::scan_fn;

    /// Euclid's algorithm.
    #[scan_fn]
    pub(crate) fn gcd(a: u32, b: u32) -> u32 {
        let (mut a, mut b) = (a, b);
        while b != 0 {
            let rest = a % b;
            a = b;
            b = rest;
        }
        a
    }

    pub(crate) mod deeper {
        use super::gcd;
        use scan_runtime::scan_fn;

        /// Calls what was brought by `use`, and leaves early.
        #[scan_fn]
        pub(crate) fn lcm(a: u32, b: u32) -> u32 {
            if a == 0 || b == 0 {
                return 0;
            }
            (a / gcd(a, b)).wrapping_mul(b)
        }
    }
}

/// A struct in, a struct out, a pattern among the parameters; calls another by its path.
#[scan_fn]
fn reduced(Fraction { above, below }: Fraction) -> Fraction {
    let common = number_theory::gcd(above, below);
    if common < 2 { Fraction { above, below } } else { Fraction { above: above / common, below: below / common } }
}

/// Names that C has, with literals among the arguments of their calls.
#[scan_fn]
fn min(a: i64, b: i64) -> i64 {
    if b < a { b } else { a }
}

#[scan_fn]
fn pow(a: i64, b: i64) -> i64 {
    a ^ b
}

#[scan_fn]
const fn register() -> i64 {
    40
}

#[allow(clippy::needless_range_loop, reason = "ranges are the operator language's loops")]
#[scan_fn]
fn weighted<T: Number, const N: usize>(x: [T; N]) -> T {
    let mut sum = x[0];
    for i in 1..N {
        sum = sum.wrapping_mul(x[i]).wrapping_add(x[i]);
    }
    sum
}

/// A generic function that calls one.
#[scan_fn]
fn both<T: Number>(a: T, b: T) -> T {
    self::weighted::<T, 2>([a, b])
}

/// The name of a local in its caller.
#[scan_fn]
fn common(a: u32) -> u32 {
    a.rotate_left(3)
}

struct Through;

#[scan_op]
impl ScanOp for Through {
    type Element = u32;
    fn combine(a: u32, b: u32) -> u32 {
        use_all(a, b)
    }
}

#[scan_fn]
fn use_all(a: u32, b: u32) -> u32 {
    let common = number_theory::deeper::lcm(a, b) ^ common(b);
    let fraction = reduced(Fraction { below: common, above: a });
    fraction.above.wrapping_add(fraction.below)
}

struct OfC;

#[scan_op]
impl ScanOp for OfC {
    type Element = i64;
    const IDENTITY: i64 = 0;
    fn combine(a: i64, b: i64) -> i64 {
        let small = min(7, 3);
        if pow(a, 1) > b { min(a, small).wrapping_add(register()) } else { pow(2, b) }
    }
}

struct Generic<T, const N: usize>(std::marker::PhantomData<T>);

#[scan_op]
impl<T: Number, const N: usize> ScanOp for Generic<T, N> {
    type Element = [T; N];
    fn combine(a: [T; N], b: [T; N]) -> [T; N] {
        let mut c = a;
        c[0] = both::<T>(weighted::<T, N>(a), weighted::<T, N>(b));
        c
    }
}

/// In two of its functions, and beside a function of the same name elsewhere.
struct Twice;

mod other {
    use scan_runtime::scan_fn;

    #[scan_fn]
    pub(crate) fn common(a: u32) -> u32 {
        a.swap_bytes()
    }
}

#[scan_op]
impl ScanOp for Twice {
    type Input = u16;
    type State = u32;
    type Output = u32;
    fn lift(x: u16) -> u32 {
        common(u32::from(x)) ^ other::common(7)
    }
    fn combine(a: u32, b: u32) -> u32 {
        other::common(a).wrapping_sub(common(b))
    }
}

pub(crate) fn cases(suite: &mut Suite) {
    suite.combine(Through, 0);
    suite.combine(OfC, 0);
    suite.combine(Generic::<i8, 2>(std::marker::PhantomData), 0);
    suite.combine(Generic::<u64, 3>(std::marker::PhantomData), 0);
    suite.combine(Generic::<f32, 3>(std::marker::PhantomData), 0);
    suite.combine(Twice, 0);
    suite.lift(Twice, 0);
    local(suite);
}

/// All of it inside a function.
fn local(suite: &mut Suite) {
    #[scan_fn]
    fn double<T: ScanElement + std::ops::Add<Output = T>>(x: T) -> T {
        x + x
    }

    #[scan_op(identity = 0.0)]
    fn doubled(a: f64, b: f64) -> f64 {
        double::<f64>(a) - double::<f64>(b)
    }
    suite.combine(doubled, 0);
}

/// Each function once, after those that it calls, under a name that nothing else has.
#[test]
fn functions_are_written_once_in_order() {
    let source = Through.source();
    let names: Vec<&str> = source.helpers.iter().map(|helper| helper.name.as_str()).collect();
    assert_eq!(names, ["gcd", "lcm", "common", "reduced", "use_all"]);
    let source = Generic::<u64, 3>(std::marker::PhantomData).source();
    let names: Vec<&str> = source.helpers.iter().map(|helper| helper.name.as_str()).collect();
    assert_eq!(names, ["weighted_u64_2", "both_u64", "weighted_u64_3"]);
}

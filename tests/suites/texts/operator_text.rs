//! The CUDA text of telling operators, reviewed like source.

#![allow(clippy::unwrap_used, reason = "every function here is a part of a test")]

use scan_codegen::{FunctionSource, Overrides, Target, operator_text};
use scan_runtime::{ScanOp, Scanner, scan_element, scan_fn, scan_op};

fn text(op: &impl ScanOp) -> String {
    operator_text(&op.source(), Target::Cuda).unwrap().text
}

struct Plus;

#[scan_op]
impl ScanOp for Plus {
    type Element = f32;
    const IDENTITY: f32 = 0.0;
    fn combine(a: f32, b: f32) -> f32 {
        a + b
    }
}

#[test]
fn a_plain_sum() {
    insta::assert_snapshot!(text(&Plus));
}

struct Largest;

#[scan_op]
impl ScanOp for Largest {
    type Element = f32;
    const IDENTITY: f32 = f32::NEG_INFINITY;
    fn combine(a: f32, b: f32) -> f32 {
        if a > b { a } else { b }
    }
}

#[test]
fn a_comparison() {
    insta::assert_snapshot!(text(&Largest));
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Affine {
    a: f32,
    b: f32,
}

#[scan_op(identity = Affine { a: 1.0, b: 0.0 })]
fn compose(f: Affine, g: Affine) -> Affine {
    Affine { b: g.a * f.b + g.b, a: f.a * g.a }
}

#[test]
fn a_struct() {
    insta::assert_snapshot!(text(&compose));
}

/// Products modulo a number that is known at run time.
#[scan_element]
#[derive(Clone, Copy)]
struct ModMul {
    p: u32,
}

#[scan_op]
impl ScanOp for ModMul {
    type Element = u32;
    const IDENTITY: u32 = 1;
    fn combine(&self, a: u32, b: u32) -> u32 {
        ((a as u64 * b as u64) % self.p as u64) as u32
    }
}

#[test]
fn a_parameter() {
    insta::assert_snapshot!(text(&ModMul { p: 998_244_353 }));
}

/// Count, mean and sum of squared distances, merged exactly.
#[scan_element]
#[derive(Clone, Copy)]
struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

struct Welford;

#[scan_op]
impl ScanOp for Welford {
    type Input = f64;
    type State = Moments;
    type Output = f64;
    const IDENTITY: Moments = Moments { count: 0, mean: 0.0, squares: 0.0 };

    fn lift(x: f64) -> Moments {
        Moments { count: 1, mean: x, squares: 0.0 }
    }

    fn combine(a: Moments, b: Moments) -> Moments {
        if a.count == 0 {
            return b;
        }
        if b.count == 0 {
            return a;
        }
        let count = a.count + b.count;
        let delta = b.mean - a.mean;
        let share = b.count as f64 / count as f64;
        Moments {
            count,
            mean: a.mean + delta * share,
            squares: a.squares + b.squares + delta * delta * a.count as f64 * share,
        }
    }

    fn project(s: Moments) -> f64 {
        if s.count > 1 { s.squares / (s.count - 1) as f64 } else { 0.0 }
    }
}

#[test]
fn lift_and_project() {
    insta::assert_snapshot!(text(&Welford));
}

#[scan_element]
#[derive(Clone, Copy)]
struct Matrix<T, const N: usize> {
    rows: [[T; N]; N],
}

struct Product;

#[allow(clippy::needless_range_loop, reason = "an operator loops over indices")]
#[scan_op]
impl ScanOp for Product {
    type Element = Matrix<u32, 2>;
    const IDENTITY: Matrix<u32, 2> = Matrix { rows: [[1, 0], [0, 1]] };

    fn combine(a: Self::Element, b: Self::Element) -> Self::Element {
        let mut rows = [[0_u32; 2]; 2];
        for i in 0..2 {
            for j in 0..2 {
                let mut sum = 0_u32;
                for k in 0..2 {
                    sum += a.rows[i][k] * b.rows[k][j];
                }
                rows[i][j] = sum;
            }
        }
        Matrix { rows }
    }
}

#[test]
fn loops_over_arrays() {
    insta::assert_snapshot!(text(&Product));
}

struct Control;

#[scan_op]
impl ScanOp for Control {
    type Element = i32;
    const IDENTITY: i32 = 0;

    fn combine(a: i32, b: i32) -> i32 {
        let int: i32 = match (a, b) {
            (0, n) if n > 3 => n,
            (-5..=5, _) => 1,
            (i32::MIN, MIDDLE) => 2,
            _ => a,
        };
        let mut register = int;
        let register = {
            register <<= 3;
            register.max(b)
        };
        let found = loop {
            if register == 0 {
                break 7_i32;
            } else if register > 100 {
                break register & 0xff;
            }
        };
        a + found
    }
}

const MIDDLE: i32 = 42;

#[test]
fn control_flow() {
    insta::assert_snapshot!(text(&Control));
}

#[scan_fn]
fn powers<const N: usize>(x: u32) -> u32 {
    let mut product = 1_u32;
    for i in 1..=N {
        product *= x + i as u32;
    }
    product
}

/// Loops in loops, a loop of which nobody knows how often it goes round, a function that is called, and divisions.
#[derive(Clone, Copy)]
struct Rounds<const N: usize>;

const BASE: u32 = 10;

#[scan_op]
impl<const N: usize> ScanOp for Rounds<N> {
    type Element = u32;
    const IDENTITY: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        let mut c = a;
        for i in 0..N {
            for _j in i..N {
                c ^= b;
            }
            for _j in (2..BASE - 3).rev() {
                c |= b;
            }
            c += powers::<4>(b);
        }
        while c > 100 {
            c -= 1;
        }
        c / BASE % b
    }
}

#[test]
fn uses_in_loops_count_once_per_iteration() {
    let source = Rounds::<6>.source();
    let combine = &source.functions[0];
    let times = |function: &FunctionSource, part| {
        function.uses.iter().find(|(known, _)| *known == part).map(|(_, times)| *times)
    };
    // From `i`: nobody knows how often, so eight times.
    assert_eq!(times(combine, "bitxor"), Some(6 * 8));
    assert_eq!(times(combine, "bitor"), Some(6 * 5));
    assert_eq!(times(combine, "add"), Some(6));
    assert_eq!(times(combine, "sub"), Some(8 + 6)); // and `BASE - 3` in each round
    assert_eq!(
        [times(combine, "div"), times(combine, "by_constant"), times(combine, "rem")],
        [Some(0), Some(1), Some(1)]
    );
    assert_eq!(combine.calls, [(0, 6)]);
    assert_eq!(times(&source.helpers[0], "mul"), Some(4));
}

#[test]
fn heavy_functions_are_called_in_kernels() {
    let kernel = |overrides: Overrides| {
        Scanner::cpu_for(scan_runtime::DeviceLimits::BASELINE)
            .scan(Rounds::<6>)
            .overrides(overrides)
            .cuda_source()
            .unwrap()
            .text
    };
    let mut overrides = Overrides::default();
    overrides.inlined = Some(u32::MAX);
    assert!(!kernel(overrides).contains("__noinline__"));
    overrides.inlined = Some(0);
    assert!(kernel(overrides).contains("__noinline__ u32 combine("));
}

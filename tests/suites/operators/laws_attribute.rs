//! The tests that `#[scan_op(…, laws)]` writes: they stand in this file's list beside the others.

use scan_runtime::{ScanOp, laws, scan_element, scan_op};
use std::marker::PhantomData;

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Affine {
    a: f32,
    b: f32,
}

#[scan_op(identity = Affine { a: 1.0, b: 0.0 }, laws)]
fn compose(f: Affine, g: Affine) -> Affine {
    Affine { a: f.a * g.a, b: g.a * f.b + g.b }
}

#[scan_op(identity = f64::NEG_INFINITY, laws = [1.5, -2.0, f64::INFINITY])]
fn larger(a: f64, b: f64) -> f64 {
    a.max(b)
}

/// Its test can have samples that a loop made.
#[scan_op(identity = 0, laws = (0..20_i32).map(|i| i * i - 50).collect::<Vec<_>>())]
fn sum(a: i32, b: i32) -> i32 {
    a.wrapping_add(b)
}

struct Largest;

#[scan_op(laws)]
impl ScanOp for Largest {
    type Element = f32;
    const IDENTITY: f32 = f32::NEG_INFINITY;
    fn combine(a: f32, b: f32) -> f32 {
        if a > b { a } else { b }
    }
}

#[scan_element]
#[derive(Clone, Copy)]
struct ModularProduct {
    modulus: u32,
}

#[scan_op(laws(operator = ModularProduct { modulus: 101 }, samples = [1, 2, 50, 100]))]
impl ScanOp for ModularProduct {
    type Element = u32;
    const IDENTITY: u32 = 1;
    fn combine(&self, a: u32, b: u32) -> u32 {
        (a as u64 * b as u64 % self.modulus as u64) as u32
    }
}

struct First<T>(PhantomData<T>);

#[scan_op(laws(operator = First::<u16>(PhantomData)))]
impl<T: scan_runtime::ops::Number> ScanOp for First<T> {
    type Element = T;
    const IDENTITY: T = T::ZERO;
    fn combine(a: T, b: T) -> T {
        if a == T::ZERO { b } else { a }
    }
}

// Two of one name in one place.
struct Counter<T>(PhantomData<T>);

#[scan_op(laws(operator = Counter::<u8>(PhantomData), samples = b"laws"))]
impl ScanOp for Counter<u8> {
    type Input = u8;
    type State = u32;
    type Output = u32;
    const IDENTITY: u32 = 0;
    fn lift(x: u8) -> u32 {
        if x == b'a' { 1 } else { 0 }
    }
    fn combine(a: u32, b: u32) -> u32 {
        a + b
    }
}

#[scan_op(laws(operator = Counter::<bool>(PhantomData)))]
impl ScanOp for Counter<bool> {
    type Input = bool;
    type State = u32;
    type Output = u32;
    const IDENTITY: u32 = 0;
    fn lift(x: bool) -> u32 {
        x as u32
    }
    fn combine(a: u32, b: u32) -> u32 {
        a + b
    }
}

/// Right only where keys ascend.
#[scan_op(identity = [0, 0], laws(samples = [[1, 5], [1, 7], [2, 1], [3, 9], [3, 4]], in_order))]
fn sum_by_ascending_key(a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
    if b[0] == 0 {
        a
    } else if a[0] == b[0] {
        [a[0], a[1] + b[1]]
    } else {
        b
    }
}

/// Keeps twelve bits of a sum.
#[scan_op(identity = 0.0, laws(samples = [0.5, 0.7, 1.9], tolerance = 2e-3))]
fn coarse(a: f32, b: f32) -> f32 {
    f32::from_bits((a + b).to_bits() & 0xffff_f000)
}

/// Counts to nine, and then begins again: only folds of ten inputs and more show that it is not associative with one.
#[scan_op(identity = 0, laws(samples = [1, 1, 1, 1, 1, 1], longest_run = 3, cases = 200, seed = 7))]
fn count_to_nine(a: u32, b: u32) -> u32 {
    if a + b > 9 { 1 } else { a + b }
}

#[test]
#[allow(unnameable_test_items, reason = "a test that must fail is called, not listed")]
fn longer_runs_reach_what_shorter_ones_do_not() {
    #[scan_op(identity = 0, laws(samples = [1, 1, 1, 1, 1, 1], longest_run = 9))]
    fn count_to_nine(a: u32, b: u32) -> u32 {
        if a + b > 9 { 1 } else { a + b }
    }
    let failure = laws_of_count_to_nine().expect_err("folds of nine and two");
    assert!(format!("{failure:?}").contains("not associative"), "{failure:?}");
}

/// A test that passes prints the report, with what was left out: `cargo test -- --nocapture` shows it.
#[test]
fn the_test_prints_the_report() {
    let mut test = std::process::Command::new(std::env::current_exe().expect("this program"));
    test.args(["--exact", "laws_attribute::laws_of_products", "--nocapture"]);
    let output = test.output().expect("a process");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("`products`: associative in "), "{printed}");
    assert!(printed.contains(" cases left out, where floats overflow, such as "), "{printed}");
}

/// The report of a check that passes names the number that an operator may count to, unless an operand has reached it.
#[test]
fn the_report_names_a_number_that_no_operand_reached() {
    let report = |longest_run, samples: &[u32]| {
        laws::Check::new().longest_run(longest_run).cases(200).run(&count_to_nine, samples).map_err(|_| ())
    };
    let passed = report(3, &[1; 6]).expect("a sum up to nine");
    assert_eq!(passed.unreached, Some(9));
    let text = passed.to_string();
    assert!(text.ends_with("if the operator counts to 9, check it with `longest_run = 10`"), "{text}");
    assert!(report(10, &[1; 6]).is_err());

    /// Choosing the smaller one is associative, whatever the number that it compares with first.
    #[scan_op]
    fn smaller(a: u32, b: u32) -> u32 {
        if a < 20 && a <= b { a } else { u32::min(a, b) }
    }
    for (samples, unreached) in [([3, 7, 19], Some(20)), ([3, 7, 20], None)] {
        assert_eq!(laws::check(&smaller, samples).expect("associative").unreached, unreached);
    }
}

/// Overflows.
#[scan_op(identity = 1.0, laws = [1.0e30, 1.0e-30, 1.0e20])]
fn products(a: f32, b: f32) -> f32 {
    a * b
}

#[test]
#[allow(unnameable_test_items, reason = "a test that must fail is called, not listed")]
fn the_test_fails_with_the_counterexample() {
    #[scan_op(identity = 0.0, laws)]
    fn decay(a: f32, b: f32) -> f32 {
        a * 0.5 + b
    }
    let failure = laws_of_decay().expect_err("a * 0.5 + b is not associative");
    let text = format!("{failure:?}");
    assert!(text.contains("`decay` is not associative") && text.contains("hint: "), "{text}");
    type Test = fn() -> Result<(), Box<dyn std::error::Error>>;
    let tests: [(&str, Test); 4] = [
        ("a function", laws_of_compose),
        ("an impl", laws_of_Largest),
        ("a generic impl", laws_of_First_T),
        ("two of one name", laws_of_Counter_bool),
    ];
    for (name, test) in tests {
        assert!(test().is_ok(), "{name}");
    }
}

//! Operators that break a law are caught, with a counterexample that is one; operators that keep them pass.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_runtime::{
    ScanElement, ScanOp,
    laws::{self, Check, Failure, Hint, Law, Violation},
    ops, scan_element, scan_op,
};
use scan_tests::operators::{TestOperator, Visitor, bits, inputs, visit_all};

// ---- what keeps the laws -----------------------------------------------------

struct Passes;

impl Visitor for Passes {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        let samples = inputs::<Op>(24);
        let report = laws::check(&Op::new(), &samples).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        assert!(report.associativity >= 1000 && report.identity >= 200, "{name}: {report}");
        let report = Check::new().in_order().longest_run(6).run(&Op::new(), &samples).unwrap();
        assert!(report.associativity >= 1000, "{name}: {report}");
    }
}

#[test]
fn every_test_operator_keeps_the_laws() {
    visit_all(&mut Passes);
}

#[test]
fn built_in_operators_keep_the_laws_on_default_samples() {
    fn passes(op: impl ScanOp) {
        let report = Check::new().run_on_default_samples(&op).unwrap();
        assert!(report.associativity >= 1000 && report.identity >= 200, "{report}");
    }
    passes(ops::sum::<i8>());
    passes(ops::sum::<u128>());
    passes(ops::sum::<f32>());
    passes(ops::product::<f64>());
    passes(ops::max::<f32>());
    passes(ops::min::<u16>());
    passes(ops::bit_xor::<isize>());
    passes(ops::all());
    passes(ops::any());
}

/// Sums that cancel, of values of very different size: rounding, and no violation.
#[test]
fn rounding_is_not_a_violation() {
    let samples = [1.0e8_f32, -1.0e8, 1.0, 0.1, -0.3, 3.0e-5, 7.0e6, -7.0e6];
    let report = laws::check(&ops::sum(), samples).unwrap();
    assert!(report.rounding > 0.0 && report.rounding < 1.0, "{report}");
    laws::check(&ops::sum(), samples.map(f64::from)).unwrap();
    laws::check(&ops::product(), samples).unwrap();
    // NaNs and infinities that the samples hold are values like others.
    laws::check(&ops::max(), [1.0, f32::NAN, f32::INFINITY, -0.0, 0.0]).unwrap();
    laws::check(&ops::sum(), [1.0, f32::NAN, 2.0]).unwrap();
}

/// Rotations about one axis: a part of each quaternion is nothing but rounding.
#[test]
fn rounding_near_zero_is_not_a_violation() {
    #[scan_element]
    #[derive(Clone, Copy)]
    struct Complex {
        re: f32,
        im: f32,
    }
    #[scan_op(identity = Complex { re: 1.0, im: 0.0 })]
    fn product(a: Complex, b: Complex) -> Complex {
        Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
    }
    // Quarter turns, each with a real part of about -4e-8.
    let turn = |quarters: f32| {
        let angle = quarters * std::f32::consts::FRAC_PI_2;
        Complex { re: angle.cos(), im: angle.sin() }
    };
    laws::check(&product, [turn(1.0), turn(3.0), turn(2.0), turn(5.0)]).unwrap();
}

// ---- what does not -------------------------------------------------------------

/// Checks that a violation is found, and that it is one: both sides are computed anew from the samples it names.
fn violation<Op: ScanOp>(op: &Op, check: &Check, samples: &[Op::Input]) -> Violation<Op> {
    let failure = check.run(op, samples).expect_err("a violation");
    let Failure::Violated(violation) = failure else { panic!("{failure}") };
    replay(op, &violation);
    *violation
}

fn replay<Op: ScanOp>(op: &Op, violation: &Violation<Op>) {
    let fold =
        |inputs: &Vec<Op::Input>| inputs.iter().map(|&input| op.lift(input)).reduce(|a, b| op.combine(a, b)).unwrap();
    let folds: Vec<Op::State> = violation.inputs.iter().map(fold).collect();
    let (left, right) = match (violation.law, folds.as_slice()) {
        (Law::Associativity, &[a, b, c]) => (op.combine(op.combine(a, b), c), op.combine(a, op.combine(b, c))),
        (Law::LeftIdentity, &[x]) => (op.combine(op.identity().unwrap(), x), x),
        (Law::RightIdentity, &[x]) => (op.combine(x, op.identity().unwrap()), x),
        (law, folds) => panic!("{law:?} of {} values", folds.len()),
    };
    assert_ne!(bits(&[left]), bits(&[right]), "no counterexample: {violation}");
    assert_eq!(bits(&[left]), bits(&[violation.left]), "{violation}");
    assert_eq!(bits(&[right]), bits(&[violation.right]), "{violation}");
    let text = violation.to_string();
    assert!(text.contains(&violation.operator) && text.contains("\n    "), "{text}");
}

/// A violation of associativity by three single samples, with this hint.
fn not_associative<Op: ScanOp>(op: &Op, samples: &[Op::Input], hint: Hint) -> Violation<Op> {
    let violation = violation(op, &Check::new(), samples);
    assert_eq!(violation.law, Law::Associativity, "{violation}");
    assert!(violation.inputs.iter().all(|run| run.len() == 1), "not as small as it could be: {violation}");
    assert_eq!(violation.hint, Some(hint), "{violation}");
    violation
}

#[scan_op(identity = 0.0)]
fn decay(a: f32, b: f32) -> f32 {
    a * 0.5 + b
}

#[scan_op(identity = 0.0)]
fn add_exponential(a: f32, b: f32) -> f32 {
    a + b.exp()
}

#[scan_op(identity = 1.0)]
fn times_exponential(a: f64, b: f64) -> f64 {
    a * b.exp()
}

#[scan_op(identity = 0)]
fn add_square(a: u32, b: u32) -> u32 {
    a.wrapping_add(b.wrapping_mul(b))
}

#[scan_op(identity = 0)]
fn horner(a: u32, b: u32) -> u32 {
    a.wrapping_mul(31).wrapping_add(b)
}

#[scan_op(identity = 0.0)]
fn smoothing(a: f32, b: f32) -> f32 {
    0.9 * a + 0.1 * b
}

#[scan_op(identity = 0.0)]
fn recurrent_unit(a: f32, b: f32) -> f32 {
    a.tanh() + b
}

#[scan_op(identity = 0.0)]
fn average(a: f32, b: f32) -> f32 {
    (a + b) / 2.0
}

#[scan_op(identity = 0)]
fn whole_average(a: i32, b: i32) -> i32 {
    (a + b) / 2
}

#[scan_op(identity = 0)]
fn subtract(a: i32, b: i32) -> i32 {
    a.wrapping_sub(b)
}

#[scan_op(identity = 0.0)]
fn subtract_floats(a: f64, b: f64) -> f64 {
    a - b
}

#[scan_op(identity = 1.0)]
fn divide(a: f32, b: f32) -> f32 {
    a / b
}

#[scan_op(identity = 0)]
fn distance(a: u16, b: u16) -> u16 {
    a.abs_diff(b)
}

#[scan_op(identity = 0)]
fn saturating(a: i8, b: i8) -> i8 {
    a.saturating_add(b)
}

#[scan_op(identity = 0.0)]
fn clamped(a: f32, b: f32) -> f32 {
    (a + b).clamp(-1.0, 1.0)
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Keyed {
    key: u32,
    value: f32,
}

#[scan_op(identity = Keyed { key: 0, value: 0.0 })]
fn sum_by_key(a: Keyed, b: Keyed) -> Keyed {
    if a.key == b.key { Keyed { key: b.key, value: a.value + b.value } } else { b }
}

#[scan_op(identity = f32::NEG_INFINITY)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The larger one, unless it is larger by little.
#[scan_op(identity = f32::NEG_INFINITY)]
fn clearly_larger(a: f32, b: f32) -> f32 {
    if b > a + 1.0 { b } else { a }
}

#[test]
fn the_step_of_a_recurrence_is_not_associative() {
    let samples = [3.5, -1.0, 2.0, 0.0, 1.0, 0.75];
    let found = not_associative(&decay, &samples, Hint::RecurrenceStep);
    // The simplest of the samples that show it: 0.25 against 0.5, times a.
    assert_eq!((found.inputs[0].as_slice(), found.inputs[1].as_slice()), ([1.0].as_slice(), [0.0].as_slice()));
    assert_eq!(found.amount, Some(0.25));
    not_associative(&smoothing, &samples, Hint::RecurrenceStep);
    not_associative(&horner, &[7, 11, 13, 200, 65], Hint::RecurrenceStep);
    not_associative(&recurrent_unit, &samples, Hint::NonlinearStep);
}

/// A step of a vector, y ↦ M·y + x.
#[test]
fn the_step_of_a_recurrence_of_vectors_is_not_associative() {
    #[scan_op(identity = [0.0, 0.0])]
    fn rotate(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
        [0.6 * a[0] - 0.8 * a[1] + b[0], 0.8 * a[0] + 0.6 * a[1] + b[1]]
    }
    let found = not_associative(&rotate, &[[1.0, 2.0], [0.5, -3.0], [4.0, 1.0], [0.0, 0.0]], Hint::RecurrenceStep);
    assert!(found.path.starts_with('['), "{found}");
}

#[test]
fn a_lifted_map_is_not_associative() {
    not_associative(&add_exponential, &[0.5, -1.0, 2.0, 1.25], Hint::LiftedMap);
    not_associative(&times_exponential, &[0.5, -1.0, 2.0, 1.25], Hint::LiftedMap);
    not_associative(&add_square, &[2, 3, 5, 1000], Hint::LiftedMap);
}

#[test]
fn averages_are_not_associative() {
    not_associative(&average, &[1.0, 2.0, -3.5, 4.25], Hint::Average);
    not_associative(&whole_average, &[1, 2, -3, 40, 17], Hint::Average);
}

#[test]
fn differences_and_quotients_are_not_associative() {
    not_associative(&subtract, &[1, 2, -3, 40], Hint::Subtraction);
    not_associative(&subtract_floats, &[1.0, 2.5, -3.0, 40.0], Hint::Subtraction);
    not_associative(&divide, &[1.0, 2.5, -3.0, 40.0], Hint::Division);
    not_associative(&distance, &[1, 2, 7, 40], Hint::AbsoluteDifference);
}

#[test]
fn saturating_sums_of_both_signs_are_not_associative() {
    let found = not_associative(&saturating, &[100, 50, -60, 7, -90], Hint::Saturation);
    let values = found.operands.clone();
    assert!(values.iter().any(|&value| value > 0) && values.iter().any(|&value| value < 0), "{found}");
    not_associative(&clamped, &[0.5, 0.75, -0.5, 0.25], Hint::Saturation);
    // Of one sign, they keep the law: what overflows stays there.
    let passes: [i8; 4] = [100, 50, 60, 7];
    laws::check(&saturating, passes).unwrap();
}

fn keyed(pairs: &[(u32, f32)]) -> Vec<Keyed> {
    pairs.iter().map(|&(key, value)| Keyed { key, value }).collect()
}

#[test]
fn by_key_needs_ascending_keys() {
    let unsorted = keyed(&[(1, 1.0), (2, 2.0), (1, 4.0), (1, 8.0), (2, 16.0), (3, 32.0)]);
    let found = not_associative(&sum_by_key, &unsorted, Hint::ByKey);
    let keys: Vec<u32> = found.operands.iter().map(|operand| operand.key).collect();
    assert!(keys[0] == keys[2] && keys[1] != keys[0], "{found}");

    let sorted = keyed(&[(1, 1.0), (1, 2.0), (1, 4.0), (2, 8.0), (2, 16.0), (3, 32.0), (3, 64.0), (7, 128.0)]);
    not_associative(&sum_by_key, &sorted, Hint::ByKey);
    // Of an input that stands as it is, nothing is violated, but for the identity, whose key is none of them.
    let failure = Check::new().in_order().run(&sum_by_key, &sorted).expect_err("a wrong identity");
    assert_eq!(failure.violation().map(|violation| violation.law), Some(Law::RightIdentity), "{failure}");

    let in_order = violation(&sum_by_key, &Check::new().in_order(), &unsorted);
    assert_eq!(in_order.law, Law::Associativity);
    // Each operand a run of neighbours, one after the other.
    let joined = in_order.inputs.concat();
    assert!(unsorted.windows(joined.len()).any(|window| window == joined), "{in_order}");
    assert_eq!(joined.len(), 3, "{in_order}");
}

#[test]
fn comparisons_that_are_not_an_order_are_not_associative() {
    not_associative(&larger, &[1.0, f32::NAN, 0.5], Hint::NotANumber);
    laws::check(&larger, [1.0, f32::INFINITY, 0.5, -0.0]).unwrap();
    not_associative(&clearly_larger, &[0.0, 0.75, 1.5, 3.0], Hint::Choice);
}

/// Only folds of several samples show it.
#[test]
fn a_violation_only_between_folds_is_found() {
    /// A sum that forgets what lies above 5.
    #[scan_op(identity = 0)]
    fn forgetful(a: u32, b: u32) -> u32 {
        if a > 5 { 5 + b } else { a + b }
    }
    let found = violation(&forgetful, &Check::new(), &[1, 2, 0]);
    assert_eq!(found.law, Law::Associativity);
    let longest = found.inputs.iter().map(Vec::len).max();
    assert!(longest > Some(1), "{found}");
    assert!(found.to_string().contains("the fold of "), "{found}");
    let sizes: usize = found.inputs.iter().map(Vec::len).sum();
    assert!(sizes <= 6, "not as small as it could be: {found}");
}

// ---- identities ----------------------------------------------------------------

#[test]
fn a_maximum_whose_identity_is_zero_is_found() {
    #[scan_op(identity = 0.0)]
    fn largest(a: f32, b: f32) -> f32 {
        if a > b { a } else { b }
    }
    laws::check(&largest, [1.0, 2.0]).unwrap();
    let found = violation(&largest, &Check::new(), &[1.0, -2.5, -1.0]);
    assert_eq!((found.law, found.inputs.as_slice()), (Law::LeftIdentity, [vec![-1.0]].as_slice()));
    assert_eq!(found.hint, Some(Hint::OtherIdentity { value: "-inf".to_owned() }), "{found}");
}

#[test]
fn wrong_identities_of_structs_and_unsigned_numbers_are_found() {
    #[scan_element]
    #[derive(Clone, Copy)]
    struct Map {
        a: i32,
        b: i32,
    }
    #[scan_op(identity = Map { a: 0, b: 0 })]
    fn compose(f: Map, g: Map) -> Map {
        Map { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    let found = violation(&compose, &Check::new(), &[Map { a: 2, b: 1 }, Map { a: -1, b: 3 }]);
    assert_eq!(found.hint, Some(Hint::OtherIdentity { value: "Map { a: 1, b: 0 }".to_owned() }), "{found}");

    #[scan_op(identity = 0)]
    fn least(a: u16, b: u16) -> u16 {
        a.min(b)
    }
    let found = violation(&least, &Check::new(), &[3, 4]);
    assert_eq!(found.hint, Some(Hint::OtherIdentity { value: "65535".to_owned() }), "{found}");
}

#[test]
fn an_identity_on_one_side_only_is_found() {
    #[scan_op(identity = 0)]
    fn take_right(_a: i32, b: i32) -> i32 {
        b
    }
    let found = violation(&take_right, &Check::new(), &[1, 2, 3]);
    assert_eq!(found.law, Law::RightIdentity, "{found}");
    assert_eq!(found.hint, None, "no value is an identity of it: {found}");
}

#[test]
fn an_identity_that_divides_by_zero_is_found() {
    #[scan_element]
    #[derive(Clone, Copy)]
    struct Mean {
        count: f32,
        mean: f32,
    }
    #[scan_op(identity = Mean { count: 0.0, mean: 0.0 })]
    fn merge(a: Mean, b: Mean) -> Mean {
        let count = a.count + b.count;
        // A sum of shares: fine for parts that are not empty, 0/0 for two that are.
        Mean { count, mean: (a.mean * a.count + b.mean * b.count) / count }
    }
    let one = |mean| Mean { count: 1.0, mean };
    laws::check(&merge, [one(1.0), one(2.0), one(-4.0)]).unwrap();
    let found = violation(&merge, &Check::new(), &[one(1.0), Mean { count: 0.0, mean: 0.0 }]);
    assert_eq!(found.hint, Some(Hint::EmptyPart), "{found}");
}

// ---- tolerance, options, failures ------------------------------------------------

#[test]
fn rounding_beyond_the_default_passes_with_a_tolerance() {
    /// A sum that keeps 12 bits.
    #[scan_op(identity = 0.0)]
    fn coarse(a: f32, b: f32) -> f32 {
        f32::from_bits((a + b).to_bits() & 0xffff_f000)
    }
    let samples = [0.1, 0.7, 0.33, 1.9];
    let found = violation(&coarse, &Check::new(), &samples);
    assert_eq!(found.hint, Some(Hint::Rounding), "{found}");
    assert!(found.amount.unwrap() > found.allowed, "{found}");
    let report = Check::new().tolerance(2e-3).run(&coarse, samples).unwrap();
    assert!(report.rounding > 0.0, "{report}");
    // But not every operator is excused by it.
    violation(&decay, &Check::new().tolerance(2e-3), &samples);
}

#[test]
fn samples_that_overflow_are_skipped_and_counted() {
    let report = laws::check(&ops::product(), [1.0e30_f32, 1.0e-30, 1.0e20]).unwrap();
    assert!(report.overflowed > 0 && report.associativity > 0, "{report}");
    assert!(
        report.to_string().contains(" cases left out, where floats overflow, such as combine(1e30, 1e30) = inf"),
        "{report}"
    );
    /// Infinite from one side, NaN from the other.
    #[scan_op(identity = 0.0)]
    fn overflowing(a: f32, b: f32) -> f32 {
        b * b - a
    }
    let failure = laws::check(&overflowing, [1.0e30]).expect_err("nothing that can be tested");
    assert!(matches!(failure, Failure::NothingTested { .. }), "{failure}");
}

/// Of the folds that are operands, with samples that are finite: each fold of several is left out, though both sides of the law
/// would be the same infinity.
#[test]
fn folds_that_overflow_are_skipped_and_counted() {
    let product = |longest_run| {
        let samples = [1.0e30_f32, 2.0e30, 3.0e30];
        laws::Check::new().longest_run(longest_run).run(&ops::product(), samples).unwrap()
    };
    assert_eq!(product(1).overflow, None, "{}", product(1));
    let report = product(2);
    assert!(report.overflowed > 100 && report.identity > 0, "{report}");
    assert_eq!(report.overflow.as_deref(), Some("the fold of 3e30, 1e30 = inf"), "{report}");
    // Infinite samples are not what overflows.
    let report = laws::check(&ops::product(), [1.0_f32, f32::INFINITY]).unwrap();
    assert_eq!((report.overflowed, report.overflow), (0, None));
}

/// Of a stepped operator, whose step a loop takes and whose part is applied.
#[test]
fn overflow_of_a_carry_is_left_out_and_counted() {
    /// The laws of `combine` hold here, and one of `apply` is left out.
    #[derive(Clone, Copy)]
    struct Grown;
    #[scan_op]
    impl ScanOp for Grown {
        type Input = f32;
        type State = f32;
        type Output = f32;
        type Carry = f32;
        const IDENTITY: f32 = 0.0;
        const START: f32 = 0.0;
        fn lift(a: f32) -> f32 {
            a
        }
        fn combine(a: f32, b: f32) -> f32 {
            a + b
        }
        fn apply(a: f32, h: f32) -> f32 {
            (a + h) * 1.0e38 * 10.0 * 1.0e-38 * 0.1
        }
        fn step(h: f32, a: f32) -> f32 {
            a + h
        }
    }
    let report = laws::check(&Grown, [1.0, 2.0]).unwrap();
    assert!(report.overflowed > 0, "{report}");
    assert_eq!(report.overflow.as_deref(), Some("apply(lift(x), c) = inf"), "{report}");
}

/// An identity of 0.0 is right up to the sign of zero, which the report tells.
#[test]
fn identities_that_change_a_sign_are_counted() {
    let report = laws::check(&ops::sum(), [1.0_f32, -0.0, 2.0]).unwrap();
    assert!(report.signs > 0 && report.signs < report.identity, "{report}");
    assert!(report.to_string().contains("; the identity changed nothing but the sign of a zero in "), "{report}");
    for report in
        [laws::check(&ops::sum(), [1.0_f32, 0.0]).unwrap(), laws::check(&ops::product(), [-0.0, 1.0]).unwrap()]
    {
        assert_eq!(report.signs, 0, "{report}");
    }
    #[scan_op(identity = -0.0)]
    fn sum_to_the_last_bit(a: f64, b: f64) -> f64 {
        a + b
    }
    assert_eq!(laws::check(&sum_to_the_last_bit, [1.0, -0.0, 0.0]).unwrap().signs, 0);
}

#[test]
fn panics_of_operators_are_failures() {
    #[scan_op(identity = 0)]
    fn positive(a: i32, b: i32) -> i32 {
        assert!(a >= 0 && b >= 0);
        a.wrapping_add(b)
    }
    let failure = laws::check(&positive, [4, -1]).expect_err("a panic");
    let text = failure.to_string();
    assert!(text.contains("`positive` panicked in combine(") && text.contains("a >= 0 && b >= 0"), "{text}");
    assert!(failure.violation().is_none());
}

#[test]
fn too_few_samples_are_an_error() {
    let failure = laws::check(&ops::sum::<i32>(), []).expect_err("no samples");
    assert_eq!(failure.to_string(), "there are 0 samples, and a check of the laws needs 1 at least");
    let failure = Check::new().in_order().run(&ops::sum::<i32>(), [1, 2]).expect_err("no three runs");
    assert_eq!(failure.to_string(), "there are 2 samples, and a check of the laws needs 3 at least");
}

#[test]
fn the_same_seed_gives_the_same_counterexample() {
    let samples: Vec<f32> = (0_u8..200).map(|i| f32::from(i) * 0.37 - 20.0).collect();
    let text = |seed| violation(&decay, &Check::new().seed(seed), &samples).to_string();
    assert_eq!(text(1), text(1));
}

#[test]
fn default_samples_exist_for_every_layout() {
    #[scan_element]
    #[derive(Clone, Copy)]
    struct Nested {
        flag: bool,
        pairs: [Keyed; 2],
        wide: i128,
    }
    struct First;
    #[scan_op]
    impl ScanOp for First {
        type Element = Nested;
        const IDENTITY: Nested = Nested { flag: false, pairs: [Keyed { key: 0, value: 0.0 }; 2], wide: 0 };
        fn combine(a: Nested, b: Nested) -> Nested {
            if a.flag { a } else { b }
        }
    }
    // Of all values it is no identity: what is not flagged is lost, at the end.
    let failure = Check::new().run_on_default_samples(&First).expect_err("no identity on the right");
    assert_eq!(failure.violation().map(|violation| violation.law), Some(Law::RightIdentity), "{failure}");
    let text = failure.to_string();
    assert!(text.contains("Nested { flag: false, pairs: [Keyed { key: "), "{text}");
    assert_eq!(Nested::layout().size, size_of::<Nested>());
}

/// The whole text, reviewed like source.
#[test]
fn the_text_of_a_failure() {
    let failure = laws::check(&decay, [3.5, -1.0, 2.0]).expect_err("a violation");
    insta::assert_snapshot!(failure);
}

struct CountBytes;

#[scan_op]
impl ScanOp for CountBytes {
    type Input = u8;
    type State = [i32; 2];
    type Output = i32;
    const IDENTITY: [i32; 2] = [0, 0];
    fn lift(x: u8) -> [i32; 2] {
        [1, x as i32]
    }
    fn combine(a: [i32; 2], b: [i32; 2]) -> [i32; 2] {
        [a[0] + b[0], a[1] - b[1]]
    }
    fn project(s: [i32; 2]) -> i32 {
        s[1]
    }
}

#[test]
fn the_text_of_a_failure_with_lift() {
    let failure = laws::check(&CountBytes, b"scan").expect_err("a violation");
    replay(&CountBytes, failure.violation().unwrap());
    insta::assert_snapshot!(failure);
}

// ---- what is said twice ------------------------------------------------------

/// A stepped operator over `c ↦ a·c + b`, one of whose functions is wrong: 0 for none of them.
#[derive(Clone, Copy, Debug)]
struct Stepped<const WRONG: u32>;

const APPEND: u32 = 1;
const STEP: u32 = 2;
const ORDER: u32 = 3;
const PREPEND: u32 = 4;

#[scan_op]
impl<const WRONG: u32> ScanOp for Stepped<WRONG> {
    type Input = u32;
    type State = [u32; 2];
    type Carry = u32;
    type Output = u32;
    const IDENTITY: [u32; 2] = [1, 0];
    const START: u32 = 7;
    fn lift(x: u32) -> [u32; 2] {
        [3, x]
    }
    fn combine(f: [u32; 2], g: [u32; 2]) -> [u32; 2] {
        if WRONG == ORDER {
            [f[0].wrapping_mul(g[0]), g[1].wrapping_mul(f[0]).wrapping_add(f[1])]
        } else {
            [f[0].wrapping_mul(g[0]), f[1].wrapping_mul(g[0]).wrapping_add(g[1])]
        }
    }
    fn append(f: [u32; 2], x: u32) -> [u32; 2] {
        if WRONG == ORDER {
            [f[0].wrapping_mul(3), x.wrapping_mul(f[0]).wrapping_add(f[1])]
        } else if WRONG == APPEND {
            [f[0].wrapping_mul(3), f[1].wrapping_add(x)]
        } else {
            [f[0].wrapping_mul(3), f[1].wrapping_mul(3).wrapping_add(x)]
        }
    }
    fn prepend(x: u32, g: [u32; 2]) -> [u32; 2] {
        if WRONG == ORDER {
            [g[0].wrapping_mul(3), g[1].wrapping_mul(3).wrapping_add(x)]
        } else if WRONG == PREPEND {
            [g[0].wrapping_mul(3), g[1].wrapping_add(x)]
        } else {
            [g[0].wrapping_mul(3), x.wrapping_mul(g[0]).wrapping_add(g[1])]
        }
    }
    fn apply(f: [u32; 2], c: u32) -> u32 {
        c.wrapping_mul(f[0]).wrapping_add(f[1])
    }
    fn step(c: u32, x: u32) -> u32 {
        c.wrapping_mul(3).wrapping_add(x).wrapping_add(if WRONG == STEP { 1 } else { 0 })
    }
}

/// A stepped operator whose step and outputs are one function. `WRONG` says whether its carry differs from that of
/// `apply`.
#[derive(Clone, Copy, Debug)]
struct Advancing<const WRONG: bool>;

#[scan_op]
impl<const WRONG: bool> ScanOp for Advancing<WRONG> {
    type Element = u32;
    type Carry = u32;
    const IDENTITY: u32 = 0;
    const START: u32 = 7;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(s: u32, c: u32) -> u32 {
        c.wrapping_add(s)
    }
    fn advance(c: u32, x: u32) -> (u32, u32) {
        let after = c.wrapping_add(x);
        if WRONG { (c ^ after, after) } else { (after, c ^ after) }
    }
}

#[test]
fn the_carry_of_a_stepped_operator_that_advances_agrees_with_apply() {
    laws::check(&Advancing::<false>, [1, 2, 3, 5, 8]).unwrap();
    disagrees(&Advancing::<true>, Law::Step, Hint::OtherStep);
}

fn disagrees<Op: ScanOp<Input = u32>>(op: &Op, law: Law, hint: Hint) -> String {
    let failure = laws::check(op, [1, 2, 3, 5, 8]).unwrap_err();
    let Failure::Disagrees(disagreement) = &failure else { panic!("{failure}") };
    assert_eq!((disagreement.law, &disagreement.hint), (law, &hint), "{failure}");
    failure.to_string()
}

#[test]
fn append_prepend_and_step_agree_with_combine() {
    let report = laws::check(&Stepped::<0>, [1, 2, 3, 5, 8]).unwrap();
    assert!(report.appended >= 1800 && report.carried >= 2000, "{report}");
    let text = disagrees(&Stepped::<APPEND>, Law::Append, Hint::OtherAppend);
    assert!(text.contains("append(s, x) ≠ combine(s, lift(x))") && text.contains("x = "), "{text}");
    let text = disagrees(&Stepped::<PREPEND>, Law::Prepend, Hint::OtherPrepend);
    assert!(text.contains("prepend(x, s) ≠ combine(lift(x), s)") && text.contains("s = "), "{text}");
    let text = disagrees(&Stepped::<STEP>, Law::Step, Hint::OtherStep);
    assert!(text.contains("step(c, x) ≠ apply(lift(x), c)") && text.contains("c = 7, its start"), "{text}");
    disagrees(&Stepped::<ORDER>, Law::Apply, Hint::AppliedBackwards);
}

/// The identity of a monoid that does not act: it changes nothing in `combine`, and moves the carry.
#[derive(Clone, Copy, Debug)]
struct Moving;

#[scan_op]
impl ScanOp for Moving {
    type Element = u32;
    type Carry = u32;
    const IDENTITY: u32 = 0;
    const START: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        a.max(b)
    }
    fn apply(s: u32, c: u32) -> u32 {
        if s == 0 { c | 1 } else { s.max(c) }
    }
    fn step(c: u32, x: u32) -> u32 {
        x.max(c)
    }
}

#[test]
fn an_identity_that_moves_the_carry_is_found() {
    disagrees(&Moving, Law::IdentityApplied, Hint::MovingIdentity);
}

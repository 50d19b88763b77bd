//! The CPU backend against a plain loop, bit for bit: every operator, every way to scan, every length that decides.

use scan_runtime::{Error, ScanKind, ScanOp, Scanner, ops, scan_op};
use scan_tests::{
    configure,
    operators::{Interval, PolynomialHash, TestOperator, Visitor, bits, inputs, visit_all},
    reference::{self, WAYS},
    shared,
    time_limit::TimeLimit,
};

/// The usual suspects, and around the CPU backend's chunks, which have 64 KiB.
fn lengths<Op: TestOperator>() -> Vec<usize> {
    let chunk = (65_536 / size_of::<Op::Item>()).next_multiple_of(64);
    vec![0, 1, 2, 3, 31, 32, 33, 1_019, chunk - 1, chunk, chunk + 1, 2 * chunk + 5, 5 * chunk + 33]
}

struct AgainstLoop;

impl Visitor for AgainstLoop {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        let scanner = Scanner::cpu();
        for way in WAYS {
            let scan = configure::<Op>(&scanner, way);
            for len in lengths::<Op>() {
                let input = inputs::<Op>(len);
                let initial = way.1.then(Op::initial_value);
                let expected = reference::scan(&Op::new(), way.0, initial, &input);
                let result = scan.run(&input).unwrap();
                assert!(bits(&result) == bits(&expected), "{name}, {way:?}, length {len}");
            }
        }
    }
}

#[test]
fn equals_a_plain_loop() {
    let _limit = TimeLimit::seconds(600);
    visit_all(&mut AgainstLoop);
}

#[test]
fn any_number_of_threads_gives_the_same_results() {
    let _limit = TimeLimit::seconds(600);
    let scanner = Scanner::cpu();
    let input = inputs::<Interval>(1_048_577);
    let scan = configure::<Interval>(&scanner, (ScanKind::Inclusive, false));
    for threads in [1, 3, 16] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let result = pool.install(|| scan.run(&input)).unwrap();
        let covers_all = |(span, last): (&scan_tests::operators::Span, u64)| (span.first, span.last) == (1, last);
        assert!(result.iter().zip(1..).all(covers_all), "{threads} threads");
    }
}

#[test]
fn one_scanner_serves_eight_threads() {
    let _limit = TimeLimit::seconds(600);
    shared::in_eight_threads(&Scanner::cpu()).unwrap();
}

#[test]
fn long_inputs_equal_a_plain_loop() {
    let _limit = TimeLimit::seconds(600);
    let scanner = Scanner::cpu();
    let input = inputs::<PolynomialHash>(8_388_611);
    for way in WAYS {
        let initial = way.1.then(PolynomialHash::initial_value);
        let expected = reference::scan(&PolynomialHash, way.0, initial, &input);
        for len in [65_537, 786_437, 1_048_577, 8_388_611] {
            // A prefix of the scan is the scan of the prefix.
            let result = configure::<PolynomialHash>(&scanner, way).run(&input[..len]).unwrap();
            assert!(result == expected[..len], "{way:?}, length {len}");
        }
    }
}

struct IntoBuffer;

impl Visitor for IntoBuffer {
    fn visit<Op: TestOperator>(&mut self, name: &str) {
        let scanner = Scanner::cpu();
        let scan = configure::<Op>(&scanner, (ScanKind::Exclusive, true));
        let input = inputs::<Op>(20_000);
        let expected = scan.run(&input).unwrap();
        let mut output = expected.clone();
        output.reverse();
        scan.run_into(&input, &mut output).unwrap();
        assert!(bits(&output) == bits(&expected), "{name}");
    }
}

#[test]
fn writes_into_the_callers_buffer() {
    let _limit = TimeLimit::seconds(600);
    visit_all(&mut IntoBuffer);
}

#[test]
fn scans_in_place() {
    let _limit = TimeLimit::seconds(600);
    let scanner = Scanner::cpu();
    for way in WAYS {
        let scan = configure::<PolynomialHash>(&scanner, way);
        let mut buffer = inputs::<PolynomialHash>(50_000);
        let expected = scan.run(&buffer).unwrap();
        scan.run_in_place(&mut buffer).unwrap();
        assert_eq!(buffer, expected, "{way:?}");
    }
}

#[test]
fn refuses_an_output_of_another_length() {
    let _limit = TimeLimit::seconds(600);
    let mut output = [0_i32; 3];
    let error = Scanner::cpu().scan(ops::sum()).run_into(&[1, 2], &mut output).unwrap_err();
    assert!(matches!(error, Error::Length { what: "output", expected: 2, found: 3, .. }), "{error}");
    assert_eq!(output, [0; 3]);
}

/// Divides, and so panics at a zero.
struct Quotient;

#[scan_op]
impl ScanOp for Quotient {
    type Element = i32;
    const IDENTITY: i32 = 1;
    fn combine(a: i32, b: i32) -> i32 {
        a / b
    }
}

#[test]
fn a_panicking_operator_is_an_error() {
    let _limit = TimeLimit::seconds(600);
    for len in [3, 100_000] {
        let mut input = vec![1; len];
        input[len - 2] = 0;
        let error = Scanner::cpu().scan(Quotient).run(&input).unwrap_err();
        let Error::OperatorPanicked { operator, message } = &error else { panic!("{error}") };
        assert_eq!(operator, "Quotient");
        assert!(message.contains("divide by zero"), "{message}");
    }
}

#[test]
fn sums_wrap_in_debug_builds_too() {
    let _limit = TimeLimit::seconds(600);
    assert_eq!(Scanner::cpu().scan(ops::sum()).run(&[200_u8, 100, 1]).unwrap(), [200, 44, 45]);
    assert_eq!(Scanner::cpu().scan(ops::product()).run(&[i32::MAX, 2]).unwrap(), [i32::MAX, -2]);
}

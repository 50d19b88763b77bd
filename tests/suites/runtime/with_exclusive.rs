//! The exclusive and the inclusive result of one scan are those of two scans.

use std::fmt::Debug;

use scan_codegen::ScanSpec;
use scan_runtime::{Error, PlanError, ScanElement, ScanOp, Scanner, ops, scan_op};
use scan_tests::{
    lifting::{INITIAL_VALUE, Lifting, inputs},
    reference,
    stepped::Coder,
};

fn compare<Op, O>(op: Op, initial_value: Op::Carry, inputs: impl Fn(usize) -> Vec<Op::Input>)
where
    Op: ScanOp<Output = O> + Clone,
    O: ScanElement + PartialEq + Debug,
{
    let scanner = Scanner::cpu();
    for len in [0, 1, 2, 100, 40_001] {
        let input = inputs(len);
        for turn in 0..8 {
            let (reversed, restarts, initial_value) =
                (turn & 1 > 0, turn & 2 > 0, (turn & 4 > 0).then_some(initial_value));
            let spec = |spec: ScanSpec| if reversed { spec.reverse() } else { spec };
            let begins: Option<Vec<bool>> = restarts.then(|| (0..len).map(|i| i % 1_019 == 5).collect());
            let expected = |kind| reference::scan_as(&op, &spec(kind), initial_value, &input, begins.as_deref());
            let scan = scanner.scan(ops::with_exclusive(op.clone()));
            let scan = if reversed { scan.reverse() } else { scan };
            let scan = initial_value.iter().fold(scan, |scan, value| scan.init(*value));
            let found = match &begins {
                Some(begins) => scan.by_flags(begins).run(&input).unwrap(),
                None => scan.run(&input).unwrap(),
            };
            let (exclusive, inclusive): (Vec<O>, Vec<O>) =
                found.iter().map(|result| (result.exclusive, result.inclusive)).unzip();
            let what = format!("{}, {len} elements, turn {turn}", op.source().name);
            assert!(exclusive == expected(ScanSpec::exclusive()), "{what}");
            assert!(inclusive == expected(ScanSpec::inclusive()), "{what}");
        }
    }
}

#[test]
fn both_results_equal_two_scans() {
    compare(Lifting, INITIAL_VALUE, inputs);
    compare(Coder, 77, inputs);
    let floats = |len: usize| (0..len).map(|i| (i % 7) as f32).collect();
    compare(ops::sum::<f32>(), 3.0, floats);
}

#[scan_op]
fn first_of_two(a: u32, _b: u32) -> u32 {
    a
}

/// What comes before the first element is told by the identity or by an initial value.
#[test]
fn an_operator_without_an_identity_needs_an_initial_value() {
    let scan = Scanner::cpu().scan(ops::with_exclusive(first_of_two));
    let error = scan.run(&[1, 2]).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoStart { .. })), "{error}");
    assert!(error.to_string().ends_with("has neither `START` nor an identity: add `.init(value)`"));
    let error = scan.clone().run_into(&[1, 2][..], (&mut [0; 2], &mut [0; 2])).unwrap_err();
    assert!(matches!(error, Error::Plan(PlanError::NoStart { .. })), "{error}");
    let results = scan.init(7).run(&[1, 2]).unwrap();
    let results: Vec<_> = results.iter().map(|result| (result.exclusive, result.inclusive)).collect();
    assert_eq!(results, [(7, 7), (7, 7)]);
}

//! A scan of flags and values begins anew at each flag, and goes on in the next chunk.

use std::fmt::Debug;

use scan_runtime::{Axis, Error, ScanOp, Scanner, arrays, laws, ops};
use scan_tests::{
    composed::{composed, flagged},
    lifting::{Lifting, inputs},
    operators::{COVERS, Joined, Span, bits, mixed},
    stepped::{self, Advancer, Appending, Coder, Emitter, ReaderFromEnd},
};

/// The results of chunks of drawn lengths, some of them empty, each of which begins with the total of the one before.
fn in_chunks<Op: ScanOp + Clone>(
    op: &ops::ByFlag<Op>,
    input: &[ops::Flagged<Op::Input>],
    seed: u64,
) -> Vec<Op::Output> {
    let (mut results, mut total, mut rest) = (Vec::new(), None, input);
    while !rest.is_empty() {
        let max = [1, 3, 1_000, 30_000][seed as usize % 4];
        let chunk;
        (chunk, rest) = rest.split_at((mixed(seed + rest.len() as u64) as usize % (max + 1)).clamp(1, rest.len()));
        let scan = total.iter().fold(Scanner::cpu().scan(op.clone()), |scan, total| scan.init(*total));
        let found;
        (found, total) = scan.with_total().run(chunk).unwrap();
        assert!(Some(scan.run(&[]).unwrap().len()) == Some(0), "an empty chunk");
        results.extend(found);
    }
    results
}

fn compare<Op: ScanOp<Output: Debug> + Clone>(
    op: Op,
    first: Option<Op::Carry>,
    values: impl Fn(usize) -> Vec<Op::Input>,
) {
    for len in [0, 1, 2, 3, 100, 40_001] {
        let input = flagged(values(len));
        let (flags, values): (Vec<_>, Vec<_>) = input.iter().map(|x| (x.flag, x.value)).unzip();
        let by_flag = ops::by_flag(op.clone());
        let what = format!("{}, {len} elements", by_flag.source().name);
        let scan = first.iter().fold(Scanner::cpu().scan(by_flag.clone()), |scan, first| scan.init(*first));
        let expected = Scanner::cpu().scan(op.clone()).by_flags(&flags).run(&values).unwrap();
        let found = scan.run(&input).unwrap();
        assert!(bits(&found) == bits(&expected), "{what}: {found:?}\n{expected:?}");
        for seed in 0..4 {
            let found = in_chunks(&by_flag, &input, if len > 1_000 { seed | 2 } else { seed });
            assert!(bits(&found) == bits(&expected), "{what}, cut {seed}: {found:?}\n{expected:?}");
        }
        // From the right a flag stands at the last element of a segment.
        let expected = Scanner::cpu().scan(op.clone()).reverse().by_flags(&flags).run(&values).unwrap();
        let found = scan.reverse().run((arrays::next(&flags, true), &values)).unwrap();
        assert!(bits(&found) == bits(&expected), "{what}, reversed: {found:?}\n{expected:?}");
    }
}

fn numbers(len: usize) -> Vec<u32> {
    (0..len as u64).map(|i| mixed(i) as u32).collect()
}

/// Operators that do not commute, that append, with parameters, without an identity, and stepped operators.
#[test]
fn flags_in_the_operator_equal_a_scan_by_flags_also_in_chunks() {
    compare(ops::sum::<u32>(), None, numbers);
    compare(Lifting, None, inputs);
    compare(Appending, None, inputs);
    compare(ops::flip(Appending), None, inputs);
    compare(Coder, None, inputs);
    compare(Advancer, None, inputs);
    compare(Emitter, None, inputs);
    compare(ReaderFromEnd, None, stepped::numbers);
    compare(composed(1_021), None, inputs);
    compare(ops::with_exclusive(Lifting), None, inputs);
    compare(ops::with_exclusive(Coder), None, inputs);
    compare(ops::pair(ops::flip(Lifting), Coder), None, inputs);
}

/// What comes before the first element goes on up to the first flag.
#[test]
fn an_initial_value_goes_on_up_to_the_first_flag() {
    let (flags, values) = ([false, false, true, false], [1, 2, 3, 4]);
    let sums = Scanner::cpu().scan(ops::by_flag(ops::sum())).init(10);
    assert_eq!(sums.run((&flags, &values)).unwrap(), [11, 13, 3, 7]);
    assert_eq!(sums.run((&[true; 4], &values)).unwrap(), values);
    assert_eq!(sums.rows(2).run((&flags, &values)).unwrap(), [11, 13, 3, 7]);
    assert_eq!(sums.along(Axis::of(&[2, 2], 0).unwrap()).run((&flags, &values)).unwrap(), [11, 12, 3, 16]);
    assert_eq!(Scanner::cpu().reduce(ops::by_flag(ops::sum())).init(10).run((&flags[..2], &values[..2])).unwrap(), 13);
}

fn error<T: Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

/// An exclusive scan does not see the flag of an element; an operator without a start has nothing to begin with.
#[test]
fn results_that_cannot_be_right_are_refused() {
    let (scanner, input) = (Scanner::cpu(), (&[true, false], &[5_u32, 6]));
    let exclusive = "scan inclusively, with `ops::with_exclusive` around the operator within it";
    assert!(error(scanner.scan(ops::by_flag(ops::sum())).exclusive().run(input)).ends_with(exclusive));
    let spans = (&[true, false], &[Span { first: 0, last: 0, kind: COVERS }; 2]);
    assert!(error(scanner.scan(ops::by_flag(Joined)).run(spans)).ends_with("add `.init(value)`"));
    let without_start =
        scanner.scan(ops::by_flag(ops::with_exclusive(Joined))).init(Span { first: 0, last: 0, kind: COVERS });
    assert!(error(without_start.run(spans)).ends_with("give that an identity"));
}

#[test]
fn the_laws_hold() {
    fn check<Op: ScanOp<Input: Debug, State: Debug, Carry: Debug> + Clone>(op: Op, values: &[Op::Input]) {
        let samples: Vec<_> = [false, true, false, false, true].into_iter().zip(values.iter().cycle()).collect();
        let samples: Vec<_> = samples.into_iter().map(|(flag, &value)| ops::Flagged { flag, value }).collect();
        laws::check(&ops::by_flag(op.clone()), &samples).unwrap();
        laws::check(&ops::aggregate(ops::by_flag(op)), &samples).unwrap();
    }
    check(ops::sum::<u32>(), &[1, 2, 3, 4]);
    check(Lifting, &inputs(4));
    check(Coder, &inputs(4));
    check(ops::flip(Appending), &inputs(4));
    check(ReaderFromEnd, &stepped::numbers(4));
    check(ops::with_exclusive(composed(1_021)), &inputs(4));
}

//! A scan of keys and values restarts where the key changes, and goes on in the next chunk.

use std::fmt::Debug;

use scan_codegen::{OutputsOf, PlanError};
use scan_runtime::{Axis, Error, ScanOp, Scanner, laws, ops, scan_element, scan_op};
use scan_tests::{
    composed::composed,
    lifting::{Lifting, inputs},
    operators::{bits, mixed},
    stepped::{self, Advancer, Appending, Coder, Emitter, ReaderFromEnd},
};

/// Keys of runs of up to a few elements, and some long ones. A key returns later.
fn keys(len: usize) -> Vec<u32> {
    let begins = |i: usize| i % 1_024 > 600 || mixed(i as u64).is_multiple_of(5);
    (0..len).scan(0, |key, i| Some(begins(i).then(|| *key = (*key + 1) % 3).map_or(*key, |()| *key))).collect()
}

/// Lengths of chunks that make up `len`: some are empty, some have one element.
fn chunks(len: usize, seed: u64) -> Vec<usize> {
    let max = [1, 2, 7, 1_000, 30_000][seed as usize % 5];
    let (mut lengths, mut rest) = (vec![0], len);
    while rest > 0 {
        let length = (mixed(seed + lengths.len() as u64) as usize % (max + 1)).min(rest);
        lengths.push(length);
        rest -= length;
    }
    lengths
}

/// The results of chunks of these lengths, each of which begins with the total of the one before.
fn in_chunks<Op: ScanOp + Clone>(
    op: &ops::ByKey<u32, Op>,
    mut total: Option<ops::KeyedCarry<u32, Op::Carry>>,
    mut rest: &[ops::Keyed<u32, Op::Input>],
    lengths: &[usize],
    reversed: bool,
) -> Vec<Op::Output> {
    let (scan, reduce) = (Scanner::cpu().scan(op.clone()), Scanner::cpu().reduce(op.clone()));
    let (scan, reduce) = if reversed { (scan.reverse(), reduce.reverse()) } else { (scan, reduce) };
    let mut results = Vec::new();
    for &length in lengths {
        let chunk;
        (chunk, rest) = match reversed {
            false => rest.split_at(length),
            true => {
                let (before, chunk) = rest.split_at(rest.len() - length);
                (chunk, before)
            }
        };
        let (scan, reduce) = match total {
            Some(total) => (scan.clone().init(total), reduce.clone().init(total)),
            None => (scan.clone(), reduce.clone()),
        };
        let found;
        (found, total) = scan.with_total().run(chunk).unwrap();
        if let Some(total) = total.filter(|_| op.outputs_of() >= OutputsOf::Totals) {
            assert!(bits(&[reduce.run(chunk).unwrap()]) == bits(&[op.project(total)]));
        }
        if reversed { results.splice(0..0, found).for_each(drop) } else { results.extend(found) }
    }
    results
}

fn compare<Op>(op: Op, first: Option<Op::Carry>, values: impl Fn(usize) -> Vec<Op::Input>)
where
    Op: ScanOp<Output: Debug> + Clone,
{
    let first = first.map(|value| ops::KeyedCarry { begun: false, key: 0, value });
    for len in [0, 1, 2, 3, 100, 40_001] {
        let (keys, values) = (keys(len), values(len));
        let input: Vec<_> = keys.iter().zip(&values).map(|(&key, &value)| ops::Keyed { key, value }).collect();
        for (seed, reversed) in (0..5).flat_map(|seed| [(seed, false), (seed, true)]) {
            if len > 1_000 && seed < 3 {
                continue;
            }
            let scan = Scanner::cpu().scan(op.clone());
            let scan = if reversed { scan.reverse() } else { scan };
            let expected = scan.by_keys(&keys).run(&values).unwrap();
            let by_key = ops::by_key(op.clone());
            let found = in_chunks(&by_key, first, &input, &chunks(len, seed), reversed);
            let what = format!("{}, {len} elements, cut {seed}, reversed: {reversed}", by_key.source().name);
            assert!(bits(&found) == bits(&expected), "{what}: {found:?}\n{expected:?}");
        }
    }
}

#[scan_op]
fn first_of_two(a: u32, _b: u32) -> u32 {
    a
}

fn numbers(len: usize) -> Vec<u32> {
    (0..len as u64).map(|i| mixed(i) as u32).collect()
}

/// Operators that do not commute, that append, with parameters, without an identity, and stepped operators.
#[test]
fn chunks_equal_one_scan_by_keys() {
    compare(ops::sum::<u32>(), None, numbers);
    compare(ops::sum::<f32>(), None, |len| vec![-0.0; len]);
    compare(ops::max::<f32>(), None, |len| numbers(len).iter().map(|&x| x as f32).collect());
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
    compare(first_of_two, Some(0), numbers);
}

/// Keys are compared as numbers: a NaN equals no key, and the two zeros are one.
#[test]
fn keys_are_compared_by_equality() {
    let keys = [0.0, -0.0, f32::NAN, f32::NAN, 1.0, 1.0];
    let sums = Scanner::cpu().scan(ops::by_key(ops::sum::<u32>()));
    assert_eq!(sums.run((&keys, &[1; 6])).unwrap(), [1, 2, 1, 1, 1, 2]);
    let after = |key| ops::KeyedCarry { begun: true, key, value: 10 };
    assert_eq!(sums.clone().init(after(-0.0)).run((&keys, &[1; 6])).unwrap(), [11, 12, 1, 1, 1, 2]);
    assert_eq!(sums.clone().init(after(f32::NAN)).run((&keys[2..], &[1; 4])).unwrap(), [1, 1, 1, 2]);
}

#[scan_element]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Place {
    shop: u8,
    day: u64,
}

/// Rows and columns begin anew, and restart within; a key may be a struct, with padding as well.
#[test]
fn rows_and_columns_restart_within() {
    let place = |shop, day| Place { shop, day };
    let keys = [place(1, 1), place(1, 1), place(1, 2), place(1, 2), place(1, 2), place(1, 2)];
    let sums = Scanner::cpu().scan(ops::by_key(ops::sum::<u32>()));
    let values = [1, 2, 3, 4, 5, 6];
    assert_eq!(sums.rows(3).run((&keys, &values)).unwrap(), [1, 3, 3, 4, 9, 15]);
    let (found, totals) = sums.rows(2).with_totals().run((&keys, &values)).unwrap();
    assert_eq!(found, [1, 3, 3, 7, 5, 11]);
    assert_eq!(totals[1], ops::KeyedCarry { begun: true, key: place(1, 2), value: 7 });
    let columns = Axis::of(&[3, 2], 0).unwrap();
    assert_eq!(sums.along(columns).run((&keys, &values)).unwrap(), [1, 2, 3, 4, 8, 10]);
    let handle = sums.prepare(6).unwrap();
    let mut results = [0; 6];
    handle.run_into((&keys, &values), &mut results).unwrap();
    assert_eq!(results, [1, 3, 3, 7, 12, 18]);
}

fn error<T: Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

/// An exclusive scan does not see the key of an element; an operator without a start has nothing to begin a key with.
#[test]
fn results_that_cannot_be_right_are_refused() {
    let (scanner, input) = (Scanner::cpu(), (&[1_u8, 1, 2], &[5_u32, 6, 7]));
    let before = ops::KeyedCarry { begun: true, key: 1, value: 3 };
    let sums = scanner.scan(ops::by_key(ops::sum()));
    let exclusive = "scan inclusively, with `ops::with_exclusive` around the operator within it";
    assert!(error(sums.clone().exclusive().run(input)).ends_with(exclusive));
    assert!(error(sums.clone().exclusive().init(before).run(input)).ends_with(exclusive));
    assert!(error(sums.exclusive().rows(1).run(input)).ends_with(exclusive));
    let axis = Axis::of(&[3, 1], 0).unwrap();
    assert!(error(scanner.scan(ops::by_key(ops::sum())).exclusive().along(axis).run(input)).ends_with(exclusive));
    assert!(error(scanner.scan(ops::with_exclusive(ops::by_key(ops::sum()))).run(input)).ends_with(exclusive));

    let first = scanner.scan(ops::by_key(first_of_two));
    assert!(error(first.run(input)).ends_with("add `.init(value)`"));
    assert_eq!(first.init(Default::default()).run(input).unwrap(), [5, 5, 7]);
    let without_start = || ops::by_key(ops::with_exclusive(first_of_two));
    assert!(error(scanner.scan(without_start()).init(before).run(input)).ends_with("give that an identity"));
    assert!(error(scanner.reduce(without_start()).init(before).run(input)).ends_with("give that an identity"));
    let plan =
        scanner.scan(ops::pair(without_start(), without_start())).init(ops::Both { first: before, second: before });
    assert!(matches!(plan.plan(), Err(Error::Plan(PlanError::NoStartOfKeys { .. }))));
    let emitter = scanner.reduce(ops::by_key::<u8, _>(Emitter)).plan();
    assert!(matches!(emitter, Err(Error::Plan(PlanError::NoProject { .. }))));
}

#[test]
fn the_laws_hold() {
    fn check<Op: ScanOp<Input: Debug, State: Debug, Carry: Debug> + Clone>(op: Op, values: &[Op::Input]) {
        let samples: Vec<_> = [0.0_f32, 0.0, 1.0, -0.0, 2.0, f32::NAN].into_iter().zip(values.iter().cycle()).collect();
        let samples: Vec<_> = samples.into_iter().map(|(key, &value)| ops::Keyed { key, value }).collect();
        laws::check(&ops::by_key(op.clone()), &samples).unwrap();
        let state = ops::by_key(op);
        laws::check(&ops::aggregate(state.clone()), &samples).unwrap();
    }
    check(ops::sum::<u32>(), &[1, 2, 3, 4]);
    check(Lifting, &inputs(4));
    check(Coder, &inputs(4));
    check(ops::flip(Appending), &inputs(4));
    check(ReaderFromEnd, &stepped::numbers(4));
    check(ops::with_exclusive(composed(7)), &inputs(4));
}

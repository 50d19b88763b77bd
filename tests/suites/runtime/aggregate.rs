//! Ranks that exchange the aggregates of their parts, and scan with what follows from these, give what one scan gives.

use std::fmt::Debug;

use scan_runtime::{ScanOp, Scanner, laws, ops, scan_fn, scan_op};
use scan_tests::{
    composed::composed,
    items::{quotes, text},
    lifting::{Lifting, Narrow, inputs},
    operators::{bits, mixed},
    stepped::{Appending, Coder},
};

/// Lexical states of a text with strings and comments, by the composition of transitions: a stepped operator.
#[derive(Clone, Copy, Debug)]
struct Lexer;

/// The state after a byte: 0 in code, 1 in a string, 2 after a backslash in it, 3 in a comment.
const NEXT: [[u8; 4]; 5] = [[0, 1, 1, 3], [1, 0, 1, 3], [0, 2, 1, 3], [3, 1, 1, 3], [0, 0, 0, 0]];

fn class(byte: u8) -> usize {
    b"\"\\#\n".iter().position(|&special| special == byte).map_or(0, |index| index + 1)
}

#[scan_op]
impl ScanOp for Lexer {
    type Input = u8;
    type State = [u8; 4];
    type Carry = u8;
    type Output = u8;
    const IDENTITY: [u8; 4] = [0, 1, 2, 3];
    const START: u8 = 0;
    fn lift(class: u8) -> [u8; 4] {
        NEXT[class as usize]
    }
    fn combine(a: [u8; 4], b: [u8; 4]) -> [u8; 4] {
        [b[a[0] as usize], b[a[1] as usize], b[a[2] as usize], b[a[3] as usize]]
    }
    fn apply(part: [u8; 4], state: u8) -> u8 {
        part[state as usize]
    }
    fn step(state: u8, class: u8) -> u8 {
        NEXT[class as usize][state as usize]
    }
    fn emit(state: u8, class: u8) -> u8 {
        state * 8 + class
    }
    fn project(state: u8) -> u8 {
        state
    }
}

/// Scans parts of these lengths as ranks do, each of which knows its own part and the aggregates of all.
fn by_ranks<Op: ScanOp + Clone>(
    op: &Op,
    first: Option<Op::Carry>,
    mut input: &[Op::Input],
    lengths: &[usize],
    reversed: bool,
) -> Vec<Op::Output> {
    let scanner = Scanner::cpu();
    let mut parts = Vec::new();
    for &length in lengths {
        let (part, rest) = input.split_at(length);
        parts.push(part);
        input = rest;
    }
    let reduce = scanner.reduce(ops::aggregate(op.clone()));
    let reduce = if reversed { reduce.reverse() } else { reduce };
    let aggregates: Vec<_> = parts.iter().map(|part| reduce.run(*part).unwrap()).collect();
    let scan = scanner.scan(ops::over_aggregates(op.clone())).exclusive();
    let scan = first.iter().fold(scan, |scan, first| scan.init(*first));
    let scan = if reversed { scan.reverse() } else { scan };
    let carries = scan.run(&aggregates).unwrap();
    let scan = scanner.scan(op.clone());
    let scan = if reversed { scan.reverse() } else { scan };
    let of_part = |(part, carry): (&&[Op::Input], Op::Carry)| scan.clone().init(carry).run(*part).unwrap();
    parts.iter().zip(carries).flat_map(of_part).collect()
}

fn compare<Op: ScanOp<Output: Debug> + Clone>(op: Op, first: Op::Carry, input: &[Op::Input], may_be_empty: bool) {
    for seed in 0..8_u64 {
        let (mut lengths, mut rest) = (Vec::new(), input.len());
        while rest > 0 {
            let length = mixed(seed * 100 + lengths.len() as u64) as usize % (input.len() / (1 + seed as usize));
            let length = length.max(usize::from(!may_be_empty)).min(rest);
            lengths.push(if seed == 7 && may_be_empty && lengths.len() == 1 { 0 } else { length });
            rest -= lengths[lengths.len() - 1];
        }
        for (reversed, first) in [(false, None), (false, Some(first)), (true, None), (true, Some(first))] {
            let scan = Scanner::cpu().scan(op.clone());
            let scan = if reversed { scan.reverse() } else { scan };
            let expected = first.iter().fold(scan, |scan, first| scan.init(*first)).run(input).unwrap();
            let found = by_ranks(&op, first, input, &lengths, reversed);
            let what = format!("{}, {lengths:?}, reversed: {reversed}, {}", op.source().name, first.is_some());
            assert!(bits(&found) == bits(&expected), "{what}");
        }
    }
}

#[test]
fn ranks_equal_one_scan() {
    let classes: Vec<u8> = text(20_001).into_iter().map(|byte| class(byte) as u8).collect();
    compare(Lexer, 1, &classes, true);
    compare(Coder, 77, &inputs(20_001), true);
    compare(Lifting, Lifting.lift(inputs(1)[0]), &inputs(20_001), true);
    compare(Appending, Appending.lift(inputs(1)[0]), &inputs(20_001), true);
    let bytes = text(5_001);
    compare(quotes(b'"'), quotes(b'"').lift(b'x'), &bytes, true);
    let first = composed(1_021).lift(inputs(1)[0]);
    compare(composed(1_021), first, &inputs(5_001), true);
    // One part in the order of reading, the other in the order of memory.
    let mixed = ops::pair(ops::flip(Lifting), Coder);
    compare(mixed, ops::Both { first: Lifting.lift(inputs(1)[0]), second: 5 }, &inputs(5_001), true);
    let keyed: Vec<_> =
        inputs(5_001).into_iter().enumerate().map(|(i, value)| ops::Keyed { key: i as u32 / 700, value }).collect();
    let first = ops::KeyedCarry { begun: true, key: 0, value: Lifting.lift(inputs(1)[0]) };
    compare(ops::by_key(Lifting), first, &keyed, false);
}

/// The aggregate of no elements is the identity, if there is one.
#[test]
fn an_empty_part_has_the_identity() {
    assert_eq!(Scanner::cpu().reduce(ops::aggregate(Lexer)).run(&[]).unwrap(), [0, 1, 2, 3]);
    assert!(Scanner::cpu().reduce(ops::aggregate(ops::by_key::<u8, _>(ops::sum::<u32>()))).run(&[]).is_err());
}

/// Without an identity the carry after each part is the initial value of the next.
#[test]
fn an_inclusive_scan_gives_the_carries_after_parts() {
    let firsts = Scanner::cpu().scan(ops::over_aggregates(ops::first())).run(&[4, 5, 6]).unwrap();
    assert_eq!(firsts, [4, 4, 4]);
    let states = [[0, 1, 1, 3], [3, 1, 1, 3]];
    assert_eq!(Scanner::cpu().scan(ops::over_aggregates(Lexer)).run(&states).unwrap(), [0, 3]);
}

#[test]
fn the_laws_hold() {
    laws::check(&ops::aggregate(Lexer), [0, 1, 2, 3, 4]).unwrap();
    laws::check(&ops::over_aggregates(Lexer), NEXT).unwrap();
    laws::check(&ops::over_aggregates(Coder), inputs(5).into_iter().map(|x| Coder.lift(x)).collect::<Vec<_>>())
        .unwrap();
    laws::check(&ops::aggregate(ops::pair(ops::flip(Lifting), Coder)), inputs(5)).unwrap();
}

/// What is folded in the order of reading, in a reversed scan: `a` is read before `b`.
fn fold_back<Op: ScanOp>(op: Op, a: Op::Input, b: Op::Input, expected: Op::State) {
    let [first, second] = [op.lift(a), op.lift(b)];
    let name = op.source().name;
    assert!(bits(&[op.combine_back(first, second)]) == bits(&[expected]), "combine, {name}");
    assert!(bits(&[op.append_back(first, b)]) == bits(&[expected]), "append, {name}");
    let carry = op.carry_of(expected);
    assert!(bits(&[op.apply_back(second, op.carry_of(first))]) == bits(&[carry]), "apply, {name}");
    assert!(bits(&[op.step_back(op.carry_of(first), b)]) == bits(&[carry]), "step, {name}");
}

#[test]
fn reversed_scans_fold_in_the_order_of_reading() {
    let (a, b) = (inputs(2)[0], inputs(2)[1]);
    let in_memory = Lifting.combine(Lifting.lift(b), Lifting.lift(a));
    let as_read = Coder.combine(Coder.lift(a), Coder.lift(b));
    let both = ops::Both { first: in_memory, second: as_read };
    fold_back(Lifting, a, b, in_memory);
    fold_back(Coder, a, b, as_read);
    let pair = ops::pair(Lifting, Coder);
    fold_back(pair, a, b, both);
    fold_back(ops::with_exclusive(pair), a, b, both);
    fold_back(ops::map::<same_input, _>(pair), a, b, both);
    fold_back(ops::aggregate(pair), a, b, both);
    fold_back(ops::over_aggregates(pair), pair.lift(a), pair.lift(b), both);
    let keyed = |key, value| ops::Keyed { key, value };
    let of = |first, last, restarts, value| ops::KeyedState { first, last, restarts, value };
    fold_back(ops::by_key(pair), keyed(3, a), keyed(3, b), of(3, 3, false, both));
    fold_back(ops::by_key(pair), keyed(3, a), keyed(4, b), of(3, 4, true, pair.lift(b)));
}

#[scan_fn]
fn same_input(x: Narrow) -> Narrow {
    x
}

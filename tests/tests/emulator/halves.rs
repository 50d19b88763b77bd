//! Look-ahead whose threads scan their runs in two halves.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Overrides, ScanSpec};
use scan_runtime::{ScanKind, ScanOp, gallery::saturating_counter::BranchPredictor};
use scan_tests::{
    climb::climb_in_every_place,
    emulator::{Emulator, Program},
    lifting::{INITIAL_VALUE, Lifting, Narrow, inputs},
    machines::{Appending, Coder},
    operators::{Interval, Span, TestOperator, adjacent, mixed},
    planted::each_is_found,
    reference::WAYS,
};

use super::look_ahead::{Shape, limits, overrides_of};

/// Runs of an even and an odd number of elements, of two and of three.
const SHAPES: [Shape; 4] = [(64, 2, 6, 4, 4), (32, 2, 5, 5, 1), (64, 1, 3, 3, 4), (32, 3, 8, 2, 2)];

fn in_halves(shape: Shape) -> Overrides {
    let mut overrides = overrides_of(shape);
    overrides.halves = Some(true);
    overrides
}

#[test]
fn interval() {
    let program = |(shape, (kind, with_initial_value)): (Shape, (ScanKind, bool))| {
        let initial_value = with_initial_value.then(Interval::initial_value);
        Program::<Interval>::planned(Interval, kind, initial_value, &limits(), &in_halves(shape)).unwrap()
    };
    let programs: Vec<_> = SHAPES.into_iter().zip(WAYS).map(program).collect();
    assert!(programs.iter().all(|program| program.source.text.contains("scan_halves(")));
    let lengths = |tile| vec![1, tile, tile + 1, 23 * tile + 7];
    climb_in_every_place(&programs, lengths, |_, _, emulator| emulator.check(adjacent)).unwrap();
}

/// Operators that lift, append inputs or are machines; where stages keep states, reversed, and with a total.
#[test]
fn operators_of_every_kind() {
    fn scan<Op: ScanOp<Input = Narrow>>(op: Op, spec: &ScanSpec, initial: Option<Op::Carry>, overrides: &Overrides)
    where
        Op::Output: std::fmt::Debug,
    {
        let program = Program::with_limits(op, spec, initial, &limits(), overrides).unwrap();
        assert!(program.source.text.contains("scan_halves("));
        let tile = program.plan.tile as usize;
        for (length, offsets) in [(tile - 1, (0, 0)), (7 * tile, (0, 0)), (7 * tile + 7, (3, 1))] {
            program.verify_at_offset(&Emulator::new(length as u64), &inputs(length), offsets).unwrap();
        }
    }
    let mut keeping = in_halves((64, 1, 3, 6, 3));
    keeping.keeps_states = Some(true);
    scan(Lifting, &ScanSpec::exclusive().reverse(), Some(INITIAL_VALUE), &keeping);
    scan(Lifting, &ScanSpec::inclusive().with_total(), None, &in_halves((64, 1, 3, 6, 3)));
    scan(Appending, &ScanSpec::inclusive().reverse(), Some(INITIAL_VALUE), &in_halves((64, 2, 6, 6, 4)));
    scan(Coder, &ScanSpec::exclusive().with_total(), Some(99), &in_halves((32, 2, 5, 6, 3)));
    scan(Coder, &ScanSpec::inclusive(), None, &in_halves((32, 3, 8, 10, 2)));
}

/// Four results share a word, which is in one of the halves.
#[test]
fn words_of_results_are_in_one_half() {
    let taken: Vec<bool> = (0..5000).map(|i| mixed(i).is_multiple_of(3)).collect();
    for spec in [ScanSpec::inclusive(), ScanSpec::inclusive().reverse()] {
        let overrides = in_halves((32, 2, 5, 12, 3));
        let program = Program::with_limits(BranchPredictor, &spec, None, &limits(), &overrides).unwrap();
        assert!(program.source.text.contains("HALF = 8;"));
        program.verify(&Emulator::new(1), &taken).unwrap();
    }
    // Without a word of its own there is no second half.
    let overrides = in_halves((32, 2, 5, 4, 3));
    let program = Program::with_limits(BranchPredictor, &ScanSpec::inclusive(), None, &limits(), &overrides).unwrap();
    assert!(!program.source.text.contains("HALF"));
}

/// Changes of the text, one at a time: some run shows each.
#[test]
fn planted_faults_are_found() {
    let overrides = in_halves((64, 1, 3, 5, 3));
    let program = Program::<Interval>::planned(Interval, WAYS[0].0, None, &limits(), &overrides).unwrap();
    let changes = [
        ("if (HALF + k < RUN) {\n      fold_element", "{\n      fold_element"),
        ("fold_element(op, run, HALF + k, second", "fold_element(op, run, HALF - 1 + k, second"),
        ("scan_element(op, run, HALF + k, second", "scan_element(op, run, HALF + k, first"),
        ("op.combine(halves.first, halves.second)", "op.combine(halves.second, halves.first)"),
        ("{then(op, prefix, first_half), true}", "{first_half, true}"),
        ("{then(op, prefix, first_half), true}", "{prefix.value, true}"),
        ("      first_half = next_first_half;\n", "      if (iteration == 0) first_half = next_first_half;\n"),
    ];
    let tile = u64::from(program.plan.tile);
    let input: Vec<Span> = (0..11 * tile).map(Interval::input).collect();
    let is_found = |program: &Program<Interval>| program.verify(&Emulator::new(1).check(adjacent), &input).is_err();
    each_is_found(&program, &changes, is_found).unwrap();
}

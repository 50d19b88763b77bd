//! Stepped operators, and operators that append inputs, by every strategy in turn and every tree: forwards and
//! reversed, restarting or not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Axis, DeviceLimits, Overrides, Reduction, ScanSpec};
use scan_runtime::{Carry, ScanKind, ScanOp, Strategy, TileNumbers};
use scan_tests::{
    drawn,
    emulated::{ColumnsProgram, Emulator, Program, ReductionProgram},
    extent::one_in,
    lifting::{INITIAL_VALUE, Narrow, inputs},
    operators::mixed,
    reference::WAYS,
    segments::{HEAD_SOURCES, Heads},
    stepped::{
        Advancer, Appending, Coder, Composing, Emitter, Mapped, Page, Reader, ReaderFromEnd, adjacent, mappings,
    },
    strategies,
};

use super::compiled;

/// How an operator is scanned: what the strategy is, the way, whether from the end, and what tells where it restarts.
#[derive(Clone, Copy)]
struct How {
    strategy: Strategy,
    way: (ScanKind, bool),
    reversed: bool,
    head_source: Option<usize>,
}

/// The strategies that have their turn, each in a way of its own, some of them from the end.
fn plain(turn: usize) -> Vec<How> {
    let how =
        |(index, (_, strategy))| How { strategy, way: WAYS[index % 4], reversed: index % 3 == 1, head_source: None };
    (turn..).zip(strategies::in_turn(turn)).map(how).collect()
}

/// The same of scans that restart.
fn segmented(turn: usize) -> Vec<How> {
    let how = |(index, (_, strategy))| {
        let head_source = Some(index % HEAD_SOURCES);
        How { strategy, way: WAYS[index % 4], reversed: index % 3 == 1, head_source }
    };
    (turn..).zip(strategies::in_turn(turn)).map(how).collect()
}

fn shape(strategy: Strategy) -> Overrides {
    let mut overrides = Overrides::default().strategy(strategy).threads(32);
    overrides.run = (strategy.carry == Carry::LookAhead).then_some(4);
    overrides
}

fn program<Op: ScanOp>(op: Op, how: How, initial_value: Op::Carry) -> Program<Op> {
    let How { strategy, way: (kind, with_initial_value), reversed, head_source } = how;
    let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
    let spec = if reversed { spec.reverse() } else { spec };
    let spec = match head_source {
        Some(head_source) => spec.with_segments(Heads::new(head_source, &[]).segments()),
        None => spec.with_total(),
    };
    Program::of(op, &spec, with_initial_value.then_some(initial_value), &shape(strategy)).unwrap()
}

/// Runs an operator in all of these ways. `input` makes elements of where segments begin, which are all in one if
/// nothing tells.
fn climb<Op: ScanOp + Copy>(
    op: Op,
    initial_value: Op::Carry,
    ways: &[How],
    input: impl Fn(How, &[bool]) -> Vec<Op::Input>,
    prepare: impl Fn(Emulator) -> Emulator,
) where
    Op::Output: std::fmt::Debug,
{
    for (how, program) in &compiled(ways.iter().map(|how| (how, program(op, *how, initial_value)))) {
        let tile = program.plan.tile as usize;
        for length in [1, tile + 1, 3 * tile - 2] {
            let begins: Vec<_> =
                (0..length as u64).map(|i| how.head_source.is_some() && mixed(i).is_multiple_of(9)).collect();
            let program = match how.head_source {
                Some(head_source) => program.with_heads(Heads::new(head_source, &begins)),
                None => program.clone(),
            };
            let needs_all = how.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
            let emulator = Emulator::new(mixed(length as u64)).resident_blocks(if needs_all { usize::MAX } else { 3 });
            let result = program.verify_at_offset(&prepare(emulator), &input(**how, &begins), (3, 1));
            result.unwrap_or_else(|error| panic!("{length} elements: {error}\n{}", program.plan));
        }
    }
}

#[test]
fn appended_inputs_match_the_reference() {
    let ways = [plain(1), segmented(0)].concat();
    climb(Appending, INITIAL_VALUE, &ways, |_, begins| inputs(begins.len()), |emulator| emulator);
}

#[test]
fn appended_states_match_the_reference() {
    let ways: Vec<How> = [plain(0), segmented(2)].concat().into_iter().step_by(2).collect();
    climb(Composing, INITIAL_VALUE, &ways, |_, begins| mappings(begins.len()), |emulator| emulator);
}

/// Random stepped operators, one of each shape; `soak` draws more.
#[test]
fn random_stepped_operators_match_the_reference() {
    for seed in one_in(4, [1, 2, 3, 5]) {
        drawn::play(seed).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn stepped_operators_that_emit_match_the_reference() {
    let ways = [plain(0), segmented(1)].concat();
    climb(Coder, 99, &ways, |_, begins| inputs(begins.len()), |emulator| emulator);
}

#[test]
fn stepped_operators_that_advance_match_the_reference() {
    let ways: Vec<How> = [plain(3), segmented(0)].concat().into_iter().step_by(2).collect();
    climb(Advancer, 99, &ways, |_, begins| inputs(begins.len()), |emulator| emulator);
}

/// Of an operator without `project`, whose text has none either.
#[test]
fn emitters_match_the_reference() {
    let mut ways = [plain(1), segmented(2)].concat();
    ways.retain(|how| how.way.0 == ScanKind::Inclusive);
    climb(Emitter, 99, &ways, |_, begins| inputs(begins.len()), |emulator| emulator);
}

#[test]
fn stepped_operators_over_combined_states_match_the_reference() {
    let ways = [plain(3), segmented(2)].concat();
    climb(Mapped, 99, &ways, |_, begins| mappings(begins.len()), |emulator| emulator);
}

/// The numbers begin at 1 with each segment, or go on to the first element: an initial value has read the one before.
fn numbers(how: How, begins: &[bool]) -> Vec<u16> {
    let first = |index: usize| index == 0 || begins[index];
    let count = |index: usize| (0..=index).rev().take_while(|&at| at == index || !first(at + 1)).count() as u16;
    let mut numbers: Vec<u16> = (0..begins.len()).map(count).collect();
    if how.reversed {
        let last = |index: usize| index + 1 == begins.len() || begins[index + 1];
        for index in (0..begins.len()).rev() {
            numbers[index] = if last(index) { 1 } else { numbers[index + 1] + 1 };
        }
    }
    numbers
}

#[test]
fn stepped_operators_step_through_their_segment_in_order() {
    let ways = [plain(2), segmented(3)].concat();
    climb(Reader, Page { first: 0, end: 1 }, &ways, numbers, |emulator| emulator.check(adjacent));
}

#[test]
fn runs_folded_from_their_ends_match_the_reference() {
    let ways = [plain(0), segmented(1)].concat();
    climb(ReaderFromEnd, Page { first: 0, end: 1 }, &ways, numbers, |emulator| emulator.check(adjacent));
}

/// The numbers are such that a reader which reads all of them in order is never broken.
#[test]
fn the_input_of_readers_is_in_order() {
    let begins: Vec<_> = (0..50).map(|i| mixed(i).is_multiple_of(9)).collect();
    for how in segmented(0).into_iter().take(6) {
        let forwards = numbers(How { reversed: false, ..how }, &begins);
        assert_eq!(forwards[0], 1);
        assert!((1..50).all(|i| forwards[i] == if begins[i] { 1 } else { forwards[i - 1] + 1 }));
    }
}

/// What a stepped operator is applied to while runs are scanned is counted nowhere: its steps are none.
#[test]
fn applications_are_those_of_the_formulas() {
    for how in plain(0) {
        let in_registers = how.strategy.block.in_registers || how.strategy.carry == Carry::LookAhead;
        // What stands by depends on what is late.
        if !in_registers || matches!(how.strategy.carry, Carry::LookBack | Carry::LookAtAll) {
            continue;
        }
        let program = Program::of(Coder, &ScanSpec::exclusive(), Some(99), &shape(how.strategy)).unwrap();
        let length = 3 * program.plan.tile as usize - 2;
        let emulated = program.verify(&Emulator::new(7), &inputs(length)).unwrap();
        let cost = program.plan.cost(length as u64).unwrap();
        let (found, expected) = (emulated.counters.applications(), cost.applications());
        assert!((expected.min..=expected.max).contains(&found), "{found}, where {expected:?}: {}", program.plan);
    }
}

/// In blocks of several warps, over several levels.
#[test]
fn reductions_match_the_reference() {
    let mut limits = DeviceLimits::BASELINE;
    limits.threads_per_block = 64;
    for reduction in [Reduction::Divergent, Reduction::Contiguous, Reduction::Coarsened] {
        for initial_value in [None, Some(99)] {
            let program = ReductionProgram::new(Coder, reduction, initial_value, &limits).unwrap();
            for length in [1, 65, 40_000] {
                let result = program.verify(&Emulator::new(length as u64), &inputs(length), length % 4);
                result.unwrap_or_else(|error| panic!("{length} elements: {error}\n{}", program.plan));
            }
        }
    }
}

fn along_an_axis<Op: ScanOp<Input = Narrow> + Copy>(op: Op, initial_value: Op::Carry, ways: &[(ScanKind, bool)])
where
    Op::Output: std::fmt::Debug,
{
    for (index, &(kind, with_initial_value)) in ways.iter().enumerate() {
        let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        let spec = if index % 2 == 1 { spec.reverse() } else { spec };
        let overrides = Overrides::default().threads(64).run(3);
        let initial_value = with_initial_value.then_some(initial_value);
        let program = ColumnsProgram::new(op, &spec, initial_value, &overrides, |plan| plan.shaped(2, 8)).unwrap();
        for (shape, axis) in [(vec![200, 5], 0), (vec![2, 13, 6], 1)] {
            let axis = Axis::of(&shape, axis).unwrap();
            let result = program.verify(&Emulator::new(index as u64), &axis, &inputs(axis.len()), (1, 0));
            result.unwrap_or_else(|error| panic!("{axis:?}: {error}\n{}", program.plan));
        }
    }
}

#[test]
fn stepped_operators_along_an_axis_match_the_reference() {
    along_an_axis(Coder, 99, &WAYS);
    along_an_axis(Appending, INITIAL_VALUE, &WAYS);
    along_an_axis(Emitter, 99, &[(ScanKind::Inclusive, false), (ScanKind::Inclusive, true)]);
}

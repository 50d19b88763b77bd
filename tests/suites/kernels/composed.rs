//! Operators made of operators, by the strategies in turn: each part of a state is that of its own operator.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use std::fmt::Debug;

use scan_codegen::{Arrays, OutputsOf, Overrides, ScanSpec, Segments};
use scan_runtime::{BlockScan, Carry, Network, ScanKind, ScanOp, Strategy, TileNumbers, ops};
use scan_tests::{
    composed::{composed, flagged, keyed},
    emulated::{Emulator, Module, Program},
    items::{Leading, stamp},
    lifting::{INITIAL_VALUE, Lifting, Narrow, inputs},
    operators::mixed,
    reference::WAYS,
    segments::Heads,
    stepped::{Appending, Coder, Page, ReaderFromEnd, numbers},
    strategies,
};

use super::compiled;

/// By the strategies that have this turn, in every way that the operator supports. If `by_field`, each field of the
/// output is in an array of its own.
fn by_strategies<Op>(
    op: &Op,
    initial_value: Op::Carry,
    inputs: impl Fn(usize) -> Vec<Op::Input>,
    turn: usize,
    by_field: bool,
) where
    Op: ScanOp<Output: Debug> + Clone,
{
    let program = |(index, (_, strategy)): (usize, (usize, Strategy))| {
        let (kind, with_initial_value) = WAYS[index % 4];
        let kind = if op.outputs_of() == OutputsOf::Prefixes { kind } else { ScanKind::Inclusive };
        let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        let spec = if index % 3 == 0 { spec.reverse() } else { spec };
        let mut overrides = Overrides::default().strategy(strategy).threads(32);
        overrides.run = (strategy.carry == Carry::LookAhead).then_some(4);
        let spec = if by_field { spec.with_arrays(Arrays::One, Arrays::PerField) } else { spec };
        let initial_value = with_initial_value.then_some(initial_value);
        Program::of(op.clone(), &spec.with_total(), initial_value, &overrides).unwrap()
    };
    let has_identity = op.identity().is_some();
    let supported =
        |(_, strategy): &(usize, Strategy)| has_identity || !matches!(strategy.block.network, Network::Blelloch { .. });
    let programs: Vec<Program<Op>> = strategies::in_turn(turn).filter(supported).enumerate().map(program).collect();
    for program in &compiled(programs) {
        let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
        let emulator = Emulator::new(mixed(7)).resident_blocks(if needs_all { usize::MAX } else { 3 });
        for length in [1, 3 * program.plan.tile as usize - 2] {
            let result = match by_field {
                true => program.verify_columns(&emulator, &inputs(length), &[1, 2, 3]),
                false => program.verify(&emulator, &inputs(length)),
            };
            result.unwrap_or_else(|error| panic!("{length} elements: {error}\n{}", program.plan));
        }
    }
}

#[test]
fn operators_of_operators_match_the_reference() {
    let op = composed(1_021);
    let initial_value = op.lift(inputs(1)[0]);
    by_strategies(&op, initial_value, inputs, 0, false);
}

/// The exclusive result beside the inclusive one: of an operator that does not commute, of one that appends, of one with
/// parameters, and of a stepped operator that emits; in one array and in two.
#[test]
fn exclusive_and_inclusive_results_match_the_reference() {
    by_strategies(&ops::with_exclusive(ops::flip(Lifting)), INITIAL_VALUE, inputs, 0, true);
    by_strategies(&ops::with_exclusive(Appending), INITIAL_VALUE, inputs, 1, false);
    by_strategies(&ops::with_exclusive(Coder), 77, inputs, 2, true);
    let op = ops::with_exclusive(composed(1_021));
    let initial_value = op.lift(inputs(1)[0]);
    by_strategies(&op, initial_value, inputs, 3, false);
}

/// Over elements of which some are null: of the same operators.
#[test]
fn operators_over_nullable_elements_match_the_reference() {
    fn nullable<T: Copy>(inputs: impl Fn(usize) -> Vec<T>) -> impl Fn(usize) -> Vec<ops::Nullable<T>> {
        move |len| {
            let is_valid = |i: usize| !mixed(i as u64).is_multiple_of(if i < len / 2 { 61 } else { 2 });
            let each = inputs(len).into_iter().enumerate();
            each.map(|(i, value)| ops::Nullable { value, valid: is_valid(i) }).collect()
        }
    }
    let valid = |value| ops::Nullable { value, valid: true };
    by_strategies(&ops::skip_nulls(ops::flip(Lifting)), valid(INITIAL_VALUE), nullable(inputs), 0, true);
    by_strategies(&ops::propagate_nulls(ops::flip(Lifting)), valid(INITIAL_VALUE), nullable(inputs), 1, true);
    by_strategies(&ops::skip_nulls(Appending), valid(INITIAL_VALUE), nullable(inputs), 2, false);
    by_strategies(&ops::propagate_nulls(Appending), valid(INITIAL_VALUE), nullable(inputs), 3, false);
    let register = |value| ops::Nullable { value, valid: true };
    by_strategies(&ops::skip_nulls(Coder), register(77), nullable(inputs), 1, true);
    by_strategies(&ops::propagate_nulls(Coder), register(77), nullable(inputs), 2, true);
    let op = composed(1_021);
    let initial_value = ops::Nullable { value: op.lift(inputs(1)[0]), valid: true };
    by_strategies(&ops::skip_nulls(op.clone()), initial_value, nullable(inputs), 3, false);
    by_strategies(&ops::propagate_nulls(op), initial_value, nullable(inputs), 0, false);
    // Without an identity, by the networks that need none.
    let program = |(turn, (_, strategy)): (usize, (usize, Strategy))| {
        let mut overrides = Overrides::default().strategy(strategy).threads(32);
        overrides.run = (strategy.carry == Carry::LookAhead).then_some(4);
        let spec = if turn % 2 == 0 { ScanSpec::inclusive() } else { ScanSpec::inclusive().reverse() };
        Program::of(ops::skip_nulls(Leading), &spec, None, &overrides).ok()
    };
    let programs: Vec<Program<_>> = strategies::in_turn(0).enumerate().filter_map(program).collect();
    for program in &compiled(programs) {
        let length = 3 * program.plan.tile as usize - 2;
        let input: Vec<_> = (0..length as u64)
            .map(|i| ops::Nullable { value: stamp(i), valid: (40..60).contains(&i) || i % 100 == 99 })
            .collect();
        let result = program.verify(&Emulator::new(mixed(5)).resident_blocks(usize::MAX), &input);
        result.unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    }
}

/// Of an operator without an identity the initial value begins each segment, whatever the tile lies in.
#[test]
fn exclusive_and_inclusive_results_without_an_identity_match_the_reference() {
    let blocks = [BlockScan::of(Network::KoggeStone), BlockScan::coarsened(Network::WarpShuffle)];
    let in_memory = blocks.into_iter().flat_map(|block| strategies::CARRIES.map(|carry| Strategy { block, carry }));
    let spec = || ScanSpec::inclusive().with_total();
    let specs = [spec(), spec().reverse(), ScanSpec::inclusive().with_segments(Segments::HeadFlags)];
    let program = |(turn, strategy): (usize, Strategy)| {
        let mut overrides = Overrides::default().strategy(strategy).threads(32);
        overrides.run = (strategy.carry == Carry::LookAhead).then_some(4);
        let initial_value = Some(stamp(1_000_000));
        Program::of(ops::with_exclusive(Leading), &specs[turn % 3], initial_value, &overrides).unwrap()
    };
    let others = [strategies::IN_REGISTERS[4], strategies::LOOK_AHEAD];
    let programs: Vec<_> = (0..).zip(in_memory.chain(others)).map(program).collect();
    Module::compile(&programs.iter().map(|program| &program.source).collect::<Vec<_>>()).unwrap();
    for program in &programs {
        let length = 3 * program.plan.tile as usize - 2;
        let begins: Vec<_> = (0..length as u64).map(|i| mixed(i).is_multiple_of(37)).collect();
        let program = match program.plan.spec.segments {
            Segments::None => program.clone(),
            _ => program.with_heads(Heads::new(0, &begins)),
        };
        let input: Vec<_> = (0..length as u64).map(stamp).collect();
        let result = program.verify(&Emulator::new(mixed(5)).resident_blocks(usize::MAX), &input);
        result.unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    }
}

/// Where keys change the operator begins anew: one that does not commute, one that appends, one with parameters, and
/// stepped operators, also one that folds from the end of a part.
#[test]
fn scans_of_keys_and_values_match_the_reference() {
    let key = |key: u64| key as u16;
    let float = |key: u64| [0.0_f32, -0.0, f32::NAN][key as usize];
    let sums = |len: usize| keyed((0..len as u64).map(|i| mixed(i) as u32).collect(), float);
    let first = ops::KeyedCarry { begun: true, key: -0.0, value: 7 };
    by_strategies(&ops::by_key(ops::sum()), first, sums, 0, false);
    let first = ops::KeyedCarry { begun: true, key: 0, value: INITIAL_VALUE };
    by_strategies(&ops::by_key(ops::flip(Appending)), first, |len| keyed(inputs(len), key), 1, false);
    let first = ops::KeyedCarry { begun: true, key: 1, value: 77 };
    by_strategies(&ops::by_key(Coder), first, |len| keyed(inputs(len), key), 2, false);
    let read = ops::KeyedCarry { begun: true, key: 2, value: Page { first: 0, end: 1 } };
    by_strategies(&ops::by_key(ReaderFromEnd), read, |len| keyed(numbers(len), key), 5, false);
    by_strategies(&ops::by_key(ops::with_exclusive(Coder)), first, |len| keyed(inputs(len), key), 3, true);
    let value = composed(1_021).lift(inputs(1)[0]);
    let first = ops::KeyedCarry { begun: false, key: keyed(vec![()], key)[0].key, value };
    by_strategies(&ops::by_key(composed(1_021)), first, |len| keyed(inputs(len), key), 4, false);
}

/// At flags the operator begins anew: the same kinds of operators.
#[test]
fn scans_of_flags_and_values_match_the_reference() {
    by_strategies(&ops::by_flag(ops::flip(Appending)), INITIAL_VALUE, |len| flagged(inputs(len)), 5, false);
    by_strategies(&ops::by_flag(ReaderFromEnd), Page { first: 0, end: 1 }, |len| flagged(numbers(len)), 1, false);
    by_strategies(&ops::by_flag(ops::with_exclusive(Coder)), 77, |len| flagged(inputs(len)), 2, true);
    let initial_value = composed(1_021).lift(inputs(1)[0]);
    by_strategies(&ops::by_flag(composed(1_021)), initial_value, |len| flagged(inputs(len)), 0, false);
}

/// Recurrences and their gradients, of integers, which are exact.
#[test]
fn recurrences_and_gradients_match_the_reference() {
    let gated =
        |len| inputs(len).into_iter().map(|x| ops::Gated { a: u64::from(x.a) | 1, x: u64::from(x.b) }).collect();
    by_strategies(&ops::recurrence::<u64>(), 99, gated, 4, false);
    let adjoint = |x: Narrow| ops::Adjoint { a: u64::from(x.a) | 1, before: u64::from(x.b), gradient: u64::from(x.a) };
    let adjoints = |len| inputs(len).into_iter().map(adjoint).collect();
    by_strategies(&ops::recurrence::<u64>().gradient(), 99, adjoints, 3, true);
    let step = |x: Narrow| ops::SecondOrderStep { p: u32::from(x.a), q: u32::from(x.b), x: 3 };
    let steps = |len| inputs(len).into_iter().map(step).collect();
    by_strategies(&ops::second_order::<u32>(), [9, 1], steps, 2, false);
    let adjoint = |x: Narrow| {
        let (p, q) = (u32::from(x.a), u32::from(x.b));
        ops::SecondOrderAdjoint { p, q, before: q, earlier: p, gradient: 5 }
    };
    let adjoints = |len| inputs(len).into_iter().map(adjoint).collect();
    by_strategies(&ops::second_order::<u32>().gradient(), [9, 1], adjoints, 1, true);
    let matrix = |x: Narrow| [[u32::from(x.a), 1], [u32::from(x.b), u32::from(x.a) | 1]];
    let step = |x: Narrow| ops::MatrixStep { a: matrix(x), x: [3, u32::from(x.b)] };
    let steps = |len| inputs(len).into_iter().map(step).collect();
    by_strategies(&ops::matrix_recurrence::<u32, 2>(), [9, 1], steps, 0, false);
    let adjoint = |x: Narrow| ops::MatrixAdjoint { a: matrix(x), before: [1, 2], gradient: [u32::from(x.b), 5] };
    let adjoints = |len| inputs(len).into_iter().map(adjoint).collect();
    by_strategies(&ops::matrix_recurrence::<u32, 2>().gradient(), [9, 1], adjoints, 3, true);
}

/// Aggregates of a stepped operator, and of an operator that has two orders of operands in a reversed scan; and carries
/// that follow from them.
#[test]
fn aggregates_and_what_follows_from_them_match_the_reference() {
    let state = |x| Coder.lift(x);
    by_strategies(&ops::aggregate(Coder), state(inputs(1)[0]), inputs, 0, false);
    by_strategies(&ops::over_aggregates(Coder), 77, |len| inputs(len).into_iter().map(state).collect(), 1, false);
    let both = ops::pair(ops::flip(Lifting), Coder);
    let states = |len| inputs(len).into_iter().map(|x| both.lift(x)).collect();
    by_strategies(&ops::aggregate(both), both.lift(inputs(1)[0]), inputs, 2, false);
    by_strategies(&ops::over_aggregates(both), both.carry_of(both.lift(inputs(1)[0])), states, 3, false);
    let parameters = composed(1_021);
    by_strategies(&ops::aggregate(parameters.clone()), parameters.lift(inputs(1)[0]), inputs, 4, false);
}

/// An initial value without an element before it begins no key, even if its key is that of the first element.
#[test]
fn an_initial_value_that_has_not_begun_joins_no_key() {
    let op = ops::by_key(Lifting);
    let input = keyed(inputs(382), |key| key as u16);
    for (spec, edge) in [(ScanSpec::inclusive(), input[0]), (ScanSpec::inclusive().reverse(), input[381])] {
        for begun in [false, true] {
            let first = ops::KeyedCarry { begun, key: edge.key, value: INITIAL_VALUE };
            let program = Program::of(op, &spec, Some(first), &Overrides::default()).unwrap();
            Module::compile(&[&program.source]).unwrap();
            let result = program.verify(&Emulator::new(mixed(7)), &input);
            result.unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
        }
    }
}

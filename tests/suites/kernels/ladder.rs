//! Every strategy, executed in the emulator: the interval monoid by all of them, many other operators by some.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{DeviceLimits, PlanError};
use scan_runtime::{Carry, ScanKind, ScanSpec, ops};
use scan_tests::{
    climb::{FEW_THREADS, climb, in_turn, program},
    emulated::{Emulator, EmulatorError, Module, Program},
    extent::{compiled_of_the_ladder, one_in},
    operators::{
        AffineU32, Brackets, Bytes3Sum, Interval, MatrixProduct, MixedSum, Permute, PolynomialHash, TakeLeft,
        TakeRight, TestOperator, adjacent, compose, inputs,
    },
    reference::WAYS,
    strategies,
};

use super::compiled;

/// Runs all programs, and reports every one that fails.
fn climb_all<Op: TestOperator>(
    programs: &[Program<Op>],
    lengths: impl Fn(u64) -> Vec<u64>,
    prepare: impl Fn(Emulator) -> Emulator,
) {
    let mut failures = Vec::new();
    for program in programs {
        if let Err((length, error)) = climb(program, &lengths(u64::from(program.plan.tile)), &prepare) {
            failures.push(format!("{length} elements: {error}\n{}", program.plan));
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), programs.len(), failures.join("\n\n"));
}

/// Lengths at the edges of warps and tiles, and some far from them.
fn edges(tile: u64) -> Vec<u64> {
    vec![0, 1, 2, 3, 31, 32, 33, tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 1, 1_019, 4_101]
}

/// Strategies take the ways to scan in turn, and that leaves no code out: two adjacent lines of any strategy's text in
/// any way are in an executed text.
#[test]
fn strategies_in_turn_execute_every_pair_of_lines() {
    let all = || strategies::all().flat_map(|strategy| WAYS.map(|way| (strategy, way)));
    let text = |(strategy, way)| program::<Interval>(strategy, way, FEW_THREADS).unwrap().source.text;
    let executed: Vec<_> = (0..4).flat_map(in_turn).map(|program| program.source.text).collect();
    let left_out = strategies::never_executed(all().map(text), executed.iter().map(String::as_str));
    assert!(left_out.is_empty(), "{left_out:#?}");
    let in_one_way: Vec<_> = in_turn(0).into_iter().map(|program| program.source.text).collect();
    let left_out = strategies::never_executed(all().map(text), in_one_way.iter().map(String::as_str));
    assert!(!left_out.is_empty(), "lines that are never executed would not be noticed");
}

/// The kernels that the planner chooses for each range of lengths, at the ends of the range and below it, which they
/// support as well; with the total.
#[test]
fn planned_kernels_of_every_range_of_lengths_match_the_reference() {
    let mut programs = Vec::new();
    // At the end of a range every multiprocessor has a block, and each of its threads a stack, so only one way has a
    // large device. 40 blocks, too, have more statuses than the warp that reads them has lanes.
    for ((kind, with_initial_value), multiprocessors) in one_in(3, WAYS.into_iter().zip([40, 132, 40, 40])) {
        let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        let initial_value = with_initial_value.then(Interval::initial_value);
        let spec = spec.with_total();
        let mut limits = DeviceLimits::BASELINE;
        limits.multiprocessors = multiprocessors;
        programs.extend(Program::ranges(&Interval::new(), &spec, initial_value, &limits).unwrap());
    }
    let lengths = |programs: &[Program<Interval>], index: usize| {
        let (plan, next) = (&programs[index].plan, programs.get(index + 1).map_or(0, |next| next.plan.from));
        let end = next.saturating_sub(1).max(plan.from);
        let tile = u64::from(plan.tile);
        let mut lengths = vec![1, tile, tile + 1, plan.from.max(1), plan.from + 1, 2 * tile + 33, end];
        lengths.retain(|&length| length <= plan.max_len.min(40_000));
        lengths
    };
    let sources: Vec<_> = programs.iter().map(|program| &program.source).collect();
    Module::compile(&sources).unwrap();
    for (index, program) in programs.iter().enumerate() {
        climb(program, &lengths(&programs, index), |emulator| emulator.check(adjacent))
            .unwrap_or_else(|(length, error)| panic!("{length} elements: {error}\n{}", program.plan));
    }
}

#[test]
fn intervals_by_every_strategy_match_the_reference() {
    let programs = compiled_of_the_ladder((0..WAYS.len()).flat_map(in_turn));
    climb_all(&programs, edges, |emulator| emulator.check(adjacent));
}

/// Wider blocks, in which warps must wait for each other, and more elements.
#[test]
fn intervals_in_blocks_of_several_warps_match_the_reference() {
    let programs: Vec<_> = strategies::all()
        .enumerate()
        .map(|(index, strategy)| {
            program::<Interval>(strategy, WAYS[(index + 2) % 4], [64, 128, 256][index % 3]).unwrap()
        })
        .collect();
    climb_all(&compiled(programs), |tile| vec![65, tile - 1, tile + 1, 4_101], |emulator| emulator.check(adjacent));
}

/// Every strategy for which the index is a multiple of `step`, each in one of the four ways.
fn other<Op: TestOperator>(first: usize, step: usize) {
    let programs: Vec<_> = strategies::all()
        .enumerate()
        .skip(first % step)
        .step_by(step)
        .filter_map(|(index, strategy)| {
            match program::<Op>(strategy, WAYS[(index / step + first) % 4], FEW_THREADS) {
                Ok(program) => Some(program),
                // The largest elements leave no shared memory for runs.
                Err(EmulatorError::Plan(PlanError::Run { .. })) if size_of::<Op::Item>() == 256 => None,
                Err(EmulatorError::Plan(PlanError::Strategy { .. }))
                    if size_of::<Op::Item>() == 256 && strategies::takes_small_elements_only(strategy) =>
                {
                    None
                }
                Err(other) => panic!("{strategy}: {other}"),
            }
        })
        .collect();
    climb_all(&compiled(programs), |tile| vec![1, 33, tile + 1, 1_019], |emulator| emulator);
}

// Every strategy with two of the first twelve, every thirteenth with each of the others; `soak` draws more.
#[test]
fn other_operators_match_the_reference() {
    other::<ops::Sum<i32>>(0, 6);
    other::<ops::Sum<f32>>(1, 6);
    other::<ops::Sum<u8>>(2, 6);
    other::<ops::Max<f32>>(3, 6);
    other::<TakeLeft>(4, 6);
    other::<TakeRight>(5, 6);
    other::<AffineU32>(6, 6);
    other::<Brackets>(7, 6);
    other::<Permute>(8, 6);
    other::<PolynomialHash>(9, 6);
    other::<MixedSum>(10, 6);
    other::<ops::Sum<i128>>(11, 6);
    other::<ops::Sum<i16>>(0, 13);
    other::<ops::Sum<u64>>(1, 13);
    other::<ops::Sum<usize>>(2, 13);
    other::<ops::Sum<f64>>(3, 13);
    other::<ops::Product<u32>>(4, 13);
    other::<ops::Min<i64>>(5, 13);
    other::<ops::BitXor<u16>>(6, 13);
    other::<ops::BitAnd<u32>>(7, 13);
    other::<ops::BitOr<i8>>(8, 13);
    other::<ops::All>(9, 13);
    other::<ops::Any>(10, 13);
    other::<compose>(11, 13);
    other::<Bytes3Sum>(12, 13);
    other::<MatrixProduct<2>>(0, 13);
    other::<MatrixProduct<3>>(1, 13);
    other::<MatrixProduct<4>>(2, 13);
    other::<MatrixProduct<8>>(4, 13);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let strategy = strategies::all().find(|strategy| strategy.carry == Carry::LookBack).unwrap();
    let program = program::<Interval>(strategy, WAYS[0], FEW_THREADS).unwrap();
    let run = |seed| {
        let emulator = Emulator::new(seed).interrupt_once_in(4).trace();
        // In fresh memory: statuses have the number of the run in it.
        program.clone().run(&emulator, &inputs::<Interval>(500)).unwrap()
    };
    let (first, second, other) = (run(1), run(1), run(2));
    assert_eq!(first.trace, second.trace);
    assert_eq!(first.counters, second.counters);
    assert_ne!(first.trace, other.trace, "another seed gives another order of events");
    assert_eq!(first.output, other.output);
}

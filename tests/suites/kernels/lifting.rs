//! An operator that lifts and projects, by the strategies in turn and every tree: the elements, what is combined and
//! the outputs are of three sizes, so nothing can stand for anything else.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use scan_codegen::{DeviceLimits, Overrides, Reduction, ScanSpec, Segments};
use scan_runtime::{Carry, ScanKind, Strategy, TileNumbers};
use scan_tests::{
    emulated::{Emulator, Program, ReductionProgram},
    lifting::{INITIAL_VALUE, Lifting, inputs},
    operators::mixed,
    reference::WAYS,
    segments::{HEAD_SOURCES, Heads},
    strategies,
};

use super::compiled;

fn program(strategy: Strategy, way: (ScanKind, bool), segments: Segments) -> Program<Lifting> {
    let (kind, with_initial_value) = way;
    let mut overrides = Overrides::default();
    (overrides.strategy, overrides.threads) = (Some(strategy), Some(32));
    overrides.run = (strategy.carry == Carry::LookAhead).then_some(4);
    let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
    let spec = spec.with_total().with_segments(segments);
    Program::of(Lifting, &spec, with_initial_value.then_some(INITIAL_VALUE), &overrides).unwrap()
}

fn emulator(seed: u64, strategy: Strategy) -> Emulator {
    let needs_all = strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
    Emulator::new(mixed(seed)).resident_blocks(if needs_all { usize::MAX } else { 3 })
}

/// By the strategies in turn: of their texts, as many lines are executed as by all of them.
#[test]
fn scans_of_lifting_operators_match_the_reference() {
    let programs: Vec<_> = strategies::in_turn(3)
        .map(|(index, strategy)| program(strategy, WAYS[index / 4 % 4], Segments::None))
        .collect();
    for program in &compiled(programs) {
        let tile = program.plan.tile as usize;
        for length in [1, tile + 1, 3 * tile - 2] {
            let emulator = emulator(length as u64, program.plan.strategy);
            let result = program.verify_at_offset(&emulator, &inputs(length), (3, 1));
            result.unwrap_or_else(|error| panic!("{length} elements: {error}\n{}", program.plan));
        }
    }
}

#[test]
fn scans_by_segments_match_the_reference() {
    let programs: Vec<_> = strategies::in_turn(1)
        .enumerate()
        .map(|(index, (_, strategy))| {
            program(strategy, WAYS[index / 2 % 4], Heads::new(index % HEAD_SOURCES, &[]).segments())
        })
        .collect();
    for (index, program) in &compiled(programs.into_iter().enumerate()) {
        for length in [1, 3 * program.plan.tile as usize - 2] {
            let begins: Vec<_> = (0..length as u64).map(|i| mixed(i).is_multiple_of(9)).collect();
            let program = program.with_heads(Heads::new(index % HEAD_SOURCES, &begins));
            let result = program.verify(&emulator(length as u64, program.plan.strategy), &inputs(length));
            result.unwrap_or_else(|error| panic!("{length} elements: {error}\n{}", program.plan));
        }
    }
}

/// In blocks of several warps, over several levels.
#[test]
fn reductions_match_the_reference() {
    let mut limits = DeviceLimits::BASELINE;
    limits.threads_per_block = 64;
    for reduction in [Reduction::Divergent, Reduction::Contiguous, Reduction::Coarsened] {
        for initial_value in [None, Some(INITIAL_VALUE)] {
            let program = ReductionProgram::new(Lifting, reduction, initial_value, &limits).unwrap();
            for length in [1, 2, 65, 129, 1_019, 40_000] {
                let result = program.verify(&Emulator::new(length as u64), &inputs(length), length % 4);
                result.unwrap_or_else(|error| panic!("{length} elements: {error}\n{}", program.plan));
            }
        }
    }
}

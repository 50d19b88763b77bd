//! The shared memory that kernels declare is what their plan tells: with less, a device would refuse them; with much more, blocks
//! would lie idle.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use scan_codegen::ScanSpec;
use scan_runtime::Carry;
use scan_tests::{
    climb::{FEW_THREADS, program},
    emulated::{Emulator, Program},
    operators::{Interval, MatrixProduct, MixedSum, TestOperator, inputs},
    reference::WAYS,
    segments::{HEAD_SOURCES, Heads, Restart, places},
    strategies,
};

use super::{
    compiled,
    look_ahead::{Shape, limits, overrides_of},
};

/// What a plan may have for alignment, and for what only some kernels of a strategy declare.
const SLACK: u64 = 256;

/// What is wrong with the shared memory of a program, of which this has been counted.
fn difference<Op: TestOperator>(program: &Program<Op>, input: &[Op::Item]) -> Option<String> {
    let emulator = Emulator::new(3).resident_blocks(usize::MAX);
    let run = program.verify(&emulator, input).unwrap();
    let declared = run.counters.launches.iter().map(|launch| launch.shared_bytes).max()?;
    let dynamic = program.plan.pipeline.map_or(0, |pipeline| pipeline.dynamic_shared_bytes);
    let planned = u64::from(program.plan.shared_bytes + dynamic);
    let fits = declared <= planned && planned <= declared + SLACK;
    (!fits).then(|| format!("{declared} bytes, {planned} in the plan:\n{}", program.plan))
}

fn assert_same(differences: impl Iterator<Item = Option<String>>) {
    let differences: Vec<_> = differences.flatten().collect();
    assert!(differences.is_empty(), "{}:\n{}", differences.len(), differences.join("\n\n"));
}

#[test]
fn every_strategy_declares_the_shared_memory_of_its_plan() {
    let programs: Vec<_> =
        strategies::all().map(|strategy| program::<Interval>(strategy, WAYS[0], FEW_THREADS).unwrap()).collect();
    assert_same(compiled(programs).iter().map(|program| {
        let tile = program.plan.tile as usize;
        let length = if program.plan.strategy.carry == Carry::OneBlock { tile } else { 2 * tile + 1 };
        difference(program, &inputs::<Interval>(length))
    }));
}

/// Teams of one warp and of several, groups, sums that are exchanged as packets and as whole statuses.
const SHAPES: [Shape; 3] = [(32, 2, 5, 4, 3), (96, 2, 5, 4, 7), (64, 2, 6, 4, 4)];

#[test]
fn look_ahead_declares_the_shared_memory_of_its_plan() {
    fn of<Op: TestOperator>() {
        let programs = SHAPES.map(|shape| {
            let (kind, initial) = WAYS[shape.0 as usize / 32 % 4];
            Program::planned(Op::new(), kind, initial.then(Op::initial_value), &limits(), &overrides_of(shape)).unwrap()
        });
        let programs = compiled(programs);
        let inputs = |program: &Program<Op>| inputs::<Op>(9 * program.plan.tile as usize + 1);
        assert_same(programs.iter().map(|program| difference(program, &inputs(program))));
    }
    of::<Interval>();
    of::<MixedSum>();
    of::<MatrixProduct<3>>();
}

#[test]
fn segmented_look_ahead_declares_the_shared_memory_of_its_plan() {
    let programs: Vec<_> = (0..HEAD_SOURCES)
        .map(|head_source| {
            let begins = vec![false; 1];
            let spec = ScanSpec::exclusive().with_segments(Heads::new(head_source, &begins).segments());
            let overrides = overrides_of(SHAPES[head_source % SHAPES.len()]);
            Program::with_limits(Restart, &spec, Some(Restart::initial_value()), &limits(), &overrides).unwrap()
        })
        .collect();
    assert_same(compiled((0..).zip(programs)).iter().map(|(head_source, program)| {
        let begins: Vec<_> = (0..9 * program.plan.tile).map(|i| i % 40 == 0).collect();
        difference(&program.with_heads(Heads::new(*head_source, &begins)), &places(&begins))
    }));
}

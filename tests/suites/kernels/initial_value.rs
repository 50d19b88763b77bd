//! Scans whose initial value is in device memory, by the strategies in turn, restarting or not.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use scan_codegen::{DeviceLimits, Overrides, ScanSpec, Segments, plan, plan_columns};
use scan_runtime::{Carry, ScanKind, ScanOp, Strategy, TileNumbers};
use scan_tests::{
    checked::{render, render_columns},
    emulated::{Emulator, EmulatorError, Program},
    extent::compiled,
    lifting::{INITIAL_VALUE, Lifting, inputs},
    operators::mixed,
    segments::{HEAD_SOURCES, Heads},
    strategies,
};

fn program(index: usize, strategy: Strategy, segments: Segments) -> Program<Lifting> {
    let mut overrides = Overrides::default().strategy(strategy).threads(32);
    overrides.run = (strategy.carry == Carry::LookAhead).then_some(4);
    let spec = match [ScanKind::Inclusive, ScanKind::Exclusive][index % 2] {
        ScanKind::Inclusive => ScanSpec::inclusive(),
        ScanKind::Exclusive => ScanSpec::exclusive(),
    };
    let spec = if index.is_multiple_of(3) { spec.reverse() } else { spec };
    let spec = spec.with_total().with_segments(segments);
    Program::of(Lifting, &spec.with_initial_value_on_device(), Some(INITIAL_VALUE), &overrides).unwrap()
}

fn verify(program: &Program<Lifting>, length: usize) -> Result<(), EmulatorError> {
    let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
    let emulator = Emulator::new(mixed(length as u64)).resident_blocks(if needs_all { usize::MAX } else { 3 });
    program.verify_at_offset(&emulator, &inputs(length), (3, 1)).map(drop)
}

#[test]
fn scans_with_initial_value_on_device_match_the_reference() {
    let programs: Vec<_> = (0..)
        .zip(strategies::in_turn(0))
        .map(|(index, (_, strategy))| program(index, strategy, Segments::None))
        .collect();
    for program in &compiled(programs) {
        for length in [1, 3 * program.plan.tile as usize - 2] {
            verify(program, length).unwrap_or_else(|error| panic!("{length} elements: {error}\n{}", program.plan));
        }
    }
}

#[test]
fn segments_with_initial_value_on_device_match_the_reference() {
    let of_kind = |(index, (_, strategy)): (usize, (usize, Strategy))| {
        program(index, strategy, Heads::new(index % HEAD_SOURCES, &[]).segments())
    };
    let programs: Vec<_> = strategies::in_turn(2).enumerate().map(of_kind).collect();
    for (index, program) in &compiled(programs.into_iter().enumerate()) {
        for length in [1, 3 * program.plan.tile as usize - 2] {
            let begins: Vec<_> = (0..length as u64).map(|i| mixed(i).is_multiple_of(9)).collect();
            let program = program.with_heads(Heads::new(index % HEAD_SOURCES, &begins));
            verify(&program, length).unwrap_or_else(|error| panic!("{length} elements: {error}\n{}", program.plan));
        }
    }
}

/// A launch may begin before the one before it has ended, which may be what writes the value.
#[test]
fn initial_value_on_device_is_read_after_waiting_for_the_previous_launch() {
    let (operator, spec) = (Lifting.source(), ScanSpec::inclusive().with_initial_value_on_device());
    let plans = plan(&operator, &spec, &DeviceLimits::H200, &Overrides::default()).unwrap();
    let of_lengths = [100, 10_000, 1_000_000, 1_000_000_000]
        .map(|len| render(&operator, plans.for_len(len), plans.device()).unwrap());
    let columns = plan_columns(&operator, &spec, &DeviceLimits::H200, &Overrides::default()).unwrap();
    for source in of_lengths.into_iter().chain([render_columns(&operator, &columns).unwrap()]) {
        let text = source.text;
        let (wait, read) = (text.find("  wait_for_previous_launch();"), text.find("initial_pointer[0]"));
        assert!(wait.is_some() && wait < read, "{text}");
    }
}

//! Scans whose initial value is in device memory, by the strategies in turn, restarting or not.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use scan_codegen::{BlockScan, DeviceLimits, Overrides, PlanError, ScanSpec, Segments, plan, plan_columns};
use scan_runtime::{Carry, ScanKind, ScanOp, Strategy, TileNumbers};
use scan_tests::{
    checked::{render, render_columns},
    emulated::{Arrival, Counters, Emulator, EmulatorError, FaultKind, Program},
    lifting::{INITIAL_VALUE, Lifting, inputs},
    operators::mixed,
    segments::{HEAD_SOURCES, Heads},
    strategies,
};

use super::compiled;

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

/// A scan whose initial value another stream writes while it runs.
fn late(index: usize, strategy: Strategy) -> Program<Lifting> {
    let mut overrides = Overrides::default().strategy(strategy).threads(32);
    overrides.run = (strategy.carry == Carry::LookAhead).then_some(4);
    let spec = [ScanSpec::inclusive(), ScanSpec::exclusive()][index % 2].clone();
    let spec = if index.is_multiple_of(3) { spec.reverse() } else { spec };
    Program::of(Lifting, &spec.with_total().with_late_initial_value(), Some(INITIAL_VALUE), &overrides).unwrap()
}

fn all_late() -> Vec<Program<Lifting>> {
    compiled(strategies::in_turn(1).enumerate().map(|(index, (_, strategy))| late(index, strategy)))
}

fn verify_late(program: &Program<Lifting>, length: usize, arrival: Arrival) -> Result<Counters, EmulatorError> {
    let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
    let emulator = Emulator::new(mixed(length as u64)).resident_blocks(if needs_all { usize::MAX } else { 3 });
    program.verify_late(&emulator, &inputs(length), (3, 1), arrival).map(|run| run.counters)
}

#[test]
fn scans_wait_for_an_initial_value_that_arrives_late() {
    for program in &all_late() {
        let tile = program.plan.tile as usize;
        for (length, arrival) in [
            (1, Arrival::Before),
            (tile, Arrival::Last),
            (3 * tile - 2, Arrival::Before),
            (3 * tile - 2, Arrival::Meanwhile),
            (8 * tile - 2, Arrival::Meanwhile),
        ] {
            let found = verify_late(program, length, arrival);
            found.unwrap_or_else(|error| panic!("{length} elements, {arrival:?}: {error}\n{}", program.plan));
        }
    }
}

/// All that needs no prefix is done before the value arrives: the tiles are folded.
#[test]
fn tiles_are_folded_before_an_initial_value_arrives() {
    for program in &all_late() {
        let tile = program.plan.tile as usize;
        let length = 3 * tile - 2;
        let counters = verify_late(program, length, Arrival::Last).unwrap();
        let awaits = counters.launches.iter().position(|launch| launch.applications_before_late.is_some()).unwrap();
        let (before, rest) = counters.launches.split_at(awaits);
        let before: u64 = before.iter().map(|launch| launch.applications).sum();
        let folded = before + rest[0].applications_before_late.unwrap();
        // One block folds the second tile when it has scanned the first.
        let (elements, tiles) = if program.plan.strategy.carry == Carry::OneBlock { (tile, 1) } else { (length, 3) };
        assert!(folded >= (elements - tiles) as u64, "{folded} of {elements}\n{}", program.plan);
    }
}

#[test]
fn a_kernel_that_does_not_wait_for_a_late_initial_value_is_found() {
    let wait = "  while (load_acquire(&late->handed_over) == taken) {\n  }\n";
    let planted = [
        (wait.to_owned(), String::new()),
        ("== taken)".to_owned(), "== 0)".to_owned()),
        ("load_acquire(&late".to_owned(), "load_tickets(&late".to_owned()),
    ];
    for (index, (from, to)) in planted.iter().enumerate() {
        let mut program = late(0, Strategy { block: BlockScan::in_registers(), carry: Carry::LookBack });
        assert_eq!(program.source.text.matches(from).count(), 1, "{}", program.source.text);
        program.source.text = program.source.text.replace(from, to);
        let error = verify_late(&program, 100, Arrival::Last).map(drop);
        let Err(EmulatorError::Fault(fault)) = error else { panic!("{from}: {error:?}") };
        let is_found = match index {
            2 => matches!(fault.kind, FaultKind::Race { .. }),
            _ => matches!(fault.kind, FaultKind::Uninitialised { .. }),
        };
        assert!(is_found, "{from}: {fault}");
    }
}

#[test]
fn scans_that_cannot_wait_for_an_initial_value_are_refused() {
    let late = ScanSpec::inclusive().with_late_initial_value();
    let lifting = Lifting.source();
    let lexer = scan_runtime::gallery::brackets::Depth.source();
    let refused = [
        (&lifting, late.clone().with_segments(Segments::Rows), "the scan restarts"),
        (&lifting, late.clone().with_length_on_device(), "only the device knows the length"),
        (&lexer, late.clone(), "goes from carry to carry"),
    ];
    for (operator, spec, why) in refused {
        let error = plan(operator, &spec, &DeviceLimits::H200, &Overrides::default()).map(drop).unwrap_err();
        assert!(matches!(&error, PlanError::LateValue { scan, .. } if scan.contains(why)), "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
    let error = plan_columns(&lifting, &late, &DeviceLimits::H200, &Overrides::default()).map(drop).unwrap_err();
    assert!(matches!(error, PlanError::Columns { why } if why.contains("init_from")), "{error}");
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

//! The run in which the input ends, of operators whose runs are heavy: reduced to its first element, its results stored one by
//! one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::fmt::Debug;

use scan_codegen::{Overrides, ScanSpec};
use scan_runtime::{Carry, ScanOp, Strategy, TileNumbers, gallery::saturating_counter::BranchPredictor};
use scan_tests::{
    emulated::{Emulator, Program},
    lifting::{INITIAL_VALUE, inputs},
    operators::{BitProduct, Interval, Span, TestOperator, adjacent},
    planted::each_is_found,
    stepped::Appending,
    strategies::IN_REGISTERS,
};

use super::compiled;

/// What a heavy run's text says of the last one.
const APART: &str = "PartResults part_results_of(";

/// With runs of so many elements, where nothing is asked of the last one.
fn program<Op: ScanOp>(op: Op, strategy: Strategy, run: u32, spec: &ScanSpec, initial: Op::Carry) -> Program<Op> {
    let overrides = Overrides::default().strategy(strategy).threads(32).run(run);
    Program::of(op, spec, spec.initial_value.then_some(initial), &overrides).unwrap()
}

/// Each strategy of several blocks, in ways of its own.
fn programs<Op: ScanOp + Copy>(op: Op, run: u32, initial: Op::Carry) -> Vec<Program<Op>> {
    let ways = [
        ScanSpec::inclusive(),
        ScanSpec::exclusive().reverse(),
        ScanSpec::exclusive().with_initial_value(),
        ScanSpec::inclusive().with_initial_value(),
        ScanSpec::inclusive().reverse(),
    ];
    let several = IN_REGISTERS.into_iter().filter(|strategy| strategy.carry != Carry::OneBlock);
    let programs: Vec<_> =
        several.zip(ways.iter().cycle()).map(|(how, way)| program(op, how, run, way, initial)).collect();
    assert!(programs.iter().all(|program| program.source.text.contains(APART)));
    programs
}

/// Runs them over inputs that end in the first run, within a later one, and between two.
fn verify<Op: ScanOp>(
    programs: Vec<Program<Op>>,
    input: impl Fn(usize) -> Vec<Op::Input>,
    prepare: impl Fn(Emulator) -> Emulator,
) -> Result<(), String>
where
    Op::Output: Debug,
{
    for program in &compiled(programs) {
        let (tile, run) = (program.plan.tile as usize, program.plan.run as usize);
        for (seed, length) in (1..).zip([1, run - 1, tile + 1, tile + 3 * run, 2 * tile - 2, 3 * tile - run - 3]) {
            let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
            let emulator = Emulator::new(seed).resident_blocks(if needs_all { usize::MAX } else { 2 });
            let offsets = [(0, 0), (3, 1)][seed as usize % 2];
            let result = program.verify_at_offset(&prepare(emulator), &input(length), offsets);
            result.map_err(|error| format!("{length} elements: {error}\n{}", program.plan))?;
        }
    }
    Ok(())
}

fn spans(length: usize) -> Vec<Span> {
    (0..length as u64).map(Interval::input).collect()
}

#[test]
fn intervals_match_the_reference() {
    let after = |a: &Span, b: &Span| adjacent(b, a);
    let programs = programs(Interval, 48, Interval::initial_value());
    let (reversed, forward): (Vec<_>, Vec<_>) = programs.into_iter().partition(|program| program.plan.spec.reversed);
    verify(forward, spans, |emulator| emulator.check(adjacent)).unwrap();
    verify(reversed, spans, |emulator| emulator.check(after)).unwrap();
}

#[test]
fn appending_operators_and_stepped_operators_match_the_reference() {
    verify(programs(Appending, 80, INITIAL_VALUE), inputs, |emulator| emulator).unwrap();
    let taken = |length| (0..length).map(|i| i % 3 > 0 || i % 7 == 2).collect();
    verify(programs(BranchPredictor, 96, 1), taken, |emulator| emulator).unwrap();
}

#[test]
fn applications_are_within_the_planned_cost() {
    for program in programs(Interval, 48, Interval::initial_value()) {
        // What stands by depends on what is late.
        if matches!(program.plan.strategy.carry, Carry::LookBack | Carry::LookAtAll) {
            continue;
        }
        let length = 3 * program.plan.tile as usize - 2;
        let emulated = program.verify(&Emulator::new(7), &spans(length)).unwrap();
        let (found, expected) =
            (emulated.counters.applications(), program.plan.cost(length as u64).unwrap().applications());
        assert!((expected.min..=expected.max).contains(&found), "{found}, where {expected:?}: {}", program.plan);
    }
}

/// With a total, or with a light operator, all of the last run is reduced.
#[test]
fn totals_and_light_operators_reduce_the_last_run() {
    let text =
        |spec: ScanSpec, run| program(Interval, IN_REGISTERS[4], run, &spec, Interval::initial_value()).source.text;
    assert!(text(ScanSpec::inclusive(), 48).contains(APART));
    assert!(!text(ScanSpec::inclusive().with_total(), 48).contains(APART));
    assert!(!text(ScanSpec::inclusive(), 2).contains(APART));
}

#[test]
fn planted_faults_are_found() {
    let spec = ScanSpec::inclusive().reverse();
    let program = program(Interval, IN_REGISTERS[4], 48, &spec, Interval::initial_value());
    let changes = [
        ("    aggregate = first_element.value;\n", ""),
        ("{ to[place_of(k, RUN)] = result; }", "{}"),
        ("{ to[place_of(k, RUN)] = result; }", "{ to[k] = result; }"),
        ("part_results_of(to, place), count);", "part_results_of(to, place), count - 1);"),
    ];
    let is_found = |program: &Program<Interval>| verify(vec![program.clone()], spans, |emulator| emulator).is_err();
    each_is_found(&program, &changes, is_found).unwrap();
}

/// Where a run is one unit, which a thread writes to its place in the output, threads behind the last run write none.
#[test]
fn threads_behind_the_last_run_write_no_unit() {
    let mut overrides = Overrides::default().strategy(IN_REGISTERS[4]).threads(32).run(16);
    overrides.inlined = Some(u32::MAX);
    let program = Program::of(BitProduct, &ScanSpec::inclusive(), None, &overrides).unwrap();
    assert!(program.source.text.contains(APART) && program.source.text.contains("in_units"));
    let verify = |program: &Program<BitProduct>| {
        let input = |length: usize| (0..length as u64).map(BitProduct::input).collect();
        verify(vec![program.clone()], input, |emulator| emulator)
    };
    verify(&program).unwrap();
    let change = ("elements % RUN == 0 && count > 0", "elements % RUN == 0");
    each_is_found(&program, &[change], |program: &Program<BitProduct>| verify(program).is_err()).unwrap();
}

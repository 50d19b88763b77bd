//! What the planner chooses for devices that are older than the tests' own, and smaller: look-back for long scans, no bulk copies, no
//! launches that begin early, less shared memory.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Architecture, DeviceLimits, ScanSpec};
use scan_runtime::{Carry, ScanKind, ops};
use scan_tests::{
    climb,
    emulated::{Emulator, Program},
    operators::{Interval, TestOperator, adjacent},
    reference::WAYS,
    segments::{HEAD_SOURCES, Heads, PATTERNS, Restart, begins, fit, places},
};

use super::compiled;

const ARCHITECTURES: [Architecture; 4] = [sm(7, 5), sm(8, 0), sm(8, 6), sm(8, 9)];

const fn sm(major: u32, minor: u32) -> Architecture {
    Architecture { major, minor }
}

/// The plans of an operator for all ranges of lengths, each of which is right for its device.
fn programs<Op: TestOperator>(architecture: Architecture, spec: ScanSpec, initial_value: bool) -> Vec<Program<Op>> {
    let limits = DeviceLimits::of(architecture);
    let initial_value = initial_value.then(Op::initial_value);
    let programs = Program::ranges(&Op::new(), &spec, initial_value, &limits).unwrap();
    for program in &programs {
        let (plan, text) = (&program.plan, &program.source.text);
        assert!(!matches!(plan.strategy.carry, Carry::LookAhead | Carry::Cluster), "{architecture}: {plan}");
        assert!(!plan.programmatic && plan.shared_bytes <= limits.shared_bytes_per_block, "{architecture}: {plan}");
        for newer in ["wait_for_previous_launch", "bulk_load", "init_barrier"] {
            assert!(!text.contains(newer), "{architecture}: {newer} in\n{text}");
        }
    }
    compiled(programs)
}

/// Several tiles of a plan, and the first lengths that it is for, as far as they can be had in a short time.
fn lengths(program_tile: u32, from: u64, max_len: u64) -> Vec<u64> {
    let tile = u64::from(program_tile);
    let mut lengths = vec![1, tile - 1, tile + 1, 2 * tile + 33, from.max(1), from + 1];
    lengths.retain(|&length| length <= max_len.min(12_000));
    lengths
}

fn spec(kind: ScanKind) -> ScanSpec {
    if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() }
}

#[test]
fn every_planned_range_matches_the_reference() {
    for (architecture, (kind, with_initial_value)) in ARCHITECTURES.into_iter().zip(WAYS) {
        for program in programs::<Interval>(architecture, spec(kind).with_total(), with_initial_value) {
            let plan = &program.plan;
            climb::climb(&program, &lengths(plan.tile, plan.from, plan.max_len), |emulator| emulator.check(adjacent))
                .unwrap_or_else(|(length, error)| panic!("{architecture}, {length} elements: {error}\n{plan}"));
        }
    }
    for program in programs::<ops::Sum<u8>>(sm(7, 5), ScanSpec::inclusive(), false) {
        let plan = &program.plan;
        climb::climb(&program, &lengths(plan.tile, plan.from, plan.max_len), |emulator| emulator)
            .unwrap_or_else(|(length, error)| panic!("{length} elements: {error}\n{plan}"));
    }
}

#[test]
fn every_planned_range_by_segments_matches_the_reference() {
    for (index, architecture) in ARCHITECTURES.into_iter().enumerate() {
        let head_source = [0, 2, 4, 7][index] % HEAD_SOURCES;
        let (kind, with_initial_value) = WAYS[(index + 1) % WAYS.len()];
        let spec = spec(kind).with_segments(Heads::new(head_source, &[]).segments());
        for program in programs::<Restart>(architecture, spec, with_initial_value) {
            let plan = &program.plan;
            for (seed, length) in (0..).zip(lengths(plan.tile, plan.from, plan.max_len)) {
                let begins = begins(PATTERNS[(4 * index + seed as usize) % 14], length as usize, plan.tile as usize);
                let emulator = Emulator::new(seed).check(fit).resident_blocks([2, 4, 100][seed as usize % 3]);
                let result = program.with_heads(Heads::new(head_source, &begins)).verify(&emulator, &places(&begins));
                result.unwrap_or_else(|error| panic!("{architecture}, {length} elements: {error}\n{plan}"));
            }
        }
    }
}

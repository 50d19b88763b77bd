//! Look-ahead whose runs are reduced in parts.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::ScanSpec;
use scan_runtime::gallery::bit_matrices::ShiftRegister;
use scan_tests::{
    emulator::{Emulator, Program},
    operators::mixed,
    planted::each_is_found,
};

use super::look_ahead::{Shape, limits, overrides_of};

fn feedback(length: usize) -> Vec<bool> {
    (0..length as u64).map(|i| mixed(i).is_multiple_of(3)).collect()
}

fn program(spec: &ScanSpec, shape: Shape) -> Program<ShiftRegister> {
    let initial = spec.initial_value.then_some(0x1234);
    Program::with_limits(ShiftRegister, spec, initial, &limits(), &overrides_of(shape)).unwrap()
}

/// Runs of several parts, and of one where the loop is short enough.
#[test]
fn heavy_runs_are_reduced_in_parts() {
    let ways = [
        (ScanSpec::inclusive(), (32, 2, 5, 100, 3)),
        (ScanSpec::exclusive().with_initial_value().reverse(), (64, 1, 3, 96, 2)),
        (ScanSpec::inclusive().with_total(), (32, 2, 5, 72, 3)),
    ];
    for (spec, shape) in ways {
        let program = program(&spec, shape);
        assert!(program.source.text.contains("reduce_parts(") && !program.source.text.contains("reduce_run("));
        let tile = program.plan.tile as usize;
        for (length, offsets) in [(1, (0, 0)), (tile, (0, 0)), (7 * tile + 5, (3, 1))] {
            program.verify_at_offset(&Emulator::new(length as u64), &feedback(length), offsets).unwrap();
        }
    }
    let short = program(&ScanSpec::inclusive(), (32, 2, 5, 12, 3));
    assert!(short.source.text.contains("reduce_run(") && !short.source.text.contains("reduce_parts("));
}

/// Changes of the text, one at a time: some run shows each.
#[test]
fn planted_faults_are_found() {
    let program = program(&ScanSpec::inclusive().reverse(), (32, 2, 5, 100, 3));
    let changes = [
        ("[thread * PARTS + place_of(p, PARTS)]", "[thread * PARTS + p]"),
        ("[thread * PARTS + place_of(p, PARTS)]", "[thread + place_of(p, PARTS)]"),
        ("p < PARTS; p++", "p < PARTS - 1; p++"),
        ("place_of(k, PART) * sizeof(Input)", "k * sizeof(Input)"),
    ];
    let length = 3 * program.plan.tile as usize - 2;
    let is_found = |program: &Program<ShiftRegister>| program.verify(&Emulator::new(1), &feedback(length)).is_err();
    each_is_found(&program, &changes, is_found).unwrap();
}

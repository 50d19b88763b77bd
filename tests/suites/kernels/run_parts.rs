//! Look-ahead whose runs are reduced in parts.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::ScanSpec;
use scan_runtime::{
    ScanOp,
    gallery::{bit_matrices::ShiftRegister, polynomial_hash::TextHash},
};
use scan_tests::{
    emulated::{Emulator, Program},
    operators::mixed,
    planted::each_is_found,
};

use super::look_ahead::{Shape, limits, overrides_of};

fn feedback(length: usize) -> Vec<bool> {
    (0..length as u64).map(|i| mixed(i).is_multiple_of(3)).collect()
}

fn text(length: usize) -> Vec<u8> {
    (0..length as u64).map(|i| mixed(i) as u8).collect()
}

fn program<Op: ScanOp>(op: Op, initial: Op::Carry, spec: &ScanSpec, shape: Shape) -> Program<Op> {
    let initial = spec.initial_value.then_some(initial);
    Program::with_limits(op, spec, initial, &limits(), &overrides_of(shape)).unwrap()
}

/// Runs of several parts, and of one where the loop is short enough.
fn in_parts<Op: ScanOp + Copy>(op: Op, initial: Op::Carry, input: fn(usize) -> Vec<Op::Input>)
where
    Op::Output: std::fmt::Debug,
{
    let ways = [
        (ScanSpec::inclusive(), (32, 1, 3, 200, 3)),
        (ScanSpec::exclusive().with_initial_value().reverse(), (64, 1, 3, 120, 2)),
        (ScanSpec::inclusive().with_total(), (32, 1, 3, 240, 3)),
    ];
    for (spec, shape) in ways {
        let program = program(op, initial, &spec, shape);
        assert!(program.source.text.contains("struct RunPart {") && !program.source.text.contains("reduce_run("));
        let tile = program.plan.tile as usize;
        for (length, offsets) in [(1, (0, 0)), (tile, (0, 0)), (7 * tile + 5, (3, 1))] {
            program.verify_at_offset(&Emulator::new(length as u64), &input(length), offsets).unwrap();
        }
    }
    let short = program(op, initial, &ScanSpec::inclusive(), (32, 2, 5, 12, 3));
    assert!(short.source.text.contains("reduce_run(") && !short.source.text.contains("struct RunPart {"));
}

#[test]
fn runs_reduced_in_parts_match_the_reference() {
    in_parts(TextHash, 0x1234, text);
}

#[test]
fn runs_reduced_in_parts_from_their_ends_match_the_reference() {
    in_parts(ShiftRegister, 0x1234, feedback);
}

/// Changes of the text, one at a time: some run shows each.
#[test]
fn planted_faults_are_found() {
    const PLACES: [(&str, &str); 4] = [
        ("[thread * PARTS + place_of(p, PARTS)]", "[thread * PARTS + p]"),
        ("[thread * PARTS + place_of(p, PARTS)]", "[thread + place_of(p, PARTS)]"),
        ("place_of(k, PART) * sizeof(Input)", "k * sizeof(Input)"),
        ("place_of(k, PART) * sizeof(Input)", "sizeof(Input)"),
    ];
    fn found<Op: ScanOp + Copy>(op: Op, initial: Op::Carry, faults: &[(&str, &str)], input: fn(usize) -> Vec<Op::Input>)
    where
        Op::Output: std::fmt::Debug,
    {
        let program = program(op, initial, &ScanSpec::inclusive().reverse(), (32, 1, 3, 200, 3));
        let input = input(3 * program.plan.tile as usize - 2);
        let is_found = |program: &Program<Op>| program.verify(&Emulator::new(1), &input).is_err();
        each_is_found(&program, &[&PLACES[..], faults].concat(), is_found).unwrap();
    }
    found(TextHash, 0, &[("p < PARTS; p++", "p < PARTS - 1; p++"), ("unsigned p = 1;", "unsigned p = 0;")], text);
    let faults = [
        ("p = PARTS - 1; p-- > 0;", "p = PARTS - 1; p-- > 1;"),
        ("part_of(stage, thread, PARTS - 1)", "part_of(stage, thread, 0)"),
        ("unsigned k = PART; k-- > 0;", "unsigned k = PART - 1; k-- > 0;"),
    ];
    found(ShiftRegister, 0, &faults, feedback);
}

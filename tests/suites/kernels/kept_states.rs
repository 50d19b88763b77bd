//! Look-ahead whose stages keep lifted elements.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Overrides, ScanSpec};
use scan_tests::{
    emulated::{Emulator, Program},
    lifting::{INITIAL_VALUE, Lifting, inputs},
    planted::each_is_found,
};

use super::look_ahead::{Shape, limits, overrides_of};

fn keeping(shape: Shape) -> Overrides {
    let mut overrides = overrides_of(shape);
    overrides.keeps_states = Some(true);
    overrides
}

/// All ways, from any address, in stages that are used more than once.
#[test]
fn scans_that_keep_states_match_the_reference() {
    let ways = [
        (ScanSpec::inclusive(), None, (64, 2, 6, 4, 4)),
        (ScanSpec::exclusive(), Some(INITIAL_VALUE), (32, 3, 8, 3, 2)),
        (ScanSpec::inclusive().reverse(), Some(INITIAL_VALUE), (64, 1, 3, 5, 3)),
        (ScanSpec::exclusive().with_total(), None, (32, 2, 5, 4, 7)),
    ];
    for (spec, initial, shape) in ways {
        let program = Program::with_limits(Lifting, &spec, initial, &limits(), &keeping(shape)).unwrap();
        assert!(program.source.text.contains("init_run_read("));
        let tile = program.plan.tile as usize;
        for (length, offsets) in [(1, (0, 0)), (tile + 1, (1, 0)), (13 * tile - 2, (0, 0)), (13 * tile + 7, (3, 1))] {
            program.verify_at_offset(&Emulator::new(length as u64), &inputs(length), offsets).unwrap();
        }
    }
}

/// Changes of the text, one at a time: some run shows each.
#[test]
fn planted_faults_are_found() {
    let overrides = keeping((64, 2, 5, 3, 3));
    let program = Program::with_limits(Lifting, &ScanSpec::inclusive(), None, &limits(), &overrides).unwrap();
    let changes = [
        ("  wait_for_run_read(at); // states overwrite other threads' elements\n", ""),
        ("init_barrier(&run_read()[stage], TEAM);", "init_barrier(&run_read()[stage], WARP);"),
        ("  wait_for_inputs_read(at); // results overwrite other threads' elements\n", ""),
        ("kept[place_of(k, RUN) * STATE_UNITS + i] = units[i];", "kept[i] = units[i];"),
    ];
    let tile = program.plan.tile as usize;
    let is_found = |program: &Program<Lifting>| {
        (0..6).any(|seed| {
            let emulator = Emulator::new(seed).interrupt_once_in([3, 50][seed as usize % 2]);
            program.verify(&emulator, &inputs(11 * tile)).is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap();
}

//! Look-ahead with several look-ahead warps.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Overrides, ScanSpec};
use scan_runtime::{ScanKind, ScanOp};
use scan_tests::{
    climb::climb_in_every_place,
    emulated::{Emulator, Program},
    lifting::{INITIAL_VALUE, Narrow, inputs},
    operators::{Interval, Span, TestOperator, adjacent},
    planted::each_is_found,
    reference::WAYS,
    stepped::{Appending, Coder},
};

use super::look_ahead::{Shape, limits, overrides_of};

/// As those of look-ahead, without groups.
const SHAPES: [Shape; 4] = [(64, 2, 6, 4, 4), (32, 2, 5, 4, 1), (64, 1, 3, 3, 4), (32, 3, 8, 4, 2)];

fn round_robin(warps: u32, shape: Shape) -> Overrides {
    let mut overrides = overrides_of(shape);
    (overrides.look_ahead_warps, overrides.statuses_per_lane) = (Some(warps), Some(1));
    overrides
}

#[test]
fn intervals_match_the_reference() {
    let program = |((warps, shape), (kind, with_initial_value)): ((u32, Shape), (ScanKind, bool))| {
        let initial_value = with_initial_value.then(Interval::initial_value);
        Program::<Interval>::planned(Interval, kind, initial_value, &limits(), &round_robin(warps, shape)).unwrap()
    };
    let programs: Vec<_> = [2, 3, 4, 2].into_iter().zip(SHAPES).zip(WAYS).map(program).collect();
    let lengths = |tile| vec![1, tile + 1, 23 * tile + 7];
    // Mostly not all blocks find room at once, so that those that do tell the aggregates of the others' tiles.
    let resident = |seed: u64| [1, 2, 3, usize::MAX][seed as usize / 5 % 4];
    climb_in_every_place(programs, lengths, |_, seed, emulator| {
        emulator.resident_blocks(resident(seed)).check(adjacent)
    })
    .unwrap();
}

/// Stepped operators, and operators that append inputs, forwards and reversed, with a total.
#[test]
fn appending_operators_and_stepped_operators_match_the_reference() {
    fn scan<Op: ScanOp<Input = Narrow>>(op: Op, spec: &ScanSpec, initial: Option<Op::Carry>, overrides: &Overrides)
    where
        Op::Output: std::fmt::Debug,
    {
        let program = Program::with_limits(op, spec, initial, &limits(), overrides).unwrap();
        let tile = program.plan.tile as usize;
        for length in [tile - 1, 7 * tile + 7] {
            program.verify(&Emulator::new(length as u64), &inputs(length)).unwrap();
        }
    }
    scan(Appending, &ScanSpec::inclusive().reverse(), Some(INITIAL_VALUE), &round_robin(2, SHAPES[0]));
    scan(Coder, &ScanSpec::exclusive().with_total(), Some(99), &round_robin(3, SHAPES[1]));
    scan(Coder, &ScanSpec::inclusive(), None, &round_robin(2, SHAPES[3]));
}

/// Lengths that only the device knows: of no tile, of one, and of a turn of each warp.
#[test]
fn length_on_device_matches_the_reference() {
    let spec = ScanSpec::inclusive().with_total().with_length_on_device();
    let program = Program::with_limits(Interval, &spec, None, &limits(), &round_robin(2, SHAPES[0])).unwrap();
    let tile = u64::from(program.plan.tile);
    let input: Vec<Span> = (0..9 * tile).map(Interval::input).collect();
    let verify = |program: &Program<Interval>| {
        [0, tile, 1, 5 * tile + 3, 8 * tile + 3].into_iter().try_for_each(|length| {
            program.verify_length(&Emulator::new(length).check(adjacent), &input, (0, 0), (length, length))
        })
    };
    verify(&program).unwrap();
    let changes = [
        ("if (block.tiles == 0) {", "if (block.tiles == 1) {"),
        ("own == (block.tiles - 1) / gridDim.x % FOLDING_WARPS", "own == 0"),
    ];
    each_is_found(&program, &changes, |program: &Program<Interval>| verify(program).is_err()).unwrap();
}

/// Changes of the text, one at a time: some run shows each.
#[test]
fn planted_faults_are_found() {
    let first = Some(Interval::initial_value());
    let overrides = round_robin(3, (64, 1, 3, 4, 4));
    let program = Program::<Interval>::planned(Interval, ScanKind::Exclusive, first, &limits(), &overrides).unwrap();
    let changes = [
        ("      wait(&block.prefix_ready[previous.stage], previous.parity);\n", ""),
        ("    wait(&block.published[at.stage], at.parity);\n", ""),
        ("append(op, prefix, between.value, HeadFlag{});", "prefix.value = between.value;"),
        ("      append_window(op, between, aggregates, count, lane);\n", ""),
        ("i == 0 ? 0 : at.tile_index - gridDim.x; folded", "0; folded"),
        ("if (FIRST_TILE_HAS_PREFIX || at.tile_index > 0) {", "if (at.tile_index > 0) {"),
        ("i += FOLDING_WARPS", "i += 1"),
    ];
    let tile = u64::from(program.plan.tile);
    let is_found = |program: &Program<Interval>| {
        (0..24).any(|seed| {
            let input: Vec<Span> = (0..[23 * tile - 40, tile + 9][seed as usize % 2]).map(Interval::input).collect();
            let emulator = Emulator::new(seed).check(adjacent).interrupt_once_in([3, 50][seed as usize / 2 % 2]);
            let offsets = [(0, 0), (1, 1), (1, 0)][seed as usize % 3];
            program.verify_at_offset(&emulator, &input, offsets).is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap();
}

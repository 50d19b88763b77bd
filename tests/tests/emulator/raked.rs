//! Look-ahead whose teams' first warps scan the aggregates of all runs, and whose look-ahead warps take turns.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Overrides, ScanSpec};
use scan_runtime::{ScanKind, ScanOp, ops};
use scan_tests::{
    climb::climb_in_every_place,
    emulator::{Emulator, Program},
    lifting::{INITIAL_VALUE, inputs},
    machines::{Appending, Coder},
    operators::{Interval, Span, TestOperator, adjacent},
    planted::each_is_found,
    reference::WAYS,
};

use super::look_ahead::{Shape, limits, overrides_of};

/// As those of look-ahead, of two warps and more.
const SHAPES: [Shape; 4] = [(64, 2, 6, 4, 4), (96, 2, 5, 4, 1), (64, 1, 3, 3, 4), (128, 3, 8, 4, 2)];

/// The first and the third shape have several look-ahead warps; the second has one, the last has groups.
fn raked(shape: Shape) -> Overrides {
    let mut overrides = overrides_of(shape);
    overrides.rakes = Some(true);
    overrides.look_ahead_warps = Some(1 + shape.1 % 3);
    overrides
}

#[test]
fn interval() {
    let program = |(shape, (kind, with_initial_value)): (Shape, (ScanKind, bool))| {
        let initial_value = with_initial_value.then(Interval::initial_value);
        let program = Program::<Interval>::planned(Interval, kind, initial_value, &limits(), &raked(shape)).unwrap();
        assert!(program.source.text.contains("run_aggregates"));
        program
    };
    let programs: Vec<_> = SHAPES.into_iter().zip(WAYS).map(program).collect();
    let lengths = |tile| vec![1, 33, tile - 1, tile + 1, 12 * tile + 7];
    // Mostly not all blocks find room at once, so that those that do tell the aggregates of the others' tiles.
    let resident = |seed: u64| [1, 2, 3, usize::MAX][seed as usize / 5 % 4];
    climb_in_every_place(&programs, lengths, |_, seed, emulator| {
        emulator.resident_blocks(resident(seed)).check(adjacent)
    })
    .unwrap();
}

/// Warps that take turns, without raking.
#[test]
fn turns() {
    let program = |(warps, (kind, with_initial_value)): (u32, (ScanKind, bool))| {
        let initial_value = with_initial_value.then(Interval::initial_value);
        let mut overrides = overrides_of(SHAPES[0]);
        (overrides.look_ahead_warps, overrides.statuses_per_lane) = (Some(warps), Some(1));
        Program::<Interval>::planned(Interval, kind, initial_value, &limits(), &overrides).unwrap()
    };
    let programs: Vec<_> = [2, 3, 4, 2].into_iter().zip(WAYS).map(program).collect();
    let lengths = |tile| vec![1, tile + 1, 23 * tile + 7];
    let resident = |seed: u64| [1, 2, 3, usize::MAX][seed as usize / 5 % 4];
    climb_in_every_place(&programs, lengths, |_, seed, emulator| {
        emulator.resident_blocks(resident(seed)).check(adjacent)
    })
    .unwrap();
}

/// Operators that append inputs, and machines, forwards and reversed.
#[test]
fn inputs_are_appended() {
    fn scan<Op: ScanOp<Input = scan_tests::lifting::Narrow>>(
        op: Op,
        spec: &ScanSpec,
        initial: Option<Op::Carry>,
        shape: Shape,
    ) where
        Op::Output: std::fmt::Debug,
    {
        let program = Program::with_limits(op, spec, initial, &limits(), &raked(shape)).unwrap();
        let tile = program.plan.tile as usize;
        for length in [tile - 1, 5 * tile + 7] {
            program.verify(&Emulator::new(length as u64), &inputs(length)).unwrap();
        }
    }
    scan(Appending, &ScanSpec::inclusive().reverse(), Some(INITIAL_VALUE), SHAPES[0]);
    scan(Coder, &ScanSpec::exclusive().with_total(), Some(99), SHAPES[1]);
    scan(Coder, &ScanSpec::inclusive(), None, SHAPES[0]);
}

/// Changes of the text, one at a time: some run shows each.
#[test]
fn planted_faults_are_found() {
    let mut overrides = raked((64, 2, 5, 4, 4));
    overrides.group = Some(1);
    let first = Some(Interval::initial_value());
    let program = Program::<Interval>::planned(Interval, ScanKind::Exclusive, first, &limits(), &overrides).unwrap();
    let changes = [
        ("          wait(&aggregates_ready[stage], use % 2);\n", ""),
        ("      wait(&published[iteration % STAGES], iteration / STAGES % 2);\n", ""),
        ("init_barrier(&aggregates_ready[stage], TEAM)", "init_barrier(&aggregates_ready[stage], WARP)"),
        ("init_barrier(&published[stage], WARP)", "init_barrier(&published[stage], 1)"),
        ("              append(op, of_lane, aggregates[run], Mark{});\n", ""),
        ("                append(op, before, own, Mark{});\n", ""),
        ("          append(op, prefix, prefix_in_tile, Mark{});\n", ""),
        ("thread < runs_of_tile.end;", "true;"),
        ("        wait(&prefix_ready[previous % STAGES], previous / STAGES % 2);\n", ""),
        ("      wait(&published[stage], use % 2);\n", ""),
        ("append(op, prefix, between.value, Mark{});", "prefix.value = between.value;"),
        ("        append(op, between, window_aggregate, Mark{});\n", ""),
        ("iteration == 0 ? 0 : tile_index - gridDim.x; folded", "0; folded"),
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

/// The same where a tile begins with runs that have no elements.
#[test]
fn planted_faults_of_padded_tiles_are_found() {
    let spec = ScanSpec::inclusive().with_total();
    let overrides = raked((64, 1, 3, 4, 3));
    let program = Program::with_limits(ops::Sum::<u8>::new(), &spec, None, &limits(), &overrides).unwrap();
    let changes = [
        ("if (runs.first <= thread && thread < runs.end)", "if (thread < runs.end)"),
        (
            "lane - first_lane, end_lane - first_lane, Marks{});\n          if",
            "lane, end_lane, Marks{});\n          if",
        ),
        ("if (lane == end_lane - 1)", "if (lane == WARP - 1)"),
        ("before.any = lane > first_lane;", "before.any = lane > 0;"),
        ("numbers.first / RUN, (numbers.end + RUN - 1) / RUN", "0, (numbers.end + RUN - 1) / RUN"),
    ];
    let is_found = |program: &Program<ops::Sum<u8>>| {
        (0..4).any(|seed| {
            let input: Vec<u8> = (0..2 * program.plan.tile as usize - 40).map(|i| i as u8).collect();
            program.verify_at_offset(&Emulator::new(seed), &input, ([15, 9][seed as usize % 2], 0)).is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap();
}

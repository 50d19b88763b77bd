//! Look-ahead in the emulator: pipelines of several shapes, over many rounds, from any address.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Architecture, DeviceLimits, Overrides, PlanError};
use scan_runtime::{ScanKind, ScanOp, ops, scan_element, scan_op};
use scan_tests::{
    climb::{climb_in_every_place, failures_in_every_place},
    emulated::{Emulator, EmulatorError, Module, Program},
    extent::one_in,
    operators::{Brackets, Bytes3Sum, Interval, MatrixProduct, MixedSum, Span, TestOperator, adjacent, inputs, mixed},
    planted::each_is_found,
    reference::WAYS,
    strategies::LOOK_AHEAD,
};

/// Threads of a team, teams, stages, elements a thread, blocks.
pub(crate) type Shape = (u32, u32, u32, u32, u32);

/// Few threads and short runs, so that short inputs take many rounds.
const SHAPES: [Shape; 6] =
    [(32, 2, 5, 4, 3), (32, 3, 8, 4, 2), (64, 2, 6, 4, 4), (32, 1, 3, 8, 6), (96, 2, 5, 4, 1), (32, 4, 9, 12, 7)];

fn program<Op: TestOperator>(shape: Shape, (kind, with_initial_value): (ScanKind, bool)) -> Program<Op> {
    // What has room in shared memory: large elements in short runs.
    let (threads, teams, stages, run, blocks) = shape;
    let run = run.min((256 / size_of::<Op::Item>() as u32).max(1));
    planned(Op::new(), (threads, teams, stages, run, blocks), (kind, with_initial_value.then(Op::initial_value)))
}

fn planned<Op: ScanOp>(
    op: Op,
    (threads, teams, stages, run, blocks): Shape,
    (kind, initial_value): (ScanKind, Option<Op::Carry>),
) -> Program<Op> {
    Program::planned(op, kind, initial_value, &limits(), &overrides_of((threads, teams, stages, run, blocks))).unwrap()
}

/// Where there are more than four blocks they form groups.
pub(crate) fn overrides_of((threads, teams, stages, run, blocks): Shape) -> Overrides {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(LOOK_AHEAD);
    overrides.threads = Some(threads);
    overrides.teams = Some(teams);
    overrides.stages = Some(stages);
    overrides.run = Some(run);
    overrides.blocks = Some(blocks);
    overrides.group = Some(if blocks > 4 { blocks / 2 } else { 1 });
    overrides
}

/// A device with the shared memory of an H200.
pub(crate) fn limits() -> DeviceLimits {
    let mut limits = DeviceLimits::BASELINE;
    limits.shared_bytes_per_block_optin = 227 * 1024;
    limits
}

fn climb_at<Op: TestOperator>(
    programs: Vec<Program<Op>>,
    lengths: impl Fn(u64) -> Vec<u64>,
    prepare: impl Fn(Emulator) -> Emulator,
) {
    // Mostly not all blocks are resident, so that the others stand in for them.
    let resident = |seed: u64| [1, 2, 3, usize::MAX][seed as usize / 5 % 4];
    climb_in_every_place(programs, lengths, |_, seed, emulator| prepare(emulator.resident_blocks(resident(seed))))
        .unwrap();
}

/// Every shape, the ways to scan in turn.
fn shapes<Op: TestOperator>() -> Vec<Program<Op>> {
    (0..).zip(SHAPES).map(|(index, shape)| program::<Op>(shape, WAYS[index % WAYS.len()])).collect()
}

#[test]
fn intervals_match_the_reference() {
    let mut programs = shapes::<Interval>();
    programs.extend(WAYS.map(|way| program::<Interval>(SHAPES[0], way)));
    let lengths = |tile| vec![1, 33, tile - 1, tile, tile + 1, 5 * tile, 12 * tile + 7, 23 * tile - 1];
    climb_at(programs, lengths, |emulator| emulator.check(adjacent));
}

/// Elements of other sizes, at fewer lengths; `soak` draws more.
fn climb<Op: TestOperator>(prepare: impl Fn(Emulator) -> Emulator) {
    climb_at(shapes::<Op>(), |tile| vec![1, tile - 1, 5 * tile, 12 * tile + 7], prepare);
}

#[test]
fn elements_of_several_sizes_match_the_reference() {
    climb::<ops::Sum<u8>>(|emulator| emulator);
    climb::<ops::Sum<i16>>(|emulator| emulator);
    climb::<ops::Sum<f32>>(|emulator| emulator);
    climb::<Brackets>(|emulator| emulator);
    climb::<Bytes3Sum>(|emulator| emulator);
    climb::<MixedSum>(|emulator| emulator);
    climb::<MatrixProduct<2>>(|emulator| emulator);
    climb::<MatrixProduct<3>>(|emulator| emulator);
    climb::<MatrixProduct<4>>(|emulator| emulator);
}

/// Short inputs in every place; one of several iterations of the blocks in one place for each program.
#[test]
fn the_largest_elements_match_the_reference() {
    // In groups; and on two blocks, which use each stage more than once.
    for (seed, (blocks, tiles)) in (1..).zip([(5, 7), (2, 12)]) {
        let program = program::<MatrixProduct<8>>((32, 2, 5, 2, blocks), WAYS[3]);
        let tile = u64::from(program.plan.tile);
        for length in [1, tile] {
            let failures = failures_in_every_place(
                &program,
                &Emulator::new(seed),
                &inputs::<MatrixProduct<8>>(length as usize),
                seed,
            );
            assert!(failures.is_empty(), "{}", failures.join("\n"));
        }
        let input = inputs::<MatrixProduct<8>>((tiles * tile + 5) as usize);
        let offsets = [(1, 1), (0, 1)][seed as usize % 2];
        program.verify_at_offset(&Emulator::new(seed), &input, offsets).unwrap();
    }
}

/// An affine mapping.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mapping {
    a: u32,
    b: u32,
}

/// It in two bytes.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Small {
    a: u8,
    b: u8,
}

/// It in sixteen.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Large {
    a: u64,
    b: u64,
}

/// Composes mappings, of which each is read from two bytes and written to sixteen.
#[derive(Clone, Copy)]
struct Widening;

#[scan_op]
impl ScanOp for Widening {
    type Input = Small;
    type State = Mapping;
    type Output = Large;
    const IDENTITY: Mapping = Mapping { a: 1, b: 0 };
    fn lift(x: Small) -> Mapping {
        Mapping { a: x.a as u32, b: x.b as u32 }
    }
    fn combine(f: Mapping, g: Mapping) -> Mapping {
        Mapping { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn project(f: Mapping) -> Large {
        Large { a: f.a as u64, b: f.b as u64 }
    }
}

/// The same, from sixteen bytes to two.
#[derive(Clone, Copy)]
struct Narrowing;

#[scan_op]
impl ScanOp for Narrowing {
    type Input = Large;
    type State = Mapping;
    type Output = Small;
    const IDENTITY: Mapping = Mapping { a: 1, b: 0 };
    fn lift(x: Large) -> Mapping {
        Mapping { a: x.a as u32, b: x.b as u32 }
    }
    fn combine(f: Mapping, g: Mapping) -> Mapping {
        Mapping { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn project(f: Mapping) -> Small {
        Small { a: (f.a >> 8) as u8, b: f.b as u8 }
    }
}

/// The error of the first of several runs that fails.
fn fault_of<Op: ScanOp>(program: &Program<Op>, input: impl Fn(u64) -> Op::Input) -> Option<String>
where
    Op::Output: std::fmt::Debug,
{
    let tile = u64::from(program.plan.tile);
    one_in(5, 0..24).find_map(|seed| {
        let input: Vec<Op::Input> = (0..[23 * tile - 40, tile + 9][seed as usize % 2]).map(&input).collect();
        let emulator = Emulator::new(seed).interrupt_once_in([3, 50][seed as usize / 2 % 2]).limit(20_000_000);
        let emulator = emulator.resident_blocks(1 + seed as usize / 4 % 4);
        let offsets = [(0, 0), (8, 1), (1, 3), (3, 8)][seed as usize % 4];
        let error = program.verify_at_offset(&emulator, &input, offsets).err()?;
        Some(format!("{error}\n{}", program.plan))
    })
}

#[test]
fn results_of_another_size_than_elements_match_the_reference() {
    for (shape, kind, initial_value) in
        [(SHAPES[2], ScanKind::Exclusive, None), (SHAPES[4], ScanKind::Inclusive, Some(Mapping { a: 3, b: 5 }))]
    {
        let narrowing = planned(Narrowing, shape, (kind, initial_value));
        let widening = planned(Widening, shape, (kind, initial_value));
        let mut planted = widening.clone();
        let wait = "  wait_for_inputs_read(at); // results overwrite other threads' elements\n";
        assert!(planted.source.text.contains(wait));
        planted.source.text = planted.source.text.replace(wait, "");
        Module::compile(&[&narrowing.source, &widening.source, &planted.source]).unwrap();
        let large = |i| Large { a: mixed(i) | 1, b: mixed(i) >> 32 };
        let small = |i| Small { a: mixed(i) as u8 | 1, b: (mixed(i) >> 8) as u8 };
        assert_eq!(fault_of(&narrowing, large), None);
        assert_eq!(fault_of(&widening, small), None);
        assert!(fault_of(&planted, small).is_some(), "without the wait: {}", planted.plan);
    }
}

/// No element at such an address begins where a bulk copy can.
#[test]
fn elements_misaligned_for_bulk_copies_match_the_reference() {
    let programs = [SHAPES[0], SHAPES[2], SHAPES[3]].map(|shape| program::<MatrixProduct<4>>(shape, WAYS[1]));
    for program in &programs {
        assert!(program.source.text.contains("COPY_GRAIN = 16,"), "{}", program.plan);
        let tile = u64::from(program.plan.tile);
        let lengths = [12 * tile + 5, 1, tile, 5 * tile - 1];
        for (seed, offsets) in (0..).zip([(4, 0), (8, 8), (0, 12), (12, 4)]) {
            let input: Vec<_> = (0..lengths[seed as usize]).map(MatrixProduct::<4>::input).collect();
            let result = program.verify_at_bytes(&Emulator::new(seed).interrupt_once_in(8), &input, offsets);
            result.unwrap_or_else(|error| panic!("at {offsets:?}: {error}\n{}", program.plan));
        }
    }
    let widening = planned(Widening, SHAPES[2], (ScanKind::Exclusive, None));
    let small: Vec<_> =
        (0..5 * u64::from(widening.plan.tile) + 3).map(|i| Small { a: i as u8 | 1, b: (i >> 3) as u8 }).collect();
    for offsets in [(1, 0), (3, 8), (15, 24)] {
        let result = widening.verify_at_bytes(&Emulator::new(7), &small, offsets);
        result.unwrap_or_else(|error| panic!("at {offsets:?}: {error}\n{}", widening.plan));
    }
}

#[test]
fn networks_and_devices_without_look_ahead_are_refused_with_the_reason() {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(scan_runtime::Strategy {
        block: scan_runtime::BlockScan::of(scan_runtime::Network::KoggeStone),
        ..LOOK_AHEAD
    });
    let error = Program::new(Interval, ScanKind::Inclusive, None, &overrides).unwrap_err();
    let EmulatorError::Plan(PlanError::Strategy { why, .. }) = error else { panic!("{error}") };
    assert!(why.contains("warp shuffles"), "{why}");
    overrides.strategy = Some(LOOK_AHEAD);
    let mut ampere = limits();
    ampere.architecture = Architecture { major: 8, minor: 0 };
    let error = Program::planned(Interval, ScanKind::Inclusive, None, &ampere, &overrides).unwrap_err();
    let EmulatorError::Plan(PlanError::Strategy { why, .. }) = error else { panic!("{error}") };
    assert!(why.contains("compute capability 9.0") && why.contains("choose look-back"), "{why}");
}

/// Changes of the text, one at a time: some run shows each.
#[test]
fn planted_faults_are_found() {
    let mut overrides = overrides_of((96, 2, 5, 4, 4));
    overrides.group = Some(1);
    let first = Some(Interval::initial_value());
    let program = Program::<Interval>::planned(Interval, ScanKind::Exclusive, first, &limits(), &overrides).unwrap();
    let changes = [
        ("wait(&block.full[at.stage], at.parity);", ""),
        ("meet_if(!tile.whole, block.edges_done, at);", "meet_if(false, block.edges_done, at);"),
        ("wait(&block.aggregates_ready[at.stage], at.parity);", ""),
        ("wait(&block.published[at.stage], at.parity);", ""),
        ("wait(&block.prefix_ready[at.stage], at.parity);", ""),
        ("meet_if(!in_bulk, block.results_ready, at);", "meet_if(false, block.results_ready, at);"),
        ("wait(&block.drained[at.stage], at.parity);", ""),
        ("wait_for_bulk_stores(); // of the previous tile's results", "//"),
        ("wait_for_bulk_stores(); // the copies read the shared memory of this block", ""),
        ("  fence_for_copies();\n", ""),
        ("init_barrier(&edges_done[stage], TEAM)", "init_barrier(&edges_done[stage], WARP)"),
        ("init_barrier(&aggregates_ready[stage], TEAM_WARPS)", "init_barrier(&aggregates_ready[stage], 1)"),
        ("init_barrier(&results_ready[stage], TEAM)", "init_barrier(&results_ready[stage], WARP)"),
        ("init_barrier(&drained[stage], TEAM)", "init_barrier(&drained[stage], WARP)"),
        ("      init_barrier(&prefix_ready[stage], 1);\n", ""),
        ("    folded = next;\n", ""),
        ("TEAM_WARPS + team_warp - 1]", "TEAM_WARPS + team_warp]"),
        ("  __syncthreads();\n  block.epoch", "  block.epoch"),
        ("if (team_warp > span.first_warp && span.lanes > 0) {", "if (team_warp > span.first_warp) {"),
        ("tile.first = place == 0 ? block.head_padding : 0", "tile.first = 0"),
        ("all = status != EMPTY && all;", "all = status != EMPTY;"),
        ("if (k < own_count) {", "if (k < own_count && k < 2) {"),
        ("  __syncwarp(); // the window has been written\n", ""),
        ("aggregates_of_window[lane * STATUSES_PER_LANE + k]", "aggregates_of_window[k * WARP + lane]"),
        ("    read_next(run, k + 1);\n", ""),
        ("combine(aggregate, aggregates.state[k])", "combine(aggregates.state[k], aggregate)"),
        ("op.combine(prefix.value, state)", "op.combine(state, prefix.value)"),
        ("      append_window(op, prefix, aggregates, count, lane);\n", ""),
        ("folded += count;", "folded += count + 1;"),
        ("append(op, cursor, folded.prefix_in_warp, any_before(folded.mask, span.place), start);", ""),
        (
            "append_input(op, prefix, input_at(elements, i));",
            "prefix = Prefix{state_of(op, input_at(elements, i)), true};",
        ),
        ("first_value()[0] = initial_value;", "first_value()[0] = op.identity();"),
    ];
    let tile = u64::from(program.plan.tile);
    let is_found = |program: &Program<Interval>| {
        (0..24).any(|seed| {
            let input: Vec<Span> = (0..[23 * tile - 40, tile + 9][seed as usize % 2]).map(Interval::input).collect();
            let emulator = Emulator::new(seed).check(adjacent).interrupt_once_in([3, 50][seed as usize / 2 % 2]);
            let emulator = emulator.limit(4_000_000);
            let offsets = [(0, 0), (1, 1), (1, 0)][seed as usize % 3];
            program.verify_at_offset(&emulator, &input, offsets).is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap();
}

/// Not all blocks are resident at once: look-ahead warps stand in for those that have not started.
#[test]
fn planted_faults_of_the_stand_in_are_found() {
    let mut overrides = overrides_of((96, 1, 3, 3, 5));
    (overrides.group, overrides.statuses_per_lane) = (Some(1), Some(1));
    let program = Program::<Interval>::planned(Interval, ScanKind::Inclusive, None, &limits(), &overrides).unwrap();
    let helping = "  stand_in_for_blocks(op, block, lane);\n";
    let part = "fold_part(op, source.input + tile.start, RunHeads{}, Start{}, Segment{}, span, thread)";
    let changes = [
        (helping, ""),
        (
            "aggregate_of_tile(op, block.source, tile_at(block, tile_index), lane)",
            "aggregate_of_tile(op, block.source, tile_at(block, tile_index + 1), lane)",
        ),
        (
            "statuses[tile_index], aggregate, AGGREGATE, block.epoch",
            "statuses[tile_index], aggregate, AGGREGATE, block.epoch + 1",
        ),
        ("tile_index < block.tiles - 1 && status == EMPTY", "tile_index < block.tiles - 2 && status == EMPTY"),
        ("tile_index < block.tiles - 1 && status == EMPTY", "tile_index < block.tiles - 1 && status != EMPTY"),
        (">> 32 != block.epoch", ">> 32 == block.epoch"),
        ("      tile_index++;\n", "      tile_index += 2;\n"),
        (part, "fold_part(op, source.input, RunHeads{}, Start{}, Segment{}, span, thread)"),
        (part, "state_of(op, input_at(source.input + tile.start, span.first))"),
        ("(lane - place + lanes - 1) % WARP", "lane"),
        ("    if (lane == team_warp) {\n", "    if (lane == 0) {\n"),
        ("      aggregate = warp_aggregate;\n", ""),
        ("lanes = span.end_warp - span.first_warp;", "lanes = span.end_warp - span.first_warp - 1;"),
        ("thread = team_warp * WARP + lane;", "thread = lane;"),
    ];
    let tile = u64::from(program.plan.tile);
    let is_found = |program: &Program<Interval>| {
        (0..12).any(|seed| {
            let input: Vec<Span> = (0..[17 * tile - 40, 5 * tile][seed as usize % 2]).map(Interval::input).collect();
            let emulator = Emulator::new(seed).check(adjacent).limit(4_000_000);
            let emulator = emulator.resident_blocks([1, 2, 4][seed as usize % 3]);
            let offsets = [(0, 0), (1, 1), (1, 0)][seed as usize / 2 % 3];
            program.verify_at_offset(&emulator, &input, offsets).is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap();
}

/// Sums of more than two packets, which lanes read packet by packet and exchange.
#[test]
fn planted_faults_of_packets_are_found() {
    type Op = MatrixProduct<3>;
    let mut overrides = overrides_of((32, 1, 3, 2, 4));
    (overrides.group, overrides.statuses_per_lane) = (Some(1), Some(2));
    let program = Program::<Op>::planned(Op::new(), ScanKind::Inclusive, None, &limits(), &overrides).unwrap();
    let tile = u64::from(program.plan.tile);
    let is_found = |program: &Program<Op>| {
        (0..6).any(|seed| {
            let input: Vec<_> = (0..23 * tile - 5).map(Op::input).collect();
            program.verify(&Emulator::new(seed).interrupt_once_in([3, 50][seed as usize % 2]), &input).is_err()
        })
    };
    let changes = [
        ("status < STATUSES && all;", "status < STATUSES;"),
        ("  __syncwarp(); // the window has been written\n", ""),
        ("min(lane * STATUSES_PER_LANE + k, WINDOW - 1)", "min(k * WARP + lane, WINDOW - 1)"),
        ("part * PAYLOAD + j", "j"),
    ];
    each_is_found(&program, &changes, is_found).unwrap();
}

/// More blocks than the look-ahead warp loads statuses at once.
#[test]
fn planted_faults_of_several_windows_are_found() {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(LOOK_AHEAD);
    (overrides.threads, overrides.teams, overrides.run) = (Some(32), Some(1), Some(2));
    (overrides.stages, overrides.blocks, overrides.statuses_per_lane) = (Some(3), Some(37), Some(1));
    overrides.group = Some(1);
    let program = Program::<Interval>::planned(Interval, ScanKind::Inclusive, None, &limits(), &overrides).unwrap();
    let changes = [
        ("min(at.tile_index - folded, WINDOW)", "at.tile_index - folded"),
        ("folded += count;", "folded += count + 1;"),
    ];
    let tile = u64::from(program.plan.tile);
    let is_found = |program: &Program<Interval>| {
        (0..2).any(|seed| {
            let input: Vec<Span> = (0..111 * tile - 5).map(Interval::input).collect();
            program.verify(&Emulator::new(seed).check(adjacent).limit(20_000_000), &input).is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap();
}

/// Large sums: blocks form groups, of which each tells the sum of its tiles.
#[test]
fn planted_faults_of_groups_are_found() {
    let mut overrides = overrides_of((32, 1, 3, 2, 8));
    overrides.group = Some(3);
    let program = Program::<Interval>::planned(Interval, ScanKind::Inclusive, None, &limits(), &overrides).unwrap();
    let tile = u64::from(program.plan.tile);
    let changes = [
        ("wait(&parts.full[slot], sequence / SLOTS_OF_PARTS % 2);", ""),
        ("wait(&parts.empty[slot], (sequence / SLOTS_OF_PARTS - 1) % 2);", ""),
        ("append_next(op, prefix, parts_of(GROUPS)", "append_next(op, prefix, parts_of(TILES)"),
        ("append_next(op, of_tile, parts_of(TILES)", "append_next(op, of_tile, parts_of(GROUPS)"),
        ("const unsigned preceding = kind == TILES ? place_in_group() : count;", "const unsigned preceding = count;"),
        ("place_in_group() == GROUP - 1 || blockIdx.x == gridDim.x - 1", "place_in_group() == GROUP - 1"),
        ("first + gridDim.x : end", "first + GROUP : end"),
        ("first + gridDim.x : end", "first + gridDim.x : end + 1"),
        ("publish(&block.statuses[own_status]", "publish(&block.statuses[block.tiles + group_of_block()]"),
        ("return group_of_block() == 0 ? 1 : 0;", "return 1;"),
        (
            "i == 0 ? block.tiles : own_status - groups();",
            "i == 0 ? block.tiles : own_status - groups() - group_of_block();",
        ),
    ];
    let is_found = |program: &Program<Interval>| {
        (0..6).any(|seed| {
            let input: Vec<Span> = (0..[60 * tile - 5, 43 * tile][seed as usize % 2]).map(Interval::input).collect();
            let emulator = Emulator::new(seed).check(adjacent).interrupt_once_in([3, 50][seed as usize % 2]);
            program.verify(&emulator.limit(20_000_000), &input).is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap();
}

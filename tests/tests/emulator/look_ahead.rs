//! Look-ahead in the emulator: pipelines of several shapes, over many rounds, from any address.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Architecture, DeviceLimits, Overrides, PlanError};
use scan_runtime::{ScanKind, ScanOp, ops, scan_element, scan_op};
use scan_tests::{
    climb::{climb_in_every_place, failures_in_every_place},
    climb_operators,
    emulator::{Emulator, EmulatorError, Module, Program},
    operators::{Brackets, Bytes3Sum, Interval, MatrixProduct, MixedSum, Span, TestOperator, adjacent, mixed},
    planted::each_is_found,
    reference::WAYS,
    strategies::LOOK_AHEAD,
};

/// Threads of a team, teams, stages, elements a thread, blocks.
pub(crate) type Shape = (u32, u32, u32, u32, u32);

/// Few threads and short runs, so that short inputs take many rounds.
const SHAPES: [Shape; 6] =
    [(32, 2, 5, 4, 3), (32, 3, 8, 4, 2), (64, 2, 6, 4, 4), (32, 1, 3, 8, 5), (96, 2, 5, 4, 1), (32, 4, 9, 12, 7)];

fn program<Op: TestOperator>(shape: Shape, (kind, with_initial_value): (ScanKind, bool)) -> Program<Op> {
    // What has room in shared memory: large elements in short runs.
    let (threads, teams, stages, run, blocks) = shape;
    let run = run.min((256 / size_of::<Op::Item>() as u32).max(1));
    planned(Op::new(), (threads, teams, stages, run, blocks), (kind, with_initial_value.then(Op::initial_value)))
}

fn planned<Op: ScanOp>(
    op: Op,
    (threads, teams, stages, run, blocks): Shape,
    (kind, initial_value): (ScanKind, Option<Op::State>),
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

fn climb<Op: TestOperator>(prepare: impl Fn(Emulator) -> Emulator) {
    let programs: Vec<_> = SHAPES
        .into_iter()
        .enumerate()
        .map(|(index, shape)| program::<Op>(shape, WAYS[index % WAYS.len()]))
        .chain(WAYS.map(|way| program::<Op>(SHAPES[0], way)))
        .collect();
    let lengths = |tile| vec![1, 33, tile - 1, tile, tile + 1, 5 * tile, 12 * tile + 7, 23 * tile - 1];
    // Mostly not all blocks find room at once, so that those that do tell the sums of the others' tiles.
    let resident = |seed: u64| [1, 2, 3, usize::MAX][seed as usize / 5 % 4];
    climb_in_every_place(&programs, lengths, |_, seed, emulator| prepare(emulator.resident_blocks(resident(seed))))
        .unwrap();
}

#[test]
fn interval() {
    climb::<Interval>(|emulator| emulator.check(adjacent));
}

climb_operators! { climb:
    sum_u8: ops::Sum<u8>;
    sum_i16: ops::Sum<i16>;
    sum_f32: ops::Sum<f32>;
    brackets: Brackets;
    bytes3: Bytes3Sum;
    mixed12: MixedSum;
    matrix2: MatrixProduct<2>;
    matrix3: MatrixProduct<3>;
    matrix4: MatrixProduct<4>;
}

#[test]
fn the_largest_elements() {
    // In groups; and on two blocks, which use each stage more than once.
    for blocks in [5, 2] {
        let program = program::<MatrixProduct<8>>((32, 2, 5, 2, blocks), WAYS[3]);
        let tile = u64::from(program.plan.tile);
        for (seed, length) in (0..).zip([1, tile, 12 * tile + 5]) {
            let input: Vec<_> = (0..length).map(MatrixProduct::<8>::input).collect();
            let failures = failures_in_every_place(&program, &Emulator::new(seed), &input, seed);
            assert!(failures.is_empty(), "{}", failures.join("\n"));
        }
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

/// What goes wrong in one of several runs.
fn fault_of<Op: ScanOp>(program: &Program<Op>, input: impl Fn(u64) -> Op::Input) -> Option<String>
where
    Op::Output: std::fmt::Debug,
{
    let tile = u64::from(program.plan.tile);
    (0..24).find_map(|seed| {
        let input: Vec<Op::Input> = (0..[23 * tile - 40, tile + 9][seed as usize % 2]).map(&input).collect();
        let emulator = Emulator::new(seed).interrupt_once_in([3, 50][seed as usize / 2 % 2]);
        let emulator = emulator.resident_blocks(1 + seed as usize / 4 % 4);
        let offsets = [(0, 0), (8, 1), (1, 3), (3, 8)][seed as usize % 4];
        let error = program.verify_at_offset(&emulator, &input, offsets).err()?;
        Some(format!("{error}\n{}", program.plan))
    })
}

#[test]
fn results_of_another_size_than_elements() {
    for (shape, kind, initial_value) in
        [(SHAPES[2], ScanKind::Exclusive, None), (SHAPES[4], ScanKind::Inclusive, Some(Mapping { a: 3, b: 5 }))]
    {
        let narrowing = planned(Narrowing, shape, (kind, initial_value));
        let widening = planned(Widening, shape, (kind, initial_value));
        let mut planted = widening.clone();
        let wait = "wait(&taken[stage], use % 2);";
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

#[test]
fn what_it_does_not_go_with_is_an_error_that_says_why() {
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
        ("wait(&loaded[stage], use % 2);", ""),
        ("wait(&brought[stage], use % 2);", ""),
        ("wait(&reduced[stage], use % 2);", ""),
        ("wait(&told[stage], use % 2);", ""),
        ("wait(&known[stage], use % 2);", ""),
        ("wait(&scanned[stage], use % 2);", ""),
        ("wait(&written[stage], use % 2);", ""),
        ("wait_for_copies_out(); // the stage is free again", ""),
        ("wait_for_copies_out(); // they read the memory of this block", ""),
        ("        show_to_copies();\n", ""),
        ("begin_barrier(&brought[stage], TEAM)", "begin_barrier(&brought[stage], WARP)"),
        ("begin_barrier(&reduced[stage], TEAM_WARPS)", "begin_barrier(&reduced[stage], 1)"),
        ("begin_barrier(&scanned[stage], TEAM)", "begin_barrier(&scanned[stage], WARP)"),
        ("begin_barrier(&written[stage], TEAM)", "begin_barrier(&written[stage], WARP)"),
        ("      begin_barrier(&known[stage], 1);\n", ""),
        ("      earlier_lanes = next_earlier_lanes;\n", ""),
        ("warp_sums[stage][team_warp - 1]", "warp_sums[stage][team_warp]"),
        ("  __syncthreads();\n  const unsigned epoch", "  const unsigned epoch"),
        ("if (team_warp > part.first_warp && part.lanes > 0)", "if (team_warp > part.first_warp)"),
        ("tile.first = number == 0 ? gap : 0", "tile.first = 0"),
        ("arrived = status != NOTHING && arrived;", "arrived = status != NOTHING;"),
        ("if (k < mine) {", "if (k < mine && k < 2) {"),
        ("  __syncwarp(); // all have written what they have read\n", ""),
        ("seen_sums[lane * LOOK_RUN + k]", "seen_sums[k * WARP + lane]"),
        ("              element = next_element;\n", ""),
        ("combine(sum, sums[k])", "combine(sums[k], sum)"),
        ("op.combine(sum, window_sum)", "op.combine(window_sum, sum)"),
        ("folded += count;", "folded += count + 1;"),
        ("op.combine(before, earlier_warps)", "op.combine(earlier_warps, before)"),
        ("op.combine(before, earlier_lanes)", "op.combine(earlier_lanes, before)"),
        ("combine(sum, element_at(op, elements, thread, k))", "combine(element_at(op, elements, thread, k), sum)"),
        ("sums_before[0] = initial_value;", "sums_before[0] = op.identity();"),
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

/// Not all blocks find room at once: lookers tell the sums of the tiles of those that have not begun.
#[test]
fn planted_faults_of_telling_for_others_are_found() {
    let mut overrides = overrides_of((96, 1, 3, 3, 5));
    (overrides.group, overrides.look_run) = (Some(1), Some(1));
    let program = Program::<Interval>::planned(Interval, ScanKind::Inclusive, None, &limits(), &overrides).unwrap();
    let helping = "wait_for_all_to_begin(op, input, turns, messages, epoch, tiles, gap, n, lane);";
    let element = "input[tile.start + i];\n        sum = i == part.first ? element : op.combine(sum, element);";
    let changes = [
        (helping, ""),
        (helping, "wait_for_all_to_begin(op, input, turns, messages, epoch, tiles, 0, n, lane);"),
        ("messages[number], sum, AGGREGATE, epoch", "messages[number], sum, AGGREGATE, epoch + 1"),
        ("number < tiles - 1 && status == NOTHING", "number < tiles - 2 && status == NOTHING"),
        ("number < tiles - 1 && status == NOTHING", "number < tiles - 1 && status != NOTHING"),
        ("epoch_of_turns != epoch ? ALL_HAVE", "epoch_of_turns == epoch ? ALL_HAVE"),
        ("      number++;\n", "      number += 2;\n"),
        (element, "input[tile.start + i];\n        sum = i == part.first ? element : op.combine(element, sum);"),
        (element, "input[tile.start + i];\n        sum = element;"),
        ("lane - place + lanes - 1", "lane"),
        ("    if (lane == team_warp) {\n", "    if (lane == 0) {\n"),
        ("      sum = warp_sum;\n", ""),
        ("lanes = TEAM_WARPS; // ", "lanes = TEAM_WARPS - 1; // "),
        ("part_of(tile, team_warp * WARP + lane)", "part_of(tile, lane)"),
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
    (overrides.group, overrides.look_run) = (Some(1), Some(2));
    let program = Program::<Op>::planned(Op::new(), ScanKind::Inclusive, None, &limits(), &overrides).unwrap();
    let tile = u64::from(program.plan.tile);
    let is_found = |program: &Program<Op>| {
        (0..6).any(|seed| {
            let input: Vec<_> = (0..23 * tile - 5).map(Op::input).collect();
            program.verify(&Emulator::new(seed).interrupt_once_in([3, 50][seed as usize % 2]), &input).is_err()
        })
    };
    let changes = [
        ("status < STATUSES && arrived;", "status < STATUSES;"),
        ("  __syncwarp(); // all have written what they have read\n", ""),
        ("min(lane * LOOK_RUN + k, WINDOW - 1)", "min(k * WARP + lane, WINDOW - 1)"),
        ("part * PAYLOAD + j", "j"),
    ];
    each_is_found(&program, &changes, is_found).unwrap();
}

/// More blocks than the looker reads sums at once.
#[test]
fn planted_faults_of_several_windows_are_found() {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(LOOK_AHEAD);
    (overrides.threads, overrides.teams, overrides.run) = (Some(32), Some(1), Some(2));
    (overrides.stages, overrides.blocks, overrides.look_run) = (Some(3), Some(37), Some(1));
    overrides.group = Some(1);
    let program = Program::<Interval>::planned(Interval, ScanKind::Inclusive, None, &limits(), &overrides).unwrap();
    let changes = [("min(number - folded, WINDOW)", "number - folded"), ("folded += count;", "folded += count + 1;")];
    let tile = u64::from(program.plan.tile);
    let is_found = |program: &Program<Interval>| {
        (0..2).any(|seed| {
            let input: Vec<Span> = (0..111 * tile - 5).map(Interval::input).collect();
            program.verify(&Emulator::new(seed).check(adjacent), &input).is_err()
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
        ("wait(&gathered[TILES][slot], round / PARTS % 2);", ""),
        ("wait(&gathered[GROUPS][slot], handed / PARTS % 2);", ""),
        ("wait(&collected[what][slot], (handed / PARTS - 1) % 2);", ""),
        ("combine(sum, part_sums[GROUPS][slot])", "combine(part_sums[GROUPS][slot], sum)"),
        ("combine(sum, part_sums[TILES][slot])", "combine(part_sums[TILES][slot], sum)"),
        ("const unsigned wanted = what == TILES ? place_in_group : count;", "const unsigned wanted = count;"),
        ("place_in_group == GROUP - 1 || blockIdx.x == gridDim.x - 1", "place_in_group == GROUP - 1"),
        ("first + gridDim.x : end", "first + GROUP : end"),
        ("first + gridDim.x : end", "first + gridDim.x : end + 1"),
        ("&messages[tiles + group + round * groups]", "&messages[tiles + group]"),
        ("first_with_groups = group == 0 ? 1 : 0", "first_with_groups = 1"),
        ("group + (round - 1) * groups)", "(round - 1) * groups)"),
    ];
    let is_found = |program: &Program<Interval>| {
        (0..6).any(|seed| {
            let input: Vec<Span> = (0..[60 * tile - 5, 43 * tile][seed as usize % 2]).map(Interval::input).collect();
            let emulator = Emulator::new(seed).check(adjacent).interrupt_once_in([3, 50][seed as usize % 2]);
            program.verify(&emulator, &input).is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap();
}

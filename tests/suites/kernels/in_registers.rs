//! Runs in registers in the emulator: blocks and runs of several shapes, elements of many sizes, from any address.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Architecture, DeviceLimits, Overrides, ScanSpec};
use scan_runtime::{BlockScan, Carry, ScanKind, ScanOp, Strategy, TileNumbers, WarpNetwork, ops, scan_op};
use scan_tests::{
    climb::climb_in_every_place,
    emulated::{Emulator, Program},
    operators::{
        Brackets, Bytes3Sum, Interval, MatrixProduct, MixedSum, PolynomialHash, TestOperator, adjacent, inputs,
    },
    planted::each_is_found,
    reference::WAYS,
    strategies::IN_REGISTERS,
};

/// Threads of a block, and elements a thread: few, so that short inputs have several tiles. A run of 12 bytes, or of an odd
/// number of single ones, is read in another way than one of 16.
const SHAPES: [(u32, u32); 5] = [(32, 4), (64, 3), (128, 1), (32, 12), (64, 7)];

fn program<Op: TestOperator>(
    strategy: Strategy,
    (threads, run): (u32, u32),
    statuses_per_lane: Option<u32>,
    (kind, with_initial_value): (ScanKind, bool),
) -> Program<Op> {
    let size = size_of::<Op::Item>() as u32;
    let run = run.min(1024 / size);
    let threads = if threads * run * size > 40_000 { 32 } else { threads };
    let mut overrides = Overrides::default();
    overrides.strategy = Some(strategy);
    overrides.threads = Some(threads);
    overrides.run = Some(run);
    overrides.statuses_per_lane = statuses_per_lane;
    Program::new(Op::new(), kind, with_initial_value.then(Op::initial_value), &overrides).unwrap()
}

/// Every strategy with a shape, look-back with every shape, the ways to scan in turn.
fn climb<Op: TestOperator>(prepare: impl Fn(Emulator) -> Emulator) {
    climb_with::<Op>(Vec::new(), prepare);
}

/// As [`climb`], these programs, too.
fn climb_with<Op: TestOperator>(mut programs: Vec<Program<Op>>, prepare: impl Fn(Emulator) -> Emulator) {
    for (index, strategy) in IN_REGISTERS.into_iter().enumerate() {
        let all = strategy.carry == Carry::LookBack;
        for (place, shape) in SHAPES.into_iter().enumerate().filter(|(place, _)| all || *place == index % SHAPES.len())
        {
            programs.push(program::<Op>(strategy, shape, None, WAYS[(index + place) % WAYS.len()]));
        }
    }
    let lengths = |tile| vec![1, 33, tile - 1, tile, tile + 1, 3 * tile, 5 * tile + 7];
    let prepare = |program: &Program<Op>, seed: u64, emulator: Emulator| {
        let by_index = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
        let resident = if by_index { usize::MAX } else { [1, 2, 4, 100][(seed / 7 % 4) as usize] };
        prepare(emulator.resident_blocks(resident))
    };
    climb_in_every_place(programs, lengths, prepare).unwrap();
}

#[test]
fn intervals_match_the_reference() {
    let every_way = WAYS.map(|way| program::<Interval>(IN_REGISTERS[3], SHAPES[0], None, way));
    climb_with(every_way.to_vec(), |emulator| emulator.check(adjacent));
}

#[test]
fn elements_of_several_sizes_match_the_reference() {
    climb::<ops::Sum<u8>>(|emulator| emulator);
    climb::<ops::Sum<i16>>(|emulator| emulator);
    climb::<ops::Sum<f32>>(|emulator| emulator);
    climb::<Brackets>(|emulator| emulator);
    climb::<PolynomialHash>(|emulator| emulator);
    climb::<Bytes3Sum>(|emulator| emulator);
    climb::<MixedSum>(|emulator| emulator);
    climb::<MatrixProduct<3>>(|emulator| emulator);
    climb::<MatrixProduct<4>>(|emulator| emulator);
}

/// So many tiles that look-back reads several windows, each with several statuses for a lane.
#[test]
fn look_back_over_several_windows_matches_the_reference() {
    let strategy = IN_REGISTERS[3];
    let program = program::<Interval>(strategy, (32, 1), None, WAYS[1]);
    for (seed, tiles) in [(1, 129), (2, 280)] {
        let input: Vec<_> = (0..32 * tiles).map(Interval::input).collect();
        for resident in [3, 1000] {
            let emulator = Emulator::new(seed).resident_blocks(resident).check(adjacent);
            program
                .verify(&emulator, &input)
                .unwrap_or_else(|error| panic!("{tiles} tiles: {error}\n{}", program.plan));
        }
    }
}

/// Changes of the text, one at a time: some run shows each.
fn faults_are_found<Op: TestOperator>(
    program: &Program<Op>,
    changes: &[(&str, &str)],
    prepare: impl Fn(Emulator) -> Emulator + Sync,
) {
    let tile = u64::from(program.plan.tile);
    let is_found = |program: &Program<Op>| {
        (0..24).any(|seed| {
            let length = [9 * tile - 5, tile + 9, 150 * tile][seed as usize % 3];
            let input: Vec<Op::Item> = (0..length).map(Op::input).collect();
            let resident = [2, 1_000][seed as usize / 6 % 2];
            let emulator = Emulator::new(seed).resident_blocks(resident).limit(20_000_000);
            let emulator = prepare(emulator.interrupt_once_in([3, 50][seed as usize / 2 % 2]));
            let offsets = [(0, 0), (1, 1), (3, 2), (0, 5)][seed as usize % 4];
            program.verify_at_offset(&emulator, &input, offsets).is_err()
        })
    };
    each_is_found(program, changes, is_found).unwrap();
}

/// A wrong distance, a step too few, and operands the wrong way round, in each network of a warp.
#[test]
fn planted_faults_of_networks_of_a_warp_are_found() {
    let changes: [&[(&str, &str)]; 5] = [
        &[
            ("stride < LANES", "stride < LANES / 2"),
            ("stride <= lane && lane < count", "stride < lane && lane < count"),
        ],
        &[("lane % step + 1 : WARP", "step : WARP"), ("(lane & step) != 0", "(lane & step) == 0")],
        &[
            ("is_odd == is_last ? WARP", "is_odd ? WARP"),
            ("lane % step + 1 : WARP", "step : WARP"),
            ("return 2 * lanes;", "return lanes;"),
        ],
        &[
            ("is_odd == is_last ? WARP", "is_odd ? WARP"),
            ("is_last ? 1 : step", "1"),
            ("return 2 * lanes;", "return lanes;"),
        ],
        &[
            ("is_up ? 0 : stride", "is_up ? stride : 0"),
            ("WARP * WARP / 4 / step", "step / WARP"),
            ("WARP * WARP / 2;", "WARP;"),
        ],
    ];
    for (warp, changes) in WarpNetwork::ALL.into_iter().zip(changes) {
        let strategy = Strategy { block: BlockScan::in_registers().over_warps(warp), carry: Carry::LookAtAll };
        let both = [changes, &[("combine(left, x)", "combine(x, left)")]].concat();
        faults_are_found(&program::<Interval>(strategy, (64, 2), None, WAYS[0]), &both, |emulator| {
            emulator.check(adjacent)
        });
    }
}

#[test]
fn planted_faults_are_found() {
    let program = program::<Interval>(IN_REGISTERS[3], (64, 3), Some(2), (ScanKind::Exclusive, true));
    let changes = [
        ("  cp_async_wait_all();\n", ""),
        ("  __syncthreads(); // the elements and the heads have been written\n", ""),
        ("  __syncthreads(); // the aggregates of the warps have been written\n", ""),
        ("  __syncthreads(); // the results have been written\n", ""),
        ("combine(prefix.value, state)", "combine(state, prefix.value)"),
        ("combine(left, warp_aggregate)", "combine(warp_aggregate, left)"),
        ("combine(prefix_of_warps, prefix_in_tile)", "combine(prefix_in_tile, prefix_of_warps)"),
        ("combine(window, values[k])", "combine(values[k], window)"),
        ("combine(window, prefix.value)", "combine(prefix.value, window)"),
        ("          start = k;\n", ""),
        ("arrived = highest_set_lane(waits && (int)lane >= first_lane) < 0;", "arrived = true;"),
        ("first_lane = found ? last_prefix : 0;", "first_lane = 0;"),
        ("prefix_in_tile = shuffle_up(aggregate, 1);", "prefix_in_tile = aggregate;"),
    ];
    faults_are_found(&program, &changes, |emulator| emulator.check(adjacent));
}

#[test]
fn planted_faults_of_narrow_elements_are_found() {
    let program = program::<ops::Sum<u8>>(IN_REGISTERS[3], (64, 12), None, (ScanKind::Inclusive, false));
    let loads = |condition| format!("{condition}; i += block_threads()) {{\n      stage[i]");
    let stores = |condition| format!("{condition}; i += block_threads()) {{\n      units[i]");
    let changes = [
        ("(unsigned)sizeof(Unit) + 1;", "(unsigned)sizeof(Unit);"),
        (&loads("i + 1 < end"), &loads("i < end")),
        ("across[i + 1], misaligned", "across[i], misaligned"),
        ("sizeof(Unit), (end - 1)", "sizeof(Unit), end"),
        ("bytes / 8 % 2 > 0", "bytes / 8 % 2 > 1"),
        ("bytes / 4 % 2 > 0", "bytes / 4 % 2 > 1"),
        (">> bytes % 4 * 8", ">> bytes % 4 * 4"),
        (&stores("i + 1 < end"), &stores("i < end")),
        ("stage[i + 1], head", "stage[i], head"),
        ("sizeof(Unit), head + (end - 1)", "sizeof(Unit), head + end"),
    ];
    faults_are_found(&program, &changes, |emulator| emulator);
}

/// In look-at-all, a block may stand in for another only if the scan is not in place, because the other block may have
/// overwritten the elements of its tile.
#[test]
fn a_planted_stand_in_for_another_block_in_place_is_found() {
    let program = program::<Interval>(IN_REGISTERS[4], (64, 3), None, (ScanKind::Inclusive, false));
    let input: Vec<_> = (0..9 * u64::from(program.plan.tile) - 5).map(Interval::input).collect();
    let is_found = |program: &Program<Interval>| {
        (0..8).any(|seed| program.verify_in_place(&Emulator::new(seed).resident_blocks(2), &input).is_err())
    };
    each_is_found(
        &program,
        &[("  return input_address < output_address", "  return false && input_address < output_address")],
        is_found,
    )
    .unwrap();
}

#[test]
fn planted_faults_of_look_at_all_are_found() {
    let program = program::<Interval>(IN_REGISTERS[4], (64, 3), None, (ScanKind::Exclusive, true));
    let changes = [
        ("    __syncthreads(); // the aggregates of the warps have been read\n", ""),
        ("  __syncthreads(); // the aggregates of the warps have been written\n", ""),
        ("combine(prefix, window)", "combine(window, prefix)"),
        // The stand-in for blocks that have not started.
        ("must_arrive || !has_waited_long(polls)", "true"),
        ("missing &= missing - 1", "missing = 0"),
        ("first + threadIdx.x - lane + missing_lane", "first + missing_lane"),
        ("for (unsigned i = 0; i < RUN; i++)", "for (unsigned i = 0; i < RUN - 1; i++)"),
        ("first = (warp * WARP + lane) * RUN", "first = lane * RUN"),
        ("unsigned lanes = warps;", "unsigned lanes = 1;"),
        ("    if (lane == warp) {\n", "    if (lane == 0) {\n"),
        ("      if (lane == missing_lane) {\n", "      if (status == EMPTY) {\n"),
        (
            "wait_for_status(&statuses[first + threadIdx.x], &aggregate",
            "wait_for_status(&statuses[threadIdx.x], &aggregate",
        ),
        ("if (threadIdx.x < count) {", "if (threadIdx.x < count && threadIdx.x < WARP) {"),
    ];
    faults_are_found(&program, &changes, |emulator| emulator.check(adjacent));
}

/// One text serves blocks of several sizes. Here blocks have half as many threads as the text is written for.
#[test]
fn planted_faults_of_blocks_smaller_than_their_kernel_are_found() {
    let mut limits = DeviceLimits::new(Architecture { major: 9, minor: 0 }, 16);
    limits.shared_bytes_per_block_optin = 227 * 1024;
    let programs = Program::ranges(&Interval::new(), &ScanSpec::inclusive(), None, &limits).unwrap();
    let serves = |carry| {
        let found = programs.iter().find(|program| {
            let threads = format!("THREADS = {};", program.plan.threads);
            program.plan.strategy.carry == carry && !program.source.text.contains(&threads)
        });
        found.unwrap_or_else(|| panic!("{carry}: no block has fewer threads than its kernel serves"))
    };
    let copied = [
        ("bytes.first / UNIT + k * block_threads()", "bytes.first / UNIT + k * THREADS"),
        ("i += step * block_threads()", "i += step * THREADS"),
    ];
    let begins = [("return block_threads() * RUN", "return THREADS * RUN")];
    let looked = [
        ("const unsigned warps = block_threads() / WARP", "const unsigned warps = WARPS"),
        ("first += block_threads()", "first += THREADS"),
    ];
    for (carry, changes) in
        [(Carry::LookAtAll, &[&copied[..], &begins, &looked].concat()), (Carry::OneBlock, &copied[..].to_vec())]
    {
        let program = serves(carry);
        let tile = u64::from(program.plan.tile);
        let is_found = |program: &Program<Interval>| {
            (0..8).any(|seed| {
                let length =
                    if carry == Carry::OneBlock { tile - 5 } else { [5 * tile - 5, 133 * tile][seed as usize % 2] };
                let input = inputs::<Interval>(length as usize);
                let emulator = Emulator::new(seed).resident_blocks([2, 1_000][seed as usize / 4]).check(adjacent);
                let emulator = emulator.limit(4_000_000);
                program.verify_at_offset(&emulator, &input, [(0, 0), (1, 1)][seed as usize / 2 % 2]).is_err()
            })
        };
        each_is_found(program, changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    }
}

/// A product that refuses zeros; the input has none.
#[derive(Clone)]
struct Checked;

#[scan_op]
impl ScanOp for Checked {
    type Element = u32;
    const IDENTITY: u32 = 1;
    fn combine(a: u32, b: u32) -> u32 {
        assert!(a != 0 && b != 0);
        a.wrapping_mul(b)
    }
}

/// The same, which accepts them.
#[derive(Clone)]
struct Unchecked;

#[scan_op]
impl ScanOp for Unchecked {
    type Element = u32;
    const IDENTITY: u32 = 1;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_mul(b)
    }
}

#[test]
fn only_operators_that_accept_zeros_combine_zeros_beyond_the_end() {
    fn texts<Op: ScanOp<Input = u32, State = u32, Output = u32> + Clone>(op: &Op, whole: bool) {
        let programs = Program::ranges(op, &ScanSpec::inclusive(), None, &DeviceLimits::BASELINE).unwrap();
        let [first, ..] = &programs[..] else { panic!("no plan") };
        assert_eq!(first.source.text.contains("WHOLE_RUNS = true"), whole, "{}", first.source.text);
        // The end is in the middle of a run.
        let len = u64::from(first.plan.run) * 5 + 1;
        assert!(first.plan.run > 1, "{}", first.plan);
        first.verify(&Emulator::new(1), &vec![3; len as usize]).unwrap();
    }
    texts(&Checked, false);
    texts(&Unchecked, true);
}

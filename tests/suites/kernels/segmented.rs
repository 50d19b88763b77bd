//! Segmented scans by every strategy, in the emulator and on the CPU.

use scan_codegen::Overrides;
use scan_runtime::{
    BlockScan, Carry, Error, Network, PlanError, ScanKind, Scanner, Strategy, TileNumbers, ops, scan_element,
};
use scan_tests::{
    configure,
    emulated::{Emulator, Program},
    operators::{
        AffineU32, Bytes3Sum, MatrixProduct, MixedSum, PolynomialHash, TakeLeft, TakeRight, TestOperator, bits, inputs,
        mixed,
    },
    planted::each_is_found,
    reference::{self, WAYS},
    segments::{HEAD_SOURCES, Heads, PATTERNS, Restart, begins, fit, places},
    strategies,
};

use super::compiled;

/// Threads of a block: few, so that short inputs have several tiles and several levels of aggregates.
const THREADS: u32 = 32;

/// The program of a strategy in one of the four ways, with heads from one of the sources.
fn program<Op: TestOperator>(
    strategy: Strategy,
    (kind, with_initial_value): (ScanKind, bool),
    head_source: usize,
    threads: u32,
) -> Program<Op> {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(strategy);
    overrides.threads = Some(threads);
    let initial_value = with_initial_value.then(Op::initial_value);
    let segments = Heads::new(head_source, &[]).segments();
    Program::segmented(Op::new(), kind, initial_value, segments, &overrides).unwrap()
}

fn emulator<Op: TestOperator>(seed: u64, program: &Program<Op>) -> Emulator {
    let choice = mixed(seed);
    // Blocks that wait for blocks with a smaller index need room for all.
    let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
    let resident = if needs_all { usize::MAX } else { [1, 2, 4, 7][(choice % 4) as usize] };
    let emulator = Emulator::new(choice).resident_blocks(resident);
    if choice >> 8 & 3 == 0 { emulator.interrupt_once_in(8) } else { emulator }
}

/// Runs every program over patterns and lengths that change from run to run, each pattern at least once.
fn climb<Op: TestOperator>(
    programs: Vec<(usize, Program<Op>)>,
    lengths: impl Fn(usize) -> Vec<usize>,
    inputs: impl Fn(&[bool]) -> Vec<Op::Item>,
    prepare: impl Fn(Emulator) -> Emulator,
) {
    let programs = compiled(programs.into_iter().enumerate());
    let mut failures = Vec::new();
    for (index, (head_source, program)) in &programs {
        let tile = program.plan.tile as usize;
        let lengths = lengths(tile);
        for run in 0..PATTERNS.len().max(lengths.len()) {
            let pattern = PATTERNS[run % PATTERNS.len()];
            let len = lengths[(run + index) % lengths.len()];
            let begins = begins(pattern, len, tile);
            let program = program.with_heads(Heads::new(*head_source, &begins));
            let emulator = prepare(emulator((index * 64 + run) as u64, &program));
            let input = inputs(&begins);
            let result = match run % 4 {
                1 => program.verify_in_place(&emulator, &input),
                2 => program.verify_at_offset(&emulator, &input, (3, 1)),
                _ => program.verify(&emulator, &input),
            };
            if let Err(error) = result {
                failures.push(format!("{len} elements, heads {}: {error}\n{}", pattern.0, program.plan));
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), programs.len(), failures.join("\n\n"));
}

/// Lengths at the edges of warps and tiles, and some far from them.
fn edges(tile: usize) -> Vec<usize> {
    vec![1, 2, 33, tile - 1, tile, tile + 1, 2 * tile + 1, 0, 3 * tile, 1_019, 7 * tile + 5]
}

/// The strategies that have their turn in one of the four ways; they take the sources of heads in turn, too.
fn in_turn(way: usize) -> Vec<(usize, Program<Restart>)> {
    let program = |(index, strategy)| {
        let head_source = index + 2 * way;
        (head_source, program::<Restart>(strategy, WAYS[way], head_source, THREADS))
    };
    strategies::in_turn(way).map(program).collect()
}

fn climb_in_way(way: usize) {
    climb(in_turn(way), edges, places, |emulator| emulator.check(fit));
}

#[test]
fn segments_by_every_strategy_match_the_reference() {
    (0..4).for_each(climb_in_way);
}

/// As [in scans without segments](super::ladder).
#[test]
fn strategies_in_turn_execute_every_pair_of_lines() {
    let all = strategies::all_segmented().enumerate().flat_map(|(index, strategy)| {
        (0..4).map(move |way| program::<Restart>(strategy, WAYS[way], index + 2 * way, THREADS).source.text)
    });
    let executed = (0..4).flat_map(in_turn).chain(of_every_head_source());
    let executed: Vec<_> = executed.map(|(_, program)| program.source.text).collect();
    let left_out = strategies::never_executed(all, executed.iter().map(String::as_str));
    assert!(left_out.is_empty(), "{left_out:#?}");
}

/// Wider blocks, in which warps and the runs of their threads must wait for each other.
#[test]
fn segments_in_blocks_of_several_warps_match_the_reference() {
    let programs: Vec<_> = strategies::in_turn(2)
        .enumerate()
        .map(|(index, (_, strategy))| {
            let threads = [64, 128, 256][index % 3];
            (index + 1, program::<Restart>(strategy, WAYS[index % 4], index + 1, threads))
        })
        .collect();
    climb(programs, |tile| vec![65, tile - 1, tile + 1, 2 * tile + 33, 1_531], places, |emulator| emulator.check(fit));
}

/// Every source of heads with each carry.
fn of_every_head_source() -> Vec<(usize, Program<Restart>)> {
    let carries = strategies::all_segmented()
        .filter(|strategy| strategy.block.coarsened && strategy.block.network == Network::WarpShuffle);
    carries
        .flat_map(|strategy| (0..HEAD_SOURCES).map(move |head_source| (strategy, head_source)))
        .enumerate()
        .map(|(index, (strategy, head_source))| {
            (head_source, program::<Restart>(strategy, WAYS[index % 4], head_source, THREADS))
        })
        .collect()
}

#[test]
fn every_head_source_with_every_carry_matches_the_reference() {
    climb(of_every_head_source(), edges, places, |emulator| emulator.check(fit));
}

/// Runs in registers of several lengths: the heads of a run lie in one word of the tile, in two, and in several. There
/// are more tiles than look-at-all reads at once.
#[test]
fn segments_of_runs_in_registers_match_the_reference() {
    fn programs<Op: TestOperator>(runs: &[u32]) -> Vec<(usize, Program<Op>)> {
        let shape = |(index, (strategy, run)): (usize, (Strategy, u32))| {
            let (kind, with_initial_value) = WAYS[index % 4];
            let mut overrides = Overrides::default();
            overrides.strategy = Some(strategy);
            (overrides.threads, overrides.run) = (Some([32, 64, 128][index % 3]), Some(run));
            overrides.statuses_per_lane = Some([1, 2][index % 2]);
            let initial_value = with_initial_value.then(Op::initial_value);
            let segments = Heads::new(index, &[]).segments();
            (index, Program::segmented(Op::new(), kind, initial_value, segments, &overrides).unwrap())
        };
        let strategies = runs.iter().flat_map(|&run| strategies::IN_REGISTERS.map(|strategy| (strategy, run)));
        strategies.enumerate().map(shape).collect()
    }
    let lengths = |tile: usize| vec![65, tile - 1, 2 * tile, 3 * tile + 33, 40 * tile.min(96) + 7];
    climb(programs::<Restart>(&[1, 5, 7, 12]), lengths, places, |emulator| emulator.check(fit));
    climb(
        programs::<ops::Sum<u8>>(&[33, 48, 80]),
        lengths,
        |begins| inputs::<ops::Sum<u8>>(begins.len()),
        |emulator| emulator,
    );
}

/// Strategies whose tiles have more words of heads than a warp has lanes.
fn programs_of_long_tiles() -> Vec<(usize, Program<PolynomialHash>)> {
    let carries = [Carry::OneBlock, Carry::ReduceThenScan, Carry::Chained(TileNumbers::Counter), Carry::LookBack];
    let program = |(index, carry): (usize, Carry)| {
        let mut overrides = Overrides::default();
        overrides.strategy = Some(Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry });
        (overrides.threads, overrides.run) = (Some(64), Some(33));
        let (kind, with_initial_value) = WAYS[index % 4];
        let initial_value = with_initial_value.then(PolynomialHash::initial_value);
        let segments = Heads::new(index, &[]).segments();
        let program = Program::segmented(PolynomialHash, kind, initial_value, segments, &overrides).unwrap();
        assert!(program.plan.tile > 2 * 1_024, "{}", program.plan);
        (index, program)
    };
    carries.into_iter().enumerate().map(program).collect()
}

#[test]
fn tiles_of_more_head_words_than_lanes_match_the_reference() {
    let inputs = |begins: &[bool]| inputs::<PolynomialHash>(begins.len());
    climb(programs_of_long_tiles(), |tile| vec![tile + 1, 2 * tile + 5], inputs, |emulator| emulator);
}

#[test]
fn planted_faults_of_long_tiles_are_found() {
    let changes = [
        ("first < HEAD_WORDS; first += WARP", "first < 1; first += WARP"),
        ("first < HEAD_WORDS; first += WARP", "first < HEAD_WORDS; first += 2 * WARP"),
        ("found = first + lowest_set_bit(words_with_heads)", "found = lowest_set_bit(words_with_heads)"),
    ];
    for (head_source, program) in programs_of_long_tiles() {
        let tile = program.plan.tile as usize;
        let is_found = |program: &Program<PolynomialHash>| {
            // Heads at every place of a tile, in tiles with one head or none.
            (0..8).any(|seed| {
                let len = 3 * tile;
                let begins: Vec<bool> = (0..len).map(|i| i % tile == (seed * 331 + i / tile * 700) % tile).collect();
                let program = program.with_heads(Heads::new(head_source, &begins));
                program.verify(&Emulator::new(seed as u64), &inputs::<PolynomialHash>(len)).is_err()
            })
        };
        each_is_found(&program, &changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    }
}

/// Other operators, over every strategy for which the index is a multiple of `step`.
fn other<Op: TestOperator>(first: usize, step: usize) {
    let programs: Vec<_> = strategies::all_segmented()
        .enumerate()
        .skip(first % step)
        .step_by(step)
        .map(|(index, strategy)| {
            let head_source = index / step + first;
            (head_source, program::<Op>(strategy, WAYS[head_source % 4], head_source, THREADS))
        })
        .collect();
    climb(programs, |tile| vec![33, tile + 1, 555], |begins| inputs::<Op>(begins.len()), |emulator| emulator);
}

#[test]
fn segments_of_other_operators_match_the_reference() {
    other::<ops::Sum<u8>>(0, 7);
    other::<ops::Sum<f32>>(1, 7);
    other::<TakeLeft>(2, 7);
    other::<TakeRight>(3, 7);
    other::<AffineU32>(4, 7);
    other::<Bytes3Sum>(5, 7);
    other::<MixedSum>(6, 7);
    other::<MatrixProduct<3>>(0, 9);
}

// ---- on the CPU -------------------------------------------------------------

fn compare_on_the_cpu<Op: TestOperator>(inputs: impl Fn(&[bool]) -> Vec<Op::Item>) {
    let scanner = Scanner::cpu();
    let mut head_source = 0;
    // Around the CPU backend's chunks, which stand for tiles.
    for len in [0, 1, 2, 33, 4_095, 4_096, 4_097, 40_000] {
        for pattern in PATTERNS {
            let begins = begins(pattern, len, 4_096);
            let input = inputs(&begins);
            for way in WAYS {
                head_source += 1;
                let heads = Heads::new(head_source, &begins);
                let expected =
                    reference::scan_segments(&Op::new(), way.0, way.1.then(Op::initial_value), &input, &begins);
                let scan = configure::<Op>(&scanner, way);
                let result = heads.of(&scan).run(&input).unwrap();
                assert!(bits(&result) == bits(&expected), "{len} elements, heads {}, {way:?}, {heads:?}", pattern.0);
            }
        }
    }
}

#[test]
fn segments_on_the_cpu_match_the_reference() {
    compare_on_the_cpu::<Restart>(places);
    compare_on_the_cpu::<PolynomialHash>(|begins| inputs::<PolynomialHash>(begins.len()));
    compare_on_the_cpu::<ops::Sum<u8>>(|begins| inputs::<ops::Sum<u8>>(begins.len()));
}

#[test]
fn segments_on_the_cpu_into_a_buffer_and_in_place_match_the_reference() {
    let begins: Vec<bool> = (0..30_000_u64).map(|i| mixed(i).is_multiple_of(1_000)).collect();
    let scanner = Scanner::cpu();
    let mut buffer = inputs::<PolynomialHash>(begins.len());
    let expected = reference::scan_segments(&PolynomialHash, ScanKind::Exclusive, None, &buffer, &begins);
    let scan = scanner.scan(PolynomialHash).exclusive();
    let scan = scan.by_flags(&begins);
    let mut output = buffer.clone();
    scan.run_into(&buffer, &mut output).unwrap();
    assert_eq!(output, expected);
    scan.run_in_place(&mut buffer).unwrap();
    assert_eq!(buffer, expected);
}

#[test]
fn heads_that_do_not_fit_the_input_are_refused() {
    let scanner = Scanner::cpu();
    let sum = || scanner.scan(ops::sum::<i32>());
    let input = [1; 33];
    let length = |result: Result<Vec<i32>, Error>| match result.unwrap_err() {
        Error::Length { what, found, expected, .. } => (what, found, expected),
        other => panic!("{other}"),
    };
    assert_eq!(length(sum().by_flags(&[true; 32]).run(&input)), ("head flags", 32, 33));
    assert_eq!(length(sum().by_bits(&[0]).run(&input)), ("words of head bits", 1, 2));
    assert_eq!(length(sum().by_keys(&[0_u64; 34]).run(&input)), ("keys", 34, 33));
    let error = sum().by_offsets(&[0_u32, 5, 4]).run(&input).unwrap_err();
    assert!(matches!(error, Error::OffsetsDescend { index: 2, offset: 4, before: 5 }), "{error}");
    let error = sum().by_offsets(&[0_usize, 34]).run(&input).unwrap_err();
    assert!(matches!(error, Error::OffsetPastEnd { index: 1, offset: 34, len: 33 }), "{error}");
    let error = sum().by_offsets(&[0, 5, -3]).run(&input).unwrap_err();
    let expected = "offset 2 is -3, out of bounds for an input of 33 elements: offsets go from 0 to 33";
    assert_eq!(error.to_string(), expected);
    let error = sum().by_offsets(&[i64::MIN, 5]).run(&input).unwrap_err();
    assert!(matches!(error, Error::OffsetPastEnd { index: 0, offset: -0x8000_0000_0000_0000, len: 33 }), "{error}");
    let error = sum().by_offsets(&[0, 5_i64, 4]).run(&input).unwrap_err();
    assert!(matches!(error, Error::OffsetsDescend { index: 2, offset: 4, before: 5 }), "{error}");
    assert_eq!(sum().by_offsets::<u64>(&[]).run(&[1, 2]).unwrap(), [1, 3], "no offsets: one segment");
    // Of each type.
    let (input, expected) = ([1, 2, 3, 4], [1, 3, 3, 7]);
    assert_eq!(sum().by_offsets(&[0_u32, 2, 4]).run(&input).unwrap(), expected);
    assert_eq!(sum().by_offsets(&[0_u64, 2, 4]).run(&input).unwrap(), expected);
    assert_eq!(sum().by_offsets(&[0_i32, 2, 4]).run(&input).unwrap(), expected);
    assert_eq!(sum().by_offsets(&[0_i64, 2, 4]).run(&input).unwrap(), expected);
}

#[scan_element]
#[derive(Clone, Copy)]
struct Padded {
    id: u64,
    kind: u8,
}

#[test]
fn padded_keys_are_refused() {
    let keys = [Padded { id: 1, kind: 2 }; 2];
    let error = Scanner::cpu().scan(ops::sum()).by_keys(&keys).run(&[1, 2]).unwrap_err();
    assert!(matches!(&error, Error::Plan(PlanError::KeyPadding { padding: 7, .. })), "{error}");
}

#[test]
fn keys_are_compared_by_their_bytes() {
    let nan = f32::NAN;
    let sums = Scanner::cpu().scan(ops::sum()).by_keys(&[nan, nan, 0.0, -0.0, -0.0]).run(&[1, 1, 1, 1, 1]).unwrap();
    assert_eq!(sums, [1, 2, 1, 1, 2]);
}

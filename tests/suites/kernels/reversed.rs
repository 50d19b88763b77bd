//! Scans from the last element to the first, in the emulator: over every rung of the ladder and by look-ahead, restarting or not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Overrides, ScanSpec};
use scan_runtime::{BlockScan, Carry, Network, ScanKind, Strategy, TileNumbers, ops};
use scan_tests::{
    emulated::{Emulator, Program},
    operators::{
        AffineU32, Bytes3Sum, CountersSum, MatrixProduct, MixedSum, Span, TakeLeft, TestOperator, compose, inputs,
        mixed,
    },
    planted::each_is_found,
    reference::WAYS,
    segments::{HEAD_SOURCES, Heads, PATTERNS, RestartBack, begins, fit_back, places_back},
    strategies,
};

use super::{
    compiled,
    look_ahead::{Shape, limits, overrides_of},
};

/// A reversed scan in one of the four ways, restarting by one of the head_sources or not at all.
fn program<Op: TestOperator>(
    overrides: &Overrides,
    (kind, with_initial_value): (ScanKind, bool),
    head_source: Option<usize>,
) -> Program<Op> {
    let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
    let spec = spec.reverse();
    let spec = match head_source {
        Some(head_source) => spec.with_segments(Heads::new(head_source, &[]).segments()),
        None => spec.with_total(),
    };
    let initial_value = with_initial_value.then(Op::initial_value);
    Program::with_limits(Op::new(), &spec, initial_value, &limits(), overrides).unwrap()
}

fn strategy_of(strategy: Strategy, threads: u32) -> Overrides {
    let mut overrides = Overrides::default().strategy(strategy).threads(threads);
    overrides.blocks = (strategy.carry == Carry::LookAhead).then_some(5);
    overrides
}

/// Whether two partial results are neighbours, the earlier one of the scan given first: it lies behind the other one in memory.
fn in_order(earlier: &Span, later: &Span) -> bool {
    fit_back(later, earlier)
}

/// Runs every program at lengths and places that change from run to run; the heads follow each pattern at least once.
fn climb<Op: TestOperator>(
    programs: Vec<(Option<usize>, Program<Op>)>,
    inputs: impl Fn(&[bool]) -> Vec<Op::Item>,
    prepare: impl Fn(Emulator) -> Emulator,
) {
    let programs = compiled(programs.into_iter().enumerate());
    let mut failures = Vec::new();
    for (index, (head_source, program)) in &programs {
        let tile = program.plan.tile as usize;
        let lengths = [5 * tile, 2 * tile + 7, tile, 1, 3 * tile - 1, tile + 1, 7 * tile + 33, 32, tile - 1, 2];
        for run in 0..if head_source.is_some() { PATTERNS.len() } else { 8 } {
            let pattern = PATTERNS[run % PATTERNS.len()];
            let length = lengths[(index + run) % lengths.len()].max(1);
            let begins = if head_source.is_some() { begins(pattern, length, tile) } else { vec![false; length] };
            let program = match head_source {
                Some(head_source) => program.with_heads(Heads::new(*head_source, &begins)),
                None => program.clone(),
            };
            let seed = mixed((index * 64 + run) as u64);
            let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
            let resident = if needs_all { usize::MAX } else { [1, 2, 4, 7][(seed / 7 % 4) as usize] };
            let emulator = Emulator::new(seed).resident_blocks(resident);
            let emulator = prepare(if seed.is_multiple_of(3) { emulator.interrupt_once_in(8) } else { emulator });
            let input = inputs(&begins);
            let result = match run % 4 {
                0 => program.verify_in_place(&emulator, &input),
                1 => program.verify(&emulator, &input),
                2 => program.verify_at_offset(&emulator, &input, (3, 1)),
                _ => program.verify_at_offset(&emulator, &input, (0, 5)),
            };
            if let Err(error) = result {
                failures.push(format!("{length} elements, heads {}: {error}\n{}", pattern.0, program.plan));
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), programs.len(), failures.join("\n\n"));
}

/// By the strategies in turn: of their texts, as many lines are executed as by all of them.
#[test]
fn strategies_match_the_reference() {
    let programs: Vec<_> = strategies::in_turn(3)
        .map(|(index, strategy)| {
            let overrides = strategy_of(strategy, [32, 64][index / 4 % 2]);
            (None, program::<RestartBack>(&overrides, WAYS[index / 4 % 4], None))
        })
        .collect();
    climb(programs, places_back, |emulator| emulator.check(in_order));
}

/// Strategies in turn, each told in one of the ways where it restarts.
#[test]
fn segmented_strategies_match_the_reference() {
    let programs: Vec<_> = strategies::in_turn(1)
        .enumerate()
        .map(|(index, (_, strategy))| {
            let head_source = Some(index % HEAD_SOURCES);
            (head_source, program::<RestartBack>(&strategy_of(strategy, 32), WAYS[index / 2 % 4], head_source))
        })
        .collect();
    climb(programs, places_back, |emulator| emulator.check(in_order));
}

/// Runs in registers: several lengths of a run, every way to tell where it restarts.
#[test]
fn runs_in_registers_match_the_reference() {
    let shapes = [(3, Carry::OneBlock), (4, Carry::LookAtAll), (9, Carry::Cluster), (33, Carry::LookBack)];
    let programs: Vec<_> = (0..HEAD_SOURCES)
        .flat_map(|head_source| shapes.map(|shape| (head_source, shape)))
        .enumerate()
        .map(|(index, (head_source, (run, carry)))| {
            let strategy = strategies::IN_REGISTERS.into_iter().find(|strategy| strategy.carry == carry).unwrap();
            let overrides = strategy_of(strategy, if run > 16 { 32 } else { 64 }).run(run);
            (Some(head_source), program::<RestartBack>(&overrides, WAYS[(index / 4 + index) % 4], Some(head_source)))
        })
        .collect();
    climb(programs, places_back, |emulator| emulator.check(in_order));
}

/// Threads of a team, teams, stages, elements a thread, blocks.
const SHAPES: [Shape; 4] = [(32, 2, 5, 4, 3), (64, 2, 6, 12, 2), (32, 1, 3, 36, 6), (96, 2, 5, 5, 1)];

/// Look-ahead of several shapes, every way to tell where it restarts.
#[test]
fn look_ahead_matches_the_reference() {
    let head_sources = (0..HEAD_SOURCES).map(Some).chain([None; 4]);
    let programs: Vec<_> = head_sources
        .enumerate()
        .map(|(index, head_source)| {
            let overrides = overrides_of(SHAPES[index % SHAPES.len()]);
            (head_source, program::<RestartBack>(&overrides, WAYS[(index / 4 + index) % 4], head_source))
        })
        .collect();
    climb(programs, places_back, |emulator| emulator.check(in_order));
}

/// Elements of several sizes and alignments, which runs read and write in units, in words, one by one and from swizzled places.
#[test]
fn elements_of_every_size_match_the_reference() {
    fn of<Op: TestOperator>() {
        let strategies = strategies::IN_REGISTERS.into_iter().filter(|_| size_of::<Op::Item>() <= 64);
        let in_registers = strategies.map(|strategy| strategy_of(strategy, 32));
        let shapes = SHAPES.map(|(threads, teams, stages, run, blocks)| {
            overrides_of((threads, teams, stages, run.min((256 / size_of::<Op::Item>() as u32).max(1)), blocks))
        });
        let programs: Vec<_> = in_registers
            .chain(shapes)
            .enumerate()
            .map(|(index, overrides)| (None, program::<Op>(&overrides, WAYS[index % 4], None)))
            .collect();
        climb(programs, |begins| inputs::<Op>(begins.len()), |emulator| emulator);
    }
    of::<ops::Sum<u8>>();
    of::<ops::Sum<i16>>();
    of::<TakeLeft>();
    of::<AffineU32>();
    of::<compose>();
    of::<Bytes3Sum>();
    of::<MixedSum>();
    of::<MatrixProduct<4>>();
    of::<CountersSum>();
    of::<ops::Sum<i128>>();
}

/// Mistakes in the order, each of which some pattern of heads shows: in the tile, in registers, in the pipeline.
#[test]
fn planted_faults_are_found() {
    let order = [
        ("return count - 1 - i;", "return i;"),
        ("constexpr unsigned HEAD_DISTANCE = 1;", "constexpr unsigned HEAD_DISTANCE = 0;"),
    ];
    let tile = [
        ("return {count - places.end, count - places.first};", "return places;"),
        ("place_of(start + first_place, n)", "place_of(start, n)"),
    ];
    let ladder = [("(extent.begins && i == 0)", "false")];
    let in_registers = [
        ("extent.places.end - (extent.begins ? HEAD_DISTANCE : 0)", "extent.places.end"),
        ("place = place_of(k, RUN);", "place = k;"),
        ("units, place_of(threadIdx.x, block_threads()));", "units, threadIdx.x);"),
        ("first = place_of(threadIdx.x, block_threads()) * RUN, bits", "first = threadIdx.x * RUN, bits"),
        ("unsigned char*)run.unit + place_of(k, RUN)", "unsigned char*)run.unit + k"),
        ("unsigned place = place_of(threadIdx.x, block_threads());", "unsigned place = threadIdx.x;"),
    ];
    let pipeline = [
        ("place_of(tile_index, block.tiles)", "tile_index"),
        ("numbers_at({tile.first, tile.end}, TILE);", "{tile.first, tile.end};"),
        ("elements[place_of(i, TILE)]", "elements[i]"),
        ("[place_of(i, TILE)] =", "[i] ="),
        ("run, results_of(stage, place));", "run, results_of(stage, thread));"),
        ("block.source, tile, place);", "block.source, tile, thread);"),
        ("bytes_needed(start + HEAD_DISTANCE);", "bytes_needed(start);"),
    ];
    let way = (ScanKind::Exclusive, true);
    let (flags, keys) = (0, 4);
    let kogge_stone = Strategy { block: BlockScan::of(Network::KoggeStone), carry: Carry::LookBack };
    let cases = [
        (flags, strategy_of(kogge_stone, 32), [&order[..], &tile[1..], &ladder].concat()),
        (flags, strategy_of(strategies::IN_REGISTERS[3], 64).run(4), [&order[..], &tile, &in_registers].concat()),
        (keys, overrides_of(SHAPES[0]), [&order[..], &tile[..1], &pipeline].concat()),
    ];
    for (head_source, overrides, changes) in cases {
        let program = program::<RestartBack>(&overrides, way, Some(head_source));
        let is_found = |program: &Program<RestartBack>| {
            (0..).zip(PATTERNS).any(|(seed, pattern)| {
                let tile = program.plan.tile as usize;
                let begins = begins(pattern, 5 * tile + 7, tile);
                let program = program.with_heads(Heads::new(head_source, &begins));
                let emulator = Emulator::new(seed).check(in_order).limit(4_000_000);
                program.verify_at_offset(&emulator, &places_back(&begins), [(0, 0), (1, 1)][seed as usize % 2]).is_err()
            })
        };
        each_is_found(&program, &changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    }
}

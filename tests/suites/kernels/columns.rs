//! Scans whose input and output have an array for each field, in the emulator: over every rung of the ladder and by
//! look-ahead, from either end, restarting or not, with each array at a place of its own.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::fmt::Debug;

use scan_codegen::{Arrays, Overrides, ScanSpec};
use scan_runtime::{BlockScan, Carry, Network, ScanKind, Strategy, TileNumbers};
use scan_tests::{
    columns::{ColumnsOperator, Recurrence, Summarize, Widen},
    emulated::{Emulator, EmulatorError, Program},
    operators::{AffineU32, mixed},
    planted::each_is_found,
    reference::WAYS,
    segments::{HEAD_SOURCES, Heads, PATTERNS, begins},
    stepped::{Appending, Coder},
    strategies,
};

use super::{
    compiled,
    look_ahead::{Shape, limits, overrides_of},
};

/// A program, and how it is told where it restarts.
type Case<Op> = (Option<usize>, Program<Op>);

const BY_FIELD: (Arrays, Arrays) = (Arrays::PerField, Arrays::PerField);

/// Offsets of the arrays, in items: all aligned; misaligned alike, so that one head padding aligns all; each by its
/// own; an array of the output, or of the input, beside the others.
const OFFSETS: [[usize; 5]; 9] = [
    [0; 5],
    [3; 5],
    [1, 2, 3, 4, 5],
    [0, 0, 0, 1, 0],
    [0, 0, 1, 0, 0],
    [3, 3, 2, 3, 3],
    [16, 4, 8, 0, 3],
    [0, 1, 0, 0, 0],
    [1, 0, 0, 0, 0],
];

fn case<Op: ColumnsOperator>(
    overrides: &Overrides,
    (input, output): (Arrays, Arrays),
    index: usize,
    head_source: Option<usize>,
) -> Case<Op> {
    let (kind, with_initial_value) = WAYS[index % WAYS.len()];
    let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
    let spec = if (index / 4).is_multiple_of(2) { spec } else { spec.reverse() };
    let spec = match head_source {
        Some(head_source) => spec.with_segments(Heads::new(head_source, &[]).segments()),
        None => spec,
    };
    let spec = if index.is_multiple_of(3) { spec.with_total() } else { spec };
    let spec = spec.with_arrays(input, output);
    let initial_value = with_initial_value.then(Op::initial_value);
    (head_source, Program::with_limits(Op::new(), &spec, initial_value, &limits(), overrides).unwrap())
}

fn overrides_of_strategy(strategy: Strategy, index: usize) -> Overrides {
    match strategy.carry {
        Carry::LookAhead => overrides_of(SHAPES[index % SHAPES.len()]),
        _ => Overrides::default().strategy(strategy).threads(32),
    }
}

const IN_SHARED_MEMORY: Strategy =
    Strategy { block: BlockScan::coarsened(Network::KoggeStone), carry: Carry::ReduceThenScan };

/// Threads of a team, teams, stages, run, blocks.
const SHAPES: [Shape; 4] = [(64, 1, 4, 4, 3), (32, 2, 6, 8, 2), (32, 2, 5, 5, 3), (64, 1, 3, 12, 6)];

fn verify<Op: ColumnsOperator<Output: Debug>>(
    (head_source, program): &Case<Op>,
    run: usize,
) -> Result<(), EmulatorError> {
    let tile = program.plan.tile as usize;
    let lengths = [5 * tile, 2 * tile + 7, tile, 1, 3 * tile - 1, tile + 1, 7 * tile + 33, 2];
    let length = lengths[run % lengths.len()].max(1);
    let seed = mixed(run as u64);
    let begins = begins(PATTERNS[run % PATTERNS.len()], length, tile);
    let program = match head_source {
        Some(head_source) => program.with_heads(Heads::new(*head_source, &begins)),
        None => program.clone(),
    };
    let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
    let emulator = Emulator::new(seed).resident_blocks(if needs_all { usize::MAX } else { [1, 2, 4, 7][run % 4] });
    let emulator = if seed.is_multiple_of(3) { emulator.interrupt_once_in(8) } else { emulator };
    program.verify_columns(&emulator, &Op::inputs(length, seed), &OFFSETS[run % OFFSETS.len()]).map(|_| ())
}

/// Runs each at lengths and places that change from program to program.
fn climb<Op: ColumnsOperator<Output: Debug>>(cases: Vec<Case<Op>>, runs: usize) {
    let cases = compiled(cases.into_iter().enumerate());
    let mut failures = Vec::new();
    for (index, case) in &cases {
        for run in 0..runs {
            if let Err(error) = verify(case, 3 * index + run) {
                failures.push(format!("run {}: {error}\n{}", 3 * index + run, case.1.plan));
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n\n"));
}

/// Three arrays of items of 1, 4 and 6 bytes, to two: each carry, and each network.
#[test]
fn every_strategy_matches_the_reference() {
    let picked = |&(index, strategy): &(usize, Strategy)| {
        strategy.block.in_registers || strategy.carry == Carry::LookAhead || index % 3 == 0
    };
    let cases: Vec<_> = strategies::all()
        .enumerate()
        .filter(picked)
        .map(|(index, strategy)| {
            let head_source = (index % 2 == 1).then_some(index / 2 % HEAD_SOURCES);
            case::<Summarize>(&overrides_of_strategy(strategy, index), BY_FIELD, index / 2, head_source)
        })
        .collect();
    climb(cases, 3);
}

/// Those that the planner chooses, in all shapes: results that take the place of elements, and results that do not; one
/// array on either side.
#[test]
fn runs_in_registers_and_in_stages_match_the_reference() {
    fn of<Op: ColumnsOperator<Output: Debug>>(layouts: (Arrays, Arrays)) {
        let in_registers = |(index, strategy)| {
            let overrides = Overrides::default().strategy(strategy).threads([32, 64][index % 2]);
            overrides.run([1, 2, 3, 4, 8, 12][index % 6])
        };
        let in_registers = strategies::IN_REGISTERS.into_iter().enumerate().map(in_registers);
        let cases: Vec<_> = in_registers
            .chain(SHAPES.map(overrides_of))
            .chain([Overrides::default().strategy(IN_SHARED_MEMORY).threads(32)])
            .enumerate()
            .map(|(index, overrides)| {
                let index = index + size_of::<Op::Output>();
                let head_source = (index % 3 == 0).then_some(index % HEAD_SOURCES);
                case::<Op>(&overrides, layouts, index, head_source)
            })
            .collect();
        climb(cases, 4);
    }
    of::<Summarize>(BY_FIELD);
    of::<Widen>(BY_FIELD);
    of::<Recurrence>(BY_FIELD);
    of::<AffineU32>(BY_FIELD);
    of::<AffineU32>((Arrays::One, Arrays::PerField));
    of::<Widen>((Arrays::PerField, Arrays::One));
    of::<Appending>(BY_FIELD);
    of::<Coder>(BY_FIELD);
}

/// What the planner chooses where it is asked for nothing, at the edges of its ranges.
#[test]
fn every_planned_range_matches_the_reference() {
    let spec = ScanSpec::inclusive().with_arrays(Arrays::PerField, Arrays::PerField);
    let programs = Program::ranges(&Recurrence, &spec, None, &limits()).unwrap();
    for program in &compiled(programs) {
        let length = 2 * program.plan.tile as usize + 5;
        let length = length.min(program.plan.max_len as usize);
        let inputs = Recurrence::inputs(length, 1);
        program.verify_columns(&Emulator::new(1), &inputs, &[1, 1, 1]).unwrap();
    }
}

/// Each array in turn is the only one that bulk copies cannot begin in.
#[test]
fn any_one_of_the_arrays_is_not_aligned() {
    let (_, program) = case::<Summarize>(&overrides_of(SHAPES[0]), BY_FIELD, 1, None);
    let input = Summarize::inputs(5 * program.plan.tile as usize + 7, 1);
    for array in 0..5 {
        for aligned in [0, 1] {
            let mut offsets = [aligned; 5];
            offsets[array] += 1;
            let verified = program.verify_columns(&Emulator::new(1), &input, &offsets);
            verified.unwrap_or_else(|error| panic!("{offsets:?}: {error}\n{}", program.plan));
        }
    }
}

/// Bulk copies can begin at the elements, and not at the results, or the other way round: they are two items apart.
#[test]
fn results_at_another_alignment_than_elements_match_the_reference() {
    let (_, program) = case::<AffineU32>(&overrides_of(SHAPES[0]), BY_FIELD, 1, None);
    let input = AffineU32::inputs(5 * program.plan.tile as usize + 7, 1);
    let verify = |program: &Program<AffineU32>| {
        let offsets = [[1, 1, 3, 3], [3, 3, 1, 1]];
        offsets.iter().try_for_each(|offsets| program.verify_columns(&Emulator::new(1), &input, offsets).map(drop))
    };
    verify(&program).unwrap();
    let mut planted = program;
    for array in ["a", "b"] {
        let from = format!("(size_t)output.{array} - head_padding");
        assert!(planted.source.text.contains(&from));
        planted.source.text = planted.source.text.replace(&from, &from.replace('-', "+"));
    }
    assert!(verify(&planted).is_err());
}

#[test]
fn planted_faults_are_found() {
    let in_registers = [
        // A region that begins where its neighbour does.
        (
            "load_array<f32>(source.input.value, extent, stage + TILE * 1 /",
            "load_array<f32>(source.input.value, extent, stage + TILE * 0 /",
        ),
        (
            "store_array<u8>(output.factor, extent, (const Unit*)(stage + TILE * 0)",
            "store_array<u8>(output.factor, extent, (const Unit*)(stage + TILE * 1)",
        ),
        // Units of another array.
        (
            "((const RunUnit<4>*)(stage + TILE * 0))[thread * 1 + k]",
            "((const RunUnit<4>*)(stage + TILE * 0))[thread * 4 + k]",
        ),
    ];
    let in_stages = [
        // The skip of an array applied to its neighbour.
        (
            "((size_t)input.code - head_padding * 6) % COPY_ALIGNMENT == 0",
            "((size_t)input.code - head_padding * 4) % COPY_ALIGNMENT == 0",
        ),
        (" & (((size_t)output.hash - head_padding * 4) % COPY_ALIGNMENT == 0)", ""),
        // The last array decides for all.
        (" & (((size_t)input.code - ", " & 0 | (((size_t)input.code - "),
        (" & (((size_t)output.factor - ", " & 0 | (((size_t)output.factor - "),
        (" + bulk_of(tile, 6).bytes", " + bulk_of(tile, 4).bytes"),
        // Regions exchanged.
        (
            "bulk_load(to + TILE * 1, (const unsigned char*)from.value, TILE * 4, full);",
            "bulk_load(to + TILE * 1, (const unsigned char*)from.code, TILE * 4, full);",
        ),
        (
            "copy_edges((unsigned char*)to, (const unsigned char*)from, tile, sizeof(Item), thread);",
            "copy_edges((unsigned char*)to, (const unsigned char*)from, tile, 4, thread);",
        ),
        (
            "begin_part_out((unsigned char*)to.hash, stage + TILE * 1, bulk_of(tile, 4));",
            "begin_part_out((unsigned char*)to.hash, stage + TILE * 1, bulk_of(tile, 1));",
        ),
        ("copy_rest((f32*)(stage + TILE * 1), from.value, tile, copies, thread);", ""),
    ];
    let strategy = strategies::IN_REGISTERS[3];
    let planned = [
        (Overrides::default().strategy(strategy).threads(64).run(4), &in_registers[..]),
        (overrides_of(SHAPES[0]), &in_stages),
    ];
    for (overrides, changes) in planned {
        let (head_source, program) = case::<Summarize>(&overrides, BY_FIELD, 1, None);
        let is_found = |program: &Program<Summarize>| {
            let case = (head_source, program.clone());
            (0..40).any(|run| verify(&case, run).is_err())
        };
        each_is_found(&program, changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    }
}

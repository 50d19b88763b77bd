//! Scans of rows, in the emulator: by every carry and by look-ahead, rows of few elements and of many, in both directions.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Overrides, ScanSpec, Segments};
use scan_runtime::{Carry, Network, ScanKind, TileNumbers, ops};
use scan_tests::{
    emulated::{Emulator, Program},
    operators::{Bytes3Sum, MatrixProduct, TestOperator, inputs, mixed},
    planted::each_is_found,
    reference::WAYS,
    segments::{Heads, Restart, fit, places},
    strategies,
};

use super::{
    compiled,
    look_ahead::{Shape, limits, overrides_of},
};

/// Threads of a team, teams, stages, elements a thread, blocks.
const SHAPES: [Shape; 4] = [(32, 2, 5, 4, 3), (64, 2, 6, 12, 2), (32, 1, 3, 36, 6), (96, 2, 5, 5, 1)];

fn program<Op: TestOperator>(
    overrides: &Overrides,
    (kind, with_initial_value): (ScanKind, bool),
    reversed: bool,
) -> Program<Op> {
    let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
    let spec = if reversed { spec.reverse() } else { spec };
    let initial_value = with_initial_value.then(Op::initial_value);
    Program::with_limits(Op::new(), &spec.with_segments(Segments::Rows), initial_value, &limits(), overrides).unwrap()
}

/// Elements of a row and rows: rows that fill words, warps, runs and tiles or not, one row alone, rows of one element.
fn matrices(tile: usize) -> [(usize, usize); 12] {
    [
        (1, 3 * tile + 5),
        (2, tile),
        (3, tile + 1),
        (31, 70),
        (32, 65),
        (33, 64),
        (tile - 1, 7),
        (tile, 5),
        (tile + 1, 4),
        (5 * tile + 7, 1),
        (2 * tile + 3, 3),
        (7, 9),
    ]
}

fn verify<Op: TestOperator>(
    program: &Program<Op>,
    (row, rows): (usize, usize),
    seed: u64,
    inputs: impl Fn(&[bool]) -> Vec<Op::Item>,
    prepare: impl Fn(Emulator) -> Emulator,
) -> Result<(), String> {
    let heads = Heads::rows(row, row * rows);
    let input = inputs(&heads.begins);
    let program = program.with_heads(heads);
    let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
    let resident = if needs_all { usize::MAX } else { [1, 2, 4, 7][(seed / 7 % 4) as usize] };
    let emulator = Emulator::new(seed).resident_blocks(resident).limit(100_000_000);
    let emulator = prepare(if seed.is_multiple_of(3) { emulator.interrupt_once_in(8) } else { emulator });
    let result = match seed % 3 {
        0 => program.verify_in_place(&emulator, &input),
        1 => program.verify(&emulator, &input),
        _ => program.verify_at_offset(&emulator, &input, (3, 1)),
    };
    result.map(drop).map_err(|error| format!("{rows} rows of {row}: {error}\n{}", program.plan))
}

fn climb<Op: TestOperator>(
    programs: Vec<Program<Op>>,
    inputs: impl Fn(&[bool]) -> Vec<Op::Item>,
    prepare: impl Fn(Emulator) -> Emulator,
) {
    let programs = compiled(programs.into_iter().enumerate());
    let mut failures = Vec::new();
    for (index, program) in &programs {
        for (run, matrix) in matrices(program.plan.tile as usize).into_iter().enumerate() {
            failures.extend(verify(program, matrix, mixed((index * 64 + run) as u64), &inputs, &prepare).err());
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

/// The shapes that differ in how they find heads: a tile in shared memory, runs in registers, stages of look-ahead.
fn shapes() -> Vec<Overrides> {
    let tiles = strategies::all_segmented().filter(|strategy| strategy.block.network == Network::KoggeStone);
    let tiles = tiles.map(|strategy| Overrides::default().strategy(strategy).threads(32));
    let in_registers = strategies::IN_REGISTERS.into_iter().zip([3, 4, 9, 16, 12, 33]);
    let in_registers = in_registers.map(|(strategy, run)| Overrides::default().strategy(strategy).threads(32).run(run));
    tiles.chain(in_registers).chain(SHAPES.map(overrides_of)).collect()
}

#[test]
fn rows_of_every_length_match_the_reference() {
    let programs: Vec<_> = shapes()
        .iter()
        .enumerate()
        .map(|(index, overrides)| program::<Restart>(overrides, WAYS[index % 4], false))
        .collect();
    climb(programs, places, |emulator| emulator.check(fit));
}

/// An operator whose operands must not be exchanged, and elements of other sizes.
#[test]
fn reversed_rows_match_the_reference() {
    fn of<Op: TestOperator>() {
        let programs: Vec<_> = shapes()
            .iter()
            .enumerate()
            .filter(|(index, _)| index % 3 == size_of::<Op::Item>() % 3)
            .map(|(index, overrides)| program::<Op>(overrides, WAYS[index / 2 % 4], true))
            .collect();
        climb(programs, |begins| inputs::<Op>(begins.len()), |emulator| emulator);
    }
    of::<MatrixProduct<2>>();
    of::<Bytes3Sum>();
    of::<ops::Sum<u8>>();
}

#[test]
fn planted_faults_are_found() {
    let in_registers = [
        ("past > 0 ? source.row - past : 0", "past > 0 ? source.row - past + 1 : 0"),
        ("<< first % WARP) << beyond", "<< first % WARP) << 0"),
        ("<< beyond >> beyond", "<< beyond >> 0"),
    ];
    let in_stages = [
        ("first = max(base, tile.first);", "first = base;"),
        ("heads |= heads << distance", "heads |= 1u << distance"),
        ("rest < WARP ? heads << rest : 0", "heads << rest % WARP"),
        ("found << (first - base)", "found"),
        ("tile.start + HEAD_DISTANCE + first", "tile.start + HEAD_DISTANCE + base"),
    ];
    let strategy = strategies::IN_REGISTERS[3];
    let cases = [
        (Overrides::default().strategy(strategy).threads(64).run(4), &in_registers[..]),
        (overrides_of(SHAPES[0]), &in_stages),
    ];
    for (overrides, changes) in cases {
        let program = program::<Restart>(&overrides, (ScanKind::Exclusive, true), false);
        let is_found = |program: &Program<Restart>| {
            let matrices = matrices(program.plan.tile as usize);
            (2..14).zip(matrices).any(|(seed, matrix)| {
                verify(program, matrix, 3 * seed + 2, places, |emulator| emulator.check(fit)).is_err()
            })
        };
        each_is_found(&program, changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    }
}

//! Scans of which only the device knows how many elements there are, in the emulator: every carry, from either end,
//! restarting or not, at lengths from none to all, again and again on the same statuses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Overrides, PlanError, ScanSpec};
use scan_runtime::{BlockScan, Carry, Network, ScanKind, Strategy, TileNumbers, ops, scan_op};
use scan_tests::{
    emulated::{Emulator, EmulatorError, Program},
    operators::{AffineU32, TestOperator, inputs, mixed},
    planted::each_is_found,
    reference::WAYS,
    segments::{HEAD_SOURCES, Heads, PATTERNS, begins},
    stepped::Coder,
    strategies,
};

use super::{
    compiled,
    look_ahead::{Shape, limits, overrides_of},
};

#[scan_op]
fn first_of_two(a: u32, _b: u32) -> u32 {
    a
}

/// Threads of a team, teams, stages, run, blocks: the last one in groups.
const SHAPES: [Shape; 3] = [(64, 1, 4, 4, 3), (32, 2, 6, 8, 2), (32, 1, 3, 4, 6)];

fn overrides() -> Vec<Overrides> {
    let in_registers =
        strategies::IN_REGISTERS.into_iter().map(|strategy| Overrides::default().strategy(strategy).threads(32));
    let block = BlockScan::coarsened(Network::KoggeStone);
    let in_shared_memory = [Carry::OneBlock, Carry::LookBack]
        .map(|carry| Overrides::default().strategy(Strategy { block, carry }).threads(32));
    in_registers.chain(SHAPES.map(overrides_of)).chain(in_shared_memory).collect()
}

fn program<Op: TestOperator>(overrides: &Overrides, index: usize) -> Result<Program<Op>, EmulatorError> {
    let (kind, with_initial_value) = WAYS[index % WAYS.len()];
    let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
    let spec = if (index / 2).is_multiple_of(2) { spec } else { spec.reverse() };
    let spec = if index % 4 == 3 { spec } else { spec.with_total() };
    let head_source = (index % 3 == 1).then_some(index % HEAD_SOURCES);
    let spec =
        head_source.iter().fold(spec, |spec, head_source| spec.with_segments(Heads::new(*head_source, &[]).segments()));
    let initial_value = with_initial_value.then(Op::initial_value);
    Program::with_limits(Op::new(), &spec.with_length_on_device(), initial_value, &limits(), overrides)
}

/// Several lengths, one after the other.
fn verify<Op: TestOperator>(program: &Program<Op>, index: usize) -> Result<(), EmulatorError> {
    let tile = program.plan.tile as usize;
    let max = (4 * tile + 5).min(program.plan.max_len as usize);
    let begins = begins(PATTERNS[index % PATTERNS.len()], max, tile);
    let head_source = (index % 3 == 1).then_some(index % HEAD_SOURCES);
    let program = match head_source {
        Some(head_source) => program.with_heads(Heads::new(head_source, &begins)),
        None => program.clone(),
    };
    let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
    for (run, told) in [0, 1, tile, 2 * tile + 7, max, max + 3, tile - 1, 0].into_iter().enumerate() {
        let emulator = Emulator::new(mixed((index + run) as u64));
        let emulator = emulator.resident_blocks(if needs_all { usize::MAX } else { [2, 7, 1][run % 3] });
        let offsets = [(0, 0), (3, 3), (1, 2)][(index + run) % 3];
        program.verify_length(&emulator, &inputs::<Op>(max), offsets, (told as u64, told as u64))?;
    }
    // None of the one tile that is launched for: no other block can give the total.
    let program = match head_source {
        Some(head_source) => program.with_heads(Heads::new(head_source, &begins[..tile.min(max)])),
        None => program,
    };
    program.verify_length(&Emulator::new(1), &inputs::<Op>(tile.min(max)), (0, 0), (0, 0))
}

#[test]
fn every_carry_with_length_on_device_matches_the_reference() {
    let programs: Vec<Program<AffineU32>> = (0..3)
        .flat_map(|turn| overrides().into_iter().enumerate().map(move |(index, overrides)| (index + turn, overrides)))
        .map(|(index, overrides)| program(&overrides, index).unwrap())
        .collect();
    let count = overrides().len();
    for (place, program) in &compiled(programs.into_iter().enumerate()) {
        let index = place % count + place / count;
        verify(program, index).unwrap_or_else(|error| panic!("{index}: {error}\n{}", program.plan));
    }
}

/// The total of no elements is the start of a stepped operator.
#[test]
fn stepped_operators_with_length_on_device_match_the_reference() {
    for overrides in [overrides_of(SHAPES[0]), Overrides::default().strategy(strategies::IN_REGISTERS[3]).threads(32)] {
        let spec = ScanSpec::inclusive().with_total().with_length_on_device();
        let program = Program::with_limits(Coder, &spec, None, &limits(), &overrides).unwrap();
        let input = scan_tests::lifting::inputs(3 * program.plan.tile as usize);
        for told in [0, 1, input.len() as u64 - 5] {
            program.verify_length(&Emulator::new(told), &input, (0, 0), (told, told)).unwrap();
        }
    }
}

#[test]
fn scans_without_a_plan_for_length_on_device_are_refused() {
    let spec = ScanSpec::inclusive().with_length_on_device();
    let block = BlockScan::coarsened(Network::KoggeStone);
    let overrides = Overrides::default().strategy(Strategy { block, carry: Carry::ReduceThenScan });
    let error = Program::of(ops::sum::<u32>(), &spec, None, &overrides).unwrap_err();
    assert!(
        matches!(&error, EmulatorError::Plan(PlanError::Strategy { why, .. }) if why.contains("length")),
        "{error}"
    );
    let spec = spec.with_total();
    let error = Program::of(first_of_two, &spec, None, &Overrides::default()).unwrap_err();
    assert!(matches!(error, EmulatorError::Plan(PlanError::NoIdentity { .. })), "{error}");
}

#[test]
fn planted_faults_are_found() {
    let everywhere =
        [("n = given < n ? (size_t)given : n;", ""), ("n = given < n ? (size_t)given : n;", "n = (size_t)given;")];
    let in_blocks = [
        ("      epoch_of(assignment.ticket, tickets, statuses, tiles, room);\n", ""),
        ("tile_index == tiles - 1", "tile_index == gridDim.x - 1"),
        ("if (n == 0 && tile_index == 0) {", "if (n == 0 && tile_index == 1) {"),
    ];
    let in_stages = [("n == 0 ? 0 : (unsigned)", "(unsigned)")];
    let planned = [
        (Overrides::default().strategy(strategies::IN_REGISTERS[3]).threads(32), &everywhere[..]),
        (Overrides::default().strategy(strategies::IN_REGISTERS[3]).threads(32), &in_blocks[..]),
        (overrides_of(SHAPES[0]), &everywhere[..]),
        (overrides_of(SHAPES[0]), &in_stages[..]),
    ];
    for (overrides, changes) in planned {
        let program = program::<AffineU32>(&overrides, 0).unwrap().for_longer_inputs().unwrap();
        let is_found = |program: &Program<AffineU32>| (0..6).any(|turn| verify(program, 3 * turn).is_err());
        each_is_found(&program, changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
    }
}

//! The matrix of kinds of scans, in the emulator: the cells by several carries in turn.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::{collections::HashSet, fmt::Debug, sync::LazyLock};

use scan_codegen::{ColumnsPlan, Overrides};
use scan_runtime::{BlockScan, Carry, Network, Strategy, TileNumbers, ops};
use scan_tests::{
    emulated::{ColumnsProgram, Emulator, EmulatorError, Program},
    extent::{compiled, is_long, lines_of},
    matrix::{Begins, Cell, Lies, Operator, Register, Restarts, cells},
    operators::{AffineU32, mixed},
    strategies,
};

use super::look_ahead::{limits, overrides_of};

/// A block scan whose launches do not depend on the length, or reduce-then-scan where the host knows that.
fn overrides(index: usize, cell: &Cell) -> Overrides {
    let in_shared_memory = |carry| Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry };
    let by_strategy = |strategy| Overrides::default().strategy(strategy).threads(32);
    match index % 4 {
        0 => overrides_of((64, 1, 4, 4, 3)),
        1 => by_strategy(strategies::IN_REGISTERS[index / 4 % strategies::IN_REGISTERS.len()]),
        2 => overrides_of((32, 2, 6, 8, 2)),
        _ if cell.length_on_device => by_strategy(in_shared_memory(Carry::LookBack)),
        _ => by_strategy(in_shared_memory(Carry::ReduceThenScan)),
    }
}

fn verify<Op: Operator>(cell: &Cell, program: &Program<Op>, index: usize) -> Result<(), EmulatorError> {
    let tile = program.plan.tile as usize;
    let max = program.plan.max_len as usize;
    let needs_all = program.plan.strategy.carry == Carry::Chained(TileNumbers::BlockIndex);
    for (run, len) in [1, 3 * tile + 6, 2 * tile].into_iter().enumerate() {
        let len = len.min(max);
        let input = Op::inputs(len, (index + run) as u64);
        let emulator = Emulator::new(mixed((index + run) as u64));
        let emulator = emulator.resident_blocks(if needs_all { usize::MAX } else { [2, 7, 1][run % 3] });
        let program = match cell.heads(len, tile) {
            Some(heads) => {
                let values = cell.initial_values::<Op>(Some(&heads));
                program.with_heads_and_values(heads, values)
            }
            None => program.clone(),
        };
        let told = (len - len / 3) as u64;
        // Of rows, as many as are whole.
        let wanted = match cell.restarts {
            Restarts::ByRows => told - told % program.heads.as_ref().map_or(1, |heads| heads.head_count()),
            _ => told,
        };
        let offsets = [run, 1, 2, run];
        match cell.memory {
            Lies::InSlices if cell.length_on_device => {
                program.verify_length(&emulator, &input, (run, 1), (told, wanted))?
            }
            _ if cell.length_on_device => program.verify_kinds(&emulator, &input, &offsets, Some((told, wanted)))?,
            Lies::InSlices => _ = program.verify_at_offset(&emulator, &input, (run, 1))?,
            Lies::ByField => _ = program.verify_columns(&emulator, &input, &offsets)?,
            Lies::AtPlaces | Lies::ByNeighbour => program.verify_kinds(&emulator, &input, &offsets, None)?,
        }
    }
    Ok(())
}

fn along_an_axis<Op: Operator>(cell: &Cell, index: usize) -> ColumnsProgram<Op> {
    let initial_value = (cell.begins == Begins::WithOne).then(Op::initial_value);
    let (threads, run, width, across, blocks) =
        [(64, 2, 2, 16, 5), (32, 3, 1, 4, 3), (64, 2, 4, 2, 7), (32, 2, 1, 32, 7)][index % 4];
    let overrides = Overrides::default().threads(threads).run(run).blocks(blocks);
    let shaped = |plan: ColumnsPlan| plan.shaped(width, across);
    ColumnsProgram::new(Op::new(), &cell.spec(), initial_value, &overrides, shaped).unwrap()
}

fn verify_along_an_axis<Op: Operator<Carry: Debug>>(cell: &Cell, program: &ColumnsProgram<Op>, index: usize) {
    let axes = [1, 1_205, 362].map(Cell::axes).into_iter().enumerate();
    for (run, axis) in axes.flat_map(|(run, axes)| axes.map(|axis| (run, axis))) {
        let values: Vec<_> = (0..axis.columns() as u64).map(Op::value_of_segment).collect();
        let values = (cell.begins == Begins::WithItsOwn).then_some(&values[..]);
        let emulator = Emulator::new(mixed((index + run) as u64)).resident_blocks([2, 7, 1][run]);
        let input = Op::inputs(axis.len(), (index + run) as u64);
        let result = program.verify_each(&emulator, &axis, &input, values, &[run, 0, 2 * run]);
        result.unwrap_or_else(|error| panic!("{cell:?}, {axis:?}: {error}\n{}", program.plan));
    }
}

/// The cells of a turn along an axis, or the others.
fn cells_of(turn: u64, along: bool) -> impl Iterator<Item = (usize, Cell)> {
    let cells = cells(turn, is_long()).into_iter();
    cells.filter(move |cell| (cell.restarts == Restarts::ByColumns) == along).enumerate()
}

/// The programs of the cells that are not along an axis.
fn programs<Op: Operator>(turn: u64) -> impl Iterator<Item = ((usize, Cell), Program<Op>)> {
    cells_of(turn, false).map(move |(index, cell)| {
        let initial_value = (cell.begins == Begins::WithOne).then(Op::initial_value);
        let overrides = overrides(index + turn as usize, &cell);
        let program = Program::with_limits(Op::new(), &cell.spec(), initial_value, &limits(), &overrides).unwrap();
        ((index, cell), program)
    })
}

/// The lines of these programs' kernels, which every run of the suite executes. Of the texts of a scan along an axis, of
/// which there are several for arrays of several kinds, a run executes some.
pub(crate) static LINES: LazyLock<HashSet<u64>> = LazyLock::new(|| {
    let first = programs::<AffineU32>(1).flat_map(|(_, program)| lines_of(&program.source));
    let second = programs::<Register>(2).flat_map(|(_, program)| lines_of(&program.source));
    let third = programs::<ops::WithExclusive<AffineU32>>(3).flat_map(|(_, program)| lines_of(&program.source));
    first.chain(second).chain(third).collect()
});

fn of_operator<Op: Operator<Carry: Debug>>(turn: u64) {
    let along = cells_of(turn, true).map(|(index, cell)| ((index, cell), along_an_axis::<Op>(&cell, index)));
    for ((index, cell), program) in &compiled(along) {
        verify_along_an_axis(cell, program, *index);
    }
    for ((index, cell), program) in &compiled(programs::<Op>(turn)) {
        verify(cell, program, *index).unwrap_or_else(|error| panic!("{cell:?}: {error}\n{}", program.plan));
    }
}

#[test]
fn every_combination_of_kinds_matches_the_reference() {
    of_operator::<AffineU32>(1);
    of_operator::<Register>(2);
    of_operator::<ops::WithExclusive<AffineU32>>(3);
}

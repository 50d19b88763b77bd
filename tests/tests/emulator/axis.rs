//! Scans along an axis of an array, in the emulator: columns that fill threads, warps and tiles or not, one tile long
//! and many, side by side and apart.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{Axis, ColumnsPlan, Overrides, ScanSpec};
use scan_runtime::{ScanKind, ScanOp, ops};
use scan_tests::{
    emulator::{ColumnsProgram, Emulator, Module},
    lifting::{self, Lifting},
    operators::{Bytes3Sum, Interval, MatrixProduct, TakeLeft, TestOperator, adjacent, mixed},
    planted::each_is_found,
    reference::{self, WAYS},
};

/// A shape of the kernel: threads, rows of a thread, columns of a thread, threads side by side at the least.
type Shape = (u32, u32, u32, u32);

/// Blocks of one warp and of several, tiles of one column and of many.
const SHAPES: [Shape; 6] =
    [(32, 2, 1, 4), (64, 3, 2, 8), (64, 2, 1, 32), (128, 1, 2, 64), (64, 2, 1, 1), (64, 1, 4, 2)];

fn overrides((threads, run, ..): Shape) -> Overrides {
    Overrides::default().threads(threads).run(run)
}

fn shaped((_, _, width, across): Shape) -> impl Fn(&mut ColumnsPlan) {
    move |plan| (plan.width, plan.least_across) = (width, across)
}

fn program<Op: TestOperator>(
    shape: Shape,
    (kind, with_initial_value): (ScanKind, bool),
    reversed: bool,
) -> ColumnsProgram<Op> {
    let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
    let spec = if reversed { spec.reverse() } else { spec };
    let initial_value = with_initial_value.then(Op::initial_value);
    ColumnsProgram::new(Op::new(), &spec, initial_value, &overrides(shape), shaped(shape)).unwrap()
}

/// Shapes of arrays, and the axis, for tiles of so many rows at the most: columns of one row, of a tile and one more or
/// less, of several tiles and groups of tiles; one column, few, and such as fill a warp or do not; several arrays.
fn arrays(rows: usize) -> Vec<(Vec<usize>, usize)> {
    let lengths = [1, 2, 31, 33, rows - 1, rows, rows + 1, 3 * rows + 2, 9 * rows - 1];
    let columns = [1, 5, 32, 33, 100, 8, 5, 2, 1];
    let of_one = lengths.iter().zip(columns).map(|(&length, columns)| (vec![length, columns], 0));
    let of_many = [(vec![3, rows + 1, 5], 1), (vec![2, 3, 2 * rows, 4], 2), (vec![3, 40, 1], 1), (vec![5, 70], 1)];
    of_one.chain(of_many).collect()
}

/// The elements of an array. Those of a column follow each other. Columns are so many elements apart.
fn elements<T: Copy>(axis: &Axis, apart: u64, element: impl Fn(u64) -> T) -> Vec<T> {
    let mut input: Vec<T> = (0..axis.input_len() as u64).map(|gap| element(1 << 50 | 3 * gap)).collect();
    let (strides, _) = axis.both_strides();
    for (number, column) in reference::columns(axis).iter().enumerate() {
        let first: usize = column.iter().zip(strides).map(|(index, stride)| index * stride).sum();
        for row in 0..axis.shape()[axis.axis()] {
            input[first + row * strides[axis.axis()]] = element(number as u64 * apart + row as u64);
        }
    }
    input
}

fn emulator(seed: u64) -> Emulator {
    let emulator = Emulator::new(seed).resident_blocks([1, 2, 4, 7][(seed / 7 % 4) as usize]).limit(100_000_000);
    if seed.is_multiple_of(3) { emulator.interrupt_once_in(8) } else { emulator }
}

fn verify<Op: TestOperator>(
    program: &ColumnsProgram<Op>,
    axis: &Axis,
    seed: u64,
    prepare: impl Fn(Emulator) -> Emulator,
) -> Result<(), String> {
    // An interval follows the initial value, if there is one.
    let input = elements(axis, if program.initial_value.is_some() { 0 } else { 1 << 32 }, Op::input);
    let emulator = prepare(emulator(seed));
    let result = match seed % 3 {
        0 if axis.lies_the_same() => program.verify_in_place(&emulator, axis, &input),
        1 => program.verify(&emulator, axis, &input, (3, 1)),
        _ => program.verify(&emulator, axis, &input, (0, 0)),
    };
    result.map_err(|error| format!("{axis:?}: {error}\n{}", program.plan))
}

fn climb<Op: TestOperator>(shapes: &[Shape], reversed: bool, prepare: impl Fn(Emulator) -> Emulator) {
    let programs: Vec<_> =
        shapes.iter().enumerate().map(|(index, shape)| program::<Op>(*shape, WAYS[index % 4], reversed)).collect();
    Module::compile(&programs.iter().map(|program| &program.source).collect::<Vec<_>>()).unwrap();
    let mut failures = Vec::new();
    for (index, program) in programs.iter().enumerate() {
        let (threads, run, _, across) = shapes[index];
        for (number, (shape, axis)) in arrays((threads / across * run) as usize).into_iter().enumerate() {
            let axis = Axis::of(&shape, axis).unwrap();
            let seed = mixed((index * 64 + number) as u64);
            failures.extend(verify(program, &axis, seed, &prepare).err());
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

/// The interval monoid proves the kernel for every operator.
#[test]
fn of_every_shape() {
    climb::<Interval>(&SHAPES, false, |emulator| emulator.check(adjacent));
}

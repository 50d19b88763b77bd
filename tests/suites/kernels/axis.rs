//! Scans along an axis of an array, in the emulator: columns that fill threads, warps and tiles or not, one tile long
//! and many, side by side and apart.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{ArrayKind, ArrayKinds, Arrays, Axis, ColumnsPlan, DeviceLimits, Overrides, ScanSpec, plan_columns};
use scan_runtime::{ScanKind, ScanOp, ops};
use scan_tests::{
    axes::{drawn, elements, not_contiguous, strided},
    checked::render_columns,
    columns::{ColumnsOperator, Recurrence, Summarize, Widen},
    emulated::{ColumnsProgram, Emulator, Module},
    lifting::{INITIAL_VALUE, Lifting, inputs},
    operators::{AffineU32, Bytes3Sum, Interval, MatrixProduct, TakeLeft, TestOperator, adjacent, mixed},
    planted::{Change, each_is_found},
    reference::WAYS,
    stepped::Coder,
};

use super::compiled;

/// A shape of the kernel: threads, rows of a thread, columns of a thread, threads side by side at the least, blocks. None
/// where threads scan their columns alone.
pub(crate) type Shape = (u32, u32, u32, u32, u32);

/// Blocks of one warp and of several, tiles of one column and of many.
pub(crate) const SHAPES: [Shape; 9] = [
    (32, 2, 1, 4, 3),
    (64, 3, 2, 8, 7),
    (64, 2, 1, 32, 100),
    (128, 1, 2, 64, 2),
    (64, 2, 1, 1, 1),
    (64, 1, 4, 2, 5),
    (32, 2, 1, 32, 7),
    (32, 3, 2, 32, 0),
    (32, 1, 1, 32, 0),
];

fn overrides((threads, run, _, _, blocks): Shape) -> Overrides {
    let overrides = Overrides::default().threads(threads).run(run);
    if blocks > 0 { overrides.blocks(blocks) } else { overrides }
}

fn shaped((_, run, width, across, blocks): Shape) -> impl Fn(ColumnsPlan) -> ColumnsPlan {
    move |plan| {
        let plan = plan.shaped(width, across);
        if blocks > 0 { plan } else { plan.streaming(run) }
    }
}

pub(crate) fn program<Op: TestOperator>(
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

/// Each shape in another way to scan, from this one on.
fn climb<Op: TestOperator>(shapes: &[Shape], way: usize, reversed: bool, prepare: impl Fn(Emulator) -> Emulator) {
    let programs = shapes
        .iter()
        .enumerate()
        .map(|(index, shape)| (index, program::<Op>(*shape, WAYS[(way + index) % 4], reversed)));
    let programs = compiled(programs);
    let mut failures = Vec::new();
    for (index, program) in &programs {
        let (threads, run, _, across, _) = shapes[*index];
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
fn every_shape_matches_the_reference() {
    climb::<Interval>(&SHAPES, 0, false, |emulator| emulator.check(adjacent));
}

/// Operators whose operands must not be exchanged, and elements of 1, 3, 4, 8, 24 and 36 bytes; from the first row and
/// from the last.
#[test]
fn every_element_type_matches_the_reference() {
    fn of<Op: TestOperator>(index: usize) {
        let shapes = [SHAPES[index % 7], SHAPES[(index + 3) % 7]];
        climb::<Op>(&shapes[..1], index, index.is_multiple_of(2), |emulator| emulator);
        climb::<Op>(&shapes[1..], index + 1, !index.is_multiple_of(2), |emulator| emulator);
    }
    of::<ops::Sum<u8>>(0);
    of::<Bytes3Sum>(1);
    of::<TakeLeft>(2);
    of::<AffineU32>(3);
    of::<MatrixProduct<3>>(4);
    of::<ops::Sum<scan_runtime::half::f16>>(5);
    for (shape, way) in [(SHAPES[1], 0), (SHAPES[5], 2)] {
        climb::<Interval>(&[shape], way, true, |emulator| emulator.check(|left, right| adjacent(right, left)));
    }
}

/// The shapes that the planner chooses, and an operator whose elements, partial results and outputs are of three sizes.
#[test]
fn planned_shapes_match_the_reference() {
    for (spec, initial_value) in [(ScanSpec::inclusive().reverse(), None), (ScanSpec::exclusive(), Some(INITIAL_VALUE))]
    {
        let program = ColumnsProgram::new(Lifting, &spec, initial_value, &Overrides::default(), |plan| plan).unwrap();
        for (seed, (shape, axis)) in
            [(vec![600, 33], 0), (vec![17, 70], 0), (vec![3, 530, 8], 1), (vec![3, 300], 0)].into_iter().enumerate()
        {
            let axis = Axis::of(&shape, axis).unwrap();
            let result = program.verify(&emulator(seed as u64), &axis, &inputs(axis.len()), (seed, 0));
            result.unwrap_or_else(|error| panic!("{axis:?}: {error}\n{}", program.plan));
        }
    }
}

/// The two scans of `n + 1` results: each writes its own, and nothing else.
#[test]
fn scans_beside_initial_values_match_the_reference() {
    let axes = [(vec![70, 6], 0), (vec![5, 70], 1), (vec![3, 40, 5], 1), (vec![9], 0), (vec![1, 9], 0)];
    let axes = axes.into_iter().map(|(shape, axis)| Axis::of(&shape, axis).unwrap());
    let inverted = Axis::of(&[5, 70], 1).unwrap().output_strides(&[80, -1]).unwrap();
    for (seed, axis) in axes.chain([inverted]).enumerate() {
        for (kind, reversed) in [(ScanKind::Inclusive, seed % 2 == 0), (ScanKind::Exclusive, seed % 2 == 1)] {
            for reversed in [reversed, !reversed] {
                let program = program::<Interval>(SHAPES[1], (kind, false), reversed);
                let parts = axis.with_initial(reversed).unwrap();
                let part = if kind == ScanKind::Inclusive { parts.others } else { parts.initial };
                let result = program.verify(
                    &emulator(seed as u64),
                    &part,
                    &elements(&part, 1 << 32, Interval::input),
                    (1, seed),
                );
                result.unwrap_or_else(|error| panic!("{part:?}: {error}\n{}", program.plan));
            }
        }
    }
}

/// Arrays that are not contiguous: padded rows, transposed, every second column, inverted, and repeated input.
#[test]
fn strided_arrays_match_the_reference() {
    let program = program::<Interval>(SHAPES[1], (ScanKind::Inclusive, false), false);
    let axes = not_contiguous();
    for (seed, axis) in axes.iter().enumerate() {
        let input = elements(axis, 1 << 32, Interval::input);
        let emulator = emulator(seed as u64).check(adjacent);
        let result = match axis.lies_the_same() {
            true => program.verify_in_place(&emulator, axis, &input),
            false => program.verify(&emulator, axis, &input, (0, 0)),
        };
        result.unwrap_or_else(|error| panic!("{axis:?}: {error}\n{}", program.plan));
    }
    for (seed, axis) in (0..40).map(|seed| (seed, drawn(seed))) {
        verify(&program, &axis, seed, |emulator| emulator.check(adjacent)).unwrap();
    }
    let repeated = strided(&[70, 6], 0, &[1, 0], &[6, 1]);
    let input: Vec<_> = (0..70).map(Interval::input).collect();
    program.verify(&emulator(1).check(adjacent), &repeated, &input, (0, 0)).unwrap();
}

fn of_arrays<Op: ColumnsOperator>(shape: Shape, way: usize, reversed: bool) -> ColumnsProgram<Op> {
    let (kind, with_initial_value) = WAYS[way];
    let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
    let spec = if reversed { spec.reverse() } else { spec };
    let spec = spec.with_arrays(Arrays::PerField, Arrays::PerField);
    let initial_value = with_initial_value.then(Op::initial_value);
    ColumnsProgram::new(Op::new(), &spec, initial_value, &overrides(shape), shaped(shape)).unwrap()
}

/// Several arrays, of items of one to eight bytes, whose results are as large as items or larger: each begins at a
/// place of its own.
#[test]
fn several_arrays_match_the_reference() {
    fn of<Op: ColumnsOperator<Output: std::fmt::Debug, Carry: std::fmt::Debug>>(number: usize, shape: Shape) {
        let program = of_arrays::<Op>(shape, number % 4, number.is_multiple_of(2));
        Module::compile(&program.sources().collect::<Vec<_>>()).unwrap();
        let axes =
            [(vec![147, 38], 0), (vec![3, 49, 32], 1), (vec![2, 2, 35, 34], 2), (vec![6, 64], 0), (vec![3, 9], 1)];
        let axes = axes.into_iter().map(|(shape, axis)| Axis::of(&shape, axis).unwrap());
        let others = [
            strided(&[70, 6], 0, &[8, 1], &[6, 1]),
            strided(&[147, 38], 0, &[-38, 1], &[38, -1]),
            strided(&[3, 49, 32], 1, &[-1568, 32, 1], &[1568, -32, 1]),
        ];
        for (seed, axis) in axes.chain(others).enumerate() {
            let input = Op::inputs(axis.input_len(), seed as u64);
            let offsets: &[usize] = [&[][..], &[0, 0, 0, 1], &[8, 4, 16], &[0, 1]][(seed + number) % 4];
            let result = program.verify_columns(&emulator(mixed((8 * number + seed) as u64)), &axis, &input, offsets);
            result.unwrap_or_else(|error| panic!("{axis:?}, {offsets:?}: {error}\n{}", program.plan));
        }
    }
    of::<Recurrence>(0, SHAPES[1]);
    of::<Summarize>(1, SHAPES[0]);
    of::<Widen>(2, SHAPES[4]);
    of::<Recurrence>(3, SHAPES[5]);
    of::<Coder>(4, SHAPES[2]);
    of::<Recurrence>(5, SHAPES[7]);
    of::<Summarize>(6, SHAPES[8]);
}

/// Arrays of the output that are not written: one of two, or all, for the totals alone.
#[test]
fn outputs_without_memory_match_the_reference() {
    let kinds = |kinds: &[ArrayKind]| ArrayKinds::new(kinds.iter().copied());
    let nothing = ArrayKind::NoMemory;
    for (shape, discards) in
        [(SHAPES[1], kinds(&[nothing])), (SHAPES[2], kinds(&[nothing, nothing])), (SHAPES[7], kinds(&[nothing]))]
    {
        let spec = ScanSpec::inclusive().with_arrays(Arrays::PerField, Arrays::PerField);
        let spec = spec.with_kinds(ArrayKinds::default(), discards).with_totals();
        let program = ColumnsProgram::new(Summarize, &spec, None, &overrides(shape), shaped(shape)).unwrap();
        Module::compile(&program.sources().collect::<Vec<_>>()).unwrap();
        for (seed, axis) in [Axis::of(&[147, 38], 0), Axis::of(&[3, 49, 32], 1)].into_iter().enumerate() {
            let axis = axis.unwrap();
            let input = Summarize::inputs(axis.len(), seed as u64);
            let result = program.verify_each(&emulator(seed as u64), &axis, &input, None, &[0, 0, 1]);
            result.unwrap_or_else(|error| panic!("{axis:?}: {error}\n{}", program.plan));
        }
    }
}

/// Reductions: one result for each column, of outputs that are not written.
#[test]
fn reductions_of_columns_match_the_reference() {
    fn of<Op: ColumnsOperator<Output: std::fmt::Debug, Carry: std::fmt::Debug>>(number: u64, arrays: Arrays) {
        let nothing = ArrayKinds::new([ArrayKind::NoMemory]);
        let spec = ScanSpec::inclusive().projecting().with_totals();
        let spec = if number == 1 { spec.with_initial_values() } else { spec };
        let spec = spec.with_arrays(arrays, Arrays::One).with_kinds(ArrayKinds::default(), nothing);
        let shape = SHAPES[1 + number as usize];
        let program = ColumnsProgram::new(Op::new(), &spec, None, &overrides(shape), shaped(shape)).unwrap();
        Module::compile(&program.sources().collect::<Vec<_>>()).unwrap();
        let inverted = strided(&[3, 49, 32], 1, &[1568, -32, 1], &[1568, 32, 1]);
        let axes = [Axis::of(&[147, 38], 0), Axis::of(&[3, 49, 32], 1), Ok(inverted)];
        for (seed, axis) in axes.into_iter().enumerate() {
            let axis = axis.unwrap();
            let input = Op::inputs(axis.len(), seed as u64);
            let values = vec![Op::initial_value(); axis.columns()];
            let values = (number == 1).then_some(&values[..]);
            let result = program.verify_each(&emulator(seed as u64), &axis, &input, values, &[0, 0, 1]);
            result.unwrap_or_else(|error| panic!("{axis:?}: {error}\n{}", program.plan));
        }
    }
    of::<Recurrence>(0, Arrays::PerField);
    of::<Recurrence>(1, Arrays::One);
    of::<Summarize>(2, Arrays::PerField);
}

/// Arrays with strides of their own: one item for a dimension, or for all but one, other orders, gaps, and beside
/// slices and neighbours; from the first row and from the last.
#[test]
fn arrays_with_strides_of_their_own_match_the_reference() {
    use ArrayKind::{Next, Previous, Slice, Strided};
    fn of<Op: ColumnsOperator<Output: std::fmt::Debug, Carry: std::fmt::Debug>>(number: usize, kinds: &[ArrayKind]) {
        let spec = if number.is_multiple_of(2) { ScanSpec::inclusive() } else { ScanSpec::exclusive().reverse() };
        let kinds = ArrayKinds::new(kinds.iter().copied());
        let spec = spec.with_arrays(Arrays::PerField, Arrays::PerField).with_kinds(kinds, ArrayKinds::default());
        let shape = SHAPES[[1, 5, 7, 0, 4, 2][number]];
        let initial_value = Some(Op::initial_value());
        let program = ColumnsProgram::new(Op::new(), &spec, initial_value, &overrides(shape), shaped(shape)).unwrap();
        Module::compile(&program.sources().collect::<Vec<_>>()).unwrap();
        // The shape, the axis, and strides of two arrays.
        type Lying = (&'static [usize], usize, [&'static [isize]; 2]);
        let arrays: [Lying; 12] = [
            (&[147, 38], 0, [&[1, 0], &[0, 1]]),
            (&[3, 49, 32], 1, [&[49, 1, 0], &[0, 32, 1]]),
            (&[2, 35, 6, 4], 1, [&[210, 6, 1, 0], &[0, 0, 4, 1]]),
            (&[2, 40, 6, 8], 1, [&[8, 16, 640, 1], &[640, 16, 0, 2]]),
            (&[6, 64], 1, [&[0, 1], &[1, 0]]),
            (&[130], 0, [&[0], &[1]]),
            // Items that all columns of a warp have, and rows that lie in longer ones.
            (&[2, 37, 64], 1, [&[37, 1, 0], &[0, 64, 1]]),
            (&[9, 3, 128], 0, [&[6, 2, 0], &[-3, 1, 0]]),
            (&[147, 64], 0, [&[64, 1], &[1, 0]]),
            // Inverted.
            (&[147, 38], 0, [&[-38, 1], &[38, -1]]),
            (&[3, 49, 32], 1, [&[-49, -1, 0], &[-1568, 32, -1]]),
            (&[2, 35, 6, 4], 1, [&[840, -24, -4, -1], &[-1, 2, 70, -420]]),
        ];
        for (seed, (shape, axis, own)) in arrays.into_iter().enumerate() {
            let axis = Axis::of(shape, axis).unwrap();
            let input = Op::inputs(axis.len(), seed as u64);
            let own = &own[..(0..16).filter(|&index| kinds.of(index) == Strided).count()];
            let offsets: &[usize] = [&[][..], &[0, 1, 0, 1], &[8, 4, 16]][(seed + number) % 3];
            let emulator = emulator(mixed((8 * number + seed) as u64));
            let result = program.verify_kinds(&emulator, &axis, &input, None, offsets, own);
            result.unwrap_or_else(|error| panic!("{axis:?}, {own:?}: {error}\n{}", program.plan));
            // The same with slices, neighbours and results that are inverted themselves.
            let signs = |strides: &[isize], turn: usize| -> Vec<isize> {
                let inverted =
                    |(k, stride): (usize, &isize)| if (k + turn).is_multiple_of(2) { -stride } else { *stride };
                strides.iter().enumerate().map(inverted).collect()
            };
            let (strides, _) = axis.both_strides();
            let inverted = strided(shape, axis.axis(), &signs(strides, seed), &signs(strides, number));
            let result = program.verify_kinds(&emulator, &inverted, &input, None, offsets, own);
            result.unwrap_or_else(|error| panic!("{inverted:?}, {own:?}: {error}\n{}", program.plan));
        }
    }
    of::<Recurrence>(0, &[Strided, Slice]);
    of::<Summarize>(1, &[Strided, Strided, Slice]);
    of::<Summarize>(2, &[Previous, Strided, Next]);
    of::<Recurrence>(3, &[Next, Previous]);
    of::<AffineU32>(4, &[Strided]);
    of::<Recurrence>(5, &[Strided, Strided]);
}

/// Every way in which rows of arrays with strides of their own lie has a kernel, which is for those that lie so.
#[test]
fn rows_that_repeat_an_item_or_lie_side_by_side_have_kernels_of_their_own() {
    use ArrayKind::{Slice, Strided};
    let of = |kinds: &[ArrayKind], shape: &[usize], own: &[&[isize]]| {
        let kinds = ArrayKinds::new(kinds.iter().copied());
        let spec = ScanSpec::inclusive().with_arrays(Arrays::PerField, Arrays::One);
        let spec = spec.with_kinds(kinds, ArrayKinds::default());
        let limits = DeviceLimits::H200;
        let plans = plan_columns(&Recurrence.source(), &spec, &limits, &Overrides::default()).unwrap().all();
        let layout = Axis::of(shape, 1).unwrap().layout_with(own);
        let words_of = |strided: usize| std::iter::once(0).chain(layout.strided_words(strided)).collect::<Vec<_>>();
        let words: Vec<u64> = match own.len() {
            1 => words_of(0).into_iter().chain([0]).collect(),
            _ => words_of(0).into_iter().chain(words_of(1)).collect(),
        };
        let plan = plans.iter().find(|plan| plan.suits(&layout, &words, &[0])).unwrap();
        let text = render_columns(&Recurrence.source(), plan).unwrap().text;
        let with = |part: &str| text.matches(part).count();
        (plan.width, with("begin_repeated(first_of("), with("(from.gate.items,") + with("(from.token.items,"))
    };
    let (gates, shape): (&[isize], _) = (&[64, 1, 0], &[2, 64, 8192]);
    assert_eq!(of(&[Strided, Slice], shape, &[gates]), (2, 1, 0));
    assert_eq!(of(&[Strided, Slice], &[2, 64, 64], &[gates]), (2, 1, 0));
    assert_eq!(of(&[Strided, Strided], shape, &[gates, &[65 * 8192, 8192, 1]]), (2, 1, 1));
    // Neither where a warp has columns of two gates, nor where the rows of a longer array begin anywhere.
    assert_eq!(of(&[Strided, Slice], &[2, 64, 96], &[gates]), (2, 0, 0));
    assert_eq!(of(&[Strided, Slice], shape, &[&[65 * 8193, 8193, 1]]), (2, 0, 0));
    assert_eq!(of(&[Strided, Slice], shape, &[&[64 * 8192, 8192, 2]]), (2, 0, 0));
}

/// An item of another lane or row, and lanes that do not wait for each other.
#[test]
fn planted_faults_of_repeated_items_are_found() {
    let changes = [
        ("k * WARPS + threadIdx.x / WARP", "k * WARPS"),
        ("__syncwarp(); // all lanes have read what has been here", ""),
        ("__syncwarp(); // the other lanes have waited for theirs", ""),
        ("(FORWARD ? k : 0 - k)", "k"),
        ("if (k < rows) {", "if (k + 1 < rows) {"),
    ];
    let arrays: [(&[usize], usize, &[isize]); 2] = [(&[147, 64], 0, &[1, 0]), (&[40, 2, 64], 0, &[2, 1, 0])];
    faults_of_loads_are_found(&changes, 2, |text| text.contains("begin_repeated(first_of("), arrays);
}

/// Plants each fault in the first kernel, of `rows` rows a thread, whose text loads so. The gates of the recurrence have
/// strides of their own, which stand behind each array and its axis.
fn faults_of_loads_are_found(
    changes: &[Change<'_>],
    rows: u32,
    loads_so: impl Fn(&str) -> bool,
    arrays: [(&[usize], usize, &[isize]); 2],
) {
    let kinds = ArrayKinds::new([ArrayKind::Strided, ArrayKind::Slice]);
    let spec = ScanSpec::inclusive().reverse().with_arrays(Arrays::PerField, Arrays::One);
    let spec = spec.with_kinds(kinds, ArrayKinds::default());
    let shape = (64, rows, 2, 32, 3);
    let first = |plan: ColumnsPlan| {
        let plans = shaped(shape)(plan).all();
        let loads = |plan: &&ColumnsPlan| loads_so(&render_columns(&Recurrence.source(), plan).unwrap().text);
        plans.iter().find(loads).unwrap().clone()
    };
    let program = ColumnsProgram::new(Recurrence, &spec, None, &overrides(shape), first).unwrap();
    let is_found = |program: &ColumnsProgram<Recurrence>| {
        (0..4).any(|seed| {
            let (shape, axis, own) = arrays[seed % 2];
            let axis = Axis::of(shape, axis).unwrap();
            let input = Recurrence::inputs(axis.len(), seed as u64);
            let emulator = emulator(seed as u64).limit(4_000_000);
            program.verify_kinds(&emulator, &axis, &input, None, &[], &[own]).is_err()
        })
    };
    each_is_found(&program, changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
}

/// Rows whose warps lie side by side are loaded sixteen bytes at a time.
#[test]
fn rows_that_fill_warps_are_loaded_by_warps() {
    use ArrayKind::{Next, Slice, Strided};
    let of = |kinds: &[ArrayKind], shape: &[usize], own: &[&[isize]], address: u64| {
        let kinds = ArrayKinds::new(kinds.iter().copied());
        let spec = ScanSpec::inclusive().with_arrays(Arrays::PerField, Arrays::One);
        let spec = spec.with_kinds(kinds, ArrayKinds::default());
        let limits = DeviceLimits::H200;
        let plans = plan_columns(&Recurrence.source(), &spec, &limits, &Overrides::default()).unwrap().all();
        let layout = Axis::of(shape, 1).unwrap().layout_with(own);
        let behind = |index: usize| match kinds.of(index) {
            Strided => layout.strided_words(0).collect(),
            Next => vec![0; 3],
            _ => Vec::new(),
        };
        let words: Vec<u64> =
            (0..2).flat_map(|index| std::iter::once(address).chain(behind(index)).collect::<Vec<_>>()).collect();
        let plan = plans.iter().find(|plan| plan.suits(&layout, &words, &[0])).unwrap();
        render_columns(&Recurrence.source(), plan).unwrap().text.matches("  begin_rows(").count()
    };
    assert_eq!(of(&[Slice, Slice], &[2, 640, 256], &[], 256), 2);
    assert_eq!(of(&[Strided, Slice], &[2, 640, 256], &[&[256, 512, 1]], 256), 2);
    assert_eq!(of(&[Strided, Slice], &[2, 640, 256], &[&[640, 1, 0]], 256), 1, "the other one repeats an item");
    // Not a neighbour of each item, and not where lanes of a warp have columns of two rows, where rows begin anywhere, or
    // lie apart.
    assert_eq!(of(&[Slice, Next], &[2, 640, 256], &[], 256), 0);
    assert_eq!(of(&[Slice, Slice], &[2, 640, 240], &[], 256), 0);
    assert_eq!(of(&[Slice, Slice], &[2, 640, 256], &[], 8), 0);
    assert_eq!(of(&[Strided, Slice], &[2, 640, 256], &[&[256, 514, 1]], 256), 0);
    assert_eq!(of(&[Strided, Slice], &[2, 640, 256], &[&[256, 512, 2]], 256), 0);
}

/// A lane's row or columns are those of another one, and lanes do not wait for each other.
#[test]
fn planted_faults_of_loads_by_warps_are_found() {
    let changes = [
        ("below = lane / LANES_A_ROW;", "below = 0;"),
        ("lane % LANES_A_ROW * (sizeof(Piece16)", "lane * (sizeof(Piece16)"),
        ("threadIdx.x / WARP * (RUN * WARP)", "threadIdx.x / WARP * RUN"),
        ("k + below < rows", "k < rows"),
        ("to + k * LANES_A_ROW", "to + k"),
        ("from += ROWS_AT_ONCE * step;", "from += step;"),
        ("from += below * step + lane", "from += lane"),
        ("part.first.input -= before;", ""),
        ("part.column -= before;", ""),
        ("__syncwarp(); // all lanes have read the stage", ""),
        ("__syncwarp(); // the other lanes have waited for theirs", ""),
        ("FORWARD ? from.gate.step : 0 - from.gate.step", "from.gate.step"),
    ];
    let arrays: [(&[usize], usize, &[isize]); 2] = [(&[147, 64], 0, &[64, 1]), (&[3, 40, 64], 1, &[64, 192, 1])];
    faults_of_loads_are_found(&changes, 3, |text| text.matches("  begin_rows(").count() == 2, arrays);
}

/// Strides of another array, of another dimension, or in the wrong direction; edges in the wrong row.
#[test]
fn planted_faults_of_kinds_are_found() {
    let changes = [
        ("from.items += row_of(layout, thread, part) * array.step;", ""),
        ("index_of(layout, column, k) * array.strides[k];", "index_of(layout, column, k) * array.strides[0];"),
        ("array.items += FORWARD ? array.step : 0 - array.step;", "array.items += array.step;"),
        ("piece / pieces * from.strides[0]", "piece / pieces"),
        ("(AFTER ? layout.input_step : 0 - layout.input_step)", "layout.input_step"),
        ("array.first += FORWARD ? 1 : -1;", "array.first += 1;"),
        ("from.first = row_of(layout, thread, part);", ""),
        ("from.first != (AFTER ? from.row - 1 : 0)", "from.first != (AFTER ? from.row - 1 : 1)"),
        ("(piece * sizeof(Piece) + byte) % sizeof(Item)", "byte % 2"),
        ("array.values += step;", ""),
    ];
    let kinds = ArrayKinds::new([ArrayKind::Strided, ArrayKind::Previous, ArrayKind::Next]);
    let spec = ScanSpec::inclusive().reverse().with_arrays(Arrays::PerField, Arrays::PerField);
    let spec = spec.with_kinds(kinds, ArrayKinds::default());
    let shape = (64, 2, 2, 16, 5);
    let program = ColumnsProgram::new(Summarize, &spec, None, &overrides(shape), shaped(shape)).unwrap();
    let is_found = |program: &ColumnsProgram<Summarize>| {
        (0..3).any(|seed| {
            let (shape, axis, own): (&[usize], usize, &[isize]) =
                [(&[147, 36][..], 0, &[1, 2][..]), (&[3, 40, 32], 1, &[0, 1, 40]), (&[9, 64], 0, &[1, 0])][seed];
            let axis = Axis::of(shape, axis).unwrap();
            let input = Summarize::inputs(axis.len(), seed as u64);
            let emulator = emulator(seed as u64).limit(4_000_000);
            program.verify_kinds(&emulator, &axis, &input, None, &[], &[own]).is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
}

/// An array's stride or place applied to its neighbour.
#[test]
fn planted_faults_of_arrays_are_found() {
    let changes = [
        (
            "unit.token[piece] = ((const Piece8*)(stage + TILE * 4))",
            "unit.token[piece] = ((const Piece8*)(stage + TILE * 0))",
        ),
        (
            "unit.gate[piece] = ((const Piece8*)(stage + TILE * 0))",
            "unit.gate[piece] = ((const Piece8*)(stage + TILE * 2))",
        ),
        ("this->token + w * 4", "this->token + w * 2"),
        ("this->gate + distance, this->token + distance", "this->gate + distance, this->token"),
        (
            "memcpy(&element.token, (const unsigned char*)this->token",
            "memcpy(&element.token, (const unsigned char*)this->gate",
        ),
    ];
    let program = of_arrays::<Recurrence>((64, 2, 2, 16, 5), 0, false);
    let is_found = |program: &ColumnsProgram<Recurrence>| {
        (0..3).any(|seed| {
            let axis = Axis::of(&[[147, 36], [40, 32], [9, 64]][seed], 0).unwrap();
            let input = Recurrence::inputs(axis.len(), seed as u64);
            program.verify_columns(&emulator(seed as u64).limit(4_000_000), &axis, &input, &[]).is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
}

fn each_program<Op: TestOperator>(
    shape: Shape,
    (kind, with_values): (ScanKind, bool),
    reversed: bool,
) -> ColumnsProgram<Op> {
    let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
    let spec = if reversed { spec.reverse() } else { spec };
    let spec = if with_values { spec.with_initial_values() } else { spec };
    ColumnsProgram::new(Op::new(), &spec.with_totals(), None, &overrides(shape), shaped(shape)).unwrap()
}

/// A value for each column, and elements that follow it: the interval monoid finds that of a neighbour.
fn values_of(axis: &Axis) -> Vec<<Interval as ScanOp>::Carry> {
    (0..axis.columns() as u64).map(|column| Interval::input((1 << 40) + (column << 20) - 1)).collect()
}

/// An initial value and a total for each column: of arrays whose columns are numbered in the order of their indices,
/// and of others; of one tile and of many.
#[test]
fn initial_values_and_totals_of_each_column_match_the_reference() {
    for (number, shape) in SHAPES.into_iter().enumerate() {
        let (way, reversed) = (WAYS[number % 4], number.is_multiple_of(3));
        let program = each_program::<Interval>(shape, way, reversed);
        let contiguous = [(vec![147, 38], 0), (vec![3, 49, 32], 1), (vec![2, 2, 35, 34], 2), (vec![9, 8], 0)];
        let contiguous = contiguous.into_iter().map(|(shape, axis)| Axis::of(&shape, axis).unwrap());
        let others = [
            strided(&[6, 70, 4], 1, &[1, 24, 6], &[1, 24, 6]),
            strided(&[70, 6], 0, &[8, 1], &[6, 1]),
            strided(&[2, 2, 35, 34], 2, &[-2380, 1190, 34, 1], &[2380, -1190, -34, 1]),
            strided(&[6, 70, 4], 1, &[-1, -24, 6], &[1, 24, -6]),
        ];
        for (seed, axis) in contiguous.chain(others).enumerate() {
            let length = axis.shape()[axis.axis()] as u64;
            // The value stands before the first element in the order of the scan.
            let apart = 1 << 20;
            let input = elements(&axis, apart, |index| Interval::input((1 << 40) + index));
            let value = |column: u64| if reversed { column * apart + length } else { (column * apart).wrapping_sub(1) };
            let values: Vec<_> = (0..axis.columns() as u64)
                .map(|column| Interval::input((1_u64 << 40).wrapping_add(value(column))))
                .collect();
            let emulator = emulator(mixed((8 * number + seed) as u64));
            let emulator = match reversed {
                false => emulator.check(adjacent),
                true => emulator.check(|left, right| adjacent(right, left)),
            };
            let result = program.verify_each(&emulator, &axis, &input, way.1.then_some(&values[..]), &[]);
            result.unwrap_or_else(|error| panic!("{axis:?}: {error}\n{}", program.plan));
        }
    }
    // A stepped operator, whose carry is no state.
    for (kind, with_values) in [(ScanKind::Inclusive, true), (ScanKind::Exclusive, false)] {
        let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        let spec = if with_values { spec.with_initial_values() } else { spec };
        let program =
            ColumnsProgram::new(Coder, &spec.with_totals(), None, &overrides(SHAPES[1]), shaped(SHAPES[1])).unwrap();
        let axis = Axis::of(&[3, 49, 32], 1).unwrap();
        let values: Vec<u32> = (0..axis.columns() as u32).collect();
        let values = with_values.then_some(&values[..]);
        program.verify_each(&emulator(7), &axis, &inputs(axis.len()), values, &[]).unwrap();
    }
}

/// The initial value, or the total, of a neighbour or of another tile.
#[test]
fn planted_faults_of_values_are_found() {
    let changes = [
        ("initial_values[part.first.value + w * layout.value_strides[0]]", "initial_values[part.first.value]"),
        ("totals[part.first.value + w * layout.value_strides[0]]", "totals[part.first.value + w]"),
        ("places.value += index * layout.value_strides[k];", "places.value += index;"),
        ("part.is_last = rows > 0 && rows <= RUN;", "part.is_last = rows > 0 && rows <= RUN + 1;"),
        ("Prefix prefix = prefix_at(starts.of[w]);", "Prefix prefix = prefix_at(starts.of[0]);"),
        ("carry_of(cursors.of[w]);", "carry_of(cursors.of[0]);"),
    ];
    let program = each_program::<Interval>((64, 2, 2, 16, 29), (ScanKind::Inclusive, true), false);
    let is_found = |program: &ColumnsProgram<Interval>| {
        (0..4).any(|seed| {
            let axes = [Axis::of(&[147, 38], 0), Axis::of(&[2, 2, 35, 34], 2), Axis::of(&[3, 49, 32], 1)];
            let axes = axes.into_iter().map(Result::unwrap).chain([strided(&[6, 70, 4], 1, &[1, 24, 6], &[1, 24, 6])]);
            let axis = axes.collect::<Vec<_>>().swap_remove(seed);
            let input = elements(&axis, 1 << 20, |index| Interval::input((1 << 40) + index));
            let values = values_of(&axis);
            program.verify_each(&emulator(seed as u64).limit(4_000_000), &axis, &input, Some(&values), &[]).is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
}

/// A thread without columns in a tile publishes nothing there. Only the barrier says that it has read the statuses that
/// the tile before needed: in blocks whose threads share no columns, too.
#[test]
fn statuses_of_threads_without_columns_are_read_before_they_are_used_again() {
    let program = program::<Interval>((32, 2, 1, 32, 7), (ScanKind::Inclusive, false), false);
    for seed in 0..50 {
        let axis = Axis::of(&[147, 38], 0).unwrap();
        verify(&program, &axis, seed, |emulator| emulator.check(adjacent)).unwrap();
    }
}

/// A ring of statuses that is too short, and one without generations.
#[test]
fn planted_faults_of_the_ring_are_found() {
    let changes =
        [("((1u << ring.log) - 1)", "((1u << ring.log) / 8 - 1)"), ("return (row >> ring.log) + 1;", "return 1;")];
    let program = program::<Interval>((64, 2, 2, 16, 3), (ScanKind::Inclusive, false), false);
    let is_found = |program: &ColumnsProgram<Interval>| {
        let shapes = [(vec![400, 32], 0), (vec![2, 300, 32], 1)];
        (0..4).any(|seed| {
            let (shape, axis) = &shapes[seed as usize % 2];
            let axis = Axis::of(shape, *axis).unwrap();
            verify(program, &axis, seed, |emulator| emulator.check(adjacent).limit(4_000_000)).is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
}

/// A column's neighbour, an edge missed by one, the status of another tile or column, a barrier left out.
#[test]
fn planted_faults_are_found() {
    let changes = [
        ("from = input + part.first.input;", "from = input + part.first.input + WIDTH;"),
        ("output + part.first.output;", "output + part.first.output + WIDTH;"),
        ("      cp_async_wait_group<STAGES - 2>();\n", ""),
        ("  cp_async_commit_group();\n", ""),
        ("* WARP + threadIdx.x % WARP;", "* WARP + threadIdx.x % WARP / 2;"),
        ("place.row += down;", "place.row += 1;"),
        ("place.column -= columns;\n      place.row++;", "place.column -= columns;"),
        ("place.column += right;", "place.column += right + 1;"),
        ("slot == 0 ? STAGES - 1 : slot - 1", "slot"),
        ("slot + 1 == STAGES ? 0 : slot + 1", "slot + 1 == STAGES - 1 ? 0 : slot + 1"),
        ("    scanning = folding;", "    scanning = arriving;"),
        (
            "folding.part.tile_row < steps.rows || scanning.part.tile_row < steps.rows) {",
            "folding.part.tile_row < steps.rows) {",
        ),
        ("k + 1 < layout.dimensions", "k + 2 < layout.dimensions"),
        ("index - column * layout.extents[k]", "index - column"),
        ("places.output += index * layout.output_strides[k]", "places.output += index * layout.input_step"),
        ("threadIdx.x & (across - 1),", "threadIdx.x & (across / 2 - 1),"),
        ("(below + RUN - 1) / RUN", "(below + RUN) / RUN"),
        ("part.column < layout.columns;", "part.column <= layout.columns;"),
        ("rows < RUN ? (unsigned)rows : RUN", "rows < RUN ? (unsigned)rows - 1 : RUN"),
        ("folds.of[w].any = k > 0;", "folds.of[w].any = k > 1;"),
        ("stride = thread.across; stride < WARP", "stride = 1; stride < WARP"),
        ("stride <= lane", "stride < lane"),
        ("op.combine(before, values.value[w])", "op.combine(values.value[w], before)"),
        ("shuffle_up(values.value[w], thread.across)", "shuffle_up(values.value[w], 1)"),
        ("__syncthreads(); // the aggregates have been", "// the aggregates have been"),
        ("    __syncthreads(); // the epoch has been written\n", ""),
        ("thread.y == count - 1)) {", "thread.y == count)) {"),
        (
            "exchange[(divided(thread.y, height) * thread.across + thread.x) * WIDTH + w]",
            "exchange[(divided(thread.y, height) * thread.across + thread.x) * WIDTH]",
        ),
        ("exchange[(i * thread.across + thread.x) * WIDTH + w]", "exchange[(i * thread.across + thread.x) * WIDTH]"),
        ("fold_warps(op, thread, warp, of_runs)", "fold_warps(op, thread, warp + 1, of_runs)"),
        ("(thread.y & (height - 1)) == 0 ? warps_above", "(thread.y & (height - 1)) != 0 ? warps_above"),
        ("op.combine(fold.value[w], aggregate)", "op.combine(aggregate, fold.value[w])"),
        ("status_index(ring, part.tile_row, part.column);", "status_index(ring, part.tile_row, part.column) / 2;"),
        ("* ring.across + column / WIDTH;", "* ring.across + column / WIDTH / 2;"),
        ("begin == 0 && part.tile_row >= window", "begin == 0 && part.tile_row > window + 1"),
        ("part.tile_row - count + begin", "part.tile_row - count + begin / 2"),
        ("k += POLLED_AT_ONCE", "k += POLLED_AT_ONCE - 1"),
        (
            "status_index(ring, polled.tile_row + k, polled.column)",
            "status_index(ring, polled.tile_row, polled.column)",
        ),
        ("(count - begin < each ? count - begin : each)", "1"),
        ("each == 1 ? count : (count + each - 1) / each", "count"),
        (
            "while (!is_published(polled, ring, k, j, words)) {",
            "while (status_of(polled.loaded[j], &words, ring.epoch) == STATUSES) {",
        ),
        ("combine_rows(op, fold, unpacked(words))", "combine_rows(op, unpacked(words), fold)"),
        ("each = divided(count + thread.down - 1, thread.down)", "each = 1"),
        ("if (follows && thread.y + 1 == part.filled && part", "if (thread.y == part.filled && part"),
        ("combine_rows(op, before, scanning.inclusive)", "combine_rows(op, scanning.inclusive, before)"),
        ("part.tile_row + window < steps.rows) {", "part.tile_row + window + 1 < steps.rows) {"),
        ("window > 1 && folding.part.tile_row + 1 <", "window > 1 && folding.part.tile_row + 2 <"),
        (
            "thread.y + 1 == part.filled && part.is_within) {\n    TileStatus",
            "thread.y == 0 && part.is_within) {\n    TileStatus",
        ),
        ("carries = !WHOLE_COLUMNS && steps.rows > 1;", "carries = false;"),
        ("if (is_shared && thread.y > 0) {", "if (is_shared && thread.y > 1) {"),
        ("scans && scanning.part.tile_row > 0;", "scans && scanning.part.tile_row > 1;"),
        ("is_shared = !WHOLE_COLUMNS && thread.down > 1;", "is_shared = false;"),
        ("of_runs + THREADS * WIDTH", "of_runs"),
        ("divided(polled.threads + height - 1, height)", "divided(polled.threads, height)"),
        ("combine_rows(op, warps_above, folding.above)", "combine_rows(op, folding.above, warps_above)"),
        ("combine_rows(op, warps_above, folding.inclusive)", "folding.inclusive"),
        ("turn ^= 1;\n", ""),
        ("ring.prefixes += aggregate_count;", "ring.prefixes += ring.across;"),
        ("step = FORWARD ? layout.output_step", "step = FORWARD ? layout.output_step + 1"),
    ];
    let program = program::<Interval>((64, 2, 2, 16, 29), (ScanKind::Inclusive, false), false);
    let is_found = |program: &ColumnsProgram<Interval>| {
        let shapes = [(vec![147, 38], 0), (vec![3, 49, 32], 1), (vec![2, 2, 35, 34], 2), (vec![204, 32], 0)];
        (0..8).any(|seed| {
            let (shape, axis) = &shapes[seed as usize % 4];
            let axis = Axis::of(shape, *axis).unwrap();
            verify(program, &axis, 3 * seed + [0, 2][seed as usize / 4], |emulator| {
                emulator.check(adjacent).limit(4_000_000).resident_blocks([1, 3][seed as usize / 4])
            })
            .is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
}

/// Parts of another row or stage, and such as are scanned before they have arrived.
#[test]
fn planted_faults_of_streams_are_found() {
    let changes = [
        ("cp_async_wait_group<STAGES - 1>();", ""),
        ("cp_async_wait_group<STAGES - 1>();", "cp_async_wait_group<STAGES>();"),
        ("begun % STAGES * STAGE_BYTES", "(begun + 1) % STAGES * STAGE_BYTES"),
        ("begun >= STAGES - 1", "begun >= STAGES"),
        ("++part.tile_row * RUN", "part.tile_row++ * RUN"),
        ("RUN * (FORWARD ? layout.input_step", "(FORWARD ? layout.input_step"),
        ("RUN * (FORWARD ? layout.output_step", "(FORWARD ? layout.output_step"),
        ("arriving = part_below(layout, arriving);", ""),
        ("part = part_below(layout, part);", ""),
        ("thread_place(THREADS)", "thread_place(THREADS / 2)"),
    ];
    let program = program::<Interval>(SHAPES[7], (ScanKind::Inclusive, false), true);
    let is_found = |program: &ColumnsProgram<Interval>| {
        [vec![47, 70], vec![6, 64]].iter().zip(1..).any(|(shape, seed)| {
            let axis = Axis::of(shape, 0).unwrap();
            verify(program, &axis, seed, |emulator| emulator.check(|left, right| adjacent(right, left)).limit(400_000))
                .is_err()
        })
    };
    each_is_found(&program, &changes, is_found).unwrap_or_else(|error| panic!("{error}\n{}", program.plan));
}

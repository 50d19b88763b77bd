//! Scans along an axis: in host and device memory, contiguous and not, aligned and not, one tile long and many.

use scan_codegen::ScanSpec;
use scan_runtime::{Axis, Error, PlanError, ScanKind, Scanner, arrays, half::f16, ops};
use scan_tests::{
    axes::{Case, drawn, fault_of_reductions, not_contiguous, strided},
    columns::{ColumnsOperator, Recurrence, Summarize, Summary},
    operators::{AffineU32, Bytes3Sum, Interval, MatrixProduct, TakeLeft, TestOperator, first_difference, mixed},
    reference::{self, WAYS},
};

use crate::{Outcome, Trials, ensure, older::scanner};

/// Shapes of arrays, and the axis.
const SHAPES: [(&[usize], usize); 9] = [
    (&[1, 100], 0),
    (&[33, 5], 0),
    (&[513, 33], 0),
    (&[3, 700, 8], 1),
    (&[2, 3, 64, 4], 2),
    (&[20_000, 1], 0),
    (&[40_000, 3], 0),
    (&[6, 50], 1),
    (&[0, 9], 0),
];

pub(crate) fn add(trials: &mut Trials) {
    trials.add("axis: Interval", || of::<Interval>(&SHAPES));
    trials.add("axis: TakeLeft", || of::<TakeLeft>(&SHAPES));
    trials.add("axis: Bytes3Sum", || of::<Bytes3Sum>(&SHAPES));
    trials.add("axis: Sum<u8>", || of::<ops::Sum<u8>>(&SHAPES));
    trials.add("axis: AffineU32", || of::<AffineU32>(&SHAPES));
    trials.add("axis: MatrixProduct<3>", || of::<MatrixProduct<3>>(&SHAPES));
    // Its kernels take the longest to compile.
    trials.add("axis: MatrixProduct<8>", || of::<MatrixProduct<8>>(&SHAPES[2..4]));
    trials.add("axis_of_arrays_that_are_not_contiguous", || {
        for (index, axis) in not_contiguous().into_iter().chain((0..40).map(drawn)).enumerate() {
            check::<Interval>(axis.clone(), index, false)?;
            check::<ops::Sum<u8>>(axis, index, true)?;
        }
        Ok(())
    });
    trials.add("axis_reductions", || {
        let scanner = scanner()?;
        let shapes = SHAPES.map(|(shape, axis)| Axis::of(shape, axis));
        for axis in shapes.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().chain(not_contiguous()) {
            let fault = fault_of_reductions::<Interval>(&scanner, &axis)?;
            ensure(fault.is_none(), || fault.unwrap_or_default())?;
            let fault = fault_of_reductions::<AffineU32>(&scanner, &axis)?;
            ensure(fault.is_none(), || fault.unwrap_or_default())?;
        }
        Ok(())
    });
    trials.add("axis_with_initial_values", || {
        with_initial::<Interval>()?;
        with_initial::<AffineU32>()?;
        with_initial::<ops::Sum<u8>>()
    });
    trials.add("large_axis", || {
        let shapes: [(&[usize], usize); 6] = [
            (&[1 << 18, 64], 0),
            (&[4096, 4100], 0),
            (&[8, 5000, 512], 1),
            (&[4, 3_000_001], 0),
            (&[3_000_001, 5], 0),
            (&[100, 100_000], 0),
        ];
        of::<ops::Sum<f32>>(&shapes)?;
        of::<AffineU32>(&shapes)?;
        of::<ops::Sum<u8>>(&shapes)
    });
    trials.add("large_axis_of_length_one", of_length_one);
    trials.add("axis_of_views", || {
        let scanner = scanner()?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        let axis = Axis::of(&[700, 64], 0)?;
        let case = Case::<ops::Sum<u8>>::new(&scanner, axis.clone(), WAYS[1], false);
        let scan = || case.scan.on(&stream).along(axis.clone());
        let prepared = scan().prepare(case.expected.len())?;
        for (before_input, before_output) in [(0, 0), (1, 0), (0, 3), (8, 16), (5, 5), (16, 4)] {
            let guarded = [vec![9; before_input], case.input.clone()].concat();
            let input = stream.clone_htod(&guarded)?;
            let mut output = stream.clone_htod(&vec![9_u8; case.expected.len() + before_output + 5])?;
            let results = before_output..before_output + case.expected.len();
            scan().run_into(&input.slice(before_input..), &mut output.slice_mut(results.clone()))?;
            let found = stream.clone_dtoh(&output)?;
            let fault = case.fault(&found[results.clone()]);
            ensure(fault.is_none(), || format!("{before_input}, {before_output}: {fault:?}"))?;
            let around = found[..results.start].iter().chain(&found[results.end..]).all(|byte| *byte == 9);
            ensure(around, || format!("{before_input}, {before_output}: something around the output was written"))?;
            stream.memset_zeros(&mut output)?;
            prepared.run_into(&input.slice(before_input..), &mut output.slice_mut(results.clone()))?;
            let fault = case.fault(&stream.clone_dtoh(&output)?[results]);
            ensure(fault.is_none(), || format!("{before_input}, {before_output}, prepared: {fault:?}"))?;
        }
        Ok(())
    });
    trials.add("axis_of_several_arrays", of_several_arrays);
    trials.add("axis_with_values_for_each_column", || {
        let shapes: [(&[usize], usize); 9] = [
            (&[33, 100], 0),
            (&[3, 700, 8], 1),
            (&[2, 3, 64, 4], 2),
            (&[6, 50], 1),
            (&[77], 0),
            (&[40_000, 3], 0),
            (&[2, 5000, 256], 1),
            (&[6, 640], 0),
            (&[0, 9], 0),
        ];
        values_for_each::<Interval>(&shapes)?;
        values_for_each::<ops::Sum<u8>>(&shapes)?;
        values_for_each::<MatrixProduct<3>>(&shapes)
    });
    trials.add("axis_over_computed_indices_is_refused", || {
        let scanner = scanner()?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        let (gates, mut states) = (stream.clone_htod(&[1_u32; 6])?, stream.alloc_zeros::<u32>(6)?);
        let scan = scanner.scan(Recurrence);
        let found = scan.on(&stream).along(Axis::of(&[2, 3], 0)?).run_into((&gates, arrays::indices()), &mut states);
        ensure(matches!(found, Err(Error::Plan(PlanError::Columns { .. }))), || format!("{found:?}"))
    });
    trials.add("axis_of_halves", || {
        // Of any bits: the kernel adds `f16` as such, and the CPU in `f32`.
        let (scanner, columns) = (scanner()?, 1 << 20);
        let number = |index: u64| f16::from_bits((mixed(index) >> 7) as u16);
        let input: Vec<f16> = (0..3 * columns).map(number).collect();
        let axis = Axis::of(&[3, columns as usize], 0)?;
        let found = scanner.scan(ops::sum::<f16>()).along(axis.clone()).run(&input)?;
        let expected = Scanner::cpu().scan(ops::sum::<f16>()).along(axis).run(&input)?;
        let same = |(a, b): (&f16, &f16)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        let wrong = found.iter().zip(&expected).position(|pair| !same(pair));
        ensure(wrong.is_none(), || format!("wrong from {wrong:?} on"))
    });
    trials.add("axis_of_another_length_is_refused", || {
        let scanner = scanner()?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        let input = stream.clone_htod(&[1_i32; 7])?;
        let found = scanner.scan(ops::sum()).on(&stream).along(Axis::of(&[2, 3], 0)?).run(&input);
        ensure(matches!(found, Err(Error::AxisLength { found: 7, expected: 6, .. })), || "7 of 6 elements".to_owned())
    });
    trials.add("axis_gives_the_same_floats_in_every_run", || {
        let scanner = scanner()?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        let (rows, columns) = (100_000, 16);
        let values: Vec<f32> = (0..rows * columns).map(|i| (i as f32 * 0.37).sin()).collect();
        let input = stream.clone_htod(&values)?;
        let scan = scanner.scan(ops::sum::<f32>());
        let scan = scan.on(&stream).along(Axis::of(&[rows, columns], 0)?);
        let first = stream.clone_dtoh(&scan.run(&input)?)?;
        for _ in 0..20 {
            let again = stream.clone_dtoh(&scan.run(&input)?)?;
            ensure(first == again, || "other floats".to_owned())?;
        }
        Ok(())
    });
}

/// Each array in two of the ways and directions.
fn of<Op: TestOperator>(shapes: &[(&[usize], usize)]) -> Outcome {
    for (index, (shape, axis)) in shapes.iter().enumerate() {
        check::<Op>(Axis::of(shape, *axis)?, index, index.is_multiple_of(2))?;
    }
    Ok(())
}

fn check<Op: TestOperator>(axis: Axis, index: usize, reversed: bool) -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let case = Case::<Op>::new(&scanner, axis.clone(), WAYS[index % WAYS.len()], reversed);
    let same = |fault: Option<String>, what: &str| {
        ensure(fault.is_none(), || format!("{what}, way {index}, reversed {reversed}: {}", fault.unwrap_or_default()))
    };
    same(case.fault_on_host()?, "host memory")?;
    let input = stream.clone_htod(&case.input)?;
    let initial = stream.clone_htod(&[Op::initial_value()])?;
    let on_stream = || {
        let scan = case.scan.on(&stream).along(axis.clone());
        // What the scan has of its own is the same value.
        if WAYS[index % WAYS.len()].1 { scan.init_from(&initial) } else { scan }
    };
    let mut output = stream.clone_htod(&case.between())?;
    on_stream().run_into(&input, &mut output)?;
    same(case.fault(&stream.clone_dtoh(&output)?), "device memory")?;
    let prepared = on_stream().prepare(axis.len())?;
    for _ in 0..2 {
        stream.memcpy_htod(&case.between(), &mut output)?;
        match WAYS[index % WAYS.len()].1 {
            true => prepared.init_from(&initial).run_into(&input, &mut output)?,
            false => prepared.run_into(&input, &mut output)?,
        }
        same(case.fault(&stream.clone_dtoh(&output)?), "prepared")?;
    }
    let other = match WAYS[index % WAYS.len()].1 {
        true => prepared.run_into(&input, &mut output),
        false => prepared.init_from(&initial).run_into(&input, &mut output),
    };
    ensure(matches!(other, Err(Error::HandleMismatch { .. })), || format!("{other:?}"))?;
    if axis.output_len() == axis.len() {
        let output = on_stream().run(&input)?;
        same(case.fault(&stream.clone_dtoh(&output)?), "device memory, new")?;
    }
    if axis.lies_the_same() && axis.output_len() == axis.len() {
        let mut buffer = input;
        on_stream().run_in_place(&mut buffer)?;
        same(case.fault(&stream.clone_dtoh(&buffer)?), "in place")?;
    }
    Ok(())
}

/// Three arrays to two: in host and in device memory, in every way and from both ends, each array at a place of its
/// own.
/// `n + 1` results along an axis, of rows and of all: of a call, of a handle and of host memory, as on the CPU.
fn with_initial<Op: TestOperator>() -> Outcome {
    let (scanner, cpu) = (scanner()?, Scanner::cpu());
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let shapes: [(&[usize], usize); 8] = [
        (&[513, 33], 0),
        (&[3, 700, 8], 1),
        (&[2, 3, 64, 4], 2),
        (&[40_000, 3], 0),
        (&[6, 50], 1),
        (&[5, 30_000], 1),
        (&[100_001], 0),
        (&[1, 9], 0),
    ];
    for (shape, axis) in shapes {
        for (reversed, with_value) in [(false, false), (true, true)] {
            let scan = |scanner: &Scanner| {
                let scan = scanner.scan(Op::new()).include_initial();
                let scan = if reversed { scan.reverse() } else { scan };
                if with_value { scan.init(Op::initial_value()) } else { scan }
            };
            let (axis, of_cpu, of_device) = (Axis::of(shape, axis)?, scan(&cpu), scan(&scanner));
            let input: Vec<Op::Item> = (0..axis.len() as u64).map(Op::input).collect();
            let expected = match of_cpu.along(axis.clone()).run(&input) {
                Err(Error::Plan(PlanError::NoIdentity { .. })) => continue,
                expected => expected?,
            };
            let same = |found: &[Op::Item], what: &str| {
                let wrong = first_difference(found, &expected);
                ensure(wrong.is_none(), || format!("{what}, {axis:?}, reversed: {reversed}: wrong from {wrong:?} on"))
            };
            same(&of_device.along(axis.clone()).run(&input)?, "host memory")?;
            let elements = stream.clone_htod(&input)?;
            let run = of_device.on(&stream).along(axis.clone());
            same(&stream.clone_dtoh(&run.run(&elements)?)?, "device memory")?;
            let mut results = stream.clone_htod(&vec![expected[0]; expected.len()])?;
            run.prepare(axis.len())?.run_into(&elements, &mut results)?;
            same(&stream.clone_dtoh(&results)?, "a handle")?;
            if axis.axis() + 1 == shape.len() {
                let rows = of_device.on(&stream).rows(shape[axis.axis()]).run(&elements)?;
                same(&stream.clone_dtoh(&rows)?, "rows")?;
            }
            if shape.len() == 1 {
                same(&stream.clone_dtoh(&of_device.on(&stream).run(&elements)?)?, "all")?;
            }
        }
    }
    Ok(())
}

fn of_several_arrays() -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let shapes: [(&[usize], usize); 7] = [
        (&[513, 33], 0),
        (&[3, 700, 8], 1),
        (&[2, 3, 64, 4], 2),
        (&[40_000, 3], 0),
        (&[6, 640], 0),
        (&[6, 50], 1),
        (&[2, 5000, 256], 1),
    ];
    let axes = shapes.into_iter().map(|(shape, axis)| Ok(Axis::of(shape, axis)?));
    let padded = strided(&[70, 6], 0, &[8, 1], &[6, 1]);
    let inverted = strided(&[3, 700, 8], 1, &[-5600, 8, 1], &[5600, -8, 1]);
    for (index, axis) in axes.chain([Ok::<_, Error>(padded), Ok(inverted)]).enumerate() {
        let axis = axis?;
        let (kind, with_initial_value) = WAYS[index % WAYS.len()];
        let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        let spec = if index.is_multiple_of(2) { spec.reverse() } else { spec };
        let initial_value = with_initial_value.then(Summarize::initial_value);
        let input = Summarize::inputs(axis.input_len(), index as u64);
        let mut expected = vec![Summary { hash: 0, factor: 0 }; axis.len()];
        reference::scan_axis(&Summarize, &spec, initial_value, &axis, &input, &mut expected);
        let scan = scanner.scan(Summarize);
        let scan = if kind == ScanKind::Exclusive { scan.exclusive() } else { scan };
        let scan = if index.is_multiple_of(2) { scan.reverse() } else { scan };
        let scan = initial_value.iter().fold(scan, |scan, value| scan.init(*value));
        let same = |hashes: &[u32], factors: &[u8], what: &str| {
            let found = hashes.iter().zip(factors).map(|(&hash, &factor)| Summary { hash, factor });
            let wrong = found.zip(&expected).position(|(found, expected)| found != *expected);
            ensure(wrong.is_none(), || format!("{what}, {spec}, {axis:?}: wrong from {wrong:?} on"))
        };
        let kinds: Vec<u8> = input.iter().map(|x| x.kind).collect();
        let values: Vec<f32> = input.iter().map(|x| x.value).collect();
        let codes: Vec<[u16; 3]> = input.iter().map(|x| x.code).collect();
        let (mut hashes, mut factors) = (vec![0; axis.len()], vec![0; axis.len()]);
        scan.along(axis.clone()).run_into((&kinds, &values, &codes), (&mut hashes, &mut factors))?;
        same(&hashes, &factors, "host memory")?;
        for shift in [0, 1] {
            let shifted = [vec![9; shift], kinds.clone()].concat();
            let (kinds, values, codes) =
                (stream.clone_htod(&shifted)?, stream.clone_htod(&values)?, stream.clone_htod(&codes)?);
            let (mut hashes, mut factors) =
                (stream.alloc_zeros::<u32>(axis.len())?, stream.alloc_zeros::<u8>(axis.len() + shift)?);
            let results = (&mut hashes, &mut factors.slice_mut(shift..));
            scan.on(&stream).along(axis.clone()).run_into((&kinds.slice(shift..), &values, &codes), results)?;
            let (hashes, factors) = (stream.clone_dtoh(&hashes)?, stream.clone_dtoh(&factors)?);
            same(&hashes, &factors[shift..], "device memory")?;
        }
    }
    Ok(())
}

/// An initial value and a total for each column: in host and in device memory, in place and not.
fn values_for_each<Op: TestOperator>(shapes: &[(&[usize], usize)]) -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let axes = shapes.iter().map(|(shape, axis)| Ok(Axis::of(shape, *axis)?));
    let transposed = strided(&[6, 70, 4], 1, &[1, 24, 6], &[1, 24, 6]);
    let inverted = strided(&[6, 70, 4], 1, &[-280, -4, 1], &[-280, -4, 1]);
    for (index, axis) in axes.chain([Ok::<_, Error>(transposed), Ok(inverted)]).enumerate() {
        let axis = axis?;
        let (kind, with_values) = WAYS[(index + 1) % WAYS.len()];
        let reversed = index % 3 == 1;
        let with_values = with_values || axis.is_empty();
        let spec = if kind == ScanKind::Inclusive { ScanSpec::inclusive() } else { ScanSpec::exclusive() };
        let spec = if reversed { spec.reverse() } else { spec };
        let input: Vec<_> = (0..axis.input_len() as u64).map(Op::input).collect();
        let values: Vec<_> = (0..axis.columns() as u64).map(|column| Op::input(7 * column + 3)).collect();
        let mut expected = input.clone();
        let of_columns = with_values.then_some(&values[..]);
        let expected_totals = reference::scan_axis_each(&Op::new(), &spec, of_columns, &axis, &input, &mut expected);
        let scan = scan_tests::configure::<Op>(&scanner, (kind, false));
        let scan = if reversed { scan.reverse() } else { scan };
        let same = |output: &[Op::Item], totals: &[Op::Item], what: &str| {
            let wrong = first_difference(output, &expected).or_else(|| first_difference(totals, &expected_totals));
            ensure(wrong.is_none(), || format!("{what}, {spec}, {axis:?}: wrong from {wrong:?} on"))
        };
        let on_host = scan.along(axis.clone());
        let on_host = if with_values { on_host.init_each(&values) } else { on_host };
        let (output, totals) = on_host.with_totals().run(&input)?;
        same(&output, &totals, "host memory")?;
        let (mut buffer, of_device) = (stream.clone_htod(&input)?, stream.clone_htod(&values)?);
        let on_stream = scan.on(&stream).along(axis.clone());
        let on_stream = if with_values { on_stream.init_each(&of_device) } else { on_stream };
        let (output, totals) = on_stream.clone().with_totals().run(&buffer)?;
        same(&stream.clone_dtoh(&output)?, &stream.clone_dtoh(&totals)?, "device memory")?;
        let mut totals = stream.clone_htod(&values)?;
        let prepared = on_stream.clone().with_totals().prepare(axis.len())?;
        let mut output = stream.clone_htod(&input)?;
        match with_values {
            true => prepared.init_each(&of_device).totals_into(&mut totals).run_into(&buffer, &mut output)?,
            false => prepared.totals_into(&mut totals).run_into(&buffer, &mut output)?,
        }
        same(&stream.clone_dtoh(&output)?, &stream.clone_dtoh(&totals)?, "prepared")?;
        let on_stream = scan.on(&stream).along(axis.clone());
        let on_stream = if with_values { on_stream.init_each(&of_device) } else { on_stream };
        on_stream.totals_into(&mut totals).run_in_place(&mut buffer)?;
        same(&stream.clone_dtoh(&buffer)?, &stream.clone_dtoh(&totals)?, "in place")?;
    }
    Ok(())
}

/// More columns of one element each than 32 bits can count, and the same as one column for each of a few rows.
fn of_length_one() -> Outcome {
    const COLUMNS: usize = (5 << 30) + 77;
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let mut input = stream.alloc_zeros::<u8>(COLUMNS)?;
    let mut output = stream.alloc_zeros::<u8>(COLUMNS)?;
    let places = [0, 1, 4_095, 1 << 20, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 5, COLUMNS - 1];
    for (number, &place) in places.iter().enumerate() {
        stream.memcpy_htod(&[number as u8 + 1], &mut input.slice_mut(place..place + 1))?;
    }
    for (shape, axis) in [([1, COLUMNS], 0), ([COLUMNS, 1], 1)] {
        for exclusive in [false, true] {
            let scan = scanner.scan(ops::sum::<u8>()).init(100);
            let scan = if exclusive { scan.exclusive() } else { scan };
            stream.memset_zeros(&mut output)?;
            scan.on(&stream).along(Axis::of(&shape, axis)?).run_into(&input, &mut output)?;
            let around = |place: usize| place.saturating_sub(3)..COLUMNS.min(place + 4);
            for place in places.into_iter().flat_map(around) {
                let element = places.iter().position(|found| *found == place).map_or(0, |number| number as u8 + 1);
                let expected = if exclusive { 100 } else { 100 + element };
                let found = stream.clone_dtoh(&output.slice(place..place + 1))?[0];
                ensure(found == expected, || {
                    format!("{shape:?}, exclusive: {exclusive}: {found} in place {place}, not {expected}")
                })?;
            }
        }
    }
    Ok(())
}

//! Scans along an axis: in host and device memory, contiguous and not, aligned and not, one tile long and many.

use scan_runtime::{Axis, Error, ops};
use scan_tests::{
    axes::{Case, not_contiguous},
    operators::{AffineU32, Bytes3Sum, Interval, MatrixProduct, TakeLeft, TestOperator},
    reference::WAYS,
};

use crate::{Outcome, Trials, ensure, older::scanner};

pub(crate) fn add(trials: &mut Trials) {
    trials.add("axis", || {
        let shapes: [(&[usize], usize); 9] = [
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
        of::<Interval>(&shapes)?;
        of::<TakeLeft>(&shapes)?;
        of::<Bytes3Sum>(&shapes)?;
        of::<ops::Sum<u8>>(&shapes)?;
        of::<AffineU32>(&shapes)?;
        of::<MatrixProduct<3>>(&shapes)?;
        of::<MatrixProduct<8>>(&shapes)
    });
    trials.add("axis_of_arrays_that_are_not_contiguous", || {
        for (index, axis) in not_contiguous().into_iter().enumerate() {
            check::<Interval>(axis.clone(), index, false)?;
            check::<ops::Sum<u8>>(axis, index, true)?;
        }
        Ok(())
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
    trials.add("axis_of_views", || {
        let scanner = scanner()?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        let axis = Axis::of(&[700, 64], 0)?;
        let case = Case::<ops::Sum<u8>>::new(&scanner, axis.clone(), WAYS[1], false);
        let scan = case.scan.clone().axis(axis);
        for (before_input, before_output) in [(0, 0), (1, 0), (0, 3), (8, 16), (5, 5)] {
            let guarded = [vec![9; before_input], case.input.clone()].concat();
            let input = stream.clone_htod(&guarded)?;
            let mut output = stream.clone_htod(&vec![9_u8; case.expected.len() + before_output + 5])?;
            let results = before_output..before_output + case.expected.len();
            scan.on(&stream).run_into(&input.slice(before_input..), &mut output.slice_mut(results.clone()))?;
            let found = stream.clone_dtoh(&output)?;
            let fault = case.fault(&found[results.clone()]);
            ensure(fault.is_none(), || format!("{before_input}, {before_output}: {fault:?}"))?;
            let around = found[..results.start].iter().chain(&found[results.end..]).all(|byte| *byte == 9);
            ensure(around, || format!("{before_input}, {before_output}: something around the output was written"))?;
        }
        Ok(())
    });
    trials.add("axis_checks_lengths", || {
        let scanner = scanner()?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        let input = stream.clone_htod(&[1_i32; 7])?;
        let found = scanner.scan(ops::sum()).axis(Axis::of(&[2, 3], 0)?).on(&stream).run(&input);
        ensure(matches!(found, Err(Error::AxisLength { found: 7, expected: 6, .. })), || "7 of 6 elements".to_owned())
    });
    trials.add("axis_gives_the_same_floats_in_every_run", || {
        let scanner = scanner()?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        let (rows, columns) = (100_000, 16);
        let values: Vec<f32> = (0..rows * columns).map(|i| (i as f32 * 0.37).sin()).collect();
        let input = stream.clone_htod(&values)?;
        let scan = scanner.scan(ops::sum::<f32>()).axis(Axis::of(&[rows, columns], 0)?);
        let first = stream.clone_dtoh(&scan.on(&stream).run(&input)?)?;
        for _ in 0..20 {
            let again = stream.clone_dtoh(&scan.on(&stream).run(&input)?)?;
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
    let scan = case.scan.clone().axis(axis.clone());
    let on_stream = || {
        let scan = scan.on(&stream);
        // What the scan has of its own is the same value.
        if WAYS[index % WAYS.len()].1 { scan.init_from(&initial) } else { scan }
    };
    let mut output = stream.clone_htod(&case.between())?;
    on_stream().run_into(&input, &mut output)?;
    same(case.fault(&stream.clone_dtoh(&output)?), "device memory")?;
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

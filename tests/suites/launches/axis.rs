//! Calls along an axis, with host slices and with device slices.

use scan_runtime::{
    Axis, Error,
    arrays::{previous, strided},
    ndarray, ops,
};
use scan_tests::columns::Recurrence;

use crate::kinds::{Kinds, OnStream, Outcome, floats, lasts, scanner, zeros};

/// An array of so many elements.
const LEN: usize = 6_400;
/// Its shape, and its columns along the first axis.
const SHAPE: [usize; 2] = [100, 64];
/// One with columns of several tiles.
const LONG: [usize; 2] = [40_000, 8];

pub(crate) fn add(kinds: &mut Kinds) {
    host(kinds);
    host_columns(kinds);
    device(kinds);
    device_columns(kinds);
}

/// Results in device memory, which the recording driver has copied from the elements.
fn same(found: &[u32], expected: &[u32]) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{found:?}, not {expected:?}").into()) }
}

fn host(kinds: &mut Kinds) {
    kinds.add("host_axis", "sums.along([100, 64], 0).run(&input)", |calls| {
        let (sums, input) = (scanner()?.scan(ops::sum::<f32>()), floats(LEN));
        let sums = sums.along(Axis::of(&SHAPE, 0)?);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("host_axis_long", "sums.along([40_000, 8], 0).run_into(&input, &mut output)", |calls| {
        let sums = scanner()?.scan(ops::sum::<f32>());
        let sums = sums.along(Axis::of(&LONG, 0)?);
        let (input, mut output) = (floats(320_000), floats(320_000));
        calls.gives(&input, || {
            zeros(&mut output);
            sums.run_into(&input, &mut output).map(|()| output.clone())
        })
    });
    kinds.add("host_axis_rows", "sums.along([100, 64], 1).run(&input), which are rows", |calls| {
        let (sums, input) = (scanner()?.scan(ops::sum::<f32>()), floats(LEN));
        let sums = sums.along(Axis::of(&SHAPE, 1)?);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("host_axis_in_place", "sums.reverse().along([100, 64], 0).run_in_place(&mut buffer)", |calls| {
        let sums = scanner()?.scan(ops::sum::<f32>()).reverse();
        let sums = sums.along(Axis::of(&SHAPE, 0)?);
        let mut buffer = floats(LEN);
        let input = buffer.clone();
        calls.gives(&input, || sums.run_in_place(&mut buffer).map(|()| buffer.clone()))
    });
    kinds.add("host_axis_init", "sums.exclusive().init(1.5).along([100, 64], 0).run(&input)", |calls| {
        let sums = scanner()?.scan(ops::sum::<f32>()).exclusive().init(1.5);
        let sums = sums.along(Axis::of(&SHAPE, 0)?);
        let input = floats(LEN);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("host_axis_each", "axis([100, 64], 0).init_each(&values).with_totals().run(&input)", |calls| {
        let (input, values) = (floats(LEN), floats(64));
        let sums = scanner()?.scan(ops::sum::<f32>());
        let sums = sums.along(Axis::of(&SHAPE, 0)?).init_each(&values);
        let expected = (input.clone(), input[LEN - 64..].to_vec());
        calls.gives(&expected, || sums.clone().with_totals().run(&input))
    });
    kinds.add("host_axis_rows_each", "axis([100, 64], 1).init_each(&values).run_into_with_totals(…)", |calls| {
        let (input, mut output) = (floats(LEN), floats(LEN));
        let (values, mut totals) = (floats(100), floats(100));
        let sums = scanner()?.scan(ops::sum::<f32>());
        let axis = Axis::of(&SHAPE, 1)?;
        let expected = (input.clone(), lasts(&input, 64));
        calls.gives(&expected, || {
            zeros(&mut output);
            zeros(&mut totals);
            let sums = sums.along(axis.clone()).init_each(&values);
            sums.totals_into(&mut totals).run_into(&input, &mut output)?;
            Ok::<_, Error>((output.clone(), totals.clone()))
        })
    });
    kinds.add(
        "host_axis_gaps",
        "axis([100, 64], 0) with rows of 70 elements in the input, and of 80 in the output",
        |calls| {
            let axis = Axis::of(&SHAPE, 0)?.input_strides(&[70, 1])?.output_strides(&[80, 1])?;
            let (input, mut output) = (floats(axis.input_len()), floats(axis.output_len()));
            let sums = scanner()?.scan(ops::sum::<f32>());
            let sums = sums.along(axis);
            let mut expected = vec![-1.0; output.len()];
            (0..100).for_each(|row| expected[80 * row..][..64].copy_from_slice(&input[70 * row..][..64]));
            calls.gives(&expected, || {
                output.fill(-1.0);
                sums.run_into(&input, &mut output).map(|()| output.clone())
            })
        },
    );
    kinds.add("host_axis_transposed", "axis([100, 64], 0) of an array that lies transposed", |calls| {
        let sums = scanner()?.scan(ops::sum::<f32>());
        let sums = sums.along(Axis::of(&SHAPE, 0)?.strides(&[1, 100])?);
        let input = floats(LEN);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add(
        "host_axis_inverted",
        "axis([100, 64], 0) with strides of -64 and 1 in the input, and of 64 and -1 in the output",
        |calls| {
            let sums = scanner()?.scan(ops::sum::<f32>());
            let sums = sums.along(Axis::of(&SHAPE, 0)?.input_strides(&[-64, 1])?.output_strides(&[64, -1])?);
            let input = floats(LEN);
            // Both dimensions the other way round: all elements are.
            calls.gives(&input.iter().rev().copied().collect(), || sums.run(&input))
        },
    );
    kinds.add("host_axis_inverted_gaps", "axis([100, 64], 0) in rows of 70 results, from the last one on", |calls| {
        let sums = scanner()?.scan(ops::sum::<f32>());
        let axis = Axis::of(&SHAPE, 0)?.output_strides(&[-70, 1])?;
        let sums = sums.along(axis.clone());
        let (input, mut output) = (floats(LEN), vec![0.0; axis.output_len()]);
        let mut expected = output.clone();
        input.chunks(64).rev().enumerate().for_each(|(row, found)| expected[70 * row..][..64].copy_from_slice(found));
        calls.gives(&expected, || {
            zeros(&mut output);
            sums.run_into(&input, &mut output).map(|()| output.clone())
        })
    });
    kinds.add("host_axis_of_ndarray", "sums.along(1).run(&array) of an `ndarray` array of three dimensions", |calls| {
        let sums = scanner()?.scan(ops::sum::<f32>());
        let array = ndarray::Array3::from_shape_vec((4, 25, 64), floats(LEN))?;
        calls.gives(&array, || sums.along(1).run(&array))
    });
    kinds.add("host_axis_reduce", "sum.along([100, 64], 0).run(&input)", |calls| {
        let (sum, input) = (scanner()?.reduce(ops::sum::<f32>()), floats(LEN));
        let sum = sum.along(Axis::of(&SHAPE, 0)?);
        calls.gives(&input[LEN - 64..].to_vec(), || sum.run(&input))
    });
    kinds.add("host_axis_reduce_each", "sum.along([100, 64], 1).init_each(&values).run(&input)", |calls| {
        let (input, values) = (floats(LEN), floats(100));
        let sum = scanner()?.reduce(ops::sum::<f32>());
        let sum = sum.along(Axis::of(&SHAPE, 1)?).init_each(&values);
        calls.gives(&lasts(&input, 64), || sum.run(&input))
    });
}

fn host_columns(kinds: &mut Kinds) {
    kinds.add(
        "host_axis_columns",
        "a recurrence along an axis, (&gates, &tokens) to &mut states, with totals",
        |calls| {
            let scan = scanner()?.scan(Recurrence);
            let axis = Axis::of(&SHAPE, 0)?;
            let (gates, tokens, mut states) = (vec![3; LEN], (0..LEN as u32).collect::<Vec<_>>(), vec![0; LEN]);
            let mut totals = crate::host::maps(64);
            calls.gives(&tokens, || {
                zeros(&mut states);
                let scan = scan.along(axis.clone());
                scan.totals_into(&mut totals).run_into((&gates, &tokens), &mut states).map(|()| states.clone())
            })
        },
    );
    kinds.add(
        "host_axis_strided",
        "a recurrence along an axis, (strided(&gates, [1, 0]), previous(&tokens, 7))",
        |calls| {
            let scan = scanner()?.scan(Recurrence);
            let scan = scan.along(Axis::of(&SHAPE, 0)?);
            let (gates, tokens, mut states) =
                ((0..100).collect::<Vec<u32>>(), (0..LEN as u32).collect::<Vec<_>>(), vec![0; LEN]);
            calls.twice(|| scan.run_into((strided(&gates, &[1, 0]), previous(&tokens, 7)), &mut states))
        },
    );
}

fn device(kinds: &mut Kinds) {
    kinds.add("device_axis", "sums.along([100, 64], 0).on(&stream).run(&input), which allocates the output", |calls| {
        let on = OnStream::new()?;
        let (sums, axis) = (on.scanner.scan(ops::sum::<f32>()), Axis::of(&SHAPE, 0)?);
        let input = on.slice("input", &floats(LEN))?;
        calls.twice(|| sums.on(&on.stream).along(axis.clone()).run(&input))
    });
    kinds.add("device_axis_long", "sums.along([40_000, 8], 0).on(&stream).run_into(&input, &mut output)", |calls| {
        let on = OnStream::new()?;
        let (sums, axis) = (on.scanner.scan(ops::sum::<f32>()), Axis::of(&LONG, 0)?);
        let (input, mut output) = (on.slice("input", &floats(320_000))?, on.slice("output", &floats(320_000))?);
        calls.launches(1, || sums.on(&on.stream).along(axis.clone()).run_into(&input, &mut output))
    });
    kinds.add("device_axis_rows", "sums.along([100, 64], 1).on(&stream).run_into(…), which are rows", |calls| {
        let on = OnStream::new()?;
        let (sums, axis) = (on.scanner.scan(ops::sum::<f32>()), Axis::of(&SHAPE, 1)?);
        let (input, mut output) = (on.slice("input", &floats(LEN))?, on.slice("output", &floats(LEN))?);
        calls.launches(1, || sums.on(&on.stream).along(axis.clone()).run_into(&input, &mut output))
    });
    kinds.add("device_axis_in_place", "sums.reverse().along([100, 64], 0).on(&stream).run_in_place(…)", |calls| {
        let on = OnStream::new()?;
        let (sums, axis) = (on.scanner.scan(ops::sum::<f32>()).reverse(), Axis::of(&SHAPE, 0)?);
        let mut buffer = on.slice("buffer", &floats(LEN))?;
        calls.launches(1, || sums.on(&on.stream).along(axis.clone()).run_in_place(&mut buffer))
    });
    kinds.add("device_axis_views", "run_into of views that begin 3 and 5 elements from the beginning", |calls| {
        let on = OnStream::new()?;
        let (sums, axis) = (on.scanner.scan(ops::sum::<f32>()), Axis::of(&SHAPE, 0)?);
        let (input, mut output) = (on.slice("input", &floats(LEN + 3))?, on.slice("output", &floats(LEN + 5))?);
        let (input, mut output) = (input.slice(3..), output.slice_mut(5..));
        calls.launches(1, || sums.on(&on.stream).along(axis.clone()).run_into(&input, &mut output))
    });
    kinds.add("device_axis_init_from", "axis([100, 64], 0).on(&stream).init_from(&value).run_into(…)", |calls| {
        let on = OnStream::new()?;
        let (sums, axis) = (on.scanner.scan(ops::sum::<f32>()), Axis::of(&SHAPE, 0)?);
        let (input, mut output) = (on.slice("input", &floats(LEN))?, on.slice("output", &floats(LEN))?);
        let value = on.slice("value", &[1.5])?;
        calls.launches(1, || sums.on(&on.stream).along(axis.clone()).init_from(&value).run_into(&input, &mut output))
    });
    kinds.add("device_axis_each", "axis([100, 64], 0), init_each(&values).run_into_with_totals(…)", |calls| {
        let on = OnStream::new()?;
        let (sums, axis) = (on.scanner.scan(ops::sum::<f32>()), Axis::of(&SHAPE, 0)?);
        let (input, mut output) = (on.slice("input", &floats(LEN))?, on.slice("output", &floats(LEN))?);
        let (values, mut totals) = (on.slice("values", &floats(64))?, on.slice("totals", &floats(64))?);
        calls.launches(1, || {
            sums.on(&on.stream)
                .along(axis.clone())
                .init_each(&values)
                .totals_into(&mut totals)
                .run_into(&input, &mut output)
        })
    });
    kinds.add(
        "device_axis_rows_each",
        "axis([100, 64], 1), init_each(&values).run_in_place_with_totals(…)",
        |calls| {
            let on = OnStream::new()?;
            let (sums, axis) = (on.scanner.scan(ops::sum::<f32>()), Axis::of(&SHAPE, 1)?);
            let mut buffer = on.slice("buffer", &floats(LEN))?;
            let (values, mut totals) = (on.slice("values", &floats(100))?, on.slice("totals", &floats(100))?);
            calls.launches(1, || {
                sums.on(&on.stream)
                    .along(axis.clone())
                    .init_each(&values)
                    .totals_into(&mut totals)
                    .run_in_place(&mut buffer)
            })
        },
    );
    kinds.add(
        "device_axis_with_totals",
        "axis([100, 64], 0), run_with_totals(&input), which allocates both",
        |calls| {
            let on = OnStream::new()?;
            let (sums, axis) = (on.scanner.scan(ops::sum::<f32>()), Axis::of(&SHAPE, 0)?);
            let input = on.slice("input", &floats(LEN))?;
            calls.twice(|| sums.on(&on.stream).along(axis.clone()).with_totals().run(&input))
        },
    );
    kinds.add(
        "device_axis_gaps",
        "axis([100, 64], 0) with rows of 70 elements in the input, and of 80 in the output",
        |calls| {
            let on = OnStream::new()?;
            let axis = Axis::of(&SHAPE, 0)?.input_strides(&[70, 1])?.output_strides(&[80, 1])?;
            let input = on.slice("input", &floats(axis.input_len()))?;
            let mut output = on.slice("output", &floats(axis.output_len()))?;
            let sums = on.scanner.scan(ops::sum::<f32>());
            calls.launches(1, || sums.on(&on.stream).along(axis.clone()).run_into(&input, &mut output))
        },
    );
}

fn device_columns(kinds: &mut Kinds) {
    kinds.add("device_axis_columns", "a recurrence along an axis, init_each, with totals", |calls| {
        let on = OnStream::new()?;
        let (scan, axis) = (on.scanner.scan(Recurrence), Axis::of(&SHAPE, 0)?);
        let (gates, tokens) = (on.slice("gates", &[3_u32; LEN])?, on.slice("tokens", &[5_u32; LEN])?);
        let mut states = on.slice("states", &[0_u32; LEN])?;
        let maps = crate::host::maps(64);
        let (values, mut totals) = (on.slice("values", &maps)?, on.slice("totals", &maps)?);
        calls.launches(1, || {
            let scan = scan.on(&on.stream).along(axis.clone()).init_each(&values);
            scan.totals_into(&mut totals).run_into((&gates, &tokens), &mut states)
        })
    });
    kinds.add("device_axis_reduce", "a reduction along an axis, of two arrays; then a handle of it", |calls| {
        let on = OnStream::new()?;
        let (reduce, axis) = (on.scanner.reduce(Recurrence), Axis::of(&SHAPE, 0)?);
        let (gates, tokens) = (on.slice("gates", &[3_u32; LEN])?, on.slice("tokens", &[5_u32; LEN])?);
        let mut last = on.slice("last", &[0_u32; 64])?;
        let along = reduce.on(&on.stream).along(axis);
        calls.launches(1, || along.run_into((&gates, &tokens), &mut last))?;
        let handle = along.prepare_like((&gates, &tokens), &mut last, LEN)?;
        calls.launches(1, || handle.run_into((&gates, &tokens), &mut last))
    });
    kinds.add(
        "device_axis_inverted",
        "(strided(&gates, &strides), &tokens), of which the first one is inverted",
        |calls| {
            let on = OnStream::new()?;
            let (scan, axis) = (on.scanner.scan(Recurrence), Axis::of(&SHAPE, 0)?);
            let (gates, tokens) = (on.slice("gates", &[3_u32; LEN])?, on.slice("tokens", &[5_u32; LEN])?);
            let mut states = on.slice("states", &[0_u32; LEN])?;
            let strides = [-(SHAPE[1] as isize), 1];
            let scan = scan.on(&on.stream).along(axis);
            calls.launches(1, || scan.run_into((strided(&gates, &strides), &tokens), &mut states))
        },
    );
    kinds.add(
        "device_axis_inverted_both",
        "axis([100, 64], 0) with strides of -64 and 1 in the input, and of 64 and -1 in the output; in place; reduced",
        |calls| {
            let on = OnStream::new()?;
            let (gates, tokens) = (vec![3_u32; LEN], (0..LEN as u32).collect::<Vec<_>>());
            let axis = || Axis::of(&SHAPE, 0)?.input_strides(&[-64, 1]);
            let scan = on.scanner.scan(Recurrence);
            let (gates, tokens) = (on.slice("gates", &gates)?, on.slice("tokens", &tokens)?);
            let mut states = on.slice("states", &[0_u32; LEN])?;
            let both = axis()?.output_strides(&[64, -1])?;
            // The last array of the input is copied, by its strides to theirs.
            let inputs = (previous(&gates, 7), &tokens);
            calls.launches(1, || scan.on(&on.stream).along(both.clone()).run_into(inputs, &mut states))?;
            let expected: Vec<u32> = (0..LEN as u32).rev().collect();
            same(&on.stream.clone_dtoh(&states)?, &expected)?;
            let sums = on.scanner.scan(ops::sum::<u32>());
            let mut buffer = on.slice("buffer", &expected)?;
            let alike = Axis::of(&SHAPE, 0)?.strides(&[-64, -1])?;
            calls.launches(1, || sums.on(&on.stream).along(alike.clone()).run_in_place(&mut buffer))?;
            same(&on.stream.clone_dtoh(&buffer)?, &expected)?;
            // The last element of a column is the first one in memory. Results do not lie as the axis says.
            let sum = on.scanner.reduce(ops::sum::<u32>());
            let mut last = on.slice("last", &[0_u32; 64])?;
            calls.launches(1, || sum.on(&on.stream).along(both.clone()).run_into(&tokens, &mut last))?;
            same(&on.stream.clone_dtoh(&last)?, &(0..64).collect::<Vec<_>>())
        },
    );
    kinds.add("device_axis_strided", "(strided(&gates, [1, 0]), previous(&tokens, 7))", |calls| {
        let on = OnStream::new()?;
        let (scan, axis) = (on.scanner.scan(Recurrence), Axis::of(&SHAPE, 0)?);
        let (gates, tokens) = (on.slice("gates", &[3_u32; 100])?, on.slice("tokens", &[5_u32; LEN])?);
        let mut states = on.slice("states", &[0_u32; LEN])?;
        calls.launches(1, || {
            let inputs = (strided(&gates, &[1, 0]), previous(&tokens, 7));
            scan.on(&on.stream).along(axis.clone()).run_into(inputs, &mut states)
        })
    });
}

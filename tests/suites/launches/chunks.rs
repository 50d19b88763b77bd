//! Calls with host slices that are longer than a chunk.

use std::ops::ControlFlow;

use scan_runtime::{
    Axis, Error, Staging,
    arrays::{discard, gather, indices, previous, scatter, strided},
    ops,
};
use scan_tests::columns::Recurrence;

use crate::{
    host::maps,
    kinds::{Kinds, bits, flags, floats, keys, lasts, offsets, scanner_with, zeros},
};

/// Three chunks, of which the last one is shorter.
pub(crate) const LEN: usize = 10_000;

/// Chunks of 4,096 elements, which kernels read in the memory of the host.
pub(crate) fn staging() -> Staging {
    Staging::default().with_chunk_bytes(16 << 10)
}

pub(crate) fn add(kinds: &mut Kinds) {
    whole(kinds);
    segments(kinds);
    others(kinds);
}

fn whole(kinds: &mut Kinds) {
    kinds.add("chunks_run", "sums.run(&input), in chunks of 4,096 elements", |calls| {
        let (sums, input) = (scanner_with(staging())?.scan(ops::sum::<f32>()), floats(LEN));
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("chunks_copied", "sums.run(&input), in chunks that are copied to the device", |calls| {
        let (sums, input) = (scanner_with(staging().with_mapped_bytes(0))?.scan(ops::sum::<f32>()), floats(LEN));
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("chunks_in_place_with_total", "sums.with_total().run_in_place(&mut buffer), in chunks", |calls| {
        let (sums, mut buffer) = (scanner_with(staging())?.scan(ops::sum::<f32>()), floats(LEN));
        let expected = (buffer.clone(), buffer.last().copied());
        calls.gives(&expected, || sums.with_total().run_in_place(&mut buffer).map(|total| (buffer.clone(), total)))
    });
    kinds.add("chunks_init", "sums.exclusive().init(1.5).with_total().run(&input), in chunks", |calls| {
        let sums = scanner_with(staging())?.scan(ops::sum::<f32>()).exclusive().init(1.5);
        let input = floats(LEN);
        let expected = (input.clone(), input.last().copied());
        calls.gives(&expected, || sums.with_total().run(&input))
    });
    kinds.add("chunks_reverse", "sums.reverse().run(&input), in chunks", |calls| {
        let (sums, input) = (scanner_with(staging())?.scan(ops::sum::<f32>()), floats(LEN));
        let sums = sums.reverse();
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("chunks_cancelled", "sums.run(&input), in chunks, ended when one is done", |calls| {
        let sums = scanner_with(staging())?.scan(ops::sum::<f32>()).with_progress(|_| ControlFlow::Break(()));
        let input = floats(LEN);
        calls.gives(&(4_096, LEN), || match sums.run(&input) {
            Err(Error::Cancelled { done, of }) => Ok((done, of)),
            other => Err(format!("{:?}", other.map(|results| results.len()))),
        })
    });
    kinds.add("chunks_reduce", "sum.run(&input), in chunks", |calls| {
        let (sum, input) = (scanner_with(staging())?.reduce(ops::sum::<f32>()), floats(LEN));
        let sum = sum.init(1.5);
        calls.gives(&input[LEN - 1], || sum.run(&input))
    });
}

fn segments(kinds: &mut Kinds) {
    kinds.add("chunks_by_flags", "sums.by_flags(&flags).with_total().run(&input), in chunks", |calls| {
        let (input, flags) = (floats(LEN), flags(LEN, 700));
        let sums = scanner_with(staging())?.scan(ops::sum::<f32>());
        let sums = sums.by_flags(&flags);
        let expected = (input.clone(), input.last().copied());
        calls.gives(&expected, || sums.clone().with_total().run(&input))
    });
    kinds.add("chunks_by_bits", "sums.by_bits(&bits).run(&input), in chunks", |calls| {
        let (input, bits) = (floats(LEN), bits(LEN, 700));
        let sums = scanner_with(staging())?.scan(ops::sum::<f32>());
        let sums = sums.by_bits(&bits);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("chunks_by_keys", "sums.by_keys(&keys).run(&input), in chunks", |calls| {
        let (input, keys) = (floats(LEN), keys(LEN, 700));
        let sums = scanner_with(staging())?.scan(ops::sum::<f32>());
        let sums = sums.by_keys(&keys);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("chunks_by_offsets", "sums.by_offsets(&offsets).run(&input), of segments longer than a chunk", |calls| {
        let (input, offsets) = (floats(LEN), offsets(LEN, 7_000));
        let sums = scanner_with(staging())?.scan(ops::sum::<f32>());
        let sums = sums.by_offsets(&offsets);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("chunks_offsets_each", "by_offsets(&offsets).init_each(&values).with_totals().run(&input)", |calls| {
        let (input, offsets) = (floats(LEN), offsets(LEN, 700));
        let values = floats(offsets.len() - 1);
        let sums = scanner_with(staging())?.scan(ops::sum::<f32>());
        let sums = sums.by_offsets(&offsets).init_each(&values);
        let expected = (input.clone(), lasts(&input, 700));
        calls.gives(&expected, || sums.clone().with_totals().run(&input))
    });
    kinds.add("chunks_rows", "sums.rows(500).run(&input), in chunks", |calls| {
        let (sums, input) = (scanner_with(staging())?.scan(ops::sum::<f32>()), floats(LEN));
        let sums = sums.rows(500);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add("chunks_rows_each", "sums.rows(5_000).init_each(&values).with_totals().run(&input)", |calls| {
        let (input, values) = (floats(LEN), floats(2));
        let sums = scanner_with(staging())?.scan(ops::sum::<f32>());
        let sums = sums.rows(5_000).init_each(&values);
        let expected = (input.clone(), lasts(&input, 5000));
        calls.gives(&expected, || sums.clone().with_totals().run(&input))
    });
    kinds.add("chunks_reduce_by_flags", "sum.by_flags(&flags).run(&input), in chunks", |calls| {
        let (input, flags) = (floats(LEN), flags(LEN, 700));
        let sum = scanner_with(staging())?.reduce(ops::sum::<f32>());
        let sum = sum.by_flags(&flags);
        calls.gives(&lasts(&input, 700), || sum.run(&input))
    });
    kinds.add(
        "chunks_reduce_by_offsets",
        "sum.by_offsets(&offsets).run(&input), of segments longer than a chunk",
        |calls| {
            let (input, offsets) = (floats(LEN), offsets(LEN, 7_000));
            let sum = scanner_with(staging())?.reduce(ops::sum::<f32>());
            let sum = sum.by_offsets(&offsets);
            calls.gives(&lasts(&input, 7000), || sum.run(&input))
        },
    );
    kinds.add(
        "chunks_reduce_indices",
        "layer.by_offsets(&offsets).run((arrays::indices(), &tokens)), of segments longer than a chunk",
        |calls| {
            let (tokens, offsets) = (vec![1_u32; LEN], offsets(LEN, 7_000));
            let layer = scanner_with(staging())?.reduce(Recurrence);
            calls.twice(|| layer.by_offsets(&offsets).run((indices(), &tokens)))
        },
    );
    kinds.add(
        "chunks_reduce_reversed",
        "sum.reverse().by_offsets(&offsets), of segments longer than a chunk",
        |calls| {
            let (input, offsets) = (floats(LEN), offsets(LEN, 7_000));
            let sum = scanner_with(staging())?.reduce(ops::sum::<f32>()).reverse();
            calls.record("by offsets", || sum.by_offsets(&offsets).run(&input))?;
            calls.record("whole", || sum.run(&input))?;
            Ok(())
        },
    );
    kinds.add("chunks_reduce_rows", "sum.rows(500).run(&input), in chunks", |calls| {
        let (sum, input) = (scanner_with(staging())?.reduce(ops::sum::<f32>()), floats(LEN));
        let sum = sum.rows(500);
        calls.gives(&lasts(&input, 500), || sum.run(&input))
    });
}

fn others(kinds: &mut Kinds) {
    kinds.add("chunks_axis", "sums.along([200, 50], 0).run(&input), cut along the axis", |calls| {
        let sums = scanner_with(staging())?.scan(ops::sum::<f32>());
        let sums = sums.along(Axis::of(&[200, 50], 0)?);
        let input = floats(LEN);
        calls.gives(&input, || sums.run(&input))
    });
    kinds.add(
        "chunks_axis_inverted",
        "axis([200, 50], 0) with strides of -50 and 1 in the input, and of 50 and -1 in the output, in chunks",
        |calls| {
            let sums = scanner_with(staging())?.scan(ops::sum::<f32>());
            let sums = sums.along(Axis::of(&[200, 50], 0)?.input_strides(&[-50, 1])?.output_strides(&[50, -1])?);
            let input = floats(LEN);
            calls.gives(&input.iter().rev().copied().collect(), || sums.run(&input))
        },
    );
    kinds.add(
        "chunks_axis_inverted_each",
        "axis([4, 50, 50], 1), inverted along the first dimension and in place, with totals, in chunks",
        |calls| {
            let (input, mut totals) = (floats(LEN), floats(200));
            let sums = scanner_with(staging())?.scan(ops::sum::<f32>());
            let sums = sums.along(Axis::of(&[4, 50, 50], 1)?.strides(&[-2_500, 50, 1])?);
            let lasts: Vec<f32> = (0..4).rev().flat_map(|part| input[part * 2_500 + 2_450..][..50].to_vec()).collect();
            let mut buffer = input.clone();
            calls.gives(&(input.clone(), lasts), || {
                sums.clone().totals_into(&mut totals).run_in_place(&mut buffer)?;
                Ok::<_, Error>((buffer.clone(), totals.clone()))
            })
        },
    );
    kinds.add("chunks_axis_each", "axis([4, 50, 50], 1).init_each(&values).with_totals().run(&input)", |calls| {
        let (input, values) = (floats(LEN), floats(200));
        let sums = scanner_with(staging())?.scan(ops::sum::<f32>());
        let sums = sums.along(Axis::of(&[4, 50, 50], 1)?);
        let sums = sums.init_each(&values);
        let lasts = (0..4).flat_map(|part| input[part * 2_500 + 2_450..][..50].to_vec()).collect();
        calls.gives(&(input.clone(), lasts), || sums.clone().with_totals().run(&input))
    });
    kinds.add("chunks_axis_reduce", "sum.along([200, 50], 0).run(&input), cut along the axis", |calls| {
        let sum = scanner_with(staging())?.reduce(ops::sum::<f32>());
        let sum = sum.along(Axis::of(&[200, 50], 0)?);
        let input = floats(LEN);
        calls.gives(&input[LEN - 50..].to_vec(), || sum.run(&input))
    });
    kinds.add("chunks_columns", "a recurrence by columns, (&gates, &tokens) to &mut states, with the total", |calls| {
        let scan = scanner_with(staging())?.scan(Recurrence);
        let (gates, tokens, mut states) = (vec![3; LEN], (0..LEN as u32).collect::<Vec<_>>(), vec![0; LEN]);
        calls.gives(&tokens, || {
            zeros(&mut states);
            scan.with_total().run_into((&gates, &tokens), &mut states).map(|_| states.clone())
        })
    });
    kinds.add("chunks_gather", "a recurrence by columns, (gather(…), &tokens) to &mut states", |calls| {
        let scan = scanner_with(staging())?.scan(Recurrence);
        let (gates, tokens, mut states) = (vec![3, 5, 7], (0..LEN as u32).collect::<Vec<_>>(), vec![0; LEN]);
        let places: Vec<u32> = tokens.iter().map(|token| token % 3).collect();
        calls.gives(&tokens, || {
            zeros(&mut states);
            scan.run_into((gather(&gates, &places), &tokens), &mut states).map(|()| states.clone())
        })
    });
    kinds.add("chunks_indices", "a recurrence by columns, (&gates, indices()) to discard(), with the total", |calls| {
        let scan = scanner_with(staging())?.scan(Recurrence);
        let gates = vec![3; LEN];
        calls.twice(|| scan.with_total().run_into((&gates, indices()), discard()))
    });
    kinds.add(
        "chunks_columns_rows_each",
        "by columns, rows(500).init_each(&values), with totals, with neighbours",
        |calls| {
            let (values, mut totals) = (maps(20), maps(20));
            let scan = scanner_with(staging())?.scan(Recurrence);
            let (gates, tokens, mut states) = (vec![3; LEN], (0..LEN as u32).collect::<Vec<_>>(), vec![0; LEN]);
            let expected = [&[7], &tokens[..LEN - 1]].concat();
            let expected: Vec<u32> =
                expected.into_iter().enumerate().map(|(i, token)| if i % 500 == 0 { 7 } else { token }).collect();
            calls.gives(&expected, || {
                zeros(&mut states);
                let inputs = (&gates, previous(&tokens, 7));
                let scan = scan.rows(500).init_each(&values);
                scan.totals_into(&mut totals).run_into(inputs, &mut states).map(|()| states.clone())
            })
        },
    );
    kinds.add(
        "chunks_scatter",
        "a recurrence by columns, (&gates, &tokens) to scatter(&mut states, &places)",
        |calls| {
            let scan = scanner_with(staging())?.scan(Recurrence).reverse();
            let (gates, tokens, mut states) = (vec![3; LEN], (0..LEN as u32).collect::<Vec<_>>(), vec![0; LEN]);
            let places: Vec<u32> = tokens.iter().rev().copied().collect();
            calls.gives(&places, || {
                zeros(&mut states);
                scan.run_into((&gates, &tokens), scatter(&mut states, &places)).map(|()| states.clone())
            })
        },
    );
    kinds.add(
        "chunks_axis_columns",
        "a recurrence along an axis, (&gates, strided(&tokens, …)), cut along the axis",
        |calls| {
            let scan = scanner_with(staging())?.scan(Recurrence);
            let scan = scan.along(Axis::of(&[200, 50], 0)?);
            let (gates, tokens, mut states) = (vec![3; LEN], (0..50).collect::<Vec<u32>>(), vec![0; LEN]);
            let expected: Vec<u32> = (0..LEN as u32).map(|index| index % 50).collect();
            calls.gives(&expected, || {
                zeros(&mut states);
                scan.run_into((&gates, strided(&tokens, &[0, 1])), &mut states).map(|()| states.clone())
            })
        },
    );
}

//! Handles: what is prepared, and runs, which do nothing but launches.

use scan_runtime::{
    Axis, LateValue, Staging,
    cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
    ops,
};
use scan_tests::columns::Recurrence;

use crate::{
    host::weighted,
    kinds::{FEW, Kinds, MANY, OnStream, flags, floats, keys, lasts, offsets, scanner, scanner_with},
};

pub(crate) fn add(kinds: &mut Kinds) {
    slices(kinds);
    segments(kinds);
    graphs(kinds);
    host(kinds);
}

fn slices(kinds: &mut Kinds) {
    kinds.add("prepared_run_into", "prepare(1,000,000), then run_into of 1,000,000 and 1,000 elements", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        let (handle, _) = calls.record("prepare", || sums.on(&on.stream).prepare(MANY))?;
        for len in [MANY, FEW, MANY] {
            let (input, mut output) = (input.slice(..len), output.slice_mut(..len));
            calls.warm(&format!("{len} elements"), 1, || handle.run_into(&input, &mut output))?;
        }
        calls.record("drop", || {
            drop(handle);
            Ok::<_, String>(())
        })?;
        Ok(())
    });
    kinds.add("prepared_with_total", "prepare_with_total, then run_in_place_with_total", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>()).init(1.5);
        let (mut buffer, mut total) = (on.slice("buffer", &floats(FEW))?, on.slice("total", &[0.0])?);
        let (handle, _) = calls.record("prepare", || sums.on(&on.stream).with_total().prepare(FEW))?;
        calls.warm("run", 1, || handle.total_into(&mut total).run_in_place(&mut buffer))
    });
    kinds.add("prepared_table", "a handle of an operator with a parameter and a table", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(weighted());
        let (input, mut output) = (on.slice("input", &vec![3_u8; FEW])?, on.slice("output", &floats(FEW))?);
        let (handle, _) = calls.record("prepare", || scan.on(&on.stream).prepare(FEW))?;
        calls.warm("run", 1, || handle.run_into(&input, &mut output))
    });
    kinds.add("prepared_init_from", "init_from(&value).len_from(&len).prepare, then other values", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (value, other, len) = (on.slice("value", &[1.5])?, on.slice("other", &[2.5])?, on.slice("len", &[7_u64])?);
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let (handle, _) =
            calls.record("prepare", || sums.on(&on.stream).init_from(&value).len_from(&len).prepare(FEW))?;
        calls.warm("run", 1, || handle.init_from(&value).len_from(&len).run_into(&input, &mut output))?;
        calls.warm("another value", 1, || handle.init_from(&other).len_from(&len).run_into(&input, &mut output))
    });
    kinds.add("prepared_init_late", "init_late(&value).prepare, then runs", |calls| {
        // Of eight bytes: no others are left in its memory without a value.
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f64>());
        let value = LateValue::new(&on.stream)?;
        let (input, mut output) = (on.slice("input", &vec![1.0; FEW])?, on.slice("output", &vec![1.0; FEW])?);
        let (handle, _) = calls.record("prepare", || sums.on(&on.stream).init_late(&value).prepare(FEW))?;
        value.write(1.5)?;
        calls.record("run", || handle.init_late(&value).run_into(&input, &mut output))?;
        Ok(())
    });
    kinds.add("prepared_columns", "a recurrence by columns, prepared", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(Recurrence);
        let (gates, tokens) = (on.slice("gates", &vec![3_u32; FEW])?, on.slice("tokens", &vec![1_u32; FEW])?);
        let mut states = on.slice("states", &vec![0_u32; FEW])?;
        let (handle, _) =
            calls.record("prepare", || scan.on(&on.stream).prepare_like((&gates, &tokens), &mut states, FEW))?;
        calls.warm("run", 1, || handle.run_into((&gates, &tokens), &mut states))
    });
    kinds.add("prepared_axis_columns", "a recurrence along an axis, prepare_like with totals, then runs", |calls| {
        let on = OnStream::new()?;
        let scan = on.scanner.scan(Recurrence);
        let (gates, tokens) = (on.slice("gates", &[3_u32; 6_400])?, on.slice("tokens", &[5_u32; 6_400])?);
        let mut states = on.slice("states", &[0_u32; 6_400])?;
        let maps = crate::host::maps(64);
        let (values, mut totals) = (on.slice("values", &maps)?, on.slice("totals", &maps)?);
        let (handle, _) = calls.record("prepare", || {
            let along = scan.on(&on.stream).along(Axis::of(&[100, 64], 0)?).init_each(&values);
            along.with_totals().prepare_like((&gates, &tokens), &mut states, 6_400)
        })?;
        calls.warm("run", 1, || {
            let run = handle.init_each(&values);
            run.totals_into(&mut totals).run_into((&gates, &tokens), &mut states)
        })
    });
    kinds.add("prepared_reduce", "a reduction prepared for up to 1,000,000 elements", |calls| {
        let on = OnStream::new()?;
        let sum = on.scanner.reduce(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &[0.0])?);
        let (handle, _) = calls.record("prepare", || sum.on(&on.stream).prepare(MANY))?;
        calls.warm("1,000,000 elements", 3, || handle.run_into(&input, &mut output))?;
        calls.record("1,000 elements", || handle.run_into(&input.slice(..FEW), &mut output))?;
        Ok(())
    });
    kinds.add("prepared_axis", "sums.along([100, 64], 0).on(&stream).prepare(6_400), then run_into", |calls| {
        let on = OnStream::new()?;
        let (sums, axis) = (on.scanner.scan(ops::sum::<f32>()), Axis::of(&[100, 64], 0)?);
        let (input, mut output) = (on.slice("input", &floats(6_400))?, on.slice("output", &floats(6_400))?);
        let (handle, _) = calls.record("prepare", || sums.on(&on.stream).along(axis.clone()).prepare(6_400))?;
        calls.warm("run", 1, || handle.run_into(&input, &mut output))
    });
    kinds.add(
        "prepared_axis_init_from",
        "axis([100, 64], 1), init_from(&value).prepare(6_400), then a run in place",
        |calls| {
            let on = OnStream::new()?;
            let (sums, axis) = (on.scanner.scan(ops::sum::<f32>()), Axis::of(&[100, 64], 1)?);
            let (mut buffer, value) = (on.slice("buffer", &floats(6_400))?, on.slice("value", &[1.5])?);
            let (handle, _) =
                calls.record("prepare", || sums.on(&on.stream).along(axis.clone()).init_from(&value).prepare(6_400))?;
            calls.warm("run", 1, || handle.init_from(&value).run_in_place(&mut buffer))
        },
    );
    kinds.add(
        "prepared_axis_each",
        "axis([100, 64], 0), init_each(&values).with_totals().prepare(6_400), then a run",
        |calls| {
            let on = OnStream::new()?;
            let (sums, axis) = (on.scanner.scan(ops::sum::<f32>()), Axis::of(&[100, 64], 0)?);
            let (input, mut output) = (on.slice("input", &floats(6_400))?, on.slice("output", &floats(6_400))?);
            let (values, mut totals) = (on.slice("values", &floats(64))?, on.slice("totals", &floats(64))?);
            let (handle, _) = calls.record("prepare", || {
                sums.on(&on.stream).along(axis.clone()).init_each(&values).with_totals().prepare(6_400)
            })?;
            calls.warm("run", 1, || handle.init_each(&values).totals_into(&mut totals).run_into(&input, &mut output))
        },
    );
}

fn segments(kinds: &mut Kinds) {
    kinds.add("prepared_by_flags", "by_flags(&flags).prepare, then other flags", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (first, second) = (on.slice("flags", &flags(MANY, 70))?, on.slice("others", &flags(MANY, 90))?);
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        let (handle, _) = calls.record("prepare", || sums.on(&on.stream).by_flags(&first).prepare(MANY))?;
        calls.warm("run", 1, || handle.by_flags(&first).run_into(&input, &mut output))?;
        calls.warm("other flags", 1, || handle.by_flags(&second).run_into(&input, &mut output))
    });
    kinds.add("prepared_by_keys", "by_keys(&keys).init_from(&value).prepare_with_total, then a run", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (keys, value) = (on.slice("keys", &keys(FEW, 70))?, on.slice("value", &[1.5])?);
        let (mut buffer, mut total) = (on.slice("buffer", &floats(FEW))?, on.slice("total", &[0.0])?);
        let (handle, _) = calls
            .record("prepare", || sums.on(&on.stream).by_keys(&keys).init_from(&value).with_total().prepare(FEW))?;
        calls
            .warm("run", 1, || handle.by_keys(&keys).init_from(&value).total_into(&mut total).run_in_place(&mut buffer))
    });
    kinds.add("prepared_by_offsets", "by_offsets(&offsets).prepare, then a run with fewer segments", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (many, few) = (on.slice("many", &offsets(FEW, 70))?, on.slice("few", &offsets(FEW, 300))?);
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let (handle, _) = calls.record("prepare", || sums.on(&on.stream).by_offsets(&many).prepare(FEW))?;
        calls.warm("run", 1, || handle.by_offsets(&many).run_into(&input, &mut output))?;
        calls.warm("fewer segments", 1, || handle.by_offsets(&few).run_into(&input, &mut output))
    });
    kinds.add("prepared_rows_each", "rows(100).init_each(&values).prepare_with_totals, then a run", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let (values, mut totals) = (on.slice("values", &floats(10))?, on.slice("totals", &floats(10))?);
        let (handle, _) =
            calls.record("prepare", || sums.on(&on.stream).rows(100).init_each(&values).with_totals().prepare(FEW))?;
        calls.warm("run", 1, || {
            handle.rows(100).init_each(&values).totals_into(&mut totals).run_into(&input, &mut output)
        })
    });
    kinds.add("prepared_reduce_by_offsets", "a reduction by_offsets(&offsets), prepared", |calls| {
        let on = OnStream::new()?;
        let sum = on.scanner.reduce(ops::sum::<f32>());
        let offsets = offsets(FEW, 70);
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(offsets.len() - 1))?);
        let offsets = on.slice("offsets", &offsets)?;
        let (handle, _) = calls.record("prepare", || sum.on(&on.stream).by_offsets(&offsets).prepare(FEW))?;
        calls.warm("run", 2, || handle.by_offsets(&offsets).run_into(&input, &mut output))
    });
    kinds.add("prepared_reduce_by_flags", "a reduction by_flags(&flags), prepared", |calls| {
        let on = OnStream::new()?;
        let (sum, flags) = (on.scanner.reduce(ops::sum::<f32>()), on.slice("flags", &flags(FEW, 70))?);
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let mut count = on.slice("count", &[0_u64])?;
        let (handle, _) = calls.record("prepare", || sum.on(&on.stream).by_flags(&flags).prepare(FEW))?;
        calls.warm("run", 4, || handle.by_flags(&flags).count_into(&mut count).run_into(&input, &mut output))
    });
}

fn graphs(kinds: &mut Kinds) {
    kinds.add("graph_of_a_handle", "a run of a handle, captured, and the graph launched", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        let handle = sums.on(&on.stream).prepare(MANY)?;
        on.stream.begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        let captured = calls.warm("run while the stream is captured", 1, || handle.run_into(&input, &mut output));
        let graph = on.stream.end_capture(CUgraphInstantiate_flags(0))?.ok_or("nothing was captured")?;
        captured?;
        calls.record("launch the graph", || graph.launch())?;
        Ok(())
    });
    kinds.add("graph_of_a_call", "a call without a handle, captured: the graph has a workspace of its own", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        sums.on(&on.stream).run_into(&input, &mut output)?; // loads the kernels
        on.stream.begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        let captured =
            calls.record("run while the stream is captured", || sums.on(&on.stream).run_into(&input, &mut output));
        let _graph = on.stream.end_capture(CUgraphInstantiate_flags(0))?.ok_or("nothing was captured")?;
        captured?;
        Ok(())
    });
}

fn host(kinds: &mut Kinds) {
    kinds.add("prepared_host", "sums.prepare(1,000,000), then run of host slices", |calls| {
        let sums = scanner()?.scan(ops::sum::<f32>());
        let (handle, _) = calls.record("prepare", || sums.prepare(MANY))?;
        let input = floats(FEW);
        calls.record("1,000 elements", || handle.run(&input))?;
        calls.record("again", || handle.run(&input))?;
        Ok(())
    });
    kinds.add("prepared_host_axis", "axis([100, 64], 0).prepare, then run of host slices", |calls| {
        let sums = scanner()?.scan(ops::sum::<f32>());
        let sums = sums.along(Axis::of(&[100, 64], 0)?);
        let (handle, _) = calls.record("prepare", || sums.prepare(6_400))?;
        let input = floats(6_400);
        calls.gives(&input, || handle.run(&input))
    });
    kinds.add("prepared_host_columns", "per_field().prepare, then run of (&gates, &tokens)", |calls| {
        let scan = scanner()?.scan(Recurrence);
        let (handle, _) = calls.record("prepare", || scan.per_field().prepare(FEW))?;
        let (gates, tokens) = (vec![3; FEW], (0..FEW as u32).collect::<Vec<_>>());
        calls.gives(&tokens, || handle.run((&gates, &tokens)))
    });
    kinds.add("prepared_host_rows_each", "rows(100).init_each(&values).prepare_with_totals, then runs", |calls| {
        let values = floats(10);
        let sums = scanner()?.scan(ops::sum::<f32>());
        let rows = sums.rows(100).init_each(&values).with_totals();
        let (handle, _) = calls.record("prepare", || rows.prepare(FEW))?;
        let input = floats(FEW);
        calls.gives(&(input.clone(), lasts(&input, 100)), || {
            handle.rows(100).init_each(&values).with_totals().run(&input)
        })
    });
    kinds.add("prepared_host_chunks", "prepare(10,000) with chunks of 4,096 elements, then runs", |calls| {
        let sums = scanner_with(Staging::default().with_chunk_bytes(16 << 10))?.scan(ops::sum::<f32>());
        let (handle, _) = calls.record("prepare", || sums.with_total().prepare(10_000))?;
        let input = floats(10_000);
        calls.gives(&(input.clone(), input.last().copied()), || handle.with_total().run(&input))
    });
    kinds.add("prepared_host_reduce", "sum.prepare(1,000), then run of host slices", |calls| {
        let sum = scanner()?.reduce(ops::sum::<f32>());
        let (handle, _) = calls.record("prepare", || sum.prepare(FEW))?;
        let input = floats(FEW);
        calls.record("run", || handle.run(&input))?;
        Ok(())
    });
}

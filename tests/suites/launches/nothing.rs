//! Calls on no elements: what is written for nothing, and how.

use scan_runtime::{Axis, ops};
use scan_tests::columns::Recurrence;

use crate::{
    host::maps,
    kinds::{FEW, Kinds, OnStream, floats, scanner},
};

pub(crate) fn add(kinds: &mut Kinds) {
    host(kinds);
    device(kinds);
}

fn host(kinds: &mut Kinds) {
    kinds.add("nothing_host", "calls with empty host slices", |calls| {
        let (sums, sum) = (scanner()?.scan(ops::sum::<f32>()), scanner()?.reduce(ops::sum::<f32>()));
        calls.record("run", || sums.run(&[]))?;
        calls.record("run_with_total", || sums.with_total().run(&[]))?;
        calls.record("run_in_place", || sums.run_in_place(&mut []))?;
        calls.record("by_flags", || sums.clone().by_flags::<bool>(&[]).run(&[]))?;
        calls.record("rows", || sums.rows(100).with_totals().run(&[]))?;
        calls.record("no segments", || sums.by_offsets(&[0_u32]).with_totals().run(&[]))?;
        calls.record("empty segments", || {
            sums.by_offsets(&[0_u32; 4]).init_each(&[1.0, 2.0, 3.0]).with_totals().run(&[])
        })?;
        calls.record("no columns", || sums.along(Axis::of(&[9, 0], 0)?).with_totals().run(&[]))?;
        calls.record("empty columns", || sums.along(Axis::of(&[0, 9], 0)?).with_totals().run(&[]))?;
        calls.record("a reduction", || sum.run(&[]))?;
        calls.record("a reduction of empty segments", || sum.by_offsets(&[0_u32; 4]).run(&[]))?;
        calls.record("a reduction of empty columns", || sum.along(Axis::of(&[0, 9], 0)?).run(&[]))?;
        let columns = scanner()?.scan(Recurrence);
        let mut states = Vec::new();
        calls.record("columns", || columns.run_into((&[], &[]), &mut states))?;
        Ok(())
    });
}

fn device(kinds: &mut Kinds) {
    kinds.add("nothing_device", "calls with empty device slices", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let mut total = on.slice("total", &[0.0])?;
        let (input, mut output) = (input.slice(..0), output.slice_mut(..0));
        calls.record("run_into", || sums.on(&on.stream).run_into(&input, &mut output))?;
        calls.twice(|| sums.on(&on.stream).total_into(&mut total).run_into(&input, &mut output))?;
        let value = on.slice("value", &[1.5])?;
        calls.record("init_from", || {
            sums.on(&on.stream).init_from(&value).total_into(&mut total).run_into(&input, &mut output)
        })?;
        let started = sums.clone().init(1.5);
        calls.record("init", || started.on(&on.stream).total_into(&mut total).run_into(&input, &mut output))?;
        let len = on.slice("len", &[0_u64])?;
        calls.record("len_from", || {
            sums.on(&on.stream).len_from(&len).total_into(&mut total).run_into(&input, &mut output)
        })?;
        let handle = sums.on(&on.stream).with_total().prepare(FEW)?;
        calls.record("a handle", || handle.total_into(&mut total).run_into(&input, &mut output))?;
        Ok(())
    });
    kinds.add("nothing_device_segments", "calls with empty device slices, in segments", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let (input, mut output) = (input.slice(..0), output.slice_mut(..0));
        let flags = on.slice("flags", &[true])?;
        calls.record("by_flags", || sums.on(&on.stream).by_flags(&flags.slice(..0)).run_into(&input, &mut output))?;
        let (offsets, values) = (on.slice("offsets", &[0_u32; 4])?, on.slice("values", &floats(3))?);
        let mut totals = on.slice("totals", &floats(3))?;
        calls.record("empty segments", || {
            sums.on(&on.stream).by_offsets(&offsets).totals_into(&mut totals).run_into(&input, &mut output)
        })?;
        let value = on.slice("value", &[1.5])?;
        calls.record("empty segments with one initial value", || {
            let segments = sums.on(&on.stream).by_offsets(&offsets).init_from(&value);
            segments.totals_into(&mut totals).run_into(&input, &mut output)
        })?;
        calls.record("empty segments with initial values", || {
            let segments = sums.on(&on.stream).by_offsets(&offsets).init_each(&values);
            segments.totals_into(&mut totals).run_into(&input, &mut output)
        })?;
        let mut none = totals.slice_mut(..0);
        calls.record("rows", || sums.on(&on.stream).rows(100).totals_into(&mut none).run_into(&input, &mut output))?;
        Ok(())
    });
    kinds.add("nothing_device_others", "reductions, columns, and along an axis, of empty device slices", |calls| {
        let on = OnStream::new()?;
        let (sums, sum) = (on.scanner.scan(ops::sum::<f32>()), on.scanner.reduce(ops::sum::<f32>()));
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let mut totals = on.slice("totals", &floats(9))?;
        let input = input.slice(..0);
        calls.record("a reduction", || sum.on(&on.stream).run_into(&input, &mut output.slice_mut(..1)))?;
        let offsets = on.slice("offsets", &[0_u32; 4])?;
        calls.record("a reduction of empty segments", || {
            sum.on(&on.stream).by_offsets(&offsets).run_into(&input, &mut output.slice_mut(..3))
        })?;
        let (flags, mut count) = (on.slice("flags", &[true])?, on.slice("count", &[7_u64])?);
        calls.record("a reduction by flags", || {
            let flags = flags.slice(..0);
            sum.on(&on.stream).by_flags(&flags).count_into(&mut count).run_into(&input, &mut output.slice_mut(..0))
        })?;
        let axis = Axis::of(&[0, 9], 0)?;
        calls.record("empty columns", || {
            sums.on(&on.stream)
                .along(axis.clone())
                .totals_into(&mut totals)
                .run_into(&input, &mut output.slice_mut(..0))
        })?;
        let values = on.slice("values", &floats(9))?;
        calls.record("empty columns with initial values", || {
            let along = sums.on(&on.stream).along(axis.clone()).init_each(&values);
            along.totals_into(&mut totals).run_into(&input, &mut output.slice_mut(..0))
        })?;
        let (gates, mut states) = (on.slice("gates", &[3_u32])?, on.slice("states", &[0_u32])?);
        let (scan, mut total) = (on.scanner.scan(Recurrence), on.slice("total", &maps(1))?);
        calls.record("columns", || {
            let (gates, columns) = (gates.slice(..0), scan.on(&on.stream));
            columns.total_into(&mut total).run_into((&gates, &gates), &mut states.slice_mut(..0))
        })?;
        Ok(())
    });
}

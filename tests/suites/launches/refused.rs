//! Calls that are refused before anything is launched.

use scan_runtime::{
    Axis, LateValue, Scanner,
    arrays::gather,
    cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL},
    ops,
};
use scan_tests::{
    columns::Recurrence,
    lifting::{Wide, inputs},
    stepped::Emitter,
};

use crate::kinds::{FEW, Kinds, OnStream, floats, scanner};

pub(crate) fn add(kinds: &mut Kinds) {
    kinds.refused("refused_host_lengths", |calls| {
        let sums = scanner()?.scan(ops::sum::<f32>());
        let (input, mut output) = (floats(FEW), floats(FEW + 1));
        calls.refuse("a longer output", || sums.run_into(&input, &mut output))?;
        let flags = vec![true; FEW - 1];
        calls.refuse("fewer flags", || sums.by_flags(&flags).run(&input))?;
        calls.refuse("offsets past the end", || sums.by_offsets(&[0_u32, 1_001]).run(&input))?;
        calls.refuse("offsets that descend", || sums.by_offsets(&[0_u32, 500, 400, 1_000]).run(&input))?;
        calls.refuse("part of a row", || sums.rows(300).run(&input))?;
        let values = floats(9);
        calls.refuse("fewer values than rows", || sums.rows(100).init_each(&values).run(&input))?;
        calls.refuse("another shape", || sums.along(Axis::of(&[10, 10], 0)?).run(&input))?;
        Ok(())
    });
    kinds.refused("refused_device_lengths", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let (two, mut many) = (on.slice("two", &floats(2))?, on.slice("many", &floats(FEW + 1))?);
        calls.refuse("a longer output", || sums.on(&on.stream).run_into(&input, &mut many))?;
        calls.refuse("two initial values", || sums.on(&on.stream).init_from(&two).run_into(&input, &mut output))?;
        calls.refuse("a longer total", || sums.on(&on.stream).total_into(&mut many).run_into(&input, &mut output))?;
        let flags = on.slice("flags", &vec![true; FEW - 1])?;
        calls.refuse("fewer flags", || sums.on(&on.stream).by_flags(&flags).run_into(&input, &mut output))?;
        let bytes = on.slice("bytes", &[0_u8; 132])?;
        calls.refuse("bits of part of a word", || {
            sums.on(&on.stream).by_bits(&bytes.slice(..125)).run_into(&input, &mut output)
        })?;
        calls
            .refuse("bits within a byte", || sums.on(&on.stream).by_bits_at(&bytes, 4).run_into(&input, &mut output))?;
        calls.refuse("bits at an address that is not aligned", || {
            sums.on(&on.stream).by_bits(&bytes.slice(2..130)).run_into(&input, &mut output)
        })?;
        calls.refuse("part of a row", || sums.on(&on.stream).rows(300).run_into(&input, &mut output))?;
        let sum = on.scanner.reduce(ops::sum::<f32>());
        let down = Axis::of(&[10, 100], 0)?;
        calls.refuse("a reduction along an axis into too many", || {
            sum.on(&on.stream).along(down.clone()).run_into(&input, &mut output)
        })?;
        let (axis, mut total) = (Axis::of(&[10, 100], 0)?, on.slice("total", &[0.0])?);
        let len = on.slice("len", &[7_u64])?;
        calls.refuse("the last total along an axis", || {
            let along = sums.on(&on.stream).along(axis.clone());
            along.total_into(&mut total).run_into(&input, &mut output)
        })?;
        calls.refuse("a length along an axis", || {
            sums.on(&on.stream).along(axis.clone()).len_from(&len).run_into(&input, &mut output)
        })?;
        calls.refuse("a new output of unknown length", || sums.on(&on.stream).len_from(&len).run(&input))?;
        let columns = on.scanner.scan(Recurrence);
        let (gates, tokens) = (on.slice("gates", &[1_u32; 3])?, on.slice("tokens", &[1_u32; 2])?);
        let mut states = on.slice("states", &[0_u32; 3])?;
        calls.refuse("columns of other lengths", || columns.on(&on.stream).run_into((&gates, &tokens), &mut states))?;
        let nothing = tokens.slice(..0);
        calls.refuse("nothing to gather", || {
            columns.on(&on.stream).run_into((&gates, gather(&nothing, &gates)), &mut states)
        })
    });
    kinds.refused("refused_without_project", |calls| {
        let on = OnStream::new()?;
        let input = on.slice("input", &inputs(FEW))?;
        let results = vec![Wide { a: 0, b: 0 }; FEW];
        let (mut output, mut beside) = (on.slice("output", &results)?, on.slice("beside", &results)?);
        let mut few = on.slice("few", &results[..10])?;
        let mut one = on.slice("one", &results[..1])?;
        let (exclusive, reduce) = (on.scanner.scan(Emitter).exclusive(), on.scanner.reduce(Emitter));
        let down = Axis::of(&[10, 100], 0)?;
        calls.refuse("an exclusive scan", || exclusive.on(&on.stream).run_into(&input, &mut output))?;
        calls.refuse("an exclusive scan of columns", || {
            exclusive.on(&on.stream).along(down).run_into(&input, &mut output)
        })?;
        calls.refuse("its handle", || exclusive.on(&on.stream).prepare(FEW))?;
        calls.refuse("an exclusive scan of host memory", || exclusive.run(&inputs(FEW)))?;
        calls.refuse("a reduction", || reduce.on(&on.stream).run_into(&input, &mut one))?;
        calls.refuse("a reduction of nothing", || reduce.on(&on.stream).run_into(&input.slice(..0), &mut one))?;
        calls.refuse("a reduction of rows", || reduce.on(&on.stream).rows(100).run_into(&input, &mut few))?;
        calls.refuse("a reduction of columns", || {
            reduce.on(&on.stream).along(Axis::of(&[100, 10], 0)?).run_into(&input, &mut few)
        })?;
        calls.refuse("a reduction of host memory", || reduce.run(&inputs(FEW)))?;
        let around = on.scanner.scan(ops::with_exclusive(Emitter));
        calls.refuse("exclusive results beside", || around.on(&on.stream).run_into(&input, (&mut output, &mut beside)))
    });
    kinds.refused("refused_of_other_contexts", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let other = Scanner::builder().device(1).no_cache().build()?;
        let stream = other.context().ok_or("no context")?.new_stream()?;
        let mut theirs = stream.clone_htod(&floats(FEW))?;
        let (ours, mut output) = (on.slice("ours", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        calls.refuse("their stream", || sums.on(&stream).run(&theirs))?;
        calls.refuse("their input", || sums.on(&on.stream).run_into(&theirs, &mut output))?;
        calls.refuse("their output", || sums.on(&on.stream).run_into(&ours, &mut theirs))
    });
    kinds.refused("refused_by_handles", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let mut total = on.slice("total", &[0.0])?;
        let value = LateValue::new(&on.stream)?;
        let handle = sums.on(&on.stream).prepare(100)?;
        calls.refuse("more elements", || handle.run_into(&input, &mut output))?;
        let (short, mut short_output) = (input.slice(..100), output.slice_mut(..100));
        calls.refuse("a total", || handle.total_into(&mut total).run_into(&short, &mut short_output))?;
        calls.refuse("rows", || handle.rows(10).run_into(&short, &mut short_output))?;
        calls.refuse("an initial value", || handle.init_from(&total).run_into(&short, &mut short_output))?;
        calls.refuse("a late value", || handle.init_late(&value).run_into(&short, &mut short_output))?;
        let per_thread = on.stream.context().per_thread_stream();
        calls.refuse("a stream on each thread", || sums.on(&per_thread).prepare(100))
    });
    kinds.refused("refused_while_capturing", |calls| {
        let on = OnStream::new()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        on.stream.begin_capture(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        let refused = calls.refuse("preparing", || sums.on(&on.stream).prepare(100));
        on.stream.end_capture(CUgraphInstantiate_flags(0))?;
        refused
    });
}

//! Streams, events, page-locked memory, and memory that does not suffice.

use scan_runtime::{
    Axis, Error, PageLocked, Staging,
    arrays::{gather, scatter},
    ops,
};
use scan_tests::{columns::Recurrence, driver};

use crate::kinds::{FEW, Kinds, MANY, OnStream, flags, floats, scanner, scanner_with};

pub(crate) fn add(kinds: &mut Kinds) {
    events(kinds);
    streams(kinds);
    memory(kinds);
}

/// A call waits for what was done with the slices it uses, and records when it has used them.
fn events(kinds: &mut Kinds) {
    kinds.add("events_run_into", "run_into of slices that record events", |calls| {
        let on = OnStream::with_events()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        calls.twice(|| sums.on(&on.stream).run_into(&input, &mut output))
    });
    kinds.add("events_run_in_place", "run_in_place of a slice that records events", |calls| {
        let on = OnStream::with_events()?;
        let (sums, mut buffer) = (on.scanner.scan(ops::sum::<f32>()), on.slice("buffer", &floats(FEW))?);
        calls.twice(|| sums.on(&on.stream).run_in_place(&mut buffer))
    });
    kinds.add("events_of_all", "by_flags, init_from, len_from and the total, of slices that record events", |calls| {
        let on = OnStream::with_events()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let (flags, len) = (on.slice("flags", &flags(FEW, 70))?, on.slice("len", &[7_u64])?);
        let (value, mut total) = (on.slice("value", &[1.5])?, on.slice("total", &[0.0])?);
        calls.twice(|| {
            let run = sums.on(&on.stream).by_flags(&flags).init_from(&value).len_from(&len);
            run.total_into(&mut total).run_into(&input, &mut output)
        })
    });
    kinds.add("events_each", "rows(100), init_each and totals, of slices that record events", |calls| {
        let on = OnStream::with_events()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let (values, mut totals) = (on.slice("values", &floats(10))?, on.slice("totals", &floats(10))?);
        calls.twice(|| {
            let run = sums.on(&on.stream).rows(100).init_each(&values);
            run.totals_into(&mut totals).run_into(&input, &mut output)
        })
    });
    kinds.add(
        "events_columns",
        "a recurrence by columns, gathered and scattered, of slices that record events",
        |calls| {
            let on = OnStream::with_events()?;
            let scan = on.scanner.scan(Recurrence);
            let (gates, tokens) = (on.slice("gates", &[3_u32; FEW])?, on.slice("tokens", &[5_u32; FEW])?);
            let (from, to) = (on.slice("from", &[3_u32; FEW])?, on.slice("to", &[3_u32; FEW])?);
            let mut states = on.slice("states", &[0_u32; FEW])?;
            calls.twice(|| {
                let (inputs, output) = ((gather(&gates, &from), &tokens), scatter(&mut states, &to));
                scan.on(&on.stream).run_into(inputs, output)
            })
        },
    );
    kinds.add("events_axis", "axis([100, 10], 0), init_each and totals, of slices that record events", |calls| {
        let on = OnStream::with_events()?;
        let (sums, axis) = (on.scanner.scan(ops::sum::<f32>()), Axis::of(&[100, 10], 0)?);
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let (values, mut totals) = (on.slice("values", &floats(10))?, on.slice("totals", &floats(10))?);
        calls.twice(|| {
            sums.on(&on.stream)
                .along(axis.clone())
                .init_each(&values)
                .totals_into(&mut totals)
                .run_into(&input, &mut output)
        })
    });
    kinds.add("events_reduce", "a reduction by_flags with the count, of slices that record events", |calls| {
        let on = OnStream::with_events()?;
        let (sum, flags) = (on.scanner.reduce(ops::sum::<f32>()), on.slice("flags", &flags(FEW, 70))?);
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let mut count = on.slice("count", &[0_u64])?;
        calls.twice(|| sum.on(&on.stream).by_flags(&flags).count_into(&mut count).run_into(&input, &mut output))
    });
    kinds.add("events_prepared", "a run of a handle, of slices that record events", |calls| {
        let on = OnStream::with_events()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let (value, mut total) = (on.slice("value", &[1.5])?, on.slice("total", &[0.0])?);
        let handle = sums.on(&on.stream).init_from(&value).with_total().prepare(FEW)?;
        calls.record("run", || handle.init_from(&value).total_into(&mut total).run_into(&input, &mut output))?;
        Ok(())
    });
    kinds.add("events_of_nothing", "totals of nothing, of slices that record events", |calls| {
        let on = OnStream::with_events()?;
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(FEW))?, on.slice("output", &floats(FEW))?);
        let (value, mut total) = (on.slice("value", &[1.5])?, on.slice("total", &[0.0])?);
        let (input, mut output) = (input.slice(..0), output.slice_mut(..0));
        calls.record("the identity", || sums.on(&on.stream).total_into(&mut total).run_into(&input, &mut output))?;
        calls.record("the initial value", || {
            sums.on(&on.stream).init_from(&value).total_into(&mut total).run_into(&input, &mut output)
        })?;
        Ok(())
    });
    kinds.add("events_of_another_stream", "an input and an initial value that another stream has written", |calls| {
        let on = OnStream::with_events()?;
        let other = on.stream.context().new_stream()?;
        driver::name_stream(&other, "other");
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, value) = (other.clone_htod(&floats(FEW))?, other.clone_htod(&[1.5])?);
        driver::name(&input, "input");
        driver::name(&value, "value");
        let mut output = on.slice("output", &floats(FEW))?;
        calls.record("run", || sums.on(&on.stream).init_from(&value).run_into(&input, &mut output))?;
        Ok(())
    });
}

fn streams(kinds: &mut Kinds) {
    kinds.add("stream_null", "run_into on the null stream", |calls| {
        let scanner = scanner()?;
        let stream = scanner.context().ok_or("no context")?.default_stream();
        let (input, mut output) = (stream.clone_htod(&floats(MANY))?, stream.clone_htod(&floats(MANY))?);
        driver::name(&input, "input");
        driver::name(&output, "output");
        let sums = scanner.scan(ops::sum::<f32>());
        calls.launches(1, || sums.on(&stream).run_into(&input, &mut output))
    });
    kinds.add("stream_per_thread", "run_into on the thread's stream, whose workspaces are not kept", |calls| {
        let scanner = scanner()?;
        let stream = scanner.context().ok_or("no context")?.per_thread_stream();
        let (input, mut output) = (stream.clone_htod(&floats(MANY))?, stream.clone_htod(&floats(MANY))?);
        driver::name(&input, "input");
        driver::name(&output, "output");
        let sums = scanner.scan(ops::sum::<f32>());
        calls.twice(|| sums.on(&stream).run_into(&input, &mut output))
    });
    kinds.add("stream_second", "run_into on a second stream, which has a workspace of its own", |calls| {
        let on = OnStream::new()?;
        let second = on.stream.context().new_stream()?;
        driver::name_stream(&second, "second");
        let sums = on.scanner.scan(ops::sum::<f32>());
        let (input, mut output) = (on.slice("input", &floats(MANY))?, on.slice("output", &floats(MANY))?);
        for (stream, heading) in [(&on.stream, "stream"), (&second, "second"), (&on.stream, "stream, again")] {
            calls.record(heading, || sums.on(stream).run_into(&input, &mut output))?;
        }
        calls.warm("second, again", 1, || sums.on(&second).run_into(&input, &mut output))
    });
}

fn memory(kinds: &mut Kinds) {
    kinds.add("host_page_locked", "run_into of host slices that are page-locked", |calls| {
        let scanner = scanner()?;
        let sums = scanner.scan(ops::sum::<f32>());
        let input = PageLocked::from_slice(&scanner, &floats(MANY))?;
        let mut output = PageLocked::filled(&scanner, 0.0, MANY)?;
        if !input.is_page_locked() {
            return Err("the memory is not page-locked".into());
        }
        calls.twice(|| sums.run_into(&input, &mut output))
    });
    kinds.add("host_kept_memory", "run of 1,000,000 elements, of which 64 KiB of device memory are kept", |calls| {
        let sums = scanner_with(Staging::default().with_kept_bytes(64 << 10))?.scan(ops::sum::<f32>());
        let input = floats(MANY);
        calls.twice(|| sums.run(&input))
    });
    kinds.add(
        "device_out_of_memory",
        "run(&input), when memory suffices only without what host calls have kept",
        |calls| {
            let on = OnStream::new()?;
            let (sums, host) = (on.scanner.scan(ops::sum::<f32>()), floats(MANY));
            sums.run(&host)?; // keeps 4 MB
            let input = on.slice("input", &host)?;
            sums.on(&on.stream).run(&input)?; // makes the workspace
            let limited = driver::limit_device_memory(9_000_000);
            let first = calls.record("run", || sums.on(&on.stream).run(&input))?;
            let refused = calls.record("run once more", || sums.on(&on.stream).run(&input));
            drop(limited);
            drop(first);
            match refused {
                Err(Error::OutOfDeviceMemory { .. }) => Ok(()),
                other => Err(format!("{:?}", other.map(drop)).into()),
            }
        },
    );
}

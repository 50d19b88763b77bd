//! Streams, events, page-locked memory, and memory that does not suffice.

use scan_runtime::{Error, Staging, ops};
use scan_tests::driver;

use crate::kinds::{FEW, Kinds, MANY, OnStream, floats, scanner, scanner_with};

pub(crate) fn add(kinds: &mut Kinds) {
    kinds.add("stream_with_events", "run_into on a stream of several, whose slices record events", |calls| {
        let scanner = scanner()?;
        let stream = scanner.context().ok_or("no context")?.new_stream()?;
        driver::name_stream(&stream, "stream");
        let (input, mut output) = (stream.clone_htod(&floats(FEW))?, stream.clone_htod(&floats(FEW))?);
        driver::name(&input, "input");
        driver::name(&output, "output");
        let sums = scanner.scan(ops::sum::<f32>());
        calls.twice(|| sums.on(&stream).run_into(&input, &mut output))
    });
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
    kinds.add("host_page_locked", "run_into of host slices that are page-locked", |calls| {
        let scanner = scanner()?;
        let (sums, context) = (scanner.scan(ops::sum::<f32>()), scanner.context().ok_or("no context")?);
        // SAFETY: the memory is written next.
        let (mut input, mut output) =
            unsafe { (context.alloc_pinned::<f32>(MANY)?, context.alloc_pinned::<f32>(MANY)?) };
        input.as_mut_slice()?.copy_from_slice(&floats(MANY));
        output.as_mut_slice()?.fill(0.0);
        let (input, output) = (input.as_slice()?, output.as_mut_slice()?);
        calls.twice(|| sums.run_into(input, &mut *output))
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

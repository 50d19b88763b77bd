//! Kept workspaces, prepared scans, and graphs of them.

use std::{
    sync::{Arc, Barrier},
    thread,
    time::Instant,
};

use scan_runtime::{
    Axis, BlockScan, Carry, Error, Network, Reduction, Scan, ScanKind, Scanner, Strategy, TileNumbers,
    cudarc::driver::{
        CudaStream,
        sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    },
    ops,
};
use scan_tests::{
    configure,
    operators::{Interval, PolynomialHash, TestOperator, first_difference, mixed},
    reference::{self, WAYS},
    spans::Spans,
    words,
};

use crate::{Outcome, Trials, cases::Case, ensure};

/// The strategies that differ in what they keep, and the default.
const STRATEGIES: [Option<Strategy>; 5] = {
    const fn by(carry: Carry) -> Option<Strategy> {
        Some(Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry })
    }
    [
        None,
        by(Carry::LookAhead),
        by(Carry::LookBack),
        by(Carry::Chained(TileNumbers::Counter)),
        by(Carry::ReduceThenScan),
    ]
};

fn choose<Op: TestOperator>(scanner: &Scanner, index: usize) -> Scan<Op> {
    let scan = configure::<Op>(scanner, WAYS[index % 4]);
    match STRATEGIES[index % STRATEGIES.len()] {
        Some(strategy) => scan.strategy(strategy),
        None => scan,
    }
}

/// Lengths up and down, a tile and less among them.
fn lengths(longest: usize) -> impl Iterator<Item = usize> {
    let of_any_size = move |i: u64| {
        let bits = 1 + mixed(i) % u64::from(longest.ilog2());
        (mixed(i ^ 0x5555) % (1 << bits)) as usize + 1
    };
    (0..40).map(of_any_size).chain([longest, 3, longest - 1, 5_000, longest])
}

fn compare<Op: TestOperator>(output: &[Op::Item], case: &Case<Op>, way: usize, what: impl Fn() -> String) -> Outcome {
    match first_difference(output, case.expected(way, output.len())) {
        None => Ok(()),
        Some(first) => Err(format!("{}, {} elements: wrong from {first} on", what(), output.len()).into()),
    }
}

pub(crate) fn add(trials: &mut Trials) {
    for (index, strategy) in STRATEGIES.into_iter().enumerate() {
        let name = strategy.map_or_else(|| "default".to_owned(), |strategy| strategy.carry.to_string());
        trials.add("every_word_of_a_call", || {
            let scanner = Scanner::cuda(0)?;
            let stream = scanner.context().ok_or("no context")?.new_stream()?;
            words::on_host(&scanner)?;
            words::on_device(&scanner, &stream)
        });
        trials.add(format!("kept_workspace: {name}"), move || {
            up_and_down::<Interval>(index)?;
            up_and_down::<ops::Sum<i32>>(index)
        });
        trials.add(format!("prepared: {name}"), move || {
            prepared::<Interval>(index)?;
            prepared::<ops::Sum<i32>>(index)
        });
        trials.add(format!("graph: {name}"), move || {
            graph::<PolynomialHash>(index, 1_000_003)?;
            graph::<ops::Sum<i32>>(index, 3_000)?;
            graph::<ops::Sum<i32>>(index, 4_000_001)
        });
        trials.add(format!("captured_without_handle: {name}"), move || captured_without_handle(index));
        trials.add(format!("eager_calls_between_replays: {name}"), move || eager_between_replays(index));
        trials.add(format!("captured_on_a_forked_stream: {name}"), move || captured_on_a_fork(index));
        trials.add(format!("one_scanner_many_streams: {name}"), move || many_streams(index));
        trials.add(format!("one_stream_many_threads: {name}"), move || one_stream(index));
        trials.add(format!("dropped_early: {name}"), move || dropped_early(index));
    }
    trials.add("handles_of_one_stream_in_many_threads", handles_of_one_stream);
    trials.add("prepared_totals_and_segments", totals_and_segments);
    for reduction in [Reduction::Divergent, Reduction::Contiguous, Reduction::Coarsened] {
        trials.add(format!("prepared_reduction: {reduction}"), move || {
            prepared_reduction::<Interval>(reduction)?;
            prepared_reduction::<PolynomialHash>(reduction)
        });
    }
    trials.add("prepared_runs_have_launch_spans_only", launch_spans);
    trials.add("prepared_runs_refuse_wrong_arguments", errors);
    trials.add("prepared_runs_take_little_host_time", host_time);
}

/// Many lengths on one workspace, which grows.
fn up_and_down<Op: TestOperator>(index: usize) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let case = Case::<Op>::shared();
    let input = stream.clone_htod(case.input(1 << 21))?;
    let scan = choose::<Op>(&scanner, index);
    for len in lengths(1 << 21) {
        let output = scan.on(&stream).run(&input.slice(..len))?;
        compare(&stream.clone_dtoh(&output)?, &case, index % 4, || "kept".to_owned())?;
    }
    Ok(())
}

/// The same with a handle, apart and in place.
fn prepared<Op: TestOperator>(index: usize) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let case = Case::<Op>::shared();
    let longest = case.longest();
    let input = stream.clone_htod(case.input(longest))?;
    let mut output = stream.clone_htod(case.input(longest))?;
    let handle = choose::<Op>(&scanner, index).on(&stream).prepare(longest)?;
    for (run, len) in lengths(longest).enumerate() {
        let mut part = output.slice_mut(..len);
        if run % 3 == 0 {
            stream.memcpy_dtod(&input.slice(..len), &mut part)?;
            handle.run_in_place(&mut part)?;
        } else {
            handle.run_into(&input.slice(..len), &mut part)?;
        }
        compare(&stream.clone_dtoh(&part)?, &case, index % 4, || "prepared".to_owned())?;
    }
    Ok(())
}

/// A stream whose work can be captured: alone, and without events.
pub(crate) fn stream_to_capture(scanner: &Scanner) -> Result<Arc<CudaStream>, Box<dyn std::error::Error>> {
    let context = scanner.context().ok_or("no context")?;
    // SAFETY: all work of this context is on one stream.
    unsafe { context.disable_event_tracking() };
    Ok(context.new_stream()?)
}

pub(crate) const CAPTURE: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;

/// A hundred launches of a graph of two scans, between others, with other elements each time.
fn graph<Op: TestOperator>(index: usize, len: usize) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = stream_to_capture(&scanner)?;
    let case = Case::<Op>::shared();
    let scan = choose::<Op>(&scanner, index);
    let handle = scan.on(&stream).prepare(len)?;
    let mut input = stream.clone_htod(case.input(len))?;
    let (mut first, mut second) = (stream.clone_htod(case.input(len))?, stream.clone_htod(case.input(len))?);
    stream.begin_capture(CAPTURE)?;
    let captured = handle.run_into(&input, &mut first).and_then(|()| handle.run_into(&first, &mut second));
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?.ok_or("nothing was captured")?;
    captured?;
    for run in 0..100 {
        let changed: Vec<Op::Item> = (0..len as u64).map(|i| Op::input(i + run)).collect();
        stream.memcpy_htod(&changed, &mut input)?;
        graph.launch()?;
        if run % 7 == 0 {
            handle.run_into(&input.slice(..len / 2), &mut first.slice_mut(..len / 2))?;
        }
        if run % 10 == 0 || run > 96 {
            let reference = |input: &[Op::Item]| {
                let (kind, with_initial_value) = WAYS[index % 4];
                let initial_value = with_initial_value.then(Op::initial_value);
                reference::scan(&Op::new(), kind, initial_value, input)
            };
            let expected = reference(&reference(&changed));
            if let Some(wrong) = first_difference(&stream.clone_dtoh(&second)?, &expected) {
                return Err(format!("launch {run} of the graph, {len} elements: wrong from {wrong} on").into());
            }
        }
    }
    stream.synchronize()?;
    Ok(())
}

/// A graph of plain calls has its memory to itself.
fn captured_without_handle(index: usize) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = stream_to_capture(&scanner)?;
    let case = Case::<Interval>::shared();
    let len = 300_000;
    let scan = choose::<Interval>(&scanner, index);
    let input = stream.clone_htod(case.input(len))?;
    let mut output = stream.clone_htod(case.input(len))?;
    scan.on(&stream).run_into(&input.slice(..1_000), &mut output.slice_mut(..1_000))?;
    scan.on(&stream).run_into(&input, &mut output)?; // loads the kernels
    stream.begin_capture(CAPTURE)?;
    let captured = scan.on(&stream).run_into(&input, &mut output);
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?.ok_or("nothing was captured")?;
    captured?;
    for _ in 0..20 {
        stream.memcpy_dtod(&input, &mut output)?;
        graph.launch()?;
        compare(&stream.clone_dtoh(&output)?, &case, index % 4, || "captured".to_owned())?;
        scan.on(&stream).run_into(&input.slice(..7_000), &mut output.slice_mut(..7_000))?;
    }
    Ok(())
}

/// A graph of a plain call and of one by a handle, between whose launches the stream runs other calls: shorter ones, and
/// longer ones, for which what the scanner keeps for the stream grows.
fn eager_between_replays(index: usize) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = stream_to_capture(&scanner)?;
    let case = Case::<Interval>::shared();
    let (len, longest) = (20_000, 1 << 20);
    let scan = choose::<Interval>(&scanner, index);
    let handle = scan.on(&stream).prepare(len)?;
    let input = stream.clone_htod(case.input(longest))?;
    let (mut plain, mut by_handle) = (stream.clone_htod(case.input(len))?, stream.clone_htod(case.input(len))?);
    let mut eager = stream.clone_htod(case.input(longest))?;
    let part = input.slice(..len);
    scan.on(&stream).run_into(&part, &mut plain)?; // loads the kernels
    stream.begin_capture(CAPTURE)?;
    let captured = scan.on(&stream).run_into(&part, &mut plain).and_then(|()| handle.run_into(&part, &mut by_handle));
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?.ok_or("nothing was captured")?;
    captured?;
    for (run, len_between) in [1_000, 1 << 17, 3, longest, 20_000, 700_001].into_iter().cycle().take(18).enumerate() {
        let what = |what: &str| format!("{what}, run {run}");
        stream.memcpy_dtod(&part, &mut plain)?;
        stream.memcpy_dtod(&part, &mut by_handle)?;
        graph.launch()?;
        scan.on(&stream).run_into(&input.slice(..len_between), &mut eager.slice_mut(..len_between))?;
        compare(&stream.clone_dtoh(&plain)?, &case, index % 4, || what("a plain call"))?;
        compare(&stream.clone_dtoh(&by_handle)?, &case, index % 4, || what("a handle"))?;
        let eager = stream.clone_dtoh(&eager.slice(..len_between))?;
        compare(&eager, &case, index % 4, || what("an eager call"))?;
    }
    Ok(())
}

/// Scans on a stream that joins a capture by an event, beside one on the stream that began it.
fn captured_on_a_fork(index: usize) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = stream_to_capture(&scanner)?;
    let fork = scanner.context().ok_or("no context")?.new_stream()?;
    let case = Case::<Interval>::shared();
    let len = 300_000;
    let scan = choose::<Interval>(&scanner, index);
    let handle = scan.on(&fork).prepare(len)?;
    let input = stream.clone_htod(case.input(len))?;
    let [mut beside, mut on_fork, mut by_handle] = {
        let output = || stream.clone_htod(case.input(len));
        [output()?, output()?, output()?]
    };
    scan.on(&stream).run_into(&input, &mut beside)?; // loads the kernels
    stream.synchronize()?;
    scan.on(&fork).run_into(&input, &mut on_fork)?;
    fork.synchronize()?;
    stream.begin_capture(CAPTURE)?;
    let captured = (|| {
        fork.wait(&stream.record_event(None)?)?;
        scan.on(&stream).run_into(&input, &mut beside)?;
        scan.on(&fork).run_into(&input, &mut on_fork)?;
        handle.run_into(&input, &mut by_handle)?;
        stream.wait(&fork.record_event(None)?)?;
        Ok::<(), Box<dyn std::error::Error>>(())
    })();
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?.ok_or("nothing was captured")?;
    captured?;
    for run in 0..20 {
        for output in [&mut beside, &mut on_fork, &mut by_handle] {
            stream.memcpy_dtod(&input, output)?;
        }
        graph.launch()?;
        for (output, what) in [(&beside, "beside"), (&on_fork, "on the fork"), (&by_handle, "by a handle")] {
            compare(&stream.clone_dtoh(output)?, &case, index % 4, || format!("{what}, run {run}"))?;
        }
        // Between replays both streams work as ever.
        scan.on(&fork).run_into(&input.slice(..7_000), &mut on_fork.slice_mut(..7_000))?;
        handle.run_into(&input.slice(..70_000), &mut by_handle.slice_mut(..70_000))?;
        fork.synchronize()?;
        let (short, longer) = (on_fork.slice(..7_000), by_handle.slice(..70_000));
        compare(&stream.clone_dtoh(&short)?, &case, index % 4, || format!("after run {run}"))?;
        compare(&stream.clone_dtoh(&longer)?, &case, index % 4, || format!("by a handle, after run {run}"))?;
    }
    Ok(())
}

/// Several threads at once, each with its number.
fn on_threads(threads: usize, run: impl Fn(usize) -> Outcome + Sync) -> Outcome {
    let run = |thread| run(thread).map_err(|error| format!("thread {thread}: {error}"));
    thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    Ok(())
}

/// One scanner for many threads, each with a stream of its own.
fn many_streams(index: usize) -> Outcome {
    const THREADS: usize = 8;
    let scanner = Scanner::cuda(0)?;
    let context = scanner.context().ok_or("no context")?;
    let case = Case::<Interval>::shared();
    let scan = choose::<Interval>(&scanner, index);
    let barrier = Barrier::new(THREADS);
    on_threads(THREADS, |thread| {
        let stream = context.new_stream()?;
        let input = stream.clone_htod(case.input(1 << 18))?;
        barrier.wait();
        for len in lengths(1 << 18).skip(thread) {
            let output = scan.on(&stream).run(&input.slice(..len))?;
            compare(&stream.clone_dtoh(&output)?, &case, index % 4, || "kept".to_owned())?;
        }
        Ok(())
    })
}

/// Many threads on one stream, where each launch finds what the one before it has left.
fn one_stream(index: usize) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let case = Case::<Interval>::shared();
    let scan = choose::<Interval>(&scanner, index);
    let handle = scan.on(&stream).prepare(1 << 18)?;
    let input = stream.clone_htod(case.input(1 << 18))?;
    on_threads(4, |thread| {
        for len in lengths(1 << 18).skip(thread) {
            let mut output = stream.clone_htod(case.input(len))?;
            match thread % 2 {
                0 => scan.on(&stream).run_into(&input.slice(..len), &mut output)?,
                _ => handle.run_into(&input.slice(..len), &mut output)?,
            }
            compare(&stream.clone_dtoh(&output)?, &case, index % 4, || "one stream".to_owned())?;
        }
        Ok(())
    })
}

/// Handles of several kinds on one stream, each used by several threads at once.
fn handles_of_one_stream() -> Outcome {
    const ROWS: usize = 500;
    const COLUMNS: usize = 300;
    let (scanner, cpu) = (Scanner::cuda(0)?, Scanner::cpu());
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let input: Vec<u32> = (0..(ROWS * COLUMNS) as u64).map(|i| mixed(i) as u32).collect();
    let down = Axis::of(&[ROWS, COLUMNS], 0)?;
    let sums = ops::sum::<u32>;
    let scanned = cpu.scan(sums()).run(&input)?;
    let total = cpu.reduce(sums()).run(&input)?;
    let of_columns = cpu.scan(sums()).along(down.clone()).run(&input)?;
    let with_total = scanner.scan(sums()).on(&stream).with_total().prepare(input.len())?;
    let reduce = scanner.reduce(sums()).on(&stream).prepare(input.len())?;
    let axis = scanner.scan(sums()).on(&stream).along(down).prepare(input.len())?;
    let device_input = stream.clone_htod(&input)?;
    on_threads(6, |thread| {
        for run in 0..25 {
            let what = |what: &str| format!("{what}, run {run}");
            let mut output = stream.alloc_zeros::<u32>(input.len())?;
            let mut result = stream.alloc_zeros::<u32>(1)?;
            match (thread + run) % 3 {
                0 => {
                    with_total.total_into(&mut result).run_into(&device_input, &mut output)?;
                    ensure(stream.clone_dtoh(&output)? == scanned, || what("a scan"))?;
                    ensure(stream.clone_dtoh(&result)? == [total], || what("its total"))?;
                }
                1 => {
                    reduce.run_into(&device_input, &mut result)?;
                    ensure(stream.clone_dtoh(&result)? == [total], || what("a reduction"))?;
                }
                _ => {
                    axis.run_into(&device_input, &mut output)?;
                    ensure(stream.clone_dtoh(&output)? == of_columns, || what("along an axis"))?;
                }
            }
        }
        Ok(())
    })
}

/// Streams and handles that are dropped while their work is under way, again and again.
fn dropped_early(index: usize) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let context = scanner.context().ok_or("no context")?;
    let case = Case::<Interval>::shared();
    let len = 1 << 20;
    let scan = choose::<Interval>(&scanner, index);
    let home = context.new_stream()?;
    let input = home.clone_htod(case.input(len))?;
    for run in 0..30 {
        let mut output = home.clone_htod(case.input(len))?;
        let stream = context.new_stream()?;
        if run % 2 == 0 {
            let handle = scan.on(&stream).prepare(len)?;
            for _ in 0..5 {
                handle.run_into(&input, &mut output)?;
            }
        } else {
            for _ in 0..5 {
                scan.on(&stream).run_into(&input, &mut output)?;
            }
        }
        drop(stream);
        // Whoever gets the memory that was freed too early would spoil it.
        let other = context.new_stream()?;
        let noise = other.clone_htod(&vec![!0_u32; 1 << 16])?;
        compare(&home.clone_dtoh(&output)?, &case, index % 4, || format!("run {run}"))?;
        drop(noise);
    }
    Ok(())
}

fn totals_and_segments() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let case = Case::<Interval>::shared();
    let (longest, way) = (300_000, 1);
    let scan = configure::<Interval>(&scanner, WAYS[way]);
    let input = stream.clone_htod(case.input(longest))?;
    let mut output = stream.clone_htod(case.input(longest))?;
    let mut total = stream.clone_htod(case.input(1))?;
    let with_total = scan.on(&stream).with_total().prepare(longest)?;
    for len in lengths(longest) {
        with_total.total_into(&mut total).run_into(&input.slice(..len), &mut output.slice_mut(..len))?;
        let (output, total) = (stream.clone_dtoh(&output.slice(..len))?, stream.clone_dtoh(&total)?);
        compare(&output, &case, way, || "with total".to_owned())?;
        ensure(first_difference(&total, &output[len - 1..]).is_none(), || format!("total of {len} elements"))?;
    }
    with_total.total_into(&mut total).run_into(&input.slice(..0), &mut output.slice_mut(..0))?;
    let of_empty = stream.clone_dtoh(&total)?;
    ensure(first_difference(&of_empty, &[Interval::initial_value()]).is_none(), || "total of nothing".to_owned())?;

    let flags: Vec<u8> = (0..longest as u64).map(|i| u8::from(mixed(i).is_multiple_of(100))).collect();
    let numbers: Vec<u32> = (0..longest as u32).collect();
    let (device_flags, mut buffer) = (stream.clone_htod(&flags)?, stream.clone_htod(&numbers)?);
    let by_flags = scanner.scan(ops::sum::<u32>()).on(&stream).by_flags(&device_flags).prepare(longest)?;
    for len in [longest, 4_000, 1, longest - 1] {
        stream.memcpy_htod(&numbers, &mut buffer)?;
        by_flags.by_flags(&device_flags.slice(..len)).run_in_place(&mut buffer.slice_mut(..len))?;
        let expected = Scanner::cpu().scan(ops::sum()).by_flags(&flags[..len]).run(&numbers[..len])?;
        let found = stream.clone_dtoh(&buffer.slice(..len))?;
        ensure(found == expected, || format!("segments of {len} elements"))?;
    }
    Ok(())
}

/// Reductions of many lengths by a handle, and a graph of them, in which nothing is reduced, too.
fn prepared_reduction<Op: TestOperator>(reduction: Reduction) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = stream_to_capture(&scanner)?;
    let longest = 1 << 18;
    let items: Vec<Op::Item> = (0..longest as u64).map(Op::input).collect();
    let input = stream.clone_htod(&items)?;
    for initial_value in [None, Some(Op::initial_value())] {
        let reduce = scanner.reduce(Op::new()).reduction(reduction);
        let reduce = match initial_value {
            Some(value) => reduce.init(value),
            None => reduce,
        };
        let sums = reference::scan(&Op::new(), ScanKind::Inclusive, initial_value, &items);
        let of_empty = initial_value.or_else(|| Op::new().identity()).ok_or("no identity")?;
        let expected = |len: usize| if len == 0 { of_empty } else { sums[len - 1] };
        let is_right = |found: &[Op::Item], len: usize, what: &str| {
            let right = first_difference(found, &[expected(len)]).is_none();
            ensure(right, || format!("{what}, {len} elements, initial value {}", initial_value.is_some()))
        };
        let handle = reduce.on(&stream).prepare(longest)?;
        let mut result = stream.clone_htod(&items[..1])?;
        for len in lengths(longest).chain([0]) {
            handle.run_into(&input.slice(..len), &mut result)?;
            is_right(&stream.clone_dtoh(&result)?, len, "prepared")?;
        }
        for len in [0, 100_000] {
            stream.begin_capture(CAPTURE)?;
            let captured = handle.run_into(&input.slice(..len), &mut result);
            let graph = stream.end_capture(CUgraphInstantiate_flags(0))?.ok_or("nothing was captured")?;
            captured?;
            for _ in 0..3 {
                stream.memcpy_htod(&items[..1], &mut result)?;
                graph.launch()?;
                is_right(&stream.clone_dtoh(&result)?, len, "in a graph")?;
            }
        }
        let mut three = stream.clone_htod(&items[..3])?;
        let error = handle.run_into(&input.slice(..5), &mut three).err();
        ensure(matches!(error, Some(Error::Length { found: 3, expected: 1, .. })), || format!("{error:?}"))?;
        let error = reduce.on(&stream).prepare(7)?.run_into(&input.slice(..8), &mut result).err();
        ensure(matches!(error, Some(Error::PreparedLength { len: 8, max_len: 7 })), || format!("{error:?}"))?;
    }
    Ok(())
}

/// A run of a handle is a launch, and nothing else.
fn launch_spans() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let scan = scanner.scan(ops::sum::<u32>()).on(&stream).prepare(100_000)?;
    let sum = scanner.reduce(ops::sum::<u32>()).on(&stream).prepare(100_000)?;
    let (input, mut output) = (stream.clone_htod(&[1_u32; 70_000])?, stream.alloc_zeros::<u32>(70_000)?);
    let mut result = stream.alloc_zeros::<u32>(1)?;
    let spans = Spans::default();
    let run = || scan.run_into(&input, &mut output).and_then(|()| sum.run_into(&input, &mut result));
    tracing::subscriber::with_default(spans.subscriber(tracing::Level::TRACE), run)?;
    let found: Vec<_> = spans.take().into_iter().map(|record| (record.name, record.fields["len"].clone())).collect();
    let launch = || ("launch", "70000".to_owned());
    ensure(found == [launch(), launch()], || format!("{found:?}"))?;
    ensure(stream.clone_dtoh(&result)? == [70_000], || "the sum is wrong".to_owned())
}

fn errors() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = stream_to_capture(&scanner)?;
    let scan = scanner.scan(ops::sum::<i32>());
    let handle = scan.on(&stream).prepare(100)?;
    let mut buffer = stream.clone_htod(&[1; 101])?;
    let error = handle.run_in_place(&mut buffer).err();
    ensure(matches!(error, Some(Error::PreparedLength { len: 101, max_len: 100 })), || format!("{error:?}"))?;
    ensure(stream.clone_dtoh(&buffer)? == [1; 101], || "the buffer was touched".to_owned())?;
    let (input, mut output) = (stream.clone_htod(&[1; 3])?, stream.clone_htod(&[1; 4])?);
    let error = handle.run_into(&input, &mut output).err();
    ensure(matches!(error, Some(Error::Length { what: "output", expected: 3, found: 4, .. })), || {
        format!("{error:?}")
    })?;
    let context = scanner.context().ok_or("no context")?;
    let error = scan.on(&context.per_thread_stream()).prepare(100).err();
    ensure(matches!(error, Some(Error::PerThreadStream)), || format!("{error:?}"))?;
    stream.begin_capture(CAPTURE)?;
    let error = scan.on(&stream).prepare(100).err();
    stream.end_capture(CUgraphInstantiate_flags(0))?;
    ensure(matches!(error, Some(Error::Captured)), || format!("{error:?}"))?;
    let error = scan.on(&stream).prepare(usize::MAX).err();
    let is_clear = matches!(error, Some(Error::OutOfDeviceMemory { .. } | Error::Plan(_)));
    ensure(is_clear, || format!("{error:?}"))
}

/// What a run costs the host: printed, and held against a bound that only a mistake would reach.
fn host_time() -> Outcome {
    const RUNS: u32 = 500;
    let scanner = Scanner::cuda(0)?;
    let stream = stream_to_capture(&scanner)?;
    let scan = scanner.scan(ops::sum::<f32>());
    let handle = scan.on(&stream).prepare(1 << 20)?;
    for len in [1_000, 1 << 16] {
        let input = stream.alloc_zeros::<f32>(len)?;
        let mut output = stream.alloc_zeros::<f32>(len)?;
        let time = |run: &mut dyn FnMut() -> Result<(), Error>| -> Result<(f64, f64), Box<dyn std::error::Error>> {
            let mut best = (f64::MAX, f64::MAX);
            for _ in 0..10 {
                stream.synchronize()?;
                let start = Instant::now();
                (0..RUNS).try_for_each(|_| run())?;
                let enqueued = start.elapsed();
                stream.synchronize()?;
                let done = start.elapsed();
                best.0 = best.0.min(enqueued.as_secs_f64() * 1e6 / f64::from(RUNS));
                best.1 = best.1.min(done.as_secs_f64() * 1e6 / f64::from(RUNS));
            }
            Ok(best)
        };
        let (host, back_to_back) = time(&mut || handle.run_into(&input, &mut output))?;
        let (plain, plain_back_to_back) = time(&mut || scan.on(&stream).run_into(&input, &mut output))?;
        println!(
            "{len} elements: a prepared run takes {host:.2} µs of the host, {back_to_back:.2} µs back to back; \
             a plain one {plain:.2} µs, {plain_back_to_back:.2} µs"
        );
        ensure(host < 100.0, || format!("{host} µs for a prepared run"))?;
    }
    Ok(())
}

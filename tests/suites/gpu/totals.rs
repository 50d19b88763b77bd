//! Totals of scans that restart, and totals of segments, of device memory: by calls, by handles and in graphs.

use std::sync::Arc;

use scan_codegen::ScanSpec;
use scan_runtime::{
    Error, PlanError, Scan, ScanOp, Scanner,
    cudarc::driver::{
        CudaStream,
        sys::{CUgraphInstantiate_flags, CUstreamCaptureMode},
    },
    ops, scan_op,
};
use scan_tests::{
    configure,
    emulated::results_of,
    matrix::Register,
    operators::{AffineU32, MatrixProduct, TestOperator, bits, inputs},
    reference::{self, WAYS},
    restart,
    segments::{HEAD_SOURCES, HeadSource, Heads, PATTERNS, begins},
};

use crate::{Outcome, Trials, ensure, older::scanner, prepared::stream_to_capture};

pub(crate) fn add(trials: &mut Trials) {
    trials.add("totals_of_host_memory", || scan_tests::totals::check(&Scanner::cuda(0)?));
    trials.add("totals_of_segmented_scans", || with_total::<AffineU32>(&[1, 1_000, 70_003, 3_000_001]));
    trials.add("totals_of_segments", || {
        of_segments::<AffineU32>(&[1, 33, 8_192, 8_193, 70_003, 3_000_001])?;
        of_segments::<MatrixProduct<3>>(&[100_003])
    });
    trials.add("totals_of_segments_totals_of_empty_scans", totals_of_empty_segments);
    trials.add("totals_of_scans_totals_of_empty_scans", || {
        let (value, other) = (AffineU32::initial_value(), AffineU32::input(7));
        totals_of_empty_scans(AffineU32, value, other)?;
        totals_of_empty_scans(Register, 9, 7)?;
        totals_of_empty_scans(ops::with_exclusive(AffineU32), value, other)
    });
    trials.add("totals_of_segments_in_a_graph", graph);
    trials.add("reductions_with_wrong_arguments_are_refused", refused);
}

/// A total beside a scan that restarts: into a slice, in place, and by a handle.
fn with_total<Op: TestOperator>(lengths: &[usize]) -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for (turn, &len) in lengths.iter().enumerate() {
        let input = inputs::<Op>(len);
        for head_source in 0..HEAD_SOURCES {
            let way = WAYS[(turn + head_source) % WAYS.len()];
            let heads = Heads::new(head_source, &begins(PATTERNS[(turn + head_source) % PATTERNS.len()], len, 4_096));
            let initial = way.1.then(Op::initial_value);
            let expected = reference::scan_segments(&Op::new(), way.0, initial, &input, &heads.begins);
            let last = heads.begins.iter().rposition(|begins| *begins).unwrap_or(0);
            let total = reference::total(&Op::new(), initial, &input[last..]).ok_or("no total")?;
            let scan = configure::<Op>(&scanner, way);
            let device_input = stream.clone_htod(&input)?;
            let (mut output, mut found) = (stream.clone_htod(&input)?, stream.clone_htod(&[Op::initial_value()])?);
            let what = |how: &str| format!("{how}, {way:?}, {len} elements, {head_source}");
            let right = |stream: &Arc<CudaStream>, output: &_, found: &_, how: &str| -> Outcome {
                ensure(bits(&stream.clone_dtoh(output)?) == bits(&expected), || what(how))?;
                ensure(bits(&stream.clone_dtoh(found)?) == bits(&[total]), || what(how) + ": another total")
            };
            restart!(scan.on(&stream), heads, |vector| stream.clone_htod(vector)?, |scan| {
                scan.clone().total_into(&mut found).run_into(&device_input, &mut output)?;
                right(&stream, &output, &found, "into a slice")?;
                stream.memcpy_dtod(&device_input, &mut output)?;
                scan.clone().total_into(&mut found).run_in_place(&mut output)?;
                right(&stream, &output, &found, "in place")?;
                let handle = scan.clone().with_total().prepare(len)?;
                let error = handle.run_into(&device_input, &mut output).err();
                ensure(matches!(error, Some(Error::HandleMismatch { .. })), || {
                    what("without what it was prepared for")
                })?;
            });
            let device_heads = stream.clone_htod(&heads.bytes())?;
            if head_source == 0 {
                let handle = scan.on(&stream).by_flags(&device_heads).with_total().prepare(len)?;
                stream.memcpy_dtod(&device_input, &mut output)?;
                handle.by_flags(&device_heads).total_into(&mut found).run_in_place(&mut output)?;
                right(&stream, &output, &found, "prepared")?;
            }
        }
    }
    Ok(())
}

/// What each segment comes to: the last result of the scan.
fn expected<Op: TestOperator>(
    initial: Option<Op::Item>,
    input: &[Op::Item],
    heads: &Heads,
    reversed: bool,
) -> Vec<Op::Item> {
    let spec = if reversed { ScanSpec::inclusive().reverse() } else { ScanSpec::inclusive() };
    let scanned = reference::scan_as(&Op::new(), &spec, initial, input, Some(&heads.begins));
    let of_nothing = initial.or_else(|| Op::new().identity()).unwrap_or(Op::initial_value());
    results_of(&scanned, heads, of_nothing, reversed)
}

fn of_segments<Op: TestOperator>(lengths: &[usize]) -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for (turn, &len) in lengths.iter().enumerate() {
        let input = inputs::<Op>(len);
        let device_input = stream.clone_htod(&input)?;
        for head_source in 0..HEAD_SOURCES {
            let initial = ((turn + head_source) % 2 == 1).then(Op::initial_value);
            let reduce = scanner.reduce(Op::new());
            let reduce = if let Some(initial) = initial { reduce.init(initial) } else { reduce };
            let reversed = (turn + head_source) / 2 % 2 == 1;
            let reduce = if reversed { reduce.reverse() } else { reduce };
            let heads = Heads::new(head_source, &begins(PATTERNS[(turn + head_source) % PATTERNS.len()], len, 4_096));
            let expected = expected::<Op>(initial, &input, &heads, reversed);
            let what = |how: &str| format!("{how}, {len} elements, {head_source}");
            let mut totals = stream.clone_htod(&vec![Op::initial_value(); len.max(expected.len())])?;
            let mut count = stream.alloc_zeros::<u64>(1)?;
            let known = matches!(heads.source, HeadSource::Offsets(_) | HeadSource::LongOffsets(_));
            restart!(reduce.on(&stream), heads, |vector| stream.clone_htod(vector)?, |reduce| {
                if known {
                    let found = if expected.is_empty() {
                        Vec::new()
                    } else {
                        stream.clone_dtoh(&reduce.run(&device_input)?)?
                    };
                    ensure(bits(&found) == bits(&expected), || what("a new slice"))?;
                } else {
                    reduce.count_into(&mut count).run_into(&device_input, &mut totals)?;
                    let found = stream.clone_dtoh(&totals.slice(..expected.len()))?;
                    ensure(stream.clone_dtoh(&count)? == [expected.len() as u64], || what("another count"))?;
                    ensure(bits(&found) == bits(&expected), || what("a slice"))?;
                }
            });
        }
        for row in [1, 3, len] {
            let rows = Heads::rows(row, len / row * row);
            let part = device_input.slice(..rows.begins.len());
            let reversed = (turn + row) % 2 == 1;
            let expected = expected::<Op>(None, &input[..rows.begins.len()], &rows, reversed);
            let reduce = scanner.reduce(Op::new());
            let reduce = if reversed { reduce.reverse() } else { reduce };
            let found = stream.clone_dtoh(&reduce.on(&stream).rows(row).run(&part)?)?;
            ensure(bits(&found) == bits(&expected), || format!("{len} elements in rows of {row}"))?;
            let handle = reduce.on(&stream).rows(1).prepare(len)?;
            let mut totals = stream.clone_htod(&vec![Op::initial_value(); expected.len()])?;
            handle.rows(row).run_into(&part, &mut totals)?;
            let found = stream.clone_dtoh(&totals)?;
            ensure(bits(&found) == bits(&expected), || format!("prepared, {len} elements in rows of {row}"))?;
        }
    }
    Ok(())
}

fn totals_of_empty_segments() -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let reduce = scanner.reduce(ops::sum::<i32>()).init(40);
    let (nothing, offsets) = (stream.null::<i32>()?, stream.clone_htod(&[0_u32; 4])?);
    let found = reduce.on(&stream).by_offsets(&offsets).run(&nothing)?;
    ensure(stream.clone_dtoh(&found)? == [40; 3], || "three empty segments".to_owned())?;
    let found = reduce.on(&stream).rows(5).run(&nothing)?;
    ensure(found.num_bytes() == 0, || "no rows".to_owned())?;
    let (flags, mut count) = (stream.null::<u8>()?, stream.clone_htod(&[7_u64])?);
    let mut totals = stream.clone_htod(&[1_i32])?;
    reduce.on(&stream).by_flags(&flags).count_into(&mut count).run_into(&nothing, &mut totals)?;
    ensure(stream.clone_dtoh(&count)? == [0], || "no segments".to_owned())?;
    ensure(stream.clone_dtoh(&totals)? == [1], || "written beyond the results".to_owned())
}

/// The total of an empty scan is its initial value. Without one there is none, and the start is written into memory.
fn totals_of_empty_scans<Op: ScanOp + Clone>(op: Op, value: Op::Carry, other: Op::Carry) -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let (nothing, mut none) = (stream.null::<Op::Input>()?, stream.null::<Op::Output>()?);
    let device_value = stream.clone_htod(&[value])?;
    for value in [None, Some(value)] {
        let scan = value.into_iter().fold(scanner.scan(op.clone()), Scan::init);
        let (_, total) = scan.on(&stream).with_total().run(&nothing)?;
        let total = total.map(|total| stream.clone_dtoh(&total)).transpose()?;
        ensure(total.map(|total| bits(&total)) == value.map(|value| bits(&[value])), || "a total".to_owned())?;
        let (_, total) = scan.on(&stream).init_from(&device_value).with_total().run(&nothing)?;
        let total = stream.clone_dtoh(&total.ok_or("no total")?)?;
        ensure(bits(&total) == bits(&stream.clone_dtoh(&device_value)?), || "of a value in device memory".to_owned())?;
        let expected = value.or_else(|| op.start()).ok_or("no start")?;
        let mut written = stream.clone_htod(&[other])?;
        scan.on(&stream).total_into(&mut written).run_into(&nothing, &mut none)?;
        ensure(bits(&stream.clone_dtoh(&written)?) == bits(&[expected]), || "written".to_owned())?;
    }
    Ok(())
}

/// A graph of a reduction by flags, whose flags change from launch to launch.
fn graph() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = stream_to_capture(&scanner)?;
    let len = 100_003;
    let numbers: Vec<u32> = (0..len as u32).collect();
    let (input, mut flags) = (stream.clone_htod(&numbers)?, stream.alloc_zeros::<u8>(len)?);
    let (mut totals, mut count) = (stream.alloc_zeros::<u32>(len)?, stream.alloc_zeros::<u64>(1)?);
    let sums = scanner.reduce(ops::sum::<u32>()).on(&stream).by_flags(&flags).prepare(len)?;
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
    let captured = sums.by_flags(&flags).count_into(&mut count).run_into(&input, &mut totals);
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?.ok_or("nothing was captured")?;
    captured?;
    for launch in 1..20_usize {
        let begins: Vec<u8> = (0..len).map(|i| u8::from(i % (launch * launch) == 0)).collect();
        stream.memcpy_htod(&begins, &mut flags)?;
        graph.launch()?;
        let expected = Scanner::cpu().reduce(ops::sum()).by_flags(&begins).run(&numbers)?;
        ensure(stream.clone_dtoh(&count)? == [expected.len() as u64], || format!("count of launch {launch}"))?;
        let found = stream.clone_dtoh(&totals.slice(..expected.len()))?;
        ensure(found == expected, || format!("totals of launch {launch}"))?;
    }
    stream.synchronize()?;
    Ok(())
}

/// There is no first of nothing.
#[scan_op]
fn first(a: u32, _b: u32) -> u32 {
    a
}

fn refused() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let input = stream.clone_htod(&[1_u32, 2, 3])?;
    let (offsets, flags) = (stream.clone_htod(&[0_u32, 3])?, stream.clone_htod(&[1_u8, 0, 0])?);
    let (mut totals, mut count) = (stream.alloc_zeros::<u32>(3)?, stream.alloc_zeros::<u64>(1)?);
    let error = scanner.reduce(first).on(&stream).by_offsets(&offsets).run(&input).err();
    ensure(matches!(error, Some(Error::Plan(PlanError::NoElements { .. }))), || format!("{error:?}"))?;
    let sums = scanner.reduce(ops::sum::<u32>());
    let error = sums.on(&stream).by_flags(&flags).run(&input).err();
    ensure(matches!(error, Some(Error::UnknownSegments { .. })), || format!("{error:?}"))?;
    let error = sums.on(&stream).rows(3).count_into(&mut count).run_into(&input, &mut totals).err();
    ensure(matches!(error, Some(Error::KnownSegments { segments: 1 })), || format!("{error:?}"))?;
    let error = sums.on(&stream).rows(3).run_into(&input, &mut totals).err();
    ensure(matches!(error, Some(Error::Length { found: 3, expected: 1, .. })), || format!("{error:?}"))?;
    let error = sums.on(&stream).rows(2).run(&input).err();
    ensure(matches!(error, Some(Error::RowLength { row: 2, len: 3 })), || format!("{error:?}"))?;
    let handle = sums.on(&stream).prepare(3)?;
    let error = handle.rows(3).run_into(&input, &mut totals.slice_mut(..1)).err();
    ensure(matches!(error, Some(Error::HandleMismatch { .. })), || format!("{error:?}"))?;
    let error = handle.rows(3).prepare(3).err();
    ensure(matches!(error, Some(Error::AlreadyPrepared)), || format!("{error:?}"))
}

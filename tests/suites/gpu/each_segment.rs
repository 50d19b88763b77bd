//! An initial value and a total for each row, and for each segment between offsets, in host and device memory.

use scan_codegen::ScanSpec;
use scan_runtime::{
    Error, PlanError, ScanElement, ScanOp, Scanner, Staging, cudarc::driver::sys::CUgraphInstantiate_flags, ops,
};
use scan_tests::{
    each_segment,
    lifting::{self, Lifting, Mapping},
    operators::{bits, mixed},
    reference,
    segments::{HeadSource, Heads, PATTERNS, begins},
    stepped::{Coder, Mapped, mappings},
};

use crate::{
    Outcome, Trials, ensure,
    prepared::{CAPTURE, stream_to_capture},
};

pub(crate) fn add(trials: &mut Trials) {
    for len in [0, 1, 700, 40_003] {
        trials.add(format!("each_segment: {len}"), move || each_segment::check(&Scanner::cuda(0)?, &[len]));
    }
    for len in [40_003, 300_007] {
        trials.add(format!("each_segment_in_chunks: {len}"), move || {
            let staging = Staging::default().with_chunk_bytes(64 << 10);
            each_segment::check(&Scanner::builder().device(0).staging(staging).build()?, &[len])
        });
    }
    trials.add("each_segment_of_device_memory", || {
        of(&[100, 4_099, 70_001], &Lifting, &lifting::inputs, &map)?;
        of(&[100, 4_099, 70_001], &Coder, &lifting::inputs, &register)
    });
    trials.add("large_each_segment", || {
        of(&[2_000_003], &Lifting, &lifting::inputs, &map)?;
        of(&[2_000_003], &Mapped, &mappings, &register)?;
        of(&[6_000_001], &ops::sum::<i64>(), &|len| (0..len as i64).collect(), &|bits| bits as i64)?;
        of(&[6_000_001], &ops::sum::<u8>(), &|len| (0..len).map(|index| index as u8).collect(), &|bits| bits as u8)
    });
    trials.add("each_segment_in_a_graph", in_a_graph);
    trials.add("each_segment_of_no_elements", without_elements);
    trials.add("totals_of_each_segment_by_offsets_that_do_not_ascend", offsets_that_do_not_ascend);
}

fn map(bits: u64) -> Mapping {
    Mapping { a: bits as u32 | 1, b: (bits >> 32) as u32 }
}

fn register(bits: u64) -> u32 {
    bits as u32
}

/// Rows and offsets, few and many; of ways, directions and what is asked for each in turn.
fn of<Op: ScanOp + Clone>(
    lengths: &[usize],
    op: &Op,
    inputs: &dyn Fn(usize) -> Vec<Op::Input>,
    value: &dyn Fn(u64) -> Op::Carry,
) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for &len in lengths {
        let rows = [1, 4, 97, 4_096, len / 3, len].map(|row| Heads::rows(row, len - len % row));
        let offsets =
            [2, 9, 11, 13].map(|pattern| Heads::covering(pattern % 2 == 0, &begins(PATTERNS[pattern], len, 4_096)));
        for (turn, heads) in rows.into_iter().chain(offsets).enumerate() {
            let input = inputs(heads.begins.len());
            let scan = scanner.scan(op.clone());
            let (scan, spec) = match turn % 2 == 1 {
                true => (scan.exclusive(), ScanSpec::exclusive()),
                false => (scan, ScanSpec::inclusive()),
            };
            let (scan, spec) = if turn / 2 % 2 == 1 { (scan.reverse(), spec.reverse()) } else { (scan, spec) };
            let segments = heads.segments_of(input.len());
            let values: Vec<_> = (0..segments.len() as u64).map(|index| value(mixed(index))).collect();
            let with_values = turn % 3 != 2;
            let begin = |index: usize| with_values.then(|| values[index]);
            let expected = reference::scan_each(op, &spec, begin, &input, &segments);
            let totals: Vec<_> = expected.1.into_iter().flatten().collect();
            let (on_device, before) = (stream.clone_htod(&input)?, stream.clone_htod(&values)?);
            let poison: Vec<_> = expected.0.iter().rev().copied().collect();
            let mut output = stream.clone_htod(&poison)?;
            let mut after = stream.clone_htod(&values)?;
            let what =
                format!("{spec}, {} segments of {} elements, {:?}", segments.len(), input.len(), heads.segments());
            macro_rules! run {
                ($restart:ident, $heads:expr) => {{
                    let heads = $heads;
                    macro_rules! of {
                        ($scan:expr) => {
                            match with_values {
                                true => $scan.$restart(heads).init_each(&before),
                                false => $scan.$restart(heads),
                            }
                        };
                    }
                    of!(scan.on(&stream)).totals_into(&mut after).run_into(&on_device, &mut output)?;
                    same(&stream.clone_dtoh(&output)?, &expected.0, &what)?;
                    same(&stream.clone_dtoh(&after)?, &totals, &format!("totals, {what}"))?;
                    stream.memcpy_htod(&poison, &mut output)?;
                    stream.memcpy_htod(&values, &mut after)?;
                    let handle = of!(scan.on(&stream)).with_totals().prepare(input.len())?;
                    of!(handle).totals_into(&mut after).run_into(&on_device, &mut output)?;
                    same(&stream.clone_dtoh(&output)?, &expected.0, &format!("prepared, {what}"))?;
                    same(&stream.clone_dtoh(&after)?, &totals, &format!("prepared, totals, {what}"))?;
                }};
            }
            match &heads.source {
                HeadSource::Offsets(offsets) => run!(by_offsets, &stream.clone_htod(offsets)?),
                HeadSource::LongOffsets(offsets) => run!(by_offsets, &stream.clone_htod(offsets)?),
                _ => run!(rows, heads.head_count() as usize),
            }
        }
    }
    Ok(())
}

fn same<T: ScanElement>(found: &[T], expected: &[T], what: &str) -> Outcome {
    if bits(found) == bits(expected) {
        return Ok(());
    }
    let wrong = found.iter().zip(expected).position(|(found, expected)| bits(&[*found]) != bits(&[*expected]));
    ensure(false, || format!("{what}: wrong from {wrong:?} on"))
}

/// Chunks, each of which goes on from the totals of the one before, by one graph.
fn in_a_graph() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = stream_to_capture(&scanner)?;
    let (row, rows) = (1_000, 300);
    let all = mappings(10 * row * rows);
    let mut chunk = stream.clone_htod(&all[..row * rows])?;
    let mut states = stream.clone_htod(&vec![5_u32; rows])?;
    let (mut output, mut after) = (stream.alloc_zeros::<u32>(row * rows)?, stream.alloc_zeros::<u32>(rows)?);
    let scan = scanner.scan(Mapped);
    let handle = scan.on(&stream).rows(row).init_each(&states).with_totals().prepare(row * rows)?;
    stream.begin_capture(CAPTURE)?;
    let captured = handle.rows(row).init_each(&states).totals_into(&mut after).run_into(&chunk, &mut output);
    let copied = stream.memcpy_dtod(&after, &mut states);
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?.ok_or("nothing was captured")?;
    captured?;
    copied?;
    let mut expected = vec![5_u32; rows];
    for elements in all.chunks(row * rows) {
        stream.memcpy_htod(elements, &mut chunk)?;
        graph.launch()?;
        for (state, elements) in expected.iter_mut().zip(elements.chunks(row)) {
            *state = elements.iter().fold(*state, |state, x| Mapped.step(state, *x));
        }
        same(&stream.clone_dtoh(&states)?, &expected, "states")?;
    }
    Ok(())
}

/// Empty segments alone, and calls that are refused.
fn without_elements() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let (offsets, values) = (stream.clone_htod(&[0_u32; 4])?, stream.clone_htod(&[1_i32, 2, 3])?);
    let input = stream.null::<i32>()?;
    let sums = scanner.scan(ops::sum::<i32>());
    let (_, totals) = sums.on(&stream).by_offsets(&offsets).init_each(&values).with_totals().run(&input)?;
    same(&stream.clone_dtoh(&totals)?, &[1, 2, 3], "values")?;
    let with_one = scanner.scan(ops::sum::<i32>()).init(7);
    let (_, totals) = with_one.on(&stream).by_offsets(&offsets).with_totals().run(&input)?;
    same(&stream.clone_dtoh(&totals)?, &[7, 7, 7], "one value")?;
    let mut buffer = stream.clone_htod(&[1_i32; 6])?;
    let found = sums.on(&stream).rows(3).init_each(&values).run_in_place(&mut buffer);
    ensure(matches!(found, Err(Error::Length { what: "initial values", found: 3, expected: 2, .. })), || {
        format!("{found:?}")
    })?;
    let flags = stream.clone_htod(&[1_u8; 6])?;
    let found = sums.on(&stream).by_flags(&flags).init_each(&values).run_in_place(&mut buffer);
    ensure(matches!(found, Err(Error::Plan(PlanError::NoSegmentIndex { .. }))), || format!("{found:?}"))?;
    let mut totals = stream.alloc_zeros::<i32>(2)?;
    let handle = sums.on(&stream).rows(3).with_totals().prepare(6)?;
    let found = handle.rows(3).run_in_place(&mut buffer);
    ensure(matches!(found, Err(Error::HandleMismatch { .. })), || format!("{found:?}"))?;
    handle.rows(3).totals_into(&mut totals).run_in_place(&mut buffer)?;
    same(&stream.clone_dtoh(&totals)?, &[3, 3], "in place")
}

/// Offsets that do not ascend leave some totals to nobody: those are the initial value, and not what the memory held.
fn offsets_that_do_not_ascend() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let input = stream.clone_htod(&[1_u32; 64])?;
    for offsets in [vec![21_u32, 232, 32, 232], vec![64, 32, 16, 0], vec![128, 85, 256]] {
        // What the totals may be allocated from.
        drop(stream.clone_htod(&vec![u32::MAX; offsets.len() - 1])?);
        let heads = stream.clone_htod(&offsets)?;
        let sums = scanner.scan(ops::sum::<u32>()).init(7);
        let (_, totals) = sums.on(&stream).by_offsets(&heads).with_totals().run(&input)?;
        let totals = stream.clone_dtoh(&totals)?;
        ensure(totals.iter().all(|total| (7..=71).contains(total)), || format!("{offsets:?}: {totals:?}"))?;
    }
    Ok(())
}

//! Reductions, and the total of a scan, against a plain loop.

use scan_runtime::{
    Axis, BlockScan, Error, Network, Reduce, Reduction, ScanKind, ScanOp, Scanner, Staging,
    arrays::{indices, scatter, scatter_by_output},
    ops,
};
use scan_tests::{
    columns::Recurrence,
    configure,
    lifting::{self, Lifting, Mapping},
    matrix::Register,
    operators::{
        AffineU32, Interval, MapU32, MatrixProduct, PolynomialHash, TestOperator, bits, first_difference, inputs,
    },
    ranges::ranges,
    reference::{self, WAYS},
    spans::{Record, Spans},
    strategies,
};

use crate::{Outcome, Trials, ensure, older::scanner};

pub(crate) fn add(trials: &mut Trials) {
    for reduction in [Reduction::Divergent, Reduction::Contiguous, Reduction::Coarsened] {
        trials.add(format!("reduction: {reduction}"), move || {
            reduce::<Interval>(reduction, &[0, 1, 2, 33, 1_024, 2_049, 4_101])?;
            reduce::<PolynomialHash>(reduction, &[0, 1, 1_019])?;
            reduce::<MatrixProduct<8>>(reduction, &[0, 1, 200])
        });
        trials
            .add(format!("large reduction: {reduction}"), move || reduce::<Interval>(reduction, &[65_537, 3_000_001]));
    }
    let block = BlockScan::coarsened(Network::WarpShuffle);
    let strategies = strategies::all().filter(|&strategy| strategy.block == block && trials.can_have(strategy));
    let strategies: Vec<_> = strategies.collect();
    trials.add("reductions_by_segments", || scan_tests::reduced::check(&Scanner::cuda(0)?));
    trials.add("reductions_by_segments_in_chunks", || {
        let staging = Staging::default().with_chunk_bytes(20_000);
        scan_tests::reduced::check(&Scanner::builder().device(0).staging(staging).build()?)
    });
    trials.add("reductions_of_ranges", || scan_tests::ranges::check(&Scanner::cuda(0)?));
    trials.add("reductions_of_ranges_of_device_memory", ranges_of_device_memory);
    trials.add("reductions_by_segments_bring_back_their_results_alone", bring_back_results_alone);
    trials.add("sums_of_negative_zeros", negative_zeros);
    trials.add("totals_of_scans", move || {
        for strategy in strategies {
            let scanner = scanner()?;
            for (len, with_initial_value) in [(0, true), (1, false), (100, true), (1_019, false), (5_000, true)] {
                let input = inputs::<PolynomialHash>(len);
                let scan = configure::<PolynomialHash>(&scanner, (ScanKind::Exclusive, with_initial_value));
                let scan = scan.strategy(strategy).threads(32);
                let (output, total) = scan.with_total().run(&input)?;
                let expected = sum_of::<PolynomialHash>(with_initial_value, &input);
                ensure(total == expected, || format!("{strategy}, length {len}: {total:?}, not {expected:?}"))?;
                ensure(output == scan.run(&input)?, || format!("{strategy}, length {len}: the scan is another"))?;
            }
        }
        Ok(())
    });
    trials.add("reductions_of_device_memory_into_any_arrays", into_arrays);
    trials.add("reductions_from_the_right", from_the_right);
    trials.add("reductions_by_segments_of_indices", of_indices);
    trials.add("reductions_of_segments_that_begin_with_values", from_values);
    trials.add("total_of_device_slices", totals::<PolynomialHash>);
    trials.add("total_of_device_slices_of_256_bytes", totals::<MatrixProduct<8>>);
}

/// An input without memory, of segments in one chunk and of such as are longer than a chunk.
fn of_indices() -> Outcome {
    let staging = Staging::default().with_chunk_bytes(20_000);
    let scanner = Scanner::builder().device(0).staging(staging).build()?;
    let (ours, theirs) = (scanner.reduce(Recurrence), Scanner::cpu().reduce(Recurrence));
    for (len, row) in [(1_000, 100), (100_000, 20_000)] {
        let tokens: Vec<u32> = inputs::<AffineU32>(len).into_iter().map(|map| map.b).collect();
        let (found, expected) =
            (ours.rows(row).run((indices(), &tokens))?, theirs.rows(row).run((indices(), &tokens))?);
        ensure(found == expected, || format!("rows of {row} of {len} elements: {found:?}, not {expected:?}"))?;
    }
    Ok(())
}

/// Whole, by rows, by flags and of columns, by calls and by handles: into an array for each field, scattered, and at
/// places that the operator computes.
fn into_arrays() -> Outcome {
    let (scanner, cpu) = (Scanner::cuda(0)?, Scanner::cpu());
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for len in [1, 70, 4_200, 100_030, 1_500_030] {
        let host = inputs::<AffineU32>(len);
        let input = stream.clone_htod(&host)?;
        let (ours, theirs) = (scanner.reduce(AffineU32), cpu.reduce(AffineU32));
        let row = if len % 10 == 0 { len / 10 } else { 1 };
        let rows = len / row;
        let places: Vec<u32> = (0..rows as u32).rev().collect();
        let (places, flags) =
            (stream.clone_htod(&places)?, (0..len).map(|index| u8::from(index % row == 0)).collect::<Vec<_>>());
        let flags = stream.clone_htod(&flags)?;
        let mut count = stream.alloc_zeros::<u64>(1)?;
        let (mut a, mut b) = (stream.alloc_zeros::<u32>(rows)?, stream.alloc_zeros::<u32>(rows)?);
        macro_rules! same {
            ($expected:expr, $what:expr) => {{
                let (expected, what): (Vec<MapU32>, &str) = ($expected, $what);
                let (a, b) = (stream.clone_dtoh(&a)?, stream.clone_dtoh(&b)?);
                let wrong = expected
                    .iter()
                    .enumerate()
                    .find(|&(index, map)| (map.a, map.b) != (a[index], b[expected.len() - 1 - index]));
                ensure(wrong.is_none(), || format!("{what}, {len} elements: {wrong:?}"))?;
            }};
        }
        let one = places.slice(rows - 1..);
        ours.on(&stream).run_into(&input, (&mut a.slice_mut(..1), scatter(&mut b, &one)))?;
        same!(vec![theirs.run(&host)?], "whole");
        let by_rows = theirs.rows(row).run(&host)?;
        ours.on(&stream).rows(row).run_into(&input, (&mut a, scatter(&mut b, &places)))?;
        same!(by_rows.clone(), "rows");
        let handle = ours.on(&stream).by_flags(&flags).prepare_like(&input, (&mut a, scatter(&mut b, &places)), len)?;
        stream.memset_zeros(&mut a)?;
        handle.by_flags(&flags).count_into(&mut count).run_into(&input, (&mut a, scatter(&mut b, &places)))?;
        same!(by_rows, "flags, prepared");
        ensure(stream.clone_dtoh(&count)? == [rows as u64], || "another count".to_owned())?;
        let axis = Axis::of(&[row, rows], 0)?;
        let values: Vec<MapU32> = (0..rows as u64).map(|k| AffineU32::input(3 * k + 1)).collect();
        let expected = theirs.along(axis.clone()).init_each(&values).run(&host)?;
        let values = stream.clone_htod(&values)?;
        let along = ours.on(&stream).along(axis).init_each(&values);
        along.run_into(&input, (&mut a, scatter(&mut b, &places)))?;
        same!(expected.clone(), "columns");
        let handle = along.prepare_like(&input, (&mut a, scatter(&mut b, &places)), len)?;
        stream.memset_zeros(&mut a)?;
        handle.init_each(&values).run_into(&input, (&mut a, scatter(&mut b, &places)))?;
        same!(expected, "columns, prepared");
        let nothing = input.slice(..0);
        ours.on(&stream).run_into(&nothing, (&mut a.slice_mut(..1), scatter(&mut b, &one)))?;
        same!(vec![MapU32 { a: 1, b: 0 }], "nothing");
        let marked: Vec<u32> = (0..len as u32).collect();
        let last = scanner.reduce(ops::pair(ops::max::<u32>(), ops::sum::<u32>()));
        let (maxima, mut sums) = (stream.clone_htod(&marked)?, stream.alloc_zeros::<u32>(len)?);
        last.on(&stream).rows(row).run_into(&maxima, scatter_by_output((&mut sums,)))?;
        let found = stream.clone_dtoh(&sums)?;
        for segment in 0..rows {
            let at = (segment + 1) * row - 1;
            let expected = (segment * row..=at).fold(0_u32, |sum, number| sum.wrapping_add(number as u32));
            ensure(found[at] == expected, || format!("place {at} of {len}: {}, not {expected}", found[at]))?;
        }
    }
    Ok(())
}

/// Of the whole of device memory, by calls, handles and a graph, with an initial value and without.
fn from_the_right() -> Outcome {
    let (scanner, cpu) = (Scanner::cuda(0)?, Scanner::cpu());
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for len in [0, 1, 34, 4_097, 100_003, 3_000_001] {
        let host = inputs::<AffineU32>(len);
        let input = if len > 0 { stream.clone_htod(&host)? } else { stream.null()? };
        let what = |how: &str| format!("{how}, {len} elements");
        for initial in [None, Some(MapU32 { a: 0, b: 77 })] {
            let (ours, theirs) = (scanner.reduce(AffineU32).reverse(), cpu.reduce(AffineU32).reverse());
            let ours = initial.iter().fold(ours, |reduce, value| reduce.init(*value));
            let expected = initial.iter().fold(theirs, |reduce, value| reduce.init(*value)).run(&host)?;
            ensure(ours.run(&host)? == expected, || what("host memory"))?;
            ensure(stream.clone_dtoh(&ours.on(&stream).run(&input)?)? == [expected], || what("a call"))?;
            let (handle, mut found) = (ours.on(&stream).prepare(len)?, stream.clone_htod(&[MapU32 { a: 5, b: 5 }])?);
            handle.run_into(&input, &mut found)?;
            ensure(stream.clone_dtoh(&found)? == [expected], || what("a handle"))?;
        }
        for (start, registers) in [(Register.start().ok_or("no start")?, None), (9, Some(9))] {
            let ours = registers.iter().fold(scanner.reduce(Register).reverse(), |reduce, value| reduce.init(*value));
            let expected = host.iter().rev().fold(start, |register, x| Register.step(register, *x));
            let found = stream.clone_dtoh(&ours.on(&stream).run(&input)?)?;
            ensure(found == [Register.project(expected)], || what("a stepped operator"))?;
        }
    }
    Ok(())
}

/// An initial value for each segment between offsets, empty ones among them, and for each column without elements.
fn from_values() -> Outcome {
    let (scanner, cpu) = (Scanner::cuda(0)?, Scanner::cpu());
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    fn of<Op: ScanOp<Output: std::fmt::Debug> + Clone>(
        (scanner, cpu, stream): (&Scanner, &Scanner, &std::sync::Arc<scan_runtime::cudarc::driver::CudaStream>),
        op: Op,
        host: &[Op::Input],
        value: impl Fn(u64) -> Op::Carry,
    ) -> Outcome {
        let len = host.len();
        // Of several elements, and every third one empty.
        let mut offsets: Vec<u64> = (0..len as u64).filter(|index| index % 977 == 0 || index % 1_954 < 3).collect();
        offsets.extend(offsets.clone().iter().step_by(3));
        offsets.extend([0, len as u64, len as u64]);
        offsets.sort_unstable();
        let values: Vec<_> = (1..offsets.len() as u64).map(value).collect();
        let (ours, theirs) = (scanner.reduce(op.clone()), cpu.reduce(op));
        let reversed = len % 2 == 1;
        let (reduce, theirs) = if reversed { (ours.reverse(), theirs.reverse()) } else { (ours, theirs) };
        let expected = theirs.by_offsets(&offsets).init_each(&values).run(host)?;
        let (input, offsets) = (stream.clone_htod(host)?, stream.clone_htod(&offsets)?);
        let device_values = stream.clone_htod(&values)?;
        let found = reduce.on(stream).by_offsets(&offsets).init_each(&device_values).run(&input)?;
        let same = |found: &_, what: &str| {
            ensure(bits(&stream.clone_dtoh(found)?) == bits(&expected), || format!("{what}, {len} elements"))
        };
        same(&found, "a call")?;
        let handle = reduce.on(stream).by_offsets(&offsets).init_each(&device_values).prepare(len)?;
        let others: Vec<_> = expected.iter().rev().copied().collect();
        let mut found = stream.clone_htod(&others)?;
        handle.by_offsets(&offsets).init_each(&device_values).run_into(&input, &mut found)?;
        same(&found, "a handle")?;
        let nothing = input.slice(..0);
        let columns = Axis::of(&[0, values.len()], 0)?;
        let found = reduce.on(stream).along(columns.clone()).init_each(&device_values).run(&nothing)?;
        let expected = cpu_of_nothing(&reduce, &values)?;
        ensure(bits(&stream.clone_dtoh(&found)?) == bits(&expected), || "columns without elements".to_owned())?;
        let handle = reduce.on(stream).along(columns).init_each(&device_values).prepare(0)?;
        let others: Vec<_> = expected.iter().rev().copied().collect();
        let mut found = stream.clone_htod(&others)?;
        handle.init_each(&device_values).run_into(&nothing, &mut found)?;
        ensure(bits(&stream.clone_dtoh(&found)?) == bits(&expected), || "the same by a handle".to_owned())
    }
    fn cpu_of_nothing<Op: ScanOp>(reduce: &Reduce<Op>, values: &[Op::Carry]) -> Result<Vec<Op::Output>, Error> {
        let offsets = vec![0_u32; values.len() + 1];
        reduce.by_offsets(&offsets).init_each(values).run(&[])
    }
    let on = (&scanner, &cpu, &stream);
    for len in [1, 34, 4_097, 100_002, 1_500_007] {
        of(on, AffineU32, &inputs::<AffineU32>(len), |k| AffineU32::input(5 * k + 2))?;
        of(on, Register, &inputs::<AffineU32>(len), |k| k as u32 ^ 0x5555)?;
        of(on, Lifting, &lifting::inputs(len), |k| Mapping { a: k as u32 | 1, b: 7 })?;
    }
    Ok(())
}

/// By a call, by a handle, of many short ranges and of few that are long, with values and without; and of ranges that
/// are not within the input, of which only the others are compared.
fn ranges_of_device_memory() -> Outcome {
    let (scanner, cpu) = (Scanner::cuda(0)?, Scanner::cpu());
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for (count, longest, len) in [(1, 9, 9), (70, 2_000, 5_000), (1_000_000, 5, 70_000), (4, 3_000_000, 4_000_001)] {
        let host = inputs::<AffineU32>(len);
        let (begins, ends): (Vec<u64>, Vec<u64>) =
            ranges(count, longest, len).iter().map(|range| (range.start as u64, range.end as u64)).unzip();
        let values: Vec<MapU32> = (0..count as u64).map(|k| AffineU32::input(5 * k + 2)).collect();
        let what = |how: &str| format!("{how}, {count} ranges of {len} elements");
        for reversed in [false, true] {
            let (ours, theirs) = (scanner.reduce(AffineU32), cpu.reduce(AffineU32));
            let (ours, theirs) = if reversed { (ours.reverse(), theirs.reverse()) } else { (ours, theirs) };
            let expected = theirs.by_ranges(&begins, &ends).run(&host)?;
            let each = theirs.by_ranges(&begins, &ends).init_each(&values).run(&host)?;
            let (input, values) = (stream.clone_htod(&host)?, stream.clone_htod(&values)?);
            let (on_begins, on_ends) = (stream.clone_htod(&begins)?, stream.clone_htod(&ends)?);
            let of_ranges = ours.on(&stream).by_ranges(&on_begins, &on_ends);
            ensure(stream.clone_dtoh(&of_ranges.run(&input)?)? == expected, || what("a call"))?;
            let found = of_ranges.clone().init_each(&values).run(&input)?;
            ensure(stream.clone_dtoh(&found)? == each, || what("values"))?;
            let (handle, mut found) = (of_ranges.prepare(len)?, stream.alloc_zeros::<MapU32>(count)?);
            handle.by_ranges(&on_begins, &on_ends).run_into(&input, &mut found)?;
            ensure(stream.clone_dtoh(&found)? == expected, || what("a handle"))?;
            let beyond: Vec<u64> =
                ends.iter().enumerate().map(|(k, end)| end + u64::from(k % 3 == 0) * (1 << 40)).collect();
            let beyond = stream.clone_htod(&beyond)?;
            let found = stream.clone_dtoh(&ours.on(&stream).by_ranges(&on_begins, &beyond).run(&input)?)?;
            let wrong = (0..count).find(|k| k % 3 != 0 && found[*k] != expected[*k]);
            ensure(wrong.is_none(), || what(&format!("ranges beyond the input, {wrong:?}")))?;
        }
    }
    Ok(())
}

/// What comes back of a reduction by segments of host memory: a result of each, and by flags and keys how many they are.
fn bring_back_results_alone() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let (row, rows) = (1_000_usize, 700_usize);
    let input = inputs::<PolynomialHash>(row * rows);
    let flags: Vec<bool> = (0..input.len()).map(|index| index % row == 0).collect();
    let offsets: Vec<u32> = (0..=rows).map(|index| (index * row) as u32).collect();
    let reduce = || scanner.reduce(PolynomialHash);
    let expected = Scanner::cpu().reduce(PolynomialHash).rows(row).run(&input)?;
    let spans = Spans::default();
    let found = tracing::subscriber::with_default(spans.subscriber(tracing::Level::TRACE), || {
        let by_rows = reduce().rows(row).run(&input)?;
        let by_offsets = reduce().by_offsets(&offsets).run(&input)?;
        Ok::<_, Error>([by_rows, by_offsets, reduce().by_flags(&flags).run(&input)?])
    })?;
    ensure(found.iter().all(|found| *found == expected), || "wrong results".to_owned())?;
    let is_back = |record: &Record| record.name == "transfer" && record.fields.get("to").is_some_and(|to| to == "host");
    let bytes = |record: Record| record.fields["bytes"].clone();
    let back: Vec<String> = spans.take().into_iter().filter(is_back).map(bytes).collect();
    let results = size_of_val(&expected[..]);
    let expected = [results, results, results + size_of::<u64>()].map(|bytes| bytes.to_string());
    ensure(back == expected, || format!("{back:?} bytes came back, not {expected:?}"))
}

/// Sums of -0.0 are -0.0, by every strategy; an exclusive scan begins with 0.0.
fn negative_zeros() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    for strategy in strategies::all() {
        for len in [1, 33, 1_019, 40_003] {
            let input = vec![-0.0_f32; len];
            for exclusive in [false, true] {
                let scan = scanner.scan(ops::sum::<f32>()).strategy(strategy);
                let scan = if exclusive { scan.exclusive() } else { scan };
                let found = scan.run(&input)?;
                let zero = |index: usize| if exclusive && index == 0 { 0.0 } else { -0.0_f32 };
                let right = found.iter().enumerate().all(|(index, sum)| sum.to_bits() == zero(index).to_bits());
                ensure(right, || format!("{strategy}, {len} elements, exclusive: {exclusive}"))?;
            }
        }
    }
    let sum = scanner.reduce(ops::sum::<f32>()).run(&vec![-0.0; 100_000])?;
    ensure(sum.to_bits() == (-0.0_f32).to_bits(), || "a reduction".to_owned())
}

/// Totals of device slices, beside their scans, in every way.
fn totals<Op: TestOperator>() -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for way in WAYS {
        for len in [0, 1, 100, 5_000] {
            let input = inputs::<Op>(len);
            let scan = configure::<Op>(&scanner, way);
            let (output, total) = match len {
                0 => scan.on(&stream).with_total().run(&stream.null()?)?,
                _ => scan.on(&stream).with_total().run(&stream.clone_htod(&input)?)?,
            };
            let total = total.map(|total| stream.clone_dtoh(&total)).transpose()?;
            if len > 0 {
                let device_input = stream.clone_htod(&input)?;
                let (mut again, mut sum) = (stream.clone_htod(&input)?, stream.clone_htod(&[input[0]])?);
                scan.on(&stream).total_into(&mut sum).run_into(&device_input, &mut again)?;
                let same = bits(&stream.clone_dtoh(&again)?) == bits(&stream.clone_dtoh(&output)?);
                let sums = Some(bits(&stream.clone_dtoh(&sum)?)) == total.as_ref().map(|total| bits(total));
                ensure(same && sums, || format!("{way:?}, length {len}: into slices of the caller's"))?;
            }
            let expected = sum_of::<Op>(way.1, &input).map(|sum| vec![sum]);
            ensure(total.map(|total| bits(&total)) == expected.map(|sum| bits(&sum)), || {
                format!("{way:?}, length {len}: another total")
            })?;
            let output = if len == 0 { Vec::new() } else { stream.clone_dtoh(&output)? };
            let expected = reference::scan(&Op::new(), way.0, way.1.then(Op::initial_value), &input);
            let wrong = first_difference(&output, &expected);
            ensure(wrong.is_none(), || format!("{way:?}, length {len}: wrong from {wrong:?} on"))?;
        }
    }
    Ok(())
}

fn sum_of<Op: TestOperator>(with_initial_value: bool, input: &[Op::Item]) -> Option<Op::Item> {
    let initial_value = with_initial_value.then(Op::initial_value);
    reference::scan(&Op::new(), ScanKind::Inclusive, initial_value, input).last().copied().or(initial_value)
}

fn reduce<Op: TestOperator>(reduction: Reduction, lengths: &[usize]) -> Outcome {
    let scanner = scanner()?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for &len in lengths {
        let input = inputs::<Op>(len);
        for with_initial_value in [false, true] {
            let reduce = scanner.reduce(Op::new()).reduction(reduction);
            let reduce = if with_initial_value { reduce.init(Op::initial_value()) } else { reduce };
            let expected =
                sum_of::<Op>(with_initial_value, &input).or_else(|| Op::new().identity()).ok_or("no identity")?;
            let sum = reduce.run(&input)?;
            let what = |how: &str| format!("{how}, length {len}, initial value {with_initial_value}");
            ensure(bits(&[sum]) == bits(&[expected]), || what("host memory"))?;

            let sum = match len {
                0 => reduce.on(&stream).run(&stream.null()?)?,
                _ => reduce.on(&stream).run(&stream.clone_htod(&input)?)?,
            };
            ensure(bits(&stream.clone_dtoh(&sum)?) == bits(&[expected]), || what("device memory"))?;
            let mut around = stream.clone_htod(&[Op::input(1), Op::input(2), Op::input(3)])?;
            if len > 0 {
                let input = stream.clone_htod(&input)?;
                reduce.on(&stream).run_into(&input, &mut around.slice_mut(1..2))?;
                let expected = [Op::input(1), expected, Op::input(3)];
                ensure(bits(&stream.clone_dtoh(&around)?) == bits(&expected), || what("into a view"))?;
            }
            let error = reduce.on(&stream).run_into(&stream.null()?, &mut around).err();
            ensure(matches!(error, Some(Error::Length { found: 3, expected: 1, .. })), || what("three results"))?;
        }
    }
    Ok(())
}

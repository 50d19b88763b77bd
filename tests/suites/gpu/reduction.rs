//! Reductions, and the total of a scan, against a plain loop.

use scan_runtime::{BlockScan, Error, Network, Reduction, ScanKind, Scanner, Staging, ops};
use scan_tests::{
    configure,
    operators::{Interval, MatrixProduct, PolynomialHash, TestOperator, bits, first_difference, inputs},
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
    trials.add("total_of_device_slices", totals::<PolynomialHash>);
    trials.add("total_of_device_slices_of_256_bytes", totals::<MatrixProduct<8>>);
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

//! Rows with an initial value and a total for each, and segments between offsets, as ratios to a copy of the same
//! bytes: what both cost, compared with the scan without them. `engine -- rows`. Reductions of ranges, and of segments
//! between offsets, as ratios to a copy of the input: `engine -- ranges`. Reductions of the whole and of rows, likewise, by
//! a tree and as they are by default: `engine -- reductions`.

use scan_runtime::{Reduction, ScanElement, ScanOp, Scanner, half::f16, ops};
use scan_tests::operators::{compose, inputs};

use super::{Outcome, SAMPLES, filled, median, sample};

/// Elements of a row.
const ROWS: [usize; 5] = [4, 64, 1_024, 65_536, 1 << 22];

/// The longest period of inputs.
const BLOCK: usize = 1_999_993;

fn sweep<Op: ScanOp + Clone>(scanner: &Scanner, name: &str, op: Op, block: &[Op::Input], len: usize) -> Outcome
where
    Op::Input: ScanElement,
{
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let input = filled(&stream, block, len)?;
    // SAFETY: each is written before it is read.
    let (mut output, mut copied) = unsafe { (stream.alloc::<Op::Output>(len)?, stream.alloc::<Op::Input>(len)?) };
    let copy = median(
        (0..SAMPLES)
            .map(|_| sample(&stream, || Ok(stream.memcpy_dtod(&input, &mut copied)?)))
            .collect::<Outcome<Vec<_>>>()?,
    );
    drop(copied);
    let start = op.start().ok_or("no identity")?;
    let scan = scanner.scan(op);
    println!("\n{name}, {len} elements, a copy {copy:.0} µs\n");
    println!("| rows of | by | alone | `init_each` | totals | both |\n|---|---|---|---|---|---|");
    for row in ROWS {
        let rows = len / row;
        let values = stream.clone_htod(&vec![start; rows])?;
        let mut totals = stream.clone_htod(&vec![start; rows])?;
        let offsets: Vec<u32> = (0..=rows).map(|index| (index * row) as u32).collect();
        let offsets = stream.clone_htod(&offsets)?;
        for by_offsets in [false, true] {
            let mut cells = Vec::new();
            for (with_values, with_totals) in [(false, false), (true, false), (false, true), (true, true)] {
                let mut run = || -> Outcome {
                    let scan = scan.on(&stream);
                    let scan = if by_offsets { scan.by_offsets(&offsets) } else { scan.rows(row) };
                    let scan = if with_values { scan.init_each(&values) } else { scan };
                    match with_totals {
                        true => scan.totals_into(&mut totals).run_into(&input, &mut output)?,
                        false => scan.run_into(&input, &mut output)?,
                    }
                    Ok(())
                };
                run()?;
                let times = (0..SAMPLES).map(|_| sample(&stream, &mut run)).collect::<Outcome<Vec<_>>>()?;
                cells.push(format!("{:.3}", copy / median(times)));
            }
            let by = if by_offsets { "offsets" } else { "rows" };
            println!("| {row} | {by} | {} |", cells.join(" | "));
        }
    }
    Ok(())
}

/// Sums of `f32` and `f16`, and affine pairs.
pub(crate) fn sweep_all(scanner: &Scanner) -> Outcome {
    let floats: Vec<f32> = (0..BLOCK).map(|index| (index % 7) as f32).collect();
    sweep(scanner, "sum of f32", ops::sum::<f32>(), &floats, 1 << 27)?;
    let halves: Vec<f16> = floats.iter().map(|value| f16::from_f32(*value)).collect();
    sweep(scanner, "sum of f16", ops::sum::<f16>(), &halves, 1 << 27)?;
    sweep(scanner, "sum of f16", ops::sum::<f16>(), &halves, 1 << 26)?;
    sweep(scanner, "affine pairs of f32", compose, &inputs::<compose>(BLOCK), 1 << 26)
}

/// Elements of a range; the last is the whole input.
const RANGES: [usize; 8] = [4, 16, 64, 1_024, 16_384, 1 << 18, 1 << 22, 1 << 27];

fn ranges<Op: ScanOp + Clone>(scanner: &Scanner, name: &str, op: Op, block: &[Op::Input], len: usize) -> Outcome
where
    Op::Input: ScanElement,
{
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let input = filled(&stream, block, len)?;
    // SAFETY: it is written before it is read.
    let mut copied = unsafe { stream.alloc::<Op::Input>(len)? };
    let copy = median(
        (0..SAMPLES)
            .map(|_| sample(&stream, || Ok(stream.memcpy_dtod(&input, &mut copied)?)))
            .collect::<Outcome<Vec<_>>>()?,
    );
    drop(copied);
    let reduce = scanner.reduce(op);
    println!("\n{name}, {len} elements, a copy {copy:.0} µs\n\n| ranges of | by ranges | by offsets |\n|---|---|---|");
    for range in RANGES.map(|range| range.min(len)) {
        let offsets: Vec<u32> = (0..=len / range).map(|index| (index * range) as u32).collect();
        let offsets = stream.clone_htod(&offsets)?;
        let count = offsets.len() - 1;
        let (begins, ends) = (offsets.slice(..count), offsets.slice(1..));
        let by_ranges = || reduce.on(&stream).by_ranges(&begins, &ends).run(&input);
        let by_offsets = || reduce.on(&stream).by_offsets(&offsets).run(&input);
        let (first, second) = (stream.clone_dtoh(&by_ranges()?)?, stream.clone_dtoh(&by_offsets()?)?);
        if first.len() != count || second.len() != count {
            return Err(format!("{} and {} results of {count} ranges", first.len(), second.len()).into());
        }
        let mut cells = Vec::new();
        for run in [&by_ranges as &dyn Fn() -> _, &by_offsets] {
            let times = (0..SAMPLES).map(|_| sample(&stream, || Ok(run().map(drop)?))).collect::<Outcome<Vec<_>>>()?;
            cells.push(format!("{:.3}", copy / median(times)));
        }
        println!("| {range} | {} |", cells.join(" | "));
    }
    Ok(())
}

/// Of sums of `f32`, and affine pairs.
pub(crate) fn ranges_of_all(scanner: &Scanner) -> Outcome {
    let floats: Vec<f32> = (0..BLOCK).map(|index| (index % 7) as f32).collect();
    ranges(scanner, "sum of f32", ops::sum::<f32>(), &floats, 1 << 27)?;
    ranges(scanner, "affine pairs of f32", compose, &inputs::<compose>(BLOCK), 1 << 26)
}

/// Elements of the whole, as powers of two; the longest also in rows.
const WHOLE: [u32; 7] = [16, 20, 22, 24, 26, 28, 30];

fn reductions<Op: ScanOp + Clone>(scanner: &Scanner, name: &str, op: Op, block: &[Op::Input]) -> Outcome
where
    Op::Input: ScanElement,
{
    let stream = scanner.context().ok_or("no CUDA context")?.new_stream()?;
    let reduce = scanner.reduce(op);
    println!(
        "\n{name}, times a copy's speed\n\n| elements | a tree | by default | from the right | rows of 1,024 |\n|---|---|---|---|---|"
    );
    for power in WHOLE {
        let len = 1 << power;
        let input = filled(&stream, block, len)?;
        // SAFETY: it is written before it is read.
        let mut copied = unsafe { stream.alloc::<Op::Input>(len)? };
        let copies = (0..SAMPLES).map(|_| sample(&stream, || Ok(stream.memcpy_dtod(&input, &mut copied)?)));
        let copy = median(copies.collect::<Outcome<Vec<_>>>()?);
        drop(copied);
        let (tree, reversed) = (reduce.clone().reduction(Reduction::Coarsened), reduce.clone().reverse());
        let runs: [&dyn Fn() -> Outcome; 4] = [
            &|| Ok(tree.on(&stream).run(&input).map(drop)?),
            &|| Ok(reduce.on(&stream).run(&input).map(drop)?),
            &|| Ok(reversed.on(&stream).run(&input).map(drop)?),
            &|| Ok(reduce.on(&stream).rows(1 << 10).run(&input).map(drop)?),
        ];
        let mut cells = Vec::new();
        for run in runs {
            run()?;
            let times = (0..SAMPLES).map(|_| sample(&stream, run)).collect::<Outcome<Vec<_>>>()?;
            // A reduction reads what a copy reads and writes.
            cells.push(format!("{:.3}", copy / median(times) / 2.0));
        }
        println!("| 2^{power} | {} |", cells.join(" | "));
    }
    Ok(())
}

/// Of sums of `u8`, `f32` and `f64`, affine pairs, and products of matrices.
pub(crate) fn reductions_of_all(scanner: &Scanner) -> Outcome {
    let floats: Vec<f32> = (0..BLOCK).map(|index| (index % 7) as f32).collect();
    let bytes: Vec<u8> = floats.iter().map(|value| *value as u8).collect();
    reductions(scanner, "sum of u8", ops::sum::<u8>(), &bytes)?;
    reductions(scanner, "sum of f32", ops::sum::<f32>(), &floats)?;
    let doubles: Vec<f64> = floats.iter().map(|value| f64::from(*value)).collect();
    reductions(scanner, "sum of f64", ops::sum::<f64>(), &doubles)?;
    reductions(scanner, "affine pairs of f32", compose, &inputs::<compose>(BLOCK))
}

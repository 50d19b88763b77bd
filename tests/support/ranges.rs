//! Reductions of ranges against a plain loop, on any scanner.

use std::ops::Range;

use scan_runtime::{
    Error, PlanError, Reduce, ScanOp, Scanner, SegmentOffset,
    arrays::{gather, indices},
    scan_op,
};

use crate::{
    columns::Recurrence,
    extent::is_long,
    matrix::Register,
    operators::{AffineU32, MapU32, MatrixProduct, PolynomialHash, TestOperator, first_difference, inputs, mixed},
    reference,
};

/// `count` ranges of an input of `len` elements, in any order, with overlaps, gaps and empty ones: most are short, none but
/// the last is longer than `longest`. The last one is the whole input.
pub fn ranges(count: usize, longest: usize, len: usize) -> Vec<Range<usize>> {
    let range = |k: u64| {
        let begin = mixed(k) as usize % (len + 1);
        let max = [1, 17, 40, 1_030, longest][mixed(k + 7) as usize % 5].min(longest);
        begin..begin + mixed(k + 3) as usize % (max + 1).min(len - begin + 1)
    };
    (1..count as u64).map(range).chain((count > 0).then_some(0..len)).collect()
}

/// It has no identity.
#[scan_op]
fn earlier(a: u32, _b: u32) -> u32 {
    a
}

/// Compares reductions of ranges with a plain loop, from either end.
///
/// # Errors
///
/// What goes wrong.
pub fn check(scanner: &Scanner) -> Result<(), Box<dyn std::error::Error>> {
    // The CPU, whose loops are not optimised in a test, has several parts for each thread of a fifth as well.
    let part = if scanner.context().is_some() || is_long() { 1 } else { 5 };
    let some = 3_000 / part;
    for (count, longest, len) in [(0, 0, 0), (5, 0, 0), (0, 9, 9), (1, 5, 5), (40, 100, 100), (some, 20_000, 70_001)] {
        let ranges = ranges(count, longest, len);
        let matrices = inputs::<MatrixProduct<2>>(len);
        of(scanner, MatrixProduct::<2>::new(), &matrices, &ranges, |k| MatrixProduct::<2>::input(3 * k + 1))?;
        of(scanner, AffineU32, &inputs::<AffineU32>(len), &ranges, |k| AffineU32::input(3 * k + 1))?;
        of(scanner, Register, &inputs::<AffineU32>(len), &ranges, |k| mixed(k) as u32)?;
    }
    // Many short ranges, and few of many elements.
    let (many, long) = (300_000 / part, 2_000_000 / part);
    for (count, longest, len) in [(many, 3, 50_000), (3, long, long + 3)] {
        let ranges = ranges(count, longest, len);
        of(scanner, PolynomialHash, &inputs::<PolynomialHash>(len), &ranges, PolynomialHash::input)?;
    }
    of_arrays(scanner)?;
    every_type(scanner)?;
    refused(scanner)
}

/// Without an initial value, with one, and with one for each, by calls and by a handle.
fn of<Op: ScanOp<Output: std::fmt::Debug> + Clone>(
    scanner: &Scanner,
    op: Op,
    input: &[Op::Input],
    ranges: &[Range<usize>],
    value: impl Fn(u64) -> Op::Carry,
) -> Result<(), Box<dyn std::error::Error>> {
    let (begins, ends): (Vec<u32>, Vec<u32>) =
        ranges.iter().map(|range| (range.start as u32, range.end as u32)).unzip();
    let values: Vec<_> = (0..ranges.len() as u64).map(value).collect();
    for reversed in [false, true] {
        let expected = |initial: &dyn Fn(usize) -> Option<Op::Carry>| -> Option<Vec<_>> {
            let of_range = |(k, range): (usize, &Range<usize>)| {
                let total = match reversed {
                    false => reference::total(&op, initial(k), &input[range.clone()]),
                    true => reference::total_back(&op, initial(k), &input[range.clone()]),
                };
                total.or_else(|| op.start()).map(|total| op.project(total))
            };
            ranges.iter().enumerate().map(of_range).collect()
        };
        let reduction = || -> Reduce<Op> {
            let reduce = scanner.reduce(op.clone());
            if reversed { reduce.reverse() } else { reduce }
        };
        let plain = expected(&|_| None).ok_or("no identity")?;
        let handle = reduction().by_ranges(&begins, &ends).prepare(input.len())?;
        let mut into = plain.clone();
        into.reverse();
        reduction().by_ranges(&begins, &ends).run_into(input, &mut into[..])?;
        let mut found = vec![
            ("nothing", reduction().by_ranges(&begins, &ends).run(input)?, plain.clone()),
            ("a handle", handle.by_ranges(&begins, &ends).run(input)?, plain.clone()),
            ("an output", into, plain),
        ];
        let each = reduction().by_ranges(&begins, &ends).init_each(&values).run(input)?;
        found.push(("values", each, expected(&|k| Some(values[k])).ok_or("no value")?));
        if let Some(value) = values.first() {
            let one = reduction().init(*value).by_ranges(&begins, &ends).run(input)?;
            found.push(("a value", one, expected(&|_| Some(*value)).ok_or("no value")?));
        }
        for (what, found, expected) in found {
            let wrong = first_difference(&found, &expected);
            if let (true, None) = (found.len() == expected.len(), wrong) {
                continue;
            }
            let (name, len) = (op.source().name, input.len());
            let wrong = wrong.map(|k| format!("range {k}, {:?}: {:?}, not {:?}", ranges[k], found[k], expected[k]));
            let of = format!("{name} from {what}, {len} elements, {} ranges, reversed: {reversed}", ranges.len());
            return Err(format!("{of}: {} results, {wrong:?}", found.len()).into());
        }
    }
    Ok(())
}

/// Of several arrays, one gathered, and of indices.
fn of_arrays(scanner: &Scanner) -> Result<(), Box<dyn std::error::Error>> {
    let (len, ranges) = (9_000, ranges(500, 4_000, 9_000));
    let (begins, ends): (Vec<u64>, Vec<u64>) =
        ranges.iter().map(|range| (range.start as u64, range.end as u64)).unzip();
    let maps = inputs::<AffineU32>(len);
    let places: Vec<u32> = (0..len as u32).rev().collect();
    let (factors, offsets): (Vec<u32>, Vec<u32>) = maps.iter().map(|map| (map.a, map.b)).unzip();
    let reversed: Vec<u32> = offsets.iter().rev().copied().collect();
    let reduce = scanner.reduce(AffineU32);
    let expected = reduce.by_ranges(&begins, &ends).run(&maps)?;
    let found = reduce.by_ranges(&begins, &ends).run((&factors, gather(&reversed, &places)))?;
    if found != expected {
        return Err("several arrays, one of them gathered".into());
    }
    let (mut a, mut b) = (vec![0; ranges.len()], vec![0; ranges.len()]);
    reduce.by_ranges(&begins, &ends).run_into(&maps, (&mut a, &mut b))?;
    if expected.iter().zip(a.iter().zip(&b)).any(|(MapU32 { a, b }, found)| found != (a, b)) {
        return Err("results in an array for each field".into());
    }
    let reduce = scanner.reduce(Recurrence);
    let in_memory: Vec<u32> = (0..len as u32).collect();
    let expected = reduce.by_ranges(&begins, &ends).run((&in_memory, &offsets))?;
    if reduce.by_ranges(&begins, &ends).run((indices(), &offsets))? != expected {
        return Err("indices".into());
    }
    Ok(())
}

/// Positions of every type.
fn every_type(scanner: &Scanner) -> Result<(), Box<dyn std::error::Error>> {
    fn of<T: SegmentOffset + TryFrom<i64>>(scanner: &Scanner) -> Result<(), Box<dyn std::error::Error>> {
        let of = |positions: &[i64]| positions.iter().filter_map(|position| T::try_from(*position).ok()).collect();
        let (begins, ends): (Vec<T>, Vec<T>) = (of(&[2, 0, 4, 3]), of(&[5, 5, 4, 4]));
        let input: Vec<MapU32> = inputs::<AffineU32>(5);
        let found = scanner.reduce(AffineU32).by_ranges(&begins, &ends).run(&input)?;
        let expected = [2..5, 0..5, 4..4, 3..4]
            .map(|range| reference::total(&AffineU32, None, &input[range]).unwrap_or(MapU32 { a: 1, b: 0 }));
        if found == expected { Ok(()) } else { Err(format!("{found:?}, not {expected:?}").into()) }
    }
    of::<u32>(scanner)?;
    of::<u64>(scanner)?;
    of::<usize>(scanner)?;
    of::<i32>(scanner)?;
    of::<i64>(scanner)
}

fn refused(scanner: &Scanner) -> Result<(), Box<dyn std::error::Error>> {
    let (reduce, input) = (scanner.reduce(earlier), [1_u32, 2, 3]);
    let inner = reduce.by_ranges(&[1_usize, 0], &[2, 3]).run(&input)?;
    if inner != [2, 1] {
        return Err(format!("ranges with elements: {inner:?}").into());
    }
    let found = [
        reduce.by_ranges(&[1_u32], &[1]).run(&input),
        reduce.by_ranges(&[1_u32, 2], &[3]).run(&input),
        reduce.by_ranges(&[0_u32, 2], &[1, 1]).run(&input),
        reduce.by_ranges(&[0_i32, -2], &[1, 1]).run(&input),
        reduce.by_ranges(&[0_i64], &[-1]).run(&input),
        reduce.by_ranges(&[0_u64], &[u64::MAX]).run(&input),
        reduce.by_ranges(&[0_u32, 1], &[2, 2]).init_each(&[1]).run(&input),
    ];
    match found {
        [
            Err(Error::Plan(PlanError::NoElements { .. })),
            Err(Error::Length { what: "ends of ranges", found: 1, expected: 2, .. }),
            Err(Error::RangeBounds { index: 1, begin: 2, end: 1, len: 3 }),
            Err(Error::RangeBounds { index: 1, begin: -2, end: 1, len: 3 }),
            Err(Error::RangeBounds { index: 0, begin: 0, end: -1, len: 3 }),
            Err(Error::RangeBounds { index: 0, begin: 0, end: 0xffff_ffff_ffff_ffff, len: 3 }),
            Err(Error::Length { what: "initial values", found: 1, expected: 2, .. }),
        ] => Ok(()),
        found => Err(format!("not refused: {found:?}").into()),
    }
}

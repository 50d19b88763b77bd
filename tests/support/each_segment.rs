//! Initial values and totals of each segment of host memory, on any scanner, against a plain loop; prepared, too.

use std::fmt::Debug;

use scan_codegen::ScanSpec;
use scan_runtime::{Error, PlanError, Scan, ScanOp, Scanner, ops};

use crate::{
    lifting,
    operators::{AffineU32, MapU32, bits, inputs, mixed},
    reference,
    segments::{Heads, PATTERNS, begins},
    stepped::{Appending, Coder, Mapped, mappings},
};

type Failed = Box<dyn std::error::Error>;

/// Segments of an input of some length: rows of few elements and of many, and between offsets.
pub fn all_heads(len: usize) -> Vec<Heads> {
    let rows = [1, 3, 100, len / 2, len].into_iter().filter(|row| *row > 0);
    let rows = rows.map(|row| Heads::rows(row, len - len % row));
    let offsets =
        [2, 5, 9, 12].map(|pattern| Heads::covering(pattern % 2 == 0, &begins(PATTERNS[pattern], len, 4_096)));
    rows.chain(offsets).collect()
}

/// Compares scans of an operator and a stepped operator, in every way and direction, with plain loops, and the errors.
///
/// # Errors
///
/// What goes wrong.
pub fn check(scanner: &Scanner, lengths: &[usize]) -> Result<(), Failed> {
    let map = |bits: u64| lifting::Mapping { a: bits as u32 | 1, b: (bits >> 32) as u32 };
    for &len in lengths {
        let affine = |bits: u64| MapU32 { a: bits as u32 | 1, b: (bits >> 32) as u32 };
        of_operator(scanner, AffineU32, &inputs::<AffineU32>(len), affine)?;
        of_operator(scanner, Coder, &lifting::inputs(len), |bits| bits as u32)?;
        of_operator(scanner, Mapped, &mappings(len), |bits| bits as u32)?;
        of_operator(scanner, Appending, &lifting::inputs(len), map)?;
        of_operator(scanner, ops::sum::<i64>(), &(0..len as i64).collect::<Vec<_>>(), |bits| bits as i64)?;
    }
    errors(scanner)
}

fn of_operator<Op: ScanOp<Output: Debug> + Clone>(
    scanner: &Scanner,
    op: Op,
    input: &[Op::Input],
    value: impl Fn(u64) -> Op::Carry,
) -> Result<(), Failed> {
    for (turn, heads) in all_heads(input.len()).into_iter().enumerate() {
        let input = &input[..heads.begins.len()];
        let scan = scanner.scan(op.clone());
        let scan = if turn % 2 == 1 { scan.exclusive() } else { scan };
        let scan = if turn / 2 % 2 == 1 { scan.reverse() } else { scan };
        let spec = if turn % 2 == 1 { ScanSpec::exclusive() } else { ScanSpec::inclusive() };
        let spec = if turn / 2 % 2 == 1 { spec.reverse() } else { spec };
        let segments = heads.segments_of(input.len());
        let values: Vec<_> = (0..segments.len() as u64).map(|index| value(mixed(index))).collect();
        let begin = |index: usize| (turn % 3 != 2).then(|| values[index]);
        let expected = reference::scan_each(&op, &spec, begin, input, &segments);
        let expected = (expected.0, expected.1.into_iter().flatten().collect());
        let what = format!("{}, {} elements, {spec}, {:?}", op.source().name, input.len(), heads.segments());
        let values = (turn % 3 != 2).then_some(&values[..]);
        same(&scan, &heads, values, input, &expected).map_err(|error| format!("{what}: {error}"))?;
    }
    Ok(())
}

fn same<Op: ScanOp>(
    scan: &Scan<Op>,
    heads: &Heads,
    values: Option<&[Op::Carry]>,
    input: &[Op::Input],
    expected: &(Vec<Op::Output>, Vec<Op::Carry>),
) -> Result<(), Failed> {
    let is_right = |how: &str, output: &[Op::Output], totals: &[Op::Carry]| {
        let (wrong_output, wrong_totals) = (bits(output) != bits(&expected.0), bits(totals) != bits(&expected.1));
        if wrong_output || wrong_totals {
            return Err(format!("{how}: wrong output {wrong_output}, wrong totals {wrong_totals}"));
        }
        Ok(())
    };
    macro_rules! run {
        ($run:expr) => {
            match values {
                Some(values) => $run.init_each(values),
                None => $run,
            }
        };
    }
    is_right("without totals", &run!(heads.of(scan)).run(input)?, &expected.1)?;
    let (output, totals) = run!(heads.of(scan)).with_totals().run(input)?;
    is_right("new vectors", &output, &totals)?;
    let (mut output, mut totals) = (output, totals);
    output.reverse();
    totals.reverse();
    run!(heads.of(scan)).totals_into(&mut totals).run_into(input, &mut output)?;
    is_right("slices", &output, &totals)?;
    totals.reverse();
    let prepared = run!(heads.of(scan)).with_totals().prepare(input.len())?;
    run!(heads.of_handle(&prepared)).totals_into(&mut totals).run_into(input, &mut output)?;
    is_right("prepared", &output, &totals)?;
    let mut too_many = [&expected.1[..], &expected.1].concat();
    match run!(heads.of(scan)).totals_into(&mut too_many).run_into(input, &mut output) {
        Err(Error::Length { .. }) => Ok(()),
        found if expected.1.is_empty() => Ok(found?),
        found => Err(format!("too many totals: {found:?}").into()),
    }
}

/// In place, reduced, and what is refused.
fn errors(scanner: &Scanner) -> Result<(), Failed> {
    let sums = || scanner.scan(ops::sum::<i32>());
    let mut buffer = [1, 2, 3, 10, 20, 30];
    let mut totals = [0; 2];
    sums().reverse().rows(3).init_each(&[100, 0]).totals_into(&mut totals).run_in_place(&mut buffer)?;
    let reduced = scanner.reduce(ops::sum()).by_offsets(&[0_u32, 1, 1, 3]).init_each(&[10, 20, 30]).run(&[1, 2, 3])?;
    let nothing = sums().by_offsets(&[0_u32, 0, 0]).init_each(&[7, 8]).with_totals().run(&[])?;
    if (buffer, totals) != ([106, 105, 103, 60, 50, 30], [106, 60]) || reduced != [11, 20, 35] || nothing.1 != [7, 8] {
        return Err(format!("{buffer:?}, {totals:?}, {reduced:?}, {nothing:?}").into());
    }
    let found = [
        sums().rows(3).init_each(&[1]).run(&buffer).unwrap_err(),
        sums().by_offsets(&[0_u32, 5]).init_each(&[1]).run(&buffer).unwrap_err(),
        sums().by_offsets(&[1_u32, 6]).with_totals().run(&buffer).map(drop).unwrap_err(),
        sums().by_offsets(&[] as &[u32]).with_totals().run(&buffer).map(drop).unwrap_err(),
        sums().by_bits(&[1]).init_each(&[1]).run(&buffer).unwrap_err(),
    ];
    match found {
        [
            Error::Length { what: "initial values", found: 1, expected: 2, .. },
            Error::OffsetsCover { first: 0, last: 5, len: 6 },
            Error::OffsetsCover { first: 1, last: 6, len: 6 },
            Error::OffsetsCover { first: 0, last: 0, len: 6 },
            Error::Plan(PlanError::NoSegmentIndex { .. }),
        ] => Ok(()),
        found => Err(format!("{found:?}").into()),
    }
}

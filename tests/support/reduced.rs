//! Reductions by segments against a plain loop, on any scanner.

use scan_runtime::{Error, PlanError, ScanOp, Scanner, scan_element, scan_op};

use crate::operators::{MatrixProduct, TestOperator, first_difference, inputs, mixed};

type Op = MatrixProduct<2>;

/// Keys of more bytes than their neighbours have in common.
#[scan_element]
#[derive(Clone, Copy)]
struct Key {
    same: u32,
    number: u32,
}

/// There is no first of nothing.
#[scan_op]
fn earlier(a: u32, _b: u32) -> u32 {
    a
}

/// What each segment comes to.
fn expected(
    input: &[<Op as TestOperator>::Item],
    begins: &[bool],
    with_initial: bool,
) -> Vec<<Op as TestOperator>::Item> {
    let mut sums = Vec::new();
    for (index, x) in input.iter().enumerate() {
        match sums.last_mut() {
            Some(sum) if !begins[index] => *sum = Op::new().combine(*sum, *x),
            _ if with_initial => sums.push(Op::new().combine(Op::initial_value(), *x)),
            _ => sums.push(*x),
        }
    }
    sums
}

/// Compares reductions by every kind of heads with a plain loop.
///
/// # Errors
///
/// What goes wrong.
pub fn check(scanner: &Scanner) -> Result<(), Box<dyn std::error::Error>> {
    for (turn, len) in [0, 1, 2, 63, 64, 65, 4_096, 100_003].into_iter().enumerate() {
        // A segment of one element each, of a few, of many, and one alone.
        for (pattern, often) in [1, 3, 1_000, u64::MAX].into_iter().enumerate() {
            let begins: Vec<bool> = (0..len as u64).map(|i| i > 0 && mixed(i).is_multiple_of(often)).collect();
            let input = inputs::<Op>(len);
            let with_initial = (turn + pattern) % 2 == 1;
            let reduce = || {
                let reduce = scanner.reduce(Op::new());
                if with_initial { reduce.init(Op::initial_value()) } else { reduce }
            };
            let numbers = begins.iter().scan(0_u32, |number, begins| {
                *number += u32::from(*begins);
                Some(*number)
            });
            let keys: Vec<Key> = numbers.map(|number| Key { same: 7, number }).collect();
            let word = |word: &[bool]| word.iter().rev().fold(0_u32, |bits, begins| bits << 1 | u32::from(*begins));
            let bits: Vec<u32> = begins.chunks(32).map(word).collect();
            // With an empty segment behind the first.
            let starts = (0..len).filter(|i| *i == 0 || begins[*i]).chain([len]);
            let mut offsets: Vec<u64> = starts.map(|start| start as u64).collect();
            offsets.insert(1.min(offsets.len()), offsets[usize::from(offsets.len() > 1)]);
            let sums = expected(&input, &begins, with_initial);
            let mut with_empty = sums.clone();
            let nothing = if with_initial { Some(Op::initial_value()) } else { Op::new().identity() };
            with_empty.insert(sums.len().min(1), nothing.ok_or("no identity")?);
            let values: Vec<_> = (0..with_empty.len() as u64).map(|segment| Op::input(3 * segment + 1)).collect();
            let segment = |(value, ends): (&_, &[u64])| {
                let elements = &input[ends[0] as usize..ends[1] as usize];
                elements.iter().fold(*value, |sum, x| Op::new().combine(sum, *x))
            };
            let from_values = values.iter().zip(offsets.windows(2)).map(segment).collect();
            let found = [
                ("flags", reduce().by_flags(&begins).run(&input)?, &sums),
                ("bits", reduce().by_bits(&bits).run(&input)?, &sums),
                ("keys", reduce().by_keys(&keys).run(&input)?, &sums),
                ("offsets", reduce().by_offsets(&offsets).run(&input)?, &with_empty),
                ("offsets, from values", reduce().by_offsets(&offsets).init_each(&values).run(&input)?, &from_values),
            ];
            for (head_source, found, expected) in found {
                if found.len() != expected.len() || first_difference(&found, expected).is_some() {
                    return Err(format!("{len} elements by {head_source}, pattern {pattern}").into());
                }
            }
        }
    }
    for (rows, row) in [(1, 50_000), (7, 4_097), (20_011, 3), (5_000, 1), (0, 5)] {
        let input = inputs::<Op>(rows * row);
        let begins: Vec<bool> = (0..rows * row).map(|i| i % row == 0).collect();
        let found = scanner.reduce(Op::new()).rows(row).run(&input)?;
        if found.len() != rows || first_difference(&found, &expected(&input, &begins, false)).is_some() {
            return Err(format!("{rows} rows of {row}").into());
        }
    }
    refused(scanner)
}

fn refused(scanner: &Scanner) -> Result<(), Box<dyn std::error::Error>> {
    let input = [1_u32, 2, 3];
    let inner = scanner.reduce(earlier).by_offsets(&[1_usize, 2, 3]).run(&input)?;
    if inner != [2, 3] {
        return Err(format!("segments within the input: {inner:?}").into());
    }
    let found = [
        scanner.reduce(earlier).by_offsets(&[0_u32, 2, 2, 3]).run(&input),
        scanner.reduce(earlier).by_offsets(&[2_u32, 1]).run(&input),
        scanner.reduce(earlier).by_flags(&[true]).run(&input),
        scanner.reduce(earlier).rows(2).run(&input),
    ];
    match found {
        [
            Err(Error::Plan(PlanError::NoElements { .. })),
            Err(Error::OffsetsDescend { .. }),
            Err(Error::Length { .. }),
            Err(Error::RowLength { .. }),
        ] => Ok(()),
        found => Err(format!("not refused: {found:?}").into()),
    }
}

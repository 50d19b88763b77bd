//! Reductions by segments against a plain loop, on any scanner.

use scan_runtime::{Error, PlanError, ScanOp, Scanner, scan_element, scan_op};

use crate::{
    matrix::Register,
    operators::{AffineU32, MapU32, MatrixProduct, TestOperator, first_difference, inputs, mixed},
};

type Op = MatrixProduct<2>;
type Item = <Op as TestOperator>::Item;

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

/// What a segment comes to, from the left or from the right.
fn total(elements: &[Item], initial: Option<Item>, reversed: bool) -> Option<Item> {
    let mut elements: Vec<Item> = elements.to_vec();
    if reversed {
        elements.reverse();
    }
    let combine = |sum, x| if reversed { Op::new().combine(x, sum) } else { Op::new().combine(sum, x) };
    initial.into_iter().chain(elements).reduce(combine)
}

/// What each segment comes to.
fn expected(input: &[Item], begins: &[bool], initial: Option<Item>, reversed: bool) -> Vec<Item> {
    let starts = (0..input.len()).filter(|i| *i == 0 || begins[*i]).chain([input.len()]);
    let starts: Vec<usize> = starts.collect();
    starts.windows(2).filter_map(|ends| total(&input[ends[0]..ends[1]], initial, reversed)).collect()
}

/// Compares reductions by every kind of heads with a plain loop, from either end.
///
/// # Errors
///
/// What goes wrong.
pub fn check(scanner: &Scanner) -> Result<(), Box<dyn std::error::Error>> {
    for reversed in [false, true] {
        check_from(scanner, reversed)?;
        of_stepped(scanner, reversed)?;
    }
    refused(scanner)
}

/// A stepped operator, whose total tells from which end it has read.
fn of_stepped(scanner: &Scanner, reversed: bool) -> Result<(), Box<dyn std::error::Error>> {
    let reduce = scanner.reduce(Register);
    let reduce = if reversed { reduce.reverse() } else { reduce };
    let start = Register.start().ok_or("no start")?;
    for len in [1, 40, 70_000] {
        let input = inputs::<AffineU32>(len);
        let (offsets, row) = ([0, len as u32 / 3, len as u32 / 3, len as u32], len.div_ceil(2));
        let register = |elements: &[MapU32], start: u32| {
            let step = |register: u32, x: &MapU32| Register.step(register, *x);
            let register = match reversed {
                false => elements.iter().fold(start, step),
                true => elements.iter().rev().fold(start, step),
            };
            Register.project(register)
        };
        let values = [5, 6, 7];
        let between = |k: usize| &input[offsets[k] as usize..offsets[k + 1] as usize];
        let each: Vec<_> = (0..3).map(|k| register(between(k), values[k])).collect();
        let found = [
            (vec![reduce.run(&input)?], vec![register(&input, start)]),
            (vec![reduce.clone().init(9).run(&input)?], vec![register(&input, 9)]),
            (reduce.by_offsets(&offsets).init_each(&values).run(&input)?, each),
            (
                reduce.rows(row).run(&input[..len / row * row])?,
                input.chunks_exact(row).map(|row| register(row, start)).collect(),
            ),
        ];
        if let Some(kind) = found.iter().position(|(found, expected)| found != expected) {
            return Err(format!("a stepped operator, {len} elements, reversed: {reversed}: {:?}", found[kind]).into());
        }
    }
    Ok(())
}

fn check_from(scanner: &Scanner, reversed: bool) -> Result<(), Box<dyn std::error::Error>> {
    let reduction = || {
        let reduce = scanner.reduce(Op::new());
        if reversed { reduce.reverse() } else { reduce }
    };
    for (turn, len) in [0, 1, 2, 63, 64, 65, 4_096, 100_003].into_iter().enumerate() {
        // A segment of one element each, of a few, of many, and one alone.
        for (pattern, often) in [1, 3, 1_000, u64::MAX].into_iter().enumerate() {
            let begins: Vec<bool> = (0..len as u64).map(|i| i > 0 && mixed(i).is_multiple_of(often)).collect();
            let input = inputs::<Op>(len);
            let with_initial = (turn + pattern) % 2 == 1;
            let reduce = || {
                let reduce = reduction();
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
            let initial = with_initial.then(Op::initial_value);
            let sums = expected(&input, &begins, initial, reversed);
            let mut with_empty = sums.clone();
            let nothing = if with_initial { Some(Op::initial_value()) } else { Op::new().identity() };
            with_empty.insert(sums.len().min(1), nothing.ok_or("no identity")?);
            let values: Vec<_> = (0..with_empty.len() as u64).map(|segment| Op::input(3 * segment + 1)).collect();
            let segment =
                |(value, ends): (&_, &[u64])| total(&input[ends[0] as usize..ends[1] as usize], Some(*value), reversed);
            let from_values = values.iter().zip(offsets.windows(2)).filter_map(segment).collect();
            let whole = total(&input, initial, reversed).or_else(|| Op::new().identity()).ok_or("no identity")?;
            let (whole, prepared) = (vec![whole], reduce().by_offsets(&offsets).prepare(len)?);
            let found = [
                ("nothing", vec![reduce().run(&input)?], &whole),
                ("nothing, prepared", vec![reduce().prepare(len)?.run(&input)?], &whole),
                ("offsets, prepared", prepared.by_offsets(&offsets).run(&input)?, &with_empty),
                ("flags", reduce().by_flags(&begins).run(&input)?, &sums),
                ("bits", reduce().by_bits(&bits).run(&input)?, &sums),
                ("keys", reduce().by_keys(&keys).run(&input)?, &sums),
                ("offsets", reduce().by_offsets(&offsets).run(&input)?, &with_empty),
                ("offsets, from values", reduce().by_offsets(&offsets).init_each(&values).run(&input)?, &from_values),
            ];
            for (head_source, found, expected) in found {
                if found.len() != expected.len() || first_difference(&found, expected).is_some() {
                    return Err(format!("{len} elements by {head_source}, {pattern}, reversed: {reversed}").into());
                }
            }
        }
    }
    for (rows, row) in [(1, 50_000), (7, 4_097), (20_011, 3), (5_000, 1), (0, 5)] {
        let input = inputs::<Op>(rows * row);
        let begins: Vec<bool> = (0..rows * row).map(|i| i % row == 0).collect();
        let found = reduction().rows(row).run(&input)?;
        if found.len() != rows || first_difference(&found, &expected(&input, &begins, None, reversed)).is_some() {
            return Err(format!("{rows} rows of {row}, reversed: {reversed}").into());
        }
    }
    Ok(())
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

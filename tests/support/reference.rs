//! What a scan is, in the fewest words: the loop that every result is compared with.

use std::ops::Range;

use scan_codegen::{Axis, ScanSpec};
use scan_runtime::{ScanKind, ScanOp};

/// Scans by a plain loop over the operator's Rust body: from the last element to the first, if `spec` says so, and restarting
/// wherever `begins` does, if there is one.
pub fn scan_as<Op: ScanOp>(
    op: &Op,
    spec: &ScanSpec,
    initial_value: Option<Op::Carry>,
    input: &[Op::Input],
    begins: Option<&[bool]>,
) -> Vec<Op::Output> {
    let one_segment = if spec.reversed { scan_back } else { scan };
    match begins {
        None => one_segment(op, spec.kind, initial_value, input),
        Some(begins) => each_segment(input, begins, |segment| one_segment(op, spec.kind, initial_value, segment)),
    }
}

/// Scans each column of an array by a plain loop, and puts the results into `output`, whose other elements it leaves.
pub fn scan_axis<Op: ScanOp>(
    op: &Op,
    spec: &ScanSpec,
    initial_value: Option<Op::Carry>,
    axis: &Axis,
    input: &[Op::Input],
    output: &mut [Op::Output],
) {
    let (from, to) = (places(axis, axis.both_strides().0), result_places(axis));
    for column in columns(axis) {
        let length = axis.shape()[axis.axis()];
        let elements: Vec<_> = (0..length).map(|row| input[from(&column, row)]).collect();
        for (row, result) in scan_as(op, spec, initial_value, &elements, None).into_iter().enumerate() {
            output[to(&column, row)] = result;
        }
    }
}

/// As [`scan_axis`], with an initial value for each column, if there are any, and gives the total of each, in the order
/// of their indices.
///
/// # Panics
///
/// If there is a column without a total.
pub fn scan_axis_each<Op: ScanOp>(
    op: &Op,
    spec: &ScanSpec,
    values: Option<&[Op::Carry]>,
    axis: &Axis,
    input: &[Op::Input],
    output: &mut [Op::Output],
) -> Vec<Op::Carry> {
    let (from, to) = (places(axis, axis.both_strides().0), result_places(axis));
    let length = axis.shape()[axis.axis()];
    let of_column = |(number, column): (usize, Vec<usize>)| {
        let value = values.map(|values| values[number]);
        let elements: Vec<_> = (0..length).map(|row| input[from(&column, row)]).collect();
        for (row, result) in scan_as(op, spec, value, &elements, None).into_iter().enumerate() {
            output[to(&column, row)] = result;
        }
        total_as(op, spec, value, &elements, None).or_else(|| op.start()).expect("a total")
    };
    columns(axis).into_iter().enumerate().map(of_column).collect()
}

/// The place in memory of the element of a column, which has these indices, in a row of it. Of an inverted dimension the
/// last index lies lowest.
pub fn places<'a>(axis: &'a Axis, strides: &'a [isize]) -> impl Fn(&[usize], usize) -> usize + 'a {
    move |column, row| {
        let of_dimension = |(dimension, (&index, &stride)): (usize, (&usize, &isize))| {
            let index = if dimension == axis.axis() { row } else { index };
            let index = if stride < 0 { axis.shape()[dimension] - 1 - index } else { index };
            index * stride.unsigned_abs()
        };
        column.iter().zip(strides).enumerate().map(of_dimension).sum()
    }
}

/// The same of results, of which an axis may have a part.
pub fn result_places(axis: &Axis) -> impl Fn(&[usize], usize) -> usize + '_ {
    let strides = axis.both_strides().1;
    let (of_all, [_, first]) = (axis.first_and_len(strides).map_or(0, |(first, _)| first), axis.layout().firsts());
    let place = places(axis, strides);
    move |column, row| first + place(column, row) - of_all
}

/// The indices of the first element of each column of an array.
pub fn columns(axis: &Axis) -> Vec<Vec<usize>> {
    let extents = axis.shape().iter().enumerate().map(|(k, &extent)| if k == axis.axis() { 1 } else { extent });
    extents.fold(vec![Vec::new()], |columns, extent| {
        let longer = |column: &Vec<usize>| {
            let column = column.clone();
            (0..extent).map(move |index| [&column[..], &[index]].concat())
        };
        columns.iter().flat_map(longer).collect()
    })
}

/// Scans by a plain loop from the last element to the first.
fn scan_back<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    initial_value: Option<Op::Carry>,
    input: &[Op::Input],
) -> Vec<Op::Output> {
    let advance = |carry, x| op.advance_back(carry, x);
    let mut output = steps(op, kind, initial_value, input.iter().rev(), advance);
    output.reverse();
    output
}

/// What comes of each segment, one after the other.
fn each_segment<I, O>(input: &[I], begins: &[bool], scan: impl Fn(&[I]) -> Vec<O>) -> Vec<O> {
    let mut output = Vec::with_capacity(input.len());
    let mut start = 0;
    while start < input.len() {
        let rest = start + 1..input.len();
        let end = rest.clone().find(|&index| begins[index]).unwrap_or(rest.end);
        output.extend(scan(&input[start..end]));
        start = end;
    }
    output
}

/// Scans by a plain loop over the operator's Rust body.
pub fn scan<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    initial_value: Option<Op::Carry>,
    input: &[Op::Input],
) -> Vec<Op::Output> {
    steps(op, kind, initial_value, input.iter(), |carry, x| (op.step(carry, x), op.emit(carry, x)))
}

/// The loop: what an element makes of the carry before it, and its output.
fn steps<'x, Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    initial_value: Option<Op::Carry>,
    input: impl Iterator<Item = &'x Op::Input>,
    advance: impl Fn(Op::Carry, Op::Input) -> (Op::Carry, Op::Output),
) -> Vec<Op::Output> {
    let mut carry = begin(op, initial_value);
    let element = |&x: &'x Op::Input| {
        let (after, output) = match carry {
            Some(carry) => advance(carry, x),
            None => {
                let first = op.carry_of(op.lift(x));
                (first, op.project(first))
            }
        };
        let before = carry.or_else(|| op.start());
        carry = Some(after);
        match kind {
            ScanKind::Inclusive => output,
            ScanKind::Exclusive => op.project(before.expect("an exclusive scan needs an identity or an initial value")),
        }
    };
    input.map(element).collect()
}

/// What stands before the first element: of a stepped operator, its start at least.
fn begin<Op: ScanOp>(op: &Op, initial_value: Option<Op::Carry>) -> Option<Op::Carry> {
    initial_value.or_else(|| op.start().filter(|start| op.state_of(*start).is_none()))
}

/// The sum of all elements by a plain loop, the initial value before them; `None` where there is nothing to sum.
pub fn total<Op: ScanOp>(op: &Op, initial_value: Option<Op::Carry>, input: &[Op::Input]) -> Option<Op::Carry> {
    let step = |carry, &x: &Op::Input| match carry {
        Some(carry) => Some(op.step(carry, x)),
        None => Some(op.carry_of(op.lift(x))),
    };
    input.iter().fold(begin(op, initial_value), step)
}

/// The sum of all elements by a plain loop, the initial value behind them; `None` where there is nothing to sum.
pub fn total_back<Op: ScanOp>(op: &Op, initial_value: Option<Op::Carry>, input: &[Op::Input]) -> Option<Op::Carry> {
    let step = |carry, &x: &Op::Input| match carry {
        Some(carry) => Some(op.step_back(carry, x)),
        None => Some(op.carry_of(op.lift(x))),
    };
    input.iter().rev().fold(begin(op, initial_value), step)
}

/// The total of a scan: the carry after the last element, or the initial value where there is none.
pub fn total_as<Op: ScanOp>(
    op: &Op,
    spec: &ScanSpec,
    initial_value: Option<Op::Carry>,
    input: &[Op::Input],
    begins: Option<&[bool]>,
) -> Option<Op::Carry> {
    let heads = || begins.into_iter().flat_map(|begins| (1..input.len()).filter(|index| begins[*index]));
    match spec.reversed {
        _ if input.is_empty() => initial_value,
        true => total_back(op, initial_value, &input[..heads().next().unwrap_or(input.len())]),
        false => total(op, initial_value, &input[heads().last().unwrap_or(0)..]),
    }
}

/// Scans each of these segments, of which some may be empty, by a plain loop, from an initial value of its own. Gives
/// the outputs of all, and the total of each.
pub fn scan_each<Op: ScanOp>(
    op: &Op,
    spec: &ScanSpec,
    initial_value: impl Fn(usize) -> Option<Op::Carry>,
    input: &[Op::Input],
    segments: &[Range<usize>],
) -> (Vec<Op::Output>, Vec<Option<Op::Carry>>) {
    let scan = |(index, segment): (usize, &Range<usize>)| {
        let (initial_value, elements) = (initial_value(index), &input[segment.clone()]);
        let total = total_as(op, spec, initial_value, elements, None).or_else(|| op.start());
        (scan_as(op, spec, initial_value, elements, None), total)
    };
    let (outputs, totals): (Vec<_>, Vec<_>) = segments.iter().enumerate().map(scan).unzip();
    (outputs.concat(), totals)
}

/// Scans by a plain loop that restarts wherever `begins` says so, and at the first element.
pub fn scan_segments<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    initial_value: Option<Op::Carry>,
    input: &[Op::Input],
    begins: &[bool],
) -> Vec<Op::Output> {
    each_segment(input, begins, |segment| scan(op, kind, initial_value, segment))
}

/// The four ways to scan, as (kind, with an initial value).
pub const WAYS: [(ScanKind, bool); 4] = [
    (ScanKind::Inclusive, false),
    (ScanKind::Inclusive, true),
    (ScanKind::Exclusive, false),
    (ScanKind::Exclusive, true),
];

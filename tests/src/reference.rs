//! What a scan is, in the fewest words: the loop that every result is compared with.

use scan_codegen::ScanSpec;
use scan_runtime::{ScanKind, ScanOp};

/// Scans by a plain loop over the operator's Rust body: from the last element to the first, if `spec` says so, and restarting
/// wherever `begins` does, if there is one.
pub fn scan_as<Op: ScanOp>(
    op: &Op,
    spec: &ScanSpec,
    initial_value: Option<Op::State>,
    input: &[Op::Input],
    begins: Option<&[bool]>,
) -> Vec<Op::Output> {
    let one_segment = if spec.reversed { scan_back } else { scan };
    match begins {
        None => one_segment(op, spec.kind, initial_value, input),
        Some(begins) => each_segment(input, begins, |segment| one_segment(op, spec.kind, initial_value, segment)),
    }
}

/// Scans by a plain loop from the last element to the first.
fn scan_back<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    initial_value: Option<Op::State>,
    input: &[Op::Input],
) -> Vec<Op::Output> {
    let mut sum = initial_value;
    let mut output = Vec::with_capacity(input.len());
    for &x in input.iter().rev() {
        let x = op.lift(x);
        let with_this = match sum {
            Some(sum) => op.combine(x, sum),
            None => x,
        };
        let covered = match kind {
            ScanKind::Inclusive => with_this,
            ScanKind::Exclusive => {
                sum.or_else(|| op.identity()).expect("an exclusive scan needs an identity or an initial value")
            }
        };
        output.push(op.project(covered));
        sum = Some(with_this);
    }
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
    initial_value: Option<Op::State>,
    input: &[Op::Input],
) -> Vec<Op::Output> {
    let mut sum = initial_value;
    let mut output = Vec::with_capacity(input.len());
    for &x in input {
        let x = op.lift(x);
        let with_this = match sum {
            Some(sum) => op.combine(sum, x),
            None => x,
        };
        let covered = match kind {
            ScanKind::Inclusive => with_this,
            ScanKind::Exclusive => {
                sum.or_else(|| op.identity()).expect("an exclusive scan needs an identity or an initial value")
            }
        };
        output.push(op.project(covered));
        sum = Some(with_this);
    }
    output
}

/// The sum of all elements by a plain loop, the initial value before them; `None` where there is nothing to sum.
pub fn total<Op: ScanOp>(op: &Op, initial_value: Option<Op::State>, input: &[Op::Input]) -> Option<Op::State> {
    let elements = input.iter().map(|&x| op.lift(x));
    initial_value.into_iter().chain(elements).reduce(|sum, x| op.combine(sum, x))
}

/// The sum of all elements by a plain loop, the initial value behind them; `None` where there is nothing to sum.
pub fn total_back<Op: ScanOp>(op: &Op, initial_value: Option<Op::State>, input: &[Op::Input]) -> Option<Op::State> {
    let elements = input.iter().map(|&x| op.lift(x));
    elements.chain(initial_value).reduce(|sum, x| op.combine(sum, x))
}

/// The total of a scan: of the segment with which it ends, where it restarts; `None` where there is nothing to combine.
pub fn total_as<Op: ScanOp>(
    op: &Op,
    spec: &ScanSpec,
    initial_value: Option<Op::State>,
    input: &[Op::Input],
    begins: Option<&[bool]>,
) -> Option<Op::State> {
    let heads = || begins.into_iter().flat_map(|begins| (1..input.len()).filter(|index| begins[*index]));
    match spec.reversed {
        true => total_back(op, initial_value, &input[..heads().next().unwrap_or(input.len())]),
        false => total(op, initial_value, &input[heads().last().unwrap_or(0)..]),
    }
}

/// Scans by a plain loop that restarts wherever `begins` says so, and at the first element.
pub fn scan_segments<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    initial_value: Option<Op::State>,
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

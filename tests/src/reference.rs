//! What a scan is, in the fewest words: the loop that every result is compared with.

use scan_runtime::{ScanKind, ScanOp};

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

/// Scans by a plain loop that restarts wherever `begins` says so, and at the first element.
pub fn scan_segments<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    initial_value: Option<Op::State>,
    input: &[Op::Input],
    begins: &[bool],
) -> Vec<Op::Output> {
    let mut output = Vec::with_capacity(input.len());
    let mut start = 0;
    while start < input.len() {
        let rest = start + 1..input.len();
        let end = rest.clone().find(|&index| begins[index]).unwrap_or(rest.end);
        output.extend(scan(op, kind, initial_value, &input[start..end]));
        start = end;
    }
    output
}

/// The four ways to scan, as (kind, with an initial value).
pub const WAYS: [(ScanKind, bool); 4] = [
    (ScanKind::Inclusive, false),
    (ScanKind::Inclusive, true),
    (ScanKind::Exclusive, false),
    (ScanKind::Exclusive, true),
];

//! Reductions by segments of host memory: a total for each.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    Error, Heads, Reduce, ScanOp, cpu,
    heads::{GROUP, HeadKind},
    scanner::Engine,
    telemetry::{computing, tells_of_calls},
};

impl<Op: ScanOp> Reduce<Op, Heads<'_>> {
    /// Reduces each segment of a slice. On the GPU the segments are scanned, and the last result of each is taken.
    ///
    /// # Errors
    ///
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) for an empty segment, no initial value and no identity;
    /// those of [`Scan::run`](crate::Scan::run) of a scan that restarts.
    pub fn run(&self, input: &[Op::Input]) -> Result<Vec<Op::Output>, Error> {
        // Keys that the planner refuses have no bytes to compare.
        self.check_planned()?;
        self.heads.check(input.len())?;
        let segments = segments(&self.heads, input.len());
        let reduced = match self.scanner.engine() {
            Engine::Cuda(_) => {
                let (scanned, _) = self.run_to_vector(input, false)?;
                let last = |segment: &Range<usize>| match segment.is_empty() {
                    true => self.result_of_nothing(),
                    false => Ok(scanned[segment.end - 1]),
                };
                return segments.iter().map(last).collect();
            }
            Engine::Cpu { .. } => {
                let _span = tells_of_calls().then(|| computing::<Op>(input.len()));
                |segment: &Range<usize>| match cpu::reduce(&self.op, self.initial_value, &input[segment.clone()])? {
                    Some(total) => cpu::project(&self.op, total),
                    None => self.result_of_nothing(),
                }
            }
        };
        segments.par_iter().with_min_len(SHARED).map(reduced).collect()
    }
}

/// The fewest segments that are worth another thread.
const SHARED: usize = 64;

/// The segments of an input of this length, whose heads have been checked.
fn segments(heads: &Heads<'_>, len: usize) -> Vec<Range<usize>> {
    if let HeadKind::Offsets(_) = heads.kind {
        return heads.between_offsets();
    }
    let mut starts = Vec::new();
    if let HeadKind::Rows { len: row } = heads.kind {
        starts.extend((0..len).step_by(row));
    } else {
        let mut cursor = heads.cursor(0);
        for start in (0..len).step_by(GROUP) {
            let mask = cursor.mask(start..len.min(start + GROUP));
            // The first element begins a segment whatever its flag, bit or key.
            let mut rest = if start == 0 { mask | 1 } else { mask };
            while rest != 0 {
                starts.push(start + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }
    let ends = starts.iter().skip(1).copied().chain([len]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

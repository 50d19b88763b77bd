//! Scans that restart, on the CPU: the same three phases, in which what stands before a chunk reaches only up to the chunk's
//! first head.

use rayon::prelude::*;
use scan_codegen::ScanKind;

use super::{Buffers, caught, chunk_length, extend};
use crate::{Error, ScanOp, heads::Heads};

/// Scans the buffers and restarts at each head, with `initial_value` before the first element of each segment. An exclusive
/// scan without it begins each segment with the identity, which the caller has checked to exist. The caller has checked the
/// heads against the length, too.
pub(crate) fn scan_segments<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    initial_value: Option<Op::State>,
    heads: &Heads<'_>,
    buffers: &Buffers<'_, Op::Input, Op::Output>,
) -> Result<(), Error> {
    let scan = Segmented { op, kind, initial_value, heads, buffers };
    caught(op, || scan.scan_chunks())
}

struct Segmented<'a, 'b, Op: ScanOp> {
    op: &'a Op,
    kind: ScanKind,
    initial_value: Option<Op::State>,
    heads: &'a Heads<'a>,
    buffers: &'a Buffers<'b, Op::Input, Op::Output>,
}

impl<Op: ScanOp> Segmented<'_, '_, Op> {
    fn scan_chunks(&self) {
        let len = self.buffers.len;
        let chunk = chunk_length(len);
        if len <= chunk {
            return self.scan_range(None, 0, len);
        }
        let range = |index: usize| (index * chunk, ((index + 1) * chunk).min(len));

        // The last chunk's fold is not needed.
        let folds: Vec<_> = (0..len.div_ceil(chunk) - 1)
            .into_par_iter()
            .map(|index| {
                let (start, end) = range(index);
                self.fold_range(start, end)
            })
            .collect();
        let mut starts = vec![None];
        starts.extend(folds.into_iter().scan(None, |sum, (any_head, fold)| {
            *sum = match (any_head, fold) {
                (false, Some(fold)) => Some(extend(self.op, *sum, fold)),
                (_, fold) => fold,
            };
            Some(*sum)
        }));
        starts.into_par_iter().enumerate().for_each(|(index, before)| {
            let (start, end) = range(index);
            self.scan_range(before, start, end);
        });
    }

    /// The sum of what follows the last head of a range, and whether there is a head.
    fn fold_range(&self, start: usize, end: usize) -> (bool, Option<Op::State>) {
        let mut heads = self.heads.cursor(start);
        let (mut any_head, mut sum) = (false, None);
        for index in start..end {
            // SAFETY: the range is in bounds, and nothing is written in this phase.
            let next = self.op.lift(unsafe { self.buffers.read(index) });
            if heads.begins(index) {
                any_head = true;
                sum = self.initial_value;
            }
            sum = Some(extend(self.op, sum, next));
        }
        (any_head, sum)
    }

    /// The plain loop over one range, `before` being what stands before it in the segment of its first element. No other
    /// thread touches the range meanwhile.
    fn scan_range(&self, before: Option<Op::State>, start: usize, end: usize) {
        let mut heads = self.heads.cursor(start);
        let mut sum = before;
        for index in start..end {
            if heads.begins(index) {
                sum = self.initial_value;
            }
            // SAFETY: the range is in bounds and this thread's own. Where the buffers are one, an element is read before it
            // is written.
            let with_this = extend(self.op, sum, self.op.lift(unsafe { self.buffers.read(index) }));
            let covered = match self.kind {
                ScanKind::Inclusive => Some(with_this),
                ScanKind::Exclusive => sum.or_else(|| self.op.identity()),
            };
            if let Some(covered) = covered {
                // SAFETY: as above.
                unsafe { self.buffers.write(index, self.op.project(covered)) };
            }
            sum = Some(with_this);
        }
    }
}

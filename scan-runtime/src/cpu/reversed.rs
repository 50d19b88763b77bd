//! Scans from the last element to the first, on the CPU: a plain loop over chunks that are counted from the end.
//!
//! The exclusive prefix of an element folds the elements after it in memory, and is the right operand. If states have
//! floats, a chunk's own aggregate is computed in addition to its results, so that the prefix after it does not depend
//! on whether the chunk was folded first.

use std::ops::Range;

use super::{Job, Known, Order, loops::Loops, memory::Memory};
use crate::{ScanKind, ScanOp, heads::HeadKind};

/// The elements of a range, counted from the end.
fn in_memory(range: &Range<usize>, len: usize) -> Range<usize> {
    len - range.end..len - range.start
}

impl<Op: ScanOp, M: Memory<Op>> Job<'_, Op, M> {
    /// What a chunk adds.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and nobody writes there.
    pub(super) unsafe fn fold_back(&self, range: Range<usize>) -> Known<Op> {
        let range = in_memory(&range, self.len);
        let last_head = self.first_head(&range);
        let (op, at) = (self.loops.op, self.loops.at_hand());
        // SAFETY: the caller vouches for the range.
        let input = |index| unsafe { at.input(index) };
        match last_head {
            Some(head) => {
                let step = |carry: Option<Op::Carry>, next| match carry {
                    Some(carry) => op.step_back(carry, next),
                    None => op.carry_of(op.lift(next)),
                };
                let rest = (range.start..head).rev().map(input);
                Known::After(rest.fold(self.initial_value, |carry, next| Some(step(carry, next))))
            }
            None => {
                let append = |sum: Option<Op::State>, next| match sum {
                    Some(sum) => op.append_back(sum, next),
                    None => op.lift(next),
                };
                Known::Sum(range.rev().map(input).fold(None, |sum, next| Some(append(sum, next))))
            }
        }
    }

    /// Scans a chunk and gives the prefix after it.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and no other thread touches it.
    pub(super) unsafe fn scan_back(
        &self,
        kind: ScanKind,
        range: Range<usize>,
        before: Option<Op::Carry>,
    ) -> Option<Op::Carry> {
        let alone = !self.loops.is_exact() && range.start > 0;
        let range = in_memory(&range, self.len);
        let (mut sum, mut end) = (before, range.end);
        // SAFETY: the caller guarantees the range, in which the parts are, one after the other.
        unsafe {
            if let Some(HeadKind::Rows { len: row }) = self.heads.map(|heads| heads.kind) {
                let lowest = range.start.max(1).next_multiple_of(row);
                if lowest < end {
                    let highest = (end - 1) / row * row;
                    self.loops.scan_by_hand(kind, Order::Reversed, highest..end, sum);
                    self.loops.scan_rows(
                        kind,
                        Order::Reversed,
                        row,
                        lowest..highest,
                        self.initial_value.as_ref(),
                        false,
                    );
                    (sum, end) = (self.initial_value, lowest);
                }
            } else if let Some(heads) = self.heads
                && (!alone || self.first_head(&range).is_some())
            {
                return self.loops.scan_segments(kind, Order::Reversed, heads, range, before, self.initial_value);
            }
            let part = range.start..end;
            if !alone || end < range.end || part.is_empty() {
                return self.loops.scan_by_hand(kind, Order::Reversed, part, sum);
            }
            let own = match kind {
                ScanKind::Inclusive => self.scan_with_sum::<false>(part, sum),
                ScanKind::Exclusive => self.scan_with_sum::<true>(part, sum),
            };
            Some(self.join_sum(sum, own?))
        }
    }

    /// The head of a range at which the scan arrives last. Nothing lies before the first element of all, so that it
    /// need not be one.
    fn first_head(&self, range: &Range<usize>) -> Option<usize> {
        self.heads.and_then(|heads| heads.first_head(range.start.max(1)..range.end))
    }

    /// Scans elements of one segment, and gives their own sum.
    ///
    /// # Safety
    ///
    /// As [`scan_back`](Job::scan_back).
    #[inline(never)]
    unsafe fn scan_with_sum<const EXCLUSIVE: bool>(
        &self,
        range: Range<usize>,
        before: Option<Op::Carry>,
    ) -> Option<Op::State> {
        let Loops { op, memory, start, .. } = self.loops;
        // SAFETY: the caller vouches for the range.
        unsafe { backward::<Op, M, true, EXCLUSIVE>(op, memory, range, before, start).1 }
    }
}

/// The loop that one writes by hand. Gives the carry after the range, and, if `ALONE`, its own aggregate. The operator is
/// a parameter of its own, as in the loops forward.
///
/// # Safety
///
/// As [`Job::scan_back`].
#[inline(always)]
pub(super) unsafe fn backward<Op: ScanOp, M: Memory<Op>, const ALONE: bool, const EXCLUSIVE: bool>(
    op: &Op,
    memory: M,
    mut range: Range<usize>,
    before: Option<Op::Carry>,
    begin: Option<Op::Carry>,
) -> (Option<Op::Carry>, Option<Op::State>) {
    let Some(first) = range.next_back() else { return (before, None) };
    // SAFETY: the caller vouches for the range. Where the buffers are one, an element is read before it is written.
    unsafe {
        let next = memory.read(first);
        let mut alone = ALONE.then(|| op.lift(next));
        // The first element comes by itself, so that there is no question in the loop.
        let mut carry = match before {
            Some(before) => {
                let (after, output) = op.advance_back(before, next);
                memory.write(first, if EXCLUSIVE { op.project(before) } else { output });
                after
            }
            None => {
                let carry = op.carry_of(op.lift(next));
                if !EXCLUSIVE {
                    memory.write(first, op.project(carry));
                } else if let Some(begin) = begin {
                    memory.write(first, op.project(begin));
                }
                carry
            }
        };
        for index in range.rev() {
            let next = memory.read(index);
            let (after, output) = op.advance_back(carry, next);
            memory.write(index, if EXCLUSIVE { op.project(carry) } else { output });
            carry = after;
            alone = alone.map(|alone| op.append_back(alone, next));
        }
        (Some(carry), alone)
    }
}

//! Segmented scans on the CPU: the exclusive prefix of a chunk counts only up to the chunk's first head.
//!
//! Heads are read in groups of [`GROUP`] elements. A group without heads is scanned as if there were no segments. In
//! the others the loop tests the bit of each element or, if any grouping gives the same bits, the bits of each vector
//! register.

use std::{hint, ops::Range};

use super::{Job, Known, Order, memory::Memory};
use crate::{
    ScanKind, ScanOp,
    heads::{Cursor, GROUP, HeadKind, Heads},
};

/// The next group with heads from `start` on, which is where a group begins; and its heads, a bit each.
fn next_with_heads(heads: &mut Cursor<'_>, mut start: usize, end: usize) -> Option<(Range<usize>, u64)> {
    while start < end {
        let group = start..end.min(start + GROUP);
        let mask = mask(heads, &group);
        if mask != 0 {
            return Some((group, mask));
        }
        start = group.end;
    }
    None
}

/// The last head of a range, and the end of its group.
fn last_head(heads: &Heads<'_>, range: &Range<usize>) -> Option<(usize, usize)> {
    let mut heads = heads.cursor(range.start);
    let (mut last, mut start) = (None, range.start);
    while let Some((group, mask)) = next_with_heads(&mut heads, start, range.end) {
        last = mask.checked_ilog2().map(|bit| (group.start + bit as usize, group.end));
        start = group.end;
    }
    last
}

/// The heads of a group, a bit each. The very first element is always a head, and needs no bit for that: only the
/// initial value comes before it.
fn mask(heads: &mut Cursor<'_>, group: &Range<usize>) -> u64 {
    let mask = heads.mask(group.clone());
    if group.start == 0 { mask & !1 } else { mask }
}

impl<Op: ScanOp, M: Memory<Op>> Job<'_, Op, M> {
    /// Folds a chunk. What stands before the first chunk of all is the initial value.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and nobody writes there.
    pub(super) unsafe fn fold_segments(&self, heads: &Heads<'_>, range: Range<usize>) -> Known<Op> {
        // SAFETY: the caller vouches for the range.
        unsafe {
            if let HeadKind::Rows { len: row } = heads.kind {
                let head = (range.end - 1) / row * row;
                return match head < range.start {
                    true => Known::Sum(self.loops.fold(range)),
                    false => Known::After(self.loops.fold_first(head..range.end, self.initial_value)),
                };
            }
            let Some((head, end)) = last_head(heads, &range) else {
                return Known::Sum(self.loops.fold(range));
            };
            let begun = self.loops.begin(self.initial_value, self.loops.at_hand().input(head));
            let carry = self.loops.fold_by_hand(head + 1..end, begun);
            Known::After(Some(self.loops.fold_on(end..range.end, carry)))
        }
    }

    /// Scans a range and gives the prefix after it.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and no other thread touches it.
    pub(super) unsafe fn scan_segments(
        &self,
        kind: ScanKind,
        heads: &Heads<'_>,
        range: Range<usize>,
        before: Option<Op::Carry>,
    ) -> Option<Op::Carry> {
        if let HeadKind::Rows { len: row } = heads.kind {
            // SAFETY: the caller vouches for the range.
            return unsafe { self.scan_rows(kind, row, range, before) };
        }
        let mut heads = heads.cursor(range.start);
        // The prefix since the last head, and the first element that is still to be scanned.
        let (mut sum, mut waiting) = (None, range.start);
        while let Some((group, mask)) = next_with_heads(&mut heads, waiting, range.end) {
            // SAFETY: the ranges are in bounds and this thread's own, and come one after the other.
            unsafe {
                sum = match sum {
                    Some(sum) => {
                        let sum = self.loops.step_on(kind, waiting..group.start, sum);
                        Some(self.scan_group(kind, group.clone(), group.start, mask, sum))
                    }
                    None => {
                        let head = group.start + mask.trailing_zeros() as usize;
                        self.loops.step(kind, waiting..head, before);
                        let sum = self.scan_head(kind, head);
                        Some(self.scan_group(kind, group.clone(), head + 1, mask, sum))
                    }
                };
            }
            waiting = group.end;
        }
        // SAFETY: as above.
        unsafe {
            match sum {
                Some(sum) => Some(self.loops.step_on(kind, waiting..range.end, sum)),
                None => self.loops.step(kind, waiting..range.end, before),
            }
        }
    }

    /// The same of rows: the rest of one, whole ones, and a part of the last.
    ///
    /// # Safety
    ///
    /// As [`scan_segments`](Job::scan_segments).
    unsafe fn scan_rows(
        &self,
        kind: ScanKind,
        row: usize,
        range: Range<usize>,
        before: Option<Op::Carry>,
    ) -> Option<Op::Carry> {
        let first = range.start.next_multiple_of(row).min(range.end);
        // The last one tells what stands after the range.
        let last = ((range.end.saturating_sub(1)) / row * row).max(first);
        // SAFETY: the caller vouches for the range, in which the parts are, one after the other.
        unsafe {
            let after = self.loops.step(kind, range.start..first, before);
            if first == range.end {
                return after;
            }
            self.loops.scan_rows(kind, Order::Forward, row, first..last, self.initial_value.as_ref(), false);
            self.loops.scan_first(kind, last..range.end, self.initial_value)
        }
    }

    /// Scans the first element of a segment, and gives its sum.
    ///
    /// # Safety
    ///
    /// The element is in bounds, and no other thread touches it.
    unsafe fn scan_head(&self, kind: ScanKind, head: usize) -> Op::Carry {
        let at = self.loops.at_hand();
        // SAFETY: the caller guarantees the element. Where the buffers are one, it is read before it is written.
        unsafe {
            let (sum, output) = at.advance(self.initial_value, at.input(head));
            match (kind, self.initial_value.or(self.loops.start)) {
                (ScanKind::Inclusive, _) => at.put(head, output),
                (ScanKind::Exclusive, Some(before)) => at.write(head, before),
                (ScanKind::Exclusive, None) => {}
            }
            sum
        }
    }

    /// Scans a group from an element on, whose exclusive prefix is `sum`.
    ///
    /// # Safety
    ///
    /// The group is in bounds, and no other thread touches it.
    unsafe fn scan_group(
        &self,
        kind: ScanKind,
        group: Range<usize>,
        from: usize,
        mask: u64,
        sum: Op::Carry,
    ) -> Op::Carry {
        let mask = mask.checked_shr((from - group.start) as u32).unwrap_or(0);
        let range = from..group.end;
        // SAFETY: the caller guarantees the group.
        unsafe {
            if let Some(sum) = self.loops.restart(kind, &range, mask, sum, self.initial_value) {
                return sum;
            }
            match kind {
                ScanKind::Inclusive => self.scan_where::<false>(range, mask, sum),
                ScanKind::Exclusive => self.scan_where::<true>(range, mask, sum),
            }
        }
    }

    /// Scans a range of a group, whose exclusive prefix is `sum`. Its element `i` is a head if bit `i` of the mask is
    /// set.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and no other thread touches it.
    unsafe fn scan_where<const EXCLUSIVE: bool>(&self, range: Range<usize>, mask: u64, sum: Op::Carry) -> Op::Carry {
        // What stands before a segment's first element; where nothing does, an exclusive scan has been refused.
        let before = self.initial_value.or(self.loops.start).unwrap_or(sum);
        let op = self.loops.op;
        let written = |carry: Op::Carry| (carry, op.project(carry));
        // SAFETY: the caller vouches for the range.
        unsafe {
            match self.initial_value {
                // Heads are unpredictable: computing both values is faster than a mispredicted branch.
                None if self.loops.is_cheap() => {
                    self.scan_marked::<EXCLUSIVE>(range, mask, sum, before, |begins, sum, next| {
                        let [alone, with_sum] = [op.carry_of(op.lift(next)), op.step(sum, next)];
                        written(hint::select_unpredictable(begins, alone, with_sum))
                    })
                }
                None => self.scan_marked::<EXCLUSIVE>(range, mask, sum, before, |begins, sum, next| {
                    if begins { written(op.carry_of(op.lift(next))) } else { op.advance(sum, next) }
                }),
                Some(value) => self.scan_marked::<EXCLUSIVE>(range, mask, sum, before, |begins, sum, next| {
                    op.advance(if begins { value } else { sum }, next)
                }),
            }
        }
    }

    /// The plain loop.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and no other thread touches it.
    #[inline(always)]
    unsafe fn scan_marked<const EXCLUSIVE: bool>(
        &self,
        range: Range<usize>,
        mut mask: u64,
        mut sum: Op::Carry,
        before: Op::Carry,
        extend: impl Fn(bool, Op::Carry, Op::Input) -> (Op::Carry, Op::Output),
    ) -> Op::Carry {
        let at = self.loops.at_hand();
        for index in range {
            let begins = mask & 1 != 0;
            mask >>= 1;
            // SAFETY: the caller guarantees the range. Where the buffers are one, an element is read before it is
            // written.
            unsafe {
                let next = at.input(index);
                let (with_this, output) = extend(begins, sum, next);
                match (EXCLUSIVE, begins) {
                    (false, _) => at.put(index, output),
                    (true, false) => at.write(index, sum),
                    (true, true) => at.write(index, before),
                }
                sum = with_this;
            }
        }
        sum
    }
}

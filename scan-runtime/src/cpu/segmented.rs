//! Segmented scans on the CPU: the exclusive prefix of a chunk counts only up to the chunk's first head.
//!
//! Heads are read in groups of [`GROUP`] elements. A group without heads is scanned as if there were no segments. In
//! the others the loop tests the bit of each element or, if any grouping gives the same bits, the bits of each vector
//! register.

use std::{hint, ops::Range};

use super::{Fold, Job};
use crate::{
    ScanKind, ScanOp,
    heads::{Cursor, GROUP, Heads},
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

impl<Op: ScanOp> Job<'_, Op> {
    /// Folds a chunk. The exclusive prefix of the very first chunk is the initial value.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and no thread writes it.
    pub(super) unsafe fn fold_segments(&self, heads: &Heads<'_>, range: Range<usize>) -> Fold<Op::State> {
        // SAFETY: the caller guarantees the range.
        unsafe {
            let Some((head, end)) = last_head(heads, &range) else {
                return Fold { any_head: false, sum: self.loops.fold(range) };
            };
            let begun = self.begin(self.loops.at_hand().read(head));
            let sum = self.loops.fold_by_hand(head + 1..end, begun);
            Fold { any_head: true, sum: Some(self.loops.fold_on(end..range.end, sum)) }
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
        before: Option<Op::State>,
    ) -> Option<Op::State> {
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

    /// The inclusive prefix of a segment's first element.
    #[inline(always)]
    fn begin(&self, first: Op::State) -> Op::State {
        self.loops.extend(self.initial_value, first)
    }

    /// Scans the first element of a segment, and gives its inclusive prefix.
    ///
    /// # Safety
    ///
    /// The element is in bounds, and no other thread touches it.
    unsafe fn scan_head(&self, kind: ScanKind, head: usize) -> Op::State {
        let at = self.loops.at_hand();
        // SAFETY: the caller guarantees the element. Where the buffers are one, it is read before it is written.
        unsafe {
            let sum = self.begin(at.read(head));
            match (kind, self.initial_value.or(self.loops.identity)) {
                (ScanKind::Inclusive, _) => at.write(head, sum),
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
        sum: Op::State,
    ) -> Op::State {
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
    unsafe fn scan_where<const EXCLUSIVE: bool>(&self, range: Range<usize>, mask: u64, sum: Op::State) -> Op::State {
        // The exclusive prefix of a segment's first element. Without one, an exclusive scan has been refused.
        let before = self.initial_value.or(self.loops.identity).unwrap_or(sum);
        let op = self.loops.op;
        // SAFETY: the caller guarantees the range.
        unsafe {
            match self.initial_value {
                // Heads are unpredictable: computing both values is faster than a mispredicted branch.
                None if self.loops.is_cheap() => {
                    self.scan_marked::<EXCLUSIVE>(range, mask, sum, before, |begins, sum, next| {
                        hint::select_unpredictable(begins, next, op.combine(sum, next))
                    })
                }
                None => self.scan_marked::<EXCLUSIVE>(range, mask, sum, before, |begins, sum, next| {
                    if begins { next } else { op.combine(sum, next) }
                }),
                Some(value) => self.scan_marked::<EXCLUSIVE>(range, mask, sum, before, |begins, sum, next| {
                    op.combine(if begins { value } else { sum }, next)
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
        mut sum: Op::State,
        before: Op::State,
        extend: impl Fn(bool, Op::State, Op::State) -> Op::State,
    ) -> Op::State {
        let at = self.loops.at_hand();
        for index in range {
            let begins = mask & 1 != 0;
            mask >>= 1;
            // SAFETY: the caller guarantees the range. Where the buffers are one, an element is read before it is written.
            unsafe {
                let next = at.read(index);
                let with_this = extend(begins, sum, next);
                let covered = match (EXCLUSIVE, begins) {
                    (false, _) => with_this,
                    (true, false) => sum,
                    (true, true) => before,
                };
                at.write(index, covered);
                sum = with_this;
            }
        }
        sum
    }
}

//! Scans from the last element to the first, on the CPU: the loop that one writes by hand, over chunks counted from the end.
//!
//! What stands before an element in the scan lies behind it in memory, and is combined on its right. Where states have floats, a
//! chunk's own sum is made beside its results, so that what stands after it does not depend on the way it was done.

use std::ops::Range;

use super::{Fold, Job, memory::Memory};
use crate::{
    ScanKind, ScanOp,
    heads::{GROUP, Heads},
};

/// The elements of a range, counted from the end.
fn in_memory(range: &Range<usize>, len: usize) -> Range<usize> {
    len - range.end..len - range.start
}

/// The heads among the elements of a range, from the last to the first.
fn heads_from_the_end<'h>(heads: &'h Heads<'_>, range: Range<usize>, len: usize) -> impl Iterator<Item = usize> + 'h {
    let groups = range.start / GROUP..range.end.div_ceil(GROUP);
    groups.rev().flat_map(move |group| {
        let start = group * GROUP;
        let mut mask = heads.cursor(start).mask(start..len.min(start + GROUP));
        let range = range.clone();
        std::iter::from_fn(move || {
            let bit = mask.checked_ilog2()?;
            mask &= !(1 << bit);
            Some(start + bit as usize)
        })
        .filter(move |index| range.contains(index))
    })
}

impl<Op: ScanOp, M: Memory<Op>> Job<'_, Op, M> {
    /// What a chunk adds.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and nobody writes there.
    pub(super) unsafe fn fold_back(&self, range: Range<usize>) -> Fold<Op::State> {
        let range = in_memory(&range, self.len);
        let last_head = self.heads.and_then(|heads| heads_from_the_end(heads, range.clone(), self.len).last());
        let (rest, before) = match last_head {
            Some(head) => (range.start..head, self.initial_value),
            None => (range, None),
        };
        let at = self.loops.at_hand();
        // SAFETY: the caller vouches for the range.
        let sum = rest.rev().fold(before, |sum, index| Some(self.join_states(sum, unsafe { at.read(index) })));
        Fold { any_head: last_head.is_some(), sum }
    }

    /// Scans a chunk and gives what stands after it.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and no other thread touches it.
    pub(super) unsafe fn scan_back(
        &self,
        kind: ScanKind,
        range: Range<usize>,
        before: Option<Op::State>,
    ) -> Option<Op::State> {
        let alone = !self.loops.is_exact() && range.start > 0;
        let range = in_memory(&range, self.len);
        let (mut sum, mut end) = (before, range.end);
        // SAFETY: the caller vouches for the range, in which the parts are, one after the other.
        unsafe {
            if let Some(heads) = self.heads {
                for head in heads_from_the_end(heads, range.clone(), self.len) {
                    self.scan_part::<false>(kind, head..end, sum);
                    (sum, end) = (self.initial_value, head);
                }
            }
            let part = range.start..end;
            if !alone || end < range.end || part.is_empty() {
                return self.scan_part::<false>(kind, part, sum);
            }
            let own = self.scan_part::<true>(kind, part, sum)?;
            Some(self.join_states(sum, own))
        }
    }

    /// Scans elements of one segment. Gives what stands after them, or, if `ALONE`, their own sum.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and no other thread touches it.
    unsafe fn scan_part<const ALONE: bool>(
        &self,
        kind: ScanKind,
        range: Range<usize>,
        before: Option<Op::State>,
    ) -> Option<Op::State> {
        // SAFETY: the caller vouches for the range.
        unsafe {
            match kind {
                ScanKind::Inclusive => self.scan_part_as::<ALONE, false>(range, before),
                ScanKind::Exclusive => self.scan_part_as::<ALONE, true>(range, before),
            }
        }
    }

    /// # Safety
    ///
    /// As [`scan_part`](Job::scan_part).
    #[inline(never)]
    unsafe fn scan_part_as<const ALONE: bool, const EXCLUSIVE: bool>(
        &self,
        mut range: Range<usize>,
        before: Option<Op::State>,
    ) -> Option<Op::State> {
        let (op, at) = (self.loops.op, self.loops.at_hand());
        let Some(first) = range.next_back() else { return before };
        // SAFETY: the caller vouches for the range. Where the buffers are one, an element is read before it is written.
        unsafe {
            let next = at.read(first);
            // The first element comes by itself, so that there is no question in the loop.
            let mut sum = match before {
                Some(before) => op.combine(next, before),
                None => next,
            };
            let mut alone = next;
            if !EXCLUSIVE {
                at.write(first, sum);
            } else if let Some(before) = before.or(self.loops.identity) {
                at.write(first, before);
            }
            for index in range.rev() {
                let next = at.read(index);
                let with_this = op.combine(next, sum);
                at.write(index, if EXCLUSIVE { sum } else { with_this });
                sum = with_this;
                if ALONE {
                    alone = op.combine(next, alone);
                }
            }
            Some(if ALONE { alone } else { sum })
        }
    }
}

//! Scans that restart, on the CPU: what stands before a chunk reaches only up to the chunk's first head.
//!
//! Heads are asked for in groups of [`GROUP`] elements. Where groups have none, the elements are scanned as if there were no
//! segments. In the others each element asks its bit, or each register its bits, where any grouping gives the same.

use std::{hint, ops::Range};

use super::{
    loops::{Loops, UNROLLED},
    pipeline::Chunks,
};
use crate::{
    ScanOp,
    heads::{Cursor, GROUP, Heads},
};

/// A scan that restarts. What stands before the first chunk is the initial value.
pub(super) struct Segmented<'a, 'b, Op: ScanOp, const EXCLUSIVE: bool> {
    pub(super) loops: Loops<'a, 'b, Op, EXCLUSIVE>,
    pub(super) initial_value: Option<Op::State>,
    pub(super) heads: &'a Heads<'a>,
}

/// What a chunk adds to what stands before it.
#[derive(Clone, Copy)]
pub(super) struct Fold<S> {
    /// Whether a segment begins in it; then nothing from before it reaches beyond it.
    any_head: bool,
    /// The sum of what follows the last head, or else of everything.
    sum: Option<S>,
}

impl<Op: ScanOp, const EXCLUSIVE: bool> Chunks for Segmented<'_, '_, Op, EXCLUSIVE> {
    type Carry = Option<Op::State>;
    type Fold = Fold<Op::State>;

    fn at_once(&self, threads: usize) -> bool {
        self.loops.at_once(threads)
    }

    fn fold(&self, range: Range<usize>) -> Fold<Op::State> {
        let mut heads = self.heads.cursor(range.start);
        let mut last_head = None;
        for group in groups(&range) {
            if let Some(bit) = mask(&mut heads, &group).checked_ilog2() {
                last_head = Some((group.start + bit as usize, group.end));
            }
        }
        // SAFETY: the range is in bounds, and nobody writes there before it has been folded.
        unsafe {
            let Some((head, end)) = last_head else {
                return Fold { any_head: false, sum: self.loops.fold(range) };
            };
            let begun = self.begin(self.loops.at_hand().read(head));
            let sum = self.loops.fold_by_hand(head + 1..end, begun);
            Fold { any_head: true, sum: Some(self.loops.fold_on(end..range.end, sum)) }
        }
    }

    fn join(&self, before: Option<Op::State>, fold: Fold<Op::State>) -> Option<Op::State> {
        match fold {
            Fold { any_head: false, sum: Some(sum) } => Some(self.loops.extend(before, sum)),
            Fold { any_head: false, sum: None } => before,
            Fold { any_head: true, sum } => sum,
        }
    }

    fn step(&self, range: Range<usize>, before: Option<Op::State>) -> Option<Op::State> {
        let mut heads = self.heads.cursor(range.start);
        // The sum since the last head, and from where on elements wait to be scanned without one.
        let (mut sum, mut waiting) = (None, range.start);
        for group in groups(&range) {
            let mask = mask(&mut heads, &group);
            if mask == 0 {
                continue;
            }
            // SAFETY: the ranges are in bounds and this thread's own, and come one after the other.
            unsafe {
                sum = match sum {
                    Some(sum) => {
                        let sum = self.loops.step_on(waiting..group.start, sum);
                        Some(self.scan_group(group.clone(), group.start, mask, sum))
                    }
                    None => {
                        let head = group.start + mask.trailing_zeros() as usize;
                        self.loops.step(waiting..head, before);
                        Some(self.scan_from_head(group.clone(), head, mask))
                    }
                };
            }
            waiting = group.end;
        }
        // SAFETY: as above.
        unsafe {
            match sum {
                Some(sum) => Some(self.loops.step_on(waiting..range.end, sum)),
                None => self.loops.step(waiting..range.end, before),
            }
        }
    }

    fn finish(&self, range: Range<usize>, before: Option<Op::State>) {
        self.step(range, before);
    }
}

/// A range in groups; the last one may be shorter.
fn groups(range: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = range.end;
    range.clone().step_by(GROUP).map(move |start| start..end.min(start + GROUP))
}

/// The heads of a group, a bit each. The first element of all begins a segment whatever tells it, and needs no bit for that:
/// nothing but the initial value stands before it.
fn mask(heads: &mut Cursor<'_>, group: &Range<usize>) -> u64 {
    let mask = heads.mask(group.clone());
    if group.start == 0 { mask & !1 } else { mask }
}

impl<Op: ScanOp, const EXCLUSIVE: bool> Segmented<'_, '_, Op, EXCLUSIVE> {
    /// The sum of a segment's first element.
    #[inline(always)]
    fn begin(&self, first: Op::State) -> Op::State {
        self.loops.extend(self.initial_value, first)
    }

    /// Scans everything in one loop, as one writes it by hand where there is a flag for each element.
    ///
    /// # Safety
    ///
    /// There are as many elements as flags, and no other thread touches them.
    #[inline]
    pub(super) unsafe fn scan_by_flags(&self, flags: &[u8]) {
        if flags.is_empty() {
            return;
        }
        // SAFETY: the caller vouches for the elements.
        unsafe {
            let sum = self.scan_head(0);
            let is_head = |index: usize| flags[index] != 0;
            // See `Loops::scan_by_hand`.
            let first = flags.len().min(UNROLLED);
            let sum = self.scan_where(1..first, is_head, sum);
            self.scan_where(first..flags.len(), is_head, sum);
        }
    }

    /// Scans a group from its first head on.
    ///
    /// # Safety
    ///
    /// The group is in bounds, and no other thread touches it.
    unsafe fn scan_from_head(&self, group: Range<usize>, head: usize, mask: u64) -> Op::State {
        // SAFETY: the caller vouches for the group.
        unsafe {
            let sum = self.scan_head(head);
            self.scan_group(group, head + 1, mask, sum)
        }
    }

    /// Scans the first element of a segment, and gives its sum.
    ///
    /// # Safety
    ///
    /// The element is in bounds, and no other thread touches it.
    #[inline(always)]
    unsafe fn scan_head(&self, head: usize) -> Op::State {
        let at = self.loops.at_hand();
        // SAFETY: the caller vouches for the element. Where the buffers are one, it is read before it is written.
        unsafe {
            let sum = self.begin(at.read(head));
            if !EXCLUSIVE {
                at.write(head, sum);
            } else if let Some(before) = self.initial_value.or(self.loops.identity) {
                at.write(head, before);
            }
            sum
        }
    }

    /// Scans a group from an element on, before which stands `sum`.
    ///
    /// # Safety
    ///
    /// The group is in bounds, and no other thread touches it.
    #[inline]
    unsafe fn scan_group(&self, group: Range<usize>, from: usize, mask: u64, sum: Op::State) -> Op::State {
        let mut mask = mask.checked_shr((from - group.start) as u32).unwrap_or(0);
        let range = from..group.end;
        // SAFETY: the caller vouches for the group.
        if let Some(sum) = unsafe { self.loops.restart(&range, mask, sum, self.initial_value) } {
            return sum;
        }
        let begins = |_| {
            let begins = mask & 1 != 0;
            mask >>= 1;
            begins
        };
        // SAFETY: the caller vouches for the group.
        unsafe { self.scan_where(range, begins, sum) }
    }

    /// Scans a range, before which stands `sum`, and restarts where an element is said to begin a segment.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and no other thread touches it.
    #[inline(always)]
    unsafe fn scan_where(&self, range: Range<usize>, begins: impl FnMut(usize) -> bool, sum: Op::State) -> Op::State {
        // What stands before a segment's first element; where nothing does, an exclusive scan has been refused.
        let before = self.initial_value.or(self.loops.identity).unwrap_or(sum);
        let op = self.loops.op;
        // SAFETY: the caller vouches for the range.
        unsafe {
            match self.initial_value {
                // Heads come as they come: better to compute both than to guess wrong.
                None if self.loops.is_cheap() => self.scan_marked(range, begins, sum, before, |begins, sum, next| {
                    hint::select_unpredictable(begins, next, op.combine(sum, next))
                }),
                None => self.scan_marked(
                    range,
                    begins,
                    sum,
                    before,
                    |begins, sum, next| {
                        if begins { next } else { op.combine(sum, next) }
                    },
                ),
                Some(value) => self.scan_marked(range, begins, sum, before, |begins, sum, next| {
                    op.combine(if begins { value } else { sum }, next)
                }),
            }
        }
    }

    /// The loop that one writes by hand.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and no other thread touches it.
    #[inline(always)]
    unsafe fn scan_marked(
        &self,
        range: Range<usize>,
        mut begins: impl FnMut(usize) -> bool,
        mut sum: Op::State,
        before: Op::State,
        extend: impl Fn(bool, Op::State, Op::State) -> Op::State,
    ) -> Op::State {
        let at = self.loops.at_hand();
        for index in range {
            let begins = begins(index);
            // SAFETY: the caller vouches for the range. Where the buffers are one, an element is read before it is written.
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

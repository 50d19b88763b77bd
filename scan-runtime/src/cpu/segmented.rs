//! Segmented scans on the CPU, from either end: the exclusive prefix of a chunk counts only up to the chunk's first
//! head.
//!
//! Heads are read in groups of [`GROUP`] elements. A group without heads is scanned as if there were no segments. In
//! the others the loop tests the bit of each element or, if any order gives the same bits, the bits of each vector
//! register.

use std::ops::Range;

use super::{
    Job, Known, Order, begin, caught,
    loops::{Loops, loops_by_hand, of},
    memory::Memory,
};
use crate::{
    Error, ScanKind, ScanOp,
    heads::{Cursor, GROUP, HeadKind, Heads},
};

/// The last head of a range, and the end of its group. The very first element is always a head, and needs no bit for
/// that: only the initial value comes before it.
fn last_head(heads: &Heads<'_>, range: &Range<usize>) -> Option<(usize, usize)> {
    let (mut heads, mut rest, mut last) = (heads.cursor(range.start), range.clone(), None);
    while let Some((group, mask)) = heads.next_restarts(Order::Forward, &rest) {
        last = mask.checked_ilog2().map(|bit| (group.start + bit as usize, group.end));
        rest.start = group.end;
    }
    last
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
        // SAFETY: as above.
        unsafe { self.loops.scan_segments(kind, self.order, heads, range, before, self.initial_value) }
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
}

impl<Op: ScanOp, M: Memory<Op>> Loops<'_, Op, M> {
    /// Scans all elements, where they are one chunk. `mask` has the [`restarts`](Heads::restarts) if they are one
    /// group.
    ///
    /// # Safety
    ///
    /// As [`scan_segments`](Loops::scan_segments).
    #[inline(never)]
    pub(super) unsafe fn scan_short_segments(
        &self,
        kind: ScanKind,
        order: Order,
        heads: &Heads<'_>,
        mask: u64,
        len: usize,
        before: Option<&Op::Carry>,
    ) -> Result<Option<Op::Carry>, Error> {
        caught(self.op, move || {
            let before = begin(self.op, before.copied());
            // Nothing needs a carry before the first element, if the scan begins there.
            let first = if order == Order::Forward { 1 } else { (1 << (GROUP - 1)) >> GROUP.saturating_sub(len) };
            let carry = if len > GROUP { None } else { self.any_order().or(self.start.filter(|_| self.is_by_hand())) };
            // SAFETY: the caller vouches for the elements.
            unsafe {
                match carry {
                    Some(carry) => Some(self.scan_group(kind, order, 0..len, mask | first, carry, before)),
                    None => self.scan_segments(kind, order, heads, 0..len, before, before),
                }
            }
        })
    }

    /// Scans a range from the carry `before`, and each segment that begins there from `initial_value`. Gives the carry
    /// after the range.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and no other thread touches it.
    #[inline(never)]
    pub(super) unsafe fn scan_segments(
        &self,
        kind: ScanKind,
        order: Order,
        heads: &Heads<'_>,
        range: Range<usize>,
        before: Option<Op::Carry>,
        initial_value: Option<Op::Carry>,
    ) -> Option<Op::Carry> {
        let mut heads = heads.cursor(if order == Order::Forward { range.start } else { range.end });
        // Elements before the first head may go by registers or blocks of its own, unless the grouping is that of the
        // plain loop, or does not matter.
        let begun = match self.any_order() {
            Some(identity) => Some(before.unwrap_or(identity)),
            None if self.is_by_hand() || order == Order::Reversed => before,
            None => None,
        };
        let mut rest = range.clone();
        // SAFETY: the ranges are in bounds and this thread's own, and come one after the other.
        unsafe {
            let mut carry = match begun {
                Some(carry) => carry,
                None => self.scan_to_head(kind, order, &mut heads, &mut rest, before, initial_value)?,
            };
            while let Some((group, mask)) = heads.next_restarts(order, &rest) {
                let (stretch, left) = match order {
                    Order::Forward => (rest.start..group.start, group.end..rest.end),
                    Order::Reversed => (group.end..rest.end, rest.start..group.start),
                };
                carry = self.scan_stretch(kind, order, stretch, carry);
                carry = self.scan_group(kind, order, group, mask, carry, initial_value);
                rest = left;
            }
            carry = self.scan_stretch(kind, order, rest, carry);
            // The elements after the range, in the order of the scan, lie before this head.
            let is_head =
                order == Order::Reversed && range.start > 0 && heads.mask_back(range.start..range.start + 1) != 0;
            if is_head { initial_value } else { Some(carry) }
        }
    }

    /// Scans the elements of the range before its first head, and those with it in a group, and leaves the `rest` of
    /// the range. Without a head that is nothing. Gives the carry.
    ///
    /// # Safety
    ///
    /// As [`scan_segments`](Loops::scan_segments).
    #[inline(never)]
    unsafe fn scan_to_head(
        &self,
        kind: ScanKind,
        order: Order,
        heads: &mut Cursor<'_>,
        rest: &mut Range<usize>,
        before: Option<Op::Carry>,
        initial_value: Option<Op::Carry>,
    ) -> Option<Op::Carry> {
        let range = rest.clone();
        let Some((group, mask)) = heads.next_restarts(order, &range) else {
            *rest = 0..0;
            // SAFETY: the caller vouches for the range.
            return unsafe { self.scan_before(kind, order, range, before) };
        };
        let bit = if order == Order::Forward { mask.trailing_zeros() } else { mask.checked_ilog2().unwrap_or(0) };
        let first = group.start + bit as usize;
        let (stretch, others, mask) = match order {
            Order::Forward => (range.start..first, first + 1..group.end, mask.checked_shr(bit + 1).unwrap_or(0)),
            Order::Reversed => (first + 1..range.end, group.start..first, mask & !(1 << bit)),
        };
        *rest = if order == Order::Forward { group.end..range.end } else { range.start..group.start };
        // SAFETY: the caller vouches for the range, in which these are, one after the other.
        unsafe {
            self.scan_before(kind, order, stretch, before);
            let begun = self.scan_by_hand(kind, order, first..first + 1, initial_value)?;
            Some(self.scan_group(kind, order, others, mask, begun, initial_value))
        }
    }

    /// Scans elements of the range before its first head.
    ///
    /// # Safety
    ///
    /// As [`scan_segments`](Loops::scan_segments).
    unsafe fn scan_before(
        &self,
        kind: ScanKind,
        order: Order,
        range: Range<usize>,
        before: Option<Op::Carry>,
    ) -> Option<Op::Carry> {
        // SAFETY: the caller vouches for the range.
        unsafe {
            match order {
                Order::Forward => self.step(kind, range, before),
                Order::Reversed => self.scan_by_hand(kind, order, range, before),
            }
        }
    }

    /// Scans elements without a head, after one.
    ///
    /// # Safety
    ///
    /// As [`scan_segments`](Loops::scan_segments).
    unsafe fn scan_stretch(&self, kind: ScanKind, order: Order, range: Range<usize>, carry: Op::Carry) -> Op::Carry {
        // SAFETY: the caller vouches for the range.
        unsafe {
            match order {
                _ if range.is_empty() => carry,
                Order::Forward => self.step_on(kind, range, carry),
                Order::Reversed => self.scan_by_hand(kind, order, range, Some(carry)).unwrap_or(carry),
            }
        }
    }

    /// Scans up to 64 elements from the carry `before`. At element `i` the scan begins anew if bit `i` of the mask is
    /// set.
    ///
    /// # Safety
    ///
    /// As [`scan_segments`](Loops::scan_segments).
    unsafe fn scan_group(
        &self,
        kind: ScanKind,
        order: Order,
        range: Range<usize>,
        mask: u64,
        before: Op::Carry,
        initial_value: Option<Op::Carry>,
    ) -> Op::Carry {
        let Loops { op, memory, start, .. } = *self;
        // SAFETY: the caller vouches for the range.
        unsafe {
            if let Some(after) = self.restart(kind, order, &range, mask, before, initial_value) {
                return after;
            }
            // Where nothing is before a segment, an exclusive scan has been refused.
            let begin = initial_value.or(start).unwrap_or(before);
            let restart = initial_value.or_else(|| self.neutral());
            let masked: MaskedByHand<Op, M> = of(kind, order, const { &loops_by_hand!(masked_by_hand::<Op, M>) });
            masked(op, memory, range, mask, before, begin, restart.as_ref())
        }
    }
}

/// A loop over up to 64 elements: the parameters of [`masked_by_hand`]. Rust 1.88 finds no common type of the
/// loops unless it is written.
type MaskedByHand<Op, M> = unsafe fn(
    &Op,
    M,
    Range<usize>,
    u64,
    <Op as ScanOp>::Carry,
    <Op as ScanOp>::Carry,
    Option<&<Op as ScanOp>::Carry>,
) -> <Op as ScanOp>::Carry;

/// Scans up to 64 elements one by one. See [`scan_group`](Loops::scan_group); `begin` is the exclusive result at a
/// head, `restart` the carry before it, if there is one.
///
/// # Safety
///
/// The range is in bounds, and no other thread touches it.
unsafe fn masked_by_hand<Op: ScanOp, M: Memory<Op>, const EXCLUSIVE: bool, const REVERSED: bool>(
    op: &Op,
    memory: M,
    range: Range<usize>,
    mask: u64,
    before: Op::Carry,
    begin: Op::Carry,
    restart: Option<&Op::Carry>,
) -> Op::Carry {
    let advance = |carry, next| if REVERSED { op.advance_back(carry, next) } else { op.advance(carry, next) };
    // SAFETY: the caller vouches for the range.
    unsafe {
        match restart.copied() {
            // Heads are unpredictable: to choose the carry is faster than a mispredicted branch.
            Some(restart) => {
                masked::<Op, M, EXCLUSIVE, REVERSED>(op, memory, range, mask, before, begin, |begins, carry, next| {
                    advance(if begins { restart } else { carry }, next)
                })
            }
            None => {
                masked::<Op, M, EXCLUSIVE, REVERSED>(op, memory, range, mask, before, begin, |begins, carry, next| {
                    if begins {
                        let carry = op.carry_of(op.lift(next));
                        (carry, op.project(carry))
                    } else {
                        advance(carry, next)
                    }
                })
            }
        }
    }
}

/// The plain loop, which asks at each element whether the scan begins anew there, after `begin`.
///
/// # Safety
///
/// The range is in bounds, and no other thread touches it.
#[inline(always)]
unsafe fn masked<Op: ScanOp, M: Memory<Op>, const EXCLUSIVE: bool, const REVERSED: bool>(
    op: &Op,
    memory: M,
    range: Range<usize>,
    mask: u64,
    mut carry: Op::Carry,
    begin: Op::Carry,
    extend: impl Fn(bool, Op::Carry, Op::Input) -> (Op::Carry, Op::Output),
) -> Op::Carry {
    let mut heads = HeadMask::new(range, mask, REVERSED);
    while let Some((index, begins)) = heads.next(REVERSED) {
        // SAFETY: the caller vouches for the range. Where the buffers are one, an element is read before it is written.
        unsafe {
            let (after, output) = extend(begins, carry, memory.read(index));
            let output = match EXCLUSIVE {
                false => output,
                true => op.project(if begins { begin } else { carry }),
            };
            memory.write(index, output);
            carry = after;
        }
    }
    carry
}

/// The elements of a range, and whether the scan begins anew at each. Not generic, so that it is compiled once and not
/// for every operator.
struct HeadMask {
    rest: Range<usize>,
    /// The bit of the next element is the lowest one, or from the last to the first the highest.
    mask: u64,
}

impl HeadMask {
    #[inline]
    fn new(rest: Range<usize>, mask: u64, reversed: bool) -> Self {
        let unused = u64::BITS - rest.len() as u32;
        HeadMask { mask: if reversed { mask.checked_shl(unused).unwrap_or(0) } else { mask }, rest }
    }

    #[inline]
    fn next(&mut self, reversed: bool) -> Option<(usize, bool)> {
        if reversed {
            let begins = self.mask >> (u64::BITS - 1) != 0;
            self.mask <<= 1;
            self.rest.next_back().map(|index| (index, begins))
        } else {
            let begins = self.mask & 1 != 0;
            self.mask >>= 1;
            self.rest.next().map(|index| (index, begins))
        }
    }
}

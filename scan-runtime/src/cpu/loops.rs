//! The loops over a range: what one thread does.
//!
//! | | the only chunk | the first of several | others |
//! |---|---|---|---|
//! | ready operators with vector instructions | by registers, see [`lanes`](super::lanes) | the same | the same |
//! | states without floats, or which are never rounded | `(before ∘ x) ∘ …`, as one writes it by hand | the same | the same |
//! | rounded states, small | as one writes it by hand | by blocks: `before ∘ (x ∘ …)` | the same |
//! | rounded states, large; stepped operators | as one writes it by hand | the same | so, and the chunk is folded as well |
//!
//! What stands before an element is a carry: the state, but of a stepped operator. What stands after a chunk is `before
//! ∘ chunk`, the chunk folded by blocks (of a stepped operator, by longer ones), however the chunk was done: so the
//! grouping of floats depends on nothing but the position. Where the caller allows any grouping, rounded states go by
//! hand as well, small ones if that takes less time ([`grouping`](super::grouping)).

use std::ops::Range;

use scan_codegen::ElementType;

use super::{
    Order, caught,
    lanes::{Places, Restarts, Sums, Vectorized},
    memory::Memory,
    reversed::backward,
};
use crate::{
    Error, ScanElement, ScanKind, ScanOp,
    heads::{GROUP, HeadKind, Heads},
};

/// The larger of the bytes that a chunk reads and writes: what stays in the cache between folding and scanning. Miri, which takes
/// a thousand times as long, sees several chunks in short inputs.
pub(super) const CHUNK_BYTES: usize = if cfg!(miri) { 1 << 9 } else { 1 << 16 };

/// Elements of a block. The blocks of a chunk do not wait for each other's sums, so that the processor has several under way.
const BLOCK: usize = 16;

/// The same where any grouping gives the same bits. After its first element whole vector registers are left, with which
/// the compiler adds what can be added in any order.
const EXACT_BLOCK: usize = 17;

/// The same of stepped operators whose states are rounded. Joining their blocks costs more than waiting for one after
/// the other, but a state is often a product of decays: of a block it is a normal float, where that of a chunk is none,
/// with which arithmetic takes a hundred times as long.
const STEPPED_BLOCK: usize = 64;

/// States up to this many bytes are scanned by blocks, which takes two applications an element. The chain of sums that it
/// breaks up costs more, where a state stays in registers.
const SMALL_BYTES: usize = 16;

/// Below so many elements, setting up registers costs more than the plain loop; registers hold fewer of eight bytes. What is no
/// primitive never goes by registers.
pub(super) const fn min_vector<Op: ScanOp>() -> usize {
    let size = size_of::<Op::State>();
    match size {
        ..8 if size == align_of::<Op::State>() => 32,
        8 if size == align_of::<Op::State>() => 64,
        _ => chunk_length::<Op>() + 1,
    }
}

/// Elements of a chunk: always the same for an operator, so that the result does not depend on the number of threads.
pub(super) const fn chunk_length<Op: ScanOp>() -> usize {
    const fn max(a: usize, b: usize) -> usize {
        if a > b { a } else { b }
    }
    let bytes = max(max(size_of::<Op::Input>(), size_of::<Op::Output>()), max(size_of::<Op::State>(), 1));
    // Whole blocks and whole words of head bits.
    max(CHUNK_BYTES / bytes, 64).next_multiple_of(64)
}

/// A loop for each kind of scan and each order.
macro_rules! loops_by_hand {
    ($name:ident::<$op:ty, $memory:ty>) => {
        [
            [$name::<$op, $memory, false, false>, $name::<$op, $memory, false, true>],
            [$name::<$op, $memory, true, false>, $name::<$op, $memory, true, true>],
        ]
    };
}
pub(super) use loops_by_hand;

/// What ranges are scanned with: an operator, where its inputs and outputs are, and how it goes about them.
pub(super) struct Loops<'a, Op: ScanOp, M> {
    pub(super) op: &'a Op,
    pub(super) memory: M,
    /// What stands before the first element, where an exclusive scan has no initial value.
    pub(super) start: Option<Op::Carry>,
    /// Whether the carry is no state.
    stepped: bool,
    /// Whether any grouping gives the same bits.
    exact: bool,
    /// Whether chunks go by hand though another grouping gives other bits.
    goes_by_hand: bool,
    /// The loops over vector registers, the [neutral value](Vectorized::neutral), and all elements.
    vectorized: Option<(Vectorized<Op>, Op::State, Places<Op>)>,
}

impl<'a, Op: ScanOp, M: Memory<Op>> Loops<'a, Op, M> {
    /// Those for `len` elements, over vector registers if `registers` are of use: from the last element to the first
    /// only for segments.
    #[inline(always)]
    pub(super) fn new(op: &'a Op, memory: M, len: usize, registers: bool) -> Self {
        let start = op.start();
        let identity = start.and_then(|start| op.state_of(start));
        let vectorized = match memory.places(len) {
            Some(places) if registers && len >= min_vector::<Op>() => {
                op.vectorized().zip(identity).map(|(loops, identity)| (loops, loops.neutral(identity), places))
            }
            _ => None,
        };
        // Of a single chunk nothing else is asked. To look would allocate.
        let exact = len <= chunk_length::<Op>() || !op.rounds() || !any_floats(&[Op::State::layout, Op::Carry::layout]);
        Loops { op, memory, start, stepped: op.is_stepped(), exact, goes_by_hand: false, vectorized }
    }

    /// Whether there is something to put before the first element, where a scan of this kind writes it. What is asked here is the
    /// start that the loops use: no answer that the operator may have given before counts.
    #[inline]
    pub(super) fn can_begin(&self, kind: ScanKind, initial_value: bool) -> bool {
        kind == ScanKind::Inclusive || initial_value || self.start.is_some()
    }

    /// See [`Chunks::at_once`](super::pipeline::Chunks::at_once).
    pub(super) fn at_once(&self, threads: usize) -> bool {
        // A fold by registers takes a small part of the time of its scan, and the more threads there are, the more of them
        // wait for a scan.
        threads <= 4 || self.vectorized.is_none()
    }

    /// The loops over vector registers, where there are some and the range is worth it.
    #[inline(always)]
    fn vectorized_for(&self, range: &Range<usize>) -> Option<(&Vectorized<Op>, Op::State, Places<Op>)> {
        match &self.vectorized {
            Some((vectorized, neutral, all)) if range.len() >= min_vector::<Op>() => {
                Some((vectorized, *neutral, all.part(range)))
            }
            _ => None,
        }
    }

    /// Whether a fold after something goes step by step: nothing is cheaper, and any grouping gives the same bits.
    pub(super) fn folds_by_steps(&self) -> bool {
        self.stepped && self.exact
    }

    /// Whether any grouping gives the same bits.
    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    /// The neutral value of an operator that has loops over vector registers: it is total, and costs next to nothing.
    #[inline(always)]
    pub(super) fn neutral(&self) -> Option<Op::Carry> {
        self.vectorized.as_ref().map(|(_, neutral, _)| self.op.carry_of(*neutral))
    }

    /// The identity, where registers scan segments: any order gives the same bits, so that it is the neutral value.
    #[inline]
    pub(super) fn any_order(&self) -> Option<Op::Carry> {
        let (vectorized, identity, _) = self.vectorized.as_ref()?;
        vectorized.restarts().then(|| self.op.carry_of(*identity))
    }

    /// Whether each range is scanned by the loop that one writes by hand, or with the same bits.
    pub(super) fn is_by_hand(&self) -> bool {
        (self.exact || self.goes_by_hand) && self.vectorized.is_none()
    }

    /// Scans a range of up to 64 elements by registers, from the carry `before`. At element `i` the scan begins anew
    /// after `begin` if bit `i` of `heads` is set. Gives the carry after the range; `None` where it is not to be done
    /// so, and nothing is done.
    ///
    /// # Safety
    ///
    /// As [`step`](Loops::step).
    #[inline]
    pub(super) unsafe fn restart(
        &self,
        kind: ScanKind,
        order: Order,
        range: &Range<usize>,
        heads: u64,
        before: Op::Carry,
        begin: Option<Op::Carry>,
    ) -> Option<Op::Carry> {
        // Any order gives the same bits, so that the neutral value is the identity.
        let (vectorized, identity, all) = self.vectorized.as_ref()?;
        let begin = begin.and_then(|begin| self.op.state_of(begin)).unwrap_or(*identity);
        let restarts = Restarts { before: self.op.state_of(before)?, begin, identity: *identity };
        // SAFETY: the caller vouches for the range.
        let after = unsafe { vectorized.restart((kind, order), self.op, all.part(range), heads, &restarts) };
        after.map(|after| self.op.carry_of(after))
    }

    /// Folds a range that does not begin at 0; `None` of nothing.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and nobody writes there.
    pub(super) unsafe fn fold(&self, range: Range<usize>) -> Option<Op::State> {
        if range.is_empty() {
            return None;
        }
        if let Some((vectorized, neutral, places)) = self.vectorized_for(&range) {
            let nothing = Sums { with_before: neutral, alone: neutral };
            // SAFETY: the caller vouches for the range.
            return Some(unsafe { vectorized.fold(self.op, places, &nothing) });
        }
        if self.stepped && self.exact && self.op.folds_backwards() {
            let at = self.at_hand();
            let mut indices = range.rev();
            let last = indices.next()?;
            // SAFETY: the caller vouches for the range.
            let last = unsafe { at.read(last) };
            // SAFETY: as above.
            let input = |index| unsafe { at.input(index) };
            return Some(indices.fold(last, |sum, index| self.op.prepend(input(index), sum)));
        }
        let block_length = match (self.stepped, self.exact) {
            // Joining the blocks of a stepped operator costs more than waiting for one after the other.
            (true, true) => range.len(),
            (true, false) => STEPPED_BLOCK,
            // So does joining those of large states, such as tables, which the processor adds to in any order.
            (false, true) if size_of::<Op::State>() > SMALL_BYTES => range.len(),
            (false, true) => EXACT_BLOCK,
            (false, false) => BLOCK,
        };
        let mut sum = None;
        for start in range.clone().step_by(block_length) {
            // SAFETY: the caller vouches for the range, in which the block is.
            let block = unsafe {
                let first = self.at_hand().read(start);
                self.append_by_hand(start + 1..range.end.min(start + block_length), first)
            };
            sum = Some(extend(self.op, sum, block));
        }
        sum
    }

    /// Folds a range that begins at 0 into what stands before it: the same, bit for bit, as [`step`](Loops::step).
    ///
    /// # Safety
    ///
    /// As [`fold`](Loops::fold).
    #[inline]
    pub(super) unsafe fn fold_first(&self, mut range: Range<usize>, before: Option<Op::Carry>) -> Option<Op::Carry> {
        // SAFETY: the caller vouches for the range.
        unsafe {
            if let Some((vectorized, neutral, places)) = self.vectorized_for(&range) {
                let before = Sums { with_before: self.state_of(before).unwrap_or(neutral), alone: neutral };
                return Some(self.op.carry_of(vectorized.fold(self.op, places, &before)));
            }
            let by_blocks = self.begins_by_blocks(&range);
            let Some(first) = range.next() else { return before };
            if by_blocks {
                let begun = self.begin(before, self.at_hand().input(first));
                return self.fold(range).map(|sum| self.op.apply(sum, begun));
            }
            Some(self.fold_by_hand(range, self.begin(before, self.at_hand().input(first))))
        }
    }

    /// Folds a range into what stands before it, element by element.
    ///
    /// # Safety
    ///
    /// As [`fold`](Loops::fold).
    #[inline(always)]
    pub(super) unsafe fn fold_by_hand(&self, range: Range<usize>, before: Op::Carry) -> Op::Carry {
        let (at, mut carry) = (self.at_hand(), before);
        // Not `Iterator::fold`, which copies the carry at each element if it stays in memory, as a table does.
        for index in range {
            // SAFETY: the caller vouches for the range.
            carry = self.op.step(carry, unsafe { at.input(index) });
        }
        carry
    }

    /// Appends a range to a partial result, element by element.
    ///
    /// # Safety
    ///
    /// As [`fold`](Loops::fold).
    #[inline(always)]
    unsafe fn append_by_hand(&self, range: Range<usize>, before: Op::State) -> Op::State {
        let (at, mut sum) = (self.at_hand(), before);
        // A loop, as in `fold_by_hand`.
        for index in range {
            // SAFETY: the caller vouches for the range.
            sum = self.op.append(sum, unsafe { at.input(index) });
        }
        sum
    }

    /// Folds a range into what stands before it in the same chunk: the same, bit for bit, as [`step_on`](Loops::step_on).
    ///
    /// # Safety
    ///
    /// As [`fold`](Loops::fold).
    pub(super) unsafe fn fold_on(&self, range: Range<usize>, before: Op::Carry) -> Op::Carry {
        // SAFETY: the caller vouches for the range.
        unsafe {
            match self.vectorized {
                Some(_) => self.fold(range).map_or(before, |sum| self.op.apply(sum, before)),
                None => self.fold_by_hand(range, before),
            }
        }
    }

    /// Scans a range that does not begin at 0, with what stands before it in the same chunk, and gives what stands after it.
    ///
    /// # Safety
    ///
    /// As [`step`](Loops::step).
    pub(super) unsafe fn step_on(&self, kind: ScanKind, range: Range<usize>, before: Op::Carry) -> Op::Carry {
        // SAFETY: the caller vouches for the range.
        let after = unsafe {
            match self.vectorized {
                Some(_) => self.step(kind, range, Some(before)),
                None => self.scan_by_hand(kind, Order::Forward, range, Some(before)),
            }
        };
        after.unwrap_or(before)
    }

    /// Scans a range and gives what stands after it.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and no other thread touches it.
    pub(super) unsafe fn step(
        &self,
        kind: ScanKind,
        range: Range<usize>,
        before: Option<Op::Carry>,
    ) -> Option<Op::Carry> {
        // SAFETY: the caller vouches for the range, here and below.
        unsafe {
            match before {
                Some(before) if range.start != 0 => {
                    let small = const { size_of::<Op::State>() <= SMALL_BYTES };
                    let alone = match (self.vectorized_for(&range), self.op.state_of(before)) {
                        (Some((vectorized, neutral, places)), Some(with_before)) => {
                            let from = Sums { with_before, alone: neutral };
                            let sums = vectorized.scan(kind, self.op, places, &from);
                            if vectorized.any_grouping() {
                                return Some(self.op.carry_of(sums.with_before));
                            }
                            Some(sums.alone)
                        }
                        _ if self.exact || self.goes_by_hand => {
                            return self.scan_by_hand(kind, Order::Forward, range, Some(before));
                        }
                        (_, Some(before)) if small => match kind {
                            ScanKind::Inclusive => self.scan_by_blocks::<false>(range, before),
                            ScanKind::Exclusive => self.scan_by_blocks::<true>(range, before),
                        },
                        _ => match kind {
                            ScanKind::Inclusive => self.scan_with_sum::<false>(range, before),
                            ScanKind::Exclusive => self.scan_with_sum::<true>(range, before),
                        },
                    };
                    Some(alone.map_or(before, |alone| self.op.apply(alone, before)))
                }
                _ if self.begins_by_blocks(&range) => {
                    let first = self.scan_by_hand(kind, Order::Forward, 0..1, before);
                    self.step(kind, 1..range.end, first)
                }
                _ => self.scan_first(kind, range, before),
            }
        }
    }

    /// Whether the first chunk goes by blocks like the others. A small state is often a product that soon has no
    /// normal float, and arithmetic with others takes a hundred times as long: a block's own product stays normal.
    fn begins_by_blocks(&self, range: &Range<usize>) -> bool {
        range.start == 0 && range.len() > 1 && self.goes_by_blocks()
    }

    /// The same, but chunks are scanned by the plain loop alone.
    pub(super) fn by_hand(&self) -> Self {
        Loops { goes_by_hand: true, ..*self }
    }

    /// Whether the plain loop folds the chunk as well. That takes longer, except where results are not written.
    pub(super) fn takes_longer_with_sums(&self) -> bool {
        !self.has_small_states() && self.needs_sums()
    }

    /// Whether chunks are folded as well, so that the grouping does not depend on the number of threads.
    pub(super) fn needs_sums(&self) -> bool {
        !self.exact && !self.goes_by_hand && self.vectorized.is_none()
    }

    /// Whether chunks are scanned by blocks.
    fn goes_by_blocks(&self) -> bool {
        self.has_small_states() && self.needs_sums()
    }

    /// Whether the carry is a state so small that blocks may be worth while.
    fn has_small_states(&self) -> bool {
        size_of::<Op::State>() <= SMALL_BYTES && !self.stepped
    }

    /// As [`step`](Loops::step), of a range that begins at 0 or before which stands nothing.
    ///
    /// # Safety
    ///
    /// As [`step`](Loops::step).
    #[inline]
    pub(super) unsafe fn scan_first(
        &self,
        kind: ScanKind,
        range: Range<usize>,
        before: Option<Op::Carry>,
    ) -> Option<Op::Carry> {
        // SAFETY: the caller vouches for the range.
        unsafe {
            match self.vectorized_for(&range) {
                Some((vectorized, neutral, places)) => {
                    let (row, before) = (places.len, self.state_of(before));
                    let after = rows_by_registers(self.op, *vectorized, kind, places, row, before, neutral, self.start);
                    Some(self.op.carry_of(after))
                }
                None => self.scan_by_hand(kind, Order::Forward, range, before),
            }
        }
    }

    /// Scans a range that does not begin at 0; writes the same as [`step`](Loops::step).
    ///
    /// # Safety
    ///
    /// As [`step`](Loops::step).
    pub(super) unsafe fn finish(&self, kind: ScanKind, range: Range<usize>, before: Option<Op::Carry>) {
        // SAFETY: the caller vouches for the range.
        unsafe {
            if self.has_small_states() || self.exact || self.goes_by_hand || self.vectorized.is_some() {
                self.step(kind, range, before);
            } else {
                self.scan_rows(kind, Order::Forward, range.len(), range, before.as_ref(), false);
            }
        }
    }

    /// Scans neighbouring rows, each from the carry `before`. Gives the carry after the last one in the order of the
    /// scan, if `total` asks for it.
    ///
    /// # Safety
    ///
    /// As [`step`](Loops::step), of each row.
    pub(super) unsafe fn scan_rows(
        &self,
        kind: ScanKind,
        order: Order,
        row: usize,
        range: Range<usize>,
        before: Option<&Op::Carry>,
        total: bool,
    ) -> Option<Op::Carry> {
        // SAFETY: the caller vouches for the range, in which the rows are.
        unsafe {
            match self.vectorized {
                Some((vectorized, neutral, all)) if order == Order::Forward && row >= min_vector::<Op>() => {
                    let before = before.and_then(|before| self.op.state_of(*before));
                    let rows = all.part(&range);
                    let after = rows_by_registers(self.op, vectorized, kind, rows, row, before, neutral, self.start);
                    Some(self.op.carry_of(after))
                }
                _ if total => self.scan_rows_with_total(kind, order, row, range, before),
                _ => {
                    let by_hand = Self::rows_by_hand(kind, order);
                    by_hand(self.op, self.memory, row, range, before, self.start.as_ref());
                    None
                }
            }
        }
    }

    /// The same of all elements, where they are one chunk; or of one row, or of the segments of other heads.
    /// Inlined into the caller's code, since the rest of a call takes longer than many a short scan.
    ///
    /// What is caught captures little, so that the compiler keeps it in registers. Through memory, where it would be
    /// read in other pieces than it was written in, a call would wait until all results of the call before it are
    /// stored.
    ///
    /// # Safety
    ///
    /// As [`scan_rows`](Loops::scan_rows).
    #[inline(always)]
    pub(super) unsafe fn scan_short(
        &self,
        kind: ScanKind,
        order: Order,
        heads: Option<&Heads<'_>>,
        len: usize,
        before: Option<&Op::Carry>,
        total: bool,
    ) -> Result<Option<Op::Carry>, Error> {
        // Of copies references may be made: were `self` in memory for them, all ways would read it from there.
        let Loops { op, memory, start, vectorized, .. } = *self;
        let row = match heads {
            None => len,
            Some(Heads { kind: HeadKind::Rows { len: row }, .. }) => *row,
            Some(heads) => match if len <= GROUP { heads.restarts(order, len) } else { u64::MAX } {
                // One segment.
                0 => len,
                mask => {
                    let loops = *self;
                    // SAFETY: the caller vouches for the elements.
                    return unsafe { loops.scan_short_segments(kind, order, heads, mask, len, before) };
                }
            },
        };
        match vectorized {
            Some((vectorized, neutral, all)) if order == Order::Forward && row >= min_vector::<Op>() => {
                let before = before.and_then(|before| op.state_of(*before));
                // SAFETY: the caller vouches for the elements.
                let scan = move || unsafe { rows_by_registers(op, vectorized, kind, all, row, before, neutral, start) };
                caught(op, scan).map(|after| Some(op.carry_of(after)))
            }
            _ if total => {
                let loops = *self;
                // SAFETY: as above.
                caught(op, move || unsafe { loops.scan_rows_with_total(kind, order, row, 0..len, before) })
            }
            _ => {
                let (by_hand, begin) = (Self::rows_by_hand(kind, order), start.as_ref());
                // SAFETY: as above.
                caught(op, move || unsafe { by_hand(op, memory, row, 0..len, before, begin) }).map(|()| None)
            }
        }
    }

    /// # Safety
    ///
    /// As [`scan_rows`](Loops::scan_rows).
    #[inline(never)]
    unsafe fn scan_rows_with_total(
        self,
        kind: ScanKind,
        order: Order,
        row: usize,
        range: Range<usize>,
        before: Option<&Op::Carry>,
    ) -> Option<Op::Carry> {
        let (rest, last) = match order {
            Order::Forward => (range.start..range.end - row, range.end - row..range.end),
            Order::Reversed => (range.start + row..range.end, range.start..range.start + row),
        };
        let by_hand = Self::rows_by_hand(kind, order);
        // SAFETY: the caller vouches for the range.
        unsafe {
            by_hand(self.op, self.memory, row, rest, before, self.start.as_ref());
            self.scan_by_hand(kind, order, last, before.copied())
        }
    }

    /// The loop that one writes by hand. Gives the carry after the range.
    ///
    /// # Safety
    ///
    /// As [`step`](Loops::step).
    #[inline]
    pub(super) unsafe fn scan_by_hand(
        &self,
        kind: ScanKind,
        order: Order,
        range: Range<usize>,
        before: Option<Op::Carry>,
    ) -> Option<Op::Carry> {
        let by_hand: ByHand<Op, M> = of(kind, order, const { &loops_by_hand!(by_hand::<Op, M>) });
        // SAFETY: the caller vouches for the range.
        unsafe { by_hand(self.op, self.memory, range, before.as_ref(), self.start.as_ref()) }
    }

    /// The same of rows, where the carry after one is not needed: the loop leaves out whatever part of the carry no
    /// output depends on.
    #[inline(always)]
    fn rows_by_hand(kind: ScanKind, order: Order) -> RowsByHand<Op, M> {
        of(kind, order, const { &loops_by_hand!(rows_by_hand::<Op, M>) })
    }

    /// Scans by blocks, each by itself and then put after what stands before it, which is a state; gives the range's
    /// own sum.
    #[inline(always)]
    unsafe fn scan_by_blocks<const EXCLUSIVE: bool>(
        &self,
        range: Range<usize>,
        before: Op::State,
    ) -> Option<Op::State> {
        // SAFETY: the caller vouches for the range.
        unsafe { by_blocks::<Op, M, EXCLUSIVE>(self.op, self.memory, range, before) }
    }

    /// The loop that one writes by hand, with the range's own sum beside it: two chains that do not wait for each
    /// other.
    #[inline(always)]
    unsafe fn scan_with_sum<const EXCLUSIVE: bool>(&self, range: Range<usize>, before: Op::Carry) -> Option<Op::State> {
        let block = if self.stepped { STEPPED_BLOCK } else { BLOCK };
        // SAFETY: the caller vouches for the range.
        unsafe { with_sum::<Op, M, EXCLUSIVE>(self.op, self.memory, block, range, before) }
    }

    /// The carry after the first element of all, or of a segment.
    #[inline(always)]
    pub(super) fn begin(&self, before: Option<Op::Carry>, first: Op::Input) -> Op::Carry {
        match before {
            Some(before) => self.op.step(before, first),
            None => self.op.carry_of(self.op.lift(first)),
        }
    }

    /// The carry after a partial result.
    #[inline(always)]
    pub(super) fn join(&self, before: Option<Op::Carry>, sum: Op::State) -> Op::Carry {
        match before {
            Some(before) => self.op.apply(sum, before),
            None => self.op.carry_of(sum),
        }
    }

    fn state_of(&self, carry: Option<Op::Carry>) -> Option<Op::State> {
        carry.and_then(|carry| self.op.state_of(carry))
    }

    /// What the loops read and write by. A copy, since the compiler must take anything behind a reference for changed by what
    /// the loop writes.
    #[inline(always)]
    pub(super) fn at_hand(&self) -> AtHand<'a, Op, M> {
        AtHand { op: self.op, memory: self.memory }
    }
}

impl<Op: ScanOp, M: Memory<Op>> Clone for Loops<'_, Op, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Op: ScanOp, M: Memory<Op>> Copy for Loops<'_, Op, M> {}

/// An operator and where its inputs and outputs are.
pub(super) struct AtHand<'a, Op: ScanOp, M> {
    op: &'a Op,
    memory: M,
}

impl<Op: ScanOp, M: Memory<Op>> AtHand<'_, Op, M> {
    /// # Safety
    ///
    /// The index is in bounds, and no other thread writes there.
    #[inline(always)]
    pub(super) unsafe fn input(&self, index: usize) -> Op::Input {
        // SAFETY: the caller vouches for the index.
        unsafe { self.memory.read(index) }
    }

    /// # Safety
    ///
    /// As [`input`](AtHand::input).
    #[inline(always)]
    pub(super) unsafe fn read(&self, index: usize) -> Op::State {
        // SAFETY: the caller vouches for the index.
        self.op.lift(unsafe { self.input(index) })
    }

    /// # Safety
    ///
    /// The index is in bounds, and no other thread touches it.
    #[inline(always)]
    pub(super) unsafe fn put(&self, index: usize, output: Op::Output) {
        // SAFETY: the caller vouches for the index.
        unsafe { self.memory.write(index, output) }
    }

    /// # Safety
    ///
    /// As [`put`](AtHand::put).
    #[inline(always)]
    pub(super) unsafe fn write(&self, index: usize, carry: Op::Carry) {
        // SAFETY: the caller vouches for the index.
        unsafe { self.put(index, self.op.project(carry)) }
    }

    /// # Safety
    ///
    /// As [`put`](AtHand::put).
    #[inline(always)]
    unsafe fn write_state(&self, index: usize, state: Op::State) {
        // SAFETY: the caller vouches for the index.
        unsafe { self.write(index, self.op.carry_of(state)) }
    }

    /// The carry after an element and its output, where something may stand before it.
    #[inline(always)]
    fn advance(&self, before: Option<Op::Carry>, next: Op::Input) -> (Op::Carry, Op::Output) {
        match before {
            Some(before) => self.op.advance(before, next),
            None => {
                let carry = self.op.carry_of(self.op.lift(next));
                (carry, self.op.project(carry))
            }
        }
    }
}

/// The loop for a kind of scan and an order.
#[inline(always)]
pub(super) fn of<F: Copy>(kind: ScanKind, order: Order, loops: &[[F; 2]; 2]) -> F {
    loops[usize::from(kind == ScanKind::Exclusive)][usize::from(order == Order::Reversed)]
}

/// See [`scan_by_hand`](Loops::scan_by_hand).
///
/// # Safety
///
/// As [`step`](Loops::step).
unsafe fn by_hand<Op: ScanOp, M: Memory<Op>, const EXCLUSIVE: bool, const REVERSED: bool>(
    op: &Op,
    memory: M,
    range: Range<usize>,
    before: Option<&Op::Carry>,
    begin: Option<&Op::Carry>,
) -> Option<Op::Carry> {
    // SAFETY: the caller vouches for the range.
    unsafe { inlined_by_hand::<Op, M, EXCLUSIVE, REVERSED>(op, memory, range, before, begin) }
}

/// A loop over a range: operator, memory, elements, the carry before them, and what an exclusive scan begins with where
/// there is none. Rust 1.88 finds no common type of the loops unless it is written.
type ByHand<Op, M> = unsafe fn(
    &Op,
    M,
    Range<usize>,
    Option<&<Op as ScanOp>::Carry>,
    Option<&<Op as ScanOp>::Carry>,
) -> Option<<Op as ScanOp>::Carry>;

/// A loop over rows: operator, memory, elements of a row, all elements, the carry before each row, and what an exclusive
/// scan begins with where there is none.
type RowsByHand<Op, M> =
    unsafe fn(&Op, M, usize, Range<usize>, Option<&<Op as ScanOp>::Carry>, Option<&<Op as ScanOp>::Carry>);

/// See [`rows_by_hand`](Loops::rows_by_hand).
///
/// # Safety
///
/// As [`step`](Loops::step).
unsafe fn rows_by_hand<Op: ScanOp, M: Memory<Op>, const EXCLUSIVE: bool, const REVERSED: bool>(
    op: &Op,
    memory: M,
    row: usize,
    rows: Range<usize>,
    before: Option<&Op::Carry>,
    begin: Option<&Op::Carry>,
) {
    // `step_by` divides, which takes as long as some short scans.
    let mut first = rows.start;
    while first < rows.end {
        // SAFETY: the caller vouches for the range.
        unsafe { _ = inlined_by_hand::<Op, M, EXCLUSIVE, REVERSED>(op, memory, first..first + row, before, begin) }
        first += row;
    }
}

/// Scans rows by vector registers, each from the state `before`. Where there is none, an exclusive scan begins with
/// `start`, and the first element stands alone. Gives the state after the last row.
///
/// # Safety
///
/// The places are valid for reads and writes, and no other thread accesses them.
#[inline]
#[allow(clippy::too_many_arguments, reason = "in registers, and not in a struct in memory")]
unsafe fn rows_by_registers<Op: ScanOp>(
    op: &Op,
    vectorized: Vectorized<Op>,
    kind: ScanKind,
    rows: Places<Op>,
    row: usize,
    before: Option<Op::State>,
    neutral: Op::State,
    start: Option<Op::Carry>,
) -> Op::State {
    let begin = if kind == ScanKind::Exclusive && before.is_none() { start } else { None };
    let from = Sums { with_before: before.unwrap_or(neutral), alone: neutral };
    let (mut after, mut first) = (from, 0);
    while first < rows.len {
        // SAFETY: the caller vouches for the places. All of a row is read before its first result is written anew.
        unsafe {
            after = vectorized.scan(kind, op, rows.part(&(first..first + row)), &from);
            if let Some(begin) = begin {
                rows.output.add(first).write(op.project(begin));
            }
        }
        first += row;
    }
    after.with_before
}

/// See [`scan_by_blocks`](Loops::scan_by_blocks).
///
/// # Safety
///
/// As [`step`](Loops::step).
#[inline(never)]
unsafe fn by_blocks<Op: ScanOp, M: Memory<Op>, const EXCLUSIVE: bool>(
    op: &Op,
    memory: M,
    range: Range<usize>,
    before: Op::State,
) -> Option<Op::State> {
    let at = AtHand { op, memory };
    let (mut with_before, mut alone) = (before, None);
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min(start + BLOCK);
        // SAFETY: the caller vouches for the range. Where the buffers are one, an element is read before it is written.
        unsafe {
            let mut block = at.read(start);
            at.write_state(start, if EXCLUSIVE { with_before } else { op.combine(with_before, block) });
            for index in start + 1..end {
                let next = at.input(index);
                if EXCLUSIVE {
                    at.write_state(index, op.combine(with_before, block));
                    block = op.append(block, next);
                } else {
                    block = op.append(block, next);
                    at.write_state(index, op.combine(with_before, block));
                }
            }
            with_before = op.combine(with_before, block);
            alone = Some(extend(op, alone, block));
        }
        start = end;
    }
    alone
}

/// See [`scan_with_sum`](Loops::scan_with_sum).
///
/// # Safety
///
/// As [`step`](Loops::step).
#[inline(never)]
unsafe fn with_sum<Op: ScanOp, M: Memory<Op>, const EXCLUSIVE: bool>(
    op: &Op,
    memory: M,
    block_length: usize,
    range: Range<usize>,
    before: Op::Carry,
) -> Option<Op::State> {
    let at = AtHand { op, memory };
    let (mut with_before, mut alone) = (before, None);
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min(start + block_length);
        // SAFETY: the caller vouches for the range. Where the buffers are one, an element is read before it is written.
        unsafe {
            let mut put = |index: usize, next: Op::Input| {
                let (with_this, output) = op.advance(with_before, next);
                at.put(index, if EXCLUSIVE { op.project(with_before) } else { output });
                with_before = with_this;
            };
            // The first element comes by itself, so that there is no question in the loop.
            let first = at.input(start);
            put(start, first);
            let mut block = op.lift(first);
            for index in start + 1..end {
                let next = at.input(index);
                put(index, next);
                block = op.append(block, next);
            }
            alone = Some(extend(op, alone, block));
        }
        start = end;
    }
    alone
}

#[inline(always)]
fn extend<Op: ScanOp>(op: &Op, sum: Option<Op::State>, next: Op::State) -> Op::State {
    match sum {
        Some(sum) => op.combine(sum, next),
        None => next,
    }
}

/// The loop that one writes by hand, in one of the orders. The start of a stepped operator is looked for here: it is
/// often a constant, which would come through memory otherwise.
#[inline(always)]
unsafe fn inlined_by_hand<Op: ScanOp, M: Memory<Op>, const EXCLUSIVE: bool, const REVERSED: bool>(
    op: &Op,
    memory: M,
    range: Range<usize>,
    before: Option<&Op::Carry>,
    begin: Option<&Op::Carry>,
) -> Option<Op::Carry> {
    let before = super::begin(op, before.copied());
    // SAFETY: the caller vouches for the range.
    unsafe {
        match REVERSED {
            true => backward::<Op, M, false, EXCLUSIVE>(op, memory, range, before, begin.copied()).0,
            false => forward::<Op, M, EXCLUSIVE>(op, memory, range, before, begin.copied()),
        }
    }
}

// The operator is a parameter of its own: what the loop writes is not in it then, and the compiler keeps its fields in
// registers.
#[inline(always)]
unsafe fn forward<Op: ScanOp, M: Memory<Op>, const EXCLUSIVE: bool>(
    op: &Op,
    memory: M,
    mut range: Range<usize>,
    before: Option<Op::Carry>,
    begin: Option<Op::Carry>,
) -> Option<Op::Carry> {
    let at = AtHand { op, memory };
    let Some(first) = range.next() else { return before };
    // SAFETY: the caller vouches for the range. Where the buffers are one, an element is read before it is written.
    unsafe {
        let next = at.input(first);
        // The first element comes by itself, so that there is no question in the loop.
        let (mut carry, output) = at.advance(before, next);
        if !EXCLUSIVE {
            at.put(first, output);
        } else if let Some(before) = before.or(begin) {
            at.write(first, before);
        }
        for index in range {
            let next = at.input(index);
            if EXCLUSIVE {
                at.write(index, carry);
                carry = op.step(carry, next);
            } else {
                let (after, output) = op.advance(carry, next);
                at.put(index, output);
                carry = after;
            }
        }
        Some(carry)
    }
}

/// Whether there is a float in one of them: then the grouping shows in the bits.
#[inline(never)]
fn any_floats(layouts: &[fn() -> ElementType]) -> bool {
    layouts.iter().any(|layout| layout().has_floats())
}

//! The loops over a range: what one thread does.
//!
//! | | first chunk | others |
//! |---|---|---|
//! | ready operators with vector instructions | by registers, see [`lanes`](super::lanes) | the same |
//! | states without floats | `(before ∘ x) ∘ …`, as one writes it by hand | the same |
//! | states with floats, small | as one writes it by hand | by blocks: `before ∘ (x ∘ …)` |
//! | states with floats, large | as one writes it by hand | as by hand, with the chunk's own sum beside it |
//!
//! What stands after a chunk is `before ∘ chunk`, the chunk folded by blocks, however the chunk was done: so the grouping of
//! floats depends on nothing but the position.

use std::ops::Range;

use scan_codegen::{ElementKind, ElementType, Primitive};

use super::{
    lanes::{Places, Restarts, Sums, Vectorized},
    memory::Memory,
};
use crate::{ScanElement, ScanKind, ScanOp};

/// The larger of the bytes that a chunk reads and writes: what stays in the cache between folding and scanning. Miri, which takes
/// a thousand times as long, sees several chunks in short inputs.
pub(super) const CHUNK_BYTES: usize = if cfg!(miri) { 1 << 9 } else { 1 << 16 };

/// Elements of a block. The blocks of a chunk do not wait for each other's sums, so that the processor has several under way.
const BLOCK: usize = 16;

/// States up to this many bytes are scanned by blocks, which takes two applications an element. The chain of sums that it
/// breaks up costs more, where a state stays in registers.
const SMALL_BYTES: usize = 16;

/// Below so many elements, setting up registers costs more than the plain loop; registers hold fewer of eight bytes. What is no
/// primitive never goes by registers.
pub(super) const fn least_vector<Op: ScanOp>() -> usize {
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

/// What ranges are scanned with: an operator, where its inputs and outputs are, and how it goes about them.
pub(super) struct Loops<'a, Op: ScanOp, M> {
    pub(super) op: &'a Op,
    memory: M,
    pub(super) identity: Option<Op::State>,
    /// Whether any grouping gives the same bits.
    exact: bool,
    /// The loops over vector registers, the identity, and all elements.
    vectorized: Option<(Vectorized<Op>, Op::State, Places<Op>)>,
}

impl<'a, Op: ScanOp, M: Memory<Op>> Loops<'a, Op, M> {
    /// Those for `len` elements.
    pub(super) fn new(op: &'a Op, memory: M, len: usize) -> Self {
        let identity = op.identity();
        let vectorized = match memory.places(len) {
            Some(places) if len >= least_vector::<Op>() => {
                op.vectorized().zip(identity).map(|(vectorized, identity)| (vectorized, identity, places))
            }
            _ => None,
        };
        // Of a single chunk nothing else is asked. To look would allocate.
        let exact = len <= chunk_length::<Op>() || !has_floats(&Op::State::layout());
        Loops { op, memory, identity, exact, vectorized }
    }

    /// Whether there is something to put before the first element, where a scan of this kind writes it. What is asked here is the
    /// identity that the loops use: no answer that the operator may have given before counts.
    #[inline]
    pub(super) fn can_begin(&self, kind: ScanKind, before: Option<Op::State>) -> bool {
        kind == ScanKind::Inclusive || before.is_some() || self.identity.is_some()
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
            Some((vectorized, identity, all)) if range.len() >= least_vector::<Op>() => {
                Some((vectorized, *identity, all.part(range)))
            }
            _ => None,
        }
    }

    /// Whether any grouping gives the same bits.
    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    /// Whether the operator is one of those that are total and cost next to nothing.
    #[inline(always)]
    pub(super) fn is_cheap(&self) -> bool {
        self.vectorized.is_some()
    }

    /// Scans a range of up to 64 elements by registers, bit `i` of `heads` telling whether element `i` of it begins a segment, before
    /// whose first element stands `begin`. Gives what stands after it; `None` where it is not to be done so, and nothing is done.
    ///
    /// # Safety
    ///
    /// As [`step`](Loops::step).
    #[inline]
    pub(super) unsafe fn restart(
        &self,
        kind: ScanKind,
        range: &Range<usize>,
        heads: u64,
        before: Op::State,
        begin: Option<Op::State>,
    ) -> Option<Op::State> {
        let (vectorized, identity, all) = self.vectorized.as_ref()?;
        let restarts = Restarts { before, begin: begin.unwrap_or(*identity), identity: *identity };
        // SAFETY: the caller vouches for the range.
        unsafe { vectorized.restart(kind, self.op, all.part(range), heads, &restarts) }
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
        if let Some((vectorized, identity, places)) = self.vectorized_for(&range) {
            let nothing = Sums { with_before: identity, alone: identity };
            // SAFETY: the caller vouches for the range.
            return Some(unsafe { vectorized.fold(self.op, places, &nothing) });
        }
        let mut sum = None;
        for start in range.clone().step_by(BLOCK) {
            // SAFETY: the caller vouches for the range, in which the block is.
            let block =
                unsafe { self.fold_by_hand(start + 1..range.end.min(start + BLOCK), self.at_hand().read(start)) };
            sum = Some(self.extend(sum, block));
        }
        sum
    }

    /// Folds a range that begins at 0 into what stands before it: the same, bit for bit, as [`step`](Loops::step).
    ///
    /// # Safety
    ///
    /// As [`fold`](Loops::fold).
    #[inline]
    pub(super) unsafe fn fold_first(&self, mut range: Range<usize>, before: Option<Op::State>) -> Option<Op::State> {
        // SAFETY: the caller vouches for the range.
        unsafe {
            if let Some((vectorized, identity, places)) = self.vectorized_for(&range) {
                let before = Sums { with_before: before.unwrap_or(identity), alone: identity };
                return Some(vectorized.fold(self.op, places, &before));
            }
            let Some(first) = range.next() else { return before };
            Some(self.fold_by_hand(range, self.extend(before, self.at_hand().read(first))))
        }
    }

    /// Folds a range into what stands before it, element by element.
    ///
    /// # Safety
    ///
    /// As [`fold`](Loops::fold).
    #[inline(always)]
    pub(super) unsafe fn fold_by_hand(&self, range: Range<usize>, before: Op::State) -> Op::State {
        let at = self.at_hand();
        // SAFETY: the caller vouches for the range.
        range.fold(before, |sum, index| self.op.combine(sum, unsafe { at.read(index) }))
    }

    /// Folds a range into what stands before it in the same chunk: the same, bit for bit, as [`step_on`](Loops::step_on).
    ///
    /// # Safety
    ///
    /// As [`fold`](Loops::fold).
    pub(super) unsafe fn fold_on(&self, range: Range<usize>, before: Op::State) -> Op::State {
        // SAFETY: the caller vouches for the range.
        unsafe {
            match self.vectorized {
                Some(_) => self.fold(range).map_or(before, |sum| self.op.combine(before, sum)),
                None => self.fold_by_hand(range, before),
            }
        }
    }

    /// Scans a range that does not begin at 0, with what stands before it in the same chunk, and gives what stands after it.
    ///
    /// # Safety
    ///
    /// As [`step`](Loops::step).
    pub(super) unsafe fn step_on(&self, kind: ScanKind, range: Range<usize>, before: Op::State) -> Op::State {
        // SAFETY: the caller vouches for the range.
        let after = unsafe {
            match self.vectorized {
                Some(_) => self.step(kind, range, Some(before)),
                None => self.scan_by_hand(kind, range, Some(before)),
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
        before: Option<Op::State>,
    ) -> Option<Op::State> {
        // SAFETY: the caller vouches for the range, here and below.
        unsafe {
            match before {
                Some(before) if range.start != 0 => {
                    let alone = match self.vectorized_for(&range) {
                        Some((vectorized, identity, places)) => {
                            let from = Sums { with_before: before, alone: identity };
                            let sums = vectorized.scan(kind, self.op, places, &from);
                            if vectorized.any_grouping() {
                                return Some(sums.with_before);
                            }
                            Some(sums.alone)
                        }
                        None if self.exact => return self.scan_by_hand(kind, range, Some(before)),
                        None if const { size_of::<Op::State>() <= SMALL_BYTES } => match kind {
                            ScanKind::Inclusive => self.scan_by_blocks::<false>(range, before),
                            ScanKind::Exclusive => self.scan_by_blocks::<true>(range, before),
                        },
                        None => match kind {
                            ScanKind::Inclusive => self.scan_with_sum::<false>(range, before),
                            ScanKind::Exclusive => self.scan_with_sum::<true>(range, before),
                        },
                    };
                    Some(alone.map_or(before, |alone| self.op.combine(before, alone)))
                }
                _ => self.scan_first(kind, range, before),
            }
        }
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
        before: Option<Op::State>,
    ) -> Option<Op::State> {
        // SAFETY: the caller vouches for the range.
        unsafe {
            match self.vectorized_for(&range) {
                Some((vectorized, identity, places)) => {
                    let from = Sums { with_before: before.unwrap_or(identity), alone: identity };
                    Some(vectorized.scan(kind, self.op, places, &from).with_before)
                }
                None => self.scan_by_hand(kind, range, before),
            }
        }
    }

    /// Scans a range that does not begin at 0; writes the same as [`step`](Loops::step).
    ///
    /// # Safety
    ///
    /// As [`step`](Loops::step).
    pub(super) unsafe fn finish(&self, kind: ScanKind, range: Range<usize>, before: Option<Op::State>) {
        // SAFETY: the caller vouches for the range.
        unsafe {
            if size_of::<Op::State>() <= SMALL_BYTES || self.exact || self.vectorized.is_some() {
                self.step(kind, range, before);
            } else {
                self.scan_by_hand(kind, range, before);
            }
        }
    }

    /// The loop that one writes by hand.
    ///
    /// # Safety
    ///
    /// As [`step`](Loops::step).
    #[inline]
    unsafe fn scan_by_hand(&self, kind: ScanKind, range: Range<usize>, before: Option<Op::State>) -> Option<Op::State> {
        #[inline(never)]
        unsafe fn scan<Op: ScanOp, M: Memory<Op>, const EXCLUSIVE: bool>(
            at: AtHand<'_, Op, M>,
            mut range: Range<usize>,
            before: Option<Op::State>,
            begin: Option<Op::State>,
        ) -> Option<Op::State> {
            let Some(first) = range.next() else { return before };
            // SAFETY: the caller vouches for the range. Where the buffers are one, an element is read before it is written.
            unsafe {
                let next = at.read(first);
                // The first element comes by itself, so that there is no question in the loop.
                let mut sum = match before {
                    Some(before) => at.op.combine(before, next),
                    None => next,
                };
                if !EXCLUSIVE {
                    at.write(first, sum);
                } else if let Some(before) = before.or(begin) {
                    at.write(first, before);
                }
                for index in range {
                    let next = at.read(index);
                    if EXCLUSIVE {
                        at.write(index, sum);
                        sum = at.op.combine(sum, next);
                    } else {
                        sum = at.op.combine(sum, next);
                        at.write(index, sum);
                    }
                }
                Some(sum)
            }
        }
        // SAFETY: the caller vouches for the range.
        unsafe {
            match kind {
                ScanKind::Inclusive => scan::<Op, M, false>(self.at_hand(), range, before, None),
                ScanKind::Exclusive => scan::<Op, M, true>(self.at_hand(), range, before, self.identity),
            }
        }
    }

    /// Scans by blocks, each by itself and then put after what stands before it; gives the range's own sum.
    unsafe fn scan_by_blocks<const EXCLUSIVE: bool>(
        &self,
        range: Range<usize>,
        before: Op::State,
    ) -> Option<Op::State> {
        let at = self.at_hand();
        let (mut with_before, mut alone) = (before, None);
        for start in range.clone().step_by(BLOCK) {
            // SAFETY: the caller vouches for the range. Where the buffers are one, an element is read before it is written.
            unsafe {
                let mut block = at.read(start);
                at.write(start, if EXCLUSIVE { with_before } else { self.op.combine(with_before, block) });
                for index in start + 1..range.end.min(start + BLOCK) {
                    let next = at.read(index);
                    if EXCLUSIVE {
                        at.write(index, self.op.combine(with_before, block));
                        block = self.op.combine(block, next);
                    } else {
                        block = self.op.combine(block, next);
                        at.write(index, self.op.combine(with_before, block));
                    }
                }
                with_before = self.op.combine(with_before, block);
                alone = Some(self.extend(alone, block));
            }
        }
        alone
    }

    /// The loop that one writes by hand, with the range's own sum beside it.
    unsafe fn scan_with_sum<const EXCLUSIVE: bool>(&self, range: Range<usize>, before: Op::State) -> Option<Op::State> {
        let at = self.at_hand();
        let (mut with_before, mut alone) = (before, None);
        for start in range.clone().step_by(BLOCK) {
            let mut block = None;
            for index in start..range.end.min(start + BLOCK) {
                // SAFETY: the caller vouches for the range. Where the buffers are one, an element is read before it is
                // written.
                unsafe {
                    let next = at.read(index);
                    let with_this = self.op.combine(with_before, next);
                    at.write(index, if EXCLUSIVE { with_before } else { with_this });
                    with_before = with_this;
                    block = Some(self.extend(block, next));
                }
            }
            alone = block.map(|block| self.extend(alone, block)).or(alone);
        }
        alone
    }

    #[inline(always)]
    pub(super) fn extend(&self, sum: Option<Op::State>, next: Op::State) -> Op::State {
        match sum {
            Some(sum) => self.op.combine(sum, next),
            None => next,
        }
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
    pub(super) unsafe fn read(&self, index: usize) -> Op::State {
        // SAFETY: the caller vouches for the index.
        self.op.lift(unsafe { self.memory.read(index) })
    }

    /// # Safety
    ///
    /// The index is in bounds, and no other thread touches it.
    #[inline(always)]
    pub(super) unsafe fn write(&self, index: usize, state: Op::State) {
        // SAFETY: the caller vouches for the index.
        unsafe { self.memory.write(index, self.op.project(state)) }
    }
}

/// Whether there is a float in it: then the grouping shows in the bits.
fn has_floats(ty: &ElementType) -> bool {
    match &ty.kind {
        ElementKind::Primitive(primitive) => {
            matches!(primitive, Primitive::F16 | Primitive::Bf16 | Primitive::F32 | Primitive::F64)
        }
        ElementKind::Struct(fields) => fields.iter().any(|field| has_floats(&field.ty)),
        ElementKind::Array { item, .. } => has_floats(item),
        _ => false,
    }
}

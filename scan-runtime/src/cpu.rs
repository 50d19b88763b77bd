//! The CPU backend: the operator's own Rust body, on all cores, in one pass over memory.
//!
//! The input is cut into chunks, always the same ones for an operator, that stay in a core's cache while they are folded and
//! then scanned ([`pipeline`]). What is done with a chunk stands in [`loops`]: the loop that one writes by hand, or a vector
//! register at a time for the ready operators ([`lanes`]). Only adjacent partial results are ever combined, the earlier one
//! on the left, and how they are grouped depends on nothing but their positions and the length.

mod lanes;
mod loops;
mod pipeline;
mod segmented;
#[cfg(test)]
mod tests;

use std::{
    any::Any,
    marker::PhantomData,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
};

use scan_codegen::{MAX_ELEMENT_BYTES, ScanKind};

use crate::{
    Error, ScanOp,
    heads::{HeadKind, Heads},
};
pub use lanes::{Add, And, Apply, ExclusiveOr, Lane, Larger, Multiply, Or, Smaller, Vectorized};
use loops::{LEAST_VECTOR, Loops, chunk_length};
use pipeline::Chunks;
use segmented::Segmented;

/// Where a scan reads and writes: two buffers of one length, or one buffer that is both.
pub(crate) struct Buffers<'a, I, O> {
    input: *const I,
    output: *mut O,
    len: usize,
    lifetime: PhantomData<(&'a [I], &'a mut [O])>,
}

// SAFETY: the buffers are only read and written through disjoint ranges of indices, one thread a range; I and O are sent
// and shared between those threads.
unsafe impl<I: Sync, O: Send> Sync for Buffers<'_, I, O> {}

impl<'a, I: Copy, O: Copy> Buffers<'a, I, O> {
    /// Reads `input` and writes `len` outputs to `output`, which need not be initialised.
    ///
    /// # Safety
    ///
    /// `output` is valid for writes of as many elements as the input has, for `'a`, and does not overlap the input.
    pub(crate) unsafe fn apart(input: &'a [I], output: *mut O) -> Self {
        Buffers { input: input.as_ptr(), output, len: input.len(), lifetime: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Where input `index` is.
    ///
    /// # Safety
    ///
    /// `index` is in bounds.
    #[inline(always)]
    unsafe fn input_at(&self, index: usize) -> *const I {
        // SAFETY: the caller keeps the index in bounds.
        unsafe { self.input.add(index) }
    }

    /// Where output `index` goes.
    ///
    /// # Safety
    ///
    /// `index` is in bounds.
    #[inline(always)]
    unsafe fn output_at(&self, index: usize) -> *mut O {
        // SAFETY: the caller keeps the index in bounds.
        unsafe { self.output.add(index) }
    }
}

impl<'a, T: Copy> Buffers<'a, T, T> {
    /// Reads and writes the same buffer.
    pub(crate) fn in_place(buffer: &'a mut [T]) -> Self {
        let output = buffer.as_mut_ptr();
        Buffers { input: output, output, len: buffer.len(), lifetime: PhantomData }
    }
}

/// Whether there is no need to ask the planner whether it would refuse this where nothing is overridden: it would not. The
/// question takes longer than many a short scan.
#[inline]
pub(crate) fn surely_planned<Op: ScanOp>(op: &Op, heads: HeadKind, needs_identity: bool) -> bool {
    let fits = |size| (1..=MAX_ELEMENT_BYTES).contains(&size);
    let elements = fits(size_of::<Op::Input>()) && fits(size_of::<Op::State>()) && fits(size_of::<Op::Output>());
    let heads = match heads {
        HeadKind::Keys { size, has_padding, .. } => fits(size) && !has_padding,
        _ => true,
    };
    // Parameters are fields of the operator. On the device they take at most a few times the bytes.
    elements && heads && size_of::<Op>() <= 256 && (!needs_identity || op.identity().is_some())
}

/// The most elements that are done in one chunk, beside which every question asked before it would show.
#[inline]
pub(crate) fn most_short<Op: ScanOp>() -> usize {
    const { chunk_length::<Op>() }
}

/// Scans a short input: bit for bit as [`scan`] does, in less time.
///
/// # Safety
///
/// `input` is valid for reads of so many elements, `output` for writes. They are one, or do not overlap. There is no more than a
/// chunk.
#[inline(always)]
pub(crate) unsafe fn scan_short<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    before: Option<Op::State>,
    input: *const Op::Input,
    output: *mut Op::Output,
    len: usize,
) -> Result<(), Error> {
    // Not inlined, and given what registers hold: the caller's code stays small, and a call is all that it costs.
    #[inline(never)]
    unsafe fn run<Op: ScanOp, const EXCLUSIVE: bool, const BY_HAND: bool>(
        op: &Op,
        before: Option<Op::State>,
        input: *const Op::Input,
        output: *mut Op::Output,
        len: usize,
    ) -> Result<(), Panic> {
        let buffers = Buffers { input, output, len, lifetime: PhantomData };
        let loops = match BY_HAND {
            true => Loops::<Op, EXCLUSIVE>::by_hand(op, &buffers),
            false => Loops::of_a_chunk(op, &buffers),
        };
        // SAFETY: the caller vouches for the buffers.
        catch_unwind(AssertUnwindSafe(|| unsafe {
            match BY_HAND {
                true => _ = loops.scan_by_hand(0..len, before),
                false => _ = loops.step(0..len, before),
            }
        }))
    }
    // SAFETY: the caller vouches for the buffers.
    let scanned = unsafe {
        match (kind, len < LEAST_VECTOR) {
            (ScanKind::Inclusive, true) => run::<Op, false, true>(op, before, input, output, len),
            (ScanKind::Exclusive, true) => run::<Op, true, true>(op, before, input, output, len),
            (ScanKind::Inclusive, false) => run::<Op, false, false>(op, before, input, output, len),
            (ScanKind::Exclusive, false) => run::<Op, true, false>(op, before, input, output, len),
        }
    };
    scanned.map_err(|panic| panicked(op, &*panic))
}

/// Scans a short input with a flag for each element: as [`scan_segments`] does, in less time.
///
/// # Safety
///
/// As for [`scan_short`], for as many elements as flags, which the heads are.
#[inline(always)]
pub(crate) unsafe fn scan_short_segments<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    initial_value: Option<Op::State>,
    heads: &Heads<'_>,
    input: *const Op::Input,
    output: *mut Op::Output,
) -> Result<(), Error> {
    #[inline(never)]
    unsafe fn by_hand<Op: ScanOp, const EXCLUSIVE: bool>(
        op: &Op,
        initial_value: Option<Op::State>,
        flags: &[u8],
        input: *const Op::Input,
        output: *mut Op::Output,
    ) -> Result<(), Panic> {
        let buffers = Buffers { input, output, len: flags.len(), lifetime: PhantomData };
        let loops = Loops::<Op, EXCLUSIVE>::by_hand(op, &buffers);
        let segmented = Segmented { loops, initial_value, heads: &Heads::NONE };
        // SAFETY: the caller vouches for the buffers.
        catch_unwind(AssertUnwindSafe(|| unsafe { segmented.scan_by_flags(flags) }))
    }
    #[inline(never)]
    unsafe fn a_chunk<Op: ScanOp, const EXCLUSIVE: bool>(
        op: &Op,
        initial_value: Option<Op::State>,
        heads: &Heads<'_>,
        input: *const Op::Input,
        output: *mut Op::Output,
    ) -> Result<(), Panic> {
        let len = heads.bytes.len();
        let buffers = Buffers { input, output, len, lifetime: PhantomData };
        let segmented = Segmented { loops: Loops::<Op, EXCLUSIVE>::of_a_chunk(op, &buffers), initial_value, heads };
        catch_unwind(AssertUnwindSafe(|| segmented.step(0..len, initial_value))).map(|_| ())
    }
    // SAFETY: the caller vouches for the buffers.
    let scanned = unsafe {
        match (kind, heads.bytes.len() < LEAST_MASKED) {
            (ScanKind::Inclusive, true) => by_hand::<Op, false>(op, initial_value, heads.bytes, input, output),
            (ScanKind::Exclusive, true) => by_hand::<Op, true>(op, initial_value, heads.bytes, input, output),
            (ScanKind::Inclusive, false) => a_chunk::<Op, false>(op, initial_value, heads, input, output),
            (ScanKind::Exclusive, false) => a_chunk::<Op, true>(op, initial_value, heads, input, output),
        }
    };
    scanned.map_err(|panic| panicked(op, &*panic))
}

/// From so many elements on, flags are looked at in groups.
const LEAST_MASKED: usize = 64;

/// Scans the buffers, and gives the sum of everything. `before` is what stands before the first element, if anything does. An
/// exclusive scan without it begins with the identity, which the caller has checked to exist.
#[inline]
pub(crate) fn scan<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    before: Option<Op::State>,
    buffers: &Buffers<'_, Op::Input, Op::Output>,
) -> Result<Option<Op::State>, Error> {
    caught(op, || match kind {
        ScanKind::Inclusive => Whole::<Op, false>::scan(op, before, buffers),
        ScanKind::Exclusive => Whole::<Op, true>::scan(op, before, buffers),
    })
}

/// Scans the buffers and restarts at each head, with `initial_value` before the first element of each segment. An exclusive
/// scan without it begins each segment with the identity, which the caller has checked to exist. The caller has checked the
/// heads against the length, too.
#[inline]
pub(crate) fn scan_segments<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    initial_value: Option<Op::State>,
    heads: &Heads<'_>,
    buffers: &Buffers<'_, Op::Input, Op::Output>,
) -> Result<(), Error> {
    fn run<Op: ScanOp, const EXCLUSIVE: bool>(
        op: &Op,
        initial_value: Option<Op::State>,
        heads: &Heads<'_>,
        buffers: &Buffers<'_, Op::Input, Op::Output>,
    ) {
        let chunks = Segmented { loops: Loops::<Op, EXCLUSIVE>::new(op, buffers), initial_value, heads };
        pipeline::run(&chunks, buffers.len, chunk_length::<Op>(), initial_value);
    }
    caught(op, || match kind {
        ScanKind::Inclusive => run::<Op, false>(op, initial_value, heads, buffers),
        ScanKind::Exclusive => run::<Op, true>(op, initial_value, heads, buffers),
    })
}

/// Folds the input, with what stands before it: bit for bit what a scan gives of it. Nothing comes of nothing.
#[inline]
pub(crate) fn reduce<Op: ScanOp>(
    op: &Op,
    before: Option<Op::State>,
    input: &[Op::Input],
) -> Result<Option<Op::State>, Error> {
    // SAFETY: a reduction writes nothing.
    let buffers = unsafe { Buffers::apart(input, std::ptr::dangling_mut()) };
    caught(op, || {
        let chunks = Reduction { loops: Loops::<Op, false>::new(op, &buffers) };
        pipeline::run(&chunks, buffers.len, chunk_length::<Op>(), before)
    })
}

/// Makes a panic of the operator an error.
#[inline]
fn caught<Op: ScanOp, T>(op: &Op, work: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| panicked(op, &*payload))
}

/// What an operator panicked with.
type Panic = Box<dyn Any + Send>;

#[cold]
fn panicked<Op: ScanOp>(op: &Op, payload: &(dyn Any + Send)) -> Error {
    let message = payload
        .downcast_ref::<&str>()
        .map(|message| (*message).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    Error::OperatorPanicked { operator: op.source().name, message }
}

/// A scan that restarts nowhere.
struct Whole<'a, 'b, Op: ScanOp, const EXCLUSIVE: bool> {
    loops: Loops<'a, 'b, Op, EXCLUSIVE>,
}

impl<Op: ScanOp, const EXCLUSIVE: bool> Whole<'_, '_, Op, EXCLUSIVE> {
    #[inline]
    fn scan(op: &Op, before: Option<Op::State>, buffers: &Buffers<'_, Op::Input, Op::Output>) -> Option<Op::State> {
        let chunks = Whole { loops: Loops::<Op, EXCLUSIVE>::new(op, buffers) };
        pipeline::run(&chunks, buffers.len, chunk_length::<Op>(), before)
    }
}

// SAFETY of the blocks below: the pipeline's chunks are in bounds, and each is one thread's own.
impl<Op: ScanOp, const EXCLUSIVE: bool> Chunks for Whole<'_, '_, Op, EXCLUSIVE> {
    type Carry = Option<Op::State>;
    type Fold = Option<Op::State>;

    fn at_once(&self, threads: usize) -> bool {
        self.loops.at_once(threads)
    }

    fn fold(&self, range: Range<usize>) -> Option<Op::State> {
        // SAFETY: see above.
        unsafe { self.loops.fold(range) }
    }

    fn join(&self, before: Option<Op::State>, fold: Option<Op::State>) -> Option<Op::State> {
        fold.map(|fold| self.loops.extend(before, fold)).or(before)
    }

    #[inline]
    fn step(&self, range: Range<usize>, before: Option<Op::State>) -> Option<Op::State> {
        // SAFETY: see above.
        unsafe { self.loops.step(range, before) }
    }

    fn finish(&self, range: Range<usize>, before: Option<Op::State>) {
        // SAFETY: see above.
        unsafe { self.loops.finish(range, before) }
    }
}

/// A reduction: a scan that writes nothing.
struct Reduction<'a, 'b, Op: ScanOp> {
    loops: Loops<'a, 'b, Op, false>,
}

// SAFETY of the blocks below: the pipeline's chunks are in bounds, and nobody writes.
impl<Op: ScanOp> Chunks for Reduction<'_, '_, Op> {
    type Carry = Option<Op::State>;
    type Fold = Option<Op::State>;

    fn at_once(&self, _threads: usize) -> bool {
        false
    }

    fn fold(&self, range: Range<usize>) -> Option<Op::State> {
        // SAFETY: see above.
        unsafe { self.loops.fold(range) }
    }

    fn join(&self, before: Option<Op::State>, fold: Option<Op::State>) -> Option<Op::State> {
        fold.map(|fold| self.loops.extend(before, fold)).or(before)
    }

    #[inline]
    fn step(&self, range: Range<usize>, before: Option<Op::State>) -> Option<Op::State> {
        // SAFETY: see above.
        unsafe {
            match range.start {
                0 => self.loops.fold_first(range, before),
                _ => self.join(before, self.fold(range)),
            }
        }
    }

    fn finish(&self, _range: Range<usize>, _before: Option<Op::State>) {}
}

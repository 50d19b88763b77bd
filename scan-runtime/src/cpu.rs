//! The CPU backend: the operator's own Rust body, on all cores.
//!
//! Three phases, as everywhere in the field: fold each chunk, scan the folds, scan each chunk from what stands before it.
//! Only adjacent partial results are ever combined, the earlier one on the left.

mod segmented;

use std::{
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
};

use rayon::prelude::*;
use scan_codegen::ScanKind;

use crate::{Error, ScanOp};
pub(crate) use segmented::scan_segments;

/// Chunks below this many elements are not worth a thread.
const LEAST_CHUNK: usize = 4096;

/// Chunks for each thread, so that threads that finish early find more to do.
const CHUNKS_PER_THREAD: usize = 4;

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

    /// # Safety
    ///
    /// `index` is in bounds, and no other thread writes there.
    unsafe fn read(&self, index: usize) -> I {
        // SAFETY: the caller keeps the index in bounds.
        unsafe { self.input.add(index).read() }
    }

    /// # Safety
    ///
    /// `index` is in bounds, and no other thread reads or writes there.
    unsafe fn write(&self, index: usize, value: O) {
        // SAFETY: the caller keeps the index in bounds.
        unsafe { self.output.add(index).write(value) }
    }
}

impl<'a, T: Copy> Buffers<'a, T, T> {
    /// Reads and writes the same buffer.
    pub(crate) fn in_place(buffer: &'a mut [T]) -> Self {
        let output = buffer.as_mut_ptr();
        Buffers { input: output, output, len: buffer.len(), lifetime: PhantomData }
    }
}

/// Scans the buffers. `before` is what stands before the first element, if anything does. An exclusive scan without it
/// begins with the identity, which the caller has checked to exist.
pub(crate) fn scan<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    before: Option<Op::State>,
    buffers: &Buffers<'_, Op::Input, Op::Output>,
) -> Result<(), Error> {
    caught(op, || scan_chunks(op, kind, before, buffers))
}

/// Makes a panic of the operator an error.
fn caught<Op: ScanOp, T>(op: &Op, work: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let message = payload
            .downcast_ref::<&str>()
            .map(|message| (*message).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        Error::OperatorPanicked { operator: op.source().name, message }
    })
}

/// Folds the input, with what stands before it. Nothing comes of nothing.
pub(crate) fn reduce<Op: ScanOp>(
    op: &Op,
    before: Option<Op::State>,
    input: &[Op::Input],
) -> Result<Option<Op::State>, Error> {
    let fold = |chunk: &[Op::Input]| chunk.iter().map(|&x| op.lift(x)).reduce(|a, b| op.combine(a, b));
    let chunk = input.len().div_ceil(rayon::current_num_threads() * CHUNKS_PER_THREAD).max(LEAST_CHUNK);
    caught(op, || {
        let folds: Vec<Op::State> = input.par_chunks(chunk).filter_map(fold).collect();
        before.into_iter().chain(folds).reduce(|a, b| op.combine(a, b))
    })
}

fn scan_chunks<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    before: Option<Op::State>,
    buffers: &Buffers<'_, Op::Input, Op::Output>,
) {
    let chunk = chunk_length(buffers.len);
    if buffers.len <= chunk {
        return scan_range(op, kind, before, buffers, 0, buffers.len);
    }
    let range = |index: usize| (index * chunk, ((index + 1) * chunk).min(buffers.len));

    // The last chunk's fold is not needed.
    let folds: Vec<Op::State> = (0..buffers.len.div_ceil(chunk) - 1)
        .into_par_iter()
        .filter_map(|index| {
            let (start, end) = range(index);
            // SAFETY: the range is in bounds, and nothing is written in this phase.
            (start..end).map(|i| op.lift(unsafe { buffers.read(i) })).reduce(|a, b| op.combine(a, b))
        })
        .collect();
    let mut starts = vec![before];
    starts.extend(folds.into_iter().scan(before, |sum, fold| {
        *sum = Some(extend(op, *sum, fold));
        Some(*sum)
    }));
    starts.into_par_iter().enumerate().for_each(|(index, before)| {
        let (start, end) = range(index);
        scan_range(op, kind, before, buffers, start, end);
    });
}

/// How many elements a thread works on at a time.
fn chunk_length(len: usize) -> usize {
    len.div_ceil(rayon::current_num_threads() * CHUNKS_PER_THREAD).max(LEAST_CHUNK)
}

/// The plain loop over one range. No other thread touches the range meanwhile.
fn scan_range<Op: ScanOp>(
    op: &Op,
    kind: ScanKind,
    before: Option<Op::State>,
    buffers: &Buffers<'_, Op::Input, Op::Output>,
    start: usize,
    end: usize,
) {
    let mut sum = before;
    for index in start..end {
        // SAFETY: the range is in bounds and this thread's own. Where the buffers are one, an element is read before it
        // is written.
        let with_this = extend(op, sum, op.lift(unsafe { buffers.read(index) }));
        let covered = match kind {
            ScanKind::Inclusive => Some(with_this),
            ScanKind::Exclusive => sum.or_else(|| op.identity()),
        };
        if let Some(covered) = covered {
            // SAFETY: as above.
            unsafe { buffers.write(index, op.project(covered)) };
        }
        sum = Some(with_this);
    }
}

fn extend<Op: ScanOp>(op: &Op, sum: Option<Op::State>, next: Op::State) -> Op::State {
    match sum {
        Some(sum) => op.combine(sum, next),
        None => next,
    }
}

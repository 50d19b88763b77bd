//! Scans of segments of which each has an initial value, or a total, of its own, on the CPU: each segment is a scan by
//! itself, and gives bit for bit what that gives. Threads share the segments; a long one is shared as well.

use std::ops::Range;

use scan_codegen::PlanError;

use super::{
    Goal, Job, Order, Stop, begin, caught, loops::Loops, loops::chunk_length, memory::Memory, stopped, try_each,
};
use crate::{Error, ScanKind, ScanOp, heads::Heads, host::watch::Watch};

/// Where the totals go, one for each segment.
#[derive(Clone, Copy)]
pub(crate) struct TotalsAt<Op: ScanOp>(pub(crate) *mut Op::Carry);

// SAFETY: a total is one thread's.
unsafe impl<Op: ScanOp> Send for TotalsAt<Op> {}
// SAFETY: as above.
unsafe impl<Op: ScanOp> Sync for TotalsAt<Op> {}

/// What all segments are scanned with.
struct Each<'a, Op: ScanOp, M> {
    loops: Loops<'a, Op, M>,
    memory: M,
    kind: ScanKind,
    order: Order,
    initial_value: Option<Op::Carry>,
    initial_values: Option<&'a [Op::Carry]>,
    totals: Option<TotalsAt<Op>>,
    watch: Option<&'a Watch<'a>>,
}

// SAFETY: a segment is one thread's at a time; operators and carries are sent and shared between threads.
unsafe impl<Op: ScanOp, M> Sync for Each<'_, Op, M> {}

/// Scans the segments of `len` elements, which cover all of them: segment `k` from `initial_values[k]`, or else from
/// `initial_value`. The total of each goes to `totals`, if there is such a place.
///
/// # Safety
///
/// The memory is valid for reads of `len` inputs and for writes of as many outputs, `totals` for a write of each total.
/// There are as many initial values as segments.
#[allow(clippy::too_many_arguments, reason = "what `scan_in` has, and two more")]
pub(crate) unsafe fn scan_each<Op: ScanOp, M: Memory<Op>>(
    op: &Op,
    kind: ScanKind,
    order: Order,
    initial_value: Option<Op::Carry>,
    initial_values: Option<&[Op::Carry]>,
    heads: &Heads<'_>,
    memory: M,
    len: usize,
    totals: Option<TotalsAt<Op>>,
    watch: Option<&Watch<'_>>,
) -> Result<(), Error> {
    let loops = Loops::new(op, memory, len, order == Order::Forward);
    let initial_value = begin(op, initial_value);
    if initial_values.is_none() && !loops.can_begin(kind, initial_value.is_some()) {
        return Err(stopped(op, Stop::NoIdentity));
    }
    let each = Each { loops, memory, kind, order, initial_value, initial_values, totals, watch };
    let count = heads.segment_count(len).unwrap_or_default();
    // SAFETY: the caller vouches for the memory; no two segments have an element or a total in common.
    let scan = |segments: Range<usize>| unsafe { each.scan(heads, segments) };
    // So many segments, of a chunk's elements together, are worth another thread.
    let at_once = (count.saturating_mul(chunk_length::<Op>()) / len.max(1)).max(1);
    if len <= chunk_length::<Op>() || memory.is_for_one_thread() {
        return scan(0..count);
    }
    let parts = count.div_ceil(at_once);
    try_each(parts, |part| scan(part * at_once..count.min((part + 1) * at_once)))
}

impl<Op: ScanOp, M: Memory<Op>> Each<'_, Op, M> {
    /// Scans some of the segments, one after the other.
    ///
    /// # Safety
    ///
    /// As for [`scan_each`], and no other thread touches these segments.
    unsafe fn scan(&self, heads: &Heads<'_>, segments: Range<usize>) -> Result<(), Error> {
        let op = self.loops.op;
        let mut failed = None;
        caught(op, || {
            for index in segments {
                let range = heads.segment(index);
                let count = range.len();
                let before = self.initial_values.map_or(self.initial_value, |values| values.get(index).copied());
                // SAFETY: the caller vouches for the segment.
                let total = unsafe {
                    match self.order {
                        _ if range.len() > chunk_length::<Op>() => self.scan_long(range, before),
                        order => {
                            let total = self.totals.is_some();
                            let total = self.loops.scan_rows(self.kind, order, count, range, before.as_ref(), total);
                            if let Some(watch) = self.watch {
                                watch.add(count);
                            }
                            Ok(total)
                        }
                    }
                };
                let total = total.and_then(|total| self.watch.map_or(Ok(()), Watch::check).map(|()| total));
                let Some(TotalsAt(totals)) = self.totals else {
                    failed = total.err();
                    if failed.is_some() {
                        return;
                    } else {
                        continue;
                    };
                };
                let nothing = || PlanError::NoElements { operator: op.source().name }.into();
                match total.and_then(|total| total.or_else(|| op.start()).ok_or_else(nothing)) {
                    // SAFETY: the caller vouches for the total.
                    Ok(total) => unsafe { totals.add(index).write(total) },
                    Err(error) => {
                        failed = Some(error);
                        return;
                    }
                }
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// Scans a segment of several chunks, with the help of other threads.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and no other thread touches it.
    unsafe fn scan_long(&self, range: Range<usize>, before: Option<Op::Carry>) -> Result<Option<Op::Carry>, Error> {
        let len = range.len();
        // SAFETY: the caller vouches for the range.
        let loops =
            Loops::new(self.loops.op, unsafe { self.memory.skip(range.start) }, len, self.order == Order::Forward);
        let (goal, order, watch, total) = (Goal::Scan(self.kind), self.order, self.watch, self.totals.is_some());
        Job { goal, order, initial_value: before, total, watch, ..Job::new(loops, len) }.run()
    }
}

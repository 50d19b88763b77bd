//! The CPU backend: the operator's own Rust body, on all cores, in one pass over memory.
//!
//! The input is cut into chunks, always the same ones for an operator, that stay in a core's cache while they are folded and
//! then scanned ([`pipeline`]). What is done with a chunk stands in [`loops`]: the loop that one writes by hand, or a vector
//! register at a time for the ready operators ([`lanes`]). Only adjacent partial results are ever combined, the earlier one
//! on the left, and how they are grouped depends on nothing but their positions and the length.
//!
//! A user's build pays for what is compiled anew for each operator. So only the loops over elements are compiled for each kind of
//! scan; what drives them asks at run time, once a chunk or once a group of elements, and the pipeline knows no operator at all.

mod columns;
mod each;
mod grouping;
#[cfg(test)]
mod hostile;
mod lanes;
mod loops;
mod memory;
mod pipeline;
mod reversed;
mod segmented;
mod sharing;
#[cfg(test)]
mod tests;

use std::{
    cell::UnsafeCell,
    hint::black_box,
    mem::MaybeUninit,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
};

use scan_codegen::{MAX_ELEMENT_BYTES, OpSource, OutputsOf, PlanError, ScanKind};

use crate::{
    Error, ScanOp,
    caught::{self, Panic},
    heads::{HeadKind, Heads},
    host::watch::Watch,
};
pub(crate) use columns::{ColumnValues, scan_columns};
pub(crate) use each::{TotalsAt, scan_each};
use grouping::Grouping;
pub(crate) use lanes::Places;
pub use lanes::{Add, And, Apply, ExclusiveOr, Lane, Larger, Multiply, Or, Smaller, Vectorized};
use loops::{Loops, chunk_length};
pub(crate) use memory::{Apart, Reader, Writer};
pub(crate) use memory::{Both, Memory, Unwritten};
use pipeline::Chunks;
pub(crate) use pipeline::help::{threads, try_each, try_map};

/// Whether there is no need to ask the planner whether it would refuse this where nothing is overridden: it would not. The
/// question takes longer than many a short scan.
#[inline]
pub(crate) fn surely_planned<Op: ScanOp>(op: &Op, heads: &Heads<'_>, needs: Needs) -> bool {
    let fits = |size| (1..=MAX_ELEMENT_BYTES).contains(&size);
    let elements = [size_of::<Op::Input>(), size_of::<Op::State>(), size_of::<Op::Output>(), size_of::<Op::Carry>()];
    let elements = elements.into_iter().all(fits);
    // A stepped operator begins with its start.
    let needs_start = needs.identity || op.is_stepped();
    let heads = match heads.kind {
        HeadKind::Keys { size, .. } => fits(size) && !heads.has_padding,
        _ => true,
    };
    // Parameters are fields of the operator. On the device they take at most a few times the bytes.
    let has_all = (!needs_start || op.start().is_some()) && op.outputs_of() >= needs.outputs_of;
    elements && heads && size_of::<Op>() <= 256 && has_all
}

/// What a call needs of an operator that may lack it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs {
    /// A value for what begins with nothing.
    pub(crate) identity: bool,
    /// The values from which it makes outputs.
    pub(crate) outputs_of: OutputsOf,
}

/// What stands before the first element of all: of a stepped operator its start, if there is no initial value.
pub(crate) fn begin<Op: ScanOp>(op: &Op, initial_value: Option<Op::Carry>) -> Option<Op::Carry> {
    initial_value.or_else(|| op.start().filter(|start| op.state_of(*start).is_none()))
}

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Order {
    /// From the first element to the last.
    Forward,
    /// From the last element to the first.
    Reversed,
}

/// What is asked of a scan.
pub(crate) struct How<'a, Op: ScanOp> {
    pub(crate) kind: ScanKind,
    pub(crate) order: Order,
    pub(crate) initial_value: Option<&'a Op::Carry>,
    /// What tells where it restarts, if it does.
    pub(crate) heads: Option<&'a Heads<'a>>,
    /// Whether anybody asks for the total.
    pub(crate) total: bool,
    /// What counts the elements that are done, if anything does. Of few elements nothing does.
    pub(crate) watch: Option<&'a Watch<'a>>,
    /// Whether the bits of rounded results may depend on the number of threads.
    pub(crate) any_grouping: bool,
}

/// Scans `len` elements, and gives the total, if `total` asks for it: the carry after the last element, or without
/// elements the initial value. `initial_value` stands before the first element, and before the first of each segment
/// that the heads tell of. An exclusive scan without it begins with the identity. The caller has checked the heads
/// against the length.
///
/// # Safety
///
/// The memory is valid for reads of `len` inputs and for writes of as many outputs.
#[inline(always)]
pub(crate) unsafe fn scan_in<Op: ScanOp, M: Memory<Op>>(
    op: &Op,
    How { kind, order, initial_value, heads, total, watch, any_grouping }: How<'_, Op>,
    memory: M,
    len: usize,
) -> Result<Option<Op::Carry>, Error> {
    let loops = Loops::new(op, memory, len, order == Order::Forward || heads.is_some());
    if !loops.can_begin(kind, initial_value.is_some()) {
        return Err(stopped(op, Stop::NoIdentity));
    }
    if len == 0 {
        return Ok(initial_value.copied());
    }
    // One thread needs no chunks for the plain loop, unless the total or the progress is asked for.
    let is_one_row = || {
        let by_hand = loops.is_by_hand() || (any_grouping && loops.takes_longer_with_sums());
        by_hand && order == Order::Forward && heads.is_none() && !total && watch.is_none() && threads() == 1
    };
    if len <= chunk_length::<Op>() || is_one_row() {
        // SAFETY: the caller vouches for the elements.
        return unsafe { loops.scan_short(kind, order, heads, len, initial_value, total) };
    }
    let initial_value = begin(op, initial_value.copied());
    let job = Job { goal: Goal::Scan(kind), order, heads, initial_value, total, watch, ..Job::new(loops, len) };
    if any_grouping { job.by_any_grouping() } else { job }.run()
}

/// Folds `before` and `len` elements in this order: bit for bit the total of a scan. `None` of no elements without
/// `before`.
///
/// # Safety
///
/// The memory is valid for reads of `len` elements.
pub(crate) unsafe fn reduce<Op: ScanOp>(
    op: &Op,
    order: Order,
    before: Option<Op::Carry>,
    input: impl Reader<Op::Input>,
    len: usize,
    watch: Option<&Watch<'_>>,
) -> Result<Option<Op::Carry>, Error> {
    if order == Order::Reversed {
        let kind = ScanKind::Inclusive;
        let initial_value = before.as_ref();
        let how = How { kind, order, initial_value, heads: None, total: true, watch, any_grouping: false };
        // SAFETY: the caller vouches for the elements; results have no memory.
        return unsafe { scan_in(op, how, Both { input, output: Unwritten }, len) };
    }
    if len <= chunk_length::<Op>() && watch.is_none() {
        // SAFETY: the caller vouches for the elements.
        return caught(op, || unsafe { reduce_chunk(op, before, input, len) });
    }
    Job { initial_value: begin(op, before), watch, ..Job::new(folding(op, input, len), len) }.run()
}

/// The loops of a reduction. Those over vector registers need a pointer, and write nothing either.
#[inline(always)]
fn folding<Op: ScanOp, R: Reader<Op::Input>>(op: &Op, input: R, len: usize) -> Loops<'_, Op, Both<R, *mut Op::Output>> {
    Loops::new(op, Both { input, output: std::ptr::dangling_mut::<Op::Output>() }, len, true)
}

/// As [`reduce`], of a single chunk from the first element to the last, without a job, which takes longer than many a
/// short segment.
///
/// # Safety
///
/// As [`reduce`].
#[inline(always)]
unsafe fn reduce_chunk<Op: ScanOp>(
    op: &Op,
    before: Option<Op::Carry>,
    input: impl Reader<Op::Input>,
    len: usize,
) -> Option<Op::Carry> {
    // SAFETY: the caller vouches for the elements.
    unsafe { folding(op, input, len).fold_first(0..len, begin(op, before)) }
}

/// Reduces segments one after the other, each as [`reduce`] does, from the carry that `before` gives for its index.
/// `of_nothing` gives the result of a segment without elements and without a carry.
///
/// # Safety
///
/// The memory is valid for reads of the elements of all segments.
#[allow(clippy::too_many_arguments, reason = "what `reduce` has, and two more")]
pub(crate) unsafe fn reduce_each<Op: ScanOp>(
    op: &Op,
    order: Order,
    segments: impl Iterator<Item = (usize, Range<usize>)>,
    before: impl Fn(usize) -> Option<Op::Carry>,
    of_nothing: impl Fn(usize) -> Result<Op::Output, Error>,
    input: impl Reader<Op::Input>,
    watch: Option<&Watch<'_>>,
    results: &mut Vec<Op::Output>,
) -> Result<(), Error> {
    caught(op, || {
        for (index, segment) in segments {
            let (len, before) = (segment.len(), before(index));
            // SAFETY: the caller vouches for the elements.
            let total = unsafe {
                let input = input.skip(segment.start);
                // What follows takes longer than many a short segment.
                match order {
                    Order::Forward if len <= chunk_length::<Op>() && watch.is_none() => {
                        reduce_chunk(op, before, input, len)
                    }
                    _ => reduce(op, order, before, input, len, watch)?,
                }
            };
            watch.map_or(Ok(()), Watch::check)?;
            results.push(total.map_or_else(|| of_nothing(index), |total| Ok(op.project(total)))?);
        }
        Ok(())
    })?
}

/// Makes an output of a carry.
pub(crate) fn project<Op: ScanOp>(op: &Op, carry: Op::Carry) -> Result<Op::Output, Error> {
    if op.outputs_of() < OutputsOf::Totals {
        return Err(PlanError::NoProject { operator: op.source().name }.into());
    }
    caught(op, || op.project(carry))
}

/// Makes a panic of the operator an error.
#[inline(always)]
fn caught<Op: ScanOp, T>(op: &Op, work: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| stopped(op, Stop::Panicked(panic)))
}

/// Why a scan ends before its end.
enum Stop {
    Panicked(Panic),
    /// There is nothing to begin an exclusive scan with. The planner has been told otherwise.
    NoIdentity,
}

#[cold]
#[inline(never)]
fn stopped<Op: ScanOp>(op: &Op, stop: Stop) -> Error {
    error_of(op.source(), stop)
}

fn error_of(OpSource { name: operator, .. }: OpSource, stop: Stop) -> Error {
    match stop {
        Stop::Panicked(panic) => Error::OperatorPanicked { operator, message: caught::message(panic) },
        Stop::NoIdentity => PlanError::NoIdentity { operator }.into(),
    }
}

/// What comes of a job.
#[derive(Clone, Copy)]
enum Goal {
    /// Nothing is written.
    Fold,
    Scan(ScanKind),
}

/// A scan or a reduction under way.
struct Job<'a, Op: ScanOp, M> {
    loops: Loops<'a, Op, M>,
    /// Of all elements. Ranges of them are counted in the order of the scan.
    len: usize,
    goal: Goal,
    order: Order,
    /// What tells where it restarts, if it does.
    heads: Option<&'a Heads<'a>>,
    initial_value: Option<Op::Carry>,
    /// Whether anybody asks for the carry after all elements.
    total: bool,
    watch: Option<&'a Watch<'a>>,
    /// How chunks are scanned, where that is found by timing them.
    grouping: Option<Grouping>,
    carry: UnsafeCell<Option<Op::Carry>>,
    slots: Vec<UnsafeCell<MaybeUninit<Known<Op>>>>,
}

/// What is known of a chunk.
enum Known<Op: ScanOp> {
    /// What the chunk adds to what stands before it: its sum.
    Sum(Option<Op::State>),
    /// What stands after the chunk, which has been scanned, or in which a segment begins: nothing from before it
    /// reaches beyond it.
    After(Option<Op::Carry>),
    /// What stands before it.
    Before(Option<Op::Carry>),
}

// SAFETY: a cell, and a range of the elements, is one thread's at a time, as the pipeline vouches; operators and states are sent
// and shared between threads.
unsafe impl<Op: ScanOp, M> Sync for Job<'_, Op, M> {}

impl<'a, Op: ScanOp, M: Memory<Op>> Job<'a, Op, M> {
    /// A reduction.
    fn new(loops: Loops<'a, Op, M>, len: usize) -> Self {
        let (goal, order, carry) = (Goal::Fold, Order::Forward, UnsafeCell::new(None));
        let (heads, initial_value, watch, grouping) = (None, None, None, None);
        let (total, slots) = (true, Vec::new());
        Job { loops, len, goal, order, heads, initial_value, total, watch, grouping, carry, slots }
    }

    /// The same, but results may depend on the number of threads.
    fn by_any_grouping(mut self) -> Self {
        match self.loops.takes_longer_with_sums() && !self.total {
            true => self.loops = self.loops.by_hand(),
            false => self.grouping = self.loops.needs_sums().then(Grouping::new),
        }
        self
    }

    /// Scans a range the way that takes less time, and gives what stands after it.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and no other thread touches it.
    #[inline(never)]
    unsafe fn step_by_any_grouping(
        &self,
        grouping: &Grouping,
        kind: ScanKind,
        range: Range<usize>,
        before: Option<Op::Carry>,
    ) -> Option<Op::Carry> {
        let by_hand = self.loops.by_hand();
        // SAFETY: the caller vouches for the range.
        unsafe {
            match grouping.is_by_hand() {
                Some(true) => by_hand.step(kind, range, before),
                None if range.start > 0 && range.len() > grouping::TRIAL => {
                    let middle = range.start + grouping::TRIAL;
                    let trial = || by_hand.step(kind, range.start..middle, before);
                    let before = grouping.timed(true, grouping::TRIAL, trial);
                    let rest = middle..range.end;
                    grouping.timed(false, rest.len(), || self.loops.step(kind, rest, before))
                }
                _ => self.loops.step(kind, range, before),
            }
        }
    }

    #[inline(never)]
    fn run(mut self) -> Result<Option<Op::Carry>, Error> {
        let (op, len) = (self.loops.op, self.len);
        caught(op, || {
            // A single chunk needs nobody's help.
            if len <= chunk_length::<Op>() {
                // SAFETY: these are all elements, and this thread is the only one.
                let after = unsafe { self.after(0..len, self.initial_value) };
                self.count(len);
                return after;
            }
            self.carry = UnsafeCell::new(self.initial_value);
            pipeline::run(&mut self, len, chunk_length::<Op>());
            self.carry.into_inner()
        })
    }

    /// Does a range and gives what stands after it.
    ///
    /// # Safety
    ///
    /// The range is in bounds, and no other thread touches it.
    unsafe fn after(&self, range: Range<usize>, before: Option<Op::Carry>) -> Option<Op::Carry> {
        // SAFETY: the caller vouches for the range.
        unsafe {
            match (self.heads, self.goal) {
                (_, Goal::Scan(kind)) if self.order == Order::Reversed => self.scan_back(kind, range, before),
                (Some(heads), Goal::Scan(kind)) => self.scan_segments(kind, heads, range, before),
                (None, Goal::Scan(kind)) => match &self.grouping {
                    Some(grouping) => self.step_by_any_grouping(grouping, kind, range, before),
                    None => self.loops.step(kind, range, before),
                },
                (_, Goal::Fold) if range.start == 0 || self.loops.folds_by_steps() => {
                    self.loops.fold_first(range, before)
                }
                (_, Goal::Fold) => self.loops.fold(range).map(|sum| self.loops.join(before, sum)).or(before),
            }
        }
    }

    /// Counts elements that are done.
    fn count(&self, elements: usize) {
        if let Some(watch) = self.watch {
            watch.add(elements);
        }
    }

    /// What stands before a part of the elements, and the sum of the part.
    #[inline(always)]
    fn join_sum(&self, before: Option<Op::Carry>, sum: Op::State) -> Op::Carry {
        match (before, self.order) {
            (Some(before), Order::Reversed) => self.loops.op.apply_back(sum, before),
            _ => self.loops.join(before, sum),
        }
    }
}

// SAFETY of the blocks below: the caller of each function vouches for what it touches.
impl<Op: ScanOp, M: Memory<Op>> Chunks for Job<'_, Op, M> {
    fn at_once(&self, threads: usize) -> bool {
        match self.goal {
            // Of other operators folding costs no more.
            Goal::Fold => self.loops.folds_by_steps(),
            Goal::Scan(_) => self.order == Order::Reversed || self.loops.at_once(threads),
        }
    }

    unsafe fn gains_by(&self, threads: usize, rest: Range<usize>, element: f64) -> bool {
        // What folds writes nothing. Rounded states are folded by one thread as well.
        match self.goal {
            Goal::Scan(_) => return !self.loops.memory.is_for_one_thread(),
            Goal::Fold if !self.loops.folds_by_steps() => return true,
            Goal::Fold => {}
        }
        let trial = rest.start..rest.end.min(rest.start + sharing::TRIAL);
        // SAFETY: see above.
        let fold = sharing::shortest(|| _ = black_box(unsafe { self.loops.fold(black_box(trial.clone())) }));
        sharing::gains(element, fold / trial.len() as f64, threads)
    }

    fn is_stopped(&self) -> bool {
        self.watch.is_some_and(Watch::is_stopped)
    }

    fn make_slots(&mut self, count: usize) {
        self.slots.reserve_exact(count);
        // SAFETY: there is room for so many, and nothing need be in them.
        unsafe { self.slots.set_len(count) };
    }

    unsafe fn step(&self, range: Range<usize>) {
        // SAFETY: see above.
        unsafe { *self.carry.get() = self.after(range.clone(), *self.carry.get()) }
        self.count(range.len());
    }

    unsafe fn step_to_end(&self, rest: Range<usize>) -> bool {
        let by_hand = self.loops.is_by_hand() || self.grouping.as_ref().is_some_and(|g| g.is_by_hand() == Some(true));
        match self.goal {
            Goal::Scan(kind)
                if by_hand
                    && self.order == Order::Forward
                    && self.heads.is_none()
                    && self.watch.is_none()
                    && !self.total =>
            {
                // SAFETY: see above. As one row, of whose carry the loop leaves out what no result needs.
                unsafe {
                    let before = (*self.carry.get()).as_ref();
                    self.loops.scan_rows(kind, self.order, rest.len(), rest, before, false);
                }
                true
            }
            _ => false,
        }
    }

    unsafe fn step_into_slot(&self, index: usize, range: Range<usize>) {
        // SAFETY: see above.
        unsafe {
            let after = self.after(range.clone(), *self.carry.get());
            *self.slots[index].get() = MaybeUninit::new(Known::After(after));
        }
        self.count(range.len());
    }

    unsafe fn fold(&self, index: usize, range: Range<usize>) {
        // SAFETY: see above.
        unsafe {
            let known = match self.heads {
                _ if self.order == Order::Reversed => self.fold_back(range),
                Some(heads) => self.fold_segments(heads, range),
                None => Known::Sum(self.loops.fold(range)),
            };
            *self.slots[index].get() = MaybeUninit::new(known);
        }
    }

    unsafe fn join(&self, index: usize) {
        // SAFETY: see above; whatever is in the slot has been written there.
        unsafe {
            let (carry, slot) = (&mut *self.carry.get(), &mut *self.slots[index].get());
            let before = *carry;
            match slot.assume_init_read() {
                Known::After(after) => *carry = after,
                Known::Sum(Some(sum)) => *carry = Some(self.join_sum(before, sum)),
                Known::Sum(None) | Known::Before(_) => {}
            }
            slot.write(Known::Before(before));
        }
    }

    unsafe fn finish(&self, index: usize, range: Range<usize>) {
        // SAFETY: see above; it has been joined.
        unsafe {
            let Known::Before(before) = (*self.slots[index].get()).assume_init_read() else { return };
            match (self.heads, self.goal) {
                (_, Goal::Fold) => {}
                (_, Goal::Scan(kind)) if self.order == Order::Reversed => {
                    _ = self.scan_back(kind, range.clone(), before)
                }
                (None, Goal::Scan(kind)) => match &self.grouping {
                    Some(grouping) if grouping.is_by_hand() == Some(true) => {
                        self.loops.by_hand().finish(kind, range.clone(), before)
                    }
                    _ => self.loops.finish(kind, range.clone(), before),
                },
                (Some(heads), Goal::Scan(kind)) => _ = self.scan_segments(kind, heads, range.clone(), before),
            }
        }
        self.count(range.len());
    }
}

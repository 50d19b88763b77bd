//! Chunks done by several threads in one pass over memory.
//!
//! The threads take the chunks in order. One whose turn has not come folds its chunk first, waits until what stands before
//! it is known, passes on what stands after it, and only then scans the chunk, which is in its cache by now. One whose turn
//! has come already scans at once. The calling thread works like the others and asks for their help only where the first
//! chunk has shown that it pays. Nothing is allocated for a chunk: what stands before the next one is a single value, which
//! passes from turn to turn.
//!
//! Which of the two ways a chunk goes depends on timing. The result does not: see [`Chunks::step`].

use std::{
    cell::UnsafeCell,
    hint, mem,
    ops::Range,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use rayon::Scope;

/// Work on a row of chunks, each of which needs to know what stands before it.
pub(super) trait Chunks: Sync {
    /// What stands before a chunk.
    type Carry: Copy + Send;
    /// What a chunk adds to that.
    type Fold;

    /// Whether a chunk whose turn has come is scanned at once, rather than folded first. It saves the fold, and makes the
    /// next chunk wait for a scan in place of a fold.
    fn at_once(&self, threads: usize) -> bool;

    /// Folds a chunk, which is never the first.
    fn fold(&self, range: Range<usize>) -> Self::Fold;

    /// What stands after a chunk, by what stands before it and its fold.
    fn join(&self, before: Self::Carry, fold: Self::Fold) -> Self::Carry;

    /// Does a chunk and gives what stands after it. But for the first chunk, that must be the same, bit for bit, as `join`
    /// gives of its `fold`.
    fn step(&self, range: Range<usize>, before: Self::Carry) -> Self::Carry;

    /// Does a chunk after which it is already known what stands there.
    fn finish(&self, range: Range<usize>, before: Self::Carry);
}

/// How long the rest must take on one thread for others to be woken.
const WORTH_HELP: Duration = if cfg!(test) { Duration::ZERO } else { Duration::from_micros(60) };

/// How often a thread looks whether its turn has come before it lets others have the processor.
const PATIENCE: u32 = 256;

/// Does `len` elements in chunks of `chunk`, and gives what stands after them.
#[inline]
pub(super) fn run<C: Chunks>(chunks: &C, len: usize, chunk: usize, before: C::Carry) -> C::Carry {
    if len <= chunk { chunks.step(0..len, before) } else { run_long(chunks, len, chunk, before) }
}

#[inline(never)]
fn run_long<C: Chunks>(chunks: &C, len: usize, chunk: usize, before: C::Carry) -> C::Carry {
    let count = len.div_ceil(chunk);
    let range = |index: usize| index * chunk..len.min((index + 1) * chunk);

    let begin = Instant::now();
    let mut carry = chunks.step(range(0), before);
    let rest = begin.elapsed().saturating_mul(u32::try_from(count - 1).unwrap_or(u32::MAX));
    let threads = if rest < WORTH_HELP { 1 } else { rayon::current_num_threads().min(count - 1) };
    if threads == 1 {
        for index in 1..count {
            carry = chunks.step(range(index), carry);
        }
        return carry;
    }

    let line = Line {
        chunks,
        range,
        count,
        at_once: chunks.at_once(threads),
        next: Apart(AtomicUsize::new(1)),
        turn: Apart(AtomicUsize::new(1)),
        carry: UnsafeCell::new(carry),
    };
    rayon::in_place_scope(|scope| {
        call_for_help(scope, &line, threads - 1);
        line.work();
    });
    line.carry.into_inner()
}

/// Wakes helpers, each of which wakes others: so the caller has soon done its part.
fn call_for_help<'s, C: Chunks, R: Fn(usize) -> Range<usize> + Sync>(
    scope: &Scope<'s>,
    line: &'s Line<'s, C, R>,
    helpers: usize,
) {
    let Some(others) = helpers.checked_sub(1) else { return };
    let half = others / 2;
    scope.spawn(move |scope| {
        call_for_help(scope, line, half);
        line.work();
    });
    call_for_help(scope, line, others - half);
}

/// On a cache line that nothing else is on.
#[repr(align(128))]
struct Apart<T>(T);

/// In place of a turn where a thread has panicked: nobody's turn comes any more.
const BROKEN: usize = usize::MAX;

/// The row of chunks at which several threads work.
struct Line<'c, C: Chunks, R> {
    chunks: &'c C,
    range: R,
    count: usize,
    at_once: bool,
    /// The next chunk that nobody has taken.
    next: Apart<AtomicUsize>,
    /// The chunk before which everything is folded into `carry`.
    turn: Apart<AtomicUsize>,
    /// What stands before the chunk whose turn it is.
    carry: UnsafeCell<C::Carry>,
}

// SAFETY: only the thread that has taken chunk `turn` touches `carry`, and it passes it on by a release of `turn`, which the
// next one acquires. The rest is only read.
unsafe impl<C: Chunks, R: Sync> Sync for Line<'_, C, R> {}

impl<C: Chunks, R: Fn(usize) -> Range<usize>> Line<'_, C, R> {
    fn work(&self) {
        let breaks = BreakOnPanic(&self.turn.0);
        loop {
            // Whoever has taken an earlier chunk is at work on it, so that every wait ends.
            let index = self.next.0.fetch_add(1, Ordering::Relaxed);
            if index >= self.count || self.take(index).is_none() {
                break;
            }
        }
        mem::forget(breaks);
    }

    /// Does a chunk; `None` where its turn will not come.
    fn take(&self, index: usize) -> Option<()> {
        let range = (self.range)(index);
        let last = index + 1 == self.count;
        if last || (self.at_once && self.turn.0.load(Ordering::Relaxed) == index) {
            let before = self.wait(index)?;
            self.pass_on(index, self.chunks.step(range, before));
        } else {
            let fold = self.chunks.fold(range.clone());
            let before = self.wait(index)?;
            self.pass_on(index, self.chunks.join(before, fold));
            self.chunks.finish(range, before);
        }
        Some(())
    }

    /// Waits for the turn of a chunk; `None` where it will not come.
    fn wait(&self, index: usize) -> Option<C::Carry> {
        let mut looks = 0_u32;
        loop {
            match self.turn.0.load(Ordering::Acquire) {
                // SAFETY: it is the turn of this thread's chunk, so no other thread touches the value.
                turn if turn == index => return Some(unsafe { *self.carry.get() }),
                BROKEN => return None,
                _ if looks < PATIENCE => hint::spin_loop(),
                _ => thread::yield_now(),
            }
            looks = looks.saturating_add(1);
        }
    }

    fn pass_on(&self, index: usize, carry: C::Carry) {
        // SAFETY: it still is the turn of this thread's chunk.
        unsafe { *self.carry.get() = carry };
        // Where another thread has panicked meanwhile, the line stays broken.
        let _ = self.turn.0.compare_exchange(index, index + 1, Ordering::Release, Ordering::Relaxed);
    }
}

/// Keeps the other threads from waiting for one that panicked: it is dropped in no other case.
struct BreakOnPanic<'a>(&'a AtomicUsize);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        self.0.store(BROKEN, Ordering::Release);
    }
}

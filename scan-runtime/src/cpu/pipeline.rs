//! Chunks done by several threads in one pass over memory.
//!
//! The threads take the chunks in order. One whose turn has not come folds its chunk, and scans it as soon as what stands
//! before it is known, which is mostly at once: then it still lies in the cache. One whose turn has come already scans
//! without folding. The calling thread works like the others, and calls for their help only where the first chunk has shown
//! that it pays.
//!
//! No thread waits for another while there is something else to do: what is folded is joined by whoever comes by, and a thread
//! that the system has put aside keeps the others from scanning, but not from folding. A helper that has not come by the end
//! is not waited for.
//!
//! Which way a chunk goes depends on timing. The result does not: see [`Chunks::step`].

mod help;

use std::{
    collections::VecDeque,
    hint, mem,
    ops::Range,
    sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering},
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use help::Work;

/// Work on a row of chunks, each of which needs to know what stands before it.
///
/// The values stay with whoever implements this: the carry, which is what stands before the chunk whose turn it is, and a slot for
/// each chunk. So all of this module is compiled once, and not for every operator anew.
///
/// # Safety
///
/// Every function wants ranges that are in bounds, and wants to be the only one at work on its range, its slot and, but for `fold`
/// and `finish`, the carry.
pub(super) trait Chunks: Sync {
    /// Whether a chunk whose turn has come is scanned at once, rather than folded first. It saves the fold, and makes the
    /// next chunk wait for a scan in place of a fold.
    fn at_once(&self, threads: usize) -> bool;

    /// Makes slots for so many chunks.
    fn make_slots(&mut self, count: usize);

    /// Does a chunk whose turn has come, and makes the carry what stands after it. But for the first chunk, that must be the
    /// same, bit for bit, as folding and joining gives.
    unsafe fn step(&self, range: Range<usize>);

    /// As [`step`](Chunks::step), but what stands after the chunk goes to its slot, and the carry stays.
    unsafe fn step_into_slot(&self, index: usize, range: Range<usize>);

    /// Folds a chunk, which is never the first, into its slot.
    unsafe fn fold(&self, index: usize, range: Range<usize>);

    /// Makes the carry what stands after a chunk, by what is in its slot, and leaves there what stands before it.
    unsafe fn join(&self, index: usize);

    /// Does a chunk in whose slot is what stands before it.
    unsafe fn finish(&self, index: usize, range: Range<usize>);
}

/// How long the rest must take on one thread for others to be woken. That takes some 10 µs, and a thread that the system puts
/// aside in the midst of a chunk costs more than a short scan.
const WORTH_HELP: Duration = if cfg!(test) { Duration::ZERO } else { Duration::from_micros(200) };

/// How long the calling thread measures its own speed, and in how many chunks at most.
const TO_MEASURE: Duration = Duration::from_micros(if cfg!(test) { 0 } else { 30 });
const MOST_ALONE: usize = 16;

/// How long helpers are watched, and how much faster than alone the whole must be for them to stay. Where one thread takes all
/// that the memory gives, several only get into each other's way.
const TO_WATCH: Duration = Duration::from_micros(if cfg!(test) { 100 } else { 400 });
const WORTH_KEEPING: f64 = 1.15;

/// How often a thread looks for what stands before its chunk until it folds another one meanwhile.
const PATIENCE: u32 = 256;

/// Does `len` elements in chunks of `chunk`. Then the carry is what stands after them.
pub(super) fn run(chunks: &mut dyn Chunks, len: usize, chunk: usize) {
    let count = len.div_ceil(chunk);
    let range = |index: usize| index * chunk..len.min((index + 1) * chunk);
    // SAFETY: this thread is the only one, takes the chunks in order, and the ranges are in bounds; so below, too.
    let step = |chunks: &dyn Chunks, index| unsafe { chunks.step(range(index)) };
    if count <= 1 {
        return step(chunks, 0);
    }

    // Alone, until it is known how fast that goes.
    let begin = Instant::now();
    step(chunks, 0);
    let mut first = 1;
    while first < count && first < MOST_ALONE && begin.elapsed() < TO_MEASURE {
        step(chunks, first);
        first += 1;
    }
    let a_chunk_alone = begin.elapsed().as_secs_f64() / first as f64;
    let rest = a_chunk_alone * (count - first) as f64;
    let threads = if rest < WORTH_HELP.as_secs_f64() { 1 } else { rayon::current_num_threads().min(count - first) };
    if threads <= 1 {
        for index in first..count {
            step(chunks, index);
        }
        return;
    }

    chunks.make_slots(count);
    let line = Line {
        at_once: chunks.at_once(threads),
        chunks,
        len,
        chunk,
        caller: thread::current().id(),
        first,
        a_chunk_alone,
        alone: AtomicBool::new(false),
        next: Apart(AtomicUsize::new(first)),
        turn: Apart(AtomicUsize::new(first)),
        joining: AtomicBool::new(false),
        broken: AtomicBool::new(false),
        states: (0..count).map(|_| AtomicU8::new(OPEN)).collect(),
    };
    help::work_together(&line, threads - 1);
}

/// On a cache line that nothing else is on.
#[repr(align(128))]
struct Apart<T>(T);

/// The row of chunks at which several threads work.
///
/// A slot of the chunks is handed on by its state, which is stored after the slot has been touched and loaded before it is. The
/// carry belongs to the thread that has set `joining`; while the slot of `turn` is open, that thread leaves it alone, and the one
/// that has taken this chunk reads it.
struct Line<'c> {
    chunks: &'c dyn Chunks,
    len: usize,
    chunk: usize,
    at_once: bool,
    /// The thread that has called for help.
    caller: ThreadId,
    /// The first chunk that it did not do alone.
    first: usize,
    /// The seconds that it took for a chunk.
    a_chunk_alone: f64,
    /// Whether it goes on alone.
    alone: AtomicBool,
    /// The next chunk that nobody has taken.
    next: Apart<AtomicUsize>,
    /// The chunk before which everything is in the carry.
    turn: Apart<AtomicUsize>,
    /// Whether a thread is joining.
    joining: AtomicBool,
    /// Whether a thread has panicked.
    broken: AtomicBool,
    /// What is known of each chunk.
    states: Vec<AtomicU8>,
}

/// The slot is that of the thread that has taken the chunk.
const OPEN: u8 = 0;
/// The slot is that of the thread that joins.
const DONE: u8 = 1;
/// The slot holds what stands before the chunk, and stays as it is.
const KNOWN: u8 = 2;

impl Work for Line<'_> {
    fn work(&self) {
        let breaks = BreakOnPanic(&self.broken);
        self.take_chunks();
        mem::forget(breaks);
    }
}

impl Line<'_> {
    /// Takes chunks while there are some. Stops early only where another thread has panicked.
    fn take_chunks(&self) -> Option<()> {
        let count = self.states.len();
        // Those that this thread has folded and not scanned.
        let mut pending = VecDeque::new();
        let mut watch = (thread::current().id() == self.caller).then(|| (Instant::now(), self.first));
        loop {
            match &mut watch {
                Some(watch) => self.watch(watch),
                None if self.alone.load(Ordering::Relaxed) => return self.finish(&mut pending, u32::MAX),
                None => {}
            }
            let index = self.next.0.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return self.finish(&mut pending, u32::MAX);
            }
            if index + 1 == count {
                // The last one's fold is not needed.
                self.finish(&mut pending, u32::MAX)?;
                self.wait(u32::MAX, || self.turn.0.load(Ordering::Acquire) == index)?;
            }
            if (self.at_once || index + 1 == count) && self.turn.0.load(Ordering::Acquire) == index {
                // SAFETY: it is the turn of this thread's chunk, whose slot is open.
                unsafe { self.chunks.step_into_slot(index, self.range(index)) };
                self.publish(index);
            } else {
                // SAFETY: the chunk is this thread's, and its slot is open.
                unsafe { self.chunks.fold(index, self.range(index)) };
                self.publish(index);
                pending.push_back(index);
                self.finish(&mut pending, PATIENCE);
            }
            if self.broken.load(Ordering::Relaxed) {
                return None;
            }
        }
    }

    /// Sends the helpers away if they have been of no use since the watch began at this time and chunk.
    fn watch(&self, (since, from): &mut (Instant, usize)) {
        let elapsed = since.elapsed();
        if elapsed < TO_WATCH {
            return;
        }
        let turn = self.turn.0.load(Ordering::Relaxed);
        let alone = self.a_chunk_alone * (turn - *from) as f64;
        if alone < elapsed.as_secs_f64() * WORTH_KEEPING {
            self.alone.store(true, Ordering::Relaxed);
        }
        (*since, *from) = (Instant::now(), turn);
    }

    fn range(&self, index: usize) -> Range<usize> {
        index * self.chunk..self.len.min((index + 1) * self.chunk)
    }

    /// Scans the chunks before which it is known what stands; `None` where patience ends before the chunks do.
    fn finish(&self, pending: &mut VecDeque<usize>, patience: u32) -> Option<()> {
        while let Some(&index) = pending.front() {
            self.wait(patience, || self.states[index].load(Ordering::Acquire) == KNOWN)?;
            pending.pop_front();
            // SAFETY: this thread has folded the chunk, and its slot stays as it is.
            unsafe { self.chunks.finish(index, self.range(index)) };
        }
        Some(())
    }

    /// Waits as long as patience lasts, or for ever if it is the greatest; but not where a thread has panicked.
    fn wait(&self, patience: u32, mut done: impl FnMut() -> bool) -> Option<()> {
        let mut looks = 0_u32;
        while !done() {
            if self.broken.load(Ordering::Relaxed) || (looks >= patience && patience != u32::MAX) {
                return None;
            }
            if looks < PATIENCE {
                hint::spin_loop()
            } else {
                thread::yield_now()
            }
            looks = looks.saturating_add(1);
        }
        Some(())
    }

    /// Says that something is known of a chunk that this thread has taken.
    fn publish(&self, index: usize) {
        self.states[index].store(DONE, Ordering::SeqCst);
        self.join();
    }

    /// Joins all chunks that can be, unless another thread is at it.
    fn join(&self) {
        loop {
            if self.joining.swap(true, Ordering::SeqCst) {
                // That thread will see what this one has published.
                return;
            }
            let mut turn = self.turn.0.load(Ordering::Relaxed);
            while let Some(state) = self.states.get(turn)
                && state.load(Ordering::Acquire) == DONE
            {
                // SAFETY: this thread joins, the slot is done, and its chunk's turn has come.
                unsafe { self.chunks.join(turn) };
                state.store(KNOWN, Ordering::Release);
                turn += 1;
                self.turn.0.store(turn, Ordering::Release);
            }
            self.joining.swap(false, Ordering::SeqCst);
            // A thread that came by meanwhile has gone on, in the belief that this one sees to its chunk.
            if self.states.get(turn).is_none_or(|state| state.load(Ordering::SeqCst) != DONE) {
                return;
            }
        }
    }
}

/// Keeps the other threads from waiting for one that panicked: it is dropped in no other case.
struct BreakOnPanic<'a>(&'a AtomicBool);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

//! Chunks processed by several threads in one pass over memory.
//!
//! The threads take the chunks in order. If the prefix of its chunk is not known yet, a thread folds the chunk, and
//! scans it as soon as the prefix is known. That is mostly at once, while the chunk is still in the cache. If the
//! prefix is known already, the thread scans without folding. The calling thread works like the others. It calls for
//! their help only if the first chunks show that this pays.
//!
//! No thread waits for another while there is other work: any thread joins folded chunks to the carry. A thread that
//! the system has suspended keeps the others from scanning, but not from folding. The pipeline does not wait for a
//! helper that has not started by the end.
//!
//! Timing decides whether a chunk is folded first. The result does not depend on it: see [`Chunks::step`].
//!
//! All communication between threads goes through [`Line`] and [`Gate`](gate::Gate).

mod gate;
pub(super) mod help;
mod line;
#[cfg(all(test, not(miri)))]
mod model;

use std::{
    ops::Range,
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use crate::primitives;
use help::Work;
use line::Line;

/// Work on a row of chunks, each of which needs its exclusive prefix.
///
/// The implementor holds the values: the carry, which is the exclusive prefix of the chunk whose turn it is, and a slot
/// for each chunk. So this module is compiled once, and not for every operator.
///
/// # Safety
///
/// Every function requires ranges that are in bounds, and exclusive access to its range, its slot and, except for
/// `fold` and `finish`, the carry.
pub(super) trait Chunks: Sync {
    /// Whether a chunk whose turn has come is scanned at once, rather than folded first. That saves the fold, but the
    /// next chunk waits for a scan instead of a fold.
    fn at_once(&self, threads: usize) -> bool;

    /// Whether `threads` of them may work on the rest, and are expected to take less time than one, which has taken
    /// `element` seconds for each element.
    unsafe fn gains_by(&self, threads: usize, rest: Range<usize>, element: f64) -> bool;

    /// Whether no further chunk is to be done.
    fn is_stopped(&self) -> bool;

    /// Makes slots for `count` chunks.
    fn make_slots(&mut self, count: usize);

    /// Scans the chunk whose turn it is, and sets the carry to the prefix after it. Except for the first chunk, that
    /// must be the same, bit for bit, as by folding and joining.
    unsafe fn step(&self, range: Range<usize>);

    /// Scans all elements from here on at once, if nothing else than their results is needed: neither a prefix, as the
    /// carry, nor their number on the way. Whether it has done so.
    unsafe fn step_to_end(&self, rest: Range<usize>) -> bool;

    /// As [`step`](Chunks::step), but stores the prefix after the chunk in its slot, and leaves the carry unchanged.
    unsafe fn step_into_slot(&self, index: usize, range: Range<usize>);

    /// Folds a chunk, which is never the first, into its slot.
    unsafe fn fold(&self, index: usize, range: Range<usize>);

    /// Replaces the fold in a chunk's slot by its exclusive prefix, and sets the carry to the prefix after the chunk.
    unsafe fn join(&self, index: usize);

    /// Scans a chunk whose slot has its exclusive prefix.
    unsafe fn finish(&self, index: usize, range: Range<usize>);
}

/// Other threads are woken only if the rest takes at least this long on one thread. Waking takes some 10 µs, and a
/// thread that the system suspends in the middle of a chunk costs more than a short scan.
pub(super) const WORTH_HELP: Duration = if cfg!(test) { Duration::ZERO } else { Duration::from_micros(200) };

/// How long the calling thread measures its own speed, and in how many chunks at most.
pub(super) const TO_MEASURE: Duration = Duration::from_micros(if cfg!(test) { 0 } else { 30 });
const MAX_ALONE: usize = 16;

/// How long the effect of helpers is measured, and the minimum speedup for them to stay. If one thread saturates the
/// memory bandwidth, several only slow each other down.
const TO_WATCH: Duration = Duration::from_micros(if cfg!(test) { 100 } else { 400 });
const WORTH_KEEPING: f64 = 1.15;

/// Processes `len` elements in chunks of `chunk`, until that is [stopped](Chunks::is_stopped). Then the carry is the
/// prefix after them.
pub(super) fn run(chunks: &mut dyn Chunks, len: usize, chunk: usize) {
    let count = len.div_ceil(chunk);
    let range = |index: usize| index * chunk..len.min((index + 1) * chunk);
    // SAFETY: this thread is the only one, takes the chunks in order, and the ranges are in bounds; so below, too.
    let step = |chunks: &dyn Chunks, index| unsafe { chunks.step(range(index)) };
    if count <= 1 {
        return step(chunks, 0);
    }

    // Alone, until the speed is measured.
    let begin = Instant::now();
    step(chunks, 0);
    let mut first = 1;
    while first < count && !chunks.is_stopped() && first < MAX_ALONE && begin.elapsed() < TO_MEASURE {
        step(chunks, first);
        first += 1;
    }
    let a_chunk_alone = begin.elapsed().as_secs_f64() / first as f64;
    let rest = a_chunk_alone * (count - first) as f64;
    let threads = if rest < WORTH_HELP.as_secs_f64() { 1 } else { help::threads().min(count - first) };
    let element = a_chunk_alone / chunk as f64;
    // SAFETY: this thread is the only one, and the range is in bounds.
    if threads <= 1 || !unsafe { chunks.gains_by(threads, first * chunk..len, element) } {
        for index in first..count {
            // SAFETY: as above, of all chunks that are left.
            if chunks.is_stopped() || unsafe { chunks.step_to_end(index * chunk..len) } {
                return;
            }
            step(chunks, index);
        }
        return;
    }

    chunks.make_slots(count);
    let line = Line::new(chunks, len, chunk, first, chunks.at_once(threads));
    help::work_together(&Watched { line, caller: thread::current().id(), first, a_chunk_alone }, threads - 1);
}

/// A line at which helpers work as long as they speed it up.
struct Watched<'c> {
    line: Line<'c>,
    /// The thread that has called for help.
    caller: ThreadId,
    /// The first chunk that it did not do alone.
    first: usize,
    /// The seconds that it took for a chunk.
    a_chunk_alone: f64,
}

impl Work for Watched<'_> {
    fn work(&self) {
        let mut watch = (thread::current().id() == self.caller).then(|| (Instant::now(), self.first));
        self.line.work(|| match &mut watch {
            Some(watch) => {
                self.watch(watch);
                false
            }
            None => self.line.is_for_one(),
        });
    }
}

impl Watched<'_> {
    /// Dismisses the helpers if they have brought no speedup since this time and chunk.
    fn watch(&self, (since, from): &mut (Instant, usize)) {
        let elapsed = since.elapsed();
        if elapsed < TO_WATCH {
            return;
        }
        let turn = self.line.turn();
        let alone = self.a_chunk_alone * (turn - *from) as f64;
        if alone < elapsed.as_secs_f64() * WORTH_KEEPING {
            self.line.leave_to_one();
        }
        (*since, *from) = (Instant::now(), turn);
    }
}

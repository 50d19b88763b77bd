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
//!
//! What threads hand to each other goes through [`Line`] and [`Gate`](gate::Gate) alone.

mod gate;
mod help;
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
    let line = Line::new(chunks, len, chunk, first, chunks.at_once(threads));
    help::work_together(&Watched { line, caller: thread::current().id(), first, a_chunk_alone }, threads - 1);
}

/// A line at which helpers work as long as they are of use.
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
    /// Sends the helpers away if they have been of no use since the watch began at this time and chunk.
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

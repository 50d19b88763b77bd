//! The row of chunks at which several threads work, and how ownership of chunks passes between them.

use std::{collections::VecDeque, mem, ops::Range, sync::atomic::Ordering};

use super::{
    Chunks,
    primitives::{AtomicBool, AtomicU8, AtomicUsize, PATIENCE, spin_loop, yield_now},
};

/// A value on a cache line of its own.
#[repr(align(128))]
struct Apart<T>(T);

/// The row of chunks at which several threads work.
///
/// The state of a slot passes its ownership on: a thread stores it after accessing the slot, and loads it before. The
/// carry belongs to the thread that has set `joining`. While the slot of `turn` is open, that thread does not access
/// the carry, and the thread that has taken this chunk reads it.
pub(super) struct Line<'c> {
    chunks: &'c dyn Chunks,
    len: usize,
    chunk: usize,
    at_once: bool,
    /// Whether the thread that has called for help continues alone.
    alone: AtomicBool,
    /// The next chunk that no thread has taken.
    next: Apart<AtomicUsize>,
    /// The chunk whose exclusive prefix is the carry.
    turn: Apart<AtomicUsize>,
    /// Whether a thread is joining.
    joining: AtomicBool,
    /// Whether a thread has panicked, or the work is stopped.
    broken: AtomicBool,
    /// The state of each chunk's slot.
    states: Vec<AtomicU8>,
}

/// The slot belongs to the thread that has taken the chunk.
const OPEN: u8 = 0;
/// The slot belongs to the thread that joins.
const DONE: u8 = 1;
/// The slot holds the exclusive prefix of the chunk, and does not change any more.
const KNOWN: u8 = 2;

impl<'c> Line<'c> {
    /// `len` elements in chunks of `chunk`, all of which before chunk `first` are done.
    pub(super) fn new(chunks: &'c dyn Chunks, len: usize, chunk: usize, first: usize, at_once: bool) -> Self {
        Line {
            chunks,
            len,
            chunk,
            at_once,
            alone: AtomicBool::new(false),
            next: Apart(AtomicUsize::new(first)),
            turn: Apart(AtomicUsize::new(first)),
            joining: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            states: (0..len.div_ceil(chunk)).map(|_| AtomicU8::new(OPEN)).collect(),
        }
    }

    /// Works until no chunk is left, or `leaves` returns true, which leaves the rest to others.
    pub(super) fn work(&self, leaves: impl FnMut() -> bool) {
        let breaks = BreakOnPanic(&self.broken);
        self.take_chunks(leaves);
        mem::forget(breaks);
    }

    /// The chunk whose turn it is: its exclusive prefix is the carry.
    pub(super) fn turn(&self) -> usize {
        self.turn.0.load(Ordering::Relaxed)
    }

    /// Whether helpers must leave the rest to the thread that has called them.
    pub(super) fn is_for_one(&self) -> bool {
        self.alone.load(Ordering::Relaxed)
    }

    /// Makes helpers leave the rest to the thread that has called them.
    pub(super) fn leave_to_one(&self) {
        self.alone.store(true, Ordering::Relaxed);
    }

    /// Takes chunks until none is left. Stops early only if another thread has panicked, or the work is stopped.
    fn take_chunks(&self, mut leaves: impl FnMut() -> bool) -> Option<()> {
        let count = self.states.len();
        // Those that this thread has folded and not scanned.
        let mut pending = VecDeque::new();
        loop {
            if leaves() {
                return self.finish(&mut pending, u32::MAX);
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
                // Where patience ends, there are chunks to fold.
                self.finish(&mut pending, PATIENCE);
            }
            self.go_on()?;
        }
    }

    /// `None` if no further chunk is to be done.
    fn go_on(&self) -> Option<()> {
        if self.chunks.is_stopped() {
            self.broken.store(true, Ordering::Relaxed);
        }
        (!self.broken.load(Ordering::Relaxed)).then_some(())
    }

    fn range(&self, index: usize) -> Range<usize> {
        index * self.chunk..self.len.min((index + 1) * self.chunk)
    }

    /// Scans the pending chunks whose prefix is known; `None` if patience ends before the chunks do.
    fn finish(&self, pending: &mut VecDeque<usize>, patience: u32) -> Option<()> {
        while let Some(&index) = pending.front() {
            self.wait(patience, || self.states[index].load(Ordering::Acquire) == KNOWN)?;
            pending.pop_front();
            // SAFETY: this thread has folded the chunk, and its slot stays as it is.
            unsafe { self.chunks.finish(index, self.range(index)) };
            self.go_on()?;
        }
        Some(())
    }

    /// Polls up to `patience` times, or for ever if it is `u32::MAX`; stops if a thread has panicked.
    fn wait(&self, patience: u32, mut done: impl FnMut() -> bool) -> Option<()> {
        let mut looks = 0_u32;
        while !done() {
            if self.broken.load(Ordering::Relaxed) || (looks >= patience && patience != u32::MAX) {
                return None;
            }
            if looks < PATIENCE {
                spin_loop()
            } else {
                yield_now()
            }
            looks = looks.saturating_add(1);
        }
        Some(())
    }

    /// Publishes the slot of a chunk that this thread has taken.
    fn publish(&self, index: usize) {
        self.states[index].store(DONE, Ordering::SeqCst);
        self.join();
    }

    /// Joins all chunks that can be joined, unless another thread is joining.
    fn join(&self) {
        loop {
            if self.joining.swap(true, Ordering::SeqCst) {
                // The joining thread will see the slots that this one has published.
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
            // A thread that published meanwhile has gone on, relying on this one to join its chunk.
            if self.states.get(turn).is_none_or(|state| state.load(Ordering::SeqCst) != DONE) {
                return;
            }
        }
    }
}

/// Keeps the other threads from waiting for one that panicked: it is dropped only by a panic.
struct BreakOnPanic<'a>(&'a AtomicBool);

impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

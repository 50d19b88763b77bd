//! The pieces of a copy that several threads share, each taken by one of them.

use std::sync::atomic::Ordering;

use super::primitives::{AtomicUsize, PATIENCE, spin_loop, yield_now};

/// A number of pieces. Threads take one after the other.
pub(super) struct Pieces {
    count: usize,
    /// The number of taken pieces; it may exceed the number of pieces.
    taken: AtomicUsize,
    /// The number of copied pieces.
    copied: AtomicUsize,
}

impl Pieces {
    pub(super) fn new(count: usize) -> Self {
        Pieces { count, taken: AtomicUsize::new(0), copied: AtomicUsize::new(0) }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Copies pieces until none is left to take.
    pub(super) fn work(&self, copy: impl Fn(usize)) {
        loop {
            let piece = self.taken.fetch_add(1, Ordering::Relaxed);
            if piece >= self.count {
                return;
            }
            copy(piece);
            self.copied.fetch_add(1, Ordering::Release);
        }
    }

    /// Waits, once all pieces are taken, until all are copied. A late thread finds no piece and touches nothing; a
    /// thread with a piece is copying it now.
    pub(super) fn wait(&self) {
        let mut looks = 0_u32;
        while self.copied.load(Ordering::Acquire) < self.count {
            if looks < PATIENCE {
                spin_loop()
            } else {
                yield_now()
            }
            looks = looks.saturating_add(1);
        }
    }
}

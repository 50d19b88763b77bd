//! Admits threads to work that is on another thread's stack, until that thread closes the gate.

use std::sync::atomic::Ordering;

use super::primitives::{AtomicUsize, PATIENCE, spin_loop, yield_now};

/// Admits helpers until it is closed.
pub(super) struct Gate {
    /// How many are in, and [`CLOSED`].
    inside: AtomicUsize,
}

/// The flag of a closed gate.
const CLOSED: usize = 1 << (usize::BITS - 1);

impl Gate {
    pub(super) fn new() -> Self {
        Gate { inside: AtomicUsize::new(0) }
    }

    /// Admits a thread, which must [leave](Gate::leave) later; `false` if the gate is closed.
    pub(super) fn enter(&self) -> bool {
        let before = self.inside.fetch_add(1, Ordering::Acquire);
        if before & CLOSED != 0 {
            self.leave();
            return false;
        }
        true
    }

    pub(super) fn leave(&self) {
        self.inside.fetch_sub(1, Ordering::Release);
    }
}

/// Closes the gate when it is dropped, and waits for those inside.
pub(super) struct Closing<'a>(pub(super) &'a Gate);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let mut inside = self.0.inside.fetch_or(CLOSED, Ordering::Acquire) & !CLOSED;
        let mut looks = 0_u32;
        while inside != 0 {
            if looks < PATIENCE {
                spin_loop()
            } else {
                yield_now()
            }
            looks = looks.saturating_add(1);
            inside = self.0.inside.load(Ordering::Acquire) & !CLOSED;
        }
    }
}

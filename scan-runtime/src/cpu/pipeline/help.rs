//! Help from other threads with work that is on the stack of the calling thread.
//!
//! This differs from rayon's scopes in one point: it does not wait for a helper that has not started when the work is
//! done. Waking a thread can take longer than the work.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex, PoisonError},
};

use super::gate::{Closing, Gate};
use crate::caught::{Panic, discard};

/// Work that any number of threads can share. A thread returns when it finds nothing more to do; when all threads that
/// have started have returned, the work is done.
pub(super) trait Work: Sync {
    fn work(&self);
}

/// Does the work, with up to `helpers` threads of rayon's pool. Resumes a panic of any of them.
pub(super) fn work_together<W: Work>(work: &W, helpers: usize) {
    /// # Safety
    ///
    /// The pointer is one to a live `W`.
    unsafe fn erased<W: Work>(work: *const ()) {
        // SAFETY: the caller guarantees the pointer.
        unsafe { &*work.cast::<W>() }.work();
    }

    let entrance = Arc::new(Entrance { gate: Gate::new(), panic: Mutex::new(None) });
    let closing = Closing(&entrance.gate);
    Help { entrance: entrance.clone(), work: std::ptr::from_ref(work).cast(), function: erased::<W> }.call(helpers);
    work.work();
    drop(closing);
    let panic = entrance.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// The data of a helper.
#[derive(Clone)]
struct Help {
    entrance: Arc<Entrance>,
    work: *const (),
    function: unsafe fn(*const ()),
}

// SAFETY: the work is `Sync`, and only touched between `enter` and `leave`.
unsafe impl Send for Help {}

impl Help {
    /// Calls helpers, each of which calls others, so that the caller soon continues with the work.
    fn call(&self, helpers: usize) {
        let Some(others) = helpers.checked_sub(1) else { return };
        let help = self.clone();
        rayon::spawn(move || help.help(others / 2));
        self.call(others - others / 2);
    }

    fn help(self, others: usize) {
        if !self.entrance.gate.enter() {
            return;
        }
        // SAFETY: the gate was open, and its maker waits until this thread has left before the work ends.
        let work = || unsafe { (self.function)(self.work) };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            self.call(others);
            work();
        }));
        if let Err(panic) = outcome {
            self.entrance.keep(panic);
        }
        self.entrance.gate.leave();
    }
}

/// The gate of the helpers, and their first panic.
struct Entrance {
    gate: Gate,
    /// The first panic of a helper.
    panic: Mutex<Option<Panic>>,
}

impl Entrance {
    /// Keeps the first panic. Another one must not unwind from here, where a helper has yet to leave.
    fn keep(&self, panic: Panic) {
        let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        if first.is_none() {
            *first = Some(panic);
        } else {
            drop(first);
            discard(panic);
        }
    }
}

impl Drop for Entrance {
    fn drop(&mut self) {
        // There is one where the calling thread has panicked as well. This may run while that panic unwinds.
        let panic = self.panic.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = panic {
            discard(panic);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::{
        caught::{message, tests::Bomb},
        time_limit::TimeLimit,
    };

    /// Every thread comes, and panics with what panics again when it is dropped.
    struct AllPanic(Barrier);

    impl Work for AllPanic {
        fn work(&self) {
            self.0.wait();
            resume_unwind(Box::new(Bomb(2)));
        }
    }

    #[test]
    fn one_panic_is_reported_however_many_threads_panic() {
        let _limit = TimeLimit::seconds(60);
        for threads in [2, 4] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for _ in 0..20 {
                let work = AllPanic(Barrier::new(threads));
                let panicked = catch_unwind(AssertUnwindSafe(|| pool.install(|| work_together(&work, threads - 1))));
                assert_eq!(panicked.map_err(message), Err("no message".to_owned()));
            }
        }
    }
}

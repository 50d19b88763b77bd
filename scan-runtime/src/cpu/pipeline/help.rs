//! Other threads' help with work that lies on the stack of the one that calls for it.
//!
//! As rayon's scopes, but for one thing: a helper that has not begun when the work is done is not waited for. Waking a thread
//! can take longer than the work.

use std::{
    any::Any,
    hint,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// Work that any number of threads can share. A thread returns when it finds nothing more to do; when all that have begun have
/// returned, the work is done.
pub(super) trait Work: Sync {
    fn work(&self);
}

/// Works, and lets up to so many threads of rayon's pool join in. A panic of any of them comes out here.
pub(super) fn work_together<W: Work>(work: &W, helpers: usize) {
    /// # Safety
    ///
    /// The pointer is one to a live `W`.
    unsafe fn erased<W: Work>(work: *const ()) {
        // SAFETY: the caller vouches for the pointer.
        unsafe { &*work.cast::<W>() }.work();
    }

    let gate = Arc::new(Gate::default());
    let closing = Closing(&gate);
    Help { gate: gate.clone(), work: std::ptr::from_ref(work).cast(), function: erased::<W> }.call(helpers);
    work.work();
    drop(closing);
    let panic = gate.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// What a helper is given.
#[derive(Clone)]
struct Help {
    gate: Arc<Gate>,
    work: *const (),
    function: unsafe fn(*const ()),
}

// SAFETY: the work is `Sync`, and only touched between `enter` and `leave`.
unsafe impl Send for Help {}

impl Help {
    /// Calls helpers, each of which calls others: so the caller has soon done its part.
    fn call(&self, helpers: usize) {
        let Some(others) = helpers.checked_sub(1) else { return };
        let help = self.clone();
        rayon::spawn(move || help.help(others / 2));
        self.call(others - others / 2);
    }

    fn help(self, others: usize) {
        if !self.gate.enter() {
            return;
        }
        // SAFETY: the gate was open, and whoever made it waits until this has left before the work ends.
        let work = || unsafe { (self.function)(self.work) };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            self.call(others);
            work();
        }));
        if let Err(panic) = outcome {
            self.gate.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
        self.gate.leave();
    }
}

/// Lets helpers in until it is closed.
#[derive(Default)]
struct Gate {
    /// How many are in, and [`CLOSED`].
    inside: AtomicUsize,
    /// What the first of them to panic said.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Nobody comes in any more.
const CLOSED: usize = 1 << (usize::BITS - 1);

impl Gate {
    fn enter(&self) -> bool {
        let before = self.inside.fetch_add(1, Ordering::Acquire);
        if before & CLOSED != 0 {
            self.leave();
            return false;
        }
        true
    }

    fn leave(&self) {
        self.inside.fetch_sub(1, Ordering::Release);
    }
}

/// Closes the gate when it is dropped, and waits for those inside.
struct Closing<'a>(&'a Gate);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let mut inside = self.0.inside.fetch_or(CLOSED, Ordering::Acquire) & !CLOSED;
        let mut looks = 0_u32;
        while inside != 0 {
            if looks < super::PATIENCE {
                hint::spin_loop()
            } else {
                thread::yield_now()
            }
            looks = looks.saturating_add(1);
            inside = self.0.inside.load(Ordering::Acquire) & !CLOSED;
        }
    }
}

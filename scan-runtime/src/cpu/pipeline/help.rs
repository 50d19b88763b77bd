//! Help from other threads with work that is on the stack of the calling thread.
//!
//! This differs from rayon's scopes and parallel iterators: the calling thread works, wherever it comes from, and does
//! not wait for a helper that has not started when the work is done. Waking a thread can take longer than the work, and
//! all threads of the pool may be busy with what somebody else has given them. They may even not exist: a forked process
//! has the thread that forked, alone.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    process,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::gate::{Closing, Gate};
use crate::caught::{Panic, discard};

/// How many threads can work on something: those of rayon's pool, or this one alone in a process that was forked off the
/// pool's.
pub(crate) fn threads() -> usize {
    static PROCESS_OF_POOL: OnceLock<u32> = OnceLock::new();
    let this = process::id();
    if *PROCESS_OF_POOL.get_or_init(|| this) == this { rayon::current_num_threads() } else { 1 }
}

/// Does `count` parts of work, in ascending order, on this thread and, as far as they come, on those of rayon's pool.
/// Begins no further part once one has failed.
///
/// # Errors
///
/// Of the parts that fail, the first one's.
pub(crate) fn try_each<E: Send>(count: usize, part: impl Fn(usize) -> Result<(), E> + Sync) -> Result<(), E> {
    try_parts(count, &part)
}

/// Compiled once for each kind of error, and not for every operator.
fn try_parts<E: Send>(count: usize, part: &(dyn Fn(usize) -> Result<(), E> + Sync)) -> Result<(), E> {
    struct Parts<'a, E> {
        count: usize,
        part: &'a (dyn Fn(usize) -> Result<(), E> + Sync),
        next: AtomicUsize,
        failed: Mutex<Option<(usize, E)>>,
    }

    impl<E: Send> Work for Parts<'_, E> {
        fn work(&self) {
            loop {
                let index = self.next.fetch_add(1, Ordering::Relaxed);
                if index >= self.count {
                    return;
                }
                if let Err(error) = (self.part)(index) {
                    // All parts before this one have begun, so that the first error does not depend on the threads.
                    self.next.fetch_max(self.count, Ordering::Relaxed);
                    let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                    if failed.as_ref().is_none_or(|(first, _)| index < *first) {
                        *failed = Some((index, error));
                    }
                }
            }
        }
    }

    let parts = Parts { count, part, next: AtomicUsize::new(0), failed: Mutex::new(None) };
    if count > 1 {
        work_together(&parts, threads().min(count) - 1);
    } else {
        parts.work();
    }
    parts.failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
}

/// The results of `count` parts of work, done as by [`try_each`].
///
/// # Errors
///
/// As [`try_each`].
pub(crate) fn try_map<T: Send, E: Send>(
    count: usize,
    part: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    try_each(count, |index| {
        *results[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(part(index)?);
        Ok(())
    })?;
    Ok(results.into_iter().filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}

/// Work that any number of threads can share. A thread returns when it finds nothing more to do; when all threads that
/// have started have returned, the work is done.
pub(super) trait Work: Sync {
    fn work(&self);
}

/// Does the work, with up to `helpers` threads of rayon's pool. Resumes a panic of any of them.
pub(super) fn work_together(work: &dyn Work, helpers: usize) {
    let entrance = Arc::new(Entrance { gate: Gate::new(), panic: Mutex::new(None) });
    let closing = Closing(&entrance.gate);
    // SAFETY: the lifetime alone is changed, of a pointer.
    let work_of_helpers = unsafe { mem::transmute::<*const (dyn Work + '_), *const (dyn Work + 'static)>(work) };
    Help { entrance: entrance.clone(), work: work_of_helpers }.call(helpers);
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
    work: *const (dyn Work + 'static),
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
        let work = || unsafe { &*self.work }.work();
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

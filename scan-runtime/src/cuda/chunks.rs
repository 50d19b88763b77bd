//! Host memory that is processed on the device in chunks: while one is copied back, the next one is copied to the
//! device.

use std::{
    panic,
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use cudarc::driver::{result::DriverError, sys::CUresult};

use super::{driver_error, lock};
use crate::{Error, telemetry::Caller};

/// Calls `chunk` with 0 to `count - 1`, on two threads at once. Each call waits for its turn, which comes after the
/// turns of the chunks before it. After an error no further chunk is started; the first error is returned.
pub(crate) fn in_chunks(
    count: usize,
    chunk: &(dyn Fn(usize, &Turns) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    let (turns, next, caller) = (Turns::default(), AtomicUsize::new(0), Caller::new());
    let first_error = Mutex::new(None);
    let work = || {
        let mut leaving = Leaving { turns: &turns, well: false };
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count || lock(&turns.state).failed {
                break;
            }
            if let Err(error) = chunk(index, &turns) {
                // Stored before the other thread sees the failure, because its chunk then ends in an error as well.
                lock(&first_error).get_or_insert(error);
                return;
            }
        }
        leaving.well = true;
    };
    thread::scope(|scope| {
        // Without another thread, this one does all chunks, one after the other.
        let other = thread::Builder::new().spawn_scoped(scope, || caller.help(work)).ok();
        work();
        if let Some(Err(payload)) = other.map(thread::ScopedJoinHandle::join) {
            panic::resume_unwind(payload);
        }
    });
    first_error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// The chunk whose turn it is.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    next: usize,
    failed: bool,
}

impl Turns {
    /// Waits until all chunks before this one have had their turn.
    ///
    /// # Errors
    ///
    /// If one of them failed. [`in_chunks`] returns the error of that chunk.
    pub(crate) fn wait(&self, index: usize) -> Result<(), Error> {
        let mut state = lock(&self.state);
        while state.next < index && !state.failed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match state.failed {
            true => Err(driver_error("scanning the chunk before")(DriverError(CUresult::CUDA_ERROR_NOT_READY))),
            false => Ok(()),
        }
    }

    /// Ends the current turn.
    pub(crate) fn end(&self) {
        lock(&self.state).next += 1;
        self.changed.notify_all();
    }
}

/// After an error or a panic of a thread, the other one no longer waits for it.
struct Leaving<'t> {
    turns: &'t Turns,
    well: bool,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if !self.well {
            lock(&self.turns.state).failed = true;
            self.turns.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::{telemetry, time_limit::TimeLimit};

    #[test]
    fn chunks_enter_in_order() {
        for count in [0, 1, 2, 3, 100] {
            let order = Mutex::new(Vec::new());
            let chunk = |index: usize, turns: &Turns| {
                turns.wait(index)?;
                lock(&order).push(index);
                turns.end();
                Ok(())
            };
            assert!(in_chunks(count, &chunk).is_ok());
            assert_eq!(lock(&order).clone(), (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_chunk_waits_for_one_that_failed() {
        for failing in 0..5 {
            let ended = Mutex::new(Vec::new());
            let chunk = |index: usize, turns: &Turns| {
                if index == failing {
                    return Err(Error::OutOfHostMemory { bytes: failing });
                }
                turns.wait(index)?;
                lock(&ended).push(index);
                turns.end();
                Ok(())
            };
            let found = in_chunks(100, &chunk);
            assert!(matches!(found, Err(Error::OutOfHostMemory { bytes }) if bytes == failing), "{found:?}");
            assert!(lock(&ended).iter().all(|index| *index < failing));
        }
    }

    #[test]
    fn what_both_threads_count_is_counted_for_the_caller() {
        let _limit = TimeLimit::seconds(60);
        let together = Barrier::new(2);
        let chunk = |index: usize, turns: &Turns| {
            // So each thread has one of the first two.
            if index < 2 {
                together.wait();
            }
            telemetry::copied(1 << index);
            turns.wait(index)?;
            turns.end();
            Ok(())
        };
        let (done, spent) = telemetry::spent(|| in_chunks(20, &chunk));
        assert!(done.is_ok());
        assert_eq!(spent.copied_bytes, (1 << 20) - 1);
    }

    #[test]
    fn no_chunk_waits_for_one_that_panicked() {
        let chunk = |index: usize, turns: &Turns| {
            assert!(index != 1, "one");
            turns.wait(index)?;
            turns.end();
            Ok(())
        };
        assert!(panic::catch_unwind(panic::AssertUnwindSafe(|| in_chunks(100, &chunk))).is_err());
    }
}

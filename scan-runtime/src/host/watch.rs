//! The progress of one run on the CPU, and its end before all elements are done.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use crate::{Error, ScanOp, ScanProgress, call::Progress};

/// Bytes of elements between reports: a report costs next to nothing of the time that they take, and comes at least
/// every few milliseconds.
const REPORTED_BYTES: usize = 1 << 22;

/// The progress of one run.
pub(crate) struct Watch<'p> {
    progress: &'p Progress,
    of: usize,
    /// Elements between reports.
    every: usize,
    done: AtomicUsize,
    /// The number of elements of the next report. Held during a report, so that reports are in order.
    next: Mutex<usize>,
    /// Whether a report has been answered by a break.
    stopped: AtomicBool,
}

impl<'p> Watch<'p> {
    pub(super) fn new<Op: ScanOp>(progress: &'p Progress, of: usize) -> Self {
        let every = REPORTED_BYTES / size_of::<Op::Input>().max(size_of::<Op::Output>()).max(1);
        let (done, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        Watch { progress, of, every, done, next: Mutex::new(every), stopped }
    }

    /// Counts elements that are done. Reports their number, unless all are done.
    pub(crate) fn add(&self, elements: usize) {
        self.done.fetch_add(elements, Ordering::Relaxed);
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let done = self.done.load(Ordering::Relaxed);
        if done < *next || done >= self.of || self.is_stopped() {
            return;
        }
        *next = done + self.every;
        if self.progress.report(ScanProgress { done, of: self.of }).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    /// Whether no further element is to be done.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// An error if no further element is to be done.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.is_stopped() {
            true => Err(Error::Cancelled { done: self.done.load(Ordering::Relaxed), of: self.of }),
            false => Ok(()),
        }
    }

    /// Ends the run, when no thread works on it any more: reports that all elements are done, unless they are not.
    pub(super) fn end<T>(self, result: Result<T, Error>) -> Result<T, Error> {
        match result {
            Ok(_) | Err(Error::Cancelled { .. }) => self.check()?,
            Err(_) => {}
        }
        let result = result?;
        // There is nothing left to cancel.
        _ = self.progress.report(ScanProgress { done: self.of, of: self.of });
        Ok(result)
    }
}

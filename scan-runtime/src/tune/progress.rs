//! The progress of a search.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

/// The progress of a [search](crate::Scan::tune_with). `Display` writes it in one line: `compiling: 12 of 130`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TuningProgress {
    /// The current step.
    pub step: TuningStep,
    /// The number of parts of this step that are done: 1 to `of`.
    pub done: usize,
    /// The number of parts of this step.
    pub of: usize,
}

/// The steps of a search, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TuningStep {
    /// Compiles the kernels of every shape, on all cores.
    Compiling,
    /// Measures every shape once.
    Measuring,
    /// Measures the fastest shapes again, alternating between them.
    Comparing,
}

impl fmt::Display for TuningStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TuningStep::Compiling => "compiling",
            TuningStep::Measuring => "measuring",
            TuningStep::Comparing => "comparing the fastest",
        })
    }
}

impl fmt::Display for TuningProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} of {}", self.step, self.done, self.of)
    }
}

/// Counts the parts of each step, and reports each. Parts may be done by several threads.
pub(super) struct Counter<F>(Mutex<(TuningProgress, F)>);

impl<F: FnMut(TuningProgress)> Counter<F> {
    pub(super) fn new(report: F) -> Self {
        Counter(Mutex::new((TuningProgress { step: TuningStep::Compiling, done: 0, of: 0 }, report)))
    }

    /// Begins a step of this number of parts.
    pub(super) fn begin(&self, step: TuningStep, of: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = TuningProgress { step, done: 0, of };
    }

    /// Reports that another part is done.
    pub(super) fn one_more(&self) {
        // Held during the report, so that parts are reported in order.
        let (progress, report) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        progress.done += 1;
        report(*progress);
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn every_part_is_reported_once_in_order() {
        let mut reports = Vec::new();
        let counter = Counter::new(|progress: TuningProgress| reports.push(progress.to_string()));
        counter.begin(TuningStep::Compiling, 100);
        (0..100).into_par_iter().for_each(|_| counter.one_more());
        counter.begin(TuningStep::Comparing, 1);
        counter.one_more();
        let mut expected: Vec<String> = (1..=100).map(|done| format!("compiling: {done} of 100")).collect();
        expected.push("comparing the fastest: 1 of 1".to_owned());
        assert_eq!(reports, expected);
    }
}

//! How far a search is.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

/// How far a [search](crate::Scan::tune_with) is. `Display` writes it in one line: `compiling: 12 of 130`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TuningProgress {
    /// The present step.
    pub step: TuningStep,
    /// How much of this step is done: 1 to `of`.
    pub done: usize,
    /// How much there is in this step.
    pub of: usize,
}

/// The steps of a search, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TuningStep {
    /// Compiles the kernels of every shape, on all cores.
    Compiling,
    /// Measures every shape once.
    Measuring,
    /// Measures the fastest shapes again, in turns.
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
    pub(super) fn new(tell: F) -> Self {
        Counter(Mutex::new((TuningProgress { step: TuningStep::Compiling, done: 0, of: 0 }, tell)))
    }

    /// Begins a step of this number of parts.
    pub(super) fn begin(&self, step: TuningStep, of: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = TuningProgress { step, done: 0, of };
    }

    /// Reports that another part is done.
    pub(super) fn one_more(&self) {
        // Held during the report, so that parts are reported in order.
        let (progress, tell) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        progress.done += 1;
        tell(*progress);
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::*;

    #[test]
    fn every_part_is_told_once_in_order() {
        let mut told = Vec::new();
        let counter = Counter::new(|progress: TuningProgress| told.push(progress.to_string()));
        counter.begin(TuningStep::Compiling, 100);
        (0..100).into_par_iter().for_each(|_| counter.one_more());
        counter.begin(TuningStep::Comparing, 1);
        counter.one_more();
        let mut expected: Vec<String> = (1..=100).map(|done| format!("compiling: {done} of 100")).collect();
        expected.push("comparing the fastest: 1 of 1".to_owned());
        assert_eq!(told, expected);
    }
}

//! How far a run of host memory is.

use std::{fmt, sync::Arc};

/// How far a run of host memory is, for
/// [`Scan::with_progress`](crate::Scan::with_progress). `Display` writes it in one line: `1024 of 4096 elements`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanProgress {
    /// The number of elements that are done: their results are in their place. They need not be the first ones.
    pub done: usize,
    /// The number of elements of the input.
    pub of: usize,
}

impl fmt::Display for ScanProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} elements", self.done, self.of)
    }
}

/// The caller's function.
#[derive(Clone)]
pub(crate) struct Progress(Arc<dyn Fn(ScanProgress) + Send + Sync>);

impl Progress {
    pub(crate) fn new(report: impl Fn(ScanProgress) + Send + Sync + 'static) -> Self {
        Progress(Arc::new(report))
    }

    pub(crate) fn report(&self, progress: ScanProgress) {
        (self.0)(progress);
    }
}

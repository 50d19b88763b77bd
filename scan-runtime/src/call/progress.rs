//! How far a run of host memory is.

use std::{fmt, ops::ControlFlow, sync::Arc};

use crate::sealed::Sealed;

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

impl ScanProgress {
    /// The part of the elements that is done, from 0 to 1: of no elements 1.
    pub fn fraction(self) -> f64 {
        if self.of == 0 { 1.0 } else { self.done as f64 / self.of as f64 }
    }
}

impl fmt::Display for ScanProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} elements", self.done, self.of)
    }
}

/// What a function for [`Scan::with_progress`](crate::Scan::with_progress) returns: nothing, or a [`ControlFlow`],
/// which says whether the run goes on.
pub trait ProgressFlow {
    #[doc(hidden)]
    const SEALED: Sealed;
    /// Whether the run goes on.
    fn flow(self) -> ControlFlow<()>;
}

impl ProgressFlow for () {
    const SEALED: Sealed = Sealed;
    fn flow(self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl ProgressFlow for ControlFlow<()> {
    const SEALED: Sealed = Sealed;
    fn flow(self) -> ControlFlow<()> {
        self
    }
}

/// The caller's function.
#[derive(Clone)]
pub(crate) struct Progress(Arc<dyn Fn(ScanProgress) -> ControlFlow<()> + Send + Sync>);

impl Progress {
    pub(crate) fn new<F: ProgressFlow>(report: impl Fn(ScanProgress) -> F + Send + Sync + 'static) -> Self {
        Progress(Arc::new(move |progress| report(progress).flow()))
    }

    pub(crate) fn report(&self, progress: ScanProgress) -> ControlFlow<()> {
        (self.0)(progress)
    }
}

//! How far a run of host memory is.

use std::{fmt, sync::Arc};

use crate::{Scan, ScanOp};

/// How far a run of host memory is, for [`Scan::with_progress`]. `Display` writes it in one line: `1024 of 4096 elements`.
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
pub(super) struct Progress(Arc<dyn Fn(ScanProgress) + Send + Sync>);

impl Progress {
    pub(super) fn report(&self, progress: ScanProgress) {
        (self.0)(progress);
    }
}

impl<Op: ScanOp, H, G> Scan<Op, H, G> {
    /// Calls `report` as parts of a run of host memory are done: on a GPU after each
    /// [chunk](crate::Staging::with_chunk_bytes), else once, at the end. The last report of a run without an error has
    /// all elements. The reports of a run come one after the other, also from other threads; the run waits for each.
    /// Runs of device memory do not report.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let sums = Scanner::new()?.scan(ops::sum()).with_progress(|progress| eprint!("\r{progress}  "));
    /// assert_eq!(sums.run(&[1, 2, 3])?, [1, 3, 6]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn with_progress(mut self, report: impl Fn(ScanProgress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Progress(Arc::new(report)));
        self
    }

    /// Reports that all elements are done.
    #[inline]
    pub(crate) fn report_all(&self, len: usize) {
        if let Some(progress) = &self.progress {
            progress.report(ScanProgress { done: len, of: len });
        }
    }
}

//! Scans and reductions that are prepared once and run often.

use std::{fmt, sync::Arc};

use crate::{
    Error, Goal, Heads, HostHeads, NoHeads, Prefixes, Scan, ScanElement, ScanOp, Totals, call,
    cuda::Kernels,
    host::{HostInput, HostOutput},
    scanner::Engine,
};

/// A scan or a reduction of host memory that is ready to run, made by [`Scan::prepare`].
///
/// The planner has been asked once. On a CUDA device the kernels are compiled and loaded, so that no run waits for
/// that.
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let scanner = Scanner::new()?;
/// let maxima = scanner.scan(ops::max()).prepare(1_000)?;
/// let mut buffer = [2, 7, 1];
/// maxima.run_in_place(&mut buffer)?;
/// assert_eq!(buffer, [2, 7, 7]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[must_use = "a scan does nothing until it is run"]
pub struct Prepared<Op: ScanOp, H = NoHeads, G = Prefixes> {
    scan: Scan<Op, H, G>,
    /// Held, so that they are there.
    _kernels: Vec<Arc<Kernels>>,
}

impl<Op: ScanOp, H: HostHeads, G: Goal> Scan<Op, H, G> {
    /// Prepares runs over host memory, of up to `max_len` elements: what a first call does is done here. For device
    /// memory there is [`DeviceScan::prepare`](crate::DeviceScan::prepare).
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where no kernel can do it, on the CPU too; whatever can go wrong when kernels are compiled.
    pub fn prepare(self, max_len: usize) -> Result<Prepared<Op, H, G>, Error> {
        self.prepare_for(call::Totals::None, max_len)
    }

    fn prepare_for(mut self, totals: call::Totals, max_len: usize) -> Result<Prepared<Op, H, G>, Error> {
        let call = self.call(totals);
        call.check()?;
        let kernels = match self.scanner.engine() {
            Engine::Cpu { .. } => Vec::new(),
            Engine::Cuda(device) => call.load_chunks(device, max_len)?,
        };
        (self.planned, self.max_len) = (true, max_len);
        Ok(Prepared { scan: self, _kernels: kernels })
    }
}

impl<Op: ScanOp, H: HostHeads> Scan<Op, H> {
    /// As [`prepare`](Scan::prepare), for runs that give the total, too: those whose names end in `with_total`.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Scan::prepare).
    pub fn prepare_with_total(self, max_len: usize) -> Result<Prepared<Op, H>, Error> {
        self.prepare_for(call::Totals::Last, max_len)
    }
}

impl<'h, Op: ScanOp> Scan<Op, Heads<'h>> {
    /// As [`prepare`](Scan::prepare), for runs that give the total of each segment, too: those whose names end in
    /// `with_totals`.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Scan::prepare), and [`PlanError::NoSegmentIndex`](crate::PlanError::NoSegmentIndex) by flags,
    /// bits and keys.
    pub fn prepare_with_totals(self, max_len: usize) -> Result<Prepared<Op, Heads<'h>>, Error> {
        self.prepare_for(call::Totals::PerSegment, max_len)
    }
}

#[inline]
pub(crate) fn check_len(len: usize, max_len: usize) -> Result<(), Error> {
    if len > max_len { Err(Error::PreparedLength { len, max_len }) } else { Ok(()) }
}

/// As the runs of [`Scan`]; [`Error::PreparedLength`] for more elements than the scan was prepared for.
#[allow(clippy::missing_errors_doc, reason = "told above, for all of them")]
impl<Op: ScanOp, H: HostHeads> Prepared<Op, H> {
    /// As [`Scan::run`].
    pub fn run(&self, input: impl HostInput<Op::Input>) -> Result<Vec<Op::Output>, Error> {
        self.scan.run(input)
    }

    /// As [`Scan::run_with_total`].
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub fn run_with_total(
        &self,
        input: impl HostInput<Op::Input>,
    ) -> Result<(Vec<Op::Output>, Option<Op::Carry>), Error> {
        self.scan.run_with_total(input)
    }

    /// As [`Scan::run_into`].
    pub fn run_into(&self, input: impl HostInput<Op::Input>, output: impl HostOutput<Op::Output>) -> Result<(), Error> {
        self.scan.run_into(input, output)
    }

    /// As [`Scan::run_into_with_total`].
    pub fn run_into_with_total(
        &self,
        input: impl HostInput<Op::Input>,
        output: impl HostOutput<Op::Output>,
    ) -> Result<Option<Op::Carry>, Error> {
        self.scan.run_into_with_total(input, output)
    }

    /// As [`Scan::run_in_place`].
    pub fn run_in_place<T>(&self, buffer: &mut [T]) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.scan.run_in_place(buffer)
    }

    /// As [`Scan::run_in_place_with_total`].
    pub fn run_in_place_with_total<T>(&self, buffer: &mut [T]) -> Result<Option<Op::Carry>, Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.scan.run_in_place_with_total(buffer)
    }
}

/// As the runs of [`Scan`]; [`Error::PreparedLength`] for more elements than the scan was prepared for.
#[allow(clippy::missing_errors_doc, reason = "told above, for all of them")]
impl<Op: ScanOp> Prepared<Op, Heads<'_>> {
    /// As [`Scan::run_with_totals`].
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub fn run_with_totals(
        &self,
        input: impl HostInput<Op::Input>,
    ) -> Result<(Vec<Op::Output>, Vec<Op::Carry>), Error> {
        self.scan.run_with_totals(input)
    }

    /// As [`Scan::run_into_with_totals`].
    pub fn run_into_with_totals(
        &self,
        input: impl HostInput<Op::Input>,
        output: impl HostOutput<Op::Output>,
        totals: &mut [Op::Carry],
    ) -> Result<(), Error> {
        self.scan.run_into_with_totals(input, output, totals)
    }

    /// As [`Scan::run_in_place_with_totals`].
    pub fn run_in_place_with_totals<T>(&self, buffer: &mut [T], totals: &mut [Op::Carry]) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.scan.run_in_place_with_totals(buffer, totals)
    }
}

#[allow(clippy::missing_errors_doc, reason = "those of the reduction, and of a length that is too long")]
impl<Op: ScanOp> Prepared<Op, NoHeads, Totals> {
    /// As the [reduction's](crate::Reduce) own.
    pub fn run(&self, input: &[Op::Input]) -> Result<Op::Output, Error> {
        self.scan.run(input)
    }
}

#[allow(clippy::missing_errors_doc, reason = "those of the reduction, and of a length that is too long")]
impl<Op: ScanOp> Prepared<Op, Heads<'_>, Totals> {
    /// As the [reduction's](crate::Reduce) own.
    pub fn run(&self, input: &[Op::Input]) -> Result<Vec<Op::Output>, Error> {
        self.scan.run(input)
    }
}

impl<Op: ScanOp, H, G> fmt::Debug for Prepared<Op, H, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("max_len", &self.scan.max_len).finish_non_exhaustive()
    }
}

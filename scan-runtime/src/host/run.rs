//! Ways to run over host memory.

use super::{
    arguments::{HostInput, HostOutput},
    call::HostResult,
};
use crate::{Error, Host, Outcome, Prefixes, Prepared, Results, Run, Scan, ScanElement, ScanOp, Totals};

/// Ways to run over host memory. On a GPU, a run copies to the device, scans there, copies back, and waits. More than
/// 32 MiB go through the device in chunks, if [`Staging::with_chunk_bytes`](crate::Staging::with_chunk_bytes) says
/// nothing else.
impl<Op: ScanOp> Scan<Op> {
    /// Scans an input into a new vector: a slice, [another array](crate::arrays), or a tuple with an array for each
    /// field of a struct.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let sums = Scanner::new()?.scan(ops::sum());
    /// assert_eq!(sums.run(&[3, 1, 4])?, [3, 4, 8]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Whatever can go wrong is in [`Error`]; the input is never touched.
    #[inline]
    pub fn run(&self, input: impl HostInput<Op::Input>) -> Result<Vec<Op::Output>, Error> {
        self.host_call().run::<Prefixes, _>(input)
    }

    /// Scans an input into an output of the same length: slices, [other arrays](crate::arrays), or a tuple with an
    /// array for each field of a struct.
    ///
    /// ```
    /// use scan_runtime::{ScanOp, Scanner, scan_element, scan_op};
    ///
    /// /// `h[i] = gate[i] * h[i-1] + token[i]`, with gates of at most 1.
    /// struct Recurrence;
    ///
    /// #[scan_element]
    /// #[derive(Clone, Copy)]
    /// struct Step {
    ///     gate: f32,
    ///     token: f32,
    /// }
    ///
    /// #[scan_op]
    /// impl ScanOp for Recurrence {
    ///     type Input = Step;
    ///     type State = Step;
    ///     type Output = f32;
    ///     fn lift(step: Step) -> Step {
    ///         step
    ///     }
    ///     fn combine(a: Step, b: Step) -> Step {
    ///         Step { gate: a.gate * b.gate, token: b.gate * a.token + b.token }
    ///     }
    ///     fn project(h: Step) -> f32 {
    ///         h.token
    ///     }
    /// }
    ///
    /// let (gates, tokens) = (vec![0.5, 0.5, 0.25], vec![8.0, 2.0, 4.0]);
    /// let mut states = [0.0; 3];
    /// Scanner::new()?.scan(Recurrence).run_into((&gates, &tokens), &mut states)?;
    /// assert_eq!(states, [8.0, 6.0, 5.5]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Scan::run), [`Error::Length`] if the lengths differ, [`Error::ColumnLength`] if the arrays of the
    /// input, or those of the output, are not of one length, [`Error::UnknownLength`] if none has a length,
    /// [`Error::IndexOutOfBounds`] for an index that is not in its array, and [`Error::ComputedIndex`] for one that the
    /// operator computes. After an error the output's content is unspecified.
    #[inline]
    pub fn run_into(&self, input: impl HostInput<Op::Input>, output: impl HostOutput<Op::Output>) -> Result<(), Error> {
        self.host_call().run_into::<Prefixes, _, _>(input, output)
    }

    /// Scans a slice in place.
    ///
    /// # Errors
    ///
    /// As [`run`](Scan::run). After [`Error::OperatorPanicked`] on the CPU the content is unspecified. An error on a
    /// GPU leaves each chunk as it was or scanned; otherwise an error leaves the buffer as it was.
    #[inline]
    pub fn run_in_place<T>(&self, buffer: &mut [T]) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.host_call().run_in_place::<Prefixes, _>(buffer)
    }
}

/// Ways to run over host memory. Each gives the totals that are asked for, in addition to what the same run of the
/// [scan](Scan) gives.
///
/// # Errors
///
/// As the runs of [`Scan`]. Of segments: [`Error::Length`] if there are more or fewer flags, bits, keys, values or
/// totals than the input requires, [`Error::OffsetsDescend`] and [`Error::OffsetPastEnd`] if the offsets are none,
/// [`Error::RowLength`] for rows that do not fill the input.
#[allow(clippy::missing_errors_doc, reason = "above, for all of them")]
impl<Op: ScanOp, R: Results> Run<'_, Op, Host, R> {
    /// Scans an input into a new vector; see [`Scan::run`].
    pub fn run(&self, input: impl HostInput<Op::Input>) -> HostResult<R, Op> {
        self.call.run::<R, _>(input)
    }

    /// Scans an input into an output of the same length; see [`Scan::run_into`].
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let mut starts = [0; 3];
    /// let scan = Scanner::new()?.scan(ops::sum()).exclusive();
    /// let len = scan.with_total().run_into(&[3_u32, 0, 4], &mut starts)?;
    /// assert_eq!((starts, len), ([0, 3, 3], Some(7)));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn run_into(
        &self,
        input: impl HostInput<Op::Input>,
        output: impl HostOutput<Op::Output>,
    ) -> Result<R::Totals<Host, Op::Carry>, Error> {
        self.call.run_into::<R, _, _>(input, output)
    }

    /// Scans a slice in place; see [`Scan::run_in_place`].
    pub fn run_in_place<T>(&self, buffer: &mut [T]) -> Result<R::Totals<Host, Op::Carry>, Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.call.run_in_place::<R, _>(buffer)
    }
}

/// Ways to reduce host memory by segments, or along an axis.
impl<Op: ScanOp> Run<'_, Op, Host, Totals> {
    /// Reduces each segment of an input, or each column along an axis. On the GPU the segments are scanned, and the
    /// last result of each comes back. Of a segment that is longer than a [chunk](crate::Staging::with_chunk_bytes) the
    /// total comes back, and `project` is called on the host.
    ///
    /// # Errors
    ///
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) for an empty segment, no initial value and no identity;
    /// those of the runs of a scan.
    pub fn run(&self, input: impl HostInput<Op::Input>) -> Result<Vec<Op::Output>, Error> {
        self.call.reduce_segments(input)
    }
}

impl<Op: ScanOp, R: Outcome> Run<'_, Op, Host, R> {
    /// Prepares runs like this one, of up to `max_len` elements: what a first call does is done here.
    /// [`Scan::per_field`] says that they will be over an array for each field.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where no kernel can do it, on the CPU too, [`Error::AlreadyPrepared`] for a run of a handle;
    /// whatever can go wrong when kernels are compiled.
    pub fn prepare(&self, max_len: usize) -> Result<Prepared<Op, Host, R::OfHandle>, Error> {
        self.call.prepare(R::TOTALS, max_len).map(Prepared::new)
    }
}

impl<Op: ScanOp, R: Outcome> Scan<Op, R> {
    /// Prepares runs of up to `max_len` elements that bring input and output alone; see [`Run::prepare`].
    ///
    /// # Errors
    ///
    /// As that of [`Run`].
    pub fn prepare(&self, max_len: usize) -> Result<Prepared<Op, Host, R>, Error> {
        self.host_call().prepare(crate::call::Totals::None, max_len).map(Prepared::new)
    }
}

/// Ways to reduce host memory.
impl<Op: ScanOp> Scan<Op, Totals> {
    /// Reduces an input: a slice, [another array](crate::arrays), or a tuple with an array for each field of a struct.
    /// The total of no elements is the initial value, or else the identity.
    ///
    /// # Errors
    ///
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) for no elements, no initial value and no identity, and
    /// whatever else can go wrong.
    pub fn run(&self, input: impl HostInput<Op::Input>) -> Result<Op::Output, Error> {
        self.host_call().reduce(input)
    }
}

/// Runs over host memory, as those of the [scan](Scan).
#[allow(clippy::missing_errors_doc, reason = "those of the scan, and of the handle")]
impl<Op: ScanOp> Prepared<Op> {
    /// See [`Scan::run`].
    pub fn run(&self, input: impl HostInput<Op::Input>) -> Result<Vec<Op::Output>, Error> {
        self.call().run(input)
    }

    /// See [`Scan::run_into`].
    pub fn run_into(&self, input: impl HostInput<Op::Input>, output: impl HostOutput<Op::Output>) -> Result<(), Error> {
        self.call().run_into(input, output)
    }

    /// See [`Scan::run_in_place`].
    pub fn run_in_place<T>(&self, buffer: &mut [T]) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.call().run_in_place(buffer)
    }
}

#[allow(clippy::missing_errors_doc, reason = "those of the reduction, and of the handle")]
impl<Op: ScanOp> Prepared<Op, Host, Totals> {
    /// Reduces an input, as the [reduction](crate::Reduce) does.
    pub fn run(&self, input: impl HostInput<Op::Input>) -> Result<Op::Output, Error> {
        self.call().call.reduce(input)
    }
}

//! Ways to run over host memory.

use crate::{
    Backend, Error, Host, Outcome, Prefixes, Prepared, Run, Scan, ScanElement, ScanOp,
    arrays::{Input, Output, Shape},
    call::Totals,
    host::{
        HostCall,
        cost::{Cost, Kernels},
    },
};

/// Ways to run over host memory. On a GPU, a run copies to the device, scans there, copies back, and waits. More than
/// 32 MiB go through the device in chunks, if [`Staging::with_chunk_bytes`](crate::Staging::with_chunk_bytes) says
/// nothing else.
impl<Op: ScanOp, R: Outcome> Scan<Op, R> {
    /// Runs over an input: a slice, [another array](crate::arrays), or a tuple with an array for each field of a
    /// struct. A scan gives a new vector, a [reduction](crate::Reduce) its one result: of no elements the initial
    /// value, or else the identity.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let sums = Scanner::new()?.scan(ops::sum());
    /// assert_eq!(sums.run(&[3, 1, 4])?, [3, 4, 8]);
    /// assert_eq!(Scanner::new()?.reduce(ops::sum()).run(&[3, 1, 4])?, 8);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) for a reduction of no elements without an initial value
    /// and an identity. Whatever else can go wrong is in [`Error`]; the input is never touched.
    #[inline]
    pub fn run<S: Shape>(&self, input: impl Input<Op::Input, Host, Shape = S>) -> Result<R::Whole<Host, Op, S>, Error> {
        R::run_whole::<Host, Op, S>(&self.host_call(), input)
    }

    /// Runs over an input into an output of as many elements as there are results: slices,
    /// [other arrays](crate::arrays), or a tuple with an array for each field of a struct.
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
    /// As [`run`](Scan::run), [`Error::Length`] if the lengths differ, [`Error::ArrayLength`] if the arrays of the
    /// input, or those of the output, are not of one length, [`Error::UnknownLength`] if none has a length,
    /// [`Error::IndexOutOfBounds`] for an index that is not in its array, and [`Error::ComputedIndex`] for one that the
    /// operator computes. After an error the output's content is unspecified.
    #[inline]
    pub fn run_into(
        &self,
        input: impl Input<Op::Input, Host>,
        output: impl Output<Op::Output, Host>,
    ) -> Result<R::Also<Host, Op>, Error> {
        R::run_into::<Host, Op>(&self.host_call(), input, output)
    }
}

impl<Op: ScanOp> Scan<Op> {
    /// Scans a slice in place.
    ///
    /// # Errors
    ///
    /// As [`run`](Scan::run). After [`Error::OperatorPanicked`] on the CPU the content is unspecified. An error on a
    /// GPU leaves each chunk as it was or scanned, but where the device is lost while results are copied back
    /// ([`Error::ContextLost`]): then each element is. Otherwise an error leaves the buffer as it was.
    #[inline]
    pub fn run_in_place<T>(&self, buffer: &mut [T]) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.host_call().run_in_place::<Prefixes, _>(buffer)
    }
}

impl<Op: ScanOp, R: Outcome> Scan<Op, R> {
    /// Where a run over slices of `len` elements in ordinary host memory takes place: on the scanner's
    /// [backend](crate::Scanner::backend), or on the CPU where that is estimated to take less time and the scanner
    /// [may choose](crate::HostMemory), which says what else counts. Where the CPU would run it only until its kernels
    /// are compiled, that is said: `CPU, 16 threads, while the kernel for the CUDA device is compiled`. To ask compiles
    /// nothing. [`Run::backend_for`] is the same with segments.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let sums = Scanner::new()?.scan(ops::sum::<f32>());
    /// println!("a thousand: {}; a hundred million: {}", sums.backend_for(1_000), sums.backend_for(100_000_000));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn backend_for(&self, len: usize) -> Backend {
        self.host_call().backend_for(R::TOTALS, len)
    }
}

impl<Op: ScanOp> HostCall<'_, Op> {
    fn backend_for(&self, asked: Totals, len: usize) -> Backend {
        let kernels = Some(Kernels { totals: self.wanted(asked), layouts: self.options.layouts });
        let cost = Cost { kernels, ..self.cost_of::<&[Op::Input], &mut [Op::Output]>(len) };
        self.would_be_engine(cost).backend()
    }
}

impl<Op: ScanOp, R: Outcome> Run<'_, Op, Host, R> {
    /// Where this run over `len` elements takes place; see [`Scan::backend_for`]. Keys, flags, offsets and initial values
    /// count, which a GPU is given, too. The ranges of [`by_ranges`](Run::by_ranges) count by the elements that they
    /// reduce.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let largest = Scanner::new()?.reduce(ops::max::<f32>());
    /// let samples = vec![0.5; 1_000];
    /// let last_hundred = largest.by_ranges(&[900_u32], &[1_000]);
    /// println!("{}", last_hundred.backend_for(samples.len()));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn backend_for(&self, len: usize) -> Backend {
        self.call.backend_for(R::TOTALS, len)
    }
}

/// Ways to prepare.
impl<Op: ScanOp, R: Outcome> Scan<Op, R> {
    /// Prepares runs of up to `max_len` elements over host memory that bring input and output alone; see
    /// [`Run::prepare`](crate::Run::prepare). [`Scan::per_field`] says that they will be over an array for each field.
    ///
    /// # Errors
    ///
    /// As that of [`Run`](crate::Run::prepare).
    pub fn prepare(&self, max_len: usize) -> Result<Prepared<Op, Host, R>, Error> {
        self.host_call().prepare(Totals::None, max_len).map(Prepared::new)
    }
}

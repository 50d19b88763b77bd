//! Scans and reductions that are prepared once and run often.

use std::{fmt, marker::PhantomData};

use crate::{
    Array, ArrayMut, BitWord, Buffer, Error, HeadFlag, Host, Memory, Outcome, Prefixes, PrefixesAndTotal,
    PrefixesAndTotals, Run, ScanElement, ScanOp, SegmentOffset, Totals,
    arrays::{Input, Output, Shape},
};

/// A scan or a reduction that is ready to run, made by [`Run::prepare`].
///
/// The planner has been asked once. On a CUDA device the kernels are compiled and loaded, so that no run waits for
/// that. Each run names again, by the same words, the segments, initial values and totals that were named before
/// `prepare`: with other keys, other rows, other values. The axis stays. A run over more elements than the handle was
/// prepared for is [`Error::PreparedLength`], a run of another kind [`Error::HandleMismatch`].
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let scanner = Scanner::new()?;
/// let maxima = scanner.scan(ops::max()).prepare(1_000)?;
/// let mut buffer = [2, 7, 1];
/// maxima.run_in_place(&mut buffer)?;
/// assert_eq!(buffer, [2, 7, 7]);
///
/// let by_day = scanner.scan(ops::sum()).by_keys(&[0_u32; 0]).with_total().prepare(1_000)?;
/// for (days, amounts, today) in [([1_u32, 1, 2], [5, 1, 2], 2), ([3, 4, 4], [1, 1, 1], 2)] {
///     let (_, total) = by_day.by_keys(&days).with_total().run(&amounts)?;
///     assert_eq!(total, Some(today));
/// }
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// # Device memory
///
/// What a call does each time is done once: the kernels are compiled and loaded, the operator's parameters and the
/// initial value taken as they are now, the workspace allocated for as many elements as may come. A run checks the
/// lengths and launches: with output and totals of yours it allocates no device memory, copies nothing, waits for
/// nothing, and takes no lock that work on another stream could hold. Where the plan is a single launch and the length
/// that of the run before, it allocates nothing on the host either. The handle can be dropped at once: its memory goes
/// when the work that is enqueued has been done.
///
/// Other parameters of the operator, another initial value of the scan, stream or greater length need another handle.
///
/// ```no_run
/// use scan_runtime::{Scanner, ops};
///
/// let scanner = Scanner::cuda(0)?;
/// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
/// let flags = stream.clone_htod(&[1_u8, 0, 0, 1, 0])?;
/// let sums = scanner.scan(ops::sum()).on(&stream).by_flags(&flags).prepare(1_000)?;
/// let mut buffer = stream.clone_htod(&[1, 2, 3, 4, 5])?;
/// sums.by_flags(&flags).run_in_place(&mut buffer)?;
/// assert_eq!(stream.clone_dtoh(&buffer)?, [1, 3, 6, 4, 9]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Graphs
///
/// Runs can be captured into a CUDA graph, which can be launched as often as you like, on one stream at a time: what
/// the kernels keep from launch to launch is in device memory. Prepare the scan, and allocate the buffers, before the
/// capture begins, and keep all of them until the graph is gone. `cudarc` orders work on several streams by events,
/// which a capture does not allow; turn them off before you allocate the buffers.
///
/// ```no_run
/// use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
/// use scan_runtime::{Scanner, ops};
///
/// let scanner = Scanner::cuda(0)?;
/// let context = scanner.context().expect("a CUDA scanner");
/// // SAFETY: all work is on one stream, so that it needs no events.
/// unsafe { context.disable_event_tracking() };
/// let stream = context.new_stream()?;
/// let mut input = stream.alloc_zeros::<f32>(1 << 20)?;
/// let mut output = stream.alloc_zeros::<f32>(1 << 20)?;
/// let sums = scanner.scan(ops::sum()).on(&stream).prepare(1 << 20)?;
///
/// stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
/// sums.run_into(&input, &mut output)?;
/// let graph = stream.end_capture(CUgraphInstantiate_flags(0))?.expect("work has been captured");
///
/// for step in 0..100 {
///     stream.memcpy_htod(&vec![step as f32; 1 << 20], &mut input)?;
///     graph.launch()?;
/// }
/// stream.synchronize()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a scan does nothing until it is run"]
pub struct Prepared<Op: ScanOp, M: Memory = Host, R = Prefixes> {
    handle: M::Handle<Op>,
    of: PhantomData<fn() -> R>,
}

impl<Op: ScanOp, M: Memory, R> fmt::Debug for Prepared<Op, M, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prepared").field(&self.handle).finish()
    }
}

/// The words of [`Run`], for a run of the handle.
impl<Op: ScanOp, M: Memory, R: Outcome> Prepared<Op, M, R> {
    pub(crate) fn new(handle: M::Handle<Op>) -> Self {
        Prepared { handle, of: PhantomData }
    }

    /// A run that brings nothing but its input.
    #[inline]
    pub(crate) fn call(&self) -> Run<'_, Op, M, R> {
        Run::new(M::of_handle(&self.handle))
    }

    /// See [`Run::by_flags`].
    pub fn by_flags<'a, F: HeadFlag>(&'a self, flags: &'a (impl Array<F, M> + ?Sized)) -> Run<'a, Op, M, R> {
        self.call().by_flags(flags)
    }

    /// See [`Run::by_bits`].
    pub fn by_bits<'a, W: BitWord>(&'a self, bits: &'a (impl Array<W, M> + ?Sized)) -> Run<'a, Op, M, R> {
        self.call().by_bits(bits)
    }

    /// See [`Run::by_bits_at`].
    pub fn by_bits_at<'a, W: BitWord>(
        &'a self,
        bits: &'a (impl Array<W, M> + ?Sized),
        first: usize,
    ) -> Run<'a, Op, M, R> {
        self.call().by_bits_at(bits, first)
    }

    /// See [`Run::by_keys`].
    pub fn by_keys<'a, K: ScanElement>(&'a self, keys: &'a (impl Array<K, M> + ?Sized)) -> Run<'a, Op, M, R> {
        self.call().by_keys(keys)
    }

    /// See [`Run::by_offsets`].
    pub fn by_offsets<'a, T: SegmentOffset>(&'a self, offsets: &'a (impl Array<T, M> + ?Sized)) -> Run<'a, Op, M, R> {
        self.call().by_offsets(offsets)
    }

    /// See [`Run::rows`].
    pub fn rows(&self, len: usize) -> Run<'_, Op, M, R> {
        self.call().rows(len)
    }

    /// See [`Run::along`].
    pub fn along(&self, axis: impl Into<M::Axis>) -> Run<'_, Op, M, R> {
        self.call().along(axis)
    }

    /// See [`Run::init_each`].
    pub fn init_each<'a>(&'a self, values: &'a (impl Array<Op::Carry, M> + ?Sized)) -> Run<'a, Op, M, R> {
        self.call().init_each(values)
    }
}

/// Runs, as those of the scan or reduction.
#[allow(clippy::missing_errors_doc, reason = "those of the run, and of the handle")]
impl<Op: ScanOp, M: Memory, R: Outcome> Prepared<Op, M, R> {
    /// Runs over an input into new memory; see [`Scan::run`](crate::Scan::run).
    #[inline]
    pub fn run<S: Shape>(&self, input: impl Input<Op::Input, M, Shape = S>) -> Result<R::Whole<M, Op, S>, Error> {
        R::run_whole::<M, Op, S>(&M::of_handle(&self.handle), input)
    }

    /// Runs over an input into an output; see [`Scan::run_into`](crate::Scan::run_into).
    #[inline]
    pub fn run_into(
        &self,
        input: impl Input<Op::Input, M>,
        output: impl Output<Op::Output, M>,
    ) -> Result<R::Also<M, Op>, Error> {
        R::run_into::<M, Op>(&M::of_handle(&self.handle), input, output)
    }
}

#[allow(clippy::missing_errors_doc, reason = "those of the run, and of the handle")]
impl<Op: ScanOp, M: Memory> Prepared<Op, M> {
    /// Scans an array in place; see [`Scan::run_in_place`](crate::Scan::run_in_place).
    #[inline]
    pub fn run_in_place<T: ScanElement>(&self, buffer: &mut (impl Buffer<T, M> + ?Sized)) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
    {
        M::scan_in_place::<Prefixes, Op, T>(&M::of_handle(&self.handle), buffer)
    }
}

/// Segments that only a reduction has.
impl<Op: ScanOp, M: Memory> Prepared<Op, M, Totals> {
    /// See [`Run::by_ranges`].
    pub fn by_ranges<'a, T: SegmentOffset>(
        &'a self,
        begins: &'a (impl Array<T, M> + ?Sized),
        ends: &'a (impl Array<T, M> + ?Sized),
    ) -> Run<'a, Op, M, Totals> {
        self.call().by_ranges(begins, ends)
    }
}

/// Totals in addition to prefixes.
impl<Op: ScanOp, M: Memory> Prepared<Op, M> {
    /// See [`Run::with_total`].
    pub fn with_total(&self) -> Run<'_, Op, M, PrefixesAndTotal> {
        self.call().with_total()
    }

    /// See [`Run::with_totals`].
    pub fn with_totals(&self) -> Run<'_, Op, M, PrefixesAndTotals> {
        self.call().with_totals()
    }

    /// See [`Run::total_into`].
    pub fn total_into<'a>(&'a self, total: &'a mut (impl ArrayMut<Op::Carry, M> + ?Sized)) -> Run<'a, Op, M> {
        self.call().total_into(total)
    }

    /// See [`Run::totals_into`].
    pub fn totals_into<'a>(&'a self, totals: &'a mut (impl ArrayMut<Op::Carry, M> + ?Sized)) -> Run<'a, Op, M> {
        self.call().totals_into(totals)
    }
}

#[inline]
pub(crate) fn check_len(len: usize, max_len: usize) -> Result<(), Error> {
    if len > max_len { Err(Error::PreparedLength { len, max_len }) } else { Ok(()) }
}

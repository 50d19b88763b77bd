//! Scans of arrays in host memory.

use std::{fmt, mem::MaybeUninit, ptr};

use scan_codegen::ArrayKinds;

use super::{
    At, Columns, Lengths, common_len,
    kinds::Lanes,
    layouts,
    tuples::{Sinks, Sources},
};
use crate::{
    Error, HostHeads, KernelSource, NoHeads, PlanError, Plans, Scan, ScanOp,
    aot::{Precompile, Wanted},
    call::{HostPlaces, HostTotals, Totals},
    cpu::{self, InColumns},
    cuda::Task,
    heads::HeadKind,
    scanner::Engine,
    telemetry::{computing, tells_of_calls},
};

/// A scan whose input and output have an array for each field of an element, made by [`Scan::columns`].
///
/// Fields that lie in arrays of their own are neither interleaved before the scan nor taken apart after it, on no
/// device, and the padding between them is not moved. The arrays of the output are other ones than those of the input.
/// Everything else is as of the [`Scan`].
///
/// On a GPU it is as fast as a scan of one array of as many bytes where the arrays are aligned alike: where in each of
/// them the same number of items lies between the first one and an address that is a multiple of 16 bytes. That is so
/// of whole allocations, and of parts that begin at the same index. Other parts are copied in smaller pieces, which is
/// slower.
///
/// Reductions, the tuner and handles for host memory take one array of elements. Scans along an axis have
/// [`AxisScan::columns`](crate::AxisScan::columns). The total alone
/// is that of [`run_into_with_total`](ColumnScan::run_into_with_total).
#[derive(Clone)]
#[must_use = "a scan does nothing until it is run"]
pub struct ColumnScan<Op: ScanOp, H = NoHeads> {
    scan: Scan<Op, H>,
}

impl<Op: ScanOp, H: HostHeads> fmt::Debug for ColumnScan<Op, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ColumnScan").field(&self.scan).finish()
    }
}

impl<Op: ScanOp, H> Scan<Op, H> {
    /// The same scan of inputs and outputs that have an array for each field of an element (a struct of arrays). Inputs
    /// and outputs that have no fields lie in one array.
    ///
    /// ```
    /// use scan_runtime::{ScanOp, Scanner, scan_element, scan_op};
    ///
    /// /// `h[i] = gate[i] * h[i-1] + token[i]`, with gates of at most 1.
    /// #[derive(Clone)]
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
    /// Scanner::new()?.scan(Recurrence).columns().run_into((&gates, &tokens), &mut states)?;
    /// assert_eq!(states, [8.0, 6.0, 5.5]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// An output with several fields takes a tuple, too: `run_into((&gates, &tokens), (&mut means, &mut counts))`. The
    /// module [`arrays`](crate::arrays) has arrays besides slices: what is gathered, scattered, an index, or not written.
    pub fn columns(mut self) -> ColumnScan<Op, H>
    where
        Op: ScanOp<Input: Columns, Output: Columns>,
    {
        self.layouts = layouts::<Op>();
        ColumnScan { scan: self }
    }
}

impl<Op: ScanOp, H: HostHeads> Precompile for ColumnScan<Op, H> {
    fn wanted(&self) -> Wanted {
        self.scan.wanted()
    }
}

impl<Op: ScanOp<Input: Columns, Output: Columns>, H: HostHeads> ColumnScan<Op, H> {
    /// Scans arrays into others of the same length.
    ///
    /// # Errors
    ///
    /// As [`Scan::run_into`], [`Error::ColumnLength`] if the arrays of the input, or those of the output, are not of
    /// one length, [`Error::UnknownLength`] if none has a length, [`Error::IndexOutOfBounds`] for a place that is not
    /// in its array, and [`Error::ComputedIndex`] for one that the operator computes.
    pub fn run_into(
        &self,
        input: impl Sources<<Op::Input as Columns>::Fields>,
        output: impl Sinks<<Op::Output as Columns>::Fields>,
    ) -> Result<(), Error> {
        self.run_all(input, output, false).map(drop)
    }

    /// Scans arrays into others of the same length, and gives the total, as [`Scan::run_into_with_total`] does.
    ///
    /// # Errors
    ///
    /// As [`run_into`](ColumnScan::run_into).
    pub fn run_into_with_total(
        &self,
        input: impl Sources<<Op::Input as Columns>::Fields>,
        output: impl Sinks<<Op::Output as Columns>::Fields>,
    ) -> Result<Option<Op::Carry>, Error> {
        self.run_all(input, output, true)
    }

    /// Scans arrays into others of the same length, and writes the total of each segment, as
    /// [`Scan::run_into_with_totals`] does: of rows, or between offsets.
    ///
    /// # Errors
    ///
    /// As [`run_into`](ColumnScan::run_into), and those of [`Scan::run_into_with_totals`].
    pub fn run_into_with_totals(
        &self,
        input: impl Sources<<Op::Input as Columns>::Fields>,
        output: impl Sinks<<Op::Output as Columns>::Fields>,
        totals: &mut [Op::Carry],
    ) -> Result<(), Error> {
        self.hold(input, output, |input, output, len| {
            self.scan.check_totals(len, totals.len())?;
            // SAFETY: the arrays are valid, and there is a total for each segment.
            unsafe { self.scan.run_each_at_columns(input, output, len, totals.as_mut_ptr()) }
        })
    }

    /// The kernels of this scan over device memory in arrays of the same kinds as these, for a
    /// [bundle](crate::aot::Bundle). Of host memory, gathered, scattered and computed arrays are slices to the kernels. Their lengths do not matter, the types of their places do.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, aot::Bundle, arrays, ops};
    ///
    /// let filter = Scanner::cpu().scan(ops::filter::<f32>()).columns();
    /// let (flags, values, mut kept) = ([false; 0], arrays::gather(&[0.0_f32; 0], &[0_u32; 0]), [0.0; 0]);
    /// let kernels = filter.kernels_like((&flags, values), arrays::scatter_computed((&mut kept,)));
    /// Bundle::new().architecture("sm_90").with(&kernels).write("kernels.scan")?;
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn kernels_like<I, O>(&self, _: I, _: O) -> Wanted
    where
        I: Sources<<Op::Input as Columns>::Fields>,
        O: Sinks<<Op::Output as Columns>::Fields>,
    {
        self.kernels::<I, O>(Totals::None)
    }

    /// As [`kernels_like`](ColumnScan::kernels_like), for runs that give the total, too.
    pub fn kernels_like_with_total<I, O>(&self, _: I, _: O) -> Wanted
    where
        I: Sources<<Op::Input as Columns>::Fields>,
        O: Sinks<<Op::Output as Columns>::Fields>,
    {
        self.kernels::<I, O>(Totals::Last)
    }

    fn kernels<I, O>(&self, totals: Totals) -> Wanted
    where
        I: Sources<<Op::Input as Columns>::Fields>,
        O: Sinks<<Op::Output as Columns>::Fields>,
    {
        let [inputs, outputs] = [I::KINDS, O::KINDS].map(|kinds| ArrayKinds::new(kinds.iter().copied()));
        let spec = self.scan.call(totals).spec().with_kinds(inputs, outputs);
        Wanted::new(&self.scan.op, vec![Task::Scan(spec, self.scan.shape())])
    }

    /// What would run on the GPU, as [`Scan::plan`] tells it.
    ///
    /// # Errors
    ///
    /// As [`Scan::plan`].
    pub fn plan(&self) -> Result<Plans, Error> {
        self.scan.plan()
    }

    /// The CUDA source that would run on the GPU over the longest inputs, as [`Scan::cuda_source`] gives it.
    ///
    /// # Errors
    ///
    /// As [`Scan::cuda_source`].
    pub fn cuda_source(&self) -> Result<KernelSource, Error> {
        self.scan.cuda_source()
    }

    /// As [`cuda_source`](ColumnScan::cuda_source), over inputs of `len` elements.
    ///
    /// # Errors
    ///
    /// As [`cuda_source`](ColumnScan::cuda_source).
    pub fn cuda_source_for(&self, len: usize) -> Result<KernelSource, Error> {
        self.scan.cuda_source_for(len)
    }

    fn run_all<I, O>(&self, input: I, output: O, with_total: bool) -> Result<Option<Op::Carry>, Error>
    where
        I: Sources<<Op::Input as Columns>::Fields>,
        O: Sinks<<Op::Output as Columns>::Fields>,
    {
        // SAFETY: the arrays are valid.
        self.hold(input, output, |input, output, len| unsafe {
            self.scan.run_at_columns(input, output, len, with_total)
        })
    }

    /// Runs over the arrays of an input and of an output, of `len` items each, and finishes the output.
    fn hold<I, O, T>(
        &self,
        input: I,
        mut output: O,
        run: impl FnOnce(At<Op::Input>, At<Op::Output>, usize) -> Result<T, Error>,
    ) -> Result<T, Error>
    where
        I: Sources<<Op::Input as Columns>::Fields>,
        O: Sinks<<Op::Output as Columns>::Fields>,
    {
        let (mut inputs, mut outputs) = (Lengths::of("input"), Lengths::of("output"));
        input.items(&mut |items| inputs.add(items));
        output.items(&mut |items| outputs.add(items));
        let len = common_len(inputs.len()?, outputs.len()?)?;
        let memory = matches!(self.scan.scanner.engine(), Engine::Cpu { .. });
        let row = match self.scan.heads.heads().kind {
            HeadKind::Rows { len } => len,
            _ => len,
        };
        let lanes = Lanes { len, memory, row, axis: None };
        let (input, mut output) = (input.hold(lanes)?, output.hold(len, memory)?);
        // What is held has `len` items in each array, that of the output exclusively.
        let found = run(I::at(&input), O::at(&mut output), len)?;
        // SAFETY: the scan has written every item.
        unsafe { O::finish(output) }?;
        Ok(found)
    }
}

impl<Op: ScanOp<Input: Columns, Output: Columns>, H: HostHeads> Scan<Op, H> {
    /// # Safety
    ///
    /// The arrays are valid for reads, and for writes, of `len` items. No two of them overlap. On a device, those that
    /// are null are indices, or discarded.
    pub(super) unsafe fn run_at_columns(
        &self,
        input: At<Op::Input>,
        output: At<Op::Output>,
        len: usize,
        with_total: bool,
    ) -> Result<Option<Op::Carry>, Error> {
        let heads = self.heads.heads();
        if heads.initial_values.is_some() {
            if with_total {
                return Err(PlanError::TotalOfEach.into());
            }
            // SAFETY: the caller vouches for the arrays.
            return unsafe { self.run_each_at_columns(input, output, len, ptr::null_mut()) }.map(|()| None);
        }
        match self.scanner.engine() {
            Engine::Cpu { .. } => {
                self.check_planned(Totals::None)?;
                let _telling = tells_of_calls().then(|| computing::<Op>(len));
                heads.check(len)?;
                let memory = InColumns::<Op> { input, output };
                // SAFETY: the caller vouches for the arrays.
                let total = unsafe { cpu::scan_in(&self.op, self.how(with_total), memory, len) }?;
                self.report_all(len);
                Ok(total)
            }
            Engine::Cuda(device) => {
                heads.check(len)?;
                let places = HostPlaces::in_columns::<Op>(input, output, len);
                let mut total = MaybeUninit::uninit();
                let with_total = with_total && len > 0;
                let (wanted, totals) = match with_total {
                    true => (Totals::Last, HostTotals::last(&mut total)),
                    false => (Totals::None, HostTotals::NONE),
                };
                // SAFETY: as above.
                unsafe { self.call(wanted).scan_on_device(device, &places, totals)? };
                Ok(if with_total {
                    // SAFETY: the kernels have written the total that was asked of them.
                    Some(unsafe { total.assume_init() })
                } else {
                    self.initial_value
                })
            }
        }
    }

    /// # Safety
    ///
    /// As for [`run_at_columns`](Scan::run_at_columns). `totals` is null, or valid for a write of the total of each
    /// segment.
    pub(super) unsafe fn run_each_at_columns(
        &self,
        input: At<Op::Input>,
        output: At<Op::Output>,
        len: usize,
        totals: *mut Op::Carry,
    ) -> Result<(), Error> {
        let places = HostPlaces::in_columns::<Op>(input, output, len);
        // SAFETY: the caller vouches for the arrays.
        unsafe { self.run_each(InColumns::<Op> { input, output }, &places, totals) }
    }
}

//! Scans and reductions that are prepared once and run often.

use std::{marker::PhantomData, slice, sync::Arc};

use cudarc::driver::{CudaStream, sys};
use scan_codegen::{PlanError, Segments};

use crate::{
    DeviceBuffer, DeviceBufferMut, Error, HeadFlag, Reduce, Scan, ScanElement, ScanOp, SegmentOffset,
    cuda::{InOut, Prepared, SideBuffers, Task, driver_error},
    heads::{HeadKind, HeadsOnDevice, NoHeads, Rows, with_heads},
};

/// Ways to prepare a scan for many runs on one stream.
///
/// What [`on`](Scan::on) does at each call is then done once: the kernels are compiled and loaded, the operator's parameters and
/// the initial value taken as they are now, the workspace allocated for as many elements as may come. A run checks the
/// lengths and launches: it allocates no device memory, copies nothing, waits for nothing, and takes no lock that work on another
/// stream could hold. Where the plan is a single launch and the length that of the run before, it allocates nothing on the host
/// either.
///
/// Other parameters of the operator, another initial value, stream or greater length need another handle.
///
/// # Graphs
///
/// Runs can be captured into a CUDA graph, which can be launched as often as you like, on one stream at a time: what the kernels
/// keep from launch to launch is in device memory. Prepare the scan, and allocate the buffers, before the capture begins, and keep
/// all of them until the graph is gone. `cudarc` orders work on several streams by events, which a capture does not allow; turn them
/// off before you allocate the buffers.
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
/// let sums = scanner.scan(ops::sum()).prepare(&stream, 1 << 20)?;
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
impl<Op: ScanOp> Scan<Op> {
    /// Prepares this scan of up to `max_len` elements of device memory on a stream.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let maxima = scanner.scan(ops::max()).prepare(&stream, 1_000)?;
    /// let mut buffer = stream.clone_htod(&[2, 7, 1])?;
    /// for _ in 0..10 {
    ///     maxima.run_in_place(&mut buffer)?;
    /// }
    /// assert_eq!(stream.clone_dtoh(&buffer)?, [2, 7, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotCuda`] on a CPU scanner, [`Error::ForeignContext`] if the stream is of another context, [`Error::Captured`] and
    /// [`Error::StreamOfThreads`] if it is no stream to prepare on, [`Error::OutOfDeviceMemory`], and whatever else can go wrong.
    pub fn prepare(&self, stream: &Arc<CudaStream>, max_len: usize) -> Result<PreparedScan<Op>, Error> {
        let prepared = self.prepared(stream, &Segments::None, false, max_len)?;
        Ok(PreparedScan { prepared, brings: NoHeads, operator: PhantomData })
    }

    /// As [`prepare`](Scan::prepare), for runs that give the sum of all elements too.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Scan::prepare).
    pub fn prepare_with_total(
        &self,
        stream: &Arc<CudaStream>,
        max_len: usize,
    ) -> Result<PreparedScan<Op, WithTotal<Op::Carry>>, Error> {
        let prepared = self.prepared(stream, &Segments::None, true, max_len)?;
        let of_nothing = self.initial_value.or_else(|| self.op.start()).map(Box::new);
        let brings = WithTotal { of_nothing, operator: self.op.source().name };
        Ok(PreparedScan { prepared, brings, operator: PhantomData })
    }

    /// As [`prepare`](Scan::prepare), for runs over rows of `len` elements; see [`Scan::rows`].
    ///
    /// # Errors
    ///
    /// As [`prepare`](Scan::prepare).
    pub fn prepare_rows(
        &self,
        stream: &Arc<CudaStream>,
        max_len: usize,
        len: usize,
    ) -> Result<PreparedScan<Op, Rows>, Error> {
        let prepared = self.prepared(stream, &Segments::Rows, false, max_len)?;
        Ok(PreparedScan { prepared, brings: Rows { len }, operator: PhantomData })
    }

    /// As [`prepare`](Scan::prepare), for runs that restart at every element whose flag is set; see [`Scan::by_flags`].
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let sums = scanner.scan(ops::sum()).prepare_by_flags(&stream, 1_000)?;
    /// let flags = stream.clone_htod(&[1_u8, 0, 0, 1, 0])?;
    /// let mut buffer = stream.clone_htod(&[1, 2, 3, 4, 5])?;
    /// sums.run_in_place(&flags, &mut buffer)?;
    /// assert_eq!(stream.clone_dtoh(&buffer)?, [1, 3, 6, 4, 9]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`prepare`](Scan::prepare).
    pub fn prepare_by_flags<F: HeadFlag>(
        &self,
        stream: &Arc<CudaStream>,
        max_len: usize,
    ) -> Result<PreparedScan<Op, HeadsOfRun<F>>, Error> {
        self.prepare_by(stream, HeadKind::Flags, max_len)
    }

    /// As [`prepare`](Scan::prepare), for runs that restart at every element whose bit is set; see [`Scan::by_bits`].
    ///
    /// # Errors
    ///
    /// As [`prepare`](Scan::prepare).
    pub fn prepare_by_bits(
        &self,
        stream: &Arc<CudaStream>,
        max_len: usize,
    ) -> Result<PreparedScan<Op, HeadsOfRun<u32>>, Error> {
        self.prepare_by(stream, HeadKind::Bits, max_len)
    }

    /// As [`prepare`](Scan::prepare), for runs that restart wherever the key is another than that of the element before; see
    /// [`Scan::by_keys`].
    ///
    /// # Errors
    ///
    /// As [`prepare`](Scan::prepare), and [`Error::Plan`] if keys have padding.
    pub fn prepare_by_keys<K: ScanElement>(
        &self,
        stream: &Arc<CudaStream>,
        max_len: usize,
    ) -> Result<PreparedScan<Op, HeadsOfRun<K>>, Error> {
        self.prepare_by(stream, HeadKind::keys::<K>(), max_len)
    }

    /// As [`prepare`](Scan::prepare), for runs that restart at given positions; see [`Scan::by_offsets`].
    ///
    /// # Errors
    ///
    /// As [`prepare`](Scan::prepare).
    pub fn prepare_by_offsets<T: SegmentOffset>(
        &self,
        stream: &Arc<CudaStream>,
        max_len: usize,
    ) -> Result<PreparedScan<Op, HeadsOfRun<T>>, Error> {
        self.prepare_by(stream, HeadKind::Offsets(T::WIDTH), max_len)
    }

    fn prepare_by<T>(
        &self,
        stream: &Arc<CudaStream>,
        kind: HeadKind,
        max_len: usize,
    ) -> Result<PreparedScan<Op, HeadsOfRun<T>>, Error> {
        let prepared = self.prepared(stream, &kind.segments(), false, max_len)?;
        Ok(PreparedScan { prepared, brings: HeadsOfRun { kind, item: PhantomData }, operator: PhantomData })
    }

    fn prepared(
        &self,
        stream: &Arc<CudaStream>,
        segments: &Segments,
        total: bool,
        max_len: usize,
    ) -> Result<Prepared, Error> {
        let device = self.scanner.device_of(stream)?;
        let spec = self.spec().with_segments(segments.clone());
        let spec = if total { spec.with_total() } else { spec };
        let task = Task::Scan(spec, self.shape());
        Prepared::new(device, stream, &self.op, self.initial_value.as_ref(), &task, max_len)
    }
}

/// A scan that is ready to run on a stream, made by [`Scan::prepare`]. `B` is what a run brings besides input and output: nothing
/// ([`NoHeads`]), what tells where it restarts ([`HeadsOfRun`]), or room for the sum of all elements ([`WithTotal`]).
///
/// Every method enqueues its work on the stream and returns. The handle can be dropped at once: its memory goes when the work that
/// is enqueued has been done.
#[derive(Debug)]
#[must_use = "a scan does nothing until it is run"]
pub struct PreparedScan<Op: ScanOp, B = NoHeads> {
    prepared: Prepared,
    brings: B,
    operator: PhantomData<fn() -> Op>,
}

/// A run brings what tells where it restarts, in items of type `T`: made by [`Scan::prepare_by_flags`],
/// [`prepare_by_bits`](Scan::prepare_by_bits), [`prepare_by_keys`](Scan::prepare_by_keys) or
/// [`prepare_by_offsets`](Scan::prepare_by_offsets).
#[derive(Debug)]
pub struct HeadsOfRun<T> {
    kind: HeadKind,
    item: PhantomData<fn() -> T>,
}

/// A run brings room for the sum of all elements, of type `S`: made by [`Scan::prepare_with_total`].
#[derive(Debug)]
pub struct WithTotal<S> {
    /// The sum of no elements: where a graph finds it, too.
    of_nothing: Option<Box<S>>,
    operator: String,
}

impl<Op: ScanOp> PreparedScan<Op> {
    /// Scans a device slice or view into another of the same length.
    ///
    /// # Errors
    ///
    /// [`Error::PreparedLength`] if there are more elements than the scan was prepared for, [`Error::OutputLength`] if the lengths
    /// differ, [`Error::ForeignContext`] if a buffer is of another context than the stream, and whatever else the driver reports.
    pub fn run_into(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
    ) -> Result<(), Error> {
        run_into(&self.prepared, SideBuffers::default(), input, output)
    }

    /// Scans a device slice or view in place.
    ///
    /// # Errors
    ///
    /// As [`run_into`](PreparedScan::run_into).
    pub fn run_in_place<T>(&self, buffer: &mut impl DeviceBufferMut<T>) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        run_in_place(&self.prepared, SideBuffers::default(), buffer)
    }
}

impl<Op: ScanOp> PreparedScan<Op, Rows> {
    /// Scans the rows of a device slice or view into another of the same length.
    ///
    /// # Errors
    ///
    /// As [`PreparedScan::run_into`], and [`Error::RowLength`] if the input does not consist of whole rows.
    pub fn run_into(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
    ) -> Result<(), Error> {
        let stream = self.prepared.stream();
        with_heads(&self.brings, stream, input.len(), |side| run_into(&self.prepared, side, input, output))
    }

    /// Scans the rows of a device slice or view in place.
    ///
    /// # Errors
    ///
    /// As [`run_into`](PreparedScan::run_into).
    pub fn run_in_place<T>(&self, buffer: &mut impl DeviceBufferMut<T>) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        let (stream, len) = (self.prepared.stream(), buffer.len());
        with_heads(&self.brings, stream, len, |side| run_in_place(&self.prepared, side, buffer))
    }
}

impl<Op: ScanOp> PreparedScan<Op, WithTotal<Op::Carry>> {
    /// Scans a device slice or view into another of the same length, and writes the sum of all elements, the initial value included,
    /// to `total`, which has one element. The sum of no elements is the initial value, or else the identity.
    ///
    /// # Errors
    ///
    /// As [`PreparedScan::run_into`], [`Error::ResultLength`] if the total is not one element, and [`PlanError::NoElements`] for no
    /// elements, no initial value and no identity.
    pub fn run_into(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
        total: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        let len = input.len();
        self.with_total(len, total, |side| run_into(&self.prepared, side, input, output))
    }

    /// Scans a device slice or view in place, and writes the sum of all elements to `total`.
    ///
    /// # Errors
    ///
    /// As [`run_into`](PreparedScan::run_into).
    pub fn run_in_place<T>(
        &self,
        buffer: &mut impl DeviceBufferMut<T>,
        total: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        let len = buffer.len();
        self.with_total(len, total, |side| run_in_place(&self.prepared, side, buffer))
    }

    fn with_total(
        &self,
        len: usize,
        total: &mut impl DeviceBufferMut<Op::Carry>,
        run: impl FnOnce(SideBuffers) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.prepared.check_context("total", total.stream())?;
        if total.len() != 1 {
            return Err(Error::ResultLength { output: total.len() });
        }
        if len == 0 {
            run(SideBuffers::default())?;
            return write_nothing(&self.prepared, self.brings.of_nothing.as_deref(), &self.brings.operator, total);
        }
        let (pointer, _writing) = total.device_ptr_mut(self.prepared.stream());
        run(SideBuffers { total: pointer, ..SideBuffers::default() })
    }
}

impl<Op: ScanOp, T> PreparedScan<Op, HeadsOfRun<T>> {
    /// Scans a device slice or view into another of the same length.
    ///
    /// # Errors
    ///
    /// As [`PreparedScan::run_into`], and [`Error::SegmentsLength`] if there are more or fewer flags, bits or keys than the input
    /// requires.
    pub fn run_into(
        &self,
        heads: &impl DeviceBuffer<T>,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
    ) -> Result<(), Error> {
        let len = input.len();
        self.with_heads(len, heads, |side| run_into(&self.prepared, side, input, output))
    }

    /// Scans a device slice or view in place.
    ///
    /// # Errors
    ///
    /// As [`run_into`](PreparedScan::run_into).
    pub fn run_in_place<E>(
        &self,
        heads: &impl DeviceBuffer<T>,
        buffer: &mut impl DeviceBufferMut<E>,
    ) -> Result<(), Error>
    where
        Op: ScanOp<Input = E, Output = E>,
        E: ScanElement,
    {
        let len = buffer.len();
        self.with_heads(len, heads, |side| run_in_place(&self.prepared, side, buffer))
    }

    fn with_heads(
        &self,
        len: usize,
        heads: &impl DeviceBuffer<T>,
        run: impl FnOnce(SideBuffers) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let heads = HeadsOnDevice { kind: self.brings.kind, buffer: heads, item: PhantomData };
        with_heads(&heads, self.prepared.stream(), len, run)
    }
}

/// A way to prepare a reduction for many runs on one stream.
impl<Op: ScanOp> Reduce<Op> {
    /// Prepares this reduction of up to `max_len` elements of device memory on a stream. What [`Scan::prepare`] says of runs and
    /// of graphs holds here, too.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let largest = scanner.reduce(ops::max()).prepare(&stream, 1_000)?;
    /// let (input, mut result) = (stream.clone_htod(&[2, 7, 1])?, stream.alloc_zeros(1)?);
    /// largest.run_into(&input, &mut result)?;
    /// assert_eq!(stream.clone_dtoh(&result)?, [7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Scan::prepare`].
    pub fn prepare(&self, stream: &Arc<CudaStream>, max_len: usize) -> Result<PreparedReduction<Op>, Error> {
        let device = self.scan.scanner.device_of(stream)?;
        let prepared =
            Prepared::new(device, stream, &self.scan.op, self.scan.initial_value.as_ref(), &self.task(), max_len)?;
        let of_nothing = self.of_nothing().ok().map(Box::new);
        Ok(PreparedReduction { prepared, of_nothing, operator: self.scan.op.source().name })
    }
}

/// A reduction that is ready to run on a stream, made by [`Reduce::prepare`].
///
/// A run enqueues its work on the stream and returns. The handle can be dropped at once: its memory goes when the work that is
/// enqueued has been done.
#[derive(Debug)]
#[must_use = "a reduction does nothing until it is run"]
pub struct PreparedReduction<Op: ScanOp> {
    prepared: Prepared,
    /// The result for no elements: where a graph finds it, too.
    of_nothing: Option<Box<Op::Output>>,
    operator: String,
}

impl<Op: ScanOp> PreparedReduction<Op> {
    /// Reduces a device slice or view into a slice or view of one element. The sum of no elements is the initial value, or else
    /// the identity.
    ///
    /// # Errors
    ///
    /// [`Error::PreparedLength`] if there are more elements than the reduction was prepared for, [`Error::ResultLength`] if the
    /// output is not one element, [`Error::ForeignContext`] if a buffer is of another context than the stream,
    /// [`PlanError::NoElements`] for no elements, no initial value and no identity, and whatever else the driver reports.
    pub fn run_into(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
    ) -> Result<(), Error> {
        let (prepared, len) = (&self.prepared, input.len());
        prepared.check_len(len)?;
        if output.len() != 1 {
            return Err(Error::ResultLength { output: output.len() });
        }
        prepared.check_context("input", input.stream())?;
        prepared.check_context("output", output.stream())?;
        if len == 0 {
            return write_nothing(prepared, self.of_nothing.as_deref(), &self.operator, output);
        }
        // The guards record the events by which cudarc orders work on several streams, once the launches are made.
        let (input, _reading) = input.device_ptr(prepared.stream());
        let (output, _writing) = output.device_ptr_mut(prepared.stream());
        enqueue(prepared, SideBuffers::default(), input, output, len)
    }
}

/// Copies what no elements give to the device, from where it stays as long as the handle.
fn write_nothing<T: ScanElement>(
    prepared: &Prepared,
    of_nothing: Option<&T>,
    operator: &str,
    to: &mut impl DeviceBufferMut<T>,
) -> Result<(), Error> {
    let nothing = of_nothing.ok_or_else(|| PlanError::NoElements { operator: operator.to_owned() })?;
    let copied = prepared.stream().memcpy_htod(slice::from_ref(nothing), to);
    copied.map_err(driver_error("copying to the device"))
}

fn run_into<Input, Output>(
    prepared: &Prepared,
    side: SideBuffers,
    input: &impl DeviceBuffer<Input>,
    output: &mut impl DeviceBufferMut<Output>,
) -> Result<(), Error> {
    let len = input.len();
    prepared.check_len(len)?;
    if len != output.len() {
        return Err(Error::OutputLength { input: len, output: output.len() });
    }
    prepared.check_context("input", input.stream())?;
    prepared.check_context("output", output.stream())?;
    // The guards record the events by which cudarc orders work on several streams, once the launches are made.
    let (input, _reading) = input.device_ptr(prepared.stream());
    let (output, _writing) = output.device_ptr_mut(prepared.stream());
    enqueue(prepared, side, input, output, len)
}

fn run_in_place<T>(prepared: &Prepared, side: SideBuffers, buffer: &mut impl DeviceBufferMut<T>) -> Result<(), Error> {
    let len = buffer.len();
    prepared.check_len(len)?;
    prepared.check_context("buffer", buffer.stream())?;
    let (pointer, _writing) = buffer.device_ptr_mut(prepared.stream());
    enqueue(prepared, side, pointer, pointer, len)
}

/// The buffers have been borrowed from live slices of `len` elements of the scan's types (a reduction's output: of one), the
/// output exclusively; they are one buffer only where the types are the same. The side buffers are as long as the scan requires.
fn enqueue(
    prepared: &Prepared,
    side: SideBuffers,
    input: sys::CUdeviceptr,
    output: sys::CUdeviceptr,
    len: usize,
) -> Result<(), Error> {
    // SAFETY: as stated above; nobody but the functions of this module, which borrow them so, gets here.
    unsafe { prepared.enqueue(side, InOut { input, output, len: len as u64 }) }
}

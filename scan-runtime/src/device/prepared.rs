//! Runs over device memory that are prepared once and run often.

use std::{fmt, marker::PhantomData};

use super::{
    DeviceScan,
    arguments::{DeviceInput, DeviceOutput},
    handle::Handle,
};
use crate::{DeviceBuffer, DeviceBufferMut, Error, Goal, LateValue, Prefixes, ScanElement, ScanOp, Totals};

/// A scan or a reduction of device memory that is ready to run on a stream, made by [`DeviceScan::prepare`], which says
/// what is ready.
///
/// Every run enqueues its work on the stream and returns. The handle can be dropped at once: its memory goes when the
/// work that is enqueued has been done.
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
pub struct DevicePrepared<Op: ScanOp, G = Prefixes> {
    handle: Handle,
    of: PhantomData<fn() -> (Op, G)>,
}

impl<Op: ScanOp, G> fmt::Debug for DevicePrepared<Op, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DevicePrepared").field(&self.handle).finish()
    }
}

impl<Op: ScanOp, G: Goal> DevicePrepared<Op, G> {
    pub(crate) fn new(handle: Handle) -> Self {
        DevicePrepared { handle, of: PhantomData }
    }

    /// A run.
    pub(crate) fn call(&self) -> DeviceScan<'_, Op, G> {
        DeviceScan::of_handle(&self.handle)
    }
}

/// Runs that bring input and output alone, and a total; [`by_flags`](DevicePrepared::by_flags) and its like give
/// others. They are those of [`DeviceScan`], with its errors; [`Error::PreparedLength`] for more elements than the
/// handle was prepared for, [`Error::HandleMismatch`] for a run of another kind.
#[allow(clippy::missing_errors_doc, reason = "told above, for all of them")]
impl<Op: ScanOp> DevicePrepared<Op> {
    /// Puts a value before the first element that is in device memory; see [`DeviceScan::init_from`].
    pub fn init_from<'a>(&'a self, value: &'a impl DeviceBuffer<Op::Carry>) -> DeviceScan<'a, Op> {
        self.call().init_from(value)
    }

    /// Puts a value before the first element that arrives late; see [`DeviceScan::init_late`].
    pub fn init_late<'a>(&'a self, value: &'a LateValue<Op::Carry>) -> DeviceScan<'a, Op> {
        self.call().init_late(value)
    }

    /// Puts a value of its own before the first element of each segment or column; see [`DeviceScan::init_each`].
    pub fn init_each<'a>(&'a self, values: &'a impl DeviceBuffer<Op::Carry>) -> DeviceScan<'a, Op> {
        self.call().init_each(values)
    }

    /// Reads the number of elements from device memory; see [`DeviceScan::len_from`].
    pub fn len_from<'a>(&'a self, len: &'a impl DeviceBuffer<u64>) -> DeviceScan<'a, Op> {
        self.call().len_from(len)
    }

    /// As [`DeviceScan::run_into`].
    pub fn run_into(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
    ) -> Result<(), Error> {
        self.call().run_into(input, output)
    }

    /// As [`DeviceScan::run_in_place`].
    pub fn run_in_place<T>(&self, buffer: &mut impl DeviceBufferMut<T>) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.call().run_in_place(buffer)
    }

    /// As [`DeviceScan::run_into_with_total`].
    pub fn run_into_with_total(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
        total: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        self.call().run_into_with_total(input, output, total)
    }

    /// As [`DeviceScan::run_in_place_with_total`].
    pub fn run_in_place_with_total<T>(
        &self,
        buffer: &mut impl DeviceBufferMut<T>,
        total: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.call().run_in_place_with_total(buffer, total)
    }

    /// As [`DeviceScan::run_into_with_totals`].
    pub fn run_into_with_totals(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
        totals: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        self.call().run_into_with_totals(input, output, totals)
    }

    /// As [`DeviceScan::run_in_place_with_totals`].
    pub fn run_in_place_with_totals<T>(
        &self,
        buffer: &mut impl DeviceBufferMut<T>,
        totals: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.call().run_in_place_with_totals(buffer, totals)
    }
}

#[allow(clippy::missing_errors_doc, reason = "those of `DeviceScan`, and of the handle")]
impl<Op: ScanOp> DevicePrepared<Op, Totals> {
    /// Reduces a device slice or view into a slice or view of one element. As the [`DeviceScan`]'s own.
    pub fn run_into(
        &self,
        input: impl DeviceInput<Op::Input>,
        output: impl DeviceOutput<Op::Output>,
    ) -> Result<(), Error> {
        self.call().run_into(input, output)
    }
}

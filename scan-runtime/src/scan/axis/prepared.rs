//! Scans along an axis that are prepared once and run often.

use std::{fmt, sync::Arc};

use cudarc::driver::CudaStream;

use super::{AxisScan, DeviceAxisScan, heads_of};
use crate::{
    DeviceBuffer, DeviceBufferMut, Error, ScanElement, ScanOp,
    cuda::{Constants, InOut, Runs, SideBuffers, Task, Work, bind},
    device_work::{Brings, InitialOnDevice},
    heads::HeadKind,
    scan::Also,
};

/// A scan along an axis of device memory that is ready to run on a stream, made by [`DeviceAxisScan::prepare`]: it is
/// to a [`DeviceAxisScan`] as [`DevicePrepared`](crate::DevicePrepared) is to a [`DeviceScan`](crate::DeviceScan). Runs
/// can be captured into a graph, as it says.
///
/// ```no_run
/// use scan_runtime::{Axis, Scanner, ops};
///
/// let scanner = Scanner::cuda(0)?;
/// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
/// let down = scanner.scan(ops::sum()).axis(Axis::of(&[2, 3], 0)?);
/// let prepared = down.on(&stream).prepare()?;
/// let mut matrix = stream.clone_htod(&[1, 2, 3, 4, 5, 6])?;
/// prepared.run_in_place(&mut matrix)?;
/// assert_eq!(stream.clone_dtoh(&matrix)?, [1, 2, 3, 5, 7, 9]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It owns a clone of the scan, and keeps the stream, so that a struct can hold it:
///
/// ```no_run
/// use std::sync::Arc;
///
/// use scan_runtime::{Axis, DeviceAxisPrepared, Error, Scanner, cudarc::driver::CudaStream, ops};
///
/// struct Layer {
///     sums: DeviceAxisPrepared<ops::Sum<f32>>,
/// }
///
/// fn layer(scanner: &Scanner, stream: &Arc<CudaStream>, axis: Axis) -> Result<Layer, Error> {
///     let along = scanner.scan(ops::sum()).axis(axis);
///     Ok(Layer { sums: along.on(stream).prepare()? })
/// }
/// ```
#[must_use = "a scan does nothing until it is run"]
pub struct DeviceAxisPrepared<Op: ScanOp> {
    /// Without initial values in host memory, which no run of device memory begins with.
    scan: AxisScan<'static, Op>,
    stream: Arc<CudaStream>,
    work: Work,
    brings: Brings,
}

impl<Op: ScanOp> fmt::Debug for DeviceAxisPrepared<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut handle = f.debug_struct("DeviceAxisPrepared");
        handle.field("axis", &self.scan.axis).field("brings", &self.brings).finish_non_exhaustive()
    }
}

impl<Op: ScanOp + Clone> DeviceAxisScan<'_, Op> {
    /// Prepares runs on the stream: kernels for memory that begins anywhere are loaded, and the memory that they keep
    /// is allocated. Runs that bring an initial value are prepared with one: of it counts only that it is there.
    ///
    /// # Errors
    ///
    /// Those of [`DeviceScan::prepare`](crate::DeviceScan::prepare).
    pub fn prepare(&self) -> Result<DeviceAxisPrepared<Op>, Error> {
        self.prepare_for(Also::Nothing)
    }

    /// As [`prepare`](DeviceAxisScan::prepare), for runs that give the total of each column, too: those whose names end
    /// in `with_totals`.
    ///
    /// # Errors
    ///
    /// As [`prepare`](DeviceAxisScan::prepare).
    pub fn prepare_with_totals(&self) -> Result<DeviceAxisPrepared<Op>, Error> {
        self.prepare_for(Also::Totals)
    }

    fn prepare_for(&self, also: Also) -> Result<DeviceAxisPrepared<Op>, Error> {
        if self.prepared.is_some() {
            return Err(Error::AlreadyPrepared);
        }
        self.check_values()?;
        let AxisScan { scan, axis, layout } = self.scan;
        let device = scan.scanner.device_of(self.stream)?;
        device.check_preparing(self.stream)?;
        bind(self.stream)?;
        let constants = Constants::new(self.stream, &scan.op, scan.initial_value.as_ref())?;
        let spec = also.of(self.spec_with(scan.spec()));
        let is_of_rows = self.scan.is_of_rows(self.each || also == Also::Totals);
        let work = match is_of_rows {
            true => {
                let task = Task::Scan(spec, scan.shape());
                Work::new(device, self.stream, &scan.op, constants, task, Runs::Often(axis.len()))?
            }
            false => {
                let task = Task::Columns(spec, scan.shape());
                Work::along_axis(device, self.stream, &scan.op, constants, &task, layout)?
            }
        };
        let scan = scan.clone().with_heads(heads_of(layout));
        let scan = AxisScan { scan, axis: axis.clone(), layout: layout.clone() };
        Ok(DeviceAxisPrepared { scan, stream: self.stream.clone(), work, brings: self.brings(also) })
    }
}

impl<Op: ScanOp> DeviceAxisScan<'_, Op> {
    /// What a run brings besides input and output.
    pub(super) fn brings(&self, also: Also) -> Brings {
        let initial = match (self.initial, self.each) {
            (None, _) => InitialOnDevice::None,
            (Some(_), false) => InitialOnDevice::One,
            (Some(_), true) => InitialOnDevice::Each,
        };
        Brings { heads: HeadKind::None, also, initial, len: false, layouts: self.scan.scan.layouts }
    }
}

/// Runs, which are those of [`DeviceAxisScan`], with its errors, and [`Error::HandleMismatch`] for a run of another
/// kind than the handle was prepared for.
#[allow(clippy::missing_errors_doc, reason = "told above, for all of them")]
impl<Op: ScanOp> DeviceAxisPrepared<Op> {
    fn runs(&self) -> DeviceAxisScan<'_, Op> {
        DeviceAxisScan { prepared: Some(self), ..self.scan.on(&self.stream) }
    }

    /// An error if it was not prepared for runs that bring this.
    pub(super) fn check(&self, brings: Brings) -> Result<(), Error> {
        match (self.brings.also, self.brings.initial) == (brings.also, brings.initial) {
            true => Ok(()),
            false => Err(Error::HandleMismatch { prepared: self.brings.to_string(), found: brings.to_string() }),
        }
    }

    /// # Safety
    ///
    /// As for [`Work::enqueue`].
    pub(super) unsafe fn enqueue(&self, buffers: InOut<'_>, side: SideBuffers) -> Result<(), Error> {
        // SAFETY: the caller vouches for the buffers, and the work was made for this array.
        unsafe { self.work.enqueue(&self.stream, side, buffers) }
    }

    /// As [`DeviceAxisScan::init_from`].
    pub fn init_from<'a>(&'a self, value: &'a impl DeviceBuffer<Op::Carry>) -> DeviceAxisScan<'a, Op> {
        self.runs().init_from(value)
    }

    /// As [`DeviceAxisScan::init_each`].
    pub fn init_each<'a>(&'a self, values: &'a impl DeviceBuffer<Op::Carry>) -> DeviceAxisScan<'a, Op> {
        self.runs().init_each(values)
    }

    /// As [`DeviceAxisScan::run_into`].
    pub fn run_into(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
    ) -> Result<(), Error> {
        self.runs().run_into(input, output)
    }

    /// As [`DeviceAxisScan::run_in_place`].
    pub fn run_in_place<T>(&self, buffer: &mut impl DeviceBufferMut<T>) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.runs().run_in_place(buffer)
    }

    /// As [`DeviceAxisScan::run_into_with_totals`].
    pub fn run_into_with_totals(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
        totals: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        self.runs().run_into_with_totals(input, output, totals)
    }

    /// As [`DeviceAxisScan::run_in_place_with_totals`].
    pub fn run_in_place_with_totals<T>(
        &self,
        buffer: &mut impl DeviceBufferMut<T>,
        totals: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        self.runs().run_in_place_with_totals(buffer, totals)
    }
}

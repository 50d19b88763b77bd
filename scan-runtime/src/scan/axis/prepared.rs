//! Scans along an axis that are prepared once and run often.

use std::{fmt, marker::PhantomData};

use super::DeviceAxisScan;
use crate::{
    DeviceBuffer, DeviceBufferMut, Error, ScanElement, ScanOp,
    call::Totals,
    device::{DeviceCall, handle::Handle},
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
/// It keeps the stream, so that a struct can hold it:
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
    handle: Handle,
    of: PhantomData<fn() -> Op>,
}

impl<Op: ScanOp> fmt::Debug for DeviceAxisPrepared<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeviceAxisPrepared").field(&self.handle).finish()
    }
}

impl<Op: ScanOp> DeviceAxisScan<'_, Op> {
    /// Prepares runs on the stream: kernels for memory that begins anywhere are loaded, and the memory that they keep
    /// is allocated. Runs that bring an initial value are prepared with one: of it counts only that it is there.
    ///
    /// # Errors
    ///
    /// Those of [`DeviceScan::prepare`](crate::DeviceScan::prepare).
    pub fn prepare(&self) -> Result<DeviceAxisPrepared<Op>, Error> {
        self.prepare_for(Totals::None)
    }

    /// As [`prepare`](DeviceAxisScan::prepare), for runs that give the total of each column, too: those whose names end
    /// in `with_totals`.
    ///
    /// # Errors
    ///
    /// As [`prepare`](DeviceAxisScan::prepare).
    pub fn prepare_with_totals(&self) -> Result<DeviceAxisPrepared<Op>, Error> {
        self.prepare_for(Totals::PerSegment)
    }

    fn prepare_for(&self, totals: Totals) -> Result<DeviceAxisPrepared<Op>, Error> {
        let handle = self.call.prepare(totals, usize::MAX)?;
        Ok(DeviceAxisPrepared { handle, of: PhantomData })
    }
}

/// Runs, which are those of [`DeviceAxisScan`], with its errors, and [`Error::HandleMismatch`] for a run of another
/// kind than the handle was prepared for.
#[allow(clippy::missing_errors_doc, reason = "told above, for all of them")]
impl<Op: ScanOp> DeviceAxisPrepared<Op> {
    fn runs(&self) -> DeviceAxisScan<'_, Op> {
        DeviceAxisScan::new(DeviceCall::of_handle(&self.handle))
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

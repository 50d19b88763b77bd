//! A scan of device memory on a stream.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut, result, sys};

use crate::{
    DeviceBuffer, DeviceBufferMut, Error, Scan, ScanElement, ScanOp,
    cuda::{Constants, CudaDevice, InOut, SideBuffers, Task, driver_error, named},
    heads::{DeviceHeads, NoHeads, with_heads},
};

/// A scan of device memory on a stream, made by [`Scan::on`]; `by_flags`, `by_bits`, `by_keys` and `by_offsets` make it
/// one that restarts, where `H` tells.
///
/// Every method enqueues its work on the stream and returns: nothing is copied, and the host does not wait. Errors that
/// happen while the work runs are reported by the driver at a later call, such as the stream's `synchronize`; then
/// [`Scanner::check`](crate::Scanner::check) tells which operator is to blame, and so does the next scan.
#[must_use = "a scan does nothing until it is run"]
pub struct DeviceScan<'a, Op: ScanOp, H = NoHeads> {
    pub(crate) scan: &'a Scan<Op>,
    pub(crate) stream: &'a Arc<CudaStream>,
    /// The initial value, if it is in device memory.
    pub(crate) initial: Option<&'a dyn DeviceBuffer<Op::Carry>>,
    pub(crate) heads: H,
}

impl<'a, Op: ScanOp, H: DeviceHeads> DeviceScan<'a, Op, H> {
    /// Puts a value before the first element (of each segment, in a scan that restarts) that is in device memory when
    /// the scan runs, in a slice of one element: what an earlier kernel on the stream has computed, or the total of the
    /// chunk before. It takes the place of the scan's own [initial value](Scan::init).
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let sums = scanner.scan(ops::sum::<u64>());
    /// let (mut before, mut after) = (stream.clone_htod(&[0])?, stream.clone_htod(&[0])?);
    /// let mut chunks = Vec::new();
    /// for chunk in [[1_u64, 2, 3], [4, 5, 6]] {
    ///     let (input, mut output) = (stream.clone_htod(&chunk)?, stream.alloc_zeros(3)?);
    ///     sums.on(&stream).init_from(&before).run_into_with_total(&input, &mut output, &mut after)?;
    ///     std::mem::swap(&mut before, &mut after);
    ///     chunks.push(stream.clone_dtoh(&output)?);
    /// }
    /// assert_eq!(chunks, [[1, 3, 6], [10, 15, 21]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The run gives [`Error::InitialLength`] if the slice is not of one element.
    pub fn init_from(self, value: &'a impl DeviceBuffer<Op::Carry>) -> Self {
        DeviceScan { initial: Some(value), ..self }
    }

    /// Scans a device slice or view into a new slice.
    ///
    /// # Errors
    ///
    /// [`Error::NotCuda`] on a CPU scanner, [`Error::ForeignContext`] if the stream or a buffer are of another context,
    /// [`Error::SegmentsLength`] if there are more or fewer flags, bits or keys than the input requires,
    /// [`Error::OutOfDeviceMemory`], and whatever else can go wrong.
    pub fn run(&self, input: &impl DeviceBuffer<Op::Input>) -> Result<CudaSlice<Op::Output>, Error> {
        self.run_with(0, input)
    }

    /// Scans a device slice or view into another of the same length.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceScan::run), and [`Error::OutputLength`] if the lengths differ.
    pub fn run_into(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
    ) -> Result<(), Error> {
        self.run_into_with(0, input, output)
    }

    /// Scans a device slice or view in place.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceScan::run).
    pub fn run_in_place<T>(&self, buffer: &mut impl DeviceBufferMut<T>) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: ScanElement,
    {
        let device = self.device()?;
        device.check_context("buffer", buffer.stream())?;
        let len = buffer.len();
        with_heads(&self.heads, self.stream, len, |side| {
            let (pointer, _writing) = buffer.device_ptr_mut(self.stream);
            // SAFETY: the buffer is exclusively borrowed, and input and output have the same type.
            unsafe { self.enqueue(device, side, pointer, pointer, len) }
        })
    }

    /// `total` is 0, or where a sum goes.
    fn run_with(
        &self,
        total: sys::CUdeviceptr,
        input: &impl DeviceBuffer<Op::Input>,
    ) -> Result<CudaSlice<Op::Output>, Error> {
        let device = self.device()?;
        let len = input.len();
        if len == 0 {
            with_heads(&self.heads, self.stream, 0, |_| Ok(()))?;
            return self.stream.null().map_err(driver_error("allocating device memory"));
        }
        // SAFETY: nothing reads the output before the scan has written it.
        let mut output = unsafe { device.slice::<Op::Output>(self.stream, len)? };
        self.run_into_with(total, input, &mut output)?;
        Ok(output)
    }

    /// As [`run_with`](DeviceScan::run_with).
    fn run_into_with(
        &self,
        total: sys::CUdeviceptr,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
    ) -> Result<(), Error> {
        let device = self.device()?;
        let len = input.len();
        if len != output.len() {
            return Err(Error::OutputLength { input: len, output: output.len() });
        }
        device.check_context("input", input.stream())?;
        device.check_context("output", output.stream())?;
        with_heads(&self.heads, self.stream, len, |side| {
            // The guards record the events by which cudarc orders work on several streams, once the launches are made.
            let (input, _reading) = input.device_ptr(self.stream);
            let (output, _writing) = output.device_ptr_mut(self.stream);
            // SAFETY: the buffers are borrowed from live slices of `len` elements, the output exclusively, so they do
            // not overlap.
            unsafe { self.enqueue(device, SideBuffers { total, ..side }, input, output, len) }
        })
    }

    fn device(&self) -> Result<&CudaDevice, Error> {
        let device = self.scan.scanner.device_of(self.stream)?;
        if let Some(value) = self.initial {
            device.check_context("initial value", value.stream())?;
            if value.len() != 1 {
                return Err(Error::InitialLength { len: value.len() });
            }
        }
        Ok(device)
    }

    /// # Safety
    ///
    /// As for [`Kernels::enqueue`](crate::cuda::Kernels::enqueue).
    unsafe fn enqueue(
        &self,
        device: &CudaDevice,
        side: SideBuffers,
        input: sys::CUdeviceptr,
        output: sys::CUdeviceptr,
        len: usize,
    ) -> Result<(), Error> {
        let scan = self.scan;
        let spec = scan.spec().with_segments(self.heads.segments());
        let initial = self.initial.map(|value| value.device_ptr(self.stream));
        let spec = if initial.is_some() { spec.with_initial_value_on_device() } else { spec };
        // The guard stays until the launches are made.
        let side = SideBuffers { initial: initial.as_ref().map_or(0, |(pointer, _reading)| *pointer), ..side };
        let spec = if side.total == 0 { spec } else { spec.with_total() };
        let enqueue = || {
            device.context.bind_to_thread().map_err(driver_error("binding the context"))?;
            let kernels = device.kernels(&scan.op, Task::Scan(spec, scan.shape()), len as u64)?;
            let constants = Constants::new(self.stream, &scan.op, scan.initial_value.as_ref())?;
            let work = InOut { input, output, len: len as u64 };
            // SAFETY: the caller vouches for the buffers.
            unsafe { kernels.enqueue(self.stream, &constants, side, work) }
        };
        enqueue().map_err(named)
    }
}

impl<Op: ScanOp> DeviceScan<'_, Op> {
    /// Scans a device slice or view into a new slice, and puts the sum of all elements, the initial value included,
    /// into another one, of one element: `None` where there is neither an element nor an initial value. Both come from
    /// the same launches.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceScan::run).
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub fn run_with_total(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
    ) -> Result<(CudaSlice<Op::Output>, Option<CudaSlice<Op::Carry>>), Error> {
        let device = self.device()?;
        if input.len() == 0 {
            device.refuse_capture(self.stream)?;
            let output = self.run(input)?;
            let total = match self.initial {
                Some(value) => {
                    // SAFETY: nothing reads the total before the copy has written it.
                    let mut total = unsafe { device.slice::<Op::Carry>(self.stream, 1)? };
                    self.copy_initial(value, &mut total)?;
                    Some(total)
                }
                None => {
                    let total = self.scan.initial_value.map(|value| self.stream.clone_htod(&[value]));
                    total.transpose().map_err(driver_error("copying to the device"))?
                }
            };
            return Ok((output, total));
        }
        // SAFETY: nothing reads the total before the scan has written it.
        let mut total = unsafe { device.slice::<Op::Carry>(self.stream, 1)? };
        let (pointer, writing) = total.device_ptr_mut(self.stream);
        let output = self.run_with(pointer, input)?;
        drop(writing);
        Ok((output, Some(total)))
    }

    /// Scans a device slice or view into another of the same length, and writes the sum of all elements, the initial
    /// value included, to `total`, which has one element. The sum of no elements is the initial value, or else the
    /// identity.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
    /// let input = stream.clone_htod(&[3_u32, 0, 4])?;
    /// let (mut starts, mut len) = (stream.alloc_zeros(3)?, stream.alloc_zeros(1)?);
    /// scanner.scan(ops::sum()).exclusive().on(&stream).run_into_with_total(&input, &mut starts, &mut len)?;
    /// assert_eq!((stream.clone_dtoh(&starts)?, stream.clone_dtoh(&len)?), (vec![0, 3, 3], vec![7]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run_into`](DeviceScan::run_into), [`Error::ResultLength`] if the total is not one element, and
    /// [`PlanError::NoElements`](crate::PlanError::NoElements) for no elements, no initial value and no identity.
    pub fn run_into_with_total(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
        total: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        let device = self.device()?;
        device.check_context("total", total.stream())?;
        if total.len() != 1 {
            return Err(Error::ResultLength { output: total.len() });
        }
        if input.len() == 0 {
            device.refuse_capture(self.stream)?;
            self.run_into(input, output)?;
            if let Some(value) = self.initial {
                return self.copy_initial(value, total);
            }
            let nothing = [self.scan.total_of_nothing()?];
            return self.stream.memcpy_htod(&nothing, total).map_err(driver_error("copying to the device"));
        }
        let (pointer, _writing) = total.device_ptr_mut(self.stream);
        self.run_into_with(pointer, input, output)
    }

    /// The total of no elements, where the initial value is in device memory.
    fn copy_initial(
        &self,
        value: &dyn DeviceBuffer<Op::Carry>,
        total: &mut impl DeviceBufferMut<Op::Carry>,
    ) -> Result<(), Error> {
        let ((from, _reading), (to, _writing)) = (value.device_ptr(self.stream), total.device_ptr_mut(self.stream));
        // SAFETY: both are of one element, as has been checked, and the guards keep them until the copy is enqueued.
        unsafe { result::memcpy_dtod_async(to, from, size_of::<Op::Carry>(), self.stream.cu_stream()) }
            .map_err(driver_error("copying on the device"))
    }
}

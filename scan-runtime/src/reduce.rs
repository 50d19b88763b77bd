//! A reduction about to be run: one result for the whole input.

use std::{mem::MaybeUninit, ptr, sync::Arc};

use cudarc::driver::{CudaSlice, CudaStream};
use scan_codegen::{KernelSource, PlanError, Reduction, ReductionPlan};

use crate::{
    DeviceBuffer, DeviceBufferMut, Error, Scan, ScanOp, cpu,
    cuda::{Constants, CudaDevice, HostMemory, InOut, Kernels, Places, SideBuffers, Task, driver_error, named},
    generate,
    heads::{HeadKind, NoHeads},
    scanner::Engine,
    telemetry::{computing, tells_of_calls},
};

/// A reduction with an operator on a scanner, made by [`Scanner::reduce`](crate::Scanner::reduce): `x[0] ∘ … ∘ x[n -
/// 1]`, grouped as it suits the device, in this order. [`rows`](Reduce::rows), [`by_keys`](Reduce::by_keys) and others
/// make one of each segment.
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let scanner = Scanner::new()?;
/// assert_eq!(scanner.reduce(ops::max()).run(&[2, 7, 1])?, 7);
/// assert_eq!(scanner.reduce(ops::sum()).init(40).run(&[1, 1])?, 42);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a reduction does nothing until it is run"]
pub struct Reduce<Op: ScanOp, H = NoHeads> {
    /// The scan whose last result is that of the reduction: of each segment, if `H` has heads.
    pub(crate) scan: Scan<Op, H>,
    pub(crate) reduction: Reduction,
}

impl<Op: ScanOp, H> Reduce<Op, H> {
    /// Puts a value before the first element (of each segment, in a reduction by segments).
    pub fn init(self, value: Op::Carry) -> Self {
        Reduce { scan: self.scan.init(value), ..self }
    }
}

impl<Op: ScanOp> Reduce<Op> {
    /// Chooses the algorithm, in place of the coarsened tree. It changes nothing on the CPU.
    pub fn reduction(mut self, reduction: Reduction) -> Self {
        self.reduction = reduction;
        self
    }

    /// What would run on the GPU.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] for an element type that the kernels cannot handle.
    pub fn plan(&self) -> Result<ReductionPlan, Error> {
        let (operator, limits) = (self.scan.op.source(), self.scan.scanner.limits());
        Ok(generate::plan_reduction(&operator, self.scan.initial_value.is_some(), &limits, self.reduction)?)
    }

    /// The CUDA source that would run on the GPU, on a machine without one too.
    ///
    /// # Errors
    ///
    /// As [`plan`](Reduce::plan).
    pub fn cuda_source(&self) -> Result<KernelSource, Error> {
        Ok(generate::show_reduction(&self.scan.op.source(), &self.plan()?)?)
    }

    /// Reduces a slice. The sum of no elements is the initial value, or else the identity.
    ///
    /// # Errors
    ///
    /// [`PlanError::NoElements`] for no elements, no initial value and no identity, and whatever else can go wrong.
    pub fn run(&self, input: &[Op::Input]) -> Result<Op::Output, Error> {
        if !cpu::surely_planned(&self.scan.op, HeadKind::None, false) {
            self.plan()?;
        }
        match self.scan.scanner.engine() {
            Engine::Cuda(device) if !input.is_empty() => self.run_through(device, input),
            _ => {
                let _telling = tells_of_calls().then(|| computing::<Op>(input.len()));
                match cpu::reduce(&self.scan.op, self.scan.initial_value, input)? {
                    Some(sum) => cpu::project(&self.scan.op, sum),
                    None => self.of_nothing(),
                }
            }
        }
    }

    /// Prepares to reduce device memory on a stream of yours.
    pub fn on<'a>(&'a self, stream: &'a Arc<CudaStream>) -> DeviceReduce<'a, Op> {
        DeviceReduce { reduce: self, stream }
    }

    /// The result for no elements.
    pub(crate) fn of_nothing(&self) -> Result<Op::Output, Error> {
        let sum = self.scan.initial_value.or_else(|| self.scan.op.start());
        let nothing = || PlanError::NoElements { operator: self.scan.op.source().name };
        cpu::project(&self.scan.op, sum.ok_or_else(nothing)?)
    }

    fn kernels(&self, device: &CudaDevice, len: usize) -> Result<Arc<Kernels>, Error> {
        device.kernels(&self.scan.op, self.task(), len as u64)
    }

    pub(crate) fn task(&self) -> Task {
        Task::Reduce(self.reduction, self.scan.initial_value.is_some())
    }

    /// Copies to the device, reduces there, copies the result back, and waits for it.
    fn run_through(&self, device: &CudaDevice, input: &[Op::Input]) -> Result<Op::Output, Error> {
        let kernels = self.kernels(device, input.len())?;
        let mut output = MaybeUninit::<Op::Output>::uninit();
        let host = HostMemory {
            input: input.as_ptr().cast(),
            input_bytes: size_of_val(input),
            output: output.as_mut_ptr().cast(),
            output_bytes: size_of::<Op::Output>(),
            in_place: false,
            heads: &[],
            total: ptr::null_mut(),
            total_bytes: 0,
        };
        let enqueue = |stream: &Arc<CudaStream>, at: Places| {
            let constants = Constants::new(stream, &self.scan.op, self.scan.initial_value.as_ref())?;
            let work = InOut { input: at.input, output: at.output, len: input.len() as u64 };
            // SAFETY: the input holds as many elements as are reduced, and the output one.
            unsafe { kernels.enqueue(stream, &constants, SideBuffers::default(), work) }
        };
        // SAFETY: the input is a slice, and the output has its bytes; the last kernel writes all that is read of it.
        unsafe { device.through(&host, &enqueue)? };
        // SAFETY: the last kernel has written the output.
        Ok(unsafe { output.assume_init() })
    }
}

/// A reduction of device memory on a stream, made by [`Reduce::on`].
///
/// Every method enqueues its work on the stream and returns: nothing is copied, and the host does not wait. Errors that
/// happen while the work runs are reported by the driver at a later call, such as the stream's `synchronize`.
///
/// ```no_run
/// use scan_runtime::{Scanner, ops};
///
/// let scanner = Scanner::cuda(0)?;
/// let stream = scanner.context().expect("a CUDA scanner").new_stream()?;
/// let input = stream.clone_htod(&[2, 7, 1])?;
/// let largest = scanner.reduce(ops::max()).on(&stream).run(&input)?;
/// assert_eq!(stream.clone_dtoh(&largest)?, [7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a reduction does nothing until it is run"]
pub struct DeviceReduce<'a, Op: ScanOp> {
    reduce: &'a Reduce<Op>,
    stream: &'a Arc<CudaStream>,
}

impl<Op: ScanOp> DeviceReduce<'_, Op> {
    /// Reduces a device slice or view into a new slice of one element. The sum of no elements is the initial value, or
    /// else the identity.
    ///
    /// # Errors
    ///
    /// [`Error::NotCuda`] on a CPU scanner, [`Error::ForeignContext`] if the stream or the input are of another
    /// context, [`PlanError::NoElements`] for no elements, no initial value and no identity,
    /// [`Error::OutOfDeviceMemory`], and whatever else can go wrong.
    pub fn run(&self, input: &impl DeviceBuffer<Op::Input>) -> Result<CudaSlice<Op::Output>, Error> {
        let device = self.reduce.scan.scanner.device_of(self.stream)?;
        // SAFETY: nothing reads the output before the reduction has written it.
        let mut output = unsafe { device.slice::<Op::Output>(self.stream, 1)? };
        self.run_into(input, &mut output)?;
        Ok(output)
    }

    /// Reduces a device slice or view into a slice or view of one element.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceReduce::run), and [`Error::ResultLength`] if the output is not one element.
    pub fn run_into(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
    ) -> Result<(), Error> {
        let reduce = self.reduce;
        let device = reduce.scan.scanner.device_of(self.stream)?;
        device.check_context("input", input.stream())?;
        device.check_context("output", output.stream())?;
        if output.len() != 1 {
            return Err(Error::ResultLength { output: output.len() });
        }
        let len = input.len();
        if len == 0 {
            reduce.plan()?;
            device.refuse_capture(self.stream)?;
            let result = [reduce.of_nothing()?];
            return self.stream.memcpy_htod(&result, output).map_err(driver_error("copying to the device"));
        }
        // The guards record the events by which cudarc orders work on several streams, once the launches are made.
        let (input, _reading) = input.device_ptr(self.stream);
        let (output, _writing) = output.device_ptr_mut(self.stream);
        let enqueue = || {
            device.context.bind_to_thread().map_err(driver_error("binding the context"))?;
            let kernels = reduce.kernels(device, len)?;
            let constants = Constants::new(self.stream, &reduce.scan.op, reduce.scan.initial_value.as_ref())?;
            let work = InOut { input, output, len: len as u64 };
            // SAFETY: the buffers are borrowed from live slices, the input of `len` elements and the output,
            // exclusively, of one.
            unsafe { kernels.enqueue(self.stream, &constants, SideBuffers::default(), work) }
        };
        enqueue().map_err(named)
    }
}

//! A scan about to be run: its options, and the ways to run it on host and device memory.

use std::{any::TypeId, mem::MaybeUninit, ptr, sync::Arc};

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut, sys};
use scan_codegen::{KernelSource, Overrides, PlanError, Plans, ScanKind, ScanSpec, Segments, Strategy};

use crate::{
    DeviceBuffer, DeviceBufferMut, Error, ScanOp, Scanner, cpu,
    cuda::{Constants, CudaDevice, HostMemory, InOut, Places, SideBuffers, Task, driver_error, named},
    generate,
    heads::{HeadKind, Heads},
    scanner::Engine,
    telemetry::{computing, tells_of_calls},
};

/// A scan with an operator on a scanner, made by [`Scanner::scan`]. Options are set by chaining; then it is run, as often
/// as you like.
///
/// With input `x` of length `n` and operator `∘`, the output `y` also has length `n`, and
///
/// | | `y[i]` | `y[0]` |
/// |---|---|---|
/// | inclusive | `x[0] ∘ … ∘ x[i]` | `x[0]` |
/// | inclusive, `init(v)` | `v ∘ x[0] ∘ … ∘ x[i]` | `v ∘ x[0]` |
/// | exclusive | `x[0] ∘ … ∘ x[i-1]` | the identity |
/// | exclusive, `init(v)` | `v ∘ x[0] ∘ … ∘ x[i-1]` | `v` |
///
/// `by_flags`, `by_bits`, `by_keys` and `by_offsets` make it one that [restarts](crate::SegmentedScan).
#[derive(Clone)]
#[must_use = "a scan does nothing until it is run"]
pub struct Scan<'s, Op: ScanOp> {
    pub(crate) scanner: &'s Scanner,
    pub(crate) op: Op,
    pub(crate) kind: ScanKind,
    pub(crate) initial_value: Option<Op::State>,
    /// What the caller has to say about the kernels' shape, if anything. Far away, so that scans are cheap to copy.
    pub(crate) overrides: Option<Box<Overrides>>,
    /// Shorter inputs in host memory are scanned on the CPU with no more questions, by the loop that one writes by hand. It follows
    /// from all of the above, and saves looking at each of it.
    plain_end: usize,
    /// Shorter ones go to the CPU with no more questions, too, in whatever way they are to be scanned.
    short_end: usize,
}

impl<'s, Op: ScanOp> Scan<'s, Op> {
    /// An inclusive scan without an initial value.
    #[inline]
    pub(crate) fn new(scanner: &'s Scanner, op: Op) -> Self {
        let (kind, initial_value, overrides) = (ScanKind::Inclusive, None, None);
        Scan { scanner, op, kind, initial_value, overrides, plain_end: 0, short_end: 0 }.with_ends()
    }

    /// To be called whenever anything has changed.
    #[inline]
    fn with_ends(mut self) -> Self {
        let is_sure = self.request(Heads::NONE).is_sure();
        let is_plain = is_sure && self.kind == ScanKind::Inclusive && self.initial_value.is_none();
        self.plain_end = if is_plain { cpu::plain_end::<Op>() } else { 0 };
        self.short_end = if is_sure { cpu::most_short::<Op>() + 1 } else { 0 };
        self
    }

    /// Output `i` includes input `i`. This is the default.
    pub fn inclusive(mut self) -> Self {
        self.kind = ScanKind::Inclusive;
        self.with_ends()
    }

    /// Output `i` includes the inputs before `i` only; the first output is the initial value, or else the identity.
    pub fn exclusive(mut self) -> Self {
        self.kind = ScanKind::Exclusive;
        self.with_ends()
    }

    /// Puts a value before the first element (of each segment, in a [segmented](crate::SegmentedScan) scan). It enters every output
    /// once, from the left.
    pub fn init(mut self, value: Op::State) -> Self {
        self.initial_value = Some(value);
        self.with_ends()
    }

    /// Chooses the algorithm, in place of the planner. It changes nothing on the CPU.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.overrides.get_or_insert_default().strategy = Some(strategy);
        self.with_ends()
    }

    /// Chooses how many threads a block has, in place of the planner. It changes nothing on the CPU.
    pub fn threads(mut self, threads: u32) -> Self {
        self.overrides.get_or_insert_default().threads = Some(threads);
        self.with_ends()
    }

    /// Chooses how many elements a thread scans on its own in a coarsened block scan, in place of the planner. It changes
    /// nothing on the CPU.
    pub fn run_length(mut self, elements: u32) -> Self {
        self.overrides.get_or_insert_default().run = Some(elements);
        self.with_ends()
    }

    /// Leaves only algorithms that give the same results in every run, floats that round included. The default is such a one
    /// wherever it does not look back, at lengths that [`plan`](Scan::plan) tells: it never does on compute capability 9.0 and later
    /// where a block can have 160 KiB of shared memory. The CPU always gives the same.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cpu();
    /// assert!(scanner.scan(ops::sum::<f32>()).deterministic().plan()?.is_deterministic());
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn deterministic(mut self) -> Self {
        self.overrides.get_or_insert_default().deterministic = true;
        self.with_ends()
    }

    /// Chooses the shape of the kernels in place of the planner, wherever `overrides` says something; what was asked for
    /// before stays where it says nothing. It changes nothing on the CPU.
    ///
    /// ```
    /// use scan_runtime::{Overrides, Scanner, ops};
    ///
    /// let scanner = Scanner::cpu();
    /// let scan = scanner.scan(ops::sum::<f32>()).deterministic().overrides(Overrides::default().threads(128));
    /// assert!(scan.plan()?.is_deterministic());
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn overrides(mut self, overrides: Overrides) -> Self {
        let merged = self.overrides.as_deref().copied().unwrap_or_default().merged(overrides);
        self.overrides = Some(Box::new(merged));
        self.with_ends()
    }

    /// What is to be said to the planner about the kernels' shape.
    pub(crate) fn shape(&self) -> Overrides {
        self.request(Heads::NONE).shape()
    }

    pub(crate) fn spec(&self, segments: &Segments) -> ScanSpec {
        spec(self.kind, self.initial_value.is_some(), segments)
    }

    /// The operator. Where it is nothing but a type, the scan need not lie in memory for it.
    #[inline(always)]
    pub(crate) fn operator(&self) -> &Op {
        if const { size_of::<Op>() == 0 } {
            // SAFETY: nothing is read through it, it is aligned, and there is an operator of the type.
            unsafe { ptr::NonNull::dangling().as_ref() }
        } else {
            &self.op
        }
    }

    /// A scan of host memory by this.
    #[inline(always)]
    pub(crate) fn request<'a>(&'a self, heads: Heads<'a>) -> Request<'a, Op> {
        Request {
            scanner: self.scanner,
            op: self.operator(),
            kind: self.kind,
            initial_value: self.initial_value,
            overrides: self.overrides.as_deref(),
            heads,
        }
    }

    /// What a device is asked for where there are no heads.
    pub(crate) fn task(&self, with_total: bool) -> Task {
        let spec = self.spec(&Segments::None);
        Task::Scan(if with_total { spec.with_total() } else { spec }, self.shape())
    }

    /// What would run on the GPU: on this scanner's device, or, where there is none, on an
    /// [H200](scan_codegen::DeviceLimits::H200) or [what the scanner was made for](Scanner::cpu_for). The plans name it. There is a plan for each range of lengths, unless an algorithm or a shape has been chosen.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let plan = Scanner::cpu().scan(ops::sum::<f32>()).exclusive().plan()?;
    /// println!("{plan}");
    /// assert_eq!(plan.for_len(100).strategy.to_string(), "runs in registers over warp shuffles in the block; one block");
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn plan(&self) -> Result<Plans, Error> {
        Ok(self.request(Heads::NONE).plans()?)
    }

    /// The CUDA source that would run on the GPU over the longest inputs, on a machine without one too. The same operator,
    /// options and device limits give the same bytes everywhere, so it can be kept as a snapshot in your tests.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where there is no such plan, [`Error::Render`] where the operator cannot be written.
    pub fn cuda_source(&self) -> Result<KernelSource, Error> {
        Ok(generate::render(&self.op.source(), self.plan()?.longest())?)
    }

    /// As [`cuda_source`](Scan::cuda_source), over inputs of `len` elements.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let source = Scanner::cpu().scan(ops::max::<f32>()).cuda_source_for(100)?;
    /// assert!(source.text.contains(&source.kernel_name("scan_block")));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`cuda_source`](Scan::cuda_source).
    pub fn cuda_source_for(&self, len: usize) -> Result<KernelSource, Error> {
        Ok(generate::render(&self.op.source(), self.plan()?.for_len(len as u64))?)
    }

    /// Scans a slice into a new vector.
    ///
    /// # Errors
    ///
    /// Whatever can go wrong is in [`Error`]; the input is never touched.
    pub fn run(&self, input: &[Op::Input]) -> Result<Vec<Op::Output>, Error> {
        if !self.is_short(input.len()) {
            return self.request(Heads::NONE).run_to_vector(input);
        }
        let mut output = room_for(input.len())?;
        let (from, to, len) = (input.as_ptr(), output.as_mut_ptr(), input.len());
        // SAFETY: the vector has room for as many outputs as there are inputs, and nothing else points there.
        unsafe { cpu::scan_short(&self.op, self.kind, self.initial_value, from, to, len)? };
        // SAFETY: every output has been written.
        unsafe { output.set_len(len) };
        Ok(output)
    }

    /// Scans a slice into a new vector, and gives the sum of all elements too, the initial value included: `None` where
    /// there is neither an element nor an initial value. On the GPU it comes from the same launches.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// // Where each row of a ragged array begins, and how long the whole is.
    /// let (starts, len) = Scanner::new()?.scan(ops::sum()).exclusive().run_with_total(&[3_u32, 0, 4])?;
    /// assert_eq!((starts, len), (vec![0, 3, 3], Some(7)));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Scan::run).
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub fn run_with_total(&self, input: &[Op::Input]) -> Result<(Vec<Op::Output>, Option<Op::State>), Error> {
        self.request(Heads::NONE).run_with_total(input)
    }

    /// Scans a slice into another one of the same length.
    ///
    /// # Errors
    ///
    /// [`Error::OutputLength`] if the lengths differ, and whatever else can go wrong. After an error the output's content
    /// is unspecified.
    #[inline(always)]
    pub fn run_into(&self, input: &[Op::Input], output: &mut [Op::Output]) -> Result<(), Error> {
        let (from, to, len) = (input.as_ptr(), output.as_mut_ptr(), input.len());
        // SAFETY: the output is a slice of the right length, exclusively borrowed.
        unsafe {
            if len == output.len() && self.is_plain(len) {
                return cpu::scan_inlined(self.operator(), from, to, len);
            }
            if len == output.len() && self.is_short(len) {
                return cpu::scan_short(&self.op, self.kind, self.initial_value, from, to, len);
            }
        }
        self.request(Heads::NONE).run_into(input, output)
    }

    /// Scans a slice in place.
    ///
    /// # Errors
    ///
    /// Whatever can go wrong is in [`Error`]. After [`Error::OperatorPanicked`] on the CPU the content is unspecified;
    /// otherwise an error leaves the buffer as it was.
    #[inline(always)]
    pub fn run_in_place<T>(&self, buffer: &mut [T]) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: crate::ScanElement,
    {
        let (to, len) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: the buffer is a slice, exclusively borrowed.
        unsafe {
            if self.is_plain(len) {
                cpu::scan_inlined(self.operator(), to.cast_const(), to, len)
            } else if self.is_short(len) {
                cpu::scan_short(&self.op, self.kind, self.initial_value, to.cast_const(), to, len)
            } else {
                self.request(Heads::NONE).run(to.cast_const(), to, len)
            }
        }
    }

    /// Whether it is an inclusive scan on the CPU, without an initial value, of so few elements that whatever is done beside the loop
    /// shows; and nobody wants to know of it.
    #[inline(always)]
    fn is_plain(&self, len: usize) -> bool {
        len < self.plain_end && !tells_of_calls()
    }

    /// Whether it is a scan on the CPU of so few elements that the questions asked before a long one would show.
    #[inline(always)]
    fn is_short(&self, len: usize) -> bool {
        len < self.short_end && !tells_of_calls()
    }

    /// As [`is_plain`](Scan::is_plain), for a scan that restarts: where a flag for each element says so.
    #[inline(always)]
    pub(crate) fn is_plain_by(&self, heads: &Heads<'_>, len: usize) -> bool {
        let by_flags = matches!(heads.kind, HeadKind::Flags) && heads.bytes.len() == len;
        by_flags && len < cpu::PLAIN_FLAGS_END && self.plain_end != 0 && !tells_of_calls()
    }

    /// Scans device memory on a stream of yours. For calls in a loop, or in a graph, [`prepare`](Scan::prepare) does at once what
    /// each call does otherwise.
    ///
    /// What the kernels need of memory beside input and output is kept for the next call on the stream. So the scanner holds the
    /// stream: until it is gone itself, or works on a new stream and finds that nobody else holds this one. A stream that another
    /// library owns must outlive the scanner. Calls that are captured into a graph make the memory part of the graph.
    ///
    /// A scan waits for all that is before it on the stream, and what follows waits for the scan, as ever. Only what is launched
    /// programmatically dependent, from compute capability 9.0 on, may begin before: scans are, and a kernel of yours that is must wait
    /// itself (`griddepcontrol.wait`) before it touches what the scan reads or writes. `Overrides::programmatic` turns that off for scans.
    pub fn on<'a>(&'a self, stream: &'a Arc<CudaStream>) -> DeviceScan<'a, 's, Op> {
        DeviceScan { scan: self, stream }
    }
}

pub(crate) fn spec(kind: ScanKind, has_initial_value: bool, segments: &Segments) -> ScanSpec {
    let spec = match kind {
        ScanKind::Inclusive => ScanSpec::inclusive(),
        ScanKind::Exclusive => ScanSpec::exclusive(),
    };
    let spec = spec.with_segments(segments.clone());
    if has_initial_value { spec.with_initial_value() } else { spec }
}

/// A scan of host memory: whatever is to be known of it, by value. So a scan that is made for one call need not lie in memory.
pub(crate) struct Request<'a, Op: ScanOp> {
    scanner: &'a Scanner,
    op: &'a Op,
    kind: ScanKind,
    initial_value: Option<Op::State>,
    overrides: Option<&'a Overrides>,
    heads: Heads<'a>,
}

impl<Op: ScanOp> Request<'_, Op> {
    fn shape(&self) -> Overrides {
        self.overrides.copied().unwrap_or_default()
    }

    fn spec(&self) -> ScanSpec {
        spec(self.kind, self.initial_value.is_some(), &self.heads.kind.segments())
    }

    pub(crate) fn plans(&self) -> Result<Plans, PlanError> {
        self.scanner.plans(&self.op.source(), &self.spec(), &self.shape())
    }

    /// Whether it is for the CPU, and the planner would not refuse it.
    #[inline(always)]
    fn is_sure(&self) -> bool {
        matches!(self.scanner.engine, Engine::Cpu { .. }) && self.surely_planned()
    }

    /// Whether the planner would not refuse it.
    #[inline(always)]
    fn surely_planned(&self) -> bool {
        let needs_identity = self.kind == ScanKind::Exclusive && self.initial_value.is_none();
        cpu::surely_planned(self.op, self.heads.kind, needs_identity) && self.overrides.is_none()
    }

    /// Whether there is a flag for each element, and so few of them that the questions asked before a long scan would show.
    fn is_short_by_flags(&self, len: usize) -> bool {
        let by_flags = matches!(self.heads.kind, HeadKind::Flags) && self.heads.bytes.len() == len;
        by_flags && len <= cpu::most_short::<Op>() && self.surely_planned() && !tells_of_calls()
    }

    #[inline(never)]
    pub(crate) fn run_into(self, input: &[Op::Input], output: &mut [Op::Output]) -> Result<(), Error> {
        if input.len() != output.len() {
            return Err(Error::OutputLength { input: input.len(), output: output.len() });
        }
        // SAFETY: the output is a slice of the right length, exclusively borrowed.
        unsafe { self.run(input.as_ptr(), output.as_mut_ptr(), input.len()) }
    }

    pub(crate) fn run_to_vector(self, input: &[Op::Input]) -> Result<Vec<Op::Output>, Error> {
        let mut output = room_for(input.len())?;
        // SAFETY: the vector has room for as many outputs as there are inputs, and nothing else points there.
        unsafe { self.run(input.as_ptr(), output.as_mut_ptr(), input.len())? };
        // SAFETY: every output has been written.
        unsafe { output.set_len(input.len()) };
        Ok(output)
    }

    #[allow(clippy::type_complexity, reason = "as where it is called")]
    fn run_with_total(self, input: &[Op::Input]) -> Result<(Vec<Op::Output>, Option<Op::State>), Error> {
        let mut output = room_for(input.len())?;
        let (from, to, len) = (input.as_ptr(), output.as_mut_ptr(), input.len());
        // SAFETY: the vector has room for as many outputs as there are inputs, and nothing else points there.
        let total = unsafe {
            match &self.scanner.engine {
                Engine::Cpu { .. } => self.run_on_cpu(from, to, len)?,
                Engine::Cuda(device) if input.is_empty() => {
                    self.run_on_device(device, from, to, 0, ptr::null_mut())?;
                    self.initial_value
                }
                Engine::Cuda(device) => {
                    let mut total = MaybeUninit::uninit();
                    self.run_on_device(device, from, to, len, total.as_mut_ptr())?;
                    Some(total.assume_init())
                }
            }
        };
        // SAFETY: every output has been written.
        unsafe { output.set_len(len) };
        Ok((output, total))
    }

    /// # Safety
    ///
    /// `input` is valid for reads and `output` for writes of `len` elements. They are one, or do not overlap.
    #[inline(never)]
    pub(crate) unsafe fn run(&self, input: *const Op::Input, output: *mut Op::Output, len: usize) -> Result<(), Error> {
        // SAFETY: the caller vouches for the elements.
        unsafe {
            match &self.scanner.engine {
                Engine::Cpu { .. } if self.is_short_by_flags(len) => {
                    cpu::scan_short_by(self.op, self.kind, self.initial_value, self.heads.bytes, input, output)
                }
                Engine::Cpu { .. } => self.run_on_cpu(input, output, len).map(drop),
                Engine::Cuda(device) => self.run_on_device(device, input, output, len, ptr::null_mut()),
            }
        }
    }

    /// What the planner refuses on the GPU is refused on the CPU as well. Gives the total of a scan that restarts nowhere.
    ///
    /// # Safety
    ///
    /// As for [`run`](Request::run).
    unsafe fn run_on_cpu(
        &self,
        input: *const Op::Input,
        output: *mut Op::Output,
        len: usize,
    ) -> Result<Option<Op::State>, Error> {
        if !self.surely_planned() {
            self.plans()?;
        }
        let _telling = tells_of_calls().then(|| computing::<Op>(len));
        self.heads.check(len)?;
        // SAFETY: the caller vouches for the elements.
        unsafe { cpu::scan(self.op, self.kind, self.initial_value, &self.heads, input, output, len) }
    }

    /// Copies to the device, scans there, copies back, and waits for it.
    ///
    /// # Safety
    ///
    /// As for [`run`](Request::run). `total` is null, or valid for a write.
    unsafe fn run_on_device(
        &self,
        device: &CudaDevice,
        input: *const Op::Input,
        output: *mut Op::Output,
        len: usize,
        total: *mut Op::State,
    ) -> Result<(), Error> {
        let spec = self.spec();
        let spec = if total.is_null() { spec } else { spec.with_total() };
        let kernels = device.kernels(self.op, Task::Scan(spec, self.shape()), len as u64)?;
        self.heads.check(len)?;
        if len == 0 {
            return Ok(());
        }
        let host = HostMemory {
            input: input.cast(),
            input_bytes: len * size_of::<Op::Input>(),
            output: output.cast(),
            output_bytes: len * size_of::<Op::Output>(),
            // Every strategy works in place where the types are the same.
            in_place: TypeId::of::<Op::Input>() == TypeId::of::<Op::Output>(),
            heads: self.heads.bytes,
            total: total.cast(),
            total_bytes: if total.is_null() { 0 } else { size_of::<Op::State>() },
        };
        let enqueue = |stream: &Arc<CudaStream>, at: Places| {
            let constants = Constants::new(stream, self.op, self.initial_value.as_ref())?;
            let side = SideBuffers { heads: at.heads, offset_count: self.heads.offset_count(), total: at.total };
            let work = InOut { input: at.input, output: at.output, len: len as u64 };
            // SAFETY: both buffers hold `len` elements, and are one buffer only where the types are the same; the
            // heads have been checked.
            unsafe { kernels.enqueue(stream, &constants, side, work) }
        };
        // SAFETY: the caller vouches for the host memory; the kernels write every output, and the total.
        unsafe { device.through(&host, &enqueue) }
    }
}

/// A vector that can grow to this length without allocating.
fn room_for<T>(len: usize) -> Result<Vec<T>, Error> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(len).map_err(|_| Error::OutOfHostMemory { bytes: len.saturating_mul(size_of::<T>()) })?;
    Ok(vector)
}

/// A scan of device memory on a stream, made by [`Scan::on`].
///
/// Every method enqueues its work on the stream and returns: nothing is copied, and the host does not wait. Errors that
/// happen while the work runs are reported by the driver at a later call, such as the stream's `synchronize`; then
/// [`Scanner::check`] tells which operator is to blame, and so does the next scan.
#[must_use = "a scan does nothing until it is run"]
pub struct DeviceScan<'a, 's, Op: ScanOp> {
    pub(crate) scan: &'a Scan<'s, Op>,
    pub(crate) stream: &'a Arc<CudaStream>,
}

impl<Op: ScanOp> DeviceScan<'_, '_, Op> {
    /// Scans a device slice or view into a new slice.
    ///
    /// # Errors
    ///
    /// [`Error::NotCuda`] on a CPU scanner, [`Error::ForeignContext`] if the stream or the input are of another context,
    /// [`Error::OutOfDeviceMemory`], and whatever else can go wrong.
    pub fn run(&self, input: &impl DeviceBuffer<Op::Input>) -> Result<CudaSlice<Op::Output>, Error> {
        self.run_with(&Segments::None, SideBuffers::default(), input)
    }

    /// Scans a device slice or view into a new slice, and puts the sum of all elements, the initial value included, into
    /// another one, of one element: `None` where there is neither an element nor an initial value. Both come from the same
    /// launches.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceScan::run).
    #[allow(clippy::type_complexity, reason = "a pair reads better at the call than a struct of its own")]
    pub fn run_with_total(
        &self,
        input: &impl DeviceBuffer<Op::Input>,
    ) -> Result<(CudaSlice<Op::Output>, Option<CudaSlice<Op::State>>), Error> {
        if input.len() == 0 {
            self.device()?.refuse_capture(self.stream)?;
            let output = self.run(input)?;
            let total = self.scan.initial_value.map(|value| self.stream.clone_htod(&[value]));
            return Ok((output, total.transpose().map_err(driver_error("copying to the device"))?));
        }
        let device = self.device()?;
        // SAFETY: nothing reads the total before the scan has written it.
        let mut total = unsafe { device.slice::<Op::State>(self.stream, 1)? };
        let (pointer, writing) = total.device_ptr_mut(self.stream);
        let side = SideBuffers { total: pointer, ..SideBuffers::default() };
        let output = self.run_with(&Segments::None, side, input)?;
        drop(writing);
        Ok((output, Some(total)))
    }

    pub(crate) fn run_with(
        &self,
        segments: &Segments,
        side: SideBuffers,
        input: &impl DeviceBuffer<Op::Input>,
    ) -> Result<CudaSlice<Op::Output>, Error> {
        let device = self.device()?;
        let len = input.len();
        // A slice of no bytes cannot be allocated, so there is always room for one element.
        // SAFETY: nothing reads the output before the scan has written it; the spare element is cut off by `len`.
        let mut output = unsafe { device.slice::<Op::Output>(self.stream, len.max(1))? };
        if len == 0 {
            return self.stream.null().map_err(driver_error("allocating device memory"));
        }
        self.run_into_with(segments, side, input, &mut output)?;
        Ok(output)
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
        self.run_into_with(&Segments::None, SideBuffers::default(), input, output)
    }

    pub(crate) fn run_into_with(
        &self,
        segments: &Segments,
        side: SideBuffers,
        input: &impl DeviceBuffer<Op::Input>,
        output: &mut impl DeviceBufferMut<Op::Output>,
    ) -> Result<(), Error> {
        let device = self.device()?;
        if input.len() != output.len() {
            return Err(Error::OutputLength { input: input.len(), output: output.len() });
        }
        device.check_context("input", input.stream())?;
        device.check_context("output", output.stream())?;
        let len = input.len();
        // The guards record the events by which cudarc orders work on several streams, once the launches are made.
        let (input, _reading) = input.device_ptr(self.stream);
        let (output, _writing) = output.device_ptr_mut(self.stream);
        // SAFETY: the buffers are borrowed from live slices of `len` elements, the output exclusively, so they do not overlap.
        unsafe { self.enqueue(device, segments, side, input, output, len) }
    }

    /// Scans a device slice or view in place.
    ///
    /// # Errors
    ///
    /// As [`run`](DeviceScan::run).
    pub fn run_in_place<T>(&self, buffer: &mut impl DeviceBufferMut<T>) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: crate::ScanElement,
    {
        self.run_in_place_with(&Segments::None, SideBuffers::default(), buffer)
    }

    pub(crate) fn run_in_place_with<T>(
        &self,
        segments: &Segments,
        side: SideBuffers,
        buffer: &mut impl DeviceBufferMut<T>,
    ) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: crate::ScanElement,
    {
        let device = self.device()?;
        device.check_context("buffer", buffer.stream())?;
        let len = buffer.len();
        let (pointer, _writing) = buffer.device_ptr_mut(self.stream);
        // SAFETY: the buffer is exclusively borrowed, and input and output have the same type.
        unsafe { self.enqueue(device, segments, side, pointer, pointer, len) }
    }

    pub(crate) fn device(&self) -> Result<&CudaDevice, Error> {
        self.scan.scanner.device_of(self.stream)
    }

    /// # Safety
    ///
    /// As for [`Kernels::enqueue`](crate::cuda::Kernels::enqueue).
    unsafe fn enqueue(
        &self,
        device: &CudaDevice,
        segments: &Segments,
        side: SideBuffers,
        input: sys::CUdeviceptr,
        output: sys::CUdeviceptr,
        len: usize,
    ) -> Result<(), Error> {
        let scan = self.scan;
        let spec = scan.spec(segments);
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

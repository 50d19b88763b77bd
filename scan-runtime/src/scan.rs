//! A scan about to be run: its options, and the ways to run it on host memory.

use std::{any::TypeId, mem::MaybeUninit, ptr, sync::Arc};

use cudarc::driver::CudaStream;
use scan_codegen::{KernelSource, Overrides, PlanError, Plans, ScanKind, ScanSpec, Strategy};

mod chunks;

use chunks::HostPlaces;

use crate::{
    DeviceScan, Error, ScanOp, Scanner,
    cpu::{self, Order},
    cuda::{Constants, CudaDevice, HostMemory, InOut, Places, SideBuffers, Task},
    generate,
    heads::{HostHeads, NoHeads},
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
/// [`reverse`](Scan::reverse) goes from the last element to the first: `y[i]` is `x[i] ∘ … ∘ x[n-1]`.
///
/// [`by_flags`](Scan::by_flags), [`by_bits`](Scan::by_bits), [`by_keys`](Scan::by_keys) and [`by_offsets`](Scan::by_offsets) make
/// it one that restarts. Each segment is then scanned as if it were all of the input: an exclusive scan begins each with the
/// identity, and an [initial value](Scan::init) stands before the first element of each. `H` is what tells where.
///
/// It owns what it needs, its scanner too, so that a struct can hold both.
///
/// ```
/// use scan_runtime::{Scan, Scanner, ops};
///
/// struct Balances {
///     scanner: Scanner,
///     sums: Scan<ops::Sum<i64>>,
/// }
///
/// let scanner = Scanner::new()?;
/// let balances = Balances { sums: scanner.scan(ops::sum()), scanner };
/// assert_eq!(balances.sums.run(&[100, -30, 5])?, [100, 70, 75]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a scan does nothing until it is run"]
pub struct Scan<Op: ScanOp, H = NoHeads> {
    pub(crate) scanner: Scanner,
    pub(crate) op: Op,
    pub(crate) kind: ScanKind,
    pub(crate) order: Order,
    pub(crate) initial_value: Option<Op::Carry>,
    /// What the caller has to say about the kernels' shape, if anything.
    pub(crate) overrides: Option<Box<Overrides>>,
    /// What tells where it restarts.
    pub(crate) heads: H,
}

impl<Op: ScanOp> Scan<Op> {
    /// An inclusive scan without an initial value.
    pub(crate) fn new(scanner: Scanner, op: Op) -> Self {
        let (kind, order) = (ScanKind::Inclusive, Order::Forward);
        Scan { scanner, op, kind, order, initial_value: None, overrides: None, heads: NoHeads }
    }

    /// The same, restarting where these heads tell.
    pub(crate) fn with_heads<H>(self, heads: H) -> Scan<Op, H> {
        let Scan { scanner, op, kind, order, initial_value, overrides, .. } = self;
        Scan { scanner, op, kind, order, initial_value, overrides, heads }
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
    pub fn run_with_total(&self, input: &[Op::Input]) -> Result<(Vec<Op::Output>, Option<Op::Carry>), Error> {
        let mut output = room_for(input.len())?;
        // SAFETY: the vector has room for as many outputs as there are inputs, and nothing else points there.
        let total = unsafe { self.run_at(input.as_ptr(), output.as_mut_ptr(), input.len(), true)? };
        // SAFETY: every output has been written.
        unsafe { output.set_len(input.len()) };
        Ok((output, total))
    }

    /// Scans a slice into another one of the same length, and gives the sum of all elements, as
    /// [`run_with_total`](Scan::run_with_total) does.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let mut starts = [0; 3];
    /// let len = Scanner::new()?.scan(ops::sum()).exclusive().run_into_with_total(&[3_u32, 0, 4], &mut starts)?;
    /// assert_eq!((starts, len), ([0, 3, 3], Some(7)));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run_into`](Scan::run_into).
    pub fn run_into_with_total(
        &self,
        input: &[Op::Input],
        output: &mut [Op::Output],
    ) -> Result<Option<Op::Carry>, Error> {
        check_output(input.len(), output.len())?;
        // SAFETY: the output is a slice of the right length, exclusively borrowed.
        unsafe { self.run_at(input.as_ptr(), output.as_mut_ptr(), input.len(), true) }
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
    pub fn on<'a>(&'a self, stream: &'a Arc<CudaStream>) -> DeviceScan<'a, Op> {
        DeviceScan { scan: self, stream, initial: None, heads: NoHeads }
    }
}

/// Options.
impl<Op: ScanOp, H> Scan<Op, H> {
    /// Output `i` includes input `i`. This is the default.
    pub fn inclusive(mut self) -> Self {
        self.kind = ScanKind::Inclusive;
        self
    }

    /// Output `i` includes the inputs before `i` only; the first output is the initial value, or else the identity.
    pub fn exclusive(mut self) -> Self {
        self.kind = ScanKind::Exclusive;
        self
    }

    /// Goes from the last element to the first (of each segment, in a scan that restarts): output `i` is
    /// `x[i] ∘ x[i+1] ∘ … ∘ x[n-1]`, or without `x[i]` if [exclusive](Scan::exclusive). The operands keep their order: what lies
    /// further left in memory is combined on the left. Segments are those of the scan that is not reversed.
    ///
    /// Reversed scans of JAX and PyTorch exchange the operands as well; so does a reversed scan by
    /// [`ops::flip(op)`](crate::ops::flip).
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// let remaining = scanner.scan(ops::sum()).reverse().run(&[3, 1, 4])?;
    /// assert_eq!(remaining, [8, 5, 4]);
    /// let after_each = scanner.scan(ops::sum()).reverse().exclusive().run(&[3, 1, 4])?;
    /// assert_eq!(after_each, [5, 4, 0]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn reverse(mut self) -> Self {
        self.order = Order::Reversed;
        self
    }

    /// Puts a value before the first element (of each segment, in a scan that restarts). It enters every output
    /// once, from the left. In a [reversed](Scan::reverse) scan it stands behind the last element, and enters from the right.
    pub fn init(mut self, value: Op::Carry) -> Self {
        self.initial_value = Some(value);
        self
    }

    /// Chooses the algorithm, in place of the planner. It changes nothing on the CPU.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.overrides.get_or_insert_default().strategy = Some(strategy);
        self
    }

    /// Chooses how many threads a block has, in place of the planner. It changes nothing on the CPU.
    pub fn threads(mut self, threads: u32) -> Self {
        self.overrides.get_or_insert_default().threads = Some(threads);
        self
    }

    /// Chooses how many elements a thread scans on its own in a coarsened block scan, in place of the planner. It changes
    /// nothing on the CPU.
    pub fn run_length(mut self, elements: u32) -> Self {
        self.overrides.get_or_insert_default().run = Some(elements);
        self
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
        self
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
        self.overrides = Some(Box::new(self.shape().merged(overrides)));
        self
    }

    /// The sum of no elements.
    pub(crate) fn total_of_nothing(&self) -> Result<Op::Carry, Error> {
        let nothing = || PlanError::NoElements { operator: self.op.source().name };
        Ok(self.initial_value.or_else(|| self.op.start()).ok_or_else(nothing)?)
    }

    /// What is to be said to the planner about the kernels' shape.
    pub(crate) fn shape(&self) -> Overrides {
        self.overrides.as_deref().copied().unwrap_or_default()
    }
}

/// What would run, and ways to run it.
impl<Op: ScanOp, H: HostHeads> Scan<Op, H> {
    pub(crate) fn spec(&self) -> ScanSpec {
        let spec = match self.kind {
            ScanKind::Inclusive => ScanSpec::inclusive(),
            ScanKind::Exclusive => ScanSpec::exclusive(),
        };
        let spec = if self.order == Order::Reversed { spec.reverse() } else { spec };
        let spec = spec.with_segments(self.heads.heads().kind.segments());
        if self.initial_value.is_some() { spec.with_initial_value() } else { spec }
    }

    /// What a device is asked for.
    pub(crate) fn task(&self, with_total: bool) -> Task {
        let spec = self.spec();
        Task::Scan(if with_total { spec.with_total() } else { spec }, self.shape())
    }

    /// What would run on the GPU: on this scanner's device, or, where there is none, on an
    /// [H200](scan_codegen::DeviceLimits::H200) or [what the scanner was made for](Scanner::cpu_for). The plans name it. There is a
    /// plan for each range of lengths, unless an algorithm or a shape has been chosen. It depends on what kind of heads there are,
    /// not on the heads.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let plan = Scanner::cpu().scan(ops::sum::<f32>()).exclusive().plan()?;
    /// println!("{plan}");
    /// assert_eq!(plan.for_len(100).strategy.to_string(), "runs in registers over warp shuffles in the block; one block");
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where no kernel can do it, and if keys have padding.
    pub fn plan(&self) -> Result<Plans, Error> {
        Ok(self.scanner.plans(&self.op.source(), &self.spec(), &self.shape())?)
    }

    /// The CUDA source that would run on the GPU over the longest inputs, on a machine without one too. The same operator,
    /// options and device limits give the same bytes everywhere, so it can be kept as a snapshot in your tests: its `Display`
    /// names the range of lengths, the architecture and the version of this crate in its first line.
    ///
    /// ```
    /// use scan_runtime::{DeviceLimits, Scanner, ops};
    ///
    /// let scanner = Scanner::cpu_for(DeviceLimits::of("sm_90".parse()?));
    /// let shown = scanner.scan(ops::sum::<f32>()).cuda_source()?.without_lines().to_string();
    /// assert!(shown.starts_with("// Sum: inclusive scan, from ") && shown.contains(" elements on, for sm_90, by scan-runtime "));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where there is no such plan, [`Error::Render`] where the operator cannot be written.
    pub fn cuda_source(&self) -> Result<KernelSource, Error> {
        let plans = self.plan()?;
        Ok(generate::show(&self.op.source(), &plans, plans.longest())?)
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
        let plans = self.plan()?;
        Ok(generate::show(&self.op.source(), &plans, plans.for_len(len as u64))?)
    }

    /// Scans a slice into a new vector. On a GPU slices of more than 32 MiB go through the device in chunks, if
    /// [`Staging::with_chunk_bytes`](crate::Staging::with_chunk_bytes) says nothing else.
    ///
    /// # Errors
    ///
    /// Whatever can go wrong is in [`Error`]; the input is never touched. Where it restarts: [`Error::SegmentsLength`] if there
    /// are more or fewer flags, bits or keys than the input requires, [`Error::OffsetsDescend`] and [`Error::OffsetPastEnd`] if
    /// the offsets are none.
    pub fn run(&self, input: &[Op::Input]) -> Result<Vec<Op::Output>, Error> {
        let mut output = room_for(input.len())?;
        // SAFETY: the vector has room for as many outputs as there are inputs, and nothing else points there.
        unsafe { self.run_at(input.as_ptr(), output.as_mut_ptr(), input.len(), false)? };
        // SAFETY: every output has been written.
        unsafe { output.set_len(input.len()) };
        Ok(output)
    }

    /// Scans a slice into another one of the same length.
    ///
    /// # Errors
    ///
    /// As [`run`](Scan::run), and [`Error::OutputLength`] if the lengths differ. After an error the output's content is
    /// unspecified.
    pub fn run_into(&self, input: &[Op::Input], output: &mut [Op::Output]) -> Result<(), Error> {
        check_output(input.len(), output.len())?;
        // SAFETY: the output is a slice of the right length, exclusively borrowed.
        unsafe { self.run_at(input.as_ptr(), output.as_mut_ptr(), input.len(), false) }.map(drop)
    }

    /// Scans a slice in place.
    ///
    /// # Errors
    ///
    /// As [`run`](Scan::run). After [`Error::OperatorPanicked`] on the CPU the content is unspecified. An error on a GPU leaves
    /// each chunk as it was or scanned; otherwise an error leaves the buffer as it was.
    pub fn run_in_place<T>(&self, buffer: &mut [T]) -> Result<(), Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        T: crate::ScanElement,
    {
        let (to, len) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: the buffer is a slice, exclusively borrowed.
        unsafe { self.run_at(to.cast_const(), to, len, false) }.map(drop)
    }

    /// Whether the planner would not refuse it.
    fn surely_planned(&self) -> bool {
        let needs_identity = self.kind == ScanKind::Exclusive && self.initial_value.is_none();
        self.overrides.is_none() && cpu::surely_planned(&self.op, self.heads.heads().kind, needs_identity)
    }

    /// Every scan of host memory comes through here. Gives the sum of all elements, if that is asked for and there is one.
    ///
    /// # Safety
    ///
    /// `input` is valid for reads and `output` for writes of `len` elements. They are one, or do not overlap.
    unsafe fn run_at(
        &self,
        input: *const Op::Input,
        output: *mut Op::Output,
        len: usize,
        with_total: bool,
    ) -> Result<Option<Op::Carry>, Error> {
        // SAFETY: the caller vouches for the elements.
        unsafe {
            match self.scanner.engine() {
                Engine::Cpu { .. } => self.run_on_cpu(input, output, len),
                Engine::Cuda(device) if with_total && len > 0 => {
                    let mut total = MaybeUninit::uninit();
                    self.run_on_device(device, input, output, len, total.as_mut_ptr())?;
                    Ok(Some(total.assume_init()))
                }
                Engine::Cuda(device) => {
                    self.run_on_device(device, input, output, len, ptr::null_mut())?;
                    Ok(self.initial_value)
                }
            }
        }
    }

    /// What the planner refuses on the GPU is refused on the CPU as well. Gives the total of a scan that restarts nowhere.
    ///
    /// # Safety
    ///
    /// As for [`run_at`](Scan::run_at).
    unsafe fn run_on_cpu(
        &self,
        input: *const Op::Input,
        output: *mut Op::Output,
        len: usize,
    ) -> Result<Option<Op::Carry>, Error> {
        if !self.surely_planned() {
            self.plan()?;
        }
        let _telling = tells_of_calls().then(|| computing::<Op>(len));
        let heads = self.heads.heads();
        heads.check(len)?;
        let places = cpu::Places { input, output, len };
        // SAFETY: the caller vouches for the elements.
        unsafe { cpu::scan(&self.op, self.kind, self.order, self.initial_value, &heads, places) }
    }

    /// Copies to the device, scans there, copies back, and waits for it.
    ///
    /// # Safety
    ///
    /// As for [`run_at`](Scan::run_at). `total` is null, or valid for a write.
    unsafe fn run_on_device(
        &self,
        device: &CudaDevice,
        input: *const Op::Input,
        output: *mut Op::Output,
        len: usize,
        total: *mut Op::Carry,
    ) -> Result<(), Error> {
        let heads = self.heads.heads();
        heads.check(len)?;
        if let Some(chunk) = self.chunk(device, len)? {
            // SAFETY: the caller vouches for the host memory.
            return unsafe { self.run_in_chunks(device, HostPlaces { input, output, len }, chunk, total) };
        }
        let kernels = device.kernels(&self.op, self.task(!total.is_null()), len as u64)?;
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
            heads: heads.bytes,
            total: total.cast(),
            total_bytes: if total.is_null() { 0 } else { size_of::<Op::Carry>() },
        };
        let enqueue = |stream: &Arc<CudaStream>, at: Places| {
            let constants = Constants::new(stream, &self.op, self.initial_value.as_ref())?;
            let (heads, head_count) = (at.heads, heads.head_count());
            let side = SideBuffers { heads, head_count, total: at.total, ..SideBuffers::default() };
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

fn check_output(input: usize, output: usize) -> Result<(), Error> {
    if input == output { Ok(()) } else { Err(Error::OutputLength { input, output }) }
}

//! A scan or a reduction about to be run: its options, and what would run.

use std::{fmt, marker::PhantomData, sync::Arc};

use cudarc::driver::CudaStream;
use scan_codegen::{
    Arrays, ElementKind, ElementType, KernelSource, Overrides, PlanError, Plans, Reduction, ReductionPlan, ScanKind,
    ScanSpec, Strategy,
};

#[cfg(feature = "ndarray")]
mod arrays;
mod axis;
mod each;
mod host;
mod segments;

pub(crate) use axis::AxisLayout;
pub use axis::AxisPlan;

use crate::{
    DeviceScan, Error, ScanElement, ScanOp, ScanProgress, Scanner,
    call::{self, Call, Initial, Layouts, Progress, Request},
    cpu::{self, Order},
    erased::Value,
    generate,
    heads::{HostHeads, NoHeads},
};

/// What comes of a call: [`Prefixes`] or [`Totals`].
pub trait Goal: sealed::Goal {}

/// A result for every element: a [scan](Scan).
#[derive(Clone, Copy, Debug, Default)]
pub struct Prefixes;

/// One result, or one for each segment: a [reduction](Reduce).
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals;

impl Goal for Prefixes {}
impl Goal for Totals {}

mod sealed {
    /// Seals [`Goal`](super::Goal).
    pub trait Goal: Send + Sync + 'static {
        /// Whether there are totals only.
        const FOLDS: bool;
    }

    impl Goal for super::Prefixes {
        const FOLDS: bool = false;
    }

    impl Goal for super::Totals {
        const FOLDS: bool = true;
    }
}

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
/// [`by_flags`](Scan::by_flags), [`by_bits`](Scan::by_bits), [`by_keys`](Scan::by_keys) and
/// [`by_offsets`](Scan::by_offsets) make it one that restarts. Each segment is then scanned as if it were all of the
/// input: an exclusive scan begins each with the identity, and an [initial value](Scan::init) stands before the first
/// element of each. `H` is the source of segment heads, `G` the
/// goal: [`Reduce`] is the same with totals only.
///
/// It owns what it needs, its scanner too, so that a struct can hold both.
///
/// ```
/// use scan_runtime::{Scan, Scanner, ops};
///
/// #[derive(Debug)]
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
pub struct Scan<Op: ScanOp, H = NoHeads, G = Prefixes> {
    pub(crate) scanner: Scanner,
    pub(crate) op: Op,
    pub(crate) kind: ScanKind,
    pub(crate) order: Order,
    pub(crate) initial_value: Option<Op::Carry>,
    /// What the caller has to say about the kernels' shape, if anything.
    pub(crate) overrides: Option<Box<Overrides>>,
    /// How a total alone is made on a GPU.
    pub(crate) reduction: Reduction,
    /// The source of segment heads.
    pub(crate) heads: H,
    /// Whether the planner has been asked already.
    pub(crate) planned: bool,
    /// In how many arrays input and output are, where no run says so.
    pub(crate) layouts: Layouts,
    /// The array, if it is along an axis of one.
    pub(crate) along: Option<Arc<AxisLayout>>,
    /// The maximum number of elements of a run.
    pub(crate) max_len: usize,
    /// Receives the progress of runs of host memory.
    progress: Option<Progress>,
    goal: PhantomData<G>,
}

impl<Op: ScanOp, H: HostHeads, G: Goal> fmt::Debug for Scan<Op, H, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut scan = f.debug_struct(if G::FOLDS { "Reduce" } else { "Scan" });
        scan.field("operator", &self.op.source().name).field("scan", &format_args!("{}", self.spec()));
        if let Some(along) = &self.along {
            scan.field("axis", &along.axis);
        }
        scan.field("backend", &format_args!("{}", self.scanner.backend())).finish_non_exhaustive()
    }
}

/// A reduction with an operator on a scanner, made by [`Scanner::reduce`]: the total of the input, `x[0] ∘ … ∘ x[n -
/// 1]`, grouped as it suits the device, in this order. [`rows`](Scan::rows), [`by_keys`](Scan::by_keys) and others give
/// a total for each segment. A result is `project` of the total, also of a machine that has `emit`.
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let scanner = Scanner::new()?;
/// assert_eq!(scanner.reduce(ops::max()).run(&[2, 7, 1])?, 7);
/// assert_eq!(scanner.reduce(ops::sum()).init(40).run(&[1, 1])?, 42);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
pub type Reduce<Op, H = NoHeads> = Scan<Op, H, Totals>;

impl<Op: ScanOp, G: Goal> Scan<Op, NoHeads, G> {
    /// Inclusive, without an initial value.
    pub(crate) fn new(scanner: Scanner, op: Op) -> Self {
        Scan {
            scanner,
            op,
            kind: ScanKind::Inclusive,
            order: Order::Forward,
            initial_value: None,
            overrides: None,
            reduction: Reduction::default(),
            heads: NoHeads,
            planned: false,
            layouts: Layouts::default(),
            along: None,
            max_len: usize::MAX,
            progress: None,
            goal: PhantomData,
        }
    }
}

/// Device memory.
impl<Op: ScanOp, H: HostHeads, G: Goal> Scan<Op, H, G> {
    /// The same for device memory, on a stream of yours. For calls in a loop, or in a graph,
    /// [`prepare`](DeviceScan::prepare) does at once what each call does otherwise.
    ///
    /// What the kernels need of memory beside input and output is kept for the next call on the stream. So the scanner holds the
    /// stream: until it is gone itself, or works on a new stream and finds that it is the only holder of this one. A stream that another
    /// library owns must outlive the scanner. Calls that are captured into a graph make the memory part of the graph.
    ///
    /// A scan waits for all that is before it on the stream, and what follows waits for the scan, as ever. Only what is launched
    /// programmatically dependent, from compute capability 9.0 on, may begin before: scans are, and a kernel of yours that is must wait
    /// itself (`griddepcontrol.wait`) before it touches what the scan reads or writes. `Overrides::programmatic` turns that off for scans.
    /// [Rows](Scan::rows) and an [axis](Scan::axis) stay. A run of a scan with segments or values in host memory is
    /// [`Error::InHostMemory`]: name those in device memory here.
    pub fn on<'a>(&'a self, stream: &'a Arc<CudaStream>) -> DeviceScan<'a, Op, G> {
        DeviceScan::of(self, stream)
    }
}

/// Options of scans.
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
    /// [`ops::flip(op)`](crate::ops::flip). An operator with a `step` of its own (a [machine](ScanOp#machines)) reads from
    /// the right: `step` takes the last input first, and the left operand of `combine` is the part that was read first,
    /// which is on the right in memory.
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
}

/// What the planner is told about arrays.
impl<Op: ScanOp, H> Scan<Op, H> {
    /// Plans, prepares and compiles ahead of time for an array for each field of the input, and of the output, where
    /// these are structs. A run says itself in how many arrays its input and output are.
    ///
    /// ```
    /// use scan_runtime::{Scanner, scan_element, scan_op};
    ///
    /// #[scan_element]
    /// #[derive(Clone, Copy)]
    /// struct Rate {
    ///     amount: f32,
    ///     count: u8,
    /// }
    ///
    /// #[scan_op]
    /// fn together(a: Rate, b: Rate) -> Rate {
    ///     Rate { amount: a.amount + b.amount, count: u8::max(a.count, b.count) }
    /// }
    ///
    /// let source = Scanner::cpu().scan(together).per_field().cuda_source()?;
    /// assert!(source.text.contains("struct Inputs"));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn per_field(mut self) -> Self {
        let arrays = |layout: ElementType| match layout.kind {
            ElementKind::Struct { .. } => Arrays::PerField,
            _ => Arrays::One,
        };
        self.layouts.input.0 = arrays(Op::Input::layout());
        self.layouts.output.0 = arrays(Op::Output::layout());
        self
    }
}

/// Options of scans and reductions.
impl<Op: ScanOp, H, G> Scan<Op, H, G> {
    /// Puts a value before the first element (of each segment, in a scan that restarts). It enters every output once,
    /// from the left. In a [reversed](Scan::reverse) scan it stands behind the last element, and enters from the right.
    pub fn init(mut self, value: Op::Carry) -> Self {
        self.initial_value = Some(value);
        self
    }

    /// The same, restarting where these heads tell.
    pub(crate) fn with_heads<Other>(self, heads: Other) -> Scan<Op, Other, G> {
        let Scan { scanner, op, kind, order, initial_value, overrides, reduction, planned, layouts, .. } = self;
        let (along, max_len, progress, goal) = (self.along, self.max_len, self.progress, self.goal);
        Scan {
            scanner,
            op,
            kind,
            order,
            initial_value,
            overrides,
            reduction,
            heads,
            planned,
            layouts,
            along,
            max_len,
            progress,
            goal,
        }
    }

    /// The initial value of each segment, if each has one.
    pub(crate) fn initial_values(&self) -> Option<&[Op::Carry]>
    where
        H: HostHeads,
    {
        // SAFETY: heads are told initial values by a scan of their carries, which keeps its heads and its operator.
        self.heads.heads().initial_values.map(|values| unsafe { values.values() })
    }

    /// The total of no elements.
    pub(crate) fn total_of_nothing(&self) -> Result<Op::Carry, Error> {
        let nothing = || PlanError::NoElements { operator: self.op.source().name };
        Ok(self.initial_value.or_else(|| self.op.start()).ok_or_else(nothing)?)
    }

    /// The result of no elements.
    pub(crate) fn result_of_nothing(&self) -> Result<Op::Output, Error> {
        cpu::project(&self.op, self.total_of_nothing()?)
    }

    /// What is to be said to the planner about the kernels' shape.
    pub(crate) fn shape(&self) -> Overrides {
        self.overrides.as_deref().copied().unwrap_or_default()
    }
}

/// How a total alone is made.
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
        let (operator, limits) = (self.op.source(), self.scanner.limits());
        Ok(generate::plan_reduction(&operator, self.initial_value.is_some(), &limits, self.reduction)?)
    }

    /// The CUDA source that would run on the GPU, on a machine without one too.
    ///
    /// # Errors
    ///
    /// As [`plan`](Reduce::plan).
    pub fn cuda_source(&self) -> Result<KernelSource, Error> {
        Ok(generate::show_reduction(&self.op.source(), &self.plan()?)?)
    }
}

/// The call as data.
impl<Op: ScanOp, H: HostHeads, G: Goal> Scan<Op, H, G> {
    /// A call that gives these totals, too.
    pub(crate) fn call(&self, totals: call::Totals) -> Call<'_> {
        let heads = self.heads.heads();
        let initial = match (heads.initial_values, self.initial_value) {
            (Some(_), _) => Initial::Each,
            (None, Some(_)) => Initial::Value,
            (None, None) => Initial::None,
        };
        let request = Request {
            kind: self.kind,
            order: self.order,
            reduction: G::FOLDS.then_some(self.reduction),
            heads: heads.kind,
            initial,
            totals,
            len_on_device: false,
            layouts: self.layouts,
        };
        Call {
            scanner: &self.scanner,
            op: &self.op,
            request,
            overrides: self.overrides.as_deref(),
            initial_value: self.initial_value.as_ref().map(|value| value as &dyn Value),
            heads,
            along: self.along.as_deref(),
            progress: self.progress.as_ref(),
        }
    }

    pub(crate) fn spec(&self) -> ScanSpec {
        self.call(call::Totals::None).spec()
    }
}

/// Reports.
impl<Op: ScanOp, H, G> Scan<Op, H, G> {
    /// Calls `report` as parts of a run of host memory are done: on a GPU after each
    /// [chunk](crate::Staging::with_chunk_bytes), else once, at the end. The last report of a run without an error has
    /// all elements. The reports of a run come one after the other, also from other threads; the run waits for each.
    /// Runs of device memory do not report.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let sums = Scanner::new()?.scan(ops::sum()).with_progress(|progress| eprint!("\r{progress}  "));
    /// assert_eq!(sums.run(&[1, 2, 3])?, [1, 3, 6]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn with_progress(mut self, report: impl Fn(ScanProgress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Progress::new(report));
        self
    }

    /// Reports that all elements are done.
    #[inline]
    pub(crate) fn report_all(&self, len: usize) {
        if let Some(progress) = &self.progress {
            progress.report(ScanProgress { done: len, of: len });
        }
    }
}

/// What would run.
impl<Op: ScanOp, H: HostHeads> Scan<Op, H> {
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
    /// [`Error::Plan`] where no kernel can do it, if keys have padding, and along an axis whose columns are not rows,
    /// which [`axis_plan`](Scan::axis_plan) is for.
    pub fn plan(&self) -> Result<Plans, Error> {
        if self.along.as_ref().is_some_and(|along| !along.layout().is_rows()) {
            return Err(PlanError::Columns { why: "its columns are not rows: `axis_plan` says what runs" }.into());
        }
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
        if self.along.as_ref().is_some_and(|along| !along.layout().is_rows()) {
            return Ok(generate::show_columns(&self.op.source(), &self.columns_plan(call::Totals::None)?)?);
        }
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
}

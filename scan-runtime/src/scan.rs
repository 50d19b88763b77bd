//! A scan or a reduction about to be run: its options.

use std::{fmt, marker::PhantomData, sync::Arc};

use scan_codegen::{
    Arrays, ElementKind, ElementType, KernelSource, Overrides, PlanError, Plans, Reduction, ReductionPlan, ScanKind,
    Strategy,
};

mod words;

#[cfg(feature = "cuda")]
use crate::host::side::Estimate;
use crate::{
    Error, Outcome, Prefixes, ProgressFlow, Run, ScanElement, ScanOp, ScanProgress, Scanner, Totals,
    call::{self, Call, Initial, Layouts, Progress, Request},
    cpu::{self, Order},
    erased::Value,
    generate,
    heads::Heads,
    host::{HostCall, axis::AxisLayout},
};

/// The options of a scan or a reduction, without data.
pub(crate) struct Options<Op: ScanOp> {
    pub(crate) scanner: Scanner,
    pub(crate) op: Arc<Op>,
    pub(crate) kind: ScanKind,
    /// Whether there is a result for the initial value, in addition to those of the elements.
    pub(crate) includes_initial: bool,
    pub(crate) order: Order,
    pub(crate) initial_value: Option<Op::Carry>,
    /// What the caller has to say about the kernels' shape, if anything.
    pub(crate) overrides: Option<Box<Overrides>>,
    /// How a total alone is made on a GPU, if that is wanted.
    pub(crate) reduction: Option<Reduction>,
    /// In how many arrays input and output are, where no run says so.
    pub(crate) layouts: Layouts,
    /// Receives the progress of runs over host memory.
    pub(crate) progress: Option<Progress>,
    /// Whether bits may depend on the side, the number of threads, and the run.
    pub(crate) any_grouping: bool,
    /// By which calls over host memory choose between a GPU and the CPU, if they do.
    #[cfg(feature = "cuda")]
    pub(crate) estimate: Option<Estimate>,
}

impl<Op: ScanOp> Options<Op> {
    /// What is to be said to the planner about the kernels' shape.
    pub(crate) fn shape(&self) -> Overrides {
        self.overrides.as_deref().copied().unwrap_or_default()
    }

    /// A call of this scan, without types.
    pub(crate) fn call<'a>(
        &'a self,
        heads: Heads<'a>,
        along: Option<&'a AxisLayout>,
        totals: call::Totals,
    ) -> Call<'a> {
        let initial = match (heads.initial_values, self.initial_value) {
            (Some(_), _) => Initial::Each,
            (None, Some(_)) => Initial::Value,
            (None, None) => Initial::None,
        };
        let request = Request {
            kind: self.kind,
            includes_initial: self.includes_initial,
            order: self.order,
            reduction: self.reduction,
            heads: heads.kind,
            initial,
            totals,
            len_on_device: false,
            layouts: self.layouts,
        };
        Call {
            scanner: &self.scanner,
            op: &*self.op,
            request,
            overrides: self.overrides.as_deref(),
            initial_value: self.initial_value.as_ref().map(|value| value as &dyn Value),
            heads,
            along,
            progress: self.progress.as_ref(),
        }
    }

    /// The total of no elements.
    pub(crate) fn total_of_nothing(&self) -> Result<Op::Carry, Error> {
        let nothing = || PlanError::NoElements { operator: self.op.source().name };
        Ok(self.initial_value.or_else(|| self.op.start()).ok_or_else(nothing)?)
    }

    /// The result of no elements.
    pub(crate) fn result_of_nothing(&self) -> Result<Op::Output, Error> {
        cpu::project(&*self.op, self.total_of_nothing()?)
    }
}

impl<Op: ScanOp> Clone for Options<Op> {
    fn clone(&self) -> Self {
        Options {
            scanner: self.scanner.clone(),
            op: self.op.clone(),
            kind: self.kind,
            includes_initial: self.includes_initial,
            order: self.order,
            initial_value: self.initial_value,
            overrides: self.overrides.clone(),
            reduction: self.reduction,
            layouts: self.layouts,
            progress: self.progress.clone(),
            any_grouping: self.any_grouping,
            #[cfg(feature = "cuda")]
            estimate: self.estimate,
        }
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
/// A scan has no data and is never consumed: run it as often as you like, from several threads at once. A single call
/// may bring more than its input and output, named between the scan and `run`: [`by_keys`](Scan::by_keys) and others
/// restart at segments, [`init_each`](Scan::init_each) gives each segment an initial value,
/// [`with_total`](Scan::with_total) gives the total as well, [`along`](Scan::along) scans along an axis, and
/// [`on`](Scan::on) works on device memory. Each makes a [`Run`].
///
/// Segments are scanned as if each were all of the input: an exclusive scan begins each with the identity, and an
/// [initial value](Scan::init) stands before the first element of each.
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
#[must_use = "a scan does nothing until it is run"]
pub struct Scan<Op: ScanOp, R = Prefixes> {
    pub(crate) options: Options<Op>,
    of: PhantomData<fn() -> R>,
}

impl<Op: ScanOp, R> Clone for Scan<Op, R> {
    fn clone(&self) -> Self {
        Scan { options: self.options.clone(), of: PhantomData }
    }
}

impl<Op: ScanOp, R: Outcome> fmt::Debug for Scan<Op, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.host_call().debug(f)
    }
}

/// A reduction with an operator on a scanner, made by [`Scanner::reduce`]: the total of the input, `x[0] ∘ … ∘ x[n -
/// 1]`, grouped as it suits the device, in this order. [`rows`](Scan::rows), [`by_keys`](Scan::by_keys) and others give
/// a total for each segment, and [`reverse`](Scan::reverse) reduces from the right. A result is `project` of the total,
/// also of a stepped operator that has `emit`.
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let scanner = Scanner::new()?;
/// assert_eq!(scanner.reduce(ops::max()).run(&[2, 7, 1])?, 7);
/// assert_eq!(scanner.reduce(ops::sum()).init(40).run(&[1, 1])?, 42);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
pub type Reduce<Op> = Scan<Op, Totals>;

impl<Op: ScanOp, R: Outcome> Scan<Op, R> {
    /// Inclusive, without an initial value.
    pub(crate) fn new(scanner: Scanner, op: Op) -> Self {
        let options = Options {
            #[cfg(feature = "cuda")]
            estimate: scanner.estimate(&op),
            scanner,
            op: Arc::new(op),
            kind: ScanKind::Inclusive,
            includes_initial: false,
            order: Order::Forward,
            initial_value: None,
            overrides: None,
            reduction: R::FOLDS.then(Reduction::default),
            layouts: Layouts::default(),
            progress: None,
            any_grouping: false,
        };
        Scan { options, of: PhantomData }
    }

    /// A scan in the direction of another one, with this operator and this initial value.
    #[cfg(feature = "cuda")]
    pub(crate) fn derived<P: ScanOp>(from: &Options<P>, op: Arc<Op>, initial_value: Option<Op::Carry>) -> Self {
        let options = Options {
            estimate: from.scanner.estimate(&*op),
            scanner: from.scanner.clone(),
            op,
            kind: ScanKind::Inclusive,
            order: from.order,
            initial_value,
            overrides: None,
            reduction: R::FOLDS.then(Reduction::default),
            includes_initial: false,
            layouts: Layouts::default(),
            progress: None,
            any_grouping: false,
        };
        Scan { options, of: PhantomData }
    }

    /// The scan of these options with another initial value.
    #[cfg(feature = "cuda")]
    pub(crate) fn going_on(from: &Options<Op>, initial_value: Option<Op::Carry>) -> Self {
        Scan { options: Options { initial_value, ..from.clone() }, of: PhantomData }
    }

    /// A call over host memory that brings nothing but its input.
    #[inline]
    pub(crate) fn host_call(&self) -> HostCall<'_, Op> {
        HostCall::new(&self.options)
    }

    /// The same as a run.
    #[inline]
    pub(crate) fn call(&self) -> Run<'_, Op, crate::Host, R> {
        Run::new(self.host_call())
    }
}

/// Options of scans.
impl<Op: ScanOp> Scan<Op> {
    /// Output `i` includes input `i`. This is the default.
    pub fn inclusive(mut self) -> Self {
        (self.options.kind, self.options.includes_initial) = (ScanKind::Inclusive, false);
        self
    }

    /// Output `i` includes the inputs before `i` only; the first output is the initial value, or else the identity.
    pub fn exclusive(mut self) -> Self {
        (self.options.kind, self.options.includes_initial) = (ScanKind::Exclusive, false);
        self
    }

    /// Gives `n + 1` results for `n` elements: the initial value, or else the identity or `START`, and then the inclusive
    /// results. So each row has one result more, and an array along an axis one more along it: `include_initial=True` of
    /// the array API standard (numpy's `cumulative_sum`, `cumulative_prod`), `n + 1` offsets from `n` counts. In a
    /// [reversed](Scan::reverse) scan the initial value is the last result. Of `inclusive`, `exclusive` and
    /// `include_initial`, the last call counts.
    ///
    /// ```
    /// use scan_runtime::{Axis, Scanner, ops};
    ///
    /// let sums = Scanner::new()?.scan(ops::sum()).include_initial();
    /// assert_eq!(sums.run(&[3_u32, 0, 4])?, [0, 3, 3, 7]);
    /// assert_eq!(sums.clone().reverse().run(&[3, 0, 4])?, [7, 4, 4, 0]);
    ///
    /// // Of two rows of three; along the first axis; and with a value of its own for each row.
    /// let matrix = [1, 2, 3, 4, 5, 6];
    /// assert_eq!(sums.rows(3).run(&matrix)?, [0, 1, 3, 6, 0, 4, 9, 15]);
    /// assert_eq!(sums.along(Axis::of(&[2, 3], 0)?).run(&matrix)?, [0, 0, 0, 1, 2, 3, 5, 7, 9]);
    /// let mut results = [0; 8];
    /// sums.rows(3).init_each(&[10, 20]).run_into(&matrix, &mut results)?;
    /// assert_eq!(results, [10, 11, 13, 16, 20, 24, 29, 35]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// On a stream it is two launches into the same memory: an exclusive scan of one element of each column, and the
    /// inclusive scan. [`Axis::output_strides`](crate::Axis::output_strides) are those of the results, `n + 1` along the
    /// axis.
    ///
    /// # Errors
    ///
    /// A run gives [`Error::Length`] for an output that has not one result more for each row or column,
    /// [`PlanError::NoIdentity`] without an identity, `START` and initial value, and [`Error::IncludeInitial`] where the
    /// results would have no regular places: in place, by flags, bits, keys or offsets, scattered; and for a number of
    /// elements or a late value in device memory.
    pub fn include_initial(mut self) -> Self {
        (self.options.kind, self.options.includes_initial) = (ScanKind::Inclusive, true);
        self
    }

    /// Chooses the algorithm, in place of the planner. It changes nothing on the CPU.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.options.overrides.get_or_insert_default().strategy = Some(strategy);
        self
    }

    /// Chooses how many threads a block has, in place of the planner. It changes nothing on the CPU.
    pub fn threads(mut self, threads: u32) -> Self {
        self.options.overrides.get_or_insert_default().threads = Some(threads);
        self
    }

    /// Chooses how many elements a thread scans on its own in a coarsened block scan, in place of the planner. It changes
    /// nothing on the CPU.
    pub fn run_length(mut self, elements: u32) -> Self {
        self.options.overrides.get_or_insert_default().run = Some(elements);
        self
    }

    /// Allows only algorithms that give the same results in every run, also where floats are rounded. The default is
    /// deterministic except where the [plan](Scan::plan) uses look-back, which it never does on compute capability 9.0
    /// and later with 160 KiB of shared memory for a block. The CPU is deterministic, too.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cpu();
    /// assert!(scanner.scan(ops::sum::<f32>()).deterministic().plan()?.is_deterministic());
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn deterministic(mut self) -> Self {
        self.options.overrides.get_or_insert_default().deterministic = true;
        self.options.any_grouping = false;
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
        self.options.overrides = Some(Box::new(self.options.shape().merged(overrides)));
        self
    }
}

/// What the planner is told about arrays.
impl<Op: ScanOp, R: Outcome> Scan<Op, R> {
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
        self.options.layouts.input.0 = arrays(Op::Input::layout());
        self.options.layouts.output.0 = arrays(Op::Output::layout());
        self
    }
}

/// Options of scans and reductions.
impl<Op: ScanOp, R: Outcome> Scan<Op, R> {
    /// Goes from the last element to the first (of each segment, in a scan that restarts): output `i` is
    /// `x[i] ∘ x[i+1] ∘ … ∘ x[n-1]`, or without `x[i]` if [exclusive](Scan::exclusive). The operands keep their order:
    /// what lies further left in memory is combined on the left. Segments are those of the scan that is not reversed.
    ///
    /// A reversed reduction is the total of that scan: `x[0] ∘ … ∘ x[n-1]`, and with an [initial value](Scan::init)
    /// `x[0] ∘ … ∘ x[n-1] ∘ v`, a fold from the right. Without an initial value the result is that of the reduction
    /// from the left, unless the operator has a `step`; floats may round in another way. On a GPU the kernels of scans
    /// reduce from the right: [`reduction`](Scan::reduction) changes nothing, and a reduction of device memory
    /// allocates a result for each element.
    ///
    /// Reversed scans of JAX and PyTorch exchange the operands as well; so does a reversed scan by
    /// [`ops::flip(op)`](crate::ops::flip). An operator with a `step` of its own (a [stepped
    /// operator](ScanOp#stepped-operators)) reads from the right: `step` takes the last input first, and the left
    /// operand of `combine` is the part that was read first, which is on the right in memory.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// let remaining = scanner.scan(ops::sum()).reverse().run(&[3, 1, 4])?;
    /// assert_eq!(remaining, [8, 5, 4]);
    /// let after_each = scanner.scan(ops::sum()).reverse().exclusive().run(&[3, 1, 4])?;
    /// assert_eq!(after_each, [5, 4, 0]);
    ///
    /// // The value is behind the last element: 3 - (1 - (4 - 10)), by the maps y = ±y + x.
    /// # use scan_runtime::{scan_element, scan_op};
    /// #[scan_element]
    /// #[derive(Clone, Copy, Debug, PartialEq)]
    /// struct Map { sign: i32, add: i32 }
    ///
    /// #[scan_op(identity = Map { sign: 1, add: 0 })]
    /// fn compose(f: Map, g: Map) -> Map {
    ///     Map { sign: f.sign * g.sign, add: f.sign * g.add + f.add }
    /// }
    ///
    /// let terms = [3, 1, 4].map(|add| Map { sign: -1, add });
    /// let last = Map { sign: 0, add: 10 };
    /// assert_eq!(scanner.reduce(compose).reverse().init(last).run(&terms)?.add, -4);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn reverse(mut self) -> Self {
        self.options.order = Order::Reversed;
        self
    }

    /// Puts a value before the first element (of each segment, in a scan that restarts). It enters every output once,
    /// from the left. In a [reversed](Scan::reverse) scan it stands behind the last element, and enters from the right.
    pub fn init(mut self, value: Op::Carry) -> Self {
        self.options.initial_value = Some(value);
        self
    }

    /// Calls `report` as parts of a run over host memory are done: on a GPU after each
    /// [chunk](crate::Staging::with_chunk_bytes), on the CPU after every few megabytes. The last report of a run
    /// without an error has all elements. The reports of a run come one after the other, also from other threads; the
    /// run waits for each. Runs over device memory do not report.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let sums = Scanner::new()?.scan(ops::sum()).with_progress(|progress| eprint!("\r{progress}  "));
    /// assert_eq!(sums.run(&[1, 2, 3])?, [1, 3, 6]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// A bar in a terminal, by the crate `indicatif`:
    ///
    /// ```
    /// use indicatif::ProgressBar;
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let samples = vec![1_u64; 4_000_000];
    /// let bar = ProgressBar::new(samples.len() as u64);
    /// let shown = bar.clone();
    /// let scan = Scanner::new()?.scan(ops::sum());
    /// let scan = scan.with_progress(move |progress| shown.set_position(progress.done as u64));
    /// let sums = scan.run(&samples)?;
    /// assert_eq!((bar.position(), sums[3_999_999]), (4_000_000, 4_000_000));
    /// bar.finish();
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// A function that returns [`ControlFlow`](std::ops::ControlFlow) may end the run. After a break no further chunk
    /// begins, and the run is [`Error::Cancelled`], with the number of elements that are done: their results are
    /// written. After the last report there is nothing left to end, and a break changes nothing.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use scan_runtime::{Error, Scanner, ops};
    ///
    /// let enough = |progress: scan_runtime::ScanProgress| match progress.fraction() {
    ///     ..0.5 => ControlFlow::Continue(()),
    ///     _ => ControlFlow::Break(()),
    /// };
    /// let sums = Scanner::cpu().scan(ops::sum()).with_progress(enough);
    /// match sums.run(&vec![1_u64; 4_000_000]) {
    ///     Err(Error::Cancelled { done, of }) => assert!(2_000_000 <= done && done < of),
    ///     other => panic!("{other:?}"),
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    pub fn with_progress<F: ProgressFlow>(
        mut self,
        report: impl Fn(ScanProgress) -> F + Send + Sync + 'static,
    ) -> Self {
        self.options.progress = Some(Progress::new(report));
        self
    }
}

/// The side of calls over host memory.
impl<Op: ScanOp, R: Outcome> Scan<Op, R> {
    /// Allows results whose last bits differ from run to run, where floats are rounded. The CPU then runs calls over
    /// host memory whose kernels must still be compiled, as it does without being asked where both sides give the same
    /// bits ([`HostMemory::Faster`](crate::HostMemory::Faster)): it groups elements in another way than the kernels.
    /// A scan by one thread of the CPU then takes no longer than the plain loop. Without `any_grouping` each chunk is
    /// folded as well, so that bits do not depend on the number of threads. That takes up to twice the time for
    /// operators that cost much, such as Welford's.
    ///
    /// Of this and [`deterministic`](Scan::deterministic), the last call counts.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let sums = Scanner::new()?.scan(ops::sum::<f32>()).any_grouping();
    /// assert_eq!(sums.run(&[0.5, 0.25])?, [0.5, 0.75]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn any_grouping(mut self) -> Self {
        if let Some(overrides) = &mut self.options.overrides {
            overrides.deterministic = false;
        }
        self.options.any_grouping = true;
        self
    }
}

/// How a total alone is made.
impl<Op: ScanOp> Reduce<Op> {
    /// Chooses the algorithm, in place of the coarsened tree. It changes nothing on the CPU, nor for a
    /// [reversed](Scan::reverse) reduction.
    pub fn reduction(mut self, reduction: Reduction) -> Self {
        self.options.reduction = Some(reduction);
        self
    }

    /// What would run on the GPU.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] for an element type that the kernels cannot handle, and for a [reversed](Scan::reverse)
    /// reduction, which the kernels of scans do.
    pub fn plan(&self) -> Result<ReductionPlan, Error> {
        let Options { scanner, op, initial_value, reduction, order, .. } = &self.options;
        if *order == Order::Reversed {
            let why = "kernels of scans reduce from the right: ask `scan(op).reverse().rows(len)` for its plan";
            return Err(PlanError::Strategy { strategy: "a tree".to_owned(), why: why.to_owned() }.into());
        }
        let reduction = reduction.unwrap_or_default();
        Ok(generate::plan_reduction(&op.source(), initial_value.is_some(), &scanner.limits(), reduction)?)
    }

    /// The CUDA source that would run on the GPU, on a machine without one too.
    ///
    /// # Errors
    ///
    /// As [`plan`](Reduce::plan).
    pub fn cuda_source(&self) -> Result<KernelSource, Error> {
        Ok(generate::show_reduction(&self.options.op.source(), &self.plan()?)?)
    }
}

/// What would run.
impl<Op: ScanOp> Scan<Op> {
    /// What would run on the GPU: on this scanner's device, or, where there is none, on an
    /// [H200](scan_codegen::DeviceLimits::H200) or [what the scanner was made for](Scanner::cpu_for). The plans name it. There is a
    /// plan for each range of lengths, unless an algorithm or a shape has been chosen. It depends on what kind of heads there are,
    /// not on the heads. Whether a call over host memory runs there is what [`backend_for`](Scan::backend_for) says.
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
    /// which [`axis_plan`](Run::axis_plan) is for.
    pub fn plan(&self) -> Result<Plans, Error> {
        self.call().plan()
    }

    /// The CUDA source that would run on the GPU over the longest inputs, on a machine without one too. The same operator,
    /// options and device limits give the same bytes everywhere, so it can be kept as a snapshot in your tests: its `Display`
    /// names the range of lengths, the architecture and the version of this crate in its first line. Its
    /// [`operator`](KernelSource::operator) is the part that is made of the operator alone.
    ///
    /// ```
    /// use scan_runtime::{DeviceLimits, Scanner, ops};
    ///
    /// let scanner = Scanner::cpu_for(DeviceLimits::of("sm_90".parse()?));
    /// let source = scanner.scan(ops::sum::<f32>()).cuda_source()?.without_lines();
    /// let shown = source.to_string();
    /// assert!(shown.starts_with("// Sum: inclusive scan, from ") && shown.contains(" elements on, for sm_90, by scan-runtime "));
    ///
    /// let lines: Vec<&str> = source.operator().lines().collect();
    /// assert_eq!(lines[..2], ["struct Sum {", "  __device__ __forceinline__ f32 combine(f32 a, f32 b) const {"]);
    /// assert_eq!(lines.last(), Some(&"};"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where there is no such plan, [`Error::Render`] where the operator cannot be written.
    pub fn cuda_source(&self) -> Result<KernelSource, Error> {
        self.call().cuda_source()
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
        self.call().cuda_source_for(len)
    }
}

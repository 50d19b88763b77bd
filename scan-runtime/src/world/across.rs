//! A scan or a reduction over the slices of all ranks.

use std::{any::TypeId, fmt, marker::PhantomData, sync::Arc};

use scan_codegen::{Axis, PlanError, ScanKind};

use super::{Kind, World, WorldError, WorldMemory};
use crate::{
    Array, Buffer, Error, Outcome, Prefixes, PrefixesAndTotal, PrefixesAndTotals, Reduce, Results, Run, Scan,
    ScanElement, ScanOp, Totals,
    arrays::{Input, Output, Shape},
    call,
    cpu::Order,
    heads::HeadKind,
    ops::{Aggregate, OverAggregates},
    run::NewResults,
    scan::Options,
};

const ONE_FOR_EACH: &str = "it has a total for each column: ask for those `.with_totals()`";

/// A scan or a reduction over the slices of all ranks of a [`World`], made by [`Scan::across`].
#[must_use = "nothing is scanned until it is run"]
pub struct Across<'a, Op: ScanOp, M: WorldMemory, R = Prefixes> {
    options: &'a Options<Op>,
    world: &'a World<M>,
    axis: Option<Axis>,
    /// One for each column, before the first element of all.
    initial: Option<M::Array<'a, Op::Carry>>,
    of: PhantomData<fn() -> R>,
}

impl<Op: ScanOp, R: Outcome> Scan<Op, R> {
    /// The same over the slices of all ranks of a world, one after the other in the order of the ranks: as if they were
    /// one array. Every rank makes the same calls in the same order, each with a slice of its own, of any length.
    ///
    /// ```
    /// use scan_runtime::{Scanner, World, ops};
    ///
    /// // Three ranks, which are threads here; programs on several GPUs have `World::from_env()`.
    /// let slices = [vec![1_u64, 2, 3], vec![], vec![4, 5]];
    /// let results = World::of_threads(3).into_iter().zip(&slices);
    /// let results: Vec<Vec<u64>> = std::thread::scope(|scope| {
    ///     let ranks = results.map(|(world, slice)| {
    ///         scope.spawn(move || Scanner::cpu().scan(ops::sum()).across(&world).run(slice))
    ///     });
    ///     let ranks: Vec<_> = ranks.collect();
    ///     ranks.into_iter().map(|rank| rank.join().unwrap()).collect::<Result<_, _>>()
    /// })?;
    /// assert_eq!(results, [vec![1, 3, 6], vec![], vec![10, 15]]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # How it works
    ///
    /// Each rank reduces its slice to the [aggregate](crate::ops::aggregate), the ranks gather these, and each reduces
    /// those of the ranks before it to the initial value of its own scan. So a slice is read twice and written once,
    /// and the ranks exchange one [`State`](ScanOp::State), or one for each column. Of an operator with a carry and a
    /// step of its own they exchange states, too. The grouping is that of the lengths and the ranks, so that the same
    /// slices give the same bits, also of floats.
    ///
    /// Over device memory the host waits only in the first call of each kind, in which the ranks compare their calls,
    /// and in calls with an operator that has no identity, in which each rank says whether it has elements.
    ///
    /// Segments go on from rank to rank where they are in the operator: [`ops::by_flag`](crate::ops::by_flag), which
    /// takes flags and bits, and [`ops::by_key`](crate::ops::by_key). An initial value, of [`init`](Scan::init) or
    /// [`init_each`](Across::init_each), comes before the first element of the first rank; each rank gives the same.
    pub fn across<'a, M: WorldMemory>(&'a self, world: &'a World<M>) -> Across<'a, Op, M, R> {
        Across { options: &self.options, world, axis: None, initial: None, of: PhantomData }
    }
}

/// The aggregates of the ranks that have elements, in their order.
struct Gathered<M: WorldMemory, Op: ScanOp> {
    aggregates: M::New<Op::State>,
    /// How many there are,
    ranks: usize,
    /// and how many of them are of ranks that come before this one in the direction of the scan.
    before: usize,
}

impl<'a, Op: ScanOp, M: WorldMemory, R: Outcome> Across<'a, Op, M, R> {
    /// Works along an axis of arrays whose scanned dimension is split over the ranks, as the tokens of sequences are:
    /// each rank has arrays of its own length along the axis, and of the same shape otherwise. Each column has a carry
    /// that goes on from rank to rank.
    ///
    /// ```
    /// use scan_runtime::{Axis, Scanner, World, ops};
    ///
    /// // Two rows; the first rank has three columns of them, the second one.
    /// let parts = [(vec![1, 2, 3, 10, 20, 30], 3), (vec![4, 40], 1)];
    /// let ranks = World::of_threads(2).into_iter().zip(&parts);
    /// let results: Vec<Vec<i32>> = std::thread::scope(|scope| {
    ///     let ranks = ranks.map(|(world, (part, len))| {
    ///         scope.spawn(move || {
    ///             let scan = Scanner::cpu().scan(ops::sum());
    ///             scan.across(&world).along(Axis::of(&[2, *len], 1)?).init_each(&[100, 0]).run(part)
    ///         })
    ///     });
    ///     let ranks: Vec<_> = ranks.collect();
    ///     ranks.into_iter().map(|rank| rank.join().unwrap()).collect::<Result<_, _>>()
    /// })?;
    /// assert_eq!(results, [vec![101, 103, 106, 10, 30, 60], vec![110, 100]]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn along(self, axis: Axis) -> Self {
        Across { axis: Some(axis), ..self }
    }

    /// Gives each column along an axis an initial value; see [`Scan::init_each`]. Each rank gives the same values.
    pub fn init_each(self, values: &'a (impl Array<Op::Carry, M> + ?Sized)) -> Self {
        Across { initial: Some(values.array()), ..self }
    }

    fn columns(&self) -> usize {
        self.axis.as_ref().map_or(1, Axis::columns)
    }

    /// Compares the call with those of the other ranks, if it is the first one of its kind.
    fn agree(&self) -> Result<(), Error> {
        let options = self.options;
        let kind = Kind {
            op: TypeId::of::<Op>(),
            of: TypeId::of::<R>(),
            is_exclusive: options.kind == ScanKind::Exclusive,
            is_reversed: options.order == Order::Reversed,
            initial: (options.initial_value.is_some(), self.initial.is_some()),
            columns: self.axis.is_some().then(|| self.columns()),
        };
        self.world.agree(kind, || options.op.source())
    }

    /// A reduction in the direction of the scan.
    fn reduction<P: ScanOp>(&self, op: Arc<P>, initial: Option<P::Carry>) -> Reduce<P> {
        Scan::derived(self.options, op, initial)
    }

    /// The run with the initial value of each column, if the caller has given them.
    fn with_initial<'b, P, Q>(&self, run: Run<'b, P, M, Q>) -> Run<'b, P, M, Q>
    where
        'a: 'b,
        P: ScanOp<Carry = Op::Carry>,
        Q: Outcome,
    {
        match self.initial {
            Some(values) => Run::new(M::with_initial_values(run.call, M::shorten(values))),
            None => run,
        }
    }

    fn gather<S: Shape>(&self, input: impl Input<Op::Input, M, Shape = S>) -> Result<Gathered<M, Op>, Error> {
        let Across { options, world, axis, .. } = self;
        let (op, columns) = (&options.op, self.columns());
        let aggregate = self.reduction(Aggregate::of(op.clone()), None);
        let run = axis.iter().cloned().fold(M::run(&aggregate, world), |run, axis| run.along(axis));
        let part = match M::reduced(&run, world, input, columns, M::row_of::<Op::State>(columns)) {
            Ok(part) => Some(part),
            Err(Error::Plan(PlanError::NoElements { .. })) if op.identity().is_none() => None,
            Err(error) => {
                // The others would take what this rank gathers in its next call for this one.
                world.lose(WorldError::Failed { rank: world.rank(), why: error.to_string() });
                return Err(error);
            }
        };
        let (rank, size) = (world.rank(), world.size());
        let present = match op.identity() {
            Some(_) => vec![true; size],
            None => {
                let answers = world.exchange("who has elements", &[u8::from(part.is_some())])?;
                answers.iter().map(|answer| answer == &[1]).collect()
            }
        };
        let aggregates = M::gather(world, part, columns, &present)?;
        let count = |ranks: &[bool]| ranks.iter().filter(|present| **present).count();
        let before = match options.order {
            Order::Forward => count(&present[..rank]),
            Order::Reversed => count(&present[rank + 1..]),
        };
        Ok(Gathered { aggregates, ranks: count(&present), before })
    }

    /// The carry of each column after the first `ranks` ranks in the direction of the scan; `None` if there is neither a
    /// rank nor an initial value.
    fn carries(&self, gathered: &Gathered<M, Op>, ranks: usize) -> Result<Option<M::New<Op::Carry>>, Error> {
        let (options, columns) = (self.options, self.columns());
        if ranks == 0 && options.initial_value.is_none() && self.initial.is_none() {
            return Ok(None);
        }
        let over = self.reduction(OverAggregates::of(options.op.clone()), options.initial_value);
        let row = M::row_of::<Op::State>(columns);
        let axis = Axis::of(&[ranks, columns], 0)?.input_strides(&[row, 1])?;
        let (run, len) = (M::run(&over, self.world).along(axis.clone()), axis.input_len());
        let run = self.with_initial(run);
        let first = match options.order {
            Order::Forward => 0,
            Order::Reversed => (gathered.ranks - ranks) * row,
        };
        let range = first..first + len;
        M::folded(&run, self.world, (&gathered.aggregates, range), columns).map(Some)
    }
}

impl<'a, Op: ScanOp, M: WorldMemory, R: Results> Across<'a, Op, M, R> {
    /// Gives every rank the total of all ranks as well; see [`Scan::with_total`]. Of an operator that has an identity
    /// there is one even if no rank has an element.
    pub fn with_total(self) -> Across<'a, Op, M, PrefixesAndTotal> {
        self.with_outcome()
    }

    /// Gives every rank the total of each column over all ranks as well, such as the final states of a recurrence; see
    /// [`Scan::with_totals`].
    pub fn with_totals(self) -> Across<'a, Op, M, PrefixesAndTotals> {
        self.with_outcome()
    }

    fn with_outcome<Q>(self) -> Across<'a, Op, M, Q> {
        let Across { options, world, axis, initial, of: _ } = self;
        Across { options, world, axis, initial, of: PhantomData }
    }

    /// Runs over this rank's input; gives its results, and totals if the scan does: those of the whole, on every rank.
    ///
    /// # Errors
    ///
    /// As [`Run::run`]; and [`Error::World`] if another rank is gone, late, or about to do something else.
    pub fn run<S: Shape>(
        &self,
        input: impl Input<Op::Input, M, Shape = S> + Clone,
    ) -> Result<NewResults<R, M, Op, S>, Error> {
        let gathered = self.prepare(input.clone())?;
        let results = self.scan(&gathered, |run| run.run(input))?;
        Ok(R::with(results, self.totals(&gathered)?))
    }

    /// Runs over this rank's input into an output of the same length; gives the totals of the whole, if the scan does.
    ///
    /// # Errors
    ///
    /// As [`run`](Across::run).
    pub fn run_into(
        &self,
        input: impl Input<Op::Input, M> + Clone,
        output: impl Output<Op::Output, M>,
    ) -> Result<R::Totals<M, Op::Carry>, Error> {
        let gathered = self.prepare(input.clone())?;
        self.scan(&gathered, |run| run.run_into(input, output))?;
        self.totals(&gathered)
    }

    /// Scans this rank's array in place; gives the totals of the whole, if the scan does.
    ///
    /// ```
    /// use scan_runtime::{Scanner, World, ops};
    ///
    /// let mut slices = [vec![3, 1], vec![4, 1, 5]];
    /// std::thread::scope(|scope| {
    ///     for (world, slice) in World::of_threads(2).into_iter().zip(&mut slices) {
    ///         scope.spawn(move || Scanner::cpu().scan(ops::max()).across(&world).run_in_place(slice).unwrap());
    ///     }
    /// });
    /// assert_eq!(slices, [vec![3, 3], vec![4, 4, 5]]);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Across::run), and as [`Run::run_in_place`].
    pub fn run_in_place<T: ScanElement, B>(&self, buffer: &mut B) -> Result<R::Totals<M, Op::Carry>, Error>
    where
        Op: ScanOp<Input = T, Output = T>,
        B: Buffer<T, M> + ?Sized,
        for<'b> &'b B: Input<T, M>,
    {
        let gathered = self.prepare(&*buffer)?;
        self.scan(&gathered, |run| run.run_in_place(buffer))?;
        self.totals(&gathered)
    }

    fn prepare<S: Shape>(&self, input: impl Input<Op::Input, M, Shape = S>) -> Result<Gathered<M, Op>, Error> {
        if self.options.includes_initial {
            return Err(Error::IncludeInitial { why: "only the first rank has an initial value" });
        }
        match (&self.axis, R::TOTALS) {
            (None, totals) if totals == call::Totals::PerSegment || self.initial.is_some() => {
                Err(PlanError::NoSegmentIndex { segments: HeadKind::None.segments().to_string() })?;
            }
            (Some(_), call::Totals::Last) => Err(PlanError::Columns { why: ONE_FOR_EACH })?,
            _ => {}
        }
        self.agree()?;
        self.gather(input)
    }

    /// Runs the scan of this rank, which goes on from the ranks before.
    fn scan<T>(
        &self,
        gathered: &Gathered<M, Op>,
        run: impl FnOnce(&Run<'_, Op, M>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let options = self.options;
        let carries = match gathered.before {
            0 => None,
            before => self.carries(gathered, before)?,
        };
        let known = carries.as_ref().filter(|_| self.axis.is_none()).and_then(M::known);
        let scan: Scan<Op> = Scan::going_on(options, known.or(options.initial_value));
        let base = M::run(&scan, self.world);
        let base = self.axis.iter().cloned().fold(base, |run, axis| run.along(axis));
        match &carries {
            None => run(&self.with_initial(base)),
            Some(carries) if self.axis.is_some() => {
                run(&Run::new(M::with_initial_values(base.call, M::array(carries))))
            }
            Some(carries) => run(&M::init_from(base, carries)),
        }
    }

    /// The totals of the whole.
    fn totals(&self, gathered: &Gathered<M, Op>) -> Result<R::Totals<M, Op::Carry>, Error> {
        let totals = || self.carries(gathered, gathered.ranks);
        let one = || totals()?.map(|total| M::one(total)).transpose();
        let nothing = || PlanError::NoElements { operator: self.options.op.source().name };
        let each = || Ok(totals()?.ok_or_else(nothing)?);
        R::room::<M, Op::Carry>(one, each)
    }
}

impl<Op: ScanOp, M: WorldMemory> Across<'_, Op, M, Totals> {
    /// Reduces the inputs of all ranks; gives every rank the result, or the result of each column.
    ///
    /// # Errors
    ///
    /// As [`Run::run`]; and [`Error::World`] if another rank is gone, late, or about to do something else.
    pub fn run(&self, input: impl Input<Op::Input, M>) -> Result<M::New<Op::Output>, Error> {
        let carries = self.all(input)?;
        let (reduction, nothing) = (self.of_nothing(), M::nothing::<Op::Input>(self.world)?);
        let run = self.results(&reduction, &carries)?;
        M::reduced(&run, self.world, M::input(&nothing), self.columns(), self.columns())
    }

    /// Reduces the inputs of all ranks into an output of one element, or of one for each column, of every rank.
    ///
    /// # Errors
    ///
    /// As [`run`](Across::run).
    pub fn run_into(&self, input: impl Input<Op::Input, M>, output: impl Output<Op::Output, M>) -> Result<(), Error> {
        let carries = self.all(input)?;
        let (reduction, nothing) = (self.of_nothing(), M::nothing::<Op::Input>(self.world)?);
        self.results(&reduction, &carries)?.run_into(M::input(&nothing), output)
    }

    fn all(&self, input: impl Input<Op::Input, M>) -> Result<M::New<Op::Carry>, Error> {
        if self.axis.is_none() && self.initial.is_some() {
            Err(PlanError::NoSegmentIndex { segments: HeadKind::None.segments().to_string() })?;
        }
        self.agree()?;
        let gathered = self.gather(input)?;
        let nothing = || PlanError::NoElements { operator: self.options.op.source().name };
        Ok(self.carries(&gathered, gathered.ranks)?.ok_or_else(nothing)?)
    }

    /// Makes results of carries: a reduction of an empty input, with the carries as initial values.
    fn of_nothing(&self) -> Reduce<Op> {
        self.reduction(self.options.op.clone(), None)
    }

    fn results<'b>(
        &'b self,
        reduction: &'b Reduce<Op>,
        carries: &'b M::New<Op::Carry>,
    ) -> Result<Run<'b, Op, M, Totals>, Error> {
        let run = M::run(reduction, self.world).along(Axis::of(&[0, self.columns()], 0)?);
        Ok(Run::new(M::with_initial_values(run.call, M::array(carries))))
    }
}

impl<Op: ScanOp, M: WorldMemory, R: Outcome> fmt::Debug for Across<'_, Op, M, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut across = f.debug_struct("Across");
        across.field("operator", &self.options.op.source().name).field("world", self.world);
        across.field("axis", &self.axis).finish_non_exhaustive()
    }
}

//! Scans and reductions along an axis of an array in host memory.

use std::{fmt, sync::Arc};

use scan_codegen::{ArrayKind, ArrayKinds, Arrays, Axis, ColumnLayout, ColumnsPlan, Plans};

use super::{Scan, host::Wants};
use crate::{
    Error, Goal, Heads, HostHeads, Reduce, ScanOp,
    call::{HostTotals, Initial, Layouts, Request, Totals},
    cpu::{self, Both, Memory, Unwritten},
    generate,
    heads::check_initial_values,
    room::room,
    scanner::Engine,
    telemetry::{computing, tells_of_calls},
};

/// An array that is scanned along an axis.
#[derive(Clone, Debug)]
pub(crate) struct AxisLayout {
    pub(crate) axis: Axis,
    layout: ColumnLayout,
}

impl AxisLayout {
    pub(crate) fn new(axis: Axis) -> Self {
        AxisLayout { layout: axis.layout(), axis }
    }

    pub(crate) fn layout(&self) -> &ColumnLayout {
        &self.layout
    }

    /// The length of a column, if the columns are rows of a scan that restarts.
    pub(crate) fn row(&self) -> Option<usize> {
        let layout = &self.layout;
        let are_rows = layout.is_rows() && layout.columns() > 1 && !layout.is_empty();
        are_rows.then_some(layout.length() as usize)
    }

    /// Whether columns are contiguous, one behind the other, and scanned as rows. One alone is no row that has values
    /// of its own.
    pub(crate) fn is_of_rows(&self, request: &Request) -> bool {
        let has_values = request.initial == Initial::Each || request.totals == Totals::PerSegment;
        self.layout.is_rows() && !self.layout.is_empty() && (!has_values || self.layout.columns() > 1)
    }

    /// Whether memory of `found` elements holds the array.
    pub(crate) fn check_length(&self, what: &'static str, found: usize, expected: usize) -> Result<(), Error> {
        let holds = if expected == self.axis.len() { found == expected } else { found >= expected };
        match holds {
            true => Ok(()),
            false => Err(Error::AxisLength { what, found, expected, shape: self.axis.shape().to_vec() }),
        }
    }

    /// The error of results that leave gaps.
    pub(crate) fn gaps(&self) -> Error {
        Error::AxisGaps { shape: self.axis.shape().to_vec() }
    }
}

impl<Op: ScanOp> Scan<Op> {
    /// Scans an array along an axis: each column, which is what lies along the axis, is scanned as if it were all of
    /// the input. An initial value stands before the first element of each column; a [reversed](Scan::reverse) scan
    /// goes from the last element of each.
    ///
    /// Arrays have as many elements as the shape, in the order that the strides of the axis give. Other arrays than
    /// slices have the shape and strides of the axis, too: [indices](crate::arrays::indices) are those of the memory.
    /// Arrays with [strides of their own](crate::arrays::strided) have the shape alone. New results are contiguous,
    /// unless the axis has strides of theirs. What lies between results of [`run_into`](Scan::run_into) stays what it
    /// is.
    ///
    /// Outer axes have a kernel of their own, whose neighbouring threads scan neighbouring columns. It is at its best
    /// where the last dimension is contiguous; any other strides are scanned as well, slower. An axis whose columns are
    /// contiguous, one behind the other, is scanned as [rows](Scan::rows). Floats come out the same in every run.
    ///
    /// ```
    /// use scan_runtime::{Axis, Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// let matrix = [
    ///     1, 2, 3, //
    ///     4, 5, 6,
    /// ];
    /// let down = scanner.scan(ops::sum()).axis(Axis::of(&[2, 3], 0)?);
    /// assert_eq!(down.run(&matrix)?, [1, 2, 3, 5, 7, 9]);
    /// let along = scanner.scan(ops::sum()).axis(Axis::of(&[2, 3], 1)?);
    /// assert_eq!(along.run(&matrix)?, [1, 3, 6, 4, 9, 15]);
    /// // Every second column, in place.
    /// let every_second = Axis::of(&[2, 2], 0)?.strides(&[3, 2])?;
    /// let mut buffer = matrix;
    /// scanner.scan(ops::sum()).axis(every_second).run_in_place(&mut buffer)?;
    /// assert_eq!(buffer, [1, 2, 3, 5, 5, 9]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// A recurrence `h = a·h + b` over the tokens of many sequences, whose factors are at most 1 (larger ones may
    /// [overflow](ScanOp#overflow)):
    ///
    /// ```
    /// use scan_runtime::{Axis, Scanner, scan_element, scan_op};
    ///
    /// #[scan_element]
    /// #[derive(Clone, Copy)]
    /// struct Affine {
    ///     a: f32,
    ///     b: f32,
    /// }
    ///
    /// #[scan_op(identity = Affine { a: 1.0, b: 0.0 })]
    /// fn compose(f: Affine, g: Affine) -> Affine {
    ///     Affine { a: f.a * g.a, b: g.a * f.b + g.b }
    /// }
    ///
    /// let (sequences, tokens, channels) = (2, 3, 4);
    /// let steps = vec![Affine { a: 0.5, b: 1.0 }; sequences * tokens * channels];
    /// let along_tokens = Axis::of(&[sequences, tokens, channels], 1)?;
    /// let states = Scanner::new()?.scan(compose).axis(along_tokens).run(&steps)?;
    /// assert_eq!(states[(1 * tokens + 2) * channels].b, 1.75);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// Several arrays:
    ///
    /// ```
    /// use scan_runtime::{Axis, ScanOp, Scanner, scan_element, scan_op};
    ///
    /// struct Recurrence;
    ///
    /// #[scan_element]
    /// #[derive(Clone, Copy)]
    /// struct Step {
    ///     gate: f32,
    ///     token: f32,
    /// }
    ///
    /// #[scan_op]
    /// impl ScanOp for Recurrence {
    ///     type Input = Step;
    ///     type State = Step;
    ///     type Output = f32;
    ///     fn lift(step: Step) -> Step {
    ///         step
    ///     }
    ///     fn combine(a: Step, b: Step) -> Step {
    ///         Step { gate: a.gate * b.gate, token: b.gate * a.token + b.token }
    ///     }
    ///     fn project(h: Step) -> f32 {
    ///         h.token
    ///     }
    /// }
    ///
    /// let shape @ [sequences, tokens, channels] = [2, 3, 4];
    /// let len = sequences * tokens * channels;
    /// let (gates, inputs, mut states) = (vec![0.5; len], vec![1.0; len], vec![0.0; len]);
    /// let along_tokens = Axis::of(&shape, 1)?;
    /// Scanner::new()?.scan(Recurrence).axis(along_tokens).run_into((&gates, &inputs), &mut states)?;
    /// assert_eq!(states[(1 * tokens + 2) * channels], 1.75);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A run gives [`Error::AxisLength`] if an array has another number of elements than the shape, [`Error::AxisGaps`]
    /// if new or scattered results of these strides leave gaps, [`Error::AxisInPlace`] in place if the axis has other
    /// strides of the results than of the elements, and [`PlanError::Columns`](crate::PlanError::Columns) for the last
    /// total alone: there is one for each column.
    pub fn axis<'h>(self, axis: Axis) -> Scan<Op, Heads<'h>> {
        self.along(axis)
    }
}

impl<Op: ScanOp> Reduce<Op> {
    /// Reduces an array along an axis.
    ///
    /// ```
    /// use scan_runtime::{Axis, Scanner, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// let matrix = [
    ///     1, 2, 3, //
    ///     4, 5, 6,
    /// ];
    /// let columns = scanner.reduce(ops::sum()).axis(Axis::of(&[2, 3], 0)?);
    /// assert_eq!(columns.run(&matrix)?, [5, 7, 9]);
    /// let rows = scanner.reduce(ops::max()).axis(Axis::of(&[2, 3], 1)?);
    /// assert_eq!(rows.run(&matrix)?, [3, 6]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// The results have the shape of the array without the axis, contiguous, the last index the fastest. The result of
    /// a column without elements is the initial value, or else the identity. `project` is called on the host.
    ///
    /// In device memory a [scan](Scan::on) whose outputs are [discarded](crate::arrays::discard) reduces: its totals
    /// are the carries.
    ///
    /// # Errors
    ///
    /// A run gives [`Error::AxisLength`] if the array has another number of elements than the shape.
    pub fn axis<'h>(self, axis: Axis) -> Reduce<Op, Heads<'h>> {
        self.along(axis)
    }
}

impl<Op: ScanOp, G: Goal> Scan<Op, crate::NoHeads, G> {
    fn along<'h>(self, axis: Axis) -> Scan<Op, Heads<'h>, G> {
        let along = Arc::new(AxisLayout::new(axis));
        let heads = along.row().map_or(Heads::NONE, Heads::rows);
        Scan { along: Some(along), ..self.with_heads(heads) }
    }
}

/// What would run along an axis on a GPU.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AxisPlan {
    /// Columns that are contiguous, one behind the other, as rows.
    Rows(Plans),
    /// Any others.
    Columns(ColumnsPlan),
}

impl fmt::Display for AxisPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AxisPlan::Rows(plans) => plans.fmt(f),
            AxisPlan::Columns(plan) => plan.fmt(f),
        }
    }
}

impl<Op: ScanOp, G: Goal> Scan<Op, Heads<'_>, G> {
    /// What would run on the GPU along an axis; of other segments as rows.
    ///
    /// # Errors
    ///
    /// [`Error::Plan`] where no kernel can do it.
    pub fn axis_plan(&self) -> Result<AxisPlan, Error> {
        match &self.along {
            Some(along) if !along.layout.is_rows() => Ok(AxisPlan::Columns(self.columns_plan(Totals::None)?)),
            _ => {
                let call = self.call(Totals::None);
                Ok(AxisPlan::Rows(self.scanner.plans(&self.op.source(), &call.spec(), &call.shape())?))
            }
        }
    }
}

impl<Op: ScanOp, H: HostHeads, G: Goal> Scan<Op, H, G> {
    pub(super) fn columns_plan(&self, totals: Totals) -> Result<ColumnsPlan, Error> {
        let (operator, limits) = (self.op.source(), self.scanner.limits());
        Ok(generate::plan_columns(&operator, &self.call(totals).spec(), &limits, &self.shape())?)
    }

    /// Scans columns that are not rows.
    ///
    /// # Safety
    ///
    /// As for [`run_memory`](Scan::run_memory).
    pub(super) unsafe fn run_columns<M: Memory<Op>>(
        &self,
        along: &AxisLayout,
        memory: M,
        layouts: Layouts,
        wants: Wants<Op::Carry>,
    ) -> Result<(), Error> {
        let (axis, layout, totals) = (&along.axis, &along.layout, wants.pointer());
        let mut call = self.call(wants.totals()).over(layouts);
        // A reduction takes the totals of a scan.
        call.request.reduction = None;
        if let Some(values) = self.initial_values() {
            check_initial_values(values.len(), axis.columns())?;
        }
        if layout.is_empty() {
            self.columns_plan(wants.totals())?;
            let count = if totals.is_null() { 0 } else { axis.columns() };
            for column in 0..count {
                let value = self.initial_values().and_then(|values| values.get(column).copied());
                let total = value.map_or_else(|| self.total_of_nothing(), Ok)?;
                // SAFETY: the caller vouches for the totals.
                unsafe { totals.add(column).write(total) };
            }
            self.report_all(0);
            return Ok(());
        }
        match self.scanner.engine() {
            Engine::Cpu { .. } => {
                let has_values = call.request.initial == Initial::Each || !totals.is_null();
                match has_values || self.overrides.is_some() {
                    true => self.columns_plan(wants.totals()).map(drop)?,
                    false => self.check_planned(Totals::None)?,
                }
                let _span = tells_of_calls().then(|| computing::<Op>(axis.len()));
                let Scan { op, kind, order, initial_value, .. } = self;
                let values = cpu::ColumnValues {
                    initial_value: *initial_value,
                    initial_values: self.initial_values(),
                    totals: (!totals.is_null()).then_some(totals),
                };
                // SAFETY: the caller vouches for the memory; the values have been counted.
                unsafe { cpu::scan_columns(op, *kind, *order, values, layout, memory, axis.len())? };
                self.report_all(axis.len());
                Ok(())
            }
            Engine::Cuda(device) => {
                let totals = HostTotals::per_segment(totals, axis.columns());
                // SAFETY: as above.
                unsafe { call.scan_columns_on_device(device, axis, &memory.host(axis.len()), totals) }
            }
        }
    }
}

impl<Op: ScanOp> Reduce<Op, Heads<'_>> {
    /// Reduces each column of an array.
    pub(super) fn reduce_columns(&self, along: &AxisLayout, input: &[Op::Input]) -> Result<Vec<Op::Output>, Error> {
        along.check_length("input", input.len(), along.axis.input_len())?;
        let count = along.axis.columns();
        let mut totals = room::<Op::Carry>(count)?;
        let memory = Both { input: input.as_ptr(), output: Unwritten };
        let output = (Arrays::One, ArrayKinds::new([ArrayKind::NoMemory]));
        let layouts = Layouts { output, ..Layouts::default() };
        // SAFETY: the input holds the array, there is room for the totals, and results have no memory.
        unsafe {
            self.run_memory(memory, along.axis.len(), layouts, Wants::PerSegment(totals.as_mut_ptr()))?;
            totals.set_len(count);
        }
        let mut results = room(count)?;
        for total in totals {
            results.push(cpu::project(&self.op, total)?);
        }
        Ok(results)
    }
}

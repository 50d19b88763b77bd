//! A call as data: the operator, the request and the memory, without type parameters. Everything below the public
//! methods works on it, except the loops of the CPU.

#[cfg(feature = "cuda")]
mod chunks;
#[cfg(feature = "cuda")]
mod host;
#[cfg(feature = "cuda")]
mod loads;
mod progress;
mod request;
mod task;
pub(crate) mod with_initial;

#[cfg(feature = "cuda")]
use std::iter;

#[cfg(feature = "cuda")]
use scan_codegen::ScanKind;
use scan_codegen::{ArrayKind, Overrides, PlanError, ScanSpec};

#[cfg(feature = "cuda")]
pub(crate) use chunks::Chunk;
#[cfg(feature = "cuda")]
pub(crate) use host::{HostPlaces, HostTotals};
#[cfg(feature = "cuda")]
pub(crate) use loads::LoadsKernels;
pub(crate) use progress::Progress;
pub use progress::{ProgressFlow, ScanProgress};
pub(crate) use request::{Initial, Layouts, Request, Totals};
pub(crate) use task::Task;

use crate::{
    Error, Scanner,
    erased::{Erased, Value},
    generate,
    heads::Heads,
    host::axis::AxisLayout,
};
#[cfg(feature = "cuda")]
use crate::{device::work::OfNothing, heads::HeadKind};

/// A scan or a reduction, and its segments and initial values in host memory.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) scanner: &'a Scanner,
    pub(crate) op: &'a dyn Erased,
    pub(crate) request: Request,
    pub(crate) overrides: Option<&'a Overrides>,
    pub(crate) initial_value: Option<&'a dyn Value>,
    /// The segments in host memory, with the initial value of each.
    pub(crate) heads: Heads<'a>,
    /// The array in host memory, of a call along an axis of one.
    pub(crate) along: Option<&'a AxisLayout>,
    /// Receives the progress of runs over host memory.
    pub(crate) progress: Option<&'a Progress>,
}

impl Call<'_> {
    /// The same call over such arrays.
    pub(crate) fn over(mut self, layouts: Layouts) -> Self {
        self.request.layouts = layouts;
        self
    }

    /// The bytes of the initial value.
    pub(crate) fn initial_bytes(&self) -> Option<Vec<u8>> {
        self.initial_value.map(Value::bytes)
    }

    /// The bytes of the total of no elements.
    pub(crate) fn total_of_nothing(&self) -> Result<Vec<u8>, Error> {
        let nothing = || PlanError::NoElements { operator: self.op.source().name };
        Ok(self.initial_bytes().or_else(|| self.op.start()).ok_or_else(nothing)?)
    }

    /// The bytes of the result of no elements.
    pub(crate) fn result_of_nothing(&self) -> Result<Vec<u8>, Error> {
        let total = self.total_of_nothing()?;
        // SAFETY: they are the bytes of a carry.
        unsafe { self.op.project(&total) }
    }

    pub(crate) fn spec(&self) -> ScanSpec {
        self.request.spec()
    }

    /// What the caller says about the kernels' shape.
    pub(crate) fn shape(&self) -> Overrides {
        self.overrides.copied().unwrap_or_default()
    }

    pub(crate) fn task(&self) -> Task {
        match self.along {
            Some(_) if self.is_of_columns() => Task::Columns(self.spec(), self.shape()),
            _ => self.request.task(self.shape()),
        }
    }

    /// The kernels of a reduction of rows whose results are the totals of a scan.
    #[cfg(feature = "cuda")]
    pub(crate) fn task_of_rows(&self) -> Option<Task> {
        let is_of_rows = matches!(self.request.heads, HeadKind::Rows { .. });
        let request = self.request.by_totals(self.op, 0).filter(|_| is_of_rows)?;
        self.op.source().totals_are_results().then(|| request.task(self.shape()))
    }

    /// Whether it is along an axis, and not of rows.
    fn is_of_columns(&self) -> bool {
        let has_strides = || self.request.layouts.input.1.any(|kind| kind == ArrayKind::Strided);
        self.along.is_some_and(|along| !along.is_of_rows(&self.request) || has_strides())
    }

    /// The scan that gives the initial values, where results include these.
    #[cfg(feature = "cuda")]
    fn of_initial(&self) -> Self {
        Call { request: Request { kind: ScanKind::Exclusive, totals: Totals::None, ..self.request }, ..*self }
    }

    /// The kernels of this call over device memory, in arrays of these kinds. Those of reductions write the results of
    /// no elements, too.
    #[cfg(feature = "cuda")]
    pub(crate) fn tasks_on_device(&self) -> Vec<Task> {
        let mut call = *self;
        if call.is_of_columns() {
            // Rows whose arrays are strided in different ways are scanned as columns.
            call.request.heads = HeadKind::None;
        }
        let scan = call.request.reduction.is_none().then(|| call.task());
        let needs_nothing = OfNothing::is_needed(&call) && (call.request.heads.is_none() || call.along.is_some());
        let of_nothing = needs_nothing.then(|| OfNothing::task(&call));
        scan.into_iter().chain(call.device_tasks()).chain(of_nothing).collect()
    }

    /// The kernels of a reduction over slices of device memory. They write the results, which are not always those of
    /// the kernels that read host memory. And those of the initial values, where results include these.
    #[cfg(feature = "cuda")]
    pub(crate) fn device_tasks(&self) -> Vec<Task> {
        if self.request.includes_initial {
            return vec![self.of_initial().task()];
        }
        if self.request.reduction.is_none() {
            return Vec::new();
        }
        let of_columns = self.is_of_columns();
        let totals_are_results = !of_columns && self.op.source().totals_are_results();
        let request = if of_columns { self.request } else { self.request.by_rows(0, totals_are_results) };
        let by_totals = request.by_totals(self.op, usize::MAX).filter(|_| totals_are_results);
        let by_totals = by_totals.map(|request| request.task(self.shape()));
        if !request.is_of_trees() && by_totals.is_some() {
            return by_totals.into_iter().collect();
        }
        let scan = match of_columns {
            true => Task::Columns(request.scanned(true).spec(), self.shape()),
            false => request.scanned(false).task(self.shape()),
        };
        let last_results = request.last_results(of_columns).map(Task::LastResults);
        iter::once(scan).chain(last_results).chain(by_totals).collect()
    }

    /// An error where the planner refuses the call.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.check_task(&self.task())
    }

    /// An error where the planner refuses a task.
    pub(crate) fn check_task(&self, task: &Task) -> Result<(), Error> {
        let (operator, limits) = (self.op.source(), self.scanner.limits());
        match task {
            Task::Scan(spec, shape) => self.scanner.plans(&operator, spec, shape).map(drop)?,
            Task::Columns(spec, shape) => generate::plan_columns(&operator, spec, &limits, shape).map(drop)?,
            Task::Reduce(reduction, initial_value) => {
                generate::plan_reduction(&operator, *initial_value, &limits, *reduction).map(drop)?;
            }
            Task::LastResults(spec) => generate::plan_last_results(&operator, spec, &limits).map(drop)?,
            Task::ReduceRanges(width, spec) => {
                generate::plan_range_reduction(&operator, spec, *width, &limits).map(drop)?;
            }
        }
        Ok(())
    }

    /// Reports that all elements are done.
    pub(crate) fn report_all(&self, len: usize) {
        if let Some(progress) = self.progress {
            // There is nothing left to cancel.
            _ = progress.report(ScanProgress { done: len, of: len });
        }
    }
}

//! The plans of tasks: one for each range of lengths.

use std::{
    sync::{Arc, OnceLock},
    thread,
};

use scan_codegen::{
    ColumnLayout, DeviceLimits, KernelSource, OpSource, Overrides, Plan, PlanError, Plans, ScanSpec, Tuned,
};

use super::{
    CudaDevice,
    any_plan::AnyPlan,
    cubins::{Stores, cubin},
    loaded::Kernels,
    lock,
    made::Made,
};
use crate::{Error, call::Task, erased::Erased, generate, telemetry::Caller, tune};

/// The plans of a task for all lengths, in ascending order of the lengths.
#[derive(Debug)]
pub(super) struct Ranges {
    /// The operator of the plans, from which the kernels are rendered.
    pub(super) operator: OpSource,
    shortest: Range,
    pub(super) longer: Vec<Range>,
}

/// The plan of a task for a range of lengths.
#[derive(Debug)]
pub(super) struct Range {
    /// The minimum number of elements that it is for.
    pub(super) from: u64,
    pub(super) plan: AnyPlan,
    /// Its kernels, loaded by the first call that needs them.
    pub(super) kernels: Made<Kernels>,
    /// The key of their machine code, if that has been asked for in the background.
    pub(super) asked: OnceLock<blake3::Hash>,
}

impl Ranges {
    fn new(
        operator: OpSource,
        task: &Task,
        limits: &DeviceLimits,
        plan_scan: impl FnOnce(&OpSource, &ScanSpec, &Overrides) -> Result<Plans, PlanError>,
    ) -> Result<Self, Error> {
        let (shortest, longer) = match task {
            Task::Scan(spec, overrides) => {
                let plans = plan_scan(&operator, spec, overrides)?;
                (plans.shortest().into(), plans.longer().iter().map(Range::from).collect())
            }
            Task::Reduce(reduction, initial_value) => {
                let plan = generate::plan_reduction(&operator, *initial_value, limits, *reduction)?;
                (Range::for_all(AnyPlan::Reduction(plan)), Vec::new())
            }
            // Not for lengths: the first of them that suits an array is for it.
            Task::Columns(spec, overrides) => {
                let plan = generate::plan_columns(&operator, spec, limits, overrides)?;
                let mut ranges = plan.all().into_iter().map(|plan| Range::for_all(AnyPlan::Columns(plan)));
                let first = ranges.next().unwrap_or_else(|| Range::for_all(AnyPlan::Columns(plan.clone())));
                (first, ranges.collect())
            }
            Task::LastResults(spec) => {
                let plan = generate::plan_last_results(&operator, spec, limits)?;
                (Range::for_all(AnyPlan::LastResults(plan)), Vec::new())
            }
            Task::ReduceRanges(width, spec) => {
                let plan = generate::plan_range_reduction(&operator, spec, *width, limits)?;
                (Range::for_all(AnyPlan::RangeReduction(plan)), Vec::new())
            }
        };
        Ok(Ranges { operator, shortest, longer })
    }

    /// The plans for a device that this machine may not have.
    fn for_limits(operator: &OpSource, task: &Task, limits: &DeviceLimits) -> Result<Self, Error> {
        let plan = |operator: &_, spec: &_, overrides: &_| generate::plan(operator, spec, limits, overrides);
        Self::new(operator.clone(), task, limits, plan)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Range> {
        std::iter::once(&self.shortest).chain(&self.longer)
    }

    /// The text of each kernel, with the plan of the first range that it is for: some ranges share a text.
    fn sources(&self) -> Result<Vec<(AnyPlan, KernelSource)>, Error> {
        let mut sources: Vec<(AnyPlan, KernelSource)> = Vec::new();
        for Range { plan, .. } in self.iter() {
            let source = plan.render(&self.operator)?;
            if sources.iter().all(|(_, other)| *other != source) {
                sources.push((plan.clone(), source));
            }
        }
        Ok(sources)
    }

    pub(super) fn for_columns(&self, columns: &ColumnLayout, input: &[u64], output: &[u64]) -> &Range {
        let suits = |range: &&Range| range.plan.suits(columns, input, output);
        self.iter().find(suits).or(self.longer.last()).unwrap_or(&self.shortest)
    }

    pub(super) fn for_len(&self, len: u64) -> &Range {
        self.longer.iter().rev().find(|range| range.from <= len).unwrap_or(&self.shortest)
    }
}

impl Range {
    /// For all lengths.
    fn for_all(plan: AnyPlan) -> Self {
        Range { from: 0, plan, kernels: Made::default(), asked: OnceLock::new() }
    }
}

impl From<&Plan> for Range {
    fn from(plan: &Plan) -> Self {
        Range { from: plan.from, ..Range::for_all(AnyPlan::Scan(Box::new(plan.clone()))) }
    }
}

/// The sources of all kernels that a task may need on a device, for any length, with their descriptions.
pub(crate) fn sources(
    operator: &OpSource,
    task: &Task,
    limits: &DeviceLimits,
) -> Result<Vec<(String, KernelSource)>, Error> {
    let sources = Ranges::for_limits(operator, task, limits)?.sources()?;
    Ok(sources.into_iter().map(|(plan, source)| (format!("{}: {plan}", operator.name), source)).collect())
}

/// The machine code of all kernels that a task may need on a device, obtained as the device obtains it.
pub(crate) fn machine_code(
    operator: &OpSource,
    task: &Task,
    limits: &DeviceLimits,
    stores: &Stores,
) -> Result<Vec<Arc<Vec<u8>>>, Error> {
    let sources = Ranges::for_limits(operator, task, limits)?.sources()?;
    at_once(&sources, |(plan, source)| cubin(source, &operator.name, plan, limits.architecture, stores))
}

/// Does the same with all items in parallel, each on a thread, the first on this one. Results are in the order of the
/// items. The threads help this one, whose subscriber gets their spans.
pub(super) fn at_once<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, Error> + Sync,
) -> Result<Vec<R>, Error> {
    let Some((first, others)) = items.split_first() else { return Ok(Vec::new()) };
    let (work, caller) = (&work, &Caller::new());
    thread::scope(|scope| {
        let begin = |item| {
            let help = move || caller.help(|| work(item));
            (item, thread::Builder::new().name("scan-compile".to_owned()).spawn_scoped(scope, help))
        };
        let threads: Vec<_> = others.iter().map(begin).collect();
        let others = |(item, thread): (_, std::io::Result<thread::ScopedJoinHandle<'_, _>>)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // If the system has no thread left, this one does it.
            Err(_) => work(item),
        };
        std::iter::once_with(|| work(first)).chain(threads.into_iter().map(others)).collect()
    })
}

impl CudaDevice {
    pub(super) fn ranges(&self, operator: OpSource, task: &Task) -> Result<Ranges, Error> {
        Ranges::new(operator, task, &self.limits, |operator, spec, overrides| self.plans(operator, spec, overrides))
    }

    /// The plans of a scan, with its tuned shapes if there are no overrides.
    pub(crate) fn plans(
        &self,
        operator: &OpSource,
        spec: &ScanSpec,
        overrides: &Overrides,
    ) -> Result<Plans, PlanError> {
        // The kernels compiled ahead of time do not have tuned shapes.
        if *overrides != Overrides::default() || self.stores.no_compiler {
            return generate::plan(operator, spec, &self.limits, overrides);
        }
        let entry = self.tuned_entry(operator, spec);
        let mut tuned = lock(&self.tuned);
        let tuned = tuned.entry(entry).or_insert_with(|| match &self.stores.disk {
            Some(cache) => tune::load(cache, &entry),
            None => Vec::new(),
        });
        generate::plan_tuned(operator, spec, &self.limits, tuned)
    }

    /// From now on scans with `op` have this shape, for a range of lengths. Returns whether it is stored for other
    /// processes.
    pub(crate) fn keep_tuned(&self, op: &dyn Erased, spec: &ScanSpec, new: Tuned) -> bool {
        let entry = self.tuned_entry(&op.source(), spec);
        let kept = self.stores.disk.as_ref().is_some_and(|cache| tune::store(cache, &entry, new));
        tune::replace(lock(&self.tuned).entry(entry).or_default(), new);
        // Planned again when it is needed next.
        self.forget(op, &Task::Scan(spec.clone(), Overrides::default()));
        kept
    }

    fn tuned_entry(&self, operator: &OpSource, spec: &ScanSpec) -> blake3::Hash {
        tune::entry(operator, spec, &self.name, &self.limits)
    }
}

//! Kernels: each distinct source is loaded once per device.
//!
//! All kernels of a plan are in one source, and a call needs the plan for one range of lengths: so it compiles and
//! loads at most one module. A handle that is prepared for several ranges needs a module for each, and makes them in
//! parallel.
//!
//! A call whose kernels are loaded takes no lock that a call with other kernels could hold for longer than a lookup.

use std::{any::TypeId, sync::Arc};

use scan_codegen::{ColumnLayout, KernelSource, OpSource, ShortTable};
use tracing::field::Empty;

use super::{
    CudaDevice,
    any_plan::AnyPlan,
    cubins::{count_hit, cubin},
    loaded::Kernels,
    named,
    ranges::{Range, Ranges, at_once},
    read, write,
};
use crate::{Error, call::Task, erased::Erased, telemetry::timed};

/// Scans with the same key share their kernels on a device. The identity is part of the kernels' text, and whether
/// tables are short.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct KernelsKey {
    operator: TypeId,
    identity: Option<Vec<u8>>,
    tables: Vec<Option<ShortTable>>,
    task: Task,
}

impl KernelsKey {
    fn new(op: &dyn Erased, task: &Task) -> Self {
        let tables = op.parameters().tables().iter().map(|at| at.short).collect();
        KernelsKey { operator: op.id(), identity: op.identity(), tables, task: task.clone() }
    }
}

impl CudaDevice {
    /// The kernels for a task with `op` on `len` elements, compiled and loaded if they are not there yet.
    pub(crate) fn kernels(&self, op: &dyn Erased, task: &Task, len: u64) -> Result<Arc<Kernels>, Error> {
        self.ranges_of(op, task)
            .and_then(|ranges| self.kernels_of(&ranges.operator, ranges.for_len(len)))
            .map_err(named)
    }

    /// The kernels for a scan with `op` along an axis, of columns that lie like this, in arrays that begin at
    /// these addresses.
    pub(crate) fn kernels_of_columns(
        &self,
        op: &dyn Erased,
        task: &Task,
        columns: &ColumnLayout,
        (input, output): (&[u64], &[u64]),
    ) -> Result<Arc<Kernels>, Error> {
        self.ranges_of(op, task)
            .and_then(|ranges| self.kernels_of(&ranges.operator, ranges.for_columns(columns, input, output)))
            .map_err(named)
    }

    /// The same for arrays that begin anywhere, those for the best aligned ones first.
    pub(crate) fn all_kernels_of_columns(
        &self,
        op: &dyn Erased,
        task: &Task,
        columns: &ColumnLayout,
    ) -> Result<Vec<Arc<Kernels>>, Error> {
        let all = || {
            let ranges = self.ranges_of(op, task)?;
            let wanted: Vec<_> = ranges.iter().filter(|range| range.plan.suits(columns, &[], &[])).collect();
            at_once(&wanted, |range| self.kernels_of(&ranges.operator, range))
        };
        all().map_err(named)
    }

    /// The kernels for a task with `op` on up to `max_len` elements, each with the minimum and maximum number of
    /// elements.
    pub(super) fn kernels_up_to(
        &self,
        op: &dyn Erased,
        task: &Task,
        max_len: u64,
    ) -> Result<Vec<(u64, u64, Arc<Kernels>)>, Error> {
        let ranges = self.ranges_of(op, task)?;
        let ends = ranges.longer.iter().map(|next| next.from - 1).chain([u64::MAX]);
        let wanted: Vec<_> = ranges.iter().zip(ends).take_while(|(range, _)| range.from <= max_len).collect();
        let kernels = |&(range, end): &(&Range, u64)| {
            Ok((range.from, end.min(max_len), self.kernels_of(&ranges.operator, range)?))
        };
        let missing = wanted.iter().filter(|(range, _)| range.kernels.get().is_none()).count();
        if missing > 1 { at_once(&wanted, kernels) } else { wanted.iter().map(kernels).collect() }
    }

    pub(super) fn ranges_of(&self, op: &dyn Erased, task: &Task) -> Result<Arc<Ranges>, Error> {
        let key = KernelsKey::new(op, task);
        let known = read(&self.kernels).get(&key).cloned();
        let slot = known.unwrap_or_else(|| write(&self.kernels).entry(key).or_default().clone());
        slot.get_or_make(|| self.ranges(op.checked_source()?, task)).cloned()
    }

    fn kernels_of(
        &self,
        operator: &OpSource,
        Range { plan, kernels: slot, .. }: &Range,
    ) -> Result<Arc<Kernels>, Error> {
        let mut is_new = false;
        let kernels = slot.get_or_make(|| {
            is_new = true;
            let source = plan.render(operator)?;
            let cubin = cubin(&source, &operator.name, plan, self.limits.architecture, &self.stores)?;
            self.load(operator, plan, &source, &cubin)
        })?;
        if !is_new {
            count_hit();
        }
        Ok(kernels.clone())
    }

    /// Loads the kernels of a plan, whose machine code is there.
    pub(super) fn load(
        &self,
        operator: &OpSource,
        plan: &AnyPlan,
        source: &KernelSource,
        cubin: &[u8],
    ) -> Result<Kernels, Error> {
        let _span = timed(tracing::debug_span!(
            "load",
            operator = operator.name,
            bytes = cubin.len(),
            kernels = plan.kernels().len(),
            microseconds = Empty
        ));
        Kernels::load(self, plan.clone(), operator, source, cubin)
    }

    /// Drops the kernels for a task with `op`; those in use stay until they are no longer used.
    pub(crate) fn forget(&self, op: &dyn Erased, task: &Task) {
        let forgotten = write(&self.kernels).remove(&KernelsKey::new(op, task));
        drop(forgotten); // calls the driver, so after the lock is released
    }
}

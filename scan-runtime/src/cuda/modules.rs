//! Compiled kernels: each distinct source is compiled once a process and loaded once a device.
//!
//! All kernels of a plan are in one source, and a call needs the plan for one range of lengths: so it compiles and loads one
//! module at the most. A handle that is prepared for several ranges needs a module for each, and has them made at once.

use std::{
    any::TypeId,
    collections::HashMap,
    ops::AddAssign,
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use cudarc::{
    driver::{CudaFunction, CudaModule, sys},
    nvrtc::Ptx,
};
#[cfg(feature = "tuner")]
use scan_codegen::Tuned;
use scan_codegen::{
    Architecture, DeviceLimits, KernelSource, OpSource, Overrides, Plan, PlanError, Plans, Reduction, ScanSpec,
};
use tracing::{Dispatch, Span, dispatcher, field::Empty};

use super::{CudaDevice, any_plan::AnyPlan, driver_error, lock, named, panics::Panics, workspace::Workspaces};
use crate::{DiskCache, Error, ScanOp, aot::Precompiled, generate, nvrtc, op::checked_source, telemetry::timed, tune};

/// What the process's module cache has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Requests for kernels that were there already, compiled for the same architecture.
    pub hits: u64,
    /// Requests for kernels that were not in this process yet: precompiled, read from disk, or compiled.
    pub misses: u64,
    /// Those that were [precompiled](crate::aot).
    pub precompiled: u64,
    /// Wall time spent in the compiler, summed over all compilations.
    pub compile_time: Duration,
    /// Every module that was compiled, in the order in which the compilations ended.
    pub modules: Vec<CompiledModule>,
    /// What came from the [`DiskCache`], and went there.
    pub disk: DiskStats,
}

/// What a process's scanners have read from and written to their [`DiskCache`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskStats {
    /// Modules that were there.
    pub hits: u64,
    /// Modules that were not, or not whole, and had to be compiled.
    pub misses: u64,
    /// Bytes of machine code that were read.
    pub bytes_read: u64,
    /// Bytes of machine code that were written.
    pub bytes_written: u64,
    /// Wall time of reading and writing.
    pub time: Duration,
}

/// A module that the compiler made in this process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompiledModule {
    /// The operator, and what is scanned in which way: `Largest: inclusive scan, Kogge-Stone blocks, hierarchical`.
    pub name: String,
    /// What it was compiled for.
    pub architecture: Architecture,
    /// Wall time in the compiler. The first compilation of a process includes loading NVRTC.
    pub compile_time: Duration,
    /// Bytes of machine code.
    pub cubin_bytes: usize,
}

/// What several threads may ask for at once: who comes first makes it while the others wait.
pub(super) type Slot<T> = Arc<Mutex<Option<Arc<T>>>>;

/// The cubins of this process, by the hash of everything that goes into one.
#[derive(Default)]
struct Cubins {
    slots: HashMap<blake3::Hash, Slot<Vec<u8>>>,
    stats: CacheStats,
}

static CUBINS: LazyLock<Mutex<Cubins>> = LazyLock::new(Mutex::default);

/// What the process's module cache has done so far.
pub(crate) fn cache_stats() -> CacheStats {
    lock(&CUBINS).stats.clone()
}

/// Where machine code is looked for before the compiler is asked.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    /// What was compiled ahead of time.
    pub(crate) precompiled: Vec<Precompiled>,
    /// Where compiled kernels are kept beyond the process.
    pub(crate) disk: Option<DiskCache>,
    /// Whether there is no NVRTC for what is not precompiled.
    pub(crate) no_compiler: bool,
    /// Whether everything is compiled anew, to PTX: for a device of an older architecture than the one at hand.
    pub(crate) as_ptx: bool,
}

impl Stores {
    /// Whether there is no machine code at all, so that the first call needs the compiler.
    pub(crate) fn are_empty(&self) -> bool {
        let nothing_on_disk = || self.disk.as_ref().is_none_or(|disk| disk.entries().unwrap_or(0) == 0);
        self.precompiled.is_empty() && nothing_on_disk()
    }
}

fn cubin(
    source: &KernelSource,
    operator: &str,
    plan: &AnyPlan,
    architecture: Architecture,
    stores: &Stores,
) -> Result<Arc<Vec<u8>>, Error> {
    let telling = timed(tracing::debug_span!(
        "cubin",
        operator,
        %architecture,
        from = Empty,
        bytes = Empty,
        microseconds = Empty
    ));
    let key = nvrtc::key(source, architecture);
    let key = if stores.as_ptx { blake3::hash(format!("PTX of {key}").as_bytes()) } else { key };
    let slot = lock(&CUBINS).slots.entry(key).or_default().clone();

    // Whoever comes first reads or compiles and holds the slot; the others wait here for the result.
    let mut slot = lock(&slot);
    if let Some(cubin) = &*slot {
        lock(&CUBINS).stats.hits += 1;
        telling.record("from", "process").record("bytes", cubin.len());
        return Ok(cubin.clone());
    }
    let mut precompiled = stores.precompiled.iter().filter(|_| !stores.as_ptx);
    let precompiled = precompiled.find_map(|kernels| kernels.cubin(source, architecture));
    let (cubin, from) = if let Some(cubin) = precompiled {
        let stats = &mut lock(&CUBINS).stats;
        (stats.misses, stats.precompiled) = (stats.misses + 1, stats.precompiled + 1);
        (cubin.to_vec(), "precompiled")
    } else {
        let made = match stores.as_ptx {
            true => {
                let start = Instant::now();
                let compiled = nvrtc::compile_to_ptx(source, operator, architecture);
                compiled.map(|compiled| nvrtc::Cached {
                    cubin: compiled.cubin,
                    compile_time: Some(start.elapsed()),
                    disk: DiskStats::default(),
                })
            }
            false => nvrtc::cached(source, operator, architecture, stores.disk.as_ref()),
        };
        let made = made.map_err(|error| match error {
            Error::NoNvrtc { .. } if !stores.precompiled.is_empty() => {
                Error::NotPrecompiled { name: format!("{operator}: {plan}"), architecture: architecture.to_string() }
            }
            other => other,
        })?;
        let stats = &mut lock(&CUBINS).stats;
        stats.misses += 1;
        stats.disk += made.disk;
        if let Some(compile_time) = made.compile_time {
            stats.compile_time += compile_time;
            stats.modules.push(CompiledModule {
                name: format!("{operator}: {plan}"),
                architecture,
                compile_time,
                cubin_bytes: made.cubin.len(),
            });
        }
        (made.cubin, if made.compile_time.is_some() { "compiler" } else { "disk" })
    };
    telling.record("from", from).record("bytes", cubin.len());
    let cubin = Arc::new(cubin);
    *slot = Some(cubin.clone());
    Ok(cubin)
}

impl AddAssign for DiskStats {
    fn add_assign(&mut self, other: Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.time += other.time;
    }
}

/// What makes two scans share their kernels on a device. The identity is part of the kernels' text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct KernelsKey {
    operator: TypeId,
    identity: Option<Vec<u8>>,
    task: Task,
}

impl KernelsKey {
    fn new<Op: ScanOp>(op: &Op, task: &Task) -> Self {
        let identity = op.identity().as_ref().map(crate::element::bytes_of);
        KernelsKey { operator: TypeId::of::<Op>(), identity, task: task.clone() }
    }
}

/// What kernels are wanted for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    /// A scan.
    Scan(ScanSpec, Overrides),
    /// A reduction, with an initial value or without.
    Reduce(Reduction, bool),
}

/// The plans of a task for all lengths, in the order of these.
#[derive(Debug)]
pub(super) struct Ranges {
    /// What they were made for, and the kernels are made of.
    operator: OpSource,
    shortest: Range,
    longer: Vec<Range>,
}

/// The plan of a task for a range of lengths.
#[derive(Debug)]
struct Range {
    /// The fewest elements that it is for.
    from: u64,
    plan: AnyPlan,
    /// Its kernels, once a call has needed them.
    kernels: Slot<Kernels>,
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
                (Range { from: 0, plan: AnyPlan::Reduction(plan), kernels: Slot::default() }, Vec::new())
            }
        };
        Ok(Ranges { operator, shortest, longer })
    }

    /// Those for a device that is not here.
    fn for_limits(operator: &OpSource, task: &Task, limits: &DeviceLimits) -> Result<Self, Error> {
        let plan = |operator: &_, spec: &_, overrides: &_| generate::plan(operator, spec, limits, overrides);
        Self::new(operator.clone(), task, limits, plan)
    }

    fn iter(&self) -> impl Iterator<Item = &Range> {
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

    fn for_len(&self, len: u64) -> &Range {
        self.longer.iter().rev().find(|range| range.from <= len).unwrap_or(&self.shortest)
    }
}

/// The sources of all kernels that a task may need on a device, whatever the length, with the words for them.
pub(crate) fn sources(
    operator: &OpSource,
    task: &Task,
    limits: &DeviceLimits,
) -> Result<Vec<(String, KernelSource)>, Error> {
    let sources = Ranges::for_limits(operator, task, limits)?.sources()?;
    Ok(sources.into_iter().map(|(plan, source)| (format!("{}: {plan}", operator.name), source)).collect())
}

/// The machine code of all kernels that a task may need on a device, come by as the device would.
pub(crate) fn machine_code(
    operator: &OpSource,
    task: &Task,
    limits: &DeviceLimits,
    stores: &Stores,
) -> Result<Vec<Arc<Vec<u8>>>, Error> {
    let sources = Ranges::for_limits(operator, task, limits)?.sources()?;
    at_once(&sources, |(plan, source)| cubin(source, &operator.name, plan, limits.architecture, stores))
}

/// Does the same with all of the items at once, each on a thread, the first on this one. Results come in the order of the items,
/// and what the threads tell goes where this one's goes.
fn at_once<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Result<R, Error> + Sync) -> Result<Vec<R>, Error> {
    let Some((first, others)) = items.split_first() else { return Ok(Vec::new()) };
    let (work, dispatch, span) = (&work, &dispatcher::get_default(Dispatch::clone), &Span::current());
    thread::scope(|scope| {
        let begin = |item| {
            let told = move || dispatcher::with_default(dispatch, || span.in_scope(|| work(item)));
            (item, thread::Builder::new().name("scan-compile".to_owned()).spawn_scoped(scope, told))
        };
        let threads: Vec<_> = others.iter().map(begin).collect();
        let others = |(item, thread): (_, std::io::Result<thread::ScopedJoinHandle<'_, _>>)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // Where the system has no thread left, this one does it.
            Err(_) => work(item),
        };
        std::iter::once_with(|| work(first)).chain(threads.into_iter().map(others)).collect()
    })
}

impl From<&Plan> for Range {
    fn from(plan: &Plan) -> Self {
        Range { from: plan.from, plan: AnyPlan::Scan(Box::new(plan.clone())), kernels: Slot::default() }
    }
}

/// A plan and its kernels, loaded into a device.
#[derive(Debug)]
pub(crate) struct Kernels {
    pub(super) plan: AnyPlan,
    /// By their roles: so few that looking through them is the quickest.
    functions: Vec<(&'static str, CudaFunction)>,
    /// Bytes of the operator's parameters, which they read.
    pub(super) operator_bytes: usize,
    /// Whether the driver knows launches that begin before what is before them has ended, graphs of them too.
    pub(super) launches_programmatically: bool,
    /// Where they leave marks.
    _panics: Arc<Panics>,
    /// Their number in this process, by which their workspaces are found among
    pub(super) number: u64,
    /// those of the device.
    pub(super) workspaces: Arc<Workspaces>,
}

static KERNELS_LOADED: AtomicU64 = AtomicU64::new(0);

impl Kernels {
    pub(super) fn function(&self, role: &str) -> Option<&CudaFunction> {
        self.functions.iter().find(|(name, _)| *name == role).map(|(_, function)| function)
    }

    /// Has the driver load the kernels' code, which it may otherwise do at the first launch, where a capture forbids it.
    pub(super) fn load_code(&self) -> Result<(), Error> {
        self.functions.iter().try_for_each(|(_, function)| {
            let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS;
            function.get_attribute(attribute).map(drop).map_err(driver_error("loading a kernel"))
        })
    }

    fn load(
        device: &CudaDevice,
        plan: AnyPlan,
        operator: &OpSource,
        source: &KernelSource,
        cubin: &[u8],
    ) -> Result<Self, Error> {
        let module: Arc<CudaModule> =
            device.context.load_module(Ptx::from_binary(cubin.to_vec())).map_err(driver_error("loading a module"))?;
        device.panics.listen(&module, source, &operator.name)?;
        let load = |role| {
            let function = module.load_function(&source.kernel_name(role)).map_err(driver_error("finding a kernel"))?;
            // Beyond what every device grants, the driver wants to be told.
            if let Ok(bytes @ 1..) = i32::try_from(plan.dynamic_shared_bytes(role)) {
                function
                    .set_attribute(sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes)
                    .map_err(driver_error("asking for shared memory"))?;
            }
            Ok((role, function))
        };
        let functions = plan.kernels().iter().copied().map(load).collect::<Result<_, Error>>()?;
        let number = KERNELS_LOADED.fetch_add(1, Ordering::Relaxed);
        Ok(Kernels {
            plan,
            functions,
            operator_bytes: operator.parameters.as_ref().map_or(0, |parameters| parameters.size),
            launches_programmatically: device.launches_programmatically,
            number,
            workspaces: device.workspaces.clone(),
            _panics: device.panics.clone(),
        })
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        self.workspaces.forget(self.number);
    }
}

/// What gives an operator's source, where it is needed at all.
type Source<'a> = &'a (dyn Fn() -> Result<OpSource, Error> + Sync);

impl CudaDevice {
    /// The kernels for a task with `op` on `len` elements, compiled and loaded if they are not there yet.
    pub(crate) fn kernels<Op: ScanOp>(&self, op: &Op, task: Task, len: u64) -> Result<Arc<Kernels>, Error> {
        self.kernels_for(KernelsKey::new(op, &task), &|| checked_source(op), &task, len)
    }

    /// Not compiled anew for every operator; as what follows.
    fn kernels_for(&self, key: KernelsKey, source: Source<'_>, task: &Task, len: u64) -> Result<Arc<Kernels>, Error> {
        self.ranges_of(key, source, task)
            .and_then(|ranges| self.kernels_of(&ranges.operator, ranges.for_len(len)))
            .map_err(named)
    }

    /// The kernels for a task with `op` on up to `max_len` elements, with the fewest elements and the most that each are for.
    pub(super) fn kernels_up_to<Op: ScanOp>(
        &self,
        op: &Op,
        task: &Task,
        max_len: u64,
    ) -> Result<Vec<(u64, u64, Arc<Kernels>)>, Error> {
        self.kernels_for_up_to(KernelsKey::new(op, task), &|| checked_source(op), task, max_len)
    }

    fn kernels_for_up_to(
        &self,
        key: KernelsKey,
        source: Source<'_>,
        task: &Task,
        max_len: u64,
    ) -> Result<Vec<(u64, u64, Arc<Kernels>)>, Error> {
        let ranges = self.ranges_of(key, source, task)?;
        let ends = ranges.longer.iter().map(|next| next.from - 1).chain([u64::MAX]);
        let wanted: Vec<_> = ranges.iter().zip(ends).take_while(|(range, _)| range.from <= max_len).collect();
        let kernels = |&(range, end): &(&Range, u64)| {
            Ok((range.from, end.min(max_len), self.kernels_of(&ranges.operator, range)?))
        };
        let missing = wanted.iter().filter(|(range, _)| lock(&range.kernels).is_none()).count();
        if missing > 1 { at_once(&wanted, kernels) } else { wanted.iter().map(kernels).collect() }
    }

    fn ranges_of(&self, key: KernelsKey, source: Source<'_>, task: &Task) -> Result<Arc<Ranges>, Error> {
        let slot = lock(&self.kernels).entry(key).or_default().clone();
        let mut slot = lock(&slot);
        Ok(match &*slot {
            Some(ranges) => ranges.clone(),
            None => slot.insert(Arc::new(self.ranges(source()?, task)?)).clone(),
        })
    }

    fn kernels_of(
        &self,
        operator: &OpSource,
        Range { plan, kernels: slot, .. }: &Range,
    ) -> Result<Arc<Kernels>, Error> {
        let mut slot = lock(slot);
        if let Some(kernels) = &*slot {
            lock(&CUBINS).stats.hits += 1;
            return Ok(kernels.clone());
        }
        let source = plan.render(operator)?;
        let cubin = cubin(&source, &operator.name, plan, self.limits.architecture, &self.stores)?;
        let telling = timed(tracing::debug_span!(
            "load",
            operator = operator.name,
            bytes = cubin.len(),
            kernels = plan.kernels().len(),
            microseconds = Empty
        ));
        let kernels = Arc::new(Kernels::load(self, plan.clone(), operator, &source, &cubin)?);
        drop(telling);
        *slot = Some(kernels.clone());
        Ok(kernels)
    }

    fn ranges(&self, operator: OpSource, task: &Task) -> Result<Ranges, Error> {
        Ranges::new(operator, task, &self.limits, |operator, spec, overrides| self.plans(operator, spec, overrides))
    }

    /// Lets go of the kernels for a task with `op`; those in use stay until they are no longer.
    #[cfg(feature = "tuner")]
    pub(crate) fn forget<Op: ScanOp>(&self, op: &Op, task: &Task) {
        lock(&self.kernels).remove(&KernelsKey::new(op, task));
    }

    /// The plans of a scan: with what has been tuned for it, where the caller wants nothing in particular.
    pub(crate) fn plans(
        &self,
        operator: &OpSource,
        spec: &ScanSpec,
        overrides: &Overrides,
    ) -> Result<Plans, PlanError> {
        // A tuned shape is none of those that were compiled ahead of time.
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

    /// From now on scans with `op` have this shape, for a range of lengths; whether other processes will hear of it.
    #[cfg(feature = "tuner")]
    pub(crate) fn keep_tuned<Op: ScanOp>(&self, op: &Op, spec: &ScanSpec, new: Tuned) -> bool {
        let entry = self.tuned_entry(&op.source(), spec);
        let kept = self.stores.disk.as_ref().is_some_and(|cache| tune::store(cache, &entry, new));
        tune::replace(lock(&self.tuned).entry(entry).or_default(), new);
        // Planned anew when it is needed next.
        self.forget(op, &Task::Scan(spec.clone(), Overrides::default()));
        kept
    }

    fn tuned_entry(&self, operator: &OpSource, spec: &ScanSpec) -> blake3::Hash {
        tune::entry(&format!("{operator:?}"), &format!("{spec:?}"), &format!("{} {:?}", self.name, self.limits))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use super::*;

    #[test]
    fn stores_without_machine_code_are_empty() {
        let folder = tempfile::tempdir().unwrap();
        let on_disk = || Stores { disk: Some(DiskCache::at(folder.path().join("kernels"))), ..Stores::default() };
        assert!(Stores::default().are_empty());
        assert!(on_disk().are_empty());
        let stores = on_disk();
        assert!(stores.disk.as_ref().unwrap().store(&blake3::hash(b"a kernel"), b"its machine code"));
        assert!(!stores.are_empty());
        assert!(!on_disk().are_empty());
    }
}

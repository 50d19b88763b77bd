//! Compiled kernels: each distinct source is compiled once a process and loaded once a device.

use std::{
    any::TypeId,
    collections::HashMap,
    fmt,
    ops::AddAssign,
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use cudarc::{
    driver::{CudaFunction, CudaModule, sys},
    nvrtc::Ptx,
};
use scan_codegen::{
    Architecture, DeviceLimits, KernelSource, OpSource, Overrides, Plan, Reduction, ReductionPlan, ScanSpec, Schedule,
};

use super::{CudaDevice, driver_error, lock, workspace::Workspaces};
use crate::{DiskCache, Error, ScanOp, nvrtc};

/// What the process's module cache has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Requests for kernels that were there already, compiled for the same architecture.
    pub hits: u64,
    /// Requests for kernels that were not in this process yet: read from disk, or compiled.
    pub misses: u64,
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

fn cubin(
    source: &KernelSource,
    operator: &str,
    plan: &AnyPlan,
    architecture: Architecture,
    cache: Option<&DiskCache>,
) -> Result<Arc<Vec<u8>>, Error> {
    let key = nvrtc::key(source, architecture);
    let slot = lock(&CUBINS).slots.entry(key).or_default().clone();

    // Whoever comes first reads or compiles and holds the slot; the others wait here for the result.
    let mut slot = lock(&slot);
    if let Some(cubin) = &*slot {
        lock(&CUBINS).stats.hits += 1;
        return Ok(cubin.clone());
    }
    let made = nvrtc::cached(source, operator, architecture, cache)?;
    let cubin = Arc::new(made.cubin);
    let stats = &mut lock(&CUBINS).stats;
    stats.misses += 1;
    stats.disk += made.disk;
    if let Some(compile_time) = made.compile_time {
        stats.compile_time += compile_time;
        stats.modules.push(CompiledModule {
            name: format!("{operator}: {plan}"),
            architecture,
            compile_time,
            cubin_bytes: cubin.len(),
        });
    }
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

/// What kernels are wanted for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    /// A scan.
    Scan(ScanSpec, Overrides),
    /// A reduction, with an initial value or without.
    Reduce(Reduction, bool),
}

/// The plan of a task, for a range of lengths.
#[derive(Clone, Debug)]
pub(crate) enum AnyPlan {
    Scan(Plan),
    Reduction(ReductionPlan),
}

impl AnyPlan {
    fn render(&self, operator: &OpSource) -> Result<KernelSource, Error> {
        Ok(match self {
            AnyPlan::Scan(plan) => scan_codegen::render(operator, plan)?,
            AnyPlan::Reduction(plan) => scan_codegen::render_reduction(operator, plan)?,
        })
    }

    fn kernels(&self) -> &'static [&'static str] {
        match self {
            AnyPlan::Scan(plan) => plan.kernels(),
            AnyPlan::Reduction(plan) => plan.kernels(),
        }
    }

    fn dynamic_shared_bytes(&self, kernel: &str) -> u32 {
        match self {
            AnyPlan::Scan(plan) => plan.dynamic_shared_bytes(kernel),
            AnyPlan::Reduction(_) => 0,
        }
    }

    pub(super) fn schedule(&self, len: u64) -> Result<Schedule, Error> {
        Ok(match self {
            AnyPlan::Scan(plan) => plan.schedule(len)?,
            AnyPlan::Reduction(plan) => plan.schedule(len)?,
        })
    }
}

impl fmt::Display for AnyPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyPlan::Scan(plan) => write!(f, "{}, {}", plan.spec, plan.strategy),
            AnyPlan::Reduction(plan) => write!(f, "reduction, {}", plan.reduction),
        }
    }
}

/// The plans of a task for all lengths, in the order of these.
#[derive(Debug)]
pub(super) struct Ranges {
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
    fn new(operator: &OpSource, task: &Task, limits: &DeviceLimits) -> Result<Self, Error> {
        Ok(match task {
            Task::Scan(spec, overrides) => {
                let plans = scan_codegen::plan(operator, spec, limits, overrides)?;
                Ranges { shortest: plans.shortest().into(), longer: plans.longer().iter().map(Range::from).collect() }
            }
            Task::Reduce(reduction, initial_value) => {
                let plan = scan_codegen::plan_reduction(operator, *initial_value, limits, *reduction)?;
                let shortest = Range { from: 0, plan: AnyPlan::Reduction(plan), kernels: Slot::default() };
                Ranges { shortest, longer: Vec::new() }
            }
        })
    }

    fn for_len(&self, len: u64) -> &Range {
        self.longer.iter().rev().find(|range| range.from <= len).unwrap_or(&self.shortest)
    }
}

impl From<&Plan> for Range {
    fn from(plan: &Plan) -> Self {
        Range { from: plan.from, plan: AnyPlan::Scan(plan.clone()), kernels: Slot::default() }
    }
}

/// A plan and its kernels, loaded into a device.
#[derive(Debug)]
pub(crate) struct Kernels {
    pub(super) plan: AnyPlan,
    functions: HashMap<&'static str, CudaFunction>,
    /// Their number in this process, by which their workspaces are found among
    pub(super) number: u64,
    /// those of the device.
    pub(super) workspaces: Arc<Workspaces>,
}

static KERNELS_LOADED: AtomicU64 = AtomicU64::new(0);

impl Kernels {
    pub(super) fn function(&self, role: &str) -> Option<&CudaFunction> {
        self.functions.get(role)
    }

    fn load(device: &CudaDevice, plan: AnyPlan, source: &KernelSource, cubin: &[u8]) -> Result<Self, Error> {
        let context = &device.context;
        let module: Arc<CudaModule> =
            context.load_module(Ptx::from_binary(cubin.to_vec())).map_err(driver_error("loading a module"))?;
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
        Ok(Kernels { plan, functions, number, workspaces: device.workspaces.clone() })
    }
}

impl CudaDevice {
    /// The kernels for a task with `op` on `len` elements, compiled and loaded if they are not there yet.
    pub(crate) fn kernels<Op: ScanOp>(&self, op: &Op, task: Task, len: u64) -> Result<Arc<Kernels>, Error> {
        let key = KernelsKey {
            operator: TypeId::of::<Op>(),
            identity: op.identity().as_ref().map(crate::element::bytes_of),
            task: task.clone(),
        };
        let slot = lock(&self.kernels).entry(key).or_default().clone();
        let ranges = {
            let mut slot = lock(&slot);
            match &*slot {
                Some(ranges) => ranges.clone(),
                None => slot.insert(Arc::new(Ranges::new(&op.source(), &task, &self.limits)?)).clone(),
            }
        };
        let Range { plan, kernels: slot, .. } = ranges.for_len(len);
        let mut slot = lock(slot);
        if let Some(kernels) = &*slot {
            lock(&CUBINS).stats.hits += 1;
            return Ok(kernels.clone());
        }
        let operator = op.source();
        let source = plan.render(&operator)?;
        let cubin = cubin(&source, &operator.name, plan, self.limits.architecture, self.cache.as_ref())?;
        let kernels = Arc::new(Kernels::load(self, plan.clone(), &source, &cubin)?);
        *slot = Some(kernels.clone());
        Ok(kernels)
    }
}

//! Machine code: each distinct source is compiled once per process.
//!
//! The code is looked up in this process, among the kernels compiled ahead of time, and on disk, before it is compiled.

use std::{
    collections::HashMap,
    ops::AddAssign,
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use scan_codegen::{Architecture, KernelSource};
use tracing::field::Empty;

use super::{any_plan::AnyPlan, lock, made::Made};
use crate::{DiskCache, DiskProblem, Error, aot::Precompiled, disk_cache, nvrtc, telemetry::timed};

/// The statistics of the process's module cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Requests for kernels that were in this process already, compiled for the same architecture.
    pub hits: u64,
    /// Requests for kernels that were not in this process yet: precompiled, read from disk, or compiled.
    pub misses: u64,
    /// The misses whose kernels were [precompiled](crate::aot).
    pub precompiled: u64,
    /// Wall time spent in the compiler, summed over all compilations.
    pub compile_time: Duration,
    /// Every module that was compiled, in the order in which the compilations ended.
    pub modules: Vec<CompiledModule>,
    /// The reads and writes of the [`DiskCache`].
    pub disk: DiskStats,
    /// Each folder of a [`DiskCache`] that this process could not use, or not write to, with the reason.
    pub disk_problems: Vec<DiskProblem>,
}

/// The reads and writes of the [`DiskCache`]s of a process's scanners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskStats {
    /// Modules that were in the cache.
    pub hits: u64,
    /// Modules that were missing or damaged, and had to be compiled.
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
    /// The operator and the kind of scan: `Largest: inclusive scan, Kogge-Stone blocks, reduce-then-scan`.
    pub name: String,
    /// The target architecture.
    pub architecture: Architecture,
    /// Wall time in the compiler. The first compilation of a process includes loading NVRTC.
    pub compile_time: Duration,
    /// Bytes of machine code.
    pub cubin_bytes: usize,
}

/// The cubins of this process, by the hash of everything that determines one.
#[derive(Default)]
struct Cubins {
    slots: HashMap<blake3::Hash, Arc<Made<Vec<u8>>>>,
    /// All statistics except the hits and the problems of disk caches.
    stats: CacheStats,
}

static CUBINS: LazyLock<Mutex<Cubins>> = LazyLock::new(Mutex::default);

/// Separate from the other statistics, because every call counts here, and none must wait for another.
static HITS: AtomicU64 = AtomicU64::new(0);

/// Counts a request for kernels that were in this process already.
pub(super) fn count_hit() {
    HITS.fetch_add(1, Ordering::Relaxed);
}

/// The statistics of the process's module cache.
pub(crate) fn cache_stats() -> CacheStats {
    let (hits, disk_problems) = (HITS.load(Ordering::Relaxed), disk_cache::problems());
    CacheStats { hits, disk_problems, ..lock(&CUBINS).stats.clone() }
}

/// Where machine code is looked up before it is compiled.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    /// The kernels compiled ahead of time.
    pub(crate) precompiled: Vec<Precompiled>,
    /// Where compiled kernels are kept after the process ends.
    pub(crate) disk: Option<DiskCache>,
    /// Whether there is no NVRTC for kernels that are not precompiled.
    pub(crate) no_compiler: bool,
    /// Whether everything is compiled again, to PTX, for a device of an older architecture than the actual one.
    pub(crate) as_ptx: bool,
}

impl Stores {
    /// Whether there is no machine code at all, so that the first call needs the compiler.
    pub(crate) fn are_empty(&self) -> bool {
        let nothing_on_disk = || self.disk.as_ref().is_none_or(|disk| disk.entries().unwrap_or(0) == 0);
        self.precompiled.is_empty() && nothing_on_disk()
    }
}

/// What determines the machine code of a source, up to the compiler that makes it.
pub(super) fn key_of(source: &KernelSource, architecture: Architecture, stores: &Stores) -> blake3::Hash {
    let key = nvrtc::key(source, architecture);
    if stores.as_ptx { blake3::hash(format!("PTX of {key}").as_bytes()) } else { key }
}

/// The machine code of a source. Each is made once per process.
pub(super) fn cubin(
    source: &KernelSource,
    operator: &str,
    plan: &AnyPlan,
    architecture: Architecture,
    stores: &Stores,
) -> Result<Arc<Vec<u8>>, Error> {
    let key = key_of(source, architecture, stores);
    once(key, operator, architecture, || make(source, operator, plan, architecture, stores))
}

/// The same of a source that need not be compiled; `None` if it must be.
pub(super) fn stored(
    source: &KernelSource,
    operator: &str,
    architecture: Architecture,
    stores: &Stores,
) -> Result<Option<Arc<Vec<u8>>>, Error> {
    let key = key_of(source, architecture, stores);
    let known = lock(&CUBINS).slots.get(&key).and_then(|slot| slot.get().cloned());
    if known.is_some() {
        return Ok(known);
    }
    let disk = stores.disk.as_ref().filter(|_| !stores.as_ptx);
    let on_disk = || nvrtc::stored_for_device(source, operator, architecture, disk?);
    let found = precompiled(source, architecture, stores)
        .or_else(|| Some(counted(on_disk()?, architecture, || operator.to_owned())));
    found.map(|found| once(key, operator, architecture, || Ok(found))).transpose()
}

/// Machine code, made by `make` unless this process has it.
fn once(
    key: blake3::Hash,
    operator: &str,
    architecture: Architecture,
    make: impl FnOnce() -> Result<(Vec<u8>, &'static str), Error>,
) -> Result<Arc<Vec<u8>>, Error> {
    let span = timed(tracing::debug_span!(
        "cubin",
        operator,
        %architecture,
        from = Empty,
        bytes = Empty,
        microseconds = Empty
    ));
    let slot = lock(&CUBINS).slots.entry(key).or_default().clone();
    let mut from = "process";
    let cubin = slot.get_or_make(|| {
        let (cubin, maker) = make()?;
        from = maker;
        Ok(cubin)
    })?;
    if from == "process" {
        count_hit();
    }
    span.record("from", from).record("bytes", cubin.len());
    Ok(cubin.clone())
}

/// Machine code that was compiled ahead of time, and that origin.
fn precompiled(source: &KernelSource, architecture: Architecture, stores: &Stores) -> Option<(Vec<u8>, &'static str)> {
    let mut precompiled = stores.precompiled.iter().filter(|_| !stores.as_ptx);
    let cubin = precompiled.find_map(|kernels| kernels.cubin(source, architecture))?;
    let stats = &mut lock(&CUBINS).stats;
    (stats.misses, stats.precompiled) = (stats.misses + 1, stats.precompiled + 1);
    Some((cubin.to_vec(), "precompiled"))
}

/// Machine code that this process does not have yet, and its origin.
fn make(
    source: &KernelSource,
    operator: &str,
    plan: &AnyPlan,
    architecture: Architecture,
    stores: &Stores,
) -> Result<(Vec<u8>, &'static str), Error> {
    if let Some(found) = precompiled(source, architecture, stores) {
        return Ok(found);
    }
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
        false => nvrtc::cached_for_device(source, operator, architecture, stores.disk.as_ref()),
    };
    let made = made.map_err(|error| match error {
        Error::NoNvrtc { .. } if !stores.precompiled.is_empty() => {
            Error::NotPrecompiled { name: format!("{operator}: {plan}"), architecture: architecture.to_string() }
        }
        other => other,
    })?;
    Ok(counted(made, architecture, || format!("{operator}: {plan}")))
}

/// Counts machine code that was compiled or read, and gives it with its origin.
fn counted(made: nvrtc::Cached, architecture: Architecture, name: impl FnOnce() -> String) -> (Vec<u8>, &'static str) {
    let stats = &mut lock(&CUBINS).stats;
    stats.misses += 1;
    stats.disk += made.disk;
    let Some(compile_time) = made.compile_time else { return (made.cubin, "disk") };
    stats.compile_time += compile_time;
    let cubin_bytes = made.cubin.len();
    stats.modules.push(CompiledModule { name: name(), architecture, compile_time, cubin_bytes });
    (made.cubin, "compiler")
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

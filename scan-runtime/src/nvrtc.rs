//! NVRTC, CUDA's run-time compiler: finding it, and compiling a kernel source to a cubin.
//!
//! Compiling needs no GPU and no driver, only the library. These places are searched, in this order: the variable
//! `SCAN_NVRTC` (the library itself, or the folder it is in; `off` disables the search), the toolkit that `CUDA_HOME`
//! or `CUDA_PATH` name, the toolkit's usual places, Python's site-packages (where `pip install nvidia-cuda-nvrtc` puts
//! it), and last the search path of the system's loader. Compiled kernels can be kept on disk for other processes:
//! [`cached`]. Machines without NVRTC run kernels compiled [ahead of time](crate::aot).
//!
//! A device that is later than NVRTC knows runs code of an earlier architecture: machine code of its own major number,
//! which it executes, else PTX, which the driver compiles. A warning says so. A driver that is older than NVRTC loads its
//! machine code where both are of one major version of CUDA; else [`Error::DriverOlder`] says which of the two to change.
//!
//! A process that ends while another thread compiles waits for that thread, for a minute at most: it would crash
//! otherwise. After that nothing is compiled any more; a thread that still asks for it gets [`Error::NvrtcUnusable`].

mod at_exit;
mod library;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Mutex, Once, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, UNIX_EPOCH},
};

use at_exit::Use;
pub(crate) use at_exit::{Making, is_ending};
pub use library::NvrtcError;
use library::{NAMES, Nvrtc, by_name};
use scan_codegen::{Architecture, KernelSource};
use tracing::field::Empty;

use crate::{
    DiskCache, DiskStats, Error,
    disk_cache::Key,
    search::Search,
    telemetry::{compiled, compiling, timed},
};

/// The environment variable that names the NVRTC library, or the folder it is in. If it is `off`, NVRTC is not searched
/// for.
pub const LIBRARY_VARIABLE: &str = "SCAN_NVRTC";

/// The command that installs NVRTC through Python.
pub const INSTALL_COMMAND: &str = "python3 -m pip install 'nvidia-cuda-nvrtc>=13.0,<13.1'";

const SEARCH: Search =
    Search { variable: LIBRARY_VARIABLE, names: &NAMES, packages: &["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"] };

/// The first version of NVRTC that is known to have the option `--minimal`.
const SINCE_MINIMAL: (u32, u32) = (13, 0);

/// Where NVRTC was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// At this path.
    File(PathBuf),
    /// In the search path of the system's loader.
    Loader,
}

/// A place where NVRTC is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The folder, or the library itself where `SCAN_NVRTC` names it.
    pub path: PathBuf,
    /// The library found there.
    pub library: Option<PathBuf>,
}

/// Finds NVRTC without loading it. The error lists every place that was searched.
///
/// # Errors
///
/// [`Error::NoNvrtc`].
pub fn locate() -> Result<Location, Error> {
    if SEARCH.is_turned_off() {
        return Err(Error::NoNvrtc { searched: Vec::new() });
    }
    if let Some(file) = SEARCH.folders().find_map(|folder| SEARCH.library_in(&folder)) {
        return Ok(Location::File(file));
    }
    match by_name() {
        Some(_) => Ok(Location::Loader),
        None => Err(Error::NoNvrtc { searched: SEARCH.folders().collect() }),
    }
}

/// Every place where NVRTC is searched for, in order, and the library found there. The first library is used. If there
/// is none, the system's loader searches.
pub fn places() -> Vec<Place> {
    if SEARCH.is_turned_off() {
        return Vec::new();
    }
    SEARCH.folders().map(|path| Place { library: SEARCH.library_in(&path), path }).collect()
}

/// The loaded library, once per process. A failure is not kept, because NVRTC may be installed meanwhile.
static LOADED: Mutex<Option<&'static Nvrtc>> = Mutex::new(None);

/// Whether this process has loaded NVRTC. It does so when something must be compiled, and not before.
pub fn is_loaded() -> bool {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

fn load() -> Result<&'static Nvrtc, Error> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(nvrtc) = *loaded {
        return Ok(nvrtc);
    }
    let span = timed(tracing::debug_span!("load_nvrtc", library = Empty, microseconds = Empty));
    let _compiling = compiling();
    let location = locate()?;
    match &location {
        Location::File(path) => span.record("library", tracing::field::display(path.display())),
        Location::Loader => span.record("library", "where the loader looks"),
    };
    let nvrtc = using(|| Nvrtc::load(&location))?;
    at_exit::register();
    Ok(*loaded.insert(Box::leak(Box::new(nvrtc))))
}

/// Uses NVRTC; the [end of the process](at_exit) waits for it.
fn using<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let Some(_use) = Use::begin() else {
        let path = match locate()? {
            Location::File(path) => path,
            Location::Loader => PathBuf::from(NAMES[0]),
        };
        return Err(Error::NvrtcUnusable { path, reason: "the process is ending".to_owned(), source: None });
    };
    work()
}

/// The version of the NVRTC that is found, as (major, minor).
///
/// # Errors
///
/// [`Error::NoNvrtc`], [`Error::NvrtcUnusable`] and [`Error::Nvrtc`].
pub fn version() -> Result<(u32, u32), Error> {
    let nvrtc = load()?;
    using(|| nvrtc.version())
}

/// The architectures that the NVRTC that is found compiles for, oldest first.
///
/// # Errors
///
/// Those of [`version`].
pub fn architectures() -> Result<Vec<Architecture>, Error> {
    let nvrtc = load()?;
    let mut architectures = using(|| nvrtc.architectures())?;
    architectures.sort();
    Ok(architectures)
}

/// The key that identifies a cubin, up to the compiler that makes it. It leaves out `#line` directives, which affect
/// only the compiler's messages: so adding a line above an operator does not compile its kernels again.
pub(crate) fn key(source: &KernelSource, architecture: Architecture) -> Key {
    let mut hasher = blake3::Hasher::new();
    let options = source.options.join("\0");
    for part in [&source.name, &options, &architecture.to_string()] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    for line in source.text.split_inclusive('\n').filter(|line| !line.starts_with("#line ")) {
        hasher.update(line.as_bytes());
    }
    hasher.finalize()
}

/// A cubin, and how it was obtained.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cached {
    /// The machine code, for exactly one architecture.
    pub cubin: Vec<u8>,
    /// Wall time in the compiler; `None` if the cubin was on disk.
    pub compile_time: Option<Duration>,
    /// The reads and writes of the disk cache.
    pub disk: DiskStats,
}

/// What an entry of the cache is: machine code of the architecture in its key, or what a device of that architecture
/// executes where NVRTC does not compile for it.
const EXACT: &str = "cubin";
const EARLIER: &str = "code of an earlier architecture";

/// The cubin of a source, from the cache if it is there, without loading NVRTC. Otherwise it is [compiled](compile) and
/// stored.
///
/// # Errors
///
/// [`Error::NoNvrtc`] if there is no NVRTC: its version is part of the key of a cached cubin. Otherwise those of
/// [`compile`]. A cache that cannot be read or written is not an error.
pub fn cached(
    source: &KernelSource,
    operator: &str,
    architecture: Architecture,
    cache: Option<&DiskCache>,
) -> Result<Cached, Error> {
    let compile = || Ok((compile(source, operator, architecture)?.cubin, EXACT));
    obtain((source, operator, architecture), cache, &[EXACT], compile)
}

/// As [`cached`], for a device of an architecture that NVRTC may not know yet. In that case it gives code of an earlier
/// architecture, which the device executes or the driver compiles.
#[doc(hidden)]
pub fn cached_for_device(
    source: &KernelSource,
    operator: &str,
    device: Architecture,
    cache: Option<&DiskCache>,
) -> Result<Cached, Error> {
    let compile = || {
        let target = target_for(device)?;
        let code = compile_to(target, source, operator)?.cubin;
        Ok((code, if target == Target::Cubin(device) { EXACT } else { EARLIER }))
    };
    obtain((source, operator, device), cache, &[EXACT, EARLIER], compile)
}

/// The code for a device that a cache has; `None` where it must be compiled. NVRTC is not loaded to learn its version,
/// unless the system's loader finds it: then the cache does not know it.
pub(crate) fn stored_for_device(
    source: &KernelSource,
    operator: &str,
    device: Architecture,
    cache: &DiskCache,
) -> Option<Cached> {
    let start = Instant::now();
    let span = timed(tracing::debug_span!("read_cache", operator, hit = Empty, bytes = Empty, microseconds = Empty));
    let version = match locate().ok()? {
        Location::File(path) => known_version(cache, &version_entry(&path)?)?,
        Location::Loader => version().ok()?,
    };
    let key = key(source, device);
    let cubin = [EXACT, EARLIER].iter().find_map(|kind| cache.load(&entry_of(&key, version, kind)));
    span.record("hit", cubin.is_some()).record("bytes", cubin.as_ref().map_or(0, Vec::len));
    let cubin = cubin?;
    let disk = DiskStats { hits: 1, bytes_read: cubin.len() as u64, time: start.elapsed(), ..DiskStats::default() };
    Some(Cached { cubin, compile_time: None, disk })
}

/// The name of the entry of this kind, of the source with this [key].
fn entry_of(key: &Key, (major, minor): (u32, u32), kind: &str) -> Key {
    blake3::hash(format!("{kind} of {key} by NVRTC {major}.{minor}").as_bytes())
}

/// An entry of one of these kinds from the cache, or else what `compile` gives, with its kind.
fn obtain(
    (source, operator, architecture): (&KernelSource, &str, Architecture),
    cache: Option<&DiskCache>,
    kinds: &[&'static str],
    compile: impl FnOnce() -> Result<(Vec<u8>, &'static str), Error>,
) -> Result<Cached, Error> {
    let mut disk = DiskStats::default();
    let mut entry = None;
    // Until the entry is stored.
    let mut turn = None;
    if let Some(cache) = cache {
        let start = Instant::now();
        let span =
            timed(tracing::debug_span!("read_cache", operator, hit = Empty, bytes = Empty, microseconds = Empty));
        let version = version_by(cache)?;
        let key = key(source, architecture);
        let key = move |kind: &str| entry_of(&key, version, kind);
        let find = || kinds.iter().find_map(|kind| cache.load(&key(kind)));
        // What is not there may be there once this process has its turn.
        let found = find().or_else(|| {
            turn = cache.turn(&key(EXACT));
            turn.as_ref().and_then(|_| find())
        });
        disk.time = start.elapsed();
        span.record("hit", found.is_some()).record("bytes", found.as_ref().map_or(0, Vec::len));
        if let Some(cubin) = found {
            (disk.hits, disk.bytes_read) = (1, cubin.len() as u64);
            return Ok(Cached { cubin, compile_time: None, disk });
        }
        disk.misses = 1;
        entry = Some((cache, key));
    }
    let start = Instant::now();
    let (cubin, kind) = compile()?;
    let compile_time = Some(start.elapsed());
    if let Some((cache, key)) = entry {
        let start = Instant::now();
        let bytes = cubin.len();
        let span = timed(tracing::debug_span!("write_cache", operator, bytes, stored = Empty, microseconds = Empty));
        let stored = cache.store(&key(kind), &cubin);
        span.record("stored", stored);
        if stored {
            disk.bytes_written = bytes as u64;
        }
        disk.time += start.elapsed();
    }
    Ok(Cached { cubin, compile_time, disk })
}

/// The version of the NVRTC that is found. The cache stores the version of each library file, which saves loading the
/// library (a quarter of a second).
fn version_by(cache: &DiskCache) -> Result<(u32, u32), Error> {
    let Location::File(path) = locate()? else { return version() };
    let Some(key) = version_entry(&path) else { return version() };
    if let Some(version) = known_version(cache, &key) {
        return Ok(version);
    }
    let turn = cache.turn(&key);
    if let Some(version) = turn.as_ref().and_then(|_| known_version(cache, &key)) {
        return Ok(version);
    }
    let (major, minor) = version()?;
    cache.store(&key, &[major.to_le_bytes(), minor.to_le_bytes()].concat());
    Ok((major, minor))
}

/// The entry that holds the version of the library at a path.
fn version_entry(path: &Path) -> Option<Key> {
    let (path, metadata) = (path.canonicalize().ok()?, path.metadata().ok()?);
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(blake3::hash(format!("version of {} {} {modified:?}", path.display(), metadata.len()).as_bytes()))
}

/// The version that an entry holds.
fn known_version(cache: &DiskCache, entry: &Key) -> Option<(u32, u32)> {
    let [a, b, c, d, e, f, g, h] = <[u8; 8]>::try_from(cache.load(entry)?).ok()?;
    Some((u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])))
}

/// Loads the compiler and sets it up for a device. The first kernel that it compiles in a process takes a few hundredths
/// of a second more than the next, even if it is empty.
pub(crate) fn warm_up(device: Architecture) -> Result<(), Error> {
    let target = target_for(device)?;
    let _span = timed(tracing::debug_span!("warm_up_nvrtc", architecture = %target, microseconds = Empty));
    let text = "extern \"C\" __global__ void nothing() {}\n";
    let (nvrtc, _compiling) = (load()?, compiling());
    using(|| target.of(&nvrtc.translate((text, "nothing.cu"), &[], "nothing", &target.to_string())?))?;
    has_compiled();
    Ok(())
}

/// Whether NVRTC has compiled in this process, and so made all objects that live until the end of the process.
static IS_SET_UP: AtomicBool = AtomicBool::new(false);

fn has_compiled() {
    at_exit::register();
    IS_SET_UP.store(true, Ordering::Release);
}

/// Loads the compiler and sets it up, if this process has not compiled yet. From then on the process may end while
/// another thread compiles.
pub(crate) fn set_up(device: Architecture) -> Result<(), Error> {
    if IS_SET_UP.load(Ordering::Acquire) { Ok(()) } else { warm_up(device) }
}

/// What a source is compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// Machine code of this architecture. Devices of the same major number and a later minor one execute it, too.
    Cubin(Architecture),
    /// PTX of this architecture, which the driver compiles for any later one.
    Ptx(Architecture),
}

impl Target {
    /// The target for a device, by a compiler of these architectures; `None` if all of them are later than the device's.
    ///
    /// Every NVRTC since CUDA 12.0 compiles for `sm_90`, and kernels planned for later devices use nothing that it
    /// lacks.
    fn for_device(device: Architecture, compiled_for: &[Architecture]) -> Option<Self> {
        let latest = compiled_for.iter().copied().filter(|architecture| *architecture <= device).max()?;
        Some(if latest.major == device.major { Target::Cubin(latest) } else { Target::Ptx(latest) })
    }

    /// A program's code for this target.
    fn of(self, program: &library::Program<'_>) -> Result<Vec<u8>, Error> {
        match self {
            Target::Cubin(_) => program.cubin(),
            Target::Ptx(_) => program.ptx(),
        }
    }
}

/// As in NVRTC's option.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Cubin(architecture) => write!(f, "{architecture}"),
            Target::Ptx(Architecture { major, minor }) => write!(f, "compute_{major}{minor}"),
        }
    }
}

fn target_for(device: Architecture) -> Result<Target, Error> {
    static WARNED: Once = Once::new();
    let compiled_for = architectures()?;
    let target = Target::for_device(device, &compiled_for).ok_or_else(|| not_compiled_for(device, &compiled_for))?;
    if target != Target::Cubin(device) {
        WARNED.call_once(|| {
            tracing::warn!(
                %device,
                %target,
                "NVRTC does not compile for the device, which runs code of an earlier architecture; install a later NVRTC"
            );
        });
    }
    Ok(target)
}

fn not_compiled_for(architecture: Architecture, compiled_for: &[Architecture]) -> Error {
    let version = version().unwrap_or_default();
    Error::NvrtcArchitecture { version, architecture, compiled_for: compiled_for.to_vec() }
}

/// The result of a compilation by NVRTC.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compiled {
    /// The machine code, for exactly one architecture.
    pub cubin: Vec<u8>,
    /// The compiler's warnings; usually empty.
    pub log: String,
}

/// Compiles a source to a cubin. `operator` is named in the error if NVRTC rejects it.
///
/// # Errors
///
/// [`Error::NvrtcArchitecture`] if NVRTC does not compile for the architecture, [`Error::Compile`] if it rejects the
/// source, and those of [`version`].
pub fn compile(source: &KernelSource, operator: &str, architecture: Architecture) -> Result<Compiled, Error> {
    let compiled_for = architectures()?;
    if !compiled_for.contains(&architecture) {
        return Err(not_compiled_for(architecture, &compiled_for));
    }
    compile_to(Target::Cubin(architecture), source, operator)
}

/// As [`compile`], but to PTX, which the driver compiles for this architecture or a newer one. It ends in a zero byte.
#[doc(hidden)]
pub fn compile_to_ptx(source: &KernelSource, operator: &str, architecture: Architecture) -> Result<Compiled, Error> {
    compile_to(Target::Ptx(architecture), source, operator)
}

fn compile_to(target: Target, source: &KernelSource, operator: &str) -> Result<Compiled, Error> {
    let nvrtc = load()?;
    let span = timed(tracing::debug_span!(
        "compile",
        operator,
        architecture = %target,
        source_bytes = source.text.len(),
        cubin_bytes = Empty,
        microseconds = Empty
    ));
    let _compiling = compiling();
    let code = using(|| {
        let program = nvrtc.translate((&source.text, &source.name), &source.options, operator, &target.to_string())?;
        Ok(Compiled { log: program.log()?, cubin: target.of(&program)? })
    })?;
    has_compiled();
    span.record("cubin_bytes", code.cubin.len());
    compiled();
    Ok(code)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use std::{collections::HashSet, env};

    use super::*;

    fn architectures(numbers: &[u32]) -> Vec<Architecture> {
        numbers.iter().map(|number| Architecture { major: number / 10, minor: number % 10 }).collect()
    }

    #[test]
    fn a_device_takes_machine_code_of_its_major_number_else_ptx_of_an_earlier_one() {
        // Those of CUDA 12.0, in any order.
        let compiled_for = architectures(&[90, 75, 80, 89, 86]);
        for (device, target) in [
            (75, Some("sm_75")),
            (86, Some("sm_86")),
            (88, Some("sm_86")),
            (90, Some("sm_90")),
            (91, Some("sm_90")),
            (100, Some("compute_90")),
            (120, Some("compute_90")),
            (72, None),
        ] {
            let device = architectures(&[device])[0];
            let found = Target::for_device(device, &compiled_for).map(|target| target.to_string());
            assert_eq!(found.as_deref(), target, "{device}");
        }
    }

    /// A name, an option, the architecture and the text are in the key, each with its length; what only moves the
    /// compiler's messages is not.
    #[test]
    fn keys_have_every_part_of_a_source() {
        let source = crate::Scanner::cpu().scan(crate::ops::sum::<i32>()).cuda_source().unwrap();
        let with = |name: &str, options: &[&'static str], text: &str| {
            let mut source = source.clone();
            (source.name, source.options, source.text) = (name.to_owned(), options.to_vec(), text.to_owned());
            source
        };
        let [old, new] = [architectures(&[80])[0], architectures(&[90])[0]];
        let keys = [
            (with("ab", &["c"], "d\n"), old),
            (with("ab", &["c"], "d\n"), new),
            (with("a", &["bc"], "d\n"), old),
            (with("ab", &["c", ""], "d\n"), old),
            (with("ab", &["c"], "dd\n"), old),
            (with("b", &["c"], "d\n"), old),
            (with("ab", &["cc"], "d\n"), old),
        ]
        .map(|(source, architecture)| key(&source, architecture));
        assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
        assert_eq!(key(&with("ab", &["c"], "#line 7 \"ab\"\nd\n"), old), keys[0]);
    }

    /// The place of the folder tree of a child, whose variables lead there.
    const ROOT: &str = "SCAN_TESTS_ROOT_OF_PLACES";

    #[test]
    fn places_that_variables_name_are_searched() {
        const VARIABLES: [&str; 5] = ["CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONUSERBASE"];
        if let Some(root) = env::var_os(ROOT).map(PathBuf::from) {
            let found: Vec<_> = places().into_iter().map(|place| place.path).collect();
            let packages = |variable: &str| root.join(variable).join("lib/python3.12/site-packages/nvidia/cu13/lib");
            let expected = VARIABLES[..2].iter().map(|variable| root.join(variable).join("lib64"));
            let expected = expected.chain(VARIABLES[2..].iter().map(|variable| packages(variable)));
            let expected = expected.chain([".local", "python"].map(packages)).chain([root.join("loaded")]);
            let places: Vec<_> = expected.map(|path| (found.iter().position(|found| *found == path), path)).collect();
            assert!(places.is_sorted() && places[0].0.is_some(), "{places:?} in {found:?}");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for prefix in VARIABLES[2..].iter().chain(&[".local", "python"]) {
            std::fs::create_dir_all(root.join(prefix).join("lib/python3.12")).unwrap();
        }
        std::fs::create_dir_all(root.join("python/bin")).unwrap();
        std::fs::write(root.join("python/bin/python3"), "").unwrap();
        let mut child = std::process::Command::new(env::current_exe().unwrap());
        child.args(["--exact", "nvrtc::tests::places_that_variables_name_are_searched"]).env(ROOT, root);
        child.envs(VARIABLES.map(|variable| (variable, root.join(variable)))).env_remove(LIBRARY_VARIABLE);
        child.env("HOME", root).env("PATH", root.join("python/bin")).env("LD_LIBRARY_PATH", root.join("loaded"));
        let output = child.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

//! NVRTC, CUDA's run-time compiler: finding it, and compiling a kernel source to a cubin.
//!
//! Compiling needs no GPU and no driver, only the library. These places are searched, in this order: the variable
//! `SCAN_NVRTC` (the library itself, or the folder it is in; `off` disables the search), the toolkit that `CUDA_HOME`
//! or `CUDA_PATH` name, the toolkit's usual places, Python's site-packages (where `pip install nvidia-cuda-nvrtc` puts
//! it), and last the search path of the system's loader. Compiled kernels can be kept on disk for other processes:
//! [`cached`]. Machines without NVRTC run kernels compiled [ahead of time](crate::aot).

use std::{
    collections::HashSet,
    env,
    env::consts::ARCH,
    ffi::{CString, OsStr, c_char, c_int},
    mem,
    path::{Path, PathBuf},
    ptr,
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::{Duration, Instant, UNIX_EPOCH},
};

use cudarc::nvrtc::{result::NvrtcError, sys};
use scan_codegen::{Architecture, KernelSource};
use tracing::field::Empty;

use crate::{DiskCache, DiskStats, Error, disk_cache::Key, telemetry::timed};

/// The environment variable that names the NVRTC library, or the folder it is in. If it is `off`, NVRTC is not searched
/// for.
pub const LIBRARY_VARIABLE: &str = "SCAN_NVRTC";

/// The command that installs NVRTC through Python.
pub const INSTALL_COMMAND: &str = "python3 -m pip install 'nvidia-cuda-nvrtc>=13.0,<13.1'";

/// The library's file names, newest first.
const LIBRARY_NAMES: [&str; 2] = ["libnvrtc.so.13", "libnvrtc.so.12"];

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
    if is_turned_off() {
        return Err(Error::NoNvrtc { searched: Vec::new() });
    }
    if let Some(file) = folders().find_map(|folder| library_in(&folder)) {
        return Ok(Location::File(file));
    }
    // SAFETY: loading NVRTC runs its initialisers, which do nothing but set it up.
    if unsafe { sys::is_culib_present() } {
        return Ok(Location::Loader);
    }
    Err(Error::NoNvrtc { searched: folders().collect() })
}

/// Every place where NVRTC is searched for, in order, and the library found there. The first library is used. If there
/// is none, the system's loader searches.
pub fn places() -> Vec<Place> {
    if is_turned_off() {
        return Vec::new();
    }
    folders().map(|path| Place { library: library_in(&path), path }).collect()
}

fn is_turned_off() -> bool {
    env::var_os(LIBRARY_VARIABLE).is_some_and(|value| value == "off")
}

/// The library that a path names: the path itself if it is a file, else the newest one in the folder.
fn library_in(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    LIBRARY_NAMES.iter().map(|name| path.join(name)).find(|file| file.is_file())
}

/// Every place to search, in order. Each kind is listed only after all before it had no library, because some take
/// long.
fn folders() -> impl Iterator<Item = PathBuf> {
    let kinds: [fn() -> Vec<PathBuf>; 4] = [named, of_system, of_pythons, of_loader];
    let mut seen = HashSet::new();
    kinds.into_iter().flat_map(|kind| kind()).filter(move |folder| seen.insert(folder.clone()))
}

/// The places that the user's variables name.
fn named() -> Vec<PathBuf> {
    let mut folders: Vec<_> =
        env::var_os(LIBRARY_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from).into_iter().collect();
    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        folders.extend(env::var_os(variable).into_iter().flat_map(|home| in_toolkit(Path::new(&home))));
    }
    folders
}

/// The places where toolkits and distributions put it.
fn of_system() -> Vec<PathBuf> {
    let mut folders = Vec::from(in_toolkit(Path::new("/usr/local/cuda")));
    folders.push(format!("/usr/lib/{ARCH}-linux-gnu").into());
    folders.extend(["/usr/lib64", "/usr/lib"].map(PathBuf::from));
    folders
}

/// The package folders of every Python that the user probably means.
fn of_pythons() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for variable in ["VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONUSERBASE"] {
        folders.extend(env::var_os(variable).into_iter().flat_map(|prefix| in_python(Path::new(&prefix))));
    }
    if let Some(home) = env::home_dir() {
        folders.extend(in_python(&home.join(".local")));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let binaries = env::split_paths(&path).filter(|folder| folder.join("python3").is_file());
    folders.extend(binaries.flat_map(|folder| prefixes(&folder)).flat_map(|prefix| in_python(&prefix)));
    for prefix in ["/usr/local", "/usr"] {
        folders.extend(in_python(Path::new(prefix)));
    }
    folders
}

/// The folders that the system's loader is configured to search. Here the library is found by its path, without loading
/// it.
fn of_loader() -> Vec<PathBuf> {
    let path = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let mut folders: Vec<_> = env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    let more = Path::new("/etc/ld.so.conf.d").read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    for file in std::iter::once("/etc/ld.so.conf".into()).chain(more) {
        let lines = std::fs::read_to_string(file).unwrap_or_default();
        folders.extend(lines.lines().map(str::trim).filter(|line| line.starts_with('/')).map(PathBuf::from));
    }
    folders
}

fn in_toolkit(home: &Path) -> [PathBuf; 2] {
    // NVIDIA's name for servers with 64-bit Arm processors.
    let target = if ARCH == "aarch64" { "sbsa" } else { ARCH };
    [home.join("lib64"), home.join(format!("targets/{target}-linux/lib"))]
}

/// The prefixes of the Pythons that a folder's `python3` may start: the folder's own prefix, that of the link's target,
/// and those below the folder of a version manager (pyenv, asdf, mise), whose `shims` start one of several.
fn prefixes(binaries: &Path) -> Vec<PathBuf> {
    let target = binaries.join("python3").canonicalize().ok();
    let linked = target.as_deref().and_then(Path::parent);
    let mut prefixes: Vec<_> = [Some(binaries), linked].into_iter().flatten().filter_map(Path::parent).collect();
    prefixes.dedup();
    let mut prefixes: Vec<_> = prefixes.into_iter().map(Path::to_owned).collect();
    if let (true, Some(manager)) = (binaries.ends_with("shims"), binaries.parent()) {
        for versions in ["versions", "installs/python"] {
            let versions = manager.join(versions).read_dir().into_iter().flatten().flatten();
            prefixes.extend(versions.map(|version| version.path()));
        }
    }
    prefixes
}

/// The folders of NVIDIA's packages in the site-packages of every Python 3 below a prefix.
fn in_python(prefix: &Path) -> Vec<PathBuf> {
    let is_python = |name: &OsStr| name.to_string_lossy().starts_with("python3");
    let Ok(entries) = prefix.join("lib").read_dir() else { return Vec::new() };
    let mut pythons: Vec<_> =
        entries.flatten().filter(|entry| is_python(&entry.file_name())).map(|entry| entry.path()).collect();
    pythons.sort();
    pythons
        .iter()
        .flat_map(|python| [python.join("site-packages"), python.join("dist-packages")])
        .flat_map(|packages| [packages.join("nvidia/cu13/lib"), packages.join("nvidia/cuda_nvrtc/lib")])
        .collect()
}

/// The functions of the library that are called.
#[cfg(unix)]
const FUNCTIONS: [&str; 10] = [
    "nvrtcVersion",
    "nvrtcCreateProgram",
    "nvrtcCompileProgram",
    "nvrtcGetProgramLogSize",
    "nvrtcGetProgramLog",
    "nvrtcGetCUBINSize",
    "nvrtcGetCUBIN",
    "nvrtcGetPTXSize",
    "nvrtcGetPTX",
    "nvrtcDestroyProgram",
];

/// Loads the library at `path` for the rest of the process, so that cudarc, which asks the loader by name, gets this one.
fn keep_loaded(path: &Path) -> Result<(), Error> {
    #[cfg(unix)]
    {
        use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
        let open = |path: &Path| {
            // SAFETY: these are NVIDIA's libraries, whose initialisers do nothing but set them up.
            unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.map(mem::ManuallyDrop::new)
        };
        let builtins = path.parent().into_iter().flat_map(|folder| folder.read_dir().into_iter().flatten()).flatten();
        let builtins = builtins
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("libnvrtc-builtins.so"))
            .map(|entry| entry.path());
        for library in builtins {
            // If NVRTC needs them and they do not load, NVRTC itself reports it.
            let _ = open(&library);
        }
        let unusable = |reason: &str, error| Error::NvrtcUnusable {
            path: path.to_owned(),
            reason: reason.to_owned(),
            source: Some(Arc::new(error)),
        };
        let library = open(path).map_err(|error| unusable("it does not load", error))?;
        for function in FUNCTIONS {
            // cudarc would panic at the call of a missing one.
            // SAFETY: the pointer is not called through this type.
            unsafe { library.get::<*const ()>(function.as_bytes()) }
                .map_err(|error| unusable(&format!("it has no `{function}`"), error))?;
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// The loaded library, once per process. A failure is not kept, because NVRTC may be installed meanwhile.
static LOADED: LazyLock<Mutex<Option<Location>>> = LazyLock::new(Mutex::default);

/// Whether this process has loaded NVRTC. It does so when something must be compiled, and not before.
pub fn is_loaded() -> bool {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

fn load() -> Result<Location, Error> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(location) = &*loaded {
        return Ok(location.clone());
    }
    let span = timed(tracing::debug_span!("load_nvrtc", library = Empty, microseconds = Empty));
    let location = locate()?;
    match &location {
        Location::File(path) => span.record("library", tracing::field::display(path.display())),
        Location::Loader => span.record("library", "where the loader looks"),
    };
    if let Location::File(path) = &location {
        keep_loaded(path)?;
        // SAFETY: as in `locate`.
        if !unsafe { sys::is_culib_present() } {
            let reason = "the loader does not find it by its name; name the file `libnvrtc.so.13`".to_owned();
            return Err(Error::NvrtcUnusable { path: path.clone(), reason, source: None });
        }
    }
    *loaded = Some(location.clone());
    Ok(location)
}

/// The version of the NVRTC that is found, as (major, minor).
pub fn version() -> Result<(u32, u32), Error> {
    load()?;
    let (mut major, mut minor): (c_int, c_int) = (0, 0);
    // SAFETY: the library is loaded, and both pointers are good for a write.
    check("nvrtcVersion", unsafe { sys::nvrtcVersion(&mut major, &mut minor) })?;
    Ok((major as u32, minor as u32))
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
    let mut disk = DiskStats::default();
    let mut entry = None;
    if let Some(cache) = cache {
        let start = Instant::now();
        let span =
            timed(tracing::debug_span!("read_cache", operator, hit = Empty, bytes = Empty, microseconds = Empty));
        let (major, minor) = version_by(cache)?;
        let key = blake3::hash(format!("cubin of {} by NVRTC {major}.{minor}", key(source, architecture)).as_bytes());
        let found = cache.load(&key);
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
    let cubin = compile(source, operator, architecture)?.cubin;
    let compile_time = Some(start.elapsed());
    if let Some((cache, key)) = entry {
        let start = Instant::now();
        let bytes = cubin.len();
        let span = timed(tracing::debug_span!("write_cache", operator, bytes, stored = Empty, microseconds = Empty));
        let stored = cache.store(&key, &cubin);
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
    let identity = || {
        let (path, metadata) = (path.canonicalize().ok()?, path.metadata().ok()?);
        let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(blake3::hash(format!("version of {} {} {modified:?}", path.display(), metadata.len()).as_bytes()))
    };
    let Some(key) = identity() else { return version() };
    if let Some([a, b, c, d, e, f, g, h]) = cache.load(&key).and_then(|known| <[u8; 8]>::try_from(known).ok()) {
        return Ok((u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])));
    }
    let (major, minor) = version()?;
    cache.store(&key, &[major.to_le_bytes(), minor.to_le_bytes()].concat());
    Ok((major, minor))
}

/// Loads the compiler and sets it up. The first kernel that it compiles in a process takes a few hundredths of a second
/// more than the next, even if it is empty.
pub(crate) fn warm_up(architecture: Architecture) -> Result<(), Error> {
    load()?;
    let _span = timed(tracing::debug_span!("warm_up_nvrtc", %architecture, microseconds = Empty));
    let text = "extern \"C\" __global__ void nothing() {}\n";
    translate(text, "nothing.cu", &[], "nothing", &architecture.to_string())?.cubin().map(drop)
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
pub fn compile(source: &KernelSource, operator: &str, architecture: Architecture) -> Result<Compiled, Error> {
    load()?;
    let span = timed(tracing::debug_span!(
        "compile",
        operator,
        %architecture,
        source_bytes = source.text.len(),
        cubin_bytes = Empty,
        microseconds = Empty
    ));
    let program = translate(&source.text, &source.name, &source.options, operator, &architecture.to_string())?;
    let compiled = Compiled { log: program.log()?, cubin: program.cubin()? };
    span.record("cubin_bytes", compiled.cubin.len());
    Ok(compiled)
}

/// As [`compile`], but to PTX, which the driver compiles for this architecture or a newer one. It ends in a zero byte.
#[doc(hidden)]
pub fn compile_to_ptx(source: &KernelSource, operator: &str, architecture: Architecture) -> Result<Compiled, Error> {
    load()?;
    let virtual_architecture = format!("compute_{}{}", architecture.major, architecture.minor);
    let program = translate(&source.text, &source.name, &source.options, operator, &virtual_architecture)?;
    Ok(Compiled { log: program.log()?, cubin: program.ptx()? })
}

/// Compiles with the library, which has been loaded.
fn translate(text: &str, name: &str, options: &[&str], operator: &str, architecture: &str) -> Result<Program, Error> {
    let text = c_string(text)?;
    let name = c_string(name)?;
    let architecture_option = format!("--gpu-architecture={architecture}");
    let options = options.iter().copied().chain([architecture_option.as_str()]);
    // Without `--minimal` NVRTC parses declarations of textures and the run-time library for some milliseconds. No
    // kernel of ours needs them.
    let options = options.chain((version()? >= SINCE_MINIMAL).then_some("--minimal"));
    let options = options.map(c_string).collect::<Result<Vec<_>, _>>()?;
    let option_pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();

    let program = Program::new(&text, &name)?;
    // SAFETY: the program is alive, and the pointers are to strings that outlive the call.
    let result =
        unsafe { sys::nvrtcCompileProgram(program.0, option_pointers.len() as c_int, option_pointers.as_ptr()) };
    let log = program.log()?;
    if result == sys::nvrtcResult::NVRTC_ERROR_COMPILATION {
        return Err(Error::Compile { operator: operator.to_owned(), architecture: architecture.to_owned(), log });
    }
    if result != sys::nvrtcResult::NVRTC_SUCCESS && !log.is_empty() {
        return Err(Error::Nvrtc { call: "nvrtcCompileProgram", log: format!("\n{log}"), source: NvrtcError(result) });
    }
    check("nvrtcCompileProgram", result)?;
    Ok(program)
}

fn c_string(text: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::Nvrtc {
        call: "nvrtcCreateProgram",
        log: ": the source contains a zero byte".to_owned(),
        source: NvrtcError(sys::nvrtcResult::NVRTC_ERROR_INVALID_INPUT),
    })
}

fn check(call: &'static str, result: sys::nvrtcResult) -> Result<(), Error> {
    match result {
        sys::nvrtcResult::NVRTC_SUCCESS => Ok(()),
        other => Err(Error::Nvrtc { call, log: String::new(), source: NvrtcError(other) }),
    }
}

/// An NVRTC program, destroyed when dropped.
struct Program(sys::nvrtcProgram);

impl Program {
    fn new(text: &CString, name: &CString) -> Result<Self, Error> {
        let mut program = ptr::null_mut();
        // SAFETY: the strings end in a zero byte and NVRTC copies them; no headers are given.
        let result =
            unsafe { sys::nvrtcCreateProgram(&mut program, text.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null()) };
        check("nvrtcCreateProgram", result)?;
        Ok(Program(program))
    }

    fn log(&self) -> Result<String, Error> {
        let mut size = 0;
        // SAFETY: the program is alive.
        check("nvrtcGetProgramLogSize", unsafe { sys::nvrtcGetProgramLogSize(self.0, &mut size) })?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: the buffer has the size that NVRTC asked for.
        check("nvrtcGetProgramLog", unsafe { sys::nvrtcGetProgramLog(self.0, bytes.as_mut_ptr().cast()) })?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches(['\0', '\n']).to_owned())
    }

    fn cubin(&self) -> Result<Vec<u8>, Error> {
        let mut size = 0;
        // SAFETY: the program is alive.
        check("nvrtcGetCUBINSize", unsafe { sys::nvrtcGetCUBINSize(self.0, &mut size) })?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: the buffer has the size that NVRTC asked for.
        check("nvrtcGetCUBIN", unsafe { sys::nvrtcGetCUBIN(self.0, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }

    /// The PTX, including the zero byte at its end.
    fn ptx(&self) -> Result<Vec<u8>, Error> {
        let mut size = 0;
        // SAFETY: the program is alive.
        check("nvrtcGetPTXSize", unsafe { sys::nvrtcGetPTXSize(self.0, &mut size) })?;
        let mut bytes = vec![0_u8; size];
        // SAFETY: the buffer has the size that NVRTC asked for.
        check("nvrtcGetPTX", unsafe { sys::nvrtcGetPTX(self.0, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program is alive, and nothing uses it after this.
        unsafe { sys::nvrtcDestroyProgram(&mut self.0) };
    }
}

//! NVRTC, CUDA's run-time compiler: where it is, and how a kernel source becomes a cubin.
//!
//! Compiling needs no GPU and no driver, only the library. It is looked for in the variable `SCAN_NVRTC` (the library
//! itself, or the folder it is in), in the toolkit that `CUDA_HOME` or `CUDA_PATH` name, in the toolkit's usual places, in
//! Python's site-packages (where `pip install nvidia-cuda-nvrtc` puts it), and last wherever the system's loader looks.

use std::{
    collections::HashSet,
    env,
    ffi::{CString, OsStr, c_char, c_int},
    path::{Path, PathBuf},
    ptr,
    sync::{LazyLock, Mutex, PoisonError},
};

use cudarc::nvrtc::sys;
use scan_codegen::{Architecture, KernelSource};

use crate::Error;

/// The environment variable that names the NVRTC library, or the folder it is in.
pub const LIBRARY_VARIABLE: &str = "SCAN_NVRTC";

/// The library's file names, newest first.
const LIBRARY_NAMES: [&str; 2] = ["libnvrtc.so.13", "libnvrtc.so.12"];

/// Where NVRTC was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// At this path.
    File(PathBuf),
    /// Somewhere the system's loader looks.
    Loader,
}

/// Finds NVRTC without loading it, or tells every place that was looked into.
pub fn locate() -> Result<Location, Error> {
    let folders = folders();
    for folder in &folders {
        if let Some(file) = library_in(folder) {
            return Ok(Location::File(file));
        }
    }
    // SAFETY: loading NVRTC runs its initialisers, which do nothing but set it up.
    if unsafe { sys::is_culib_present() } {
        return Ok(Location::Loader);
    }
    Err(Error::NoNvrtc { searched: folders })
}

/// The library that a path names: the path itself if it is a file, else the newest one in the folder.
fn library_in(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    LIBRARY_NAMES.iter().map(|name| path.join(name)).find(|file| file.is_file())
}

/// Every place to look into, in order.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    folders.extend(env::var_os(LIBRARY_VARIABLE).map(PathBuf::from));
    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        folders.extend(env::var_os(variable).into_iter().flat_map(|home| in_toolkit(Path::new(&home))));
    }
    folders.extend(in_toolkit(Path::new("/usr/local/cuda")));
    folders.push("/usr/lib/x86_64-linux-gnu".into());
    for variable in ["VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONUSERBASE"] {
        folders.extend(env::var_os(variable).into_iter().flat_map(|prefix| in_python(Path::new(&prefix))));
    }
    if let Some(home) = env::home_dir() {
        folders.extend(in_python(&home.join(".local")));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let binaries = env::split_paths(&path).filter(|folder| folder.join("python3").is_file());
    folders.extend(binaries.filter_map(|folder| folder.parent().map(in_python)).flatten());
    for prefix in ["/usr/local", "/usr"] {
        folders.extend(in_python(Path::new(prefix)));
    }
    let mut seen = HashSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    folders
}

fn in_toolkit(home: &Path) -> [PathBuf; 2] {
    [home.join("lib64"), home.join("targets/x86_64-linux/lib")]
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

/// Loads the library at `path` for the rest of the process, so that cudarc, which asks the loader by name, gets this one.
fn keep_loaded(path: &Path) {
    #[cfg(unix)]
    {
        use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
        let builtins = path.parent().into_iter().flat_map(|folder| folder.read_dir().into_iter().flatten()).flatten();
        let builtins = builtins
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("libnvrtc-builtins.so"))
            .map(|entry| entry.path());
        for library in builtins.chain([path.to_owned()]) {
            // SAFETY: these are NVIDIA's libraries, whose initialisers do nothing but set them up.
            if let Ok(library) = unsafe { Library::open(Some(&library), RTLD_NOW | RTLD_GLOBAL) } {
                std::mem::forget(library);
            }
        }
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// What loading came to; the library is loaded once a process. A failure is not kept: NVRTC may be installed meanwhile.
static LOADED: LazyLock<Mutex<Option<Location>>> = LazyLock::new(Mutex::default);

fn load() -> Result<Location, Error> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(location) = &*loaded {
        return Ok(location.clone());
    }
    let location = locate()?;
    if let Location::File(path) = &location {
        keep_loaded(path);
        // SAFETY: as in `locate`.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::NoNvrtc { searched: vec![path.clone()] });
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

/// What NVRTC made of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// The machine code, for exactly one architecture.
    pub cubin: Vec<u8>,
    /// The compiler's warnings; empty as a rule.
    pub log: String,
}

/// Compiles a source to a cubin. `operator` is named in the error if NVRTC rejects it.
pub fn compile(source: &KernelSource, operator: &str, architecture: Architecture) -> Result<Compiled, Error> {
    load()?;
    let text = c_string(&source.text)?;
    let name = c_string(&source.name)?;
    let architecture_option = format!("--gpu-architecture={architecture}");
    let options = source.options.iter().copied().chain([architecture_option.as_str()]);
    let options = options.map(c_string).collect::<Result<Vec<_>, _>>()?;
    let option_pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();

    let program = Program::new(&text, &name)?;
    // SAFETY: the program is alive, and the pointers are to strings that outlive the call.
    let result =
        unsafe { sys::nvrtcCompileProgram(program.0, option_pointers.len() as c_int, option_pointers.as_ptr()) };
    let log = program.log()?;
    if result == sys::nvrtcResult::NVRTC_ERROR_COMPILATION {
        return Err(Error::Compile { operator: operator.to_owned(), architecture: architecture.to_string(), log });
    }
    if result != sys::nvrtcResult::NVRTC_SUCCESS && !log.is_empty() {
        return Err(Error::Nvrtc { call: "nvrtcCompileProgram", message: format!("{result:?}\n{log}") });
    }
    check("nvrtcCompileProgram", result)?;
    Ok(Compiled { cubin: program.cubin()?, log })
}

fn c_string(text: &str) -> Result<CString, Error> {
    CString::new(text)
        .map_err(|_| Error::Nvrtc { call: "nvrtcCreateProgram", message: "the source contains a zero byte".to_owned() })
}

fn check(call: &'static str, result: sys::nvrtcResult) -> Result<(), Error> {
    match result {
        sys::nvrtcResult::NVRTC_SUCCESS => Ok(()),
        other => Err(Error::Nvrtc { call, message: format!("{other:?}") }),
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
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program is alive, and nothing uses it after this.
        unsafe { sys::nvrtcDestroyProgram(&mut self.0) };
    }
}

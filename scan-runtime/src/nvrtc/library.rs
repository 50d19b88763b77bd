//! The library as it is loaded: the functions that are called, and the programs that it compiles.
//!
//! They are found in the library that [`locate`](super::locate) names. cudarc would take the one that the system's
//! loader finds by name, panic where there is none, and knows the errors of one version only.

use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    path::Path,
    ptr,
    sync::Arc,
};

use libloading::Library;
use scan_codegen::Architecture;

use super::{Location, SINCE_MINIMAL};
use crate::Error;

/// Error codes of NVRTC.
const SUCCESS: c_int = 0;
const INVALID_INPUT: c_int = 3;
const COMPILATION: c_int = 6;

/// The library's file names, newest first.
pub(super) const NAMES: [&str; 2] =
    if cfg!(windows) { ["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"] } else { ["libnvrtc.so.13", "libnvrtc.so.12"] };

/// An error that NVRTC reported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}")]
#[non_exhaustive]
pub struct NvrtcError {
    /// NVRTC's number for it.
    pub code: i32,
    /// NVRTC's name for it, such as `NVRTC_ERROR_OUT_OF_MEMORY`.
    pub name: String,
}

/// NVRTC's handle of a program.
type Handle = *mut c_void;

macro_rules! functions {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions of the library that are called.
        #[allow(non_snake_case, reason = "NVRTC's names")]
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Functions {
            /// Finds all of them. The error names the first one that is missing.
            fn of(library: &Library) -> Result<Self, (&'static str, libloading::Error)> {
                Ok(Functions {
                    $($name: {
                        let name = stringify!($name);
                        // SAFETY: the function has this type since CUDA 12.0.
                        *unsafe { library.get(name) }.map_err(|error| (name, error))?
                    },)*
                })
            }
        }
    };
}

functions! {
    nvrtcVersion(*mut c_int, *mut c_int) -> c_int;
    nvrtcGetNumSupportedArchs(*mut c_int) -> c_int;
    nvrtcGetSupportedArchs(*mut c_int) -> c_int;
    nvrtcGetErrorString(c_int) -> *const c_char;
    nvrtcCreateProgram(
        *mut Handle, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char
    ) -> c_int;
    nvrtcCompileProgram(Handle, c_int, *const *const c_char) -> c_int;
    nvrtcGetProgramLogSize(Handle, *mut usize) -> c_int;
    nvrtcGetProgramLog(Handle, *mut c_char) -> c_int;
    nvrtcGetCUBINSize(Handle, *mut usize) -> c_int;
    nvrtcGetCUBIN(Handle, *mut c_char) -> c_int;
    nvrtcGetPTXSize(Handle, *mut usize) -> c_int;
    nvrtcGetPTX(Handle, *mut c_char) -> c_int;
    nvrtcDestroyProgram(*mut Handle) -> c_int;
}

/// NVRTC, loaded for the rest of the process.
pub(super) struct Nvrtc {
    functions: Functions,
}

/// The library where the system's loader searches.
pub(super) fn by_name() -> Option<Library> {
    NAMES.iter().find_map(|name| open(Path::new(name)).ok())
}

fn open(path: &Path) -> Result<Library, libloading::Error> {
    // SAFETY: these are NVIDIA's libraries, whose initialisers do nothing but set them up.
    unsafe { Library::new(path) }
}

impl Nvrtc {
    pub(super) fn load(location: &Location) -> Result<Self, Error> {
        let path = match location {
            Location::File(path) => path,
            Location::Loader => Path::new(NAMES[0]),
        };
        let unusable = |reason: String, error| Error::NvrtcUnusable {
            path: path.to_owned(),
            reason,
            source: Some(Arc::new(error)),
        };
        let library = match location {
            Location::File(path) => {
                load_builtins(path);
                open(path)
            }
            Location::Loader => by_name().map_or_else(|| open(path), Ok),
        };
        let library = library.map_err(|error| unusable("it does not load".to_owned(), error))?;
        let functions =
            Functions::of(&library).map_err(|(name, error)| unusable(format!("it has no `{name}`"), error))?;
        // The functions are called until the process ends.
        std::mem::forget(library);
        Ok(Nvrtc { functions })
    }

    fn check(&self, call: &'static str, result: c_int) -> Result<(), Error> {
        match result {
            SUCCESS => Ok(()),
            _ => Err(Error::Nvrtc { call, log: String::new(), source: self.error(result) }),
        }
    }

    fn error(&self, code: c_int) -> NvrtcError {
        // SAFETY: NVRTC returns a constant text for every number.
        let name = unsafe { CStr::from_ptr((self.functions.nvrtcGetErrorString)(code)) };
        NvrtcError { code, name: name.to_string_lossy().into_owned() }
    }

    /// The version, as (major, minor).
    pub(super) fn version(&self) -> Result<(u32, u32), Error> {
        let (mut major, mut minor): (c_int, c_int) = (0, 0);
        // SAFETY: both pointers are good for a write.
        self.check("nvrtcVersion", unsafe { (self.functions.nvrtcVersion)(&mut major, &mut minor) })?;
        Ok((major as u32, minor as u32))
    }

    /// The architectures that it compiles for.
    pub(super) fn architectures(&self) -> Result<Vec<Architecture>, Error> {
        let mut count: c_int = 0;
        // SAFETY: the pointer is good for a write.
        let counted = unsafe { (self.functions.nvrtcGetNumSupportedArchs)(&mut count) };
        self.check("nvrtcGetNumSupportedArchs", counted)?;
        let mut numbers: Vec<c_int> = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: there is room for as many as NVRTC has counted.
        let listed = unsafe { (self.functions.nvrtcGetSupportedArchs)(numbers.as_mut_ptr()) };
        self.check("nvrtcGetSupportedArchs", listed)?;
        // 90 is `sm_90`, 103 is `sm_103`.
        let architecture = |number| Architecture { major: number / 10, minor: number % 10 };
        Ok(numbers.into_iter().filter_map(|number| u32::try_from(number).ok()).map(architecture).collect())
    }

    /// Compiles a text. `operator` is named in the error if NVRTC rejects it, and `architecture` is as in the option:
    /// `sm_90`, or `compute_90` for PTX.
    pub(super) fn translate(
        &self,
        (text, name): (&str, &str),
        options: &[&str],
        operator: &str,
        architecture: &str,
    ) -> Result<Program<'_>, Error> {
        let text = self.c_string(text)?;
        let name = self.c_string(name)?;
        let architecture_option = format!("--gpu-architecture={architecture}");
        let options = options.iter().copied().chain([architecture_option.as_str()]);
        // Without `--minimal` NVRTC parses declarations of textures and the run-time library for some milliseconds. No
        // kernel of ours needs them.
        let options = options.chain((self.version()? >= SINCE_MINIMAL).then_some("--minimal"));
        let options = options.map(|option| self.c_string(option)).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();

        let program = Program::new(self, &text, &name)?;
        let compile = self.functions.nvrtcCompileProgram;
        // SAFETY: the program is alive, and the pointers are to strings that outlive the call.
        let result = unsafe { compile(program.handle, pointers.len() as c_int, pointers.as_ptr()) };
        let log = program.log()?;
        if result == COMPILATION {
            return Err(Error::Compile { operator: operator.to_owned(), architecture: architecture.to_owned(), log });
        }
        self.check("nvrtcCompileProgram", result).map_err(|error| match error {
            Error::Nvrtc { call, source, .. } if !log.is_empty() => {
                Error::Nvrtc { call, log: format!("\n{log}"), source }
            }
            other => other,
        })?;
        Ok(program)
    }

    fn c_string(&self, text: &str) -> Result<CString, Error> {
        CString::new(text).map_err(|_| Error::Nvrtc {
            call: "nvrtcCreateProgram",
            log: ": the source contains a zero byte".to_owned(),
            source: self.error(INVALID_INPUT),
        })
    }
}

/// Loads NVRTC's builtins, which it asks the loader for by their name, from the folder of the library at `path`.
fn load_builtins(path: &Path) {
    let entries = path.parent().into_iter().flat_map(|folder| folder.read_dir().into_iter().flatten()).flatten();
    let builtins = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("libnvrtc-builtins.so"));
    for library in builtins {
        // If NVRTC needs them and they do not load, NVRTC itself reports it.
        let _ = open(&library.path()).map(std::mem::forget);
    }
}

/// A program, destroyed when dropped.
pub(super) struct Program<'a> {
    nvrtc: &'a Nvrtc,
    handle: Handle,
}

/// A function that gives the size of something of a program, and its name.
type Size = (&'static str, unsafe extern "C" fn(Handle, *mut usize) -> c_int);
/// A function that copies it, and its name.
type Get = (&'static str, unsafe extern "C" fn(Handle, *mut c_char) -> c_int);

impl<'a> Program<'a> {
    fn new(nvrtc: &'a Nvrtc, text: &CString, name: &CString) -> Result<Self, Error> {
        let mut handle = ptr::null_mut();
        let create = nvrtc.functions.nvrtcCreateProgram;
        // SAFETY: the strings end in a zero byte and NVRTC copies them; no headers are given.
        let result = unsafe { create(&mut handle, text.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null()) };
        nvrtc.check("nvrtcCreateProgram", result)?;
        Ok(Program { nvrtc, handle })
    }

    /// The compiler's messages.
    pub(super) fn log(&self) -> Result<String, Error> {
        let Functions { nvrtcGetProgramLogSize: size, nvrtcGetProgramLog: get, .. } = self.nvrtc.functions;
        let log = self.bytes(("nvrtcGetProgramLogSize", size), ("nvrtcGetProgramLog", get))?;
        Ok(String::from_utf8_lossy(&log).trim_end_matches(['\0', '\n']).to_owned())
    }

    /// The machine code.
    pub(super) fn cubin(&self) -> Result<Vec<u8>, Error> {
        let Functions { nvrtcGetCUBINSize: size, nvrtcGetCUBIN: get, .. } = self.nvrtc.functions;
        self.bytes(("nvrtcGetCUBINSize", size), ("nvrtcGetCUBIN", get))
    }

    /// The PTX, including the zero byte at its end.
    pub(super) fn ptx(&self) -> Result<Vec<u8>, Error> {
        let Functions { nvrtcGetPTXSize: size, nvrtcGetPTX: get, .. } = self.nvrtc.functions;
        self.bytes(("nvrtcGetPTXSize", size), ("nvrtcGetPTX", get))
    }

    fn bytes(&self, (size_call, size): Size, (get_call, get): Get) -> Result<Vec<u8>, Error> {
        let mut count = 0;
        // SAFETY: the program is alive, and the pointer is good for a write.
        self.nvrtc.check(size_call, unsafe { size(self.handle, &mut count) })?;
        let mut bytes = vec![0_u8; count];
        // SAFETY: the program is alive, and the buffer has the size that NVRTC asked for.
        self.nvrtc.check(get_call, unsafe { get(self.handle, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the program is alive, and nothing uses it after this.
        unsafe { (self.nvrtc.functions.nvrtcDestroyProgram)(&mut self.handle) };
    }
}

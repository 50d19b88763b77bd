//! The library as it is loaded: the functions that are called. Not by cudarc, which does not find the library of the
//! wheel, panics where it drops a communicator, and cannot ask for errors.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    mem::MaybeUninit,
    path::Path,
    ptr,
};

use libloading::Library;

use super::{Id, WorldError};

/// `ncclComm_t`.
pub(super) type Comm = *mut c_void;

/// `ncclUniqueId`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct UniqueId(pub(super) [u8; Id::BYTES]);

/// `ncclSuccess` and `ncclInProgress`.
pub(super) const SUCCESS: c_int = 0;
pub(super) const IN_PROGRESS: c_int = 7;

/// `ncclUint8`.
pub(super) const BYTE: c_int = 1;

/// An error that NCCL reported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}{}{last}", if last.is_empty() { "" } else { ": " })]
#[non_exhaustive]
pub struct NcclError {
    /// NCCL's number for it.
    pub code: i32,
    /// NCCL's text for it, such as `unhandled cuda error`.
    pub name: String,
    /// What NCCL last said.
    pub last: String,
}

macro_rules! functions {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions of the library that are called.
        #[allow(non_snake_case, reason = "NCCL's names")]
        pub(super) struct Nccl {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Nccl {
            /// Finds all of them. The error names the first one that is missing.
            fn of(library: &Library) -> Result<Self, &'static str> {
                Ok(Nccl {
                    $($name: {
                        let name = stringify!($name);
                        // SAFETY: the function has this type since NCCL 2.14.
                        *unsafe { library.get(name) }.map_err(|_| name)?
                    },)*
                })
            }
        }
    };
}

functions! {
    ncclGetVersion(*mut c_int) -> c_int;
    ncclGetUniqueId(*mut UniqueId) -> c_int;
    ncclGetErrorString(c_int) -> *const c_char;
    ncclGetLastError(Comm) -> *const c_char;
    ncclCommInitRank(*mut Comm, c_int, UniqueId, c_int) -> c_int;
    ncclCommGetAsyncError(Comm, *mut c_int) -> c_int;
    ncclCommCount(Comm, *mut c_int) -> c_int;
    ncclCommUserRank(Comm, *mut c_int) -> c_int;
    ncclCommAbort(Comm) -> c_int;
    ncclAllGather(*const c_void, *mut c_void, usize, c_int, Comm, *mut c_void) -> c_int;
}

impl Nccl {
    pub(super) fn load(path: &Path) -> Result<Self, WorldError> {
        let unusable = |reason: String| WorldError::NcclUnusable { path: path.to_owned(), reason };
        // SAFETY: it is NVIDIA's library, whose initialisers do nothing but set it up.
        let library = unsafe { Library::new(path) }.map_err(|error| unusable(format!("it does not load: {error}")))?;
        let nccl =
            Nccl::of(&library).map_err(|name| unusable(format!("it has no `{name}`: take NCCL 2.14 or later")))?;
        // The functions are called until the process ends.
        std::mem::forget(library);
        Ok(nccl)
    }

    /// The error of a call.
    pub(super) fn error(&self, call: &'static str, code: c_int, comm: Comm) -> WorldError {
        let text = |text: *const c_char| match text.is_null() {
            true => String::new(),
            // SAFETY: NCCL returns texts that stay.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned(),
        };
        // SAFETY: any number has a text; the communicator is alive, or none.
        let (name, last) = unsafe { (text((self.ncclGetErrorString)(code)), text((self.ncclGetLastError)(comm))) };
        WorldError::Nccl { call, source: NcclError { code, name, last } }
    }

    pub(super) fn check(&self, call: &'static str, code: c_int) -> Result<(), WorldError> {
        if code == SUCCESS { Ok(()) } else { Err(self.error(call, code, ptr::null_mut())) }
    }

    /// The version, as (major, minor, patch).
    pub(super) fn version(&self) -> Result<(u32, u32, u32), WorldError> {
        let mut code: c_int = 0;
        // SAFETY: the pointer is good for a write.
        self.check("ncclGetVersion", unsafe { (self.ncclGetVersion)(&mut code) })?;
        let code = code as u32;
        Ok((code / 10_000, code / 100 % 100, code % 100))
    }

    pub(super) fn id(&self) -> Result<[u8; Id::BYTES], WorldError> {
        let mut id = MaybeUninit::<UniqueId>::zeroed();
        // SAFETY: the pointer is good for a write, and bytes are valid whatever is written.
        unsafe {
            self.check("ncclGetUniqueId", (self.ncclGetUniqueId)(id.as_mut_ptr()))?;
            Ok(id.assume_init().0)
        }
    }
}

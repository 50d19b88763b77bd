//! NCCL, which needs neither a GPU nor a driver to be loaded.

use std::{
    error::Error,
    ffi::{c_int, c_void},
    path::PathBuf,
    ptr,
};

use libloading::{Library, Symbol};
use scan_runtime::world::nccl::locate;

use crate::{pip::Packages, target_dir};

/// An early version on PyPI, the smallest one: what the runtime calls has been in NCCL since 2.14.
const PACKAGES: Packages<'_> =
    Packages { what: "NCCL", packages: &["nvidia-nccl-cu12==2.19.3"], proof: "nvidia/nccl/lib/libnccl.so.2" };

/// Finds NCCL where the runtime finds it, or fetches it from PyPI into the target folder.
pub fn nccl() -> Result<PathBuf, String> {
    match locate() {
        Ok(Some(file)) => Ok(file),
        _ => PACKAGES.install(&target_dir()?.join("nccl")),
    }
}

/// The communicators of the devices of this process, as a program has them that uses NCCL itself.
pub struct Communicators {
    library: Library,
    communicators: Vec<Communicator>,
}

/// An `ncclComm_t`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Communicator(pub *mut c_void);

// SAFETY: NCCL allows a communicator to be used by any thread, one at a time.
unsafe impl Send for Communicator {}
// SAFETY: a reference gives the pointer only.
unsafe impl Sync for Communicator {}

impl Communicators {
    /// One for each of the first `count` devices.
    pub fn of_devices(count: usize) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let path = locate()?.unwrap_or_else(|| "libnccl.so.2".into());
        let mut communicators = vec![Communicator(ptr::null_mut()); count];
        let count = c_int::try_from(count)?;
        // SAFETY: it is NVIDIA's library; the functions have these types, and the array has an element for each device.
        let (library, code) = unsafe {
            let library = Library::new(path)?;
            let init: Symbol<'_, unsafe extern "C" fn(*mut c_void, c_int, *const c_int) -> c_int> =
                library.get("ncclCommInitAll")?;
            let code = init(communicators.as_mut_ptr().cast(), count, ptr::null());
            (library, code)
        };
        if code != 0 {
            return Err(format!("ncclCommInitAll: error {code}").into());
        }
        Ok(Communicators { library, communicators })
    }

    /// The communicator of each device.
    pub fn all(&self) -> &[Communicator] {
        &self.communicators
    }

    /// Enqueues an `ncclAllGather` of bytes.
    ///
    /// # Safety
    ///
    /// The addresses are of device memory, `bytes` bytes and as many for each rank, which work of the stream may use.
    pub unsafe fn all_gather(
        &self,
        rank: usize,
        (from, to, bytes): (u64, u64, usize),
        stream: *mut c_void,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        type AllGather = unsafe extern "C" fn(u64, u64, usize, c_int, *mut c_void, *mut c_void) -> c_int;
        // SAFETY: the function has this type, where a pointer is passed as a number; the caller vouches for the rest.
        let code = unsafe {
            let gather: Symbol<'_, AllGather> = self.library.get("ncclAllGather")?;
            gather(from, to, bytes, 1, self.communicators[rank].0, stream)
        };
        if code == 0 { Ok(()) } else { Err(format!("ncclAllGather: error {code}").into()) }
    }
}

impl Drop for Communicators {
    fn drop(&mut self) {
        for communicator in &self.communicators {
            // SAFETY: the function has this type; nothing uses the communicator any more.
            unsafe {
                let destroy: Result<Symbol<'_, unsafe extern "C" fn(*mut c_void) -> c_int>, _> =
                    self.library.get("ncclCommDestroy");
                if let Ok(destroy) = destroy {
                    destroy(communicator.0);
                }
            }
        }
    }
}

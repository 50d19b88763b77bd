//! Page-locked memory of the host, which devices read, write and copy without the help of the host.

use std::{ffi::c_void, ptr::NonNull, sync::Arc};

use cudarc::driver::{
    CudaContext,
    result::{self, DriverError},
    sys,
};

use super::driver_error;
use crate::{Error, telemetry::allocated_on_host};

/// Whether memory of the host is page-locked, so that a device copies it directly. Both ends must be, in one allocation.
/// A context is bound.
pub(crate) fn is_page_locked(start: *const u8, bytes: usize) -> bool {
    let is_locked = |place: *const u8| {
        let mut flags = 0;
        // SAFETY: the driver only looks the address up.
        let found = unsafe { sys::cuMemHostGetFlags(&mut flags, place.cast_mut().cast()) };
        found == sys::CUresult::CUDA_SUCCESS
    };
    is_locked(start) && is_locked(start.wrapping_add(bytes.saturating_sub(1)))
}

/// Page-locked memory that all devices reach.
#[derive(Debug)]
pub(crate) struct LockedMemory {
    host: NonNull<u8>,
    device: sys::CUdeviceptr,
    bytes: usize,
    context: Arc<CudaContext>,
}

// SAFETY: the memory belongs to the value alone, and any thread may use it.
unsafe impl Send for LockedMemory {}
// SAFETY: as above; a shared reference only gives addresses.
unsafe impl Sync for LockedMemory {}

impl LockedMemory {
    /// The alignment of any such memory.
    pub(crate) const ALIGNMENT: usize = 4096;

    pub(crate) fn new(context: &Arc<CudaContext>, bytes: usize) -> Result<Self, Error> {
        context.bind_to_thread().map_err(driver_error("binding the context"))?;
        let flags = sys::CU_MEMHOSTALLOC_PORTABLE | sys::CU_MEMHOSTALLOC_DEVICEMAP;
        let failed = |error: DriverError| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfHostMemory { bytes },
            _ => driver_error("locking host memory")(error),
        };
        // SAFETY: a context is bound.
        let host = unsafe { result::malloc_host(bytes.max(1), flags) }.map_err(failed)?;
        let host = NonNull::new(host.cast()).ok_or(Error::OutOfHostMemory { bytes })?;
        allocated_on_host(bytes);
        let mut memory = LockedMemory { host, device: 0, bytes, context: context.clone() };
        // SAFETY: the memory has just been allocated as mapped memory.
        unsafe { sys::cuMemHostGetDevicePointer_v2(&mut memory.device, memory.host.as_ptr().cast::<c_void>(), 0) }
            .result()
            .map_err(driver_error("mapping host memory"))?;
        Ok(memory)
    }

    pub(crate) fn host(&self) -> NonNull<u8> {
        self.host
    }

    /// Where devices find it.
    pub(crate) fn device(&self) -> sys::CUdeviceptr {
        self.device
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        self.context.record_err(self.context.bind_to_thread());
        // SAFETY: it has been allocated by `malloc_host`, and is freed once. The driver waits for work that uses it. An
        // error means that the context is gone, and the memory with it.
        self.context.record_err(unsafe { result::free_host(self.host.as_ptr().cast()) });
    }
}

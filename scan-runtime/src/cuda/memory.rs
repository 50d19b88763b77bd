//! Device memory that lives as long as a stream needs it.

use std::sync::Arc;

use cudarc::driver::{CudaStream, result, sys};

use super::driver_error;
use crate::{Error, telemetry::allocated_on_device};

/// Bytes of device memory, allocated and freed in the order of a stream, without synchronising the host where the device
/// has memory pools.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    pointer: sys::CUdeviceptr,
    stream: Arc<CudaStream>,
}

impl DeviceMemory {
    /// Allocates uninitialised memory. Zero bytes are a null pointer.
    pub(crate) fn new(stream: &Arc<CudaStream>, bytes: u64) -> Result<Self, Error> {
        Ok(DeviceMemory { pointer: allocate(stream, bytes)?, stream: stream.clone() })
    }

    pub(crate) fn pointer(&self) -> sys::CUdeviceptr {
        self.pointer
    }
}

/// The error of an allocation, with the sizes that explain it.
pub(crate) fn out_of_memory_or(stream: &CudaStream, requested: u64, error: result::DriverError) -> Error {
    if error.0 == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY {
        let (free, total) = stream.context().mem_get_info().unwrap_or((0, 0));
        return Error::OutOfDeviceMemory { requested, free: free as u64, total: total as u64 };
    }
    driver_error("allocating device memory")(error)
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated on this stream, and is freed once.
        unsafe { free(&self.stream, self.pointer) };
    }
}

/// Allocates uninitialised memory in the order of a stream. Zero bytes are a null pointer.
pub(super) fn allocate(stream: &CudaStream, bytes: u64) -> Result<sys::CUdeviceptr, Error> {
    let context = stream.context();
    context.bind_to_thread().map_err(driver_error("binding the context"))?;
    let pointer = match usize::try_from(bytes) {
        Ok(0) => Ok(0),
        // SAFETY: the stream is alive and its context is bound.
        Ok(size) if context.has_async_alloc() => unsafe { result::malloc_async(stream.cu_stream(), size) },
        // SAFETY: the context is bound.
        Ok(size) => unsafe { result::malloc_sync(size) },
        Err(_) => Err(result::DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)),
    };
    let pointer = pointer.map_err(|error| out_of_memory_or(stream, bytes, error))?;
    allocated_on_device(bytes);
    Ok(pointer)
}

/// Frees memory in the order of a stream; ignores a null pointer.
///
/// # Safety
///
/// The memory has been [allocated](allocate) on this stream, and is freed once. Work that uses it was enqueued on the same stream
/// before.
pub(super) unsafe fn free(stream: &CudaStream, pointer: sys::CUdeviceptr) {
    if pointer == 0 {
        return;
    }
    let context = stream.context();
    // An error here cannot be returned; the context keeps it and reports it at the next call.
    context.record_err(context.bind_to_thread());
    // SAFETY: the caller guarantees it; the synchronous call waits for all work.
    context.record_err(unsafe {
        if context.has_async_alloc() {
            result::free_async(pointer, stream.cu_stream())
        } else {
            result::free_sync(pointer)
        }
    });
}

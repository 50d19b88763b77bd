//! The device memory of an operator's tables: copied once per context, freed with the table.

use std::{
    mem::MaybeUninit,
    ptr,
    sync::{Arc, Mutex, PoisonError},
};

use cudarc::driver::{CudaContext, CudaStream, result, sys};

use super::{driver_error, out_of_memory_or};
use crate::{
    Error,
    telemetry::{allocated_on_device, copied, transferring},
};

/// A table's copies on devices, one per context.
#[derive(Default)]
pub(crate) struct DeviceCopies {
    copies: Mutex<Vec<DeviceCopy>>,
}

struct DeviceCopy {
    context: Arc<CudaContext>,
    pointer: sys::CUdeviceptr,
}

impl DeviceCopies {
    /// The items in the memory of a stream's context. The first call copies them there, and waits for the copy. They
    /// stay as long as the table.
    pub(crate) fn pointer(&self, stream: &CudaStream, items: &[MaybeUninit<u8>]) -> Result<sys::CUdeviceptr, Error> {
        if items.is_empty() {
            return Ok(0);
        }
        let context = stream.context();
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copy) = copies.iter().find(|copy| copy.context == *context) {
            return Ok(copy.pointer);
        }
        context.bind_to_thread().map_err(driver_error("binding the context"))?;
        // SAFETY: the context is bound.
        let pointer = unsafe { result::malloc_sync(items.len()) }
            .map_err(|error| out_of_memory_or(stream, items.len() as u64, error))?;
        allocated_on_device(items.len() as u64);
        // From here on it is freed, also after an error.
        let copy = DeviceCopy { context: context.clone(), pointer };
        let _span = transferring("device", items.len());
        // SAFETY: the device memory has this many bytes.
        unsafe { result::memcpy_htod_sync(pointer, items) }.map_err(driver_error("copying a table to the device"))?;
        // The driver may return before the last bytes have arrived, and other streams do not wait for this one.
        // SAFETY: the null stream always exists.
        unsafe { result::stream::synchronize(ptr::null_mut()) }
            .map_err(driver_error("copying a table to the device"))?;
        copied(items.len());
        copies.push(copy);
        Ok(pointer)
    }
}

impl Drop for DeviceCopy {
    fn drop(&mut self) {
        let context = &self.context;
        // An error here cannot be returned; the context keeps it and reports it at the next call.
        context.record_err(context.bind_to_thread());
        // Scans that read the table may be in progress, on any stream.
        context.record_err(result::ctx::synchronize());
        // SAFETY: the memory was allocated in this context, nothing reads it any more, and it is freed once.
        context.record_err(unsafe { result::free_sync(self.pointer) });
    }
}

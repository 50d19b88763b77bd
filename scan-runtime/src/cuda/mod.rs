//! The CUDA backend: a device, its modules, and launches. It knows of kernels only what their [`Plan`](crate::Plan) says.

mod device;
mod launch;
mod memory;
mod modules;
mod tables;
mod workspace;

pub(crate) use device::CudaDevice;
pub(crate) use launch::{InOut, SideBuffers};
pub(crate) use memory::{DeviceMemory, out_of_memory_or};
pub use modules::{CacheStats, CompiledModule, DiskStats};
pub(crate) use modules::{Kernels, Task, cache_stats};
pub(crate) use tables::DeviceCopies;

use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::result::DriverError;

use crate::Error;

/// A panic while a lock was held leaves each of the values here whole: they change by single insertions.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells what failed and what the driver says about it.
pub(crate) fn driver_error(call: &'static str) -> impl Fn(DriverError) -> Error {
    move |error| Error::Driver {
        call,
        code: error.error_name().map_or_else(|_| format!("{:?}", error.0), |name| name.to_string_lossy().into_owned()),
        message: error
            .error_string()
            .map_or_else(|_| "no description".to_owned(), |text| text.to_string_lossy().into_owned()),
    }
}

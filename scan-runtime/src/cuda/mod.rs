//! The CUDA backend: a device, its modules, and launches. It knows of kernels only what their [`Plan`](crate::Plan) says.

mod device;
mod launch;
mod memory;
mod modules;
mod staging;
mod tables;

pub(crate) use device::CudaDevice;
pub(crate) use launch::{InOut, SideBuffers};
pub(crate) use memory::{DeviceMemory, out_of_memory_or};
pub use modules::{CacheStats, CompiledModule, DiskStats};
pub(crate) use modules::{Kernels, Task, cache_stats};
pub use staging::Staging;
pub(crate) use staging::{HostMemory, Places};
pub(crate) use tables::DeviceCopies;

use cudarc::driver::result::DriverError;

use crate::Error;

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

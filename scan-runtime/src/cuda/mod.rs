//! The CUDA backend: a device, its modules, and launches. It knows about kernels only what their [`Plan`](crate::Plan)
//! says.

mod any_plan;
mod background;
mod chunks;
mod cubins;
mod device;
mod kernels;
mod launch;
mod loaded;
mod locked;
mod made;
mod memory;
mod needed;
mod panics;
mod ranges;
mod staging;
mod tables;
mod work;
mod workspace;

pub(crate) use chunks::in_chunks;
pub use cubins::{CacheStats, CompiledModule, DiskStats};
pub(crate) use cubins::{Stores, cache_stats};
pub(crate) use device::CudaDevice;
pub use device::{DeviceInfo, devices, driver_version, milliseconds_between};
pub(crate) use launch::{Constants, InOut, SideBuffers};
pub(crate) use loaded::Kernels;
pub(crate) use locked::{LockedMemory, is_page_locked};
pub(crate) use memory::DeviceMemory;
use memory::out_of_memory_or;
pub(crate) use needed::Needed;
pub(crate) use panics::named;
pub(crate) use ranges::{machine_code, sources};
pub use staging::Staging;
pub(crate) use staging::{HostMemory, OwnStream, Places};
pub(crate) use tables::DeviceCopies;
pub(crate) use work::{Runs, Work, bind};
pub(crate) use workspace::{PER_THREAD, is_captured};

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use cudarc::driver::{result::DriverError, sys::CUresult};

use crate::Error;

/// Ignores poisoning: a panic while a lock is held leaves each of the values here valid, because they change by single
/// insertions.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As [`lock`], for shared read access.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// As [`lock`], for exclusive write access.
fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// The error of a failed call, with the driver's error as its source.
pub(crate) fn driver_error(call: &'static str) -> impl Fn(DriverError) -> Error {
    move |source| match is_lost(source.0 as u32) {
        true => Error::ContextLost { call, source },
        false => Error::Driver { call, source },
    }
}

/// `CUDA_ERROR_CONTAINED` and `CUDA_ERROR_TENSOR_MEMORY_LEAK`, which older bindings have no names for.
const IS_LOST_TOO: [u32; 2] = [226, 721];

/// Whether a context with this error gives nothing but errors from now on.
fn is_lost(error: u32) -> bool {
    use CUresult::*;
    let named = [
        CUDA_ERROR_ILLEGAL_ADDRESS,
        CUDA_ERROR_LAUNCH_TIMEOUT,
        CUDA_ERROR_CONTEXT_IS_DESTROYED,
        CUDA_ERROR_ASSERT,
        CUDA_ERROR_HARDWARE_STACK_ERROR,
        CUDA_ERROR_ILLEGAL_INSTRUCTION,
        CUDA_ERROR_MISALIGNED_ADDRESS,
        CUDA_ERROR_INVALID_ADDRESS_SPACE,
        CUDA_ERROR_INVALID_PC,
        CUDA_ERROR_LAUNCH_FAILED,
        CUDA_ERROR_ECC_UNCORRECTABLE,
        CUDA_ERROR_NVLINK_UNCORRECTABLE,
        CUDA_ERROR_EXTERNAL_DEVICE,
    ];
    named.map(|named| named as u32).contains(&error) || IS_LOST_TOO.contains(&error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_without_names_in_older_bindings_mean_a_lost_device() {
        assert!([CUresult::CUDA_ERROR_ASSERT as u32, 226, 721].into_iter().all(is_lost));
        assert!(!is_lost(CUresult::CUDA_ERROR_INVALID_VALUE as u32));
    }
}

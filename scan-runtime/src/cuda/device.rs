//! A CUDA device that scans run on.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use cudarc::driver::{CudaContext, CudaStream, result, sys};
use scan_codegen::{Architecture, DeviceLimits};

use super::{
    driver_error,
    modules::{KernelsKey, Ranges, Slot},
    workspace::Workspaces,
};
use crate::{DiskCache, Error};

/// A device with its context, and the kernels that have been loaded into it.
#[derive(Debug)]
pub(crate) struct CudaDevice {
    pub(crate) context: Arc<CudaContext>,
    /// Where scans of host memory run.
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) name: String,
    pub(crate) limits: DeviceLimits,
    /// Where compiled kernels are kept beyond the process.
    pub(super) cache: Option<DiskCache>,
    pub(super) kernels: Mutex<HashMap<KernelsKey, Slot<Ranges>>>,
    pub(super) workspaces: Arc<Workspaces>,
}

impl CudaDevice {
    /// Opens the device with this number.
    pub(crate) fn open(index: usize, cache: Option<DiskCache>) -> Result<Self, Error> {
        let count = device_count()?;
        if count == 0 {
            return Err(Error::NoDevice { reason: "the driver sees none".to_owned() });
        }
        if index >= count {
            return Err(Error::DeviceIndex { index, count });
        }
        let context = CudaContext::new(index).map_err(driver_error("creating the context"))?;
        let name = context.name().map_err(driver_error("reading the device's name"))?;
        let limits = limits(&context)?;
        let stream = context.default_stream();
        let (kernels, workspaces) = Default::default();
        Ok(CudaDevice { context, stream, name, limits, cache, kernels, workspaces })
    }

    /// An error if `stream`, to which the `what` of a call belongs, is of another context.
    pub(crate) fn check_context(&self, what: &'static str, stream: &CudaStream) -> Result<(), Error> {
        if stream.context() == &self.context { Ok(()) } else { Err(Error::ForeignContext { what }) }
    }
}

/// How many devices the driver sees.
fn device_count() -> Result<usize, Error> {
    // SAFETY: loading the driver's library runs its initialisers, which do nothing but set it up.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::NoDriver {
            library: libloading::library_filename("cuda").to_string_lossy().into_owned() + ".1",
        });
    }
    let no_device = |error| match driver_error("initialising")(error) {
        Error::Driver { message, .. } => Error::NoDevice { reason: message },
        other => other,
    };
    result::init().map_err(no_device)?;
    let count = result::device::get_count().map_err(no_device)?;
    Ok(usize::try_from(count).unwrap_or(0))
}

fn limits(context: &CudaContext) -> Result<DeviceLimits, Error> {
    use sys::CUdevice_attribute_enum as Attribute;
    let read = |attribute| {
        let value = context.attribute(attribute).map_err(driver_error("reading the device's limits"))?;
        Ok::<_, Error>(u32::try_from(value).unwrap_or(0))
    };
    let architecture = Architecture {
        major: read(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        minor: read(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    };
    let mut limits = DeviceLimits::new(architecture, read(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?);
    limits.threads_per_block = read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?;
    limits.shared_bytes_per_block = read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?;
    limits.shared_bytes_per_block_optin = read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
    limits.blocks_per_grid = u64::from(read(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?);
    Ok(limits)
}

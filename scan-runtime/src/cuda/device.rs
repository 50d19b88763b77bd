//! A CUDA device that scans run on.

use std::{
    any::TypeId,
    collections::HashMap,
    ffi::c_int,
    sync::{Arc, Mutex, Once, OnceLock, RwLock},
    thread,
};

use cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, DeviceRepr, DriverError, result, sys};
use libloading::{Library, library_filename};
use scan_codegen::{Architecture, DeviceLimits, Overrides, ScanSpec, Tuned};

use super::{
    cubins::Stores,
    driver_error, is_page_locked,
    kernels::KernelsKey,
    made::Made,
    named, out_of_memory_or,
    panics::Panics,
    ranges::Ranges,
    read,
    staging::{Lanes, Staging},
    workspace::{Workspaces, is_captured},
    write,
};
use crate::{
    Error, HostMemory,
    caught::discard,
    erased::Erased,
    host::side::Sides,
    nvrtc,
    telemetry::{Caller, allocated_on_device},
};

/// The first CUDA version whose graphs support programmatic dependent launches.
const PROGRAMMATIC_IN_GRAPHS: (u32, u32) = (12, 3);

/// A device with its context, and the kernels that have been loaded into it.
#[derive(Debug)]
pub(crate) struct CudaDevice {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) name: String,
    pub(crate) limits: DeviceLimits,
    /// Whether the driver supports programmatic dependent launches, in graphs too.
    pub(super) launches_programmatically: bool,
    /// Where its kernels are looked up.
    pub(crate) stores: Stores,
    /// Read by every call, written by the first one of each kind.
    pub(super) kernels: RwLock<HashMap<KernelsKey, Arc<Made<Ranges>>>>,
    /// The tuned shapes, by the entry of the disk cache that holds them.
    pub(super) tuned: Mutex<HashMap<blake3::Hash, Vec<Tuned>>>,
    /// Of each operator whether its totals are results of reductions.
    operators: RwLock<HashMap<TypeId, bool>>,
    /// The operators that have panicked.
    pub(super) panics: Arc<Panics>,
    /// Which calls over host memory it runs.
    pub(crate) sides: Sides,
    /// How host memory is copied to the device and back.
    pub(super) staging: Staging,
    pub(super) workspaces: Arc<Workspaces>,
    // After the workspaces, which are on the streams of the lanes and must be dropped first.
    pub(super) lanes: Lanes,
}

impl CudaDevice {
    /// Opens the device with this number.
    pub(crate) fn open(index: usize, stores: Stores, staging: Staging, host_memory: HostMemory) -> Result<Self, Error> {
        let count = device_count()?;
        if count == 0 {
            return Err(Error::NoDevice { source: None });
        }
        if index >= count {
            return Err(Error::DeviceIndex { index, count });
        }
        let context = make_context(index, &stores)?;
        let name = context.name().map_err(driver_error("reading the device's name"))?;
        let limits = limits_of(context.cu_device())?;
        limits.check()?;
        let panics = Panics::new(&context);
        let (kernels, tuned, operators, workspaces, lanes) = Default::default();
        let launches_programmatically = driver_version()? >= PROGRAMMATIC_IN_GRAPHS;
        let device = CudaDevice {
            context,
            name,
            limits,
            launches_programmatically,
            stores,
            kernels,
            tuned,
            operators,
            panics,
            sides: Sides::new(host_memory),
            staging,
            workspaces,
            lanes,
        };
        device.check_alive()?;
        Ok(device)
    }

    /// Whether it copies memory of the host without a copy in between: memory that is page-locked, and longer than what
    /// kernels read where the host has copied it.
    pub(crate) fn copies_directly(&self, start: *const u8, bytes: usize) -> bool {
        let is_copied = !self.staging.is_mapped(bytes);
        is_copied && self.context.bind_to_thread().is_ok() && is_page_locked(start, bytes)
    }

    /// Uninitialised device memory for `len` elements.
    ///
    /// # Safety
    ///
    /// As for [`CudaStream::alloc`].
    pub(crate) unsafe fn slice<T: DeviceRepr>(
        &self,
        stream: &Arc<CudaStream>,
        len: usize,
    ) -> Result<CudaSlice<T>, Error> {
        let bytes = len.checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
        let requested = bytes.map_or(u64::MAX, |bytes| bytes as u64);
        let allocate = || match bytes {
            // SAFETY: the caller guarantees it.
            Some(_) => unsafe { stream.alloc::<T>(len) },
            // cudarc does not check the multiplication.
            None => Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)),
        };
        let allocated = match allocate() {
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                self.free_idle_memory();
                allocate()
            }
            allocated => allocated,
        };
        let slice = allocated.map_err(|error| named(out_of_memory_or(stream, requested, error)))?;
        allocated_on_device(requested);
        Ok(slice)
    }

    /// Whether the result of a reduction with this operator is the total of a scan.
    pub(crate) fn totals_are_results(&self, op: &dyn Erased) -> bool {
        if let Some(known) = read(&self.operators).get(&op.id()) {
            return *known;
        }
        *write(&self.operators).entry(op.id()).or_insert_with(|| op.source().totals_are_results())
    }

    /// An error if the stream is being captured: the graph would copy from this call's memory at every launch.
    pub(crate) fn refuse_capture(&self, stream: &CudaStream) -> Result<(), Error> {
        if is_captured(stream)? { Err(Error::Captured) } else { Ok(()) }
    }

    /// An error if `stream`, to which the `what` of a call belongs, is of another context.
    pub(crate) fn check_context(&self, what: &'static str, stream: &CudaStream) -> Result<(), Error> {
        if stream.context() == &self.context { Ok(()) } else { Err(Error::ForeignContext { what }) }
    }
}

/// Creates the context, which takes a tenth of a second. Meanwhile another thread does work that a process does once,
/// and that its first call would have to do.
fn make_context(index: usize, stores: &Stores) -> Result<Arc<CudaContext>, Error> {
    static WARM: Once = Once::new();
    let caller = &Caller::new();
    thread::scope(|scope| {
        let mut warming_up = None;
        WARM.call_once(|| {
            let warm_up = || caller.help(|| warm_up(index, stores));
            // Without a thread, the first call does it.
            warming_up = thread::Builder::new().name("scan-warm-up".to_owned()).spawn_scoped(scope, warm_up).ok();
        });
        let context = CudaContext::new(index).map_err(driver_error("creating the context"));
        // An error there recurs in the first call, which reports it.
        if let Some(Err(panic)) = warming_up.map(|thread| thread.join()) {
            discard(panic);
        }
        context
    })
}

/// Parses the templates of kernels, and loads and sets up NVRTC if it will probably be needed: if no kernels are
/// compiled already. If there are kernels on disk, they may be all that is needed.
fn warm_up(index: usize, stores: &Stores) {
    let (operator, limits) = (Erased::source(&crate::ops::sum::<u32>()), DeviceLimits::BASELINE);
    let plans = scan_codegen::plan(&operator, &ScanSpec::inclusive(), &limits, &Overrides::default());
    drop(plans.map(|plans| scan_codegen::render(&operator, plans.longest())));
    if stores.are_empty() {
        drop(device(index).and_then(limits_of).and_then(|limits| nvrtc::warm_up(limits.architecture)));
    }
}

/// The driver's library. cudarc, which loads it too, panics where there is none.
fn driver() -> Result<&'static Library, Error> {
    static DRIVER: OnceLock<Library> = OnceLock::new();
    if let Some(library) = DRIVER.get() {
        return Ok(library);
    }
    let linked = library_filename("cuda").to_string_lossy().into_owned();
    let versioned = format!("{linked}.1");
    // cudarc tries these names, too.
    let names = [versioned.clone(), linked, library_filename("nvcuda").to_string_lossy().into_owned()];
    // SAFETY: loading the driver's library runs its initialisers, which do nothing but set it up.
    let library = names.iter().find_map(|name| unsafe { Library::new(name) }.ok());
    let library = library.ok_or(Error::NoDriver { library: versioned })?;
    Ok(DRIVER.get_or_init(|| library))
}

/// The milliseconds between two events of a stream, whose work has been enqueued.
#[doc(hidden)]
pub fn milliseconds_between(start: &CudaEvent, end: &CudaEvent) -> Result<f32, Error> {
    let failed = driver_error("reading a time");
    end.synchronize().map_err(&failed)?;
    let mut milliseconds = 0.0;
    // With bindings of CUDA 13, cudarc calls the function's second version, which drivers before 12.8 do not have.
    // SAFETY: the function has this type in every version, the pointer is good for a write, and the events are alive.
    let result = unsafe {
        let function = driver()?
            .get::<unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult>("cuEventElapsedTime");
        function.map_or(sys::CUresult::CUDA_ERROR_NOT_FOUND, |elapsed| {
            elapsed(&mut milliseconds, start.cu_event(), end.cu_event())
        })
    };
    result.result().map_err(failed)?;
    Ok(milliseconds)
}

/// The number of devices that the driver sees.
fn device_count() -> Result<usize, Error> {
    driver()?;
    let no_device = |error| match driver_error("initialising")(error) {
        Error::Driver { source, .. } => Error::NoDevice { source: Some(source) },
        other => other,
    };
    result::init().map_err(no_device)?;
    let count = result::device::get_count().map_err(no_device)?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// A CUDA device of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its number.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// The limits that plans are made for.
    pub limits: DeviceLimits,
    /// Bytes of its memory.
    pub memory: u64,
}

/// The CUDA devices of this machine. Only the driver is loaded, and no context is created.
///
/// # Errors
///
/// [`Error::NoDriver`], [`Error::NoDevice`], or [`Error::Driver`].
pub fn devices() -> Result<Vec<DeviceInfo>, Error> {
    (0..device_count()?)
        .map(|index| {
            let device = device(index)?;
            let name = result::device::get_name(device).map_err(driver_error("reading the device's name"))?;
            // SAFETY: the device was just given by the driver.
            let memory = unsafe { result::device::total_mem(device) };
            let memory = memory.map_err(driver_error("reading the device's memory"))? as u64;
            Ok(DeviceInfo { index, name, limits: limits_of(device)?, memory })
        })
        .collect()
}

fn device(index: usize) -> Result<sys::CUdevice, Error> {
    c_int::try_from(index)
        .map_err(|_| DriverError(sys::CUresult::CUDA_ERROR_INVALID_DEVICE))
        .and_then(result::device::get)
        .map_err(driver_error("opening the device"))
}

/// The newest CUDA version that the driver supports, as (major, minor).
///
/// # Errors
///
/// [`Error::NoDriver`] or [`Error::Driver`].
pub fn driver_version() -> Result<(u32, u32), Error> {
    driver()?;
    let mut version: c_int = 0;
    // SAFETY: the driver's library is there, and the pointer is good for a write.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(driver_error("asking for its version"))?;
    let version = u32::try_from(version).unwrap_or(0);
    Ok((version / 1000, version % 1000 / 10))
}

fn limits_of(device: sys::CUdevice) -> Result<DeviceLimits, Error> {
    use sys::CUdevice_attribute_enum as Attribute;
    let read = |attribute| {
        // SAFETY: the device was given by the driver.
        let value = unsafe { result::device::get_attribute(device, attribute) };
        let value = value.map_err(driver_error("reading the device's limits"))?;
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

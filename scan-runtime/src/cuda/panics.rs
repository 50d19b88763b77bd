//! Finds the operator that panicked. A kernel that panics destroys the whole context, and the driver does not say which
//! kernel it was. So a panic first sets a mark in host memory.

use std::{
    alloc::{self, Layout},
    ptr,
    sync::{
        Arc, Mutex, OnceLock, Weak,
        atomic::{AtomicU32, Ordering},
    },
};

use cudarc::driver::{CudaContext, CudaModule, result, sys};
use scan_codegen::KernelSource;

use super::{CudaDevice, driver_error, lock};
use crate::Error;

/// The variable of a module with the address of its mark; see `prelude/intrinsics.cu.tera`.
const PLACE: &str = "scan_panicked";
/// The maximum number of operators with a mark of their own.
const MARKS: usize = 1024;

/// The marks of a device's operators.
#[derive(Debug)]
pub(super) struct Panics {
    // Registered in the context, so before it.
    marks: OnceLock<Option<Marks>>,
    context: Arc<CudaContext>,
    /// The operator of each mark.
    operators: Mutex<Vec<String>>,
}

/// The marks of all scanners: a context that one of them loses is lost to all.
static ALL: Mutex<Vec<Weak<Panics>>> = Mutex::new(Vec::new());

impl Panics {
    pub(super) fn new(context: &Arc<CudaContext>) -> Arc<Self> {
        let panics = Arc::new(Panics { marks: OnceLock::new(), context: context.clone(), operators: Mutex::default() });
        let mut all = lock(&ALL);
        all.retain(|panics| panics.strong_count() > 0);
        all.push(Arc::downgrade(&panics));
        panics
    }

    /// Gives a mark to the module of an operator that can panic. The context is bound.
    pub(super) fn listen(&self, module: &Arc<CudaModule>, source: &KernelSource, operator: &str) -> Result<(), Error> {
        // A module that cannot panic has no such variable. A lookup of it would show as an error in a trace of the
        // driver's calls.
        if !source.text.contains(PLACE) {
            return Ok(());
        }
        let failed = driver_error("preparing for panics");
        let stream = self.context.default_stream();
        let Ok(variable) = module.get_global(PLACE, &stream) else { return Ok(()) };
        let Some(marks) = self.marks.get_or_init(Marks::new) else { return Ok(()) };
        let index = {
            let mut operators = lock(&self.operators);
            if operators.len() == MARKS {
                return Ok(());
            }
            operators.push(operator.to_owned());
            operators.len() - 1
        };
        let place = (marks.device + 4 * index as u64).to_le_bytes();
        let (pointer, _writing) = cudarc::driver::DevicePtr::device_ptr(&variable, &stream);
        // SAFETY: the variable is a pointer of this module.
        unsafe { result::memcpy_htod_sync(pointer, &place) }.map_err(&failed)?;
        // The driver may return before the last bytes have arrived, and other streams do not wait for this one.
        // SAFETY: the null stream always exists.
        unsafe { result::stream::synchronize(ptr::null_mut()) }.map_err(failed)
    }

    /// The operators that have panicked.
    fn panicked(&self) -> Vec<String> {
        let Some(Some(marks)) = self.marks.get() else { return Vec::new() };
        let operators = lock(&self.operators);
        operators.iter().enumerate().filter(|(index, _)| marks.is_set(*index)).map(|(_, name)| name.clone()).collect()
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        // The marks are dropped next, and the driver looks them up in the bound context. If this fails, there is none.
        self.context.record_err(self.context.bind_to_thread());
    }
}

impl CudaDevice {
    /// Checks whether the context can still be used, without waiting for work in progress.
    pub(crate) fn check_alive(&self) -> Result<(), Error> {
        // cudarc's own function would report the error of an earlier call, and clear it.
        // SAFETY: the context is alive, and the null stream always exists.
        let state = unsafe {
            result::ctx::set_current(self.context.cu_ctx()).and_then(|()| sys::cuStreamQuery(ptr::null_mut()).result())
        };
        match state.map_err(driver_error("asking for the context's state")) {
            Err(lost @ Error::ContextLost { .. }) => Err(named(lost)),
            // Work in progress is not an error.
            _ => Ok(()),
        }
    }
}

/// Names the operator whose panic caused an error. It may have been on another device: with one context, driver
/// 580 destroys every other one of the process.
pub(crate) fn named(error: Error) -> Error {
    let Error::ContextLost { source, .. } = error else { return error };
    let panics: Vec<_> = lock(&ALL).iter().filter_map(Weak::upgrade).collect();
    let mut operators: Vec<_> = panics.iter().flat_map(|panics| panics.panicked()).collect();
    operators.sort();
    operators.dedup();
    match operators.is_empty() {
        true => error,
        false => Error::KernelTrapped { operator: operators.join("`, `"), source },
    }
}

/// Words of host memory that the device can write.
#[derive(Debug)]
struct Marks {
    words: ptr::NonNull<u8>,
    device: sys::CUdeviceptr,
}

// SAFETY: the memory is read atomically only, and written by the device only.
unsafe impl Send for Marks {}
// SAFETY: as above.
unsafe impl Sync for Marks {}

impl Marks {
    /// Whole pages, which no other registration overlaps. They are host memory, so that they outlive a lost context.
    const LAYOUT: Layout = match Layout::from_size_align(4 * MARKS, 4096) {
        Ok(layout) => layout,
        Err(_) => Layout::new::<[u32; MARKS]>(),
    };

    /// Registers memory in the bound context; `None` if that fails: then errors do not name the operator.
    fn new() -> Option<Self> {
        // SAFETY: the layout has a size.
        let words = ptr::NonNull::new(unsafe { alloc::alloc_zeroed(Self::LAYOUT) })?;
        let mut marks = Marks { words, device: 0 };
        let (host, flags) = (words.as_ptr().cast(), sys::CU_MEMHOSTREGISTER_DEVICEMAP);
        // SAFETY: the memory is alive until it is unregistered.
        unsafe {
            sys::cuMemHostRegister_v2(host, Self::LAYOUT.size(), flags).result().ok()?;
            sys::cuMemHostGetDevicePointer_v2(&mut marks.device, host, 0).result().ok()?;
        }
        Some(marks)
    }

    fn is_set(&self, index: usize) -> bool {
        // SAFETY: the index is one of the marks', whose memory is alive; the device writes whole words.
        unsafe { AtomicU32::from_ptr(self.words.as_ptr().cast::<u32>().add(index)) }.load(Ordering::Relaxed) != 0
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        // SAFETY: it is registered, or the call is refused, also in a lost context. No kernel is left that could write
        // it, because each holds the marks.
        let _ = unsafe { sys::cuMemHostUnregister(self.words.as_ptr().cast()) };
        // SAFETY: it was allocated with this layout.
        unsafe { alloc::dealloc(self.words.as_ptr(), Self::LAYOUT) };
    }
}

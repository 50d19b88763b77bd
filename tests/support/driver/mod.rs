//! A CUDA driver and an NVRTC that record instead of executing, so that a machine without a GPU shows what a call does
//! on the device: which functions of the driver it calls, in which order, with what sizes and arguments.
//!
//! [`start`] must come before anything else loads the driver. From then on every device of this process is a recorder
//! with the limits of an H100. Device memory is host memory, and copies are done. Kernels are not compiled: their
//! launches are recorded with all arguments, whose types are read from the text of the kernel, and then
//! act as if each operator gave its right operand.
//!
//! Memory, streams and events are named in the order in which a record mentions them: `d0` in device memory, `h0` in
//! page-locked memory of the host, `s0` a stream, `e0` an event, `g0` a graph; `d0+16` is 16 bytes from the beginning,
//! `host` any other memory of the host, and `?` what is no memory of this driver. The events of a slice of cudarc's are
//! `d0.read` and `d0.write`; waits in a row, and events recorded in a row, are sorted. Queries are not recorded.
//!
//! It serves one thread: records of calls that run at the same time mix.

mod compiler;
mod functions;
mod kernels;
mod library;
mod lost;
mod state;
mod types;

use std::sync::{Arc, OnceLock};

use scan_runtime::{DeviceBuffer, cudarc::driver::CudaStream, nvrtc::LIBRARY_VARIABLE};

use state::{DEVICE_BYTES, Kind, state};

/// Makes this the driver of the process.
///
/// # Errors
///
/// Without a C++ compiler.
///
/// # Safety
///
/// No other thread may run, because this sets a variable of the environment; and nothing may have loaded the driver.
pub unsafe fn start() -> Result<(), String> {
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    STARTED
        .get_or_init(|| {
            let functions: Vec<_> =
                functions::FUNCTIONS.iter().chain(compiler::FUNCTIONS).map(|function| function()).collect();
            let library = library::open(&functions)?;
            // SAFETY: the caller guarantees it.
            unsafe { std::env::set_var(LIBRARY_VARIABLE, library) };
            Ok(())
        })
        .clone()
}

/// What a call does on the device.
pub fn record<T>(call: impl FnOnce() -> T) -> (T, String) {
    state().begin();
    let result = call();
    let record = state().end();
    (result, record)
}

/// Forgets all names, so that the next record begins with the first of each kind.
pub fn forget_names() {
    state().forget_names();
}

/// The name of device memory in records.
pub fn name<T>(buffer: &impl DeviceBuffer<T>, name: &str) {
    let (address, _reading) = buffer.device_ptr(buffer.stream());
    state().name_memory(address, name);
}

/// The name of a stream in records.
pub fn name_stream(stream: &Arc<CudaStream>, name: &str) {
    state().name_object(stream.cu_stream() as usize, name);
}

/// How many pieces of device memory are allocated, and of page-locked memory.
pub fn allocations() -> (usize, usize) {
    let state = state();
    (state.count(Kind::Device), state.count(Kind::PageLocked))
}

/// Lets so many bytes of device memory be allocated, until what this returns is dropped.
pub fn limit_device_memory(bytes: u64) -> Limit {
    state().device_bytes = bytes;
    Limit(())
}

/// Has compilations wait until what this returns is dropped.
pub fn hold_compiler() -> Held {
    compiler::hold(true);
    Held(())
}

/// Compilations wait until this is dropped.
#[derive(Debug)]
#[must_use = "compilations go on when this is dropped"]
pub struct Held(());

impl Drop for Held {
    fn drop(&mut self) {
        compiler::hold(false);
    }
}

/// From now on compilations fail when they end, or succeed.
pub fn fail_compiler(fails: bool) {
    compiler::fail(fails);
}

/// How many compilations have begun, and how many have ended.
pub fn compilations() -> (usize, usize) {
    compiler::compilations()
}

/// From the call of the driver after so many on, the device is lost; or it is not.
pub fn lose_device(after: Option<usize>) {
    lost::after(after);
}

/// A [limit](limit_device_memory) that holds until this is dropped.
#[derive(Debug)]
#[must_use = "the limit ends when this is dropped"]
pub struct Limit(());

impl Drop for Limit {
    fn drop(&mut self) {
        state().device_bytes = DEVICE_BYTES;
    }
}

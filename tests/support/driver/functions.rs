//! The driver's functions. What is enqueued is done at once.

use std::{
    cell::Cell,
    collections::BTreeMap,
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    ptr, slice,
};

use scan_runtime::cudarc::driver::sys::{
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute, CUgraph,
    CUgraphExec, CUlaunchAttributeID, CUlaunchConfig, CUmodule, CUresult, CUstream, CUstreamCaptureMode,
    CUstreamCaptureStatus,
};

use super::{
    compiler::MARK,
    kernels::Launch,
    library::Function,
    lost,
    state::{DEVICE_BYTES, Kind, State, state},
    types::Type,
};

use CUresult::*;

/// Two devices: what belongs to another one must be refused.
const DEVICES: c_int = 2;
const MEMORY: usize = DEVICE_BYTES as usize;
/// An H100's.
const SHARED_BYTES: u32 = 227 << 10;
const NAME: &CStr = c"Recorder of H100";

thread_local! {
    /// The context that is bound.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// Defines functions, and lists them.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $ty:ty),*) $body:block)*) => {
        $(
            #[allow(non_snake_case, reason = "the driver's names")]
            unsafe extern "C" fn $name($($argument: $ty),*) -> CUresult {
                if lost::is(stringify!($name)) { CUDA_ERROR_LAUNCH_FAILED } else $body
            }
        )*

        pub(super) const FUNCTIONS: &[fn() -> Function] = &[$(|| (stringify!($name), $name as *const () as usize)),*];
    };
}

/// # Safety
///
/// The pointer is good for a write.
unsafe fn put<T>(place: *mut T, value: T) -> CUresult {
    // SAFETY: the caller guarantees it.
    unsafe { place.write(value) };
    CUDA_SUCCESS
}

fn known(is_known: bool) -> CUresult {
    if is_known { CUDA_SUCCESS } else { CUDA_ERROR_INVALID_HANDLE }
}

fn stream_name(state: &mut State, stream: CUstream) -> String {
    state.object(stream as usize, "s")
}

fn allocate(bytes: usize, kind: Kind) -> (std::sync::MutexGuard<'static, State>, Result<u64, CUresult>) {
    let mut state = state();
    if bytes == 0 {
        return (state, Err(CUDA_ERROR_INVALID_VALUE));
    }
    let allocated = state.allocate(bytes, kind).ok_or(CUDA_ERROR_OUT_OF_MEMORY);
    if allocated.is_err() {
        state.say(|_| format!("no memory for {bytes} bytes"));
    }
    (state, allocated)
}

/// A name for the contents of memory.
///
/// # Safety
///
/// The memory has these bytes.
unsafe fn digest(address: u64, bytes: usize) -> String {
    // SAFETY: the caller guarantees it.
    let bytes = unsafe { slice::from_raw_parts(address as *const u8, bytes) };
    blake3::hash(bytes).to_hex()[..8].to_owned()
}

/// What the host sends: an address, or anything else.
///
/// # Safety
///
/// The memory has these bytes.
unsafe fn contents(state: &mut State, address: u64, bytes: usize) -> String {
    if bytes == size_of::<u64>() {
        // SAFETY: the caller guarantees it.
        let word = unsafe { (address as *const u64).read_unaligned() };
        if word != 0 && state.holds(word, 0) {
            return format!("address of {}", state.place(word));
        }
    }
    // SAFETY: as above.
    unsafe { digest(address, bytes) }
}

/// A copy, done at once unless it goes into a graph. `device` are the ends that must be memory of this driver.
///
/// # Safety
///
/// Host memory has these bytes.
unsafe fn copy(to: (u64, bool), from: (u64, bool), bytes: usize, stream: Option<CUstream>) -> CUresult {
    let mut state = state();
    if [to, from].iter().any(|(address, on_device)| *on_device && !state.holds(*address, bytes)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if stream.is_none() && state.captures() {
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    state.say(|state| {
        let mut name = |(address, on_device)| if on_device { state.place(address) } else { state.host_place(address) };
        let (source, target) = (name(from), name(to));
        // What kernels have written is not known; what the host sends is.
        let sent = match from.1 {
            true => String::new(),
            // SAFETY: the caller guarantees these bytes.
            false => format!(" ({})", unsafe { contents(state, from.0, bytes) }),
        };
        match stream {
            Some(stream) => {
                format!("copy {bytes} bytes{sent}, {source} to {target}, on {}", stream_name(state, stream))
            }
            None => format!("copy {bytes} bytes{sent}, {source} to {target}, and wait"),
        }
    });
    if stream.is_none_or(|stream| !state.is_capturing(stream as usize)) {
        // SAFETY: the caller guarantees it for host memory; the rest has been looked up.
        unsafe { ptr::copy(from.0 as *const u8, to.0 as *mut u8, bytes) };
    }
    CUDA_SUCCESS
}

fn set(to: u64, byte: u8, bytes: usize, stream: Option<CUstream>) -> CUresult {
    let mut state = state();
    if !state.holds(to, bytes) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    state.say(|state| {
        let place = state.place(to);
        let on = stream.map_or(", and wait".to_owned(), |stream| format!(", on {}", stream_name(state, stream)));
        format!("set {bytes} bytes to {byte}, {place}{on}")
    });
    if stream.is_none_or(|stream| !state.is_capturing(stream as usize)) {
        // SAFETY: the memory has these bytes.
        unsafe { (to as *mut u8).write_bytes(byte, bytes) };
    }
    CUDA_SUCCESS
}

/// Blocks, threads of a block, and bytes of dynamic shared memory of a launch.
struct Shape {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
}

/// # Safety
///
/// There are as many arguments as the kernel takes.
unsafe fn launch(
    function: CUfunction,
    shape: Shape,
    stream: CUstream,
    arguments: *mut *mut c_void,
    way: &str,
) -> CUresult {
    let mut state = state();
    let Some(function) = state.function(function as usize) else { return CUDA_ERROR_INVALID_HANDLE };
    let Shape { grid, block, shared_bytes } = shape;
    let [blocks, threads] = [grid, block].map(|[x, y, z]| x * y * z);
    if shared_bytes > function.shared_bytes || blocks == 0 || threads == 0 || threads > 1024 {
        return CUDA_ERROR_INVALID_VALUE;
    }
    let kernel = function.kernel.clone();
    let bytes = |index: usize, ty: &Type| {
        // SAFETY: the caller guarantees the argument, which has the size of its type.
        unsafe { slice::from_raw_parts((*arguments.add(index)).cast::<u8>(), ty.bytes) }
    };
    let parameters = || kernel.parameters.iter().enumerate();
    let mut of_host = BTreeMap::new();
    state.say(|state| {
        let mut line = format!("launch {} on {}: ", kernel.name, stream_name(state, stream));
        let count = |count: u32, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        line.push_str(&format!("{} of {}", count(blocks, "block"), count(threads, "thread")));
        if shared_bytes > 0 {
            line.push_str(&format!(", {shared_bytes} bytes of shared memory"));
        }
        line.push_str(way);
        for (index, (name, ty)) in parameters() {
            let value = match ty {
                Err(unknown) => format!("unknown: {unknown}"),
                Ok(ty) => ty.show(bytes(index, ty), &mut |address| {
                    of_host.extend(state.page_locked(address));
                    state.place(address)
                }),
            };
            line.push_str(&format!("\n    {name}: {value}"));
        }
        // What the kernel reads there has been written by the host, and by no copy.
        for (start, bytes) in of_host {
            // SAFETY: the memory has these bytes.
            let digest = unsafe { digest(start, bytes) };
            line.push_str(&format!("\n    with {digest} in {}", state.place(start)));
        }
        line
    });
    if !state.is_capturing(stream as usize) {
        let arguments = parameters().map(|(index, (_, ty))| ty.as_ref().map_or(&[][..], |ty| bytes(index, ty)));
        let launch = Launch { kernel: &kernel, arguments: arguments.collect(), blocks: u64::from(blocks) };
        if !launch.execute(&mut state) {
            state.say(|_| "    unknown: what the kernel does with these arguments".to_owned());
        }
    }
    CUDA_SUCCESS
}

functions! {
    fn cuInit(_flags: c_uint) {
        CUDA_SUCCESS
    }

    // NVRTC keeps what it compiles by a table of the driver's, and goes on without one.
    fn cuGetExportTable(_table: *mut *const c_void, _of: *const c_void) {
        CUDA_ERROR_NOT_FOUND
    }

    fn cuDriverGetVersion(version: *mut c_int) {
        // SAFETY: the caller gives a place for it.
        unsafe { put(version, 13_000) }
    }

    fn cuGetErrorName(_error: CUresult, name: *mut *const c_char) {
        // SAFETY: the caller gives a place for it.
        unsafe { put(name, c"an error of the recorder".as_ptr()) }
    }

    fn cuGetErrorString(_error: CUresult, text: *mut *const c_char) {
        // SAFETY: the caller gives a place for it.
        unsafe { put(text, c"an error of the recorder".as_ptr()) }
    }

    // ---- devices and contexts -----------------------------------------------------

    fn cuDeviceGetCount(count: *mut c_int) {
        // SAFETY: the caller gives a place for it.
        unsafe { put(count, DEVICES) }
    }

    fn cuDeviceGet(device: *mut CUdevice, index: c_int) {
        if index >= DEVICES {
            return CUDA_ERROR_INVALID_DEVICE;
        }
        // SAFETY: the caller gives a place for it.
        unsafe { put(device, index) }
    }

    fn cuDeviceGetName(name: *mut c_char, bytes: c_int, _device: CUdevice) {
        let text = NAME.to_bytes_with_nul();
        // SAFETY: the caller gives so many bytes.
        unsafe { text.as_ptr().copy_to_nonoverlapping(name.cast(), text.len().min(bytes as usize)) };
        CUDA_SUCCESS
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: CUdevice) {
        // SAFETY: the caller gives a place for it.
        unsafe { put(bytes, MEMORY) }
    }

    fn cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, _device: CUdevice) {
        use CUdevice_attribute::*;
        let found = match attribute {
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => 9,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => 0,
            CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => 132,
            CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK => 1024,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK => 48 << 10,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => SHARED_BYTES as c_int,
            CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X => c_int::MAX,
            CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED => 1,
            _ => return CUDA_ERROR_INVALID_VALUE,
        };
        // SAFETY: the caller gives a place for it.
        unsafe { put(value, found) }
    }

    fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) {
        // SAFETY: the caller gives a place for it.
        unsafe { put(context, (0x100 + 0x10 * device as usize) as CUcontext) }
    }

    fn cuDevicePrimaryCtxRelease_v2(_device: CUdevice) {
        CUDA_SUCCESS
    }

    fn cuCtxSetCurrent(context: CUcontext) {
        CURRENT.set(context as usize);
        CUDA_SUCCESS
    }

    fn cuCtxGetCurrent(context: *mut CUcontext) {
        // SAFETY: the caller gives a place for it.
        unsafe { put(context, CURRENT.get() as CUcontext) }
    }

    fn cuCtxSynchronize() {
        let mut state = state();
        if state.captures() {
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
        state.say(|_| "wait for the device".to_owned());
        CUDA_SUCCESS
    }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        // SAFETY: the caller gives places for both.
        unsafe {
            put(free, MEMORY);
            put(total, MEMORY)
        }
    }

    // ---- memory -------------------------------------------------------------------

    fn cuMemAlloc_v2(pointer: *mut CUdeviceptr, bytes: usize) {
        if state().captures() {
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
        let (mut state, allocated) = allocate(bytes, Kind::Device);
        match allocated {
            Ok(address) => {
                state.say(|state| format!("allocate {bytes} bytes, {}", state.place(address)));
                // SAFETY: the caller gives a place for it.
                unsafe { put(pointer, address) }
            }
            Err(error) => error,
        }
    }

    fn cuMemAllocAsync(pointer: *mut CUdeviceptr, bytes: usize, stream: CUstream) {
        let (mut state, allocated) = allocate(bytes, Kind::Device);
        match allocated {
            Ok(address) => {
                state.say_of_slice(|state| {
                    format!("allocate {bytes} bytes, {}, on {}", state.place(address), stream_name(state, stream))
                });
                // SAFETY: the caller gives a place for it.
                unsafe { put(pointer, address) }
            }
            Err(error) => error,
        }
    }

    fn cuMemFree_v2(pointer: CUdeviceptr) {
        let mut state = state();
        if state.captures() {
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
        state.say(|state| format!("free {}", state.place(pointer)));
        known(state.free(pointer, Kind::Device))
    }

    fn cuMemFreeAsync(pointer: CUdeviceptr, stream: CUstream) {
        let mut state = state();
        state.say(|state| format!("free {}, on {}", state.place(pointer), stream_name(state, stream)));
        known(state.free(pointer, Kind::Device))
    }

    fn cuMemHostAlloc(pointer: *mut *mut c_void, bytes: usize, _flags: c_uint) {
        if state().captures() {
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
        let (mut state, allocated) = allocate(bytes, Kind::PageLocked);
        match allocated {
            Ok(address) => {
                state.say(|state| format!("allocate {bytes} bytes, page-locked, {}", state.place(address)));
                // SAFETY: the caller gives a place for it.
                unsafe { put(pointer, address as *mut c_void) }
            }
            Err(error) => error,
        }
    }

    fn cuMemFreeHost(pointer: *mut c_void) {
        let mut state = state();
        state.say(|state| format!("free {}", state.place(pointer as u64)));
        known(state.free(pointer as u64, Kind::PageLocked))
    }

    fn cuMemHostRegister_v2(pointer: *mut c_void, bytes: usize, _flags: c_uint) {
        let mut state = state();
        state.register(pointer as u64, bytes);
        state.say(|state| format!("register {bytes} bytes of the host, {}", state.place(pointer as u64)));
        CUDA_SUCCESS
    }

    fn cuMemHostUnregister(pointer: *mut c_void) {
        let mut state = state();
        state.say(|state| format!("unregister {}", state.place(pointer as u64)));
        known(state.free(pointer as u64, Kind::Registered))
    }

    fn cuMemHostGetDevicePointer_v2(device: *mut CUdeviceptr, host: *mut c_void, _flags: c_uint) {
        if state().page_locked(host as u64).is_none() {
            return CUDA_ERROR_INVALID_VALUE;
        }
        // SAFETY: the caller gives a place for it.
        unsafe { put(device, host as u64) }
    }

    fn cuMemHostGetFlags(flags: *mut c_uint, host: *mut c_void) {
        if state().page_locked(host as u64).is_none() {
            return CUDA_ERROR_INVALID_VALUE;
        }
        // SAFETY: the caller gives a place for it.
        unsafe { put(flags, 0) }
    }

    fn cuMemsetD8_v2(to: CUdeviceptr, byte: u8, bytes: usize) {
        set(to, byte, bytes, None)
    }

    fn cuMemsetD8Async(to: CUdeviceptr, byte: u8, bytes: usize, stream: CUstream) {
        set(to, byte, bytes, Some(stream))
    }

    fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize) {
        // SAFETY: the caller guarantees it.
        unsafe { copy((to, true), (from as u64, false), bytes, None) }
    }

    fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize) {
        // SAFETY: the caller guarantees it.
        unsafe { copy((to as u64, false), (from, true), bytes, None) }
    }

    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream) {
        // SAFETY: the caller guarantees it.
        unsafe { copy((to, true), (from as u64, false), bytes, Some(stream)) }
    }

    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        // SAFETY: the caller guarantees it.
        unsafe { copy((to as u64, false), (from, true), bytes, Some(stream)) }
    }

    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        // SAFETY: the caller guarantees it.
        unsafe { copy((to, true), (from, true), bytes, Some(stream)) }
    }

    // ---- streams ------------------------------------------------------------------

    fn cuStreamCreate(stream: *mut CUstream, _flags: c_uint) {
        let mut state = state();
        let handle = state.new_object();
        state.say(|state| format!("create {}", state.object(handle, "s")));
        // SAFETY: the caller gives a place for it.
        unsafe { put(stream, handle as CUstream) }
    }

    fn cuStreamDestroy_v2(stream: CUstream) {
        let mut state = state();
        state.say(|state| format!("destroy {}", stream_name(state, stream)));
        known(state.forget_object(stream as usize))
    }

    fn cuStreamQuery(_stream: CUstream) {
        CUDA_SUCCESS
    }

    fn cuStreamSynchronize(stream: CUstream) {
        let mut state = state();
        if state.captures() {
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
        state.say(|state| format!("wait for {}", stream_name(state, stream)));
        CUDA_SUCCESS
    }

    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, _flags: c_uint) {
        let mut state = state();
        state.say(|state| {
            format!("{} waits for {}", stream_name(state, stream), state.object(event as usize, "e"))
        });
        CUDA_SUCCESS
    }

    fn cuStreamWriteValue64_v2(stream: CUstream, to: CUdeviceptr, value: u64, _flags: c_uint) {
        let mut state = state();
        if !state.holds(to, 8) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        state.say(|state| format!("write {value} to {}, on {}", state.place(to), stream_name(state, stream)));
        if !state.is_capturing(stream as usize) {
            // SAFETY: the memory has these bytes.
            unsafe { (to as *mut u64).write_unaligned(value) };
        }
        CUDA_SUCCESS
    }

    fn cuStreamWaitValue64_v2(stream: CUstream, at: CUdeviceptr, value: u64, _flags: c_uint) {
        let mut state = state();
        state.say(|state| {
            format!("{} waits until {} is {value} or more", stream_name(state, stream), state.place(at))
        });
        CUDA_SUCCESS
    }

    // ---- graphs -------------------------------------------------------------------

    fn cuStreamIsCapturing(stream: CUstream, status: *mut CUstreamCaptureStatus) {
        let captures = state().is_capturing(stream as usize);
        let found = match captures {
            true => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE,
            false => CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE,
        };
        // SAFETY: the caller gives a place for it.
        unsafe { put(status, found) }
    }

    fn cuStreamBeginCapture_v2(stream: CUstream, _mode: CUstreamCaptureMode) {
        let mut state = state();
        state.set_capturing(stream as usize, true);
        state.say(|state| format!("begin to capture {}", stream_name(state, stream)));
        CUDA_SUCCESS
    }

    fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph) {
        let mut state = state();
        state.set_capturing(stream as usize, false);
        let handle = state.new_object();
        state.say(|state| format!("end to capture {}: {}", stream_name(state, stream), state.object(handle, "g")));
        // SAFETY: the caller gives a place for it.
        unsafe { put(graph, handle as CUgraph) }
    }

    fn cuGraphInstantiateWithFlags(made: *mut CUgraphExec, graph: CUgraph, _flags: u64) {
        // SAFETY: the caller gives a place for it.
        unsafe { put(made, graph as usize as CUgraphExec) }
    }

    fn cuGraphLaunch(graph: CUgraphExec, stream: CUstream) {
        let mut state = state();
        state.say(|state| format!("launch {} on {}", state.object(graph as usize, "g"), stream_name(state, stream)));
        CUDA_SUCCESS
    }

    fn cuGraphExecDestroy(_graph: CUgraphExec) {
        CUDA_SUCCESS
    }

    fn cuGraphDestroy(graph: CUgraph) {
        known(state().forget_object(graph as usize))
    }

    // ---- events -------------------------------------------------------------------

    fn cuEventCreate(event: *mut CUevent, _flags: c_uint) {
        let mut state = state();
        let handle = state.new_event();
        state.say_of_slice(|state| format!("create {}", state.object(handle, "e")));
        // SAFETY: the caller gives a place for it.
        unsafe { put(event, handle as CUevent) }
    }

    fn cuEventDestroy_v2(event: CUevent) {
        let mut state = state();
        state.say(|state| format!("destroy {}", state.object(event as usize, "e")));
        known(state.forget_object(event as usize))
    }

    fn cuEventRecord(event: CUevent, stream: CUstream) {
        let mut state = state();
        state.say(|state| format!("record {} on {}", state.object(event as usize, "e"), stream_name(state, stream)));
        CUDA_SUCCESS
    }

    fn cuEventQuery(_event: CUevent) {
        CUDA_SUCCESS
    }

    fn cuEventSynchronize(event: CUevent) {
        let mut state = state();
        state.say(|state| format!("wait for {}", state.object(event as usize, "e")));
        CUDA_SUCCESS
    }

    // ---- modules and launches --------------------------------------------------------

    fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) {
        // SAFETY: the caller gives machine code of our compiler, which is text.
        let image = unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy();
        let Some((name, text)) = image.strip_prefix(MARK).and_then(|rest| rest.split_once('\n')) else {
            return CUDA_ERROR_INVALID_IMAGE;
        };
        let mut state = state();
        let handle = state.load(text);
        state.say(|state| format!("load {name}: {}", state.kernel_names(handle).join(", ")));
        // SAFETY: the caller gives a place for it.
        unsafe { put(module, handle as CUmodule) }
    }

    fn cuModuleUnload(module: CUmodule) {
        let mut state = state();
        state.say(|state| format!("unload {}", state.kernel_names(module as usize).join(", ")));
        known(state.unload(module as usize))
    }

    fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) {
        // SAFETY: the caller gives a string.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        match state().find_function(module as usize, &name) {
            // SAFETY: the caller gives a place for it.
            Some(handle) => unsafe { put(function, handle as CUfunction) },
            None => CUDA_ERROR_NOT_FOUND,
        }
    }

    fn cuModuleGetGlobal_v2(pointer: *mut CUdeviceptr, bytes: *mut usize, module: CUmodule, name: *const c_char) {
        // SAFETY: the caller gives a string.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        let mut state = state();
        let Some(address) = state.variable(module as usize, &name) else { return CUDA_ERROR_NOT_FOUND };
        state.name_memory(address, &name);
        // SAFETY: the caller gives places for both.
        unsafe {
            put(pointer, address);
            put(bytes, 8)
        }
    }

    fn cuFuncGetAttribute(value: *mut c_int, _attribute: CUfunction_attribute, function: CUfunction) {
        let mut state = state();
        let Some(name) = state.function(function as usize).map(|function| function.kernel.name.clone()) else {
            return CUDA_ERROR_INVALID_HANDLE;
        };
        state.say(|_| format!("look at {name}"));
        // SAFETY: the caller gives a place for it.
        unsafe { put(value, 32) }
    }

    fn cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int) {
        let mut state = state();
        let Some(function) = state.function(function as usize) else { return CUDA_ERROR_INVALID_HANDLE };
        if attribute != CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            || value as u32 > SHARED_BYTES
        {
            return CUDA_ERROR_INVALID_VALUE;
        }
        function.shared_bytes = value as u32;
        let name = function.kernel.name.clone();
        state.say(|_| format!("allow {name} {value} bytes of shared memory"));
        CUDA_SUCCESS
    }

    fn cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: CUstream,
        arguments: *mut *mut c_void,
        _extra: *mut *mut c_void
    ) {
        let shape = Shape { grid: [grid_x, grid_y, grid_z], block: [block_x, block_y, block_z], shared_bytes };
        // SAFETY: the caller gives as many arguments as the kernel takes.
        unsafe { launch(function, shape, stream, arguments, "") }
    }

    fn cuLaunchCooperativeKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: CUstream,
        arguments: *mut *mut c_void
    ) {
        let shape = Shape { grid: [grid_x, grid_y, grid_z], block: [block_x, block_y, block_z], shared_bytes };
        // SAFETY: as above.
        unsafe { launch(function, shape, stream, arguments, ", cooperative") }
    }

    fn cuLaunchKernelEx(
        config: *const CUlaunchConfig,
        function: CUfunction,
        arguments: *mut *mut c_void,
        _extra: *mut *mut c_void
    ) {
        // SAFETY: the caller gives a configuration.
        let config = unsafe { &*config };
        // SAFETY: it has so many attributes.
        let attributes = (0..config.numAttrs as usize).map(|index| unsafe { &*config.attrs.add(index) });
        let way = attributes.map(|attribute| match attribute.id {
            CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION => ", programmatic".to_owned(),
            other => format!(", {other:?}"),
        });
        let way = way.collect::<String>();
        let shape = Shape {
            grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
            block: [config.blockDimX, config.blockDimY, config.blockDimZ],
            shared_bytes: config.sharedMemBytes,
        };
        // SAFETY: as above.
        unsafe { launch(function, shape, config.hStream, arguments, &way) }
    }
}

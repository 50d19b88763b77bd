//! A compiler that does nothing: its machine code is the text, behind a line with the name of the source.

use std::{
    ffi::{CStr, c_char, c_int, c_void},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use super::{library::Function, state::state};

/// What machine code begins with.
pub(super) const MARK: &str = "recorded: ";

/// The machine code of a source.
pub(super) type Code = Vec<u8>;

const SUCCESS: c_int = 0;
const OUT_OF_MEMORY: c_int = 1;
const INVALID_PROGRAM: c_int = 4;

/// What compilations do, and how many there have been, but for those of the empty kernel that sets the compiler up.
struct Control {
    is_held: bool,
    fails: bool,
    begun: usize,
    ended: usize,
}

static CONTROL: Mutex<Control> = Mutex::new(Control { is_held: false, fails: false, begun: 0, ended: 0 });
static CHANGED: Condvar = Condvar::new();

fn control() -> MutexGuard<'static, Control> {
    CONTROL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on compilations wait, or do not wait any more.
pub(super) fn hold(is_held: bool) {
    control().is_held = is_held;
    CHANGED.notify_all();
}

/// From now on compilations fail when they end, or succeed.
pub(super) fn fail(fails: bool) {
    control().fails = fails;
}

/// How many compilations have begun, and how many have ended.
pub(super) fn compilations() -> (usize, usize) {
    let control = control();
    (control.begun, control.ended)
}

/// Defines functions, and lists them.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $ty:ty),*) -> $result:ty $body:block)*) => {
        $(
            #[allow(non_snake_case, reason = "NVRTC's names")]
            unsafe extern "C" fn $name($($argument: $ty),*) -> $result $body
        )*

        pub(super) const FUNCTIONS: &[fn() -> Function] = &[$(|| (stringify!($name), $name as *const () as usize)),*];
    };
}

/// # Safety
///
/// The pointer is good for a write.
unsafe fn put<T>(place: *mut T, value: T) -> c_int {
    // SAFETY: the caller guarantees it.
    unsafe { place.write(value) };
    SUCCESS
}

/// The code of a program.
fn code_of(program: *mut c_void) -> Option<Code> {
    state().programs.get(&(program as usize)).cloned()
}

/// # Safety
///
/// The pointer is good for a write.
unsafe fn size_of_code(program: *mut c_void, bytes: *mut usize) -> c_int {
    // SAFETY: the caller guarantees it.
    code_of(program).map_or(INVALID_PROGRAM, |code| unsafe { put(bytes, code.len()) })
}

/// # Safety
///
/// There is room for the code.
unsafe fn copy_code(program: *mut c_void, to: *mut c_char) -> c_int {
    let Some(code) = code_of(program) else { return INVALID_PROGRAM };
    // SAFETY: the caller guarantees it.
    unsafe { code.as_ptr().copy_to_nonoverlapping(to.cast(), code.len()) };
    SUCCESS
}

/// The architectures that NVRTC 13.0 compiles for.
const ARCHITECTURES: [c_int; 12] = [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121];

functions! {
    fn nvrtcVersion(major: *mut c_int, minor: *mut c_int) -> c_int {
        // SAFETY: the caller gives places for both.
        unsafe { put(major, 13) + put(minor, 0) }
    }

    fn nvrtcGetNumSupportedArchs(count: *mut c_int) -> c_int {
        // SAFETY: the caller gives a place for it.
        unsafe { put(count, ARCHITECTURES.len() as c_int) }
    }

    fn nvrtcGetSupportedArchs(architectures: *mut c_int) -> c_int {
        // SAFETY: the caller gives places for as many as have been counted.
        unsafe { ARCHITECTURES.as_ptr().copy_to_nonoverlapping(architectures, ARCHITECTURES.len()) };
        SUCCESS
    }

    fn nvrtcGetErrorString(code: c_int) -> *const c_char {
        match code {
            SUCCESS => c"NVRTC_SUCCESS".as_ptr(),
            OUT_OF_MEMORY => c"NVRTC_ERROR_OUT_OF_MEMORY".as_ptr(),
            _ => c"NVRTC_ERROR_INVALID_PROGRAM".as_ptr(),
        }
    }

    fn nvrtcCreateProgram(
        program: *mut *mut c_void,
        text: *const c_char,
        name: *const c_char,
        _headers: c_int,
        _texts: *const *const c_char,
        _names: *const *const c_char
    ) -> c_int {
        // SAFETY: the caller gives two strings.
        let (text, name) = unsafe { (CStr::from_ptr(text), CStr::from_ptr(name)) };
        let code = [MARK.as_bytes(), name.to_bytes(), b"\n", text.to_bytes_with_nul()].concat();
        let mut state = state();
        let handle = state.new_handle();
        state.programs.insert(handle, code);
        // SAFETY: the caller gives a place for it.
        unsafe { put(program, handle as *mut c_void) }
    }

    // Not recorded: what has been compiled once is kept for the whole process.
    fn nvrtcCompileProgram(program: *mut c_void, _count: c_int, _options: *const *const c_char) -> c_int {
        let Some(code) = code_of(program) else { return INVALID_PROGRAM };
        // The compiler may be set up at any time.
        let is_empty = String::from_utf8_lossy(&code).contains("void nothing()");
        if is_empty {
            return SUCCESS;
        }
        control().begun += 1;
        let held = CHANGED.wait_while(control(), |control| control.is_held);
        let mut control = held.unwrap_or_else(PoisonError::into_inner);
        control.ended += 1;
        if control.fails { OUT_OF_MEMORY } else { SUCCESS }
    }

    fn nvrtcGetProgramLogSize(_program: *mut c_void, bytes: *mut usize) -> c_int {
        // SAFETY: the caller gives a place for it.
        unsafe { put(bytes, 1) }
    }

    fn nvrtcGetProgramLog(_program: *mut c_void, log: *mut c_char) -> c_int {
        // SAFETY: the caller gives a place for one byte.
        unsafe { put(log, 0) }
    }

    fn nvrtcGetCUBINSize(program: *mut c_void, bytes: *mut usize) -> c_int {
        // SAFETY: the caller gives a place for it.
        unsafe { size_of_code(program, bytes) }
    }

    fn nvrtcGetCUBIN(program: *mut c_void, code: *mut c_char) -> c_int {
        // SAFETY: the caller gives so many bytes.
        unsafe { copy_code(program, code) }
    }

    fn nvrtcGetPTXSize(program: *mut c_void, bytes: *mut usize) -> c_int {
        // SAFETY: the caller gives a place for it.
        unsafe { size_of_code(program, bytes) }
    }

    fn nvrtcGetPTX(program: *mut c_void, code: *mut c_char) -> c_int {
        // SAFETY: the caller gives so many bytes.
        unsafe { copy_code(program, code) }
    }

    fn nvrtcDestroyProgram(program: *mut *mut c_void) -> c_int {
        // SAFETY: the caller gives the place of a program.
        state().programs.remove(&(unsafe { *program } as usize)).map_or(INVALID_PROGRAM, |_| SUCCESS)
    }
}

//! The end of a process while NVRTC compiles on another thread.
//!
//! A process that ends runs the destructors of NVRTC's objects. A thread that compiles meanwhile uses objects that are
//! gone, and the process dies of a fault. So every use of NVRTC is counted, and a handler of the process's end waits
//! for those under way: for one compilation on each thread. After it no use begins.
//!
//! Handlers run in the reverse order of their registration, and NVRTC registers destructors while it is loaded and in
//! its first compilation. The handler is registered after each of them, so that it runs before the destructors.
//!
//! The wait is bounded: a thread that exits while it uses NVRTC itself, in a handler of a signal for instance, would
//! wait for itself.

use std::{
    ffi::c_int,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How long the end of a process waits for compilations.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long it waits then until what has been compiled is stored.
const TO_STORE: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Uses {
    /// Uses of NVRTC under way.
    compiling: usize,
    /// Modules that are being made in the background, to be stored on disk.
    making: usize,
    /// Whether the process ends.
    ending: bool,
}

static USES: Mutex<Uses> = Mutex::new(Uses { compiling: 0, making: 0, ending: false });
static CHANGED: Condvar = Condvar::new();

fn uses() -> MutexGuard<'static, Uses> {
    USES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A use of NVRTC under way.
#[must_use = "the use ends when this is dropped"]
pub(super) struct Use(());

impl Use {
    /// Begins a use; `None` if the process ends.
    pub(super) fn begin() -> Option<Self> {
        let mut uses = uses();
        if uses.ending {
            return None;
        }
        uses.compiling += 1;
        Some(Use(()))
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        uses().compiling -= 1;
        CHANGED.notify_all();
    }
}

/// A module that is being made in the background.
#[must_use = "the module is made when this is dropped"]
pub(crate) struct Making(());

impl Making {
    /// Begins one; `None` if the process ends.
    pub(crate) fn begin() -> Option<Self> {
        let mut uses = uses();
        if uses.ending {
            return None;
        }
        uses.making += 1;
        Some(Making(()))
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        uses().making -= 1;
        CHANGED.notify_all();
    }
}

/// Whether the process ends, so that nothing is compiled any more.
pub(crate) fn is_ending() -> bool {
    uses().ending
}

/// Has the end of the process wait for uses of NVRTC, before the destructors that are registered by now.
pub(super) fn register() {
    // SAFETY: the function is the C library's, and the handler is there as long as the process, or the library that it
    // is part of, at whose end it is called. Without memory for the handler the process ends as it would without it.
    unsafe { atexit(wait_for_uses) };
}

unsafe extern "C" {
    /// Of every C library.
    fn atexit(handler: extern "C" fn()) -> c_int;
}

extern "C" fn wait_for_uses() {
    let mut state = uses();
    state.ending = true;
    let wait = |state, patience, until: fn(&mut Uses) -> bool| {
        let waited = CHANGED.wait_timeout_while(state, patience, |uses| !until(uses));
        waited.unwrap_or_else(PoisonError::into_inner).0
    };
    let state = wait(state, PATIENCE, |uses| uses.compiling == 0);
    drop(wait(state, TO_STORE, |uses| uses.making == 0));
}

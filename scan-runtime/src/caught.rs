//! Panics of operators. An operator is the caller's code: its panics are returned as errors, and never unwind into the
//! caller.

use std::{
    any::Any,
    cell::Cell,
    mem,
    panic::{self, AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    thread,
};

/// The payload of an operator's panic.
pub(crate) type Panic = Box<dyn Any + Send>;

/// The message of a panic.
pub(crate) fn message(panic: Panic) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    discard(panic);
    text.unwrap_or_else(|| "no message".to_owned())
}

/// Drops the payload of a panic. Dropping may panic in turn. The payload of that second panic is leaked, because
/// dropping it may panic again.
pub(crate) fn discard(panic: Panic) {
    mem::forget(catch_unwind(AssertUnwindSafe(|| drop(panic))));
}

thread_local! {
    static PROBE: Cell<Probe> = const { Cell::new(Probe::None) };
}

/// Whether this thread tries a function whose panics are silent.
#[derive(Clone, Copy, PartialEq)]
enum Probe {
    /// It does not: panics are printed as usual.
    None,
    /// It does, and the function has not panicked yet.
    Quiet,
    /// It does, and the function has panicked. Another panic before the first is caught ends the process, so it is
    /// printed.
    Panicked,
}

/// Calls a function that may panic, without printing the panic. Other threads' panics are printed as usual.
///
/// The first call installs a panic hook that forwards to the previous one, except for panics of a thread that is in
/// this function. A hook that the program sets later replaces it and is called for all panics, these included.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    /// Ends the probe, whether the function returns or panics.
    struct Restore(Probe);
    impl Drop for Restore {
        fn drop(&mut self) {
            PROBE.set(self.0);
        }
    }

    install();
    let _restore = Restore(PROBE.replace(Probe::Quiet));
    catch_unwind(AssertUnwindSafe(work))
}

/// Puts the hook in place, once.
fn install() {
    static INSTALLED: Mutex<bool> = Mutex::new(false);
    // A thread that unwinds cannot set a hook. Where panics abort, they must be printed.
    if thread::panicking() || cfg!(not(panic = "unwind")) {
        return;
    }
    let mut installed = INSTALLED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if mem::replace(&mut installed, true) {
        return;
    }
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |info| match PROBE.get() {
        Probe::Quiet => PROBE.set(Probe::Panicked),
        Probe::None | Probe::Panicked => previous(info),
    }));
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::panic::resume_unwind;

    /// Panics this number of times when it is dropped: each time with another of its kind.
    pub(crate) struct Bomb(pub(crate) u32);

    impl Drop for Bomb {
        fn drop(&mut self) {
            if self.0 > 0 {
                resume_unwind(Box::new(Bomb(self.0 - 1)));
            }
        }
    }

    #[test]
    fn a_payload_that_panics_when_dropped_stays_inside() {
        let panicked = catch_unwind(|| resume_unwind(Box::new(Bomb(3))));
        assert_eq!(panicked.map_err(message), Err("no message".to_owned()));
    }
}

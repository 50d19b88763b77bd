//! Panics of operators. An operator is the caller's code: its panics are errors, and nothing of them may get out in another way.

use std::{
    any::Any,
    cell::Cell,
    mem,
    panic::{self, AssertUnwindSafe, catch_unwind},
    sync::Mutex,
    thread,
};

/// What an operator panicked with.
pub(crate) type Panic = Box<dyn Any + Send>;

/// What a panic says.
pub(crate) fn message(panic: Panic) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    discard(panic);
    text.unwrap_or_else(|| "no message".to_owned())
}

/// Drops what a panic carried. Dropping may panic in turn; what that second panic carries is leaked, as dropping it may panic
/// again.
pub(crate) fn discard(panic: Panic) {
    mem::forget(catch_unwind(AssertUnwindSafe(|| drop(panic))));
}

thread_local! {
    static PROBE: Cell<Probe> = const { Cell::new(Probe::None) };
}

/// What this thread tries out.
#[derive(Clone, Copy, PartialEq)]
enum Probe {
    /// Nothing: panics are told as ever.
    None,
    /// A function that has not panicked yet.
    Quiet,
    /// One that has. Another panic before the first is caught ends the process, which must not go untold.
    Panicked,
}

/// Calls a function that may panic, without a word of the panic. Other threads' panics are told as ever.
///
/// The first call puts a panic hook in front of the one that is set. It passes every panic on but those of a thread that is in
/// here. A hook that the program sets later takes its place and hears of all panics, these too.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    /// Ends the probe however the function ends.
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
    // A thread that unwinds can set no hook. Where a panic aborts, it must be told.
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

    /// Panics so many times when it is dropped: each time with another of its kind.
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

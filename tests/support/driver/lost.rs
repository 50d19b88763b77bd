//! A device that is lost: from some call on, every function fails, as after a kernel that has failed.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls until the device is lost, or [`NEVER`].
static LEFT: AtomicUsize = AtomicUsize::new(NEVER);
const NEVER: usize = usize::MAX;

/// Loses the device at the call after so many, or not.
pub(super) fn after(calls: Option<usize>) {
    LEFT.store(calls.unwrap_or(NEVER), Ordering::Relaxed);
}

/// Whether it is lost at this call. Names of errors are there without a device.
pub(super) fn is(function: &str) -> bool {
    if function.starts_with("cuGetError") {
        return false;
    }
    let left = LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| match left {
        0 | NEVER => None,
        left => Some(left - 1),
    });
    left == Err(0)
}

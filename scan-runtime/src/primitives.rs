//! The synchronization primitives of the CPU threads.
//!
//! The modules that need them import `super::primitives`. For tests each of these modules is compiled once more, with
//! `loom`'s primitives instead: they run a test under every order of the threads' steps that the memory model allows.

pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU8, AtomicUsize},
    thread::yield_now,
};

/// How often a thread polls before it yields.
pub(crate) const PATIENCE: u32 = 256;

/// The same from `loom`.
#[cfg(all(test, not(miri)))]
pub(crate) mod modelled {
    pub(crate) use loom::{
        hint::spin_loop,
        sync::atomic::{AtomicBool, AtomicU8, AtomicUsize},
        thread::yield_now,
    };

    /// Each poll multiplies the number of orders.
    pub(crate) const PATIENCE: u32 = 1;
}

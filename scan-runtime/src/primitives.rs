//! What threads hand work to each other by.
//!
//! The modules that do so take it from `super::primitives`. In tests each of them is compiled once more, with those of `loom` in
//! their place, which runs a test under every order of the threads' steps that the memory model allows.

pub(crate) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU8, AtomicUsize},
    thread::yield_now,
};

/// How often a thread looks before it gives way to others.
pub(crate) const PATIENCE: u32 = 256;

/// As above, under `loom`'s control.
#[cfg(all(test, not(miri)))]
pub(crate) mod modelled {
    pub(crate) use loom::{
        hint::spin_loop,
        sync::atomic::{AtomicBool, AtomicU8, AtomicUsize},
        thread::yield_now,
    };

    /// Each look multiplies the orders.
    pub(crate) const PATIENCE: u32 = 1;
}

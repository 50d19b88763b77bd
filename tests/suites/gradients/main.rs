//! Derived gradients: compared with differences of the loss, with `jax` and with gradients that are not derived, in the
//! emulator and through NVRTC, of 16 bits and of generic operators; and with planted faults.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

mod by_hand;
mod differences;
mod drawn;
#[cfg(feature = "long")]
mod drawn_long;
mod faults;
mod generic;
mod halves;
mod jax;
mod kernels;
mod laws;
mod leaving;
mod operators;
mod programs;

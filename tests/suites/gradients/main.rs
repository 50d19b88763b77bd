//! Derived gradients: beside differences of the loss, beside those of `jax`, beside gradients written by hand, in the
//! emulator and through NVRTC; and with planted faults.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

mod by_hand;
mod differences;
mod drawn;
mod faults;
mod generic;
mod halves;
mod jax;
mod kernels;
mod laws;
mod operators;
mod programs;

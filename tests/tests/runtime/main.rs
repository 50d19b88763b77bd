//! The runtime without a GPU: the CPU backend, reductions, errors, kernels on disk and ahead of time, a compiler that
//! fails.

mod aot;
mod cpu;
mod disk_cache;
mod faults;
mod nvrtc_fails;
mod reduction;

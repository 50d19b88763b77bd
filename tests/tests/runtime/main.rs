//! The runtime without a GPU: the CPU backend, reductions, errors, kernels on disk and ahead of time, a compiler that
//! fails, and the crates in `examples/`.

mod aot;
mod columns;
mod cpu;
mod disk_cache;
mod examples;
mod faults;
mod nvrtc_fails;
mod reduction;

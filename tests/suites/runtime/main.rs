//! The runtime without a GPU: the CPU backend, scans along an axis, reductions, errors, kernels on disk and ahead of time, a compiler that
//! fails, and the crates in `examples/`.

mod across;
mod aggregate;
mod aot;
mod arrays;
mod axis;
mod by_flag;
mod by_key;
mod columns;
mod cpu;
mod disk_cache;
mod each_segment;
mod examples;
mod faults;
mod forked;
mod kinds;
mod matrix;
mod nccl;
mod nulls;
mod nvrtc_fails;
mod progress;
mod recurrences;
mod reduction;
mod stepped;
mod sums;
mod tour;
mod transducers;
mod uses;
mod with_exclusive;
mod with_initial;
mod words;

//! Scans (prefix sums) with your own associative operator, on the GPU and on the CPU.

// The macros' output names this crate by its own name, also inside it.
extern crate self as scan_runtime;

mod cpu;
mod cuda;
mod element;
mod error;
pub mod nvrtc;
mod op;
pub mod ops;
mod scan;
mod scanner;

pub use cuda::{CacheStats, CompiledModule};
pub use element::ScanElement;
pub use error::Error;
pub use op::ScanOp;
pub use scan::{DeviceScan, Scan};
pub use scan_codegen::{
    Architecture, BlockScan, Carry, DeviceLimits, KernelSource, Network, Overrides, Plan, PlanError, RenderError,
    ScanKind, ScanSpec, Strategy, TileNumbers, Workers,
};
pub use scan_macros::{scan_element, scan_op};
pub use scanner::{Backend, DEVICE_VARIABLE, Scanner};

/// The CUDA driver bindings in whose device slices and streams scans are run.
pub use cudarc;

/// What the macros' output names. Not part of the public interface.
#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

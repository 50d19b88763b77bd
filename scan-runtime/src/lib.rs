//! Scans (prefix sums) with your own associative operator, on the GPU and on the CPU.
//!
//! ```
//! use scan_runtime::{ScanOp, Scanner, scan_op};
//!
//! struct Largest;
//!
//! #[scan_op]
//! impl ScanOp for Largest {
//!     type Element = f32;
//!     const IDENTITY: f32 = f32::NEG_INFINITY;
//!     fn combine(a: f32, b: f32) -> f32 {
//!         if a > b { a } else { b }
//!     }
//! }
//!
//! let scanner = Scanner::new()?; // a CUDA device where one is usable, else the CPU
//! assert_eq!(scanner.scan(Largest).run(&[1.0, 3.0, 2.0])?, [1.0, 3.0, 3.0]);
//! # Ok::<(), scan_runtime::Error>(())
//! ```
//!
//! `cargo add scan-runtime` adds it. It needs no CUDA toolkit: the driver and NVRTC are loaded at run time, and
//! `pip install nvidia-cuda-nvrtc` brings the latter. `cargo add scan-runtime --no-default-features` builds it without
//! CUDA, for the CPU alone.
//!
//! | I want to | read |
//! |---|---|
//! | find the right item for a task | [the guide](guide::which), [coming from CUB or Thrust](guide::cub_and_thrust) |
//! | write an operator | [`ScanOp`], [`macro@scan_op`], [the language](guide::operator_language), [twenty to begin from](guide::operators) |
//! | run one | [`Scanner`] makes a [`Scan`] or a [`Reduce`]; a [`Run`] brings segments, totals, an axis or a stream; [`Prepared`] runs often |
//! | scan several arrays, gathered ones, into places of my own | [`arrays`] |
//! | check that it is associative | [`laws`] |
//! | see the plan and the CUDA that run | [`Scan::plan`], [`Scan::cuda_source`] |
//! | ship without a compiler; see where time goes | [`aot`], [`DiskCache`]; [`telemetry`] |
//!
//! - An operator is written once, in Rust: see [`ScanOp`] and [`macro@scan_op`]. It works on
//!   [elements](ScanElement): primitive numbers, `bool`, arrays, and your own structs and enums marked
//!   [`macro@scan_element`]. [`ops`] has the usual operators. The module `gallery`, behind the feature of that name,
//!   has twenty from many fields.
//! - An operator must be associative. [`laws`] checks it, and `#[scan_op(…, laws)]` writes a test that does.
//! - A [`Scanner`] runs scans on one device. [`Scanner::scan`] gives a [`Scan`], whose options are set by chaining; it runs
//!   over host slices, or, after [`Scan::on`], over `cudarc` device slices on your own stream.
//! - Inspect the plan and the CUDA source without a GPU: [`Scan::plan`], [`Scan::cuda_source`].
//! - Integers give the same bits on every device, and so do floats whose partial results are exact. Where floats are
//!   rounded, the result depends on the grouping, and so on the [`Strategy`], the device and the length.
//!   With [`Carry::LookBack`], and only there, the grouping also depends on timing. [`Scan::deterministic`] makes the
//!   planner avoid it, so that floats are the same in every run.
//! - Kernels are compiled when they are first needed, and kept on disk for the next process ([`DiskCache`]). Machines without
//!   NVRTC run kernels compiled [ahead of time](aot).
//! - Versions follow Semantic Versioning. It does not cover hidden items, the text of generated CUDA, which kernel a plan
//!   chooses, and the last bits of floats that round.
//! - [`telemetry`] reports what was done and how long it took.
//! - On the CPU a scan is one pass over memory on all cores; a short one wakes no other thread. There, floats are
//!   grouped by their positions and the length alone: the same operator gives the same bits with any number of threads,
//!   in every run. Up to the first 64 KiB your own operators are applied from the left, as in a plain loop. The
//!   [built-in ones](ops) work on a vector register at a time, of AVX2 or NEON, so another processor may group float
//!   sums differently.
//!
//! The CUDA driver and NVRTC are loaded at run time; the crate builds and works on machines that have neither. The exception
//! is a build in which another crate turns on `cudarc`'s feature `dynamic-linking`, as candle's `cuda` does. Both are linked
//! then: the build needs a CUDA toolkit, and without them the program does not start.
//!
//! | feature | default | provides |
//! |---|---|---|
//! | `cuda` | on | scans on NVIDIA GPUs: everything that names `cudarc`, a stream or a device |
//! | `half` | on | `half::f16` and `half::bf16` as elements |
//! | `ndarray` | off | scans and reductions of `ndarray` arrays along an axis |
//! | `gallery` | off | the module `gallery`: twenty operators |
//! | `cli` | off | the program `scan`; it turns `cuda` on |
//!
//! Features only add items. Without `cuda`, [`Scanner::new`] takes the CPU, and `SCAN_DEVICE=0` is the error
//! [`Error::WithoutCuda`]. `Scanner::cuda`, `Scan::on` and the modules `aot` and `nvrtc` are then not there.

// On docs.rs, items say which feature they need.
#![cfg_attr(docsrs, feature(doc_cfg))]
// What devices alone read.
#![cfg_attr(not(feature = "cuda"), allow(dead_code, unused_variables))]

// The macros' output names this crate by its own name, also inside it.
extern crate self as scan_runtime;

#[cfg(feature = "cuda")]
pub mod aot;
pub mod arrays;
#[cfg(feature = "cuda")]
mod buffers;
mod call;
mod caught;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cuda")]
mod device;
#[cfg(feature = "cuda")]
mod disk_cache;
mod element;
mod erased;
mod error;
mod few;
#[cfg(feature = "gallery")]
pub mod gallery;
mod generate;
pub mod gradient;
pub mod guide;
mod heads;
mod host;
#[cfg(feature = "cuda")]
mod late_value;
pub mod laws;
#[cfg(feature = "cuda")]
pub mod nvrtc;
mod op;
pub mod ops;
mod page_locked;
mod parameters;
mod prepared;
mod primitives;
mod room;
mod run;
mod scan;
mod scanner;
mod sealed;
#[cfg(feature = "cuda")]
mod search;
pub mod telemetry;
#[cfg(test)]
#[allow(unreachable_pub, reason = "the project's other tests compile this file, too")]
mod time_limit;
#[cfg(feature = "cuda")]
mod tune;
#[cfg(feature = "cuda")]
pub mod world;

pub use arrays::fields::Fields;
#[cfg(feature = "cuda")]
pub use buffers::{DeviceBuffer, DeviceBufferMut};
pub use call::{ProgressFlow, ScanProgress};
#[cfg(feature = "cuda")]
#[doc(hidden)]
pub use cuda::milliseconds_between;
#[cfg(feature = "cuda")]
pub use cuda::{CacheStats, CompiledModule, DeviceInfo, DiskStats, Staging, devices, driver_version};
#[cfg(feature = "cuda")]
pub use disk_cache::{CACHE_VARIABLE, DiskCache, DiskProblem};
pub use element::ScanElement;
pub use error::{Cause, Error};
pub use heads::{BitWord, HeadFlag, SegmentOffset};
pub use host::axis::AxisPlan;
#[cfg(feature = "cuda")]
pub use late_value::LateValue;
pub use op::ScanOp;
pub use page_locked::PageLocked;
pub use parameters::{Parameter, Parameters, Table};
pub use prepared::Prepared;
#[cfg(feature = "cuda")]
pub use run::Device;
pub use run::{
    Along, Array, ArrayMut, Buffer, Host, Memory, Outcome, Prefixes, PrefixesAndTotal, PrefixesAndTotals, Results, Run,
    Totals,
};
pub use scan::{Reduce, Scan};
pub use scan_codegen::{
    Architecture, ArchitectureError, Axis, AxisError, BlockScan, Carry, ColumnsPlan, DeviceLimits, KernelSource,
    Network, OffsetWidth, Overrides, Pipeline, Plan, PlanError, Plans, Reduction, ReductionPlan, RenderError, ScanKind,
    ScanSpec, Segments, Strategy, TileNumbers, WarpNetwork, Workers,
};
pub use scan_macros::{scan_element, scan_fn, scan_op};
#[cfg(feature = "cuda")]
pub use scanner::ScannerBuilder;
pub use scanner::{Backend, DEVICE_VARIABLE, HostMemory, Scanner};
#[cfg(feature = "cuda")]
pub use tune::{TimedShape, Tuning, TuningProgress, TuningStep};
#[cfg(feature = "cuda")]
pub use world::World;

#[cfg(feature = "cuda")]
use device::DeviceCall;

pub use __private::ScanFn;

/// The planner and the renderer, which need no GPU, with the types that plans and sources consist of.
pub use scan_codegen;

#[cfg(feature = "cuda")]
/// The CUDA driver bindings. Scans run on their device slices and streams.
pub use cudarc;

/// The 16-bit floats [`half::f16`] and [`half::bf16`], which are elements. They need the feature `half`, which is on by
/// default.
#[cfg(feature = "half")]
pub use half;

/// The arrays that a call [along](Scan::along) an axis scans by the number of the axis, with the feature `ndarray`.
#[cfg(feature = "ndarray")]
pub use ndarray;

/// What the macros' output names. Not part of the public interface.
#[doc(hidden)]
#[path = "private/mod.rs"]
pub mod __private;

//! Scans with your own associative operator as tensor operations of candle, forward and backward.
//!
//! | to | use |
//! |---|---|
//! | sum, multiply, find maxima, add exponentials along a dimension | [`cumsum`], [`cumprod`], [`cummax`], [`logcumsumexp`] |
//! | compute h = a·h + x along a dimension | [`recurrence`]; as a layer [`GatedRecurrence`] |
//! | go on token by token, without gradients | [`recurrence_no_bwd`], [`scan_no_bwd`], [`GatedRecurrence::stream`] |
//! | scan by another operator, with its gradient | [`scan`], [`scan_from`], [`TensorOp`] |
//!
//! ```
//! use candle_core::{Device, Tensor};
//!
//! let x = Tensor::new(&[[1.0_f32, 2.0, 3.0]], &Device::Cpu)?;
//! assert_eq!(scan_candle::cumsum(&x, 1)?.to_vec2::<f32>()?, [[1.0, 3.0, 6.0]]);
//! # Ok::<(), candle_core::Error>(())
//! ```
//!
//! With the feature `cuda` the same functions run on NVIDIA GPUs, on candle's stream and without copies.

// The examples of the page run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod apply;
mod arrays;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod float;
mod functions;
mod layer;
mod operator;
pub mod operators;
mod pass;

pub use apply::{scan, scan_from, scan_no_bwd};
pub use arrays::Arrays;
pub use float::Float;
pub use functions::{cummax, cumprod, cumsum, logcumsumexp, recurrence, recurrence_no_bwd};
pub use layer::GatedRecurrence;
pub use operator::{Read, TensorOp};
pub use operators::{LogSumExp, log_sum_exp};

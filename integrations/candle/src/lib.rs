//! Scans with your own associative operator as tensor operations of candle, forward and backward.

mod apply;
mod arrays;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod float;
mod functions;
mod layer;
mod operator;
mod operators;
mod pass;

pub use apply::{scan, scan_from, scan_no_bwd};
pub use arrays::Arrays;
pub use float::Float;
pub use functions::{cummax, cumprod, cumsum, logcumsumexp, recurrence, recurrence_no_bwd};
pub use layer::GatedRecurrence;
pub use operator::{Read, TensorOp};
pub use operators::{LogSumExp, log_sum_exp};

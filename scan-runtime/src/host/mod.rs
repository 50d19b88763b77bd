//! Runs over host memory.

pub(crate) mod arguments;
pub(crate) mod axis;
mod call;
mod handle;
mod plan;
mod reduce;
mod run;

pub use arguments::{HostInput, HostOutput};
pub(crate) use call::HostCall;
pub(crate) use handle::HostHandle;

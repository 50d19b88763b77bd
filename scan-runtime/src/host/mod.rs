//! Runs over host memory.

pub(crate) mod axis;
mod call;
mod handle;
mod memory;
mod plan;
mod reduce;
mod run;

pub(crate) use call::HostCall;
pub(crate) use handle::HostHandle;

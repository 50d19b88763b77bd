//! Runs over host memory.

pub(crate) mod axis;
mod call;
pub(crate) mod cost;
#[cfg(feature = "cuda")]
mod device;
mod handle;
#[cfg(feature = "cuda")]
mod kernels_like;
#[cfg(feature = "cuda")]
mod meanwhile;
mod memory;
mod plan;
#[cfg(feature = "cuda")]
mod recorded;
mod reduce;
mod run;
#[cfg(feature = "cuda")]
pub(crate) mod side;
pub(crate) mod watch;
mod with_initial;

pub(crate) use call::HostCall;
pub(crate) use handle::HostHandle;

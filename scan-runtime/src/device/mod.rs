//! Runs over device memory on a stream.

pub(crate) mod arrays;
pub(crate) mod call;
mod handle;
pub(crate) mod heads;
mod memory;
mod run;
mod with_initial;
pub(crate) mod work;

pub(crate) use call::DeviceCall;
pub(crate) use handle::Handle;

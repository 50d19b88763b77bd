//! Runs over device memory on a stream.

pub(crate) mod arguments;
pub(crate) mod arrays;
pub(crate) mod call;
mod handle;
pub(crate) mod heads;
mod prepared;
mod scan;
pub(crate) mod work;

pub(crate) use call::DeviceCall;
pub use prepared::DevicePrepared;
pub use scan::DeviceScan;

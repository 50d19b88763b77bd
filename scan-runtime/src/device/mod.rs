//! Runs over device memory on a stream.

pub(crate) mod arrays;
pub(crate) mod call;
pub(crate) mod handle;
pub(crate) mod heads;
mod scan;
pub(crate) mod work;

pub(crate) use call::{DeviceCall, DeviceInitial, DeviceTotals};
pub use scan::DeviceScan;
pub(crate) use scan::run_slices;

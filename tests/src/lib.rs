//! What the tests of several crates share.

mod nvrtc;
mod target;

pub use nvrtc::nvrtc;
pub use target::target_dir;

//! The compiler that a text is rendered for.

/// The compiler of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// NVRTC.
    Cuda,
    /// A C++20 compiler of the host: intrinsics are replaced, and the caller supplies `panic`.
    Host,
}

//! For which compiler a text is written.

/// Which compiler reads the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// NVRTC.
    Cuda,
    /// A C++20 compiler of the host: the machine's own words are replaced, and `panic` is left to whoever runs it.
    Host,
}

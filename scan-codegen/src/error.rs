//! The errors of planning and rendering.

use crate::{
    constants::{MAX_ELEMENT_BYTES, MAX_PARAMETER_BYTES},
    limits::Architecture,
};

/// The errors of planning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// An element has no bytes, so there is nothing to scan.
    #[error("element type `{name}` is zero-sized: give it at least one field")]
    ZeroSized {
        /// The element type.
        name: String,
    },
    /// An element has more bytes than the kernels handle.
    #[error(
        "element type `{name}` has {size} bytes; the kernels handle up to {MAX_ELEMENT_BYTES}: scan indices or \
         keys of it instead"
    )]
    TooLarge {
        /// The element type.
        name: String,
        /// Its size in bytes.
        size: usize,
    },
    /// An operator reads more bytes of its own fields than a launch can pass as arguments.
    #[error(
        "operator `{operator}` reads {size} bytes of its own fields, but a launch can pass {MAX_PARAMETER_BYTES}: \
         put long fields into a `Table`"
    )]
    ParametersTooLarge {
        /// The operator.
        operator: String,
        /// Bytes of its fields.
        size: usize,
    },
    /// An exclusive scan needs a first output: an identity or an initial value.
    #[error("operator `{operator}` has no identity, so an exclusive scan needs an initial value: add `.init(value)`")]
    NoIdentity {
        /// The operator.
        operator: String,
    },
    /// A reduction of an empty input needs an identity or an initial value.
    #[error(
        "operator `{operator}` has no identity, so the total of no elements needs an initial value: add `.init(value)`"
    )]
    NoElements {
        /// The operator.
        operator: String,
    },
    /// Segments with an initial value, or a total, for each have no index before the scan.
    #[error(
        "{segments} have no index before the scan: initial values and totals for each need `.rows(len)` or \
         `.by_offsets(&offsets)`"
    )]
    NoSegmentIndex {
        /// What tells where segments begin.
        segments: String,
    },
    /// The total of one segment was asked for, where each has an initial value or a total.
    #[error("of segments with an initial value for each there is the total of each: use the runs `…_with_totals`")]
    TotalOfEach,
    /// No kernel waits for an initial value in such a scan.
    #[error("an initial value cannot arrive late where {scan}: {instead}")]
    LateValue {
        /// What the scan does.
        scan: String,
        /// What to do.
        instead: &'static str,
    },
    /// There is no carry before the first input.
    #[error("operator `{operator}` has neither a `START` nor an identity to begin with: add `.init(value)`")]
    NoStart {
        /// The operator.
        operator: String,
    },
    /// The algorithm needs an identity, and the operator has none.
    #[error("{strategy} needs an identity, and operator `{operator}` has none: choose another block scan")]
    StrategyNeedsIdentity {
        /// The algorithm.
        strategy: String,
        /// The operator.
        operator: String,
    },
    /// A scan along an axis cannot do this.
    #[error("a scan along an axis cannot do this: {why}")]
    Columns {
        /// What stands against it, and what to do.
        why: &'static str,
    },
    /// The algorithm cannot do this.
    #[error("{strategy} is not available here: {why}")]
    Strategy {
        /// The algorithm.
        strategy: String,
        /// The reason, and what to do.
        why: String,
    },
    /// A device is older than any that kernels are made for.
    #[error(
        "kernels need compute capability {oldest_major}.{oldest_minor} or later, and {architecture} is older: use the CPU",
        oldest_major = Architecture::OLDEST.major,
        oldest_minor = Architecture::OLDEST.minor
    )]
    Architecture {
        /// The architecture.
        architecture: Architecture,
    },
    /// A device limit is too small for any kernel.
    #[error("a device with {value} {limit} runs no kernel: set `DeviceLimits::{limit}` to at least {least}")]
    Limits {
        /// The field of [`DeviceLimits`](crate::DeviceLimits).
        limit: &'static str,
        /// Its value.
        value: u64,
        /// The minimum.
        least: u64,
    },
    /// The requested shape is not supported on any device.
    #[error("{value} {name} are not supported: ask for {least} to {most}")]
    Override {
        /// The field of [`Overrides`](crate::Overrides).
        name: &'static str,
        /// The requested value.
        value: u32,
        /// The minimum.
        least: u32,
        /// The maximum.
        most: u32,
    },
    /// The requested number of threads is not supported.
    #[error("a block cannot have {threads} threads here: ask for a power of two from {least} to {most}")]
    Threads {
        /// The requested number.
        threads: u32,
        /// The minimum number of threads per block.
        least: u32,
        /// The maximum number of threads per block, for this element on this device.
        most: u32,
    },
    /// The requested number of elements per thread is not supported.
    #[error("a thread cannot scan {run} elements on its own here: {why}")]
    Run {
        /// The requested number.
        run: u32,
        /// The reason.
        why: String,
    },
    /// The key type has padding. Keys are compared by their bytes, and padding bytes are undefined.
    #[error("key type `{name}` has {padding} bytes of padding: give it fields that fill it, or use head flags")]
    KeyPadding {
        /// The key type.
        name: String,
        /// Bytes of padding.
        padding: usize,
    },
    /// Results go to the places in the first field of an output, and that field has not a place for each.
    #[error(
        "the first field of `{name}` has not a place for each of the others: let outputs be a struct, by columns, whose \
         first field is `u32`, `u64` or `usize`, or an array of these, each other field then an array of as many items"
    )]
    NoPlace {
        /// The output type.
        name: String,
    },
    /// The cost model does not depend on the data, but the cost of a segmented scan does.
    #[error(
        "the cost of a segmented scan depends on where its segments begin: ask for the cost of the same \
         scan without segments"
    )]
    CostOfSegments,
    /// The input is longer than this plan can handle.
    #[error(
        "{len} elements are more than this plan can scan at once ({max_len}): scan them in parts, each with the \
         total of the part before it as initial value"
    )]
    TooLong {
        /// The requested length.
        len: u64,
        /// The maximum length.
        max_len: u64,
    },
}

/// The errors of rendering an operator's kernels as CUDA.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// A template of this crate failed.
    #[error("a template of the generated CUDA failed: {0}")]
    Template(String),
    /// The operator's source has no `combine`.
    #[error("the operator `{operator}` has no CUDA text")]
    NoText {
        /// The operator's name.
        operator: String,
    },
    /// A constant does not have as many bytes as its type.
    #[error("a constant of type `{ty}` has {found} bytes, not {expected}")]
    ConstantSize {
        /// The type's name.
        ty: String,
        /// The number of bytes found.
        found: usize,
        /// The number of bytes of the type.
        expected: usize,
    },
}

impl From<tera::Error> for RenderError {
    fn from(error: tera::Error) -> Self {
        let mut message = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            message.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        RenderError::Template(message)
    }
}

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
        "element type `{name}` is {size} bytes large; kernels handle up to {MAX_ELEMENT_BYTES}: scan indices or keys \
         instead"
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
    #[error(
        "an exclusive scan with operator `{operator}`, which has no identity, needs an initial value: add \
         `.init(value)`"
    )]
    NoIdentity {
        /// The operator.
        operator: String,
    },
    /// A reduction of an empty input needs an identity or an initial value.
    #[error(
        "the total of an empty input with operator `{operator}`, which has no identity, needs an initial value: add \
         `.init(value)`"
    )]
    NoElements {
        /// The operator.
        operator: String,
    },
    /// Initial values or totals for each segment, of segments that are not numbered before the scan.
    #[error(
        "an initial value or a total for each segment needs segments that are numbered before the scan: `.rows(len)` or \
         `.by_offsets(&offsets)`, not {segments}"
    )]
    NoSegmentIndex {
        /// The source of segment heads.
        segments: String,
    },
    /// One total was asked for, of a scan with an initial value for each segment.
    #[error("a scan with an initial value for each segment gives a total for each: ask for those `.with_totals()`")]
    TotalOfEach,
    /// An initial value arrives late, in a scan whose kernels do not wait for one.
    #[error("an initial value cannot arrive late where {scan}: {instead}")]
    LateValue {
        /// What the scan does.
        scan: String,
        /// What to do.
        instead: &'static str,
    },
    /// A stepped operator has no carry to begin with.
    #[error("operator `{operator}` has neither `START` nor an identity: add `.init(value)`")]
    NoStart {
        /// The operator.
        operator: String,
    },
    /// A result is to be made of a carry, and the operator makes results of inputs only.
    #[error("operator `{operator}` has no `project`: add `project` to scan exclusively or to reduce")]
    NoProject {
        /// The operator.
        operator: String,
    },
    /// An operator is to begin at each new key or flag, and has nothing to begin with.
    #[error(
        "operator `{operator}` begins anew within its input, and an operator within it has neither `START` nor an \
         identity: give that an identity"
    )]
    NoStartOfKeys {
        /// The operator.
        operator: String,
    },
    /// An exclusive scan does not see the key, or the flag, of the input, which may begin a segment.
    #[error(
        "operator `{operator}` needs the key or the flag of an element for its exclusive result: scan inclusively, with \
         `ops::with_exclusive` around the operator within it"
    )]
    NoKey {
        /// The operator.
        operator: String,
    },
    /// The algorithm needs an identity, and the operator has none.
    #[error("{strategy} needs an identity, and operator `{operator}` has none: choose another network")]
    StrategyNeedsIdentity {
        /// The algorithm.
        strategy: String,
        /// The operator.
        operator: String,
    },
    /// An array of an input or an output is of a kind that it cannot be of.
    #[error("the arrays of the {what} can be {kinds}")]
    ArrayKinds {
        /// `input` or `output`.
        what: &'static str,
        /// The kinds that there are.
        kinds: &'static str,
    },
    /// A scan along an axis cannot do this.
    #[error("a scan along an axis cannot do this: {why}")]
    Columns {
        /// The reason, and what to do.
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
        "kernels need compute capability {oldest_major}.{oldest_minor} or later, and the device is {architecture}: \
         use the CPU",
        oldest_major = Architecture::OLDEST.major,
        oldest_minor = Architecture::OLDEST.minor
    )]
    Architecture {
        /// The architecture.
        architecture: Architecture,
    },
    /// A device limit is too small for any kernel.
    #[error("no kernel runs on a device with {value} {limit}: set `DeviceLimits::{limit}` to at least {min}")]
    Limits {
        /// The field of [`DeviceLimits`](crate::DeviceLimits).
        limit: &'static str,
        /// Its value.
        value: u64,
        /// The minimum.
        min: u64,
    },
    /// The requested shape is not supported on any device.
    #[error("`{name}` of {value} is not supported: use {min} to {max}")]
    Override {
        /// The field of [`Overrides`](crate::Overrides).
        name: &'static str,
        /// The requested value.
        value: u32,
        /// The minimum.
        min: u32,
        /// The maximum.
        max: u32,
    },
    /// The requested number of threads is not supported.
    #[error("blocks of {threads} threads are not supported here: use a power of two from {min} to {max}")]
    Threads {
        /// The requested number.
        threads: u32,
        /// The minimum number of threads per block.
        min: u32,
        /// The maximum number of threads per block, for this element on this device.
        max: u32,
    },
    /// The requested number of elements per thread is not supported.
    #[error("runs of {run} elements for each thread are not supported here: {why}")]
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
    /// The operator computes the index of each result, and the output's first field does not hold an index for each.
    #[error(
        "the first field of `{name}` does not hold an index for each other field: use a tuple of arrays, and a struct \
         whose first field is `u32`, `u64`, `usize`, `i32` or `i64`, or an array of these and each other field an \
         array of as many items"
    )]
    NoPlace {
        /// The output type.
        name: String,
    },
    /// The cost model does not depend on the data, but the cost of a segmented scan does.
    #[error("the cost of a segmented scan depends on its segments: ask for the cost of the scan without segments")]
    CostOfSegments,
    /// The input is longer than this plan can handle.
    #[error(
        "{len} elements exceed what this plan can scan at once ({max_len}): scan in parts, each with the total of the \
         previous part as initial value"
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

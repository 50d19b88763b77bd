//! Why there is no plan, and why there is no text.

use crate::constants::{MAX_ELEMENT_BYTES, MAX_PARAMETER_BYTES};

/// Why there is no plan.
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
    /// An operator reads more of its own fields than a launch can hand over.
    #[error(
        "operator `{operator}` reads {size} bytes of its own fields, and a launch can hand over {MAX_PARAMETER_BYTES}: \
         put long fields into a `Table`"
    )]
    ParametersTooLarge {
        /// The operator.
        operator: String,
        /// Bytes of its fields.
        size: usize,
    },
    /// An exclusive scan needs something to put first.
    #[error("operator `{operator}` has no identity, so an exclusive scan needs an initial value: add `.init(value)`")]
    NoIdentity {
        /// The operator.
        operator: String,
    },
    /// A reduction of nothing needs something to give.
    #[error(
        "operator `{operator}` has no identity, so the total of no elements needs an initial value: add `.init(value)`"
    )]
    NoElements {
        /// The operator.
        operator: String,
    },
    /// The machine does not tell which carry it begins with.
    #[error("operator `{operator}` does not tell which carry it begins with: add `.init(carry)`")]
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
        /// What stands against it, and what to do.
        why: String,
    },
    /// A device cannot have such a limit.
    #[error("a device with {value} {limit} runs no kernel: set `DeviceLimits::{limit}` to {least} at the least")]
    Limits {
        /// The field of [`DeviceLimits`](crate::DeviceLimits).
        limit: &'static str,
        /// What it is.
        value: u64,
        /// What it is at the least.
        least: u64,
    },
    /// There is no kernel with such a shape, on any device.
    #[error("{value} {name} are not supported: ask for {least} to {most}")]
    Override {
        /// The field of [`Overrides`](crate::Overrides).
        name: &'static str,
        /// What was asked for.
        value: u32,
        /// The least that can be asked for.
        least: u32,
        /// The most.
        most: u32,
    },
    /// The requested number of threads is not supported.
    #[error("a block cannot have {threads} threads here: ask for a power of two from {least} to {most}")]
    Threads {
        /// What was asked for.
        threads: u32,
        /// The fewest threads of a block.
        least: u32,
        /// The most threads of a block, for this element on this device.
        most: u32,
    },
    /// The requested number of elements a thread is not supported.
    #[error("a thread cannot scan {run} elements on its own here: {why}")]
    Run {
        /// What was asked for.
        run: u32,
        /// What stands against it.
        why: String,
    },
    /// Keys are compared by their bytes, and padding bytes hold anything.
    #[error("key type `{name}` has {padding} bytes of padding: give it fields that fill it, or use head flags")]
    KeyPadding {
        /// The key type.
        name: String,
        /// Bytes of padding.
        padding: usize,
    },
    /// The cost model knows no data.
    #[error(
        "what a segmented scan takes depends on where its segments begin: ask for the cost of the same \
         scan without segments"
    )]
    CostOfSegments,
    /// The input is longer than this plan can handle.
    #[error(
        "{len} elements are more than this plan can scan at once ({max_len}): scan them in parts, each with the \
         last result as initial value"
    )]
    TooLong {
        /// The length asked for.
        len: u64,
        /// The most elements.
        max_len: u64,
    },
}

/// Why an operator could not be written as CUDA.
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
    /// The bytes of a constant are not as many as its type has.
    #[error("a constant of type `{ty}` has {found} bytes, not {expected}")]
    ConstantSize {
        /// The type's name.
        ty: String,
        /// How many bytes there are.
        found: usize,
        /// How many there must be.
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

//! What can go wrong on the way from an operator to its text.

/// Why an operator could not be written as CUDA.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// A template of this crate failed.
    #[error("a template of the generated CUDA failed")]
    Template(#[from] tera::Error),
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

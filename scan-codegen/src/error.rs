//! What can go wrong on the way from an operator to its text.

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

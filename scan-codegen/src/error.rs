//! stub
/// Why the text could not be written.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RenderError {
    /// t
    #[error("{0}")]
    Template(String),
}
impl From<tera::Error> for RenderError {
    fn from(e: tera::Error) -> Self {
        RenderError::Template(e.to_string())
    }
}

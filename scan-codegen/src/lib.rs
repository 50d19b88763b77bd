//! Plans and CUDA sources for scans with a user's operator.

mod element;
mod error;
mod literal;
mod names;
mod operator;
mod operator_text;
mod prelude;

pub use element::{ElementKind, ElementType, Field, Primitive};
pub use error::RenderError;
pub use operator::{FunctionSource, OpSource, Piece, source_path};
#[doc(hidden)]
pub use operator_text::{OperatorText, Target, operator_text};

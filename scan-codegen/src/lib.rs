//! Plans and CUDA sources for scans with a user's operator.

mod element;
mod operator;

pub use element::{ElementKind, ElementType, Field, Primitive};
pub use operator::{FunctionSource, OpSource, Piece, source_path};

//! Scans (prefix sums) with your own associative operator, on the GPU and on the CPU.

extern crate self as scan_runtime;

mod element;
mod op;

/// The CUDA driver bindings in whose device slices and streams scans are run.
pub use cudarc;
pub use element::ScanElement;
pub use op::ScanOp;
pub use scan_macros::{scan_element, scan_op};

/// What the macros' output names. Not part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::element::bytes_of;
    pub use scan_codegen::{ElementKind, ElementType, Field, FunctionSource, OpSource, Piece, source_path};

    use crate::ScanElement;

    /// A constant of the user's, evaluated by Rust.
    pub fn constant<T: ScanElement>(value: T) -> Piece {
        Piece::Constant { ty: T::layout(), bytes: bytes_of(&value) }
    }

    /// The type of an element.
    pub fn type_name<T: ScanElement>() -> Piece {
        Piece::Type(T::layout())
    }
}

//! Scans (prefix sums) with your own associative operator, on the GPU and on the CPU.

// The macros' output names this crate by its own name, also inside it.
extern crate self as scan_runtime;

mod cpu;
mod cuda;
mod element;
mod error;
pub mod nvrtc;
mod op;
pub mod ops;
mod scan;
mod scanner;

pub use cuda::{CacheStats, CompiledModule};
pub use element::ScanElement;
pub use error::Error;
pub use op::ScanOp;
pub use scan::{DeviceScan, Scan};
pub use scan_codegen::{
    Architecture, BlockScan, Carry, DeviceLimits, KernelSource, Network, Overrides, Plan, PlanError, RenderError,
    ScanKind, ScanSpec, Strategy, TileNumbers, Workers,
};
pub use scan_macros::{scan_element, scan_op};
pub use scanner::{Backend, DEVICE_VARIABLE, Scanner};

/// The CUDA driver bindings in whose device slices and streams scans are run.
pub use cudarc;

/// What the macros' output names. Not part of the public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::element::bytes_of;
    pub use scan_codegen::{ElementKind, ElementType, Field, FunctionSource, OpSource, Piece, source_path};
    pub use std::mem::{align_of, offset_of, size_of};
    pub use std::option::Option::{self, None, Some};
    pub use std::string::String;
    pub use std::vec::Vec;
    pub use std::{assert, file, option_env, vec};

    use crate::ScanElement;

    /// The layout of an element.
    pub fn layout<T: ScanElement>() -> ElementType {
        T::layout()
    }

    /// A constant of the user's, evaluated by Rust.
    pub fn constant<T: ScanElement>(value: T) -> Piece {
        Piece::Constant { ty: T::layout(), bytes: bytes_of(&value) }
    }

    /// The type of an element.
    pub fn type_name<T: ScanElement>() -> Piece {
        Piece::Type(T::layout())
    }

    /// A struct expression.
    pub fn structure<T: ScanElement>(fields: Vec<(&'static str, Vec<Piece>)>, base: Option<Vec<Piece>>) -> Piece {
        Piece::Struct { ty: T::layout(), fields, base }
    }

    /// A constant argument of a generic type, as a part of a C++ name.
    pub fn const_name(value: impl std::fmt::Display) -> String {
        value
            .to_string()
            .replace('-', "minus_")
            .replace(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_', "_")
    }
}

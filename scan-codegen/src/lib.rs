//! Plans and CUDA sources for scans with a user's operator.

mod element;
mod error;
mod limits;
mod literal;
mod names;
mod operator;
mod operator_text;
mod plan;
mod prelude;
mod render;
mod schedule;
mod spec;
mod strategy;
mod templates;

pub use element::{ElementKind, ElementType, Field, Primitive};
pub use error::RenderError;
pub use limits::{Architecture, DeviceLimits};
pub use operator::{FunctionSource, OpSource, Piece, source_path};
pub use operator_text::Target;
#[doc(hidden)]
pub use operator_text::{OperatorText, operator_text};
pub use plan::{MAX_ELEMENT_BYTES, Overrides, Plan, PlanError, plan};
pub use render::{COMPILE_OPTIONS, KernelSource, render, render_for};
pub use schedule::{Argument, Launch, Schedule};
pub use spec::{ScanKind, ScanSpec};
pub use strategy::{BlockScan, Carry, Network, Strategy, TileNumbers, Workers};

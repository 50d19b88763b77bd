//! Plans and CUDA sources for scans with a user's operator.
//!
//! Two pure functions: [`plan`] chooses the shape of the kernels for an operator, a [`ScanSpec`] and a device's
//! [`DeviceLimits`]; [`render`] writes them as one CUDA source. [`Plan::schedule`] then gives the order of the kernel
//! launches and their arguments. The crate uses no GPU, file, thread or clock: the same arguments give the same bytes
//! on every machine.
//!
//! An operator is an [`OpSource`], which the attribute `#[scan_op]` of `scan-runtime` makes. The kernels are Tera
//! templates in the folder `templates`, one file per algorithm: a [`Network`] that scans a block's tile, and a
//! [`Carry`] that carries prefixes between tiles.

mod array_kind;
mod arrays;
mod carry;
mod checker;
mod columns;
mod composed;
mod computed;
mod constants;
mod cost;
mod element;
mod error;
mod kernel_role;
mod last_results;
mod limits;
mod literal;
mod names;
mod operator;
mod operator_text;
mod plan;
mod prelude;
mod reduce;
mod reduce_ranges;
mod render;
mod ring;
mod rooms;
mod schedule;
mod segments;
#[cfg(test)]
mod shape;
mod spec;
mod strategy;
mod target;
mod templates;
mod tuning;
mod used;
mod weight;
mod zipped;

pub use array_kind::{ArrayKind, ArrayKinds};
pub use arrays::Arrays;
pub use carry::{Carry, TileNumbers};
#[doc(hidden)]
pub use checker::{Rule, Violation};
#[doc(hidden)]
pub use columns::WithInitial;
#[doc(hidden)]
pub use columns::render_columns_from;
pub use columns::{Axis, AxisError, ColumnLayout, ColumnsPlan, plan_columns, render_columns, render_columns_for};
pub use composed::Nulls;
pub use constants::{MAX_ELEMENT_BYTES, MAX_PARAMETER_BYTES};
pub use cost::{BankCycles, BlockCost, Cost, Count, LaunchCost, tree_bank_cycles};
pub use element::{ElementKind, ElementType, Field, Primitive, ShortTable};
pub use error::{PlanError, RenderError};
pub use kernel_role::KernelRole;
#[doc(hidden)]
pub use last_results::render_last_results_from;
pub use last_results::{LastResultsPlan, plan_last_results, render_last_results};
pub use limits::{Architecture, ArchitectureError, DeviceLimits};
pub use operator::{CarrySource, FunctionSource, OpSource, OutputsOf, Piece, source_path};
#[doc(hidden)]
pub use operator_text::{OperatorText, operator_text};
pub use plan::{Overrides, Pipeline, Plan, Plans, plan};
#[doc(hidden)]
pub use reduce::render_reduction_from;
pub use reduce::{Reduction, ReductionPlan, plan_reduction, render_reduction, render_reduction_for};
#[doc(hidden)]
pub use reduce_ranges::render_range_reduction_from;
pub use reduce_ranges::{RangeReductionPlan, plan_range_reduction, render_range_reduction};
#[doc(hidden)]
pub use render::render_from;
pub use render::{COMPILE_OPTIONS, KernelSource, render, render_for};
pub use schedule::{Argument, Cooperative, Launch, Schedule, Workspace};
pub use segments::{OffsetWidth, Segments};
pub use spec::{ScanKind, ScanSpec};
pub use strategy::{BlockScan, Network, Strategy, WarpNetwork, Workers};
pub use target::Target;
#[doc(hidden)]
pub use templates::Templates;
pub use tuning::{Tuned, plan_tuned, shapes};
#[doc(hidden)]
pub use weight::instructions_of_an_element;

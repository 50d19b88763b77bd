//! Scans along an axis of an array: neighbouring threads scan neighbouring columns.

mod array;
mod axis;
mod plan;
mod render;
mod with_initial;

pub(crate) use array::{ColumnArray, Lying};
pub use axis::{Axis, AxisError, ColumnLayout};
pub use plan::{ColumnsPlan, plan_columns};
pub(crate) use plan::{EXCHANGES, GENERATIONS, MAX_RESIDENT_THREADS, MAX_TILES, SYSTEM_SHARED_BYTES};
#[cfg(test)]
pub(crate) use render::rooms_of;
pub use render::{render_columns, render_columns_for, render_columns_from};
pub use with_initial::WithInitial;

//! Scans along an axis of an array: neighbouring threads scan neighbouring columns.

mod array;
mod axis;
mod plan;
mod render;

pub use axis::{Axis, AxisError, ColumnLayout};
pub use plan::{ColumnsPlan, plan_columns};
#[cfg(test)]
pub(crate) use render::words_of;
pub use render::{render_columns, render_columns_for, render_columns_from};

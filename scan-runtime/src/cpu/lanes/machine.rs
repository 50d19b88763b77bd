//! An architecture without a file of its own: it has no loops over registers.

use super::Functions;
use crate::ScanOp;

/// A type of which a register holds several values.
pub trait Lane: Copy {}

impl<T: Copy> Lane for T {}

/// An operation on all lanes of two registers.
pub trait Apply: 'static {}

impl<V: 'static> Apply for V {}

/// The loops, of which there are none.
#[allow(clippy::extra_unused_type_parameters, reason = "as where there are some")]
pub(super) fn functions<Op: ScanOp, T: Lane, V: Apply>() -> Option<&'static Functions<Op>> {
    None
}

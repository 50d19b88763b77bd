//! The task of kernels.

use scan_codegen::{OffsetWidth, Overrides, Reduction, ScanSpec};

/// The task of kernels.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    /// A scan.
    Scan(ScanSpec, Overrides),
    /// A reduction, with or without an initial value.
    Reduce(Reduction, bool),
    /// A scan along an axis.
    Columns(ScanSpec, Overrides),
    /// The results of a reduction by segments: the last of each, out of the results of a scan.
    LastResults(ScanSpec),
    /// A reduction of ranges, by positions of this width.
    ReduceRanges(OffsetWidth, ScanSpec),
}

//! The kernels that schedules launch.

use std::fmt;

/// What a kernel does in a schedule. Its [`name`](KernelRole::name) follows the operator's name in the name of the
/// kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KernelRole {
    /// One block scans the whole input: inputs of one tile, for most carries.
    ScanBlock,
    /// Reduction and reduce-then-scan, first: each block reduces a tile of the input to its aggregate.
    ReduceTiles,
    /// Reduce-then-scan: each block scans a tile of aggregates.
    ScanAggregates,
    /// Reduce-then-scan: combines the exclusive prefix of each tile of aggregates into it.
    CarryAggregates,
    /// Reduce-then-scan, last: each block scans a tile of the input from its exclusive prefix on.
    ScanTiles,
    /// A block per tile, which waits for the inclusive prefix of the tile before it.
    ScanChained,
    /// A block per tile, which looks back over the statuses of the tiles before it.
    ScanLookBack,
    /// A block per tile, which folds the aggregates of all tiles before it.
    ScanLookAtAll,
    /// One cluster scans the whole input.
    ScanCluster,
    /// Persistent blocks, which look ahead.
    ScanLookAhead,
    /// Persistent blocks scan along an axis.
    ScanColumns,
    /// Reduction: each block reduces a tile of aggregates.
    ReduceSums,
    /// Reduction, last: one thread writes the result.
    ReduceEnd,
    /// Reduces ranges to a result each.
    ReduceRanges,
    /// Last results, first: each block counts the segments that end in its part of the input.
    CountSegments,
    /// Last results: one block scans these counts.
    PlaceSegments,
    /// Last results: writes the last result of each segment.
    LastResults,
}

impl KernelRole {
    /// The name of the role, which ends the name of the kernel in the compiled module.
    pub const fn name(self) -> &'static str {
        match self {
            KernelRole::ScanBlock => "scan_block",
            KernelRole::ScanAggregates => "scan_aggregates",
            KernelRole::CarryAggregates => "carry_aggregates",
            KernelRole::ScanTiles => "scan_tiles",
            KernelRole::ScanChained => "scan_chained",
            KernelRole::ScanLookBack => "scan_look_back",
            KernelRole::ScanLookAtAll => "scan_look_at_all",
            KernelRole::ScanCluster => "scan_cluster",
            KernelRole::ScanLookAhead => "scan_look_ahead",
            KernelRole::ScanColumns => "scan_columns",
            KernelRole::ReduceTiles => "reduce_tiles",
            KernelRole::ReduceSums => "reduce_sums",
            KernelRole::ReduceEnd => "reduce_end",
            KernelRole::ReduceRanges => "reduce_ranges",
            KernelRole::CountSegments => "count_segments",
            KernelRole::PlaceSegments => "place_segments",
            KernelRole::LastResults => "last_results",
        }
    }

    /// Whether its blocks poll the statuses of other blocks' tiles.
    #[doc(hidden)]
    pub const fn polls_statuses(self) -> bool {
        use KernelRole::*;
        matches!(self, ScanChained | ScanLookBack | ScanLookAtAll | ScanLookAhead | ScanColumns)
    }
}

impl fmt::Display for KernelRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

//! The launches of reduce-then-scan.

use super::launch::{Argument, Launch, Reserved, Schedule};
use crate::{constants::WORD, kernel_role::KernelRole, plan::Plan};

/// A level of aggregates.
struct Level {
    aggregates: Argument,
    /// The position of the first head of what each of them covers.
    heads: Argument,
    count: u64,
}

impl Plan {
    /// Up through the levels of aggregates, and down again.
    pub(super) fn reduce_then_scan(&self, len: u64, alignment: u64) -> Schedule {
        use Argument::*;
        let tile = u64::from(self.tile);
        let mut workspace = Reserved::new(alignment);
        let mut levels = Vec::new();
        let mut elements = len;
        // One tile has an aggregate too: this plan may have no kernel of one block.
        while elements > 1 || levels.is_empty() {
            elements = elements.div_ceil(tile);
            let aggregates = workspace.reserve(elements * self.state_bytes);
            // Without segments nothing is read or written there.
            let heads = if self.is_segmented() { workspace.reserve(elements * u64::from(WORD)) } else { aggregates };
            levels.push(Level { aggregates: Workspace(aggregates), heads: Workspace(heads), count: elements });
        }
        let launch = |kernel, elements: u64, arguments| {
            Launch::new(kernel, elements.div_ceil(tile) as u32, self.threads, arguments)
        };
        let scan_aggregates = |(level, above): (&Level, &Level)| {
            let places = [level.aggregates, level.heads, above.aggregates, above.heads];
            let arguments = [&[Operator], &places[..], &[Length(level.count)]].concat();
            launch(KernelRole::ScanAggregates, level.count, arguments)
        };
        let carry_aggregates = |(level, above): (&Level, &Level)| {
            let arguments = vec![Operator, level.aggregates, above.aggregates, above.heads, Length(level.count)];
            launch(KernelRole::CarryAggregates, level.count, arguments)
        };
        let of_tiles = |kernel, places: Vec<Argument>| {
            let first = [vec![Operator, Input], self.heads(), places, vec![Length(len)]].concat();
            launch(kernel, len, [first, self.initial_value(), self.total()].concat())
        };

        // Each level with the one above it, from the lowest on.
        let pairs = || levels.iter().zip(levels.iter().skip(1));
        let lowest = levels.iter().take(1);
        let reduce_tiles =
            lowest.clone().map(|lowest| of_tiles(KernelRole::ReduceTiles, vec![lowest.aggregates, lowest.heads]));
        let scan_tiles = lowest.map(|lowest| of_tiles(KernelRole::ScanTiles, vec![Output, lowest.aggregates]));
        // The topmost level fits one block, so no tile of it has a prefix.
        let lower = pairs().rev().filter(|(level, _)| level.count > tile);
        let launches = reduce_tiles
            .chain(pairs().map(scan_aggregates))
            .chain(lower.map(carry_aggregates))
            .chain(scan_tiles)
            .collect();
        Schedule { workspace: workspace.scratch(), launches }
    }
}

//! The cost of kernels whose tiles are in shared memory.

use super::{
    figures::{BlockCost, Count, LaunchCost, saturated},
    tiles::TICKET_BYTES,
};
use crate::{
    carry::{Polled, TileNumbers},
    plan::Plan,
    schedule::Launch,
    spec::ScanKind,
};

impl Plan {
    /// The cost of a block for its tile of `n` elements.
    fn tile_cost(&self, n: u64) -> BlockCost {
        let inclusive = self.spec.kind == ScanKind::Inclusive;
        self.strategy.block.cost(n, self.run.into(), inclusive)
    }

    /// The cost of combining the exclusive prefix of a tile of `n` elements with its outputs: with all, except the
    /// first of an exclusive scan.
    fn completion(&self, n: u64) -> BlockCost {
        let applications = if self.spec.kind == ScanKind::Inclusive { n } else { n - 1 };
        BlockCost { applications, steps: applications.div_ceil(self.threads.into()), barriers: 0 }
    }

    /// Adds up the blocks of a launch: pairs of a number of blocks and their cost.
    fn sum(&self, launch: &Launch, blocks: &[(u64, BlockCost)], read: u64, written: u64) -> LaunchCost {
        let present = || blocks.iter().filter(|(count, _)| *count > 0);
        let applications =
            present().fold(0_u64, |sum, (count, cost)| sum.saturating_add(cost.times(*count).applications));
        LaunchCost {
            kernel: launch.kernel,
            applications: applications.into(),
            steps: present().map(|(_, cost)| cost.steps).max().unwrap_or(0).into(),
            barriers: present().map(|(_, cost)| cost.barriers).max().unwrap_or(0),
            global_read: read,
            global_written: written,
        }
    }

    /// One block goes through all tiles. Every tile with a prefix combines it with its outputs and with its aggregate.
    pub(super) fn one_block_cost(&self, launch: &Launch, len: u64) -> LaunchCost {
        let mut sum = BlockCost::default();
        let first_is_full = len > u64::from(self.tile);
        let passes_on = u64::from(!self.one_block_has_one_tile());
        let adds_up = passes_on.max(self.spec.total.into());
        for (index, (count, n)) in self.tiles(len).into_iter().enumerate().filter(|(_, (count, _))| *count > 0) {
            let mut tile = self.tile_cost(n);
            tile.barriers += passes_on;
            let carried = self.completion(n) + BlockCost { applications: adds_up, steps: adds_up, barriers: 0 };
            // The very first tile has no prefix, unless there is an initial value.
            let first = u64::from(index == usize::from(!first_is_full) && !self.seeds());
            sum = sum + tile.times(count) + carried.times(count - first);
        }
        let [read, written] = [self.input_bytes, self.output_bytes].map(|bytes| len.saturating_mul(bytes));
        self.sum(launch, &[(1, sum)], read, written)
    }

    /// First kernel of reduce-then-scan: it writes an aggregate a tile.
    pub(super) fn reduce_tiles_cost(&self, launch: &Launch, len: u64) -> LaunchCost {
        let blocks = self.tiles(len).map(|(count, n)| (count, self.tile_cost(n)));
        self.sum(launch, &blocks, len * self.input_bytes, u64::from(launch.blocks) * self.state_bytes)
    }

    /// Second kernel: a level of `count` aggregates.
    pub(super) fn scan_aggregates_cost(&self, launch: &Launch, count: u64) -> LaunchCost {
        let blocks = self.tiles(count).map(|(blocks, n)| (blocks, self.tile_cost(n)));
        let written = (count + u64::from(launch.blocks)) * self.state_bytes;
        self.sum(launch, &blocks, count * self.state_bytes, written)
    }

    /// The down-sweep: each of `count` aggregates, except those of the first tile, is combined with the exclusive
    /// prefix of its tile.
    pub(super) fn carry_aggregates_cost(&self, launch: &Launch, count: u64) -> LaunchCost {
        let carried = |n: u64| BlockCost { applications: n, steps: n.div_ceil(self.threads.into()), barriers: 0 };
        let [(full, tile), (last, rest)] = self.tiles(count);
        let blocks = [(full.saturating_sub(1), carried(tile)), (if full > 0 { last } else { 0 }, carried(rest))];
        let later = count - if full > 0 { tile } else { rest };
        let before = (u64::from(launch.blocks) - 1) * u64::from(self.threads);
        self.sum(launch, &blocks, (later + before) * self.state_bytes, later * self.state_bytes)
    }

    /// Third kernel: each tile is scanned again, and its exclusive prefix is combined with its outputs.
    pub(super) fn scan_tiles_cost(&self, launch: &Launch, len: u64) -> LaunchCost {
        let [(full, tile), (last, rest)] = self.tiles(len);
        let initial = u64::from(self.seeds());
        // Only with an initial value has the first tile a prefix, and have others two.
        let scanned = |n| self.tile_cost(n) + BlockCost { applications: 0, steps: 0, barriers: 1 };
        let with_prefix = |n| scanned(n) + self.completion(n);
        let first = |n| if initial > 0 { with_prefix(n) } else { scanned(n) };
        let later = |n| with_prefix(n) + BlockCost { applications: initial, steps: initial, barriers: 0 };
        let blocks = match full {
            0 => vec![(last, first(rest))],
            _ => vec![(1, first(tile)), (full - 1, later(tile)), (last, later(rest))],
        };
        let read = len * self.input_bytes + (u64::from(launch.blocks) - 1) * self.state_bytes;
        self.sum(launch, &blocks, read, len * self.output_bytes)
    }

    /// Chained and look-back: one kernel, in which each tile gets its exclusive prefix from tile statuses.
    pub(super) fn single_pass_cost(&self, launch: &Launch, len: u64) -> LaunchCost {
        let tiles = u64::from(launch.blocks);
        let facts = self.strategy.carry.describe();
        let polled = facts.polled().unwrap_or(Polled::Last);
        let counter = u64::from(facts.tile_numbers == TileNumbers::Counter);
        let initial = u64::from(self.seeds());
        let (mut applications, mut steps, mut barriers) = (Count::default(), Count::default(), 0);
        let mut add = |count: u64, n: u64, before: u64, looking: Count, looking_steps: Count| {
            if count == 0 {
                return;
            }
            let tile = self.tile_cost(n);
            let completion = if before > 0 { self.completion(n) } else { BlockCost::default() };
            let each = tile.applications + completion.applications + before;
            applications = applications + Count::from(count.saturating_mul(each)) + looking;
            let one = Count { min: looking_steps.min.max(before), max: looking_steps.max.max(before) };
            steps = steps.of_greater(Count::from(tile.steps + completion.steps) + one);
            barriers = barriers.max(tile.barriers + counter + 1);
        };
        let [(full, tile), (last, rest)] = self.tiles(len);
        let none = Count::default();
        let (later, last_look, later_steps, last_steps) = match polled {
            Polled::Last | Polled::All => (none, none, none, none),
            Polled::UntilPrefix => {
                let later = saturated(self.looks_back(full));
                let look = |max| Count { min: 0, max };
                let steps = |number| look(self.look_back_max(number).steps);
                (look(later), look(self.look_back_max(full).applications), steps(full.saturating_sub(1)), steps(full))
            }
        };
        if full > 0 {
            add(1, tile, initial, none, none);
            add(full - 1, tile, 1, later, later_steps);
            add(last, rest, 1, last_look, last_steps);
        } else {
            add(last, rest, initial, none, none);
        }
        let (status, (loaded, published)) = (self.status_bytes(), self.statuses(polled, tiles));
        LaunchCost {
            kernel: launch.kernel,
            applications,
            steps,
            barriers,
            global_read: len * self.input_bytes + loaded * status + TICKET_BYTES * tiles,
            global_written: len * self.output_bytes + published * status + TICKET_BYTES * (tiles + 1),
        }
    }
}

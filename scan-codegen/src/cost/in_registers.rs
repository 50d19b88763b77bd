//! The cost of kernels whose runs stay in registers.

use super::{
    figures::{Count, LaunchCost, saturated},
    networks::{WARP, kogge_stone_applications, scan_of_warps_steps},
    tiles::{AlikeTiles, TICKET_BYTES},
};
use crate::{
    carry::{Polled, TileNumbers},
    kernel_role::KernelRole,
    plan::Plan,
    schedule::Launch,
};

/// Applications of the threads of a block for a tile, between its barriers, by thread.
pub(super) struct TileCost {
    /// Until the warps have written their aggregates: the run, and the scan of the warp.
    pub(super) reduced: Vec<u64>,
    /// The scan of the warps' aggregates, and the exclusive prefix of the thread in the block.
    pub(super) summed: Vec<u64>,
    /// The run again, from its exclusive prefix.
    pub(super) scanned: Vec<u64>,
}

impl TileCost {
    fn applications(&self) -> u64 {
        [&self.reduced, &self.summed, &self.scanned].into_iter().flatten().sum()
    }
}

/// Applications of the thread that has the most.
pub(super) fn max_of(counts: &[u64]) -> u64 {
    counts.iter().copied().max().unwrap_or(0)
}

/// Two stretches without a barrier between them.
fn both(first: &[u64], second: &[u64]) -> Vec<u64> {
    first.iter().zip(second).map(|(a, b)| a + b).collect()
}

/// The cost of a block of a cluster in one iteration, or in several.
#[derive(Clone, Copy, Default)]
struct RoundCost {
    applications: u64,
    steps: u64,
    barriers: u64,
}

impl RoundCost {
    fn add(&mut self, other: RoundCost, times: u64) {
        self.applications = self.applications.saturating_add(other.applications.saturating_mul(times));
        self.steps = self.steps.saturating_add(other.steps.saturating_mul(times));
        self.barriers = self.barriers.saturating_add(other.barriers.saturating_mul(times));
    }
}

/// The cost of tiles that cost the same: the applications of all, and the steps and barriers of one.
struct TilesCost {
    applications: Count,
    steps: Count,
    barriers: u64,
}

impl Plan {
    /// Barriers before and after a tile of `n` elements is scanned, where it begins at an aligned address.
    pub(super) fn barriers_of_moves(&self, n: u64) -> u64 {
        if self.runs_are_units() && n.is_multiple_of(self.run.into()) { 0 } else { 2 }
    }

    /// A tile of `n` elements, with a prefix or none.
    pub(super) fn cost_in_registers(&self, n: u64, any: bool) -> TileCost {
        self.cost_of_runs(self.run.into(), n, any)
    }

    /// The same where each thread has `run` elements.
    fn cost_of_runs(&self, run: u64, n: u64, any: bool) -> TileCost {
        let active = n.div_ceil(run);
        let warps = active.div_ceil(WARP);
        let own = |thread: u64| match self.whole_runs {
            true => run * u64::from(thread < active),
            false => n.saturating_sub(thread * run).min(run),
        };
        let lanes = |thread: u64| active.saturating_sub(thread / WARP * WARP).min(WARP);
        let each = |of: &dyn Fn(u64) -> u64| (0..u64::from(self.threads)).map(of).collect();
        let reduced = |thread: u64| match own(thread) {
            part if part < run && self.last_run_apart => 0,
            own => own.saturating_sub(1),
        };
        TileCost {
            reduced: each(&|thread| reduced(thread) + self.warp_scan_steps(thread % WARP, lanes(thread))),
            summed: each(&|thread| {
                let lane = thread % WARP;
                let in_later_warp = thread >= WARP && 0 < lane && lane < lanes(thread);
                scan_of_warps_steps(lane, warps) + u64::from(in_later_warp)
            }),
            scanned: each(&|thread| match (own(thread), thread) {
                (0, _) => 0,
                // A stepped operator applies to its carry what precedes a run, and takes steps: neither are
                // applications of `combine`.
                _ if self.stepped => 0,
                (own, 0) => own - u64::from(!any),
                (own, _) => own + u64::from(any),
            }),
        }
    }

    /// The applications of a block that scans the aggregates of `count` tiles, one per thread: the scans of the warps;
    /// the scan of their aggregates, which each warp of the block does for itself; and one more application for each
    /// lane but the first of each later warp.
    fn window_applications(&self, count: u64) -> u64 {
        let (full, rest, warps) = (count / WARP, count % WARP, count.div_ceil(WARP));
        let scans = full * self.warp_scan_applications(WARP) + self.warp_scan_applications(rest);
        let over_warps = u64::from(self.threads) / WARP * kogge_stone_applications(warps);
        scans + over_warps + count.saturating_sub(WARP) - warps.saturating_sub(1)
    }

    /// The applications with which the tiles before tile `end` fold the aggregates of all tiles before their own.
    ///
    /// Tile k·t + r, of blocks of t threads and with 1 ≤ r ≤ t, looks through k full windows and one of r aggregates.
    /// Every thread combines each window but the first with its prefix, and an initial value. So the sum over tiles is
    /// one over r, and one over k.
    pub(super) fn looks_at_all(&self, end: u64) -> u128 {
        let threads = u64::from(self.threads);
        let tiles = end.saturating_sub(1); // the first tile has no tile before it
        let (windows, rest) = (tiles / threads, tiles % threads);
        let of_last_windows =
            |max: u64| (1..=max).map(|count| u128::from(self.window_applications(count))).sum::<u128>();
        let each = u128::from(self.window_applications(threads)) + u128::from(threads);
        let (threads, windows, rest_wide) = (u128::from(threads), u128::from(windows), u128::from(rest));
        let full_windows = threads * (windows * windows.saturating_sub(1) / 2) + rest_wide * windows;
        let of_threads = if windows > 0 { windows * of_last_windows(self.threads.into()) } else { 0 };
        let initial = threads * u128::from(self.seeds()) * u128::from(tiles);
        each * full_windows + of_threads + of_last_windows(rest) + initial
    }

    /// The steps of the block with this tile, which looks at all tiles before it, and the barriers of look-at-all.
    /// Later tiles take no less.
    fn steps_at_all(&self, tile: &TileCost, number: u64) -> (u64, u64) {
        let threads = u64::from(self.threads);
        let windows = number.div_ceil(threads);
        if windows == 0 {
            return (max_of(&tile.reduced) + max_of(&both(&tile.summed, &tile.scanned)), 0);
        }
        // A thread has one aggregate, as it has one run of a tile.
        let full = self.cost_of_runs(1, threads, false);
        let last = self.cost_of_runs(1, number - (windows - 1) * threads, false);
        let before = max_of(&tile.reduced) + max_of(&tile.summed) + max_of(&last.reduced);
        let between = (windows - 1) * (max_of(&full.reduced) + max_of(&full.summed)) + windows.saturating_sub(2);
        let more = u64::from(windows > 1) + u64::from(self.seeds());
        (before + between + max_of(&both(&last.summed, &tile.scanned)) + more, 2 * windows)
    }

    /// The cost of one cluster.
    fn cluster_cost(&self, launch: &Launch, len: u64) -> LaunchCost {
        let (tile, blocks, threads) = (u64::from(self.tile), u64::from(self.cluster), u64::from(self.threads));
        let tiles = len.div_ceil(tile);
        let rounds = tiles.div_ceil(blocks);
        let (mut applications, mut max_steps, mut max_barriers) = (0_u64, 0, 0);
        for block in 0..blocks.min(tiles) {
            let of_round = |round: u64| {
                let number = round * blocks + block;
                let before = self.seeds() || round > 0;
                let any = before || block > 0;
                let elements = (len - number * tile).min(tile);
                let own = self.cost_in_registers(elements, any);
                let mut cost = RoundCost { barriers: 1 + self.barriers_of_moves(elements), ..RoundCost::default() };
                // The aggregates of the tiles before its own; the very first takes no application.
                let folded = if before { block } else { block.saturating_sub(1) };
                let last: Vec<u64> = own.scanned.iter().map(|applied| applied + folded).collect();
                // The block waits at a barrier for all threads only before it publishes its first aggregate.
                let stretches = match round {
                    0 => vec![own.reduced, own.summed, last],
                    _ => vec![own.reduced, both(&own.summed, &last)],
                };
                for stretch in &stretches {
                    cost.applications += stretch.iter().sum::<u64>();
                    cost.steps += max_of(stretch);
                }
                if round + 1 < rounds {
                    let folded = blocks - block - u64::from(!any);
                    cost.applications += threads * folded;
                    cost.steps += folded;
                    cost.barriers += 1;
                }
                cost
            };
            // The barrier of the cluster; then the first iteration, the last one, and those between, which cost the
            // same.
            let mut cost = RoundCost { barriers: 1, ..RoundCost::default() };
            let last = (tiles - 1 - block) / blocks;
            cost.add(of_round(0), 1);
            if last > 0 {
                cost.add(of_round(last), 1);
            }
            if last > 1 {
                cost.add(of_round(1), last - 1);
            }
            applications = applications.saturating_add(cost.applications);
            (max_steps, max_barriers) = (cost.steps.max(max_steps), cost.barriers.max(max_barriers));
        }
        LaunchCost {
            kernel: launch.kernel,
            applications: applications.into(),
            steps: max_steps.into(),
            barriers: max_barriers,
            global_read: len.saturating_mul(self.input_bytes),
            global_written: len.saturating_mul(self.output_bytes),
        }
    }

    /// The cost of one block that goes through all tiles.
    fn alone_in_registers(&self, launch: &Launch, len: u64) -> LaunchCost {
        let passes_on = !self.one_block_has_one_tile();
        let (mut applications, mut steps, mut barriers) = (0_u64, 0_u64, 0_u64);
        for AlikeTiles { first, count, elements } in self.tiles_alike(len) {
            let any = self.seeds() || first > 0;
            let tile = self.cost_in_registers(elements, any);
            let passed_on = u64::from(any && (passes_on || self.spec.total));
            // No barrier separates the second phase from the third. If the prefix is carried on, that happens after
            // another barrier.
            let of_tile = max_of(&tile.reduced) + max_of(&both(&tile.summed, &tile.scanned)) + passed_on;
            applications = applications.saturating_add((tile.applications() + passed_on).saturating_mul(count));
            steps = steps.saturating_add(of_tile.saturating_mul(count));
            let of_tile = 1 + u64::from(passes_on) + self.barriers_of_moves(elements);
            barriers = barriers.saturating_add(of_tile.saturating_mul(count));
        }
        LaunchCost {
            kernel: launch.kernel,
            applications: applications.into(),
            steps: steps.into(),
            barriers,
            global_read: len.saturating_mul(self.input_bytes),
            global_written: len.saturating_mul(self.output_bytes),
        }
    }

    /// The cost of a launch of a scan of `len` elements.
    pub(super) fn launch_cost_in_registers(&self, launch: &Launch, len: u64) -> LaunchCost {
        let facts = self.strategy.carry.describe();
        let polled = match facts.polled() {
            // Short inputs, under every strategy.
            _ if launch.kernel == KernelRole::ScanBlock => return self.alone_in_registers(launch, len),
            None => return self.cluster_cost(launch, len),
            Some(polled) => polled,
        };
        let (mut applications, mut steps, mut barriers) = (Count::default(), Count::default(), 0);
        for tiles in self.tiles_alike(len) {
            let of_tiles = match polled {
                Polled::All => self.tiles_looking_at_all(tiles),
                Polled::Last | Polled::UntilPrefix => self.tiles_passing_on(tiles, polled),
            };
            applications = applications + of_tiles.applications;
            steps = steps.of_greater(of_tiles.steps);
            barriers = barriers.max(of_tiles.barriers);
        }
        // If the tile index is a ticket, all threads wait for it.
        let counter = u64::from(facts.tile_numbers == TileNumbers::Counter);
        let blocks = u64::from(launch.blocks);
        let (status, (loaded, published)) = (self.status_bytes(), self.statuses(polled, blocks));
        let tickets = TICKET_BYTES * blocks;
        LaunchCost {
            kernel: launch.kernel,
            applications,
            steps,
            barriers: barriers + counter,
            global_read: (len * self.input_bytes + tickets).saturating_add(loaded.saturating_mul(status)),
            global_written: len * self.output_bytes + published * status + tickets + TICKET_BYTES,
        }
    }

    /// Tiles that look at all tiles before their own.
    fn tiles_looking_at_all(&self, tiles: AlikeTiles) -> TilesCost {
        let AlikeTiles { first, count, elements } = tiles;
        let tile = self.cost_in_registers(elements, self.seeds() || first > 0);
        let looks = self.looks_at_all(first + count) - self.looks_at_all(first);
        let own = u128::from(tile.applications()) * u128::from(count);
        let (steps, looking) = self.steps_at_all(&tile, first + count - 1);
        let barriers = 1 + self.barriers_of_moves(elements) + looking;
        TilesCost { applications: saturated(looks + own).into(), steps: steps.into(), barriers }
    }

    /// Tiles in which one thread combines the prefix that it publishes, after look-back or after polling the last tile
    /// only.
    fn tiles_passing_on(&self, tiles: AlikeTiles, polled: Polled) -> TilesCost {
        let AlikeTiles { first, count, elements } = tiles;
        let any = self.seeds() || first > 0;
        let mut tile = self.cost_in_registers(elements, any);
        if let Some(publishing_thread) = tile.summed.first_mut() {
            *publishing_thread += u64::from(any);
        }
        let min = max_of(&tile.reduced) + max_of(&tile.summed) + max_of(&tile.scanned);
        let (mut looks, mut looking) = (Count::default(), 0);
        if polled == Polled::UntilPrefix {
            looks.max = saturated(self.looks_back(first + count) - self.looks_back(first));
            // The last of these tiles looks back the furthest.
            looking = self.look_back_max(first + count - 1).steps;
        }
        TilesCost {
            applications: Count::from(tile.applications().saturating_mul(count)) + looks,
            steps: Count { min, max: min + looking },
            barriers: 2 + self.barriers_of_moves(elements),
        }
    }
}

//! The cost of look-ahead.

use super::{figures::LaunchCost, networks::WARP, tiles::TICKET_BYTES};
use crate::{
    plan::{Pipeline, Plan},
    schedule::Launch,
};

/// Applications of a warp that serves the teams of a block, lane by lane, and how many statuses it reads.
#[derive(Default)]
pub(super) struct Served {
    pub(super) lanes: [u64; WARP as usize],
    pub(super) read: u64,
}

impl Served {
    /// The applications of the lane that keeps the prefix.
    fn first_lane(&mut self) -> &mut u64 {
        let [first, ..] = &mut self.lanes;
        first
    }
}

/// The tiles of one block: every `blocks`-th one, from its own number on.
#[derive(Clone, Copy)]
struct Share {
    block: u64,
    blocks: u64,
    rounds: u64,
    /// Whether the last tile of all is among them, whose block writes the total.
    has_last: bool,
}

impl Plan {
    /// The cost of look-ahead with an aligned input, at which tiles begin. After its start a block has no barrier for
    /// all its threads, so the steps are those of the thread with the most applications: one of a team, or one that
    /// folds the aggregates of tiles.
    pub(super) fn look_ahead_cost(&self, launch: &Launch, len: u64) -> LaunchCost {
        let pipeline = self.pipeline.unwrap_or_default();
        let [(full, tile), (last, rest)] = self.tiles(len);
        let (tiles, blocks, teams) = (full + last, u64::from(launch.blocks), u64::from(pipeline.teams));
        let initial = self.seeds();
        let first = self.team_cost(if full > 0 { tile } else { rest }, initial);
        let (later, of_last) = (self.team_cost(tile, true), self.team_cost(rest, true));
        let (mut applications, mut steps, mut read) = (0, 0, 0);
        for block in 0..blocks {
            let rounds = (tiles - 1 - block) / blocks + 1;
            // The applications of each thread of each team.
            for team in 0..teams.min(rounds) {
                let turns = (rounds - 1 - team) / teams + 1;
                let number = |turn: u64| block + (team + turn * teams) * blocks;
                let has_first = u64::from(number(0) == 0);
                let has_last = u64::from(number(turns - 1) == full && full > 0);
                let others = turns - has_first - has_last;
                let of_thread = |((first, later), of_last): ((&u64, &u64), &u64)| {
                    first * has_first + later * others + of_last * has_last
                };
                for applied in first.iter().zip(&later).zip(&of_last).map(of_thread) {
                    applications += applied;
                    steps = steps.max(applied);
                }
            }
            for warp in self.serving_cost(block, blocks, tiles) {
                read += warp.read;
                applications += warp.lanes.iter().sum::<u64>();
                steps = warp.lanes.into_iter().max().unwrap_or(0).max(steps);
            }
        }
        let status = self.status_bytes();
        let statuses = tiles + pipeline.group_statuses(tiles, blocks);
        // A tile that is not whole is read from global memory, once to reduce it and once to scan it.
        let reread = if rest < tile { rest } else { 0 };
        LaunchCost {
            kernel: launch.kernel,
            applications: applications.into(),
            steps: steps.into(),
            barriers: 1,
            global_read: (len + reread) * self.input_bytes + read * status + TICKET_BYTES * blocks,
            global_written: len * self.output_bytes + statuses * status + TICKET_BYTES * (blocks + 1),
        }
    }

    /// The warps of a block that serve its teams.
    pub(super) fn serving_cost(&self, block: u64, blocks: u64, tiles: u64) -> Vec<Served> {
        let pipeline = self.pipeline.unwrap_or_default();
        let rounds = (tiles - 1 - block) / blocks + 1;
        let share = Share { block, blocks, rounds, has_last: (tiles - 1) % blocks == block };
        match pipeline.group {
            0 | 1 => self.look_ahead_warp_cost(share, &pipeline),
            _ => self.group_cost(share, &pipeline),
        }
    }

    /// The look-ahead warp folds the aggregates of all tiles before the block's own: before the first of these as many
    /// as its index, before each later one as many as there are blocks. Several warps take the block's tiles in turn.
    fn look_ahead_warp_cost(&self, share: Share, pipeline: &Pipeline) -> Vec<Served> {
        let statuses_per_lane = u64::from(pipeline.statuses_per_lane);
        let window = WARP * statuses_per_lane;
        let warps = u64::from(pipeline.look_ahead_warps.max(1));
        // A lane that loads `count` statuses, with or without a prefix before them, `times` times.
        let look = |served: &mut Served, count: u64, any: bool, times: u64| {
            if count == 0 || times == 0 {
                return;
            }
            served.read += count * times;
            let (windows, rest) = (count.div_ceil(window), count - (count.div_ceil(window) - 1) * window);
            for (lane, applied) in (0..).zip(&mut served.lanes) {
                let of_window = |count: u64| {
                    let own = count.saturating_sub(lane * statuses_per_lane).min(statuses_per_lane);
                    own.saturating_sub(1) + self.warp_scan_steps(lane, count.div_ceil(statuses_per_lane))
                };
                // Of round-robin warps only the first lane adds what precedes the windows.
                let has_before = any && (warps == 1 || lane == 0);
                let added = windows - u64::from(!has_before);
                *applied += times * ((windows - 1) * of_window(window) + of_window(rest) + added);
            }
        };
        let (initial, later) = (self.seeds(), share.rounds - 1);
        let of_warp = |warp: u64| {
            let mut served = Served::default();
            // The tiles of this warp: the first of all, the second, and those from the third on.
            let (first, second) = (u64::from(warp == 0), u64::from(later > 0 && warp == 1 % warps));
            let rest = (later + warps - warp) / warps - first - second;
            look(&mut served, share.block, initial, first);
            look(&mut served, share.blocks, initial || share.block > 0, second);
            look(&mut served, share.blocks, true, rest);
            if self.spec.total && share.has_last && warp == later % warps {
                *served.first_lane() += u64::from(initial || share.block > 0 || later > 0);
                served.read += 1;
            }
            served
        };
        (0..warps).map(of_warp).collect()
    }

    /// One group warp folds the aggregates of tiles of the block's group, the other one those of groups. One lane
    /// combines both.
    fn group_cost(&self, share: Share, pipeline: &Pipeline) -> Vec<Served> {
        let (size, initial, later) = (u64::from(pipeline.group), self.seeds(), share.rounds - 1);
        let (groups, group, place) = (share.blocks.div_ceil(size), share.block / size, share.block % size);
        let tells = place == size - 1 || share.block == share.blocks - 1;
        let of_tiles = place + u64::from(tells);
        let (mut tiles, mut of_groups, mut folding) = (Served::default(), Served::default(), Served::default());
        let gather = |served: &mut Served, count: u64, times: u64| {
            served.read += count * times;
            for (lane, applied) in (0..).zip(&mut served.lanes) {
                *applied += self.warp_scan_steps(lane, count) * times;
            }
        };
        gather(&mut tiles, of_tiles, share.rounds);
        gather(&mut of_groups, group, 1);
        gather(&mut of_groups, groups, later);
        // The prefix of the first tile includes an initial value and the groups before its own, those of later tiles
        // all groups.
        let after_first = initial || group > 0;
        let folded = folding.first_lane();
        *folded += u64::from(initial && group > 0) + u64::from(after_first && place > 0);
        *folded += u64::from(after_first) * later.min(1) + later.saturating_sub(1) + u64::from(place > 0) * later;
        if self.spec.total && share.has_last {
            *folded += u64::from(after_first || later > 0 || place > 0);
            folding.read += 1;
        }
        vec![tiles, of_groups, folding]
    }

    /// Applications of each thread of a team for a tile of `n` elements, with or without a prefix.
    fn team_cost(&self, n: u64, any: bool) -> Vec<u64> {
        let run = u64::from(self.run);
        let active = n.div_ceil(run);
        let warps = active.div_ceil(WARP);
        let of_thread = |thread: u64| {
            let (warp, lane) = (thread / WARP, thread % WARP);
            let lanes = active.saturating_sub(warp * WARP).min(WARP);
            let own = n.saturating_sub(thread * run).min(run);
            let reduce = own.saturating_sub(1);
            let scans =
                self.warp_scan_steps(lane, lanes) + if warp == 0 { self.warp_scan_steps(lane, warps) } else { 0 };
            let from_warps = warp > 0 && lanes > 0;
            let from_lanes = 0 < lane && lane < lanes;
            // A stepped operator applies to its carry what precedes a run, and takes steps: neither are applications of
            // `combine`.
            if self.stepped {
                return reduce + scans;
            }
            let before = u64::from(from_warps && any) + u64::from(from_lanes && (any || from_warps));
            let scan = own.saturating_sub(u64::from(!(any || from_warps || from_lanes)));
            reduce + scans + before + scan
        };
        (0..u64::from(self.threads)).map(of_thread).collect()
    }
}

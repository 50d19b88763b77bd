//! The cost model: what a plan takes at a length, by formula.
//!
//! Nothing is executed here. The emulator of the test crate executes the kernels and counts the same; a test compares.

mod in_registers;
mod look_ahead;
mod look_back;

use std::{fmt, ops::Add};

use crate::{
    plan::{Plan, PlanError},
    schedule::{Argument, Launch},
    spec::ScanKind,
    strategy::{BlockScan, Carry, Network, TileNumbers},
};

/// Threads of a warp.
const WARP: u64 = 32;

/// Bytes of the word from which blocks take their turns. The last of them writes it once more.
pub(crate) const TURN: u64 = 8;

/// What a scan takes, launch by launch. A figure that outgrows 64 bits is the largest there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The launches, in their order.
    pub launches: Vec<LaunchCost>,
}

/// What one launch takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchCost {
    /// Which kernel: the role that stands in its name after the operator's.
    pub kernel: &'static str,
    /// Applications of the operator, over all threads.
    pub applications: Count,
    /// Steps: for every stretch between two barriers the applications of the thread that has the most of them there, added
    /// up; the most of any block. In the networks of the texts no thread has more than one in a stretch, so that this
    /// counts the rows of their pictures.
    pub steps: Count,
    /// Barriers that each thread waits at; the most of any block.
    pub barriers: u64,
    /// Bytes that threads read from global memory. What every thread of a block reads counts once for each. Where blocks
    /// wait for each other, these are the bytes if none has to: a block that waits reads its neighbour's message again.
    pub global_read: u64,
    /// Bytes that threads write to global memory.
    pub global_written: u64,
}

/// How often something happens. The two ends differ where it depends on which blocks are ahead of which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// At the least.
    pub least: u64,
    /// At the most.
    pub most: u64,
}

impl Count {
    /// Whether it can be that often.
    pub fn contains(self, count: u64) -> bool {
        (self.least..=self.most).contains(&count)
    }

    fn of_greater(self, other: Count) -> Count {
        Count { least: self.least.max(other.least), most: self.most.max(other.most) }
    }
}

impl From<u64> for Count {
    fn from(count: u64) -> Self {
        Count { least: count, most: count }
    }
}

impl Add for Count {
    type Output = Count;
    fn add(self, other: Count) -> Count {
        Count { least: self.least.saturating_add(other.least), most: self.most.saturating_add(other.most) }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.least == self.most {
            f.pad(&self.least.to_string())
        } else {
            f.pad(&format!("{} to {}", self.least, self.most))
        }
    }
}

impl Cost {
    /// Applications of the operator in all launches.
    pub fn applications(&self) -> Count {
        self.launches.iter().fold(Count::default(), |sum, launch| sum + launch.applications)
    }

    /// Steps of all launches, one after the other.
    pub fn steps(&self) -> Count {
        self.launches.iter().fold(Count::default(), |sum, launch| sum + launch.steps)
    }

    /// Barriers of all launches, one after the other.
    pub fn barriers(&self) -> u64 {
        self.launches.iter().fold(0, |sum, launch| sum.saturating_add(launch.barriers))
    }

    /// Bytes read from and written to global memory in all launches.
    pub fn global_bytes(&self) -> u64 {
        let bytes = self.launches.iter().flat_map(|launch| [launch.global_read, launch.global_written]);
        bytes.fold(0, u64::saturating_add)
    }
}

/// What a block takes to scan values in shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCost {
    /// Applications of the operator.
    pub applications: u64,
    /// Steps, as in [`LaunchCost::steps`].
    pub steps: u64,
    /// Barriers.
    pub barriers: u64,
}

/// A figure of any size, as far as 64 bits go.
fn saturated(figure: u128) -> u64 {
    u64::try_from(figure).unwrap_or(u64::MAX)
}

/// log₂ n, rounded up: how often 1 is doubled until it is no less than n.
fn log_up(n: u64) -> u64 {
    u64::from(u64::BITS - n.saturating_sub(1).leading_zeros())
}

/// log₂ n, rounded down.
fn log_down(n: u64) -> u64 {
    u64::from(n.max(1).ilog2())
}

/// The applications of Kogge and Stone's network: n − s in the step with stride s = 1, 2, 4, … < n.
fn kogge_stone_applications(n: u64) -> u64 {
    let steps = log_up(n);
    saturated(u128::from(n) * u128::from(steps) - ((1 << steps) - 1))
}

impl Network {
    /// What it takes to scan `n` values, at least one. The forms hold for every n; for powers of two they are those of the
    /// texts.
    ///
    /// | network | applications | steps | barriers |
    /// |---|---|---|---|
    /// | sequential | n − 1 | n − 1 | 2 |
    /// | naive | n (n − 1) / 2 | n − 1 | 3 |
    /// | Kogge-Stone | n ⌈log₂ n⌉ − (2^⌈log₂ n⌉ − 1) | ⌈log₂ n⌉ | 2 ⌈log₂ n⌉ + 1 |
    /// | Hillis-Steele | the same | ⌈log₂ n⌉ | ⌈log₂ n⌉ + 2 |
    /// | Brent-Kung | (n − ones(n)) + (n − 1 − ⌊log₂ n⌋) | ⌊log₂ n⌋ + ⌊log₂ n/3⌋ + 1 | steps + 1 |
    /// | Blelloch, m = 2^⌈log₂ n⌉ ≥ 2 | 2 (m − 1) | 2 log₂ m | 2 log₂ m + 3 |
    /// | warp shuffles, w = ⌈n/32⌉ | that of Kogge-Stone for each warp and for w, and n − 32 | ⌈log₂ 32⌉ + ⌈log₂ w⌉ + 1 | 4 |
    ///
    /// Brent-Kung's way up takes ⌊n/2⌋ + ⌊n/4⌋ + …, which is n less its binary ones; its way down ⌊(n − s)/2s⌋ for every
    /// stride s, which adds up to n − 1 − ⌊log₂ n⌋. For a power of two: 2n − 2 − log₂ n in 2 log₂ n − 1 steps. Blelloch's
    /// tree gives an exclusive scan; to make it `inclusive` costs n more applications, two more steps and barriers.
    pub fn cost(self, n: u64, inclusive: bool) -> BlockCost {
        let (up, down) = (log_up(n), log_down(n));
        let cost = |applications, steps, barriers| BlockCost { applications, steps, barriers };
        let wide = u128::from;
        match self {
            _ if n == 0 => BlockCost::default(),
            Network::Sequential => cost(n - 1, n - 1, 2),
            Network::Naive => cost(saturated(wide(n) * wide(n - 1) / 2), n - 1, 3),
            Network::KoggeStone => cost(kogge_stone_applications(n), up, 2 * up + 1),
            Network::HillisSteele => cost(kogge_stone_applications(n), up, up + 2),
            Network::BrentKung { .. } => {
                let steps = down + if n >= 3 { log_down(n / 3) + 1 } else { 0 };
                let on_the_way_up = n - u64::from(n.count_ones());
                cost(on_the_way_up.saturating_add(n - 1 - down), steps, steps + 1)
            }
            Network::Blelloch { .. } => {
                let levels = up.max(1);
                let tree = cost(saturated(2 * ((1 << levels) - 1)), 2 * levels, 2 * levels + 3);
                let own = if inclusive { cost(n, n.min(2), 2) } else { BlockCost::default() };
                tree + own
            }
            Network::WarpShuffle => {
                let (full, rest, warps) = (n / WARP, n % WARP, n.div_ceil(WARP));
                let in_warps =
                    full.saturating_mul(kogge_stone_applications(WARP)).saturating_add(kogge_stone_applications(rest));
                let over_warps = kogge_stone_applications(warps);
                let later_warps = n.saturating_sub(WARP);
                let steps = log_up(n.min(WARP)) + log_up(warps) + u64::from(warps > 1);
                let applications = wide(in_warps) + wide(over_warps) + wide(later_warps);
                cost(saturated(applications), steps, 4)
            }
        }
    }
}

impl Add for BlockCost {
    type Output = BlockCost;
    fn add(self, other: BlockCost) -> BlockCost {
        BlockCost {
            applications: self.applications.saturating_add(other.applications),
            steps: self.steps.saturating_add(other.steps),
            barriers: self.barriers.saturating_add(other.barriers),
        }
    }
}

impl BlockScan {
    /// What it takes to scan `n` values, where a thread scans `run` of them on its own.
    ///
    /// Coarsened, with r = ⌈n / run⌉ runs: n − r applications within the runs, the network's over r totals, and one for each
    /// value after the first run; run − 1 steps, the network's, and run again; the network's barriers and two more.
    pub fn cost(self, n: u64, run: u64, inclusive: bool) -> BlockCost {
        if !self.coarsened || n == 0 {
            return self.network.cost(n, inclusive);
        }
        let run = run.max(1);
        let runs = n.div_ceil(run);
        let after_the_first = n.saturating_sub(run);
        let first_phase = BlockCost { applications: n - runs, steps: n.min(run) - 1, barriers: 1 };
        let third_phase = BlockCost { applications: after_the_first, steps: after_the_first.min(run), barriers: 1 };
        // The totals' exclusive scan is as good as the inclusive one, so Blelloch's tree is left as it is.
        first_phase + self.network.cost(runs, false) + third_phase
    }
}

/// How many elements a launch is about.
fn length(launch: &Launch) -> u64 {
    let lengths =
        launch.arguments.iter().map(|argument| if let Argument::Length(length) = argument { *length } else { 0 });
    lengths.sum()
}

impl Plan {
    /// What a scan of `len` elements takes, by formula: from the plan alone, with nothing executed.
    ///
    /// Global traffic of n elements, apart from one value or message a tile: 2n by one block, chained and look-back, 4n
    /// hierarchical.
    ///
    /// # Errors
    ///
    /// [`PlanError::TooLong`], as [`schedule`](Plan::schedule); [`PlanError::CostOfSegments`] for a segmented scan, which
    /// takes the less the more segments there are.
    pub fn cost(&self, len: u64) -> Result<Cost, PlanError> {
        if !self.spec.segments.is_none() {
            return Err(PlanError::CostOfSegments);
        }
        let launches = self.schedule(len)?.launches;
        let launches = launches.iter().map(|launch| match launch.kernel {
            _ if self.strategy.block.in_registers => self.launch_cost_in_registers(launch, len),
            "scan_block" => self.one_block_cost(launch, len),
            "scan_sections" => self.sections_cost(launch, len),
            "scan_totals" => self.totals_cost(launch, length(launch)),
            "carry_totals" => self.carry_totals_cost(launch, length(launch)),
            "carry_sections" => self.carry_sections_cost(launch, len),
            "scan_look_ahead" => self.look_ahead_cost(launch, len),
            _ => self.single_pass_cost(launch, len),
        });
        Ok(Cost { launches: launches.collect() })
    }

    /// The elements of each tile, as (how many tiles, of how many elements): the full ones, and the last.
    fn tiles(&self, len: u64) -> [(u64, u64); 2] {
        let tile = u64::from(self.tile);
        let full = (len.saturating_sub(1)) / tile;
        [(full, tile), (u64::from(len > 0), len - full * tile)]
    }

    /// What a block takes for its tile of `n` elements.
    fn tile_cost(&self, n: u64) -> BlockCost {
        let inclusive = self.spec.kind == ScanKind::Inclusive;
        self.strategy.block.cost(n, self.run.into(), inclusive)
    }

    /// Adding what stands before a tile of `n` elements to its outputs: every one, but the first of an exclusive scan.
    fn completion(&self, n: u64) -> BlockCost {
        let applications = if self.spec.kind == ScanKind::Inclusive { n } else { n - 1 };
        BlockCost { applications, steps: applications.div_ceil(self.threads.into()), barriers: 0 }
    }

    /// Adds up the blocks of a launch: so many of each cost.
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

    /// One block goes through all tiles. To every tile that has something before it this is added, and the total to that.
    fn one_block_cost(&self, launch: &Launch, len: u64) -> LaunchCost {
        let mut sum = BlockCost::default();
        let first_is_full = len > u64::from(self.tile);
        let passes_on = u64::from(!self.one_block_has_one_tile());
        let adds_up = passes_on.max(self.spec.total.into());
        for (index, (count, n)) in self.tiles(len).into_iter().enumerate().filter(|(_, (count, _))| *count > 0) {
            let mut tile = self.tile_cost(n);
            tile.barriers += passes_on;
            let carried = self.completion(n) + BlockCost { applications: adds_up, steps: adds_up, barriers: 0 };
            // Nothing stands before the very first tile, unless there is an initial value.
            let first = u64::from(index == usize::from(!first_is_full) && !self.spec.initial_value);
            sum = sum + tile.times(count) + carried.times(count - first);
        }
        let [read, written] = [self.input_bytes, self.output_bytes].map(|bytes| len.saturating_mul(bytes));
        self.sum(launch, &[(1, sum)], read, written)
    }

    /// First kernel of the hierarchical scan. An exclusive one leaves out the first partial result of each section.
    fn sections_cost(&self, launch: &Launch, len: u64) -> LaunchCost {
        let blocks = self.tiles(len).map(|(count, n)| (count, self.tile_cost(n)));
        let left_out = if self.spec.kind == ScanKind::Exclusive { u64::from(launch.blocks) } else { 0 };
        let written = (len - left_out + u64::from(launch.blocks)) * self.state_bytes;
        self.sum(launch, &blocks, len * self.input_bytes, written)
    }

    /// Second kernel: a level of `count` section totals. They are always scanned inclusively; where the tile holds their
    /// exclusive scan, each total is read and combined once more.
    fn totals_cost(&self, launch: &Launch, count: u64) -> LaunchCost {
        let exclusive =
            matches!(self.strategy.block, BlockScan { network: Network::Blelloch { .. }, coarsened: false, .. })
                && self.spec.kind == ScanKind::Exclusive;
        let blocks = self.tiles(count).map(|(blocks, n)| {
            let again = if exclusive { self.completion(n) } else { BlockCost::default() };
            (blocks, self.tile_cost(n) + again)
        });
        let again = if exclusive { count - u64::from(launch.blocks) } else { 0 };
        let written = if exclusive { count } else { count + u64::from(launch.blocks) };
        self.sum(launch, &blocks, (count + again) * self.state_bytes, written * self.state_bytes)
    }

    /// On the way down: to each of `count` totals, but for those of the first section, what stands before its section.
    fn carry_totals_cost(&self, launch: &Launch, count: u64) -> LaunchCost {
        let carried = |n: u64| BlockCost { applications: n, steps: n.div_ceil(self.threads.into()), barriers: 0 };
        let [(full, tile), (last, rest)] = self.tiles(count);
        let blocks = [(full.saturating_sub(1), carried(tile)), (if full > 0 { last } else { 0 }, carried(rest))];
        let later = count - if full > 0 { tile } else { rest };
        let before = (u64::from(launch.blocks) - 1) * u64::from(self.threads);
        self.sum(launch, &blocks, (later + before) * self.state_bytes, later * self.state_bytes)
    }

    /// Third kernel: what stands before each section is added to its partial results.
    fn carry_sections_cost(&self, launch: &Launch, len: u64) -> LaunchCost {
        let [(full, tile), (last, rest)] = self.tiles(len);
        let initial = u64::from(self.spec.initial_value);
        let barrier = BlockCost { applications: 0, steps: 0, barriers: 1 };
        let with_initial_value = BlockCost { applications: initial, steps: initial, barriers: 1 };
        let (first, last_is_first) = (u64::from(full > 0), u64::from(full == 0));
        let first_cost = |n| if initial > 0 { barrier + self.completion(n) } else { barrier };
        let blocks = [
            (first, first_cost(tile)),
            (full - first, with_initial_value + self.completion(tile)),
            (last * last_is_first, first_cost(rest)),
            (last * (1 - last_is_first), with_initial_value + self.completion(rest)),
        ];
        let sections = u64::from(launch.blocks);
        let left_out = if self.spec.kind == ScanKind::Exclusive { sections } else { 0 };
        let read = (len - left_out + sections - 1) * self.state_bytes;
        self.sum(launch, &blocks, read, len * self.output_bytes)
    }

    /// Chained and look-back: one kernel, in which each tile learns from messages what stands before it.
    fn single_pass_cost(&self, launch: &Launch, len: u64) -> LaunchCost {
        let tiles = u64::from(launch.blocks);
        let counter = u64::from(self.strategy.carry != Carry::Chained(TileNumbers::BlockIndex));
        let initial = u64::from(self.spec.initial_value);
        let looks_back = self.strategy.carry == Carry::LookBack;
        let (mut applications, mut steps, mut barriers) = (Count::default(), Count::default(), 0);
        let mut add = |count: u64, n: u64, before: u64, looking: Count, looking_steps: Count| {
            if count == 0 {
                return;
            }
            let tile = self.tile_cost(n);
            let completion = if before > 0 { self.completion(n) } else { BlockCost::default() };
            let each = tile.applications + completion.applications + before;
            applications = applications + Count::from(count.saturating_mul(each)) + looking;
            let one = Count { least: looking_steps.least.max(before), most: looking_steps.most.max(before) };
            steps = steps.of_greater(Count::from(tile.steps + completion.steps) + one);
            barriers = barriers.max(tile.barriers + counter + 1);
        };
        let [(full, tile), (last, rest)] = self.tiles(len);
        let none = Count::default();
        let (later, last_look, later_steps, last_steps) = match looks_back {
            false => (none, none, none, none),
            true => {
                let later = saturated(self.looks_back(full));
                let look = |most| Count { least: 0, most };
                let steps = |number| look(self.look_back_most(number).1);
                (look(later), look(self.look_back_most(full).0), steps(full.saturating_sub(1)), steps(full))
            }
        };
        if full > 0 {
            add(1, tile, initial, none, none);
            add(full - 1, tile, 1, later, later_steps);
            add(last, rest, 1, last_look, last_steps);
        } else {
            add(last, rest, initial, none, none);
        }
        let message = self.message_bytes();
        let (read, sent) = match looks_back {
            // Each lane of a warp reads one message.
            true => ((tiles - 1) * WARP, 2 * tiles - 1),
            false => (tiles - 1, tiles),
        };
        LaunchCost {
            kernel: launch.kernel,
            applications,
            steps,
            barriers,
            global_read: len * self.input_bytes + read * message + TURN * tiles,
            global_written: len * self.output_bytes + sent * message + TURN * (tiles + 1),
        }
    }
}

/// What a lane applies in the scan of a warp of which `count` lanes have values.
fn warp_scan_steps(lane: u64, count: u64) -> u64 {
    if 0 < lane && lane < count { log_down(lane) + 1 } else { 0 }
}

impl BlockCost {
    fn times(self, count: u64) -> BlockCost {
        let BlockCost { applications, steps, barriers } = self;
        BlockCost {
            applications: count.saturating_mul(applications),
            steps: count.saturating_mul(steps),
            barriers: count.saturating_mul(barriers),
        }
    }
}

/// Cycles of a warp's accesses to shared memory, where each bank serves one word a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankCycles {
    /// All of them.
    pub cycles: u64,
    /// Those there would be if no two threads wanted different words of one bank.
    pub without_conflicts: u64,
}

/// The cycles in which the threads of a tree read (or write) one operand of every node, on all levels of a tree over `leaves`
/// 4-byte values without padding; `leaves` is a power of two. Of a warp, `group` threads are served together, on `banks`
/// banks.
///
/// On the level with stride s, thread t is at word 2 s (t + 1) − 1. The words of neighbours lie 2 s apart, so m threads
/// meet only banks / 2s banks, at least one: ⌈m · min(2s, banks) / banks⌉ cycles for each warp.
///
/// A way up or down the tree reads two operands and writes one: the course texts count six times this figure for both.
pub fn tree_bank_cycles(leaves: u64, banks: u64, group: u64) -> BankCycles {
    let mut sum = BankCycles::default();
    let banks = banks.max(1);
    for log in 1..=leaves.max(1).ilog2() {
        let distance = 1 << log;
        let threads = leaves / distance;
        let of_warp = |threads: u64| threads.min(group).saturating_mul(distance.min(banks)).div_ceil(banks);
        let (full, rest) = (threads / WARP, threads % WARP);
        sum.cycles = sum.cycles.saturating_add(full.saturating_mul(of_warp(WARP))).saturating_add(of_warp(rest));
        sum.without_conflicts += threads.div_ceil(WARP);
    }
    sum
}

#[cfg(test)]
mod loops;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::Workers;

    #[test]
    fn powers_of_two_cost_what_the_texts_say() {
        for log in 1..20 {
            let n = 1_u64 << log;
            let cost = |network: Network, inclusive| {
                let cost = network.cost(n, inclusive);
                (cost.applications, cost.steps)
            };
            let brent_kung = Network::BrentKung { workers: Workers::Contiguous, padded: false };
            assert_eq!(cost(Network::KoggeStone, true), (n * log - (n - 1), log));
            assert_eq!(cost(Network::HillisSteele, true), (n * log - (n - 1), log));
            assert_eq!(cost(brent_kung, true), (2 * n - 2 - log, 2 * log - 1));
            assert_eq!(cost(Network::Blelloch { padded: false }, false), (2 * (n - 1), 2 * log));
        }
    }

    /// The sums that the closed forms stand for, term by term.
    #[test]
    fn closed_forms_are_their_sums() {
        for n in 1..=2048_u64 {
            let strides = || (0..12).map(|log| 1_u64 << log);
            let kogge_stone: u64 = strides().filter(|&s| s < n).map(|s| n - s).sum();
            assert_eq!(kogge_stone_applications(n), kogge_stone);
            let up = strides().map(|s| n / (2 * s));
            let down = strides().filter(|&s| 3 * s <= n).map(|s| (n - s) / (2 * s));
            let steps = up.clone().chain(down.clone()).filter(|&count| count > 0).count() as u64;
            let brent_kung = Network::BrentKung { workers: Workers::Contiguous, padded: false }.cost(n, true);
            assert_eq!((brent_kung.applications, brent_kung.steps), (up.chain(down).sum::<u64>(), steps), "{n}");
        }
    }

    #[test]
    fn the_unpadded_tree_of_the_texts() {
        let tree = |leaves| {
            let BankCycles { cycles, without_conflicts } = tree_bank_cycles(leaves, 16, 16);
            (6 * cycles, 6 * without_conflicts)
        };
        assert_eq!(tree(64), (102, 36));
        assert_eq!(tree(128), (186, 48));
        assert_eq!(tree(512), (570, 120));
    }
}

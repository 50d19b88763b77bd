//! The cost for a block to scan its tile.

use super::figures::{BlockCost, saturated};
use crate::{
    constants,
    plan::Plan,
    strategy::{BlockScan, Network, WarpNetwork},
};

/// Threads of a warp.
pub(super) const WARP: u64 = constants::WARP as u64;

/// log₂ n, rounded up: how often 1 is doubled until it is no less than n.
pub(super) fn log_up(n: u64) -> u64 {
    u64::from(u64::BITS - n.saturating_sub(1).leading_zeros())
}

/// log₂ n, rounded down.
const fn log_down(n: u64) -> u64 {
    if n > 0 { n.ilog2() as u64 } else { 0 }
}

/// The applications of Kogge and Stone's network: n − s in the step with stride s = 1, 2, 4, … < n.
pub(super) fn kogge_stone_applications(n: u64) -> u64 {
    let steps = log_up(n);
    saturated(u128::from(n) * u128::from(steps) - ((1 << steps) - 1))
}

impl Network {
    /// The cost to scan `n` values, at least one. The formulas hold for every n; for powers of two they are those of
    /// the textbooks.
    ///
    /// | network | applications | steps | barriers |
    /// |---|---|---|---|
    /// | sequential | n − 1 | n − 1 | 2 |
    /// | naive | n (n − 1) / 2 | n − 1 | 3 |
    /// | Kogge-Stone | n ⌈log₂ n⌉ − (2^⌈log₂ n⌉ − 1) | ⌈log₂ n⌉ | 2 ⌈log₂ n⌉ + 1 |
    /// | Hillis-Steele | the same | ⌈log₂ n⌉ | ⌈log₂ n⌉ + 2 |
    /// | Brent-Kung | (n − ones(n)) + (n − 1 − ⌊log₂ n⌋) | ⌊log₂ n⌋ + ⌊log₂ n/3⌋ + 1 | steps + 1 |
    /// | Blelloch | 2 (n − 1) − ⌈log₂ n⌉ | ⌈log₂ n⌉ + ⌊log₂ (n − 1)/3⌋ + 1 | 2 ⌈log₂ n⌉ + 3, at least 5 |
    /// | warp shuffles, w = ⌈n/32⌉ | those of the network of a warp for each warp and for w, and n − 32 | those of a lane of it, for both, + 1 | 4 |
    ///
    /// Brent-Kung's up-sweep takes ⌊n/2⌋ + ⌊n/4⌋ + … applications, which is n less its binary ones. Its down-sweep
    /// takes ⌊(n − s)/2s⌋ for every stride s, which adds up to n − 1 − ⌊log₂ n⌋. For a power of two: 2n − 2 − log₂ n in
    /// 2 log₂ n − 1 steps. Blelloch's tree gives an exclusive scan. Of the texts' 2 (n − 1) applications those are left
    /// out that combine the identity, one on each level of the down-sweep. Making it `inclusive` costs n − 1 more
    /// applications, and up to two more steps and barriers. Warp shuffles are by Kogge and Stone here;
    /// [`BlockScan::cost`] takes the network of a warp.
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
                let steps = up + if n > 3 { log_down((n - 1) / 3) + 1 } else { 0 };
                let tree = cost((n - 1).saturating_add(n - 1 - up), steps, 2 * up.max(1) + 3);
                let own = if inclusive { cost(n - 1, (n / 2).min(2), 2) } else { BlockCost::default() };
                tree + own
            }
            Network::WarpShuffle => warp_shuffle_cost(WarpNetwork::KoggeStone, n),
        }
    }
}

/// The cost to scan `n` values, at least one, by warps and then over their aggregates.
fn warp_shuffle_cost(network: WarpNetwork, n: u64) -> BlockCost {
    let (full, rest, warps) = (n / WARP, n % WARP, n.div_ceil(WARP));
    // More than a warp of warps there are not in a block: only the bound of the figures counts then.
    let of_lanes = |n: u64| if n <= WARP { network.applications(n) } else { kogge_stone_applications(n) };
    let in_warps = full.saturating_mul(of_lanes(WARP)).saturating_add(of_lanes(rest));
    let applications = u128::from(in_warps) + u128::from(of_lanes(warps)) + u128::from(n.saturating_sub(WARP));
    let steps = network.steps(n.min(WARP)) + network.steps(warps) + u64::from(warps > 1);
    BlockCost { applications: saturated(applications), steps, barriers: 4 }
}

impl WarpNetwork {
    /// The applications of a lane of a warp that has values up to there.
    const fn applications_of_lane(self, lane: u64) -> u64 {
        // Han-Carlson and Ladner-Fischer: an even lane applies the operator in the last step only.
        match self {
            _ if lane == 0 => 0,
            WarpNetwork::HanCarlson | WarpNetwork::LadnerFischer if lane.is_multiple_of(2) => 1,
            WarpNetwork::KoggeStone | WarpNetwork::HanCarlson => log_down(lane) + 1,
            WarpNetwork::Sklansky | WarpNetwork::LadnerFischer => lane.count_ones() as u64,
            // Once for each level of the way up on which the lane ends a group, and once on the way down, unless it is
            // the last of a whole group already.
            WarpNetwork::BrentKung => (lane + 1).trailing_zeros() as u64 + !(lane + 1).is_power_of_two() as u64,
        }
    }

    /// The applications of a warp whose first `count` lanes have values.
    fn applications(self, count: u64) -> u64 {
        (0..count).map(|lane| self.applications_of_lane(lane)).sum()
    }

    /// The applications of the lane that has the most.
    fn steps(self, count: u64) -> u64 {
        match self {
            WarpNetwork::KoggeStone => log_up(count),
            _ => (0..count.min(WARP)).map(|lane| self.applications_of_lane(lane)).max().unwrap_or(0),
        }
    }
}

impl BlockScan {
    /// The cost to scan `n` values, if a thread scans `run` of them on its own.
    ///
    /// Coarsened, with r = ⌈n / run⌉ runs: n − r applications within the runs, the network's over r aggregates, and one
    /// for each value after the first run; run − 1 steps, the network's, and run again; the network's barriers and two
    /// more.
    pub fn cost(self, n: u64, run: u64, inclusive: bool) -> BlockCost {
        if !self.coarsened || n == 0 {
            return self.network_cost(n, inclusive);
        }
        let run = run.max(1);
        let runs = n.div_ceil(run);
        let after_the_first = n.saturating_sub(run);
        let first_phase = BlockCost { applications: n - runs, steps: n.min(run) - 1, barriers: 1 };
        let third_phase = BlockCost { applications: after_the_first, steps: after_the_first.min(run), barriers: 1 };
        // The exclusive scan of the aggregates is sufficient, so Blelloch's tree need not become inclusive.
        first_phase + self.network_cost(runs, false) + third_phase
    }

    fn network_cost(self, n: u64, inclusive: bool) -> BlockCost {
        match self.network {
            Network::WarpShuffle if n > 0 => warp_shuffle_cost(self.warp, n),
            network => network.cost(n, inclusive),
        }
    }
}

/// The applications of a lane where, in registers, the aggregates of `warps` warps are scanned.
pub(super) const fn scan_of_warps_steps(lane: u64, warps: u64) -> u64 {
    if lane < warps { WarpNetwork::KoggeStone.applications_of_lane(lane) } else { 0 }
}

impl Plan {
    /// The applications of a lane in the scan of a warp whose first `count` lanes have values.
    pub(super) fn warp_scan_steps(&self, lane: u64, count: u64) -> u64 {
        if lane < count { self.strategy.block.warp.applications_of_lane(lane) } else { 0 }
    }

    /// The applications of all its lanes.
    pub(super) fn warp_scan_applications(&self, count: u64) -> u64 {
        self.strategy.block.warp.applications(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::Workers;

    #[test]
    fn costs_at_powers_of_two_are_those_of_the_literature() {
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
            assert_eq!(cost(Network::Blelloch { padded: false }, false), (2 * (n - 1) - log, 2 * log - 1));
        }
    }

    /// Each network of a warp, step by step as its template has it: every lane ends with its prefix, and the
    /// applications are those of the formula and, for all lanes, of the table of `WarpNetwork`.
    #[test]
    fn networks_of_a_warp_scan_in_as_many_applications_as_the_literature() {
        let distance = |network: WarpNetwork, step: u64, lane: u64| match network {
            WarpNetwork::KoggeStone if step < WARP => step,
            WarpNetwork::Sklansky if lane & step != 0 => lane % step + 1,
            WarpNetwork::LadnerFischer if step < WARP && lane % 2 == 1 && lane & step != 0 => lane % step + 1,
            WarpNetwork::HanCarlson if step < WARP && lane % 2 == 1 => step,
            WarpNetwork::LadnerFischer | WarpNetwork::HanCarlson if step == WARP && lane.is_multiple_of(2) => 1,
            WarpNetwork::BrentKung if step < WARP && (lane + 1).is_multiple_of(2 * step) => step,
            WarpNetwork::BrentKung if step >= WARP => {
                let stride = WARP * WARP / 4 / step;
                if (lane + 1) % (2 * stride) == stride { stride } else { 0 }
            }
            _ => 0,
        };
        let table = [(5, 129, 1), (5, 80, 16), (6, 63, 8), (6, 80, 1), (9, 57, 1)];
        for (network, (depth, applications, fan_out)) in WarpNetwork::ALL.into_iter().zip(table) {
            let mut first: Vec<u64> = (0..WARP).collect(); // of the lanes that a lane covers
            let mut applied = vec![0; WARP as usize];
            let (mut steps, mut widest) = (0, 0);
            for step in (0..9).map(|log| 1 << log) {
                let before = first.clone();
                let mut readers = vec![0; WARP as usize];
                for lane in 0..WARP {
                    let distance = distance(network, step, lane);
                    if 0 < distance && distance <= lane {
                        let left = (lane - distance) as usize;
                        assert_eq!(left as u64 + 1, before[lane as usize], "{network}: neighbours, step {step}");
                        first[lane as usize] = before[left];
                        applied[lane as usize] += 1;
                        readers[left] += 1;
                    }
                }
                steps += u64::from(readers.iter().any(|&count| count > 0));
                widest = readers.into_iter().max().unwrap_or(0).max(widest);
            }
            assert!(first.iter().all(|&first| first == 0), "{network}: {first:?}");
            let of_lanes: Vec<u64> = (0..WARP).map(|lane| network.applications_of_lane(lane)).collect();
            assert_eq!(applied, of_lanes, "{network}");
            assert_eq!((steps, network.applications(WARP), widest), (depth, applications, fan_out), "{network}");
        }
    }

    /// The sums that the closed forms stand for, term by term.
    #[test]
    fn closed_forms_equal_their_sums() {
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
}

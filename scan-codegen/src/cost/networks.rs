//! The cost for a block to scan its tile.

use super::figures::{BlockCost, saturated};
use crate::{
    constants,
    strategy::{BlockScan, Network},
};

/// Threads of a warp.
pub(super) const WARP: u64 = constants::WARP as u64;

/// log₂ n, rounded up: how often 1 is doubled until it is no less than n.
pub(super) fn log_up(n: u64) -> u64 {
    u64::from(u64::BITS - n.saturating_sub(1).leading_zeros())
}

/// log₂ n, rounded down.
fn log_down(n: u64) -> u64 {
    u64::from(n.max(1).ilog2())
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
    /// | warp shuffles, w = ⌈n/32⌉ | that of Kogge-Stone for each warp and for w, and n − 32 | ⌈log₂ 32⌉ + ⌈log₂ w⌉ + 1 | 4 |
    ///
    /// Brent-Kung's up-sweep takes ⌊n/2⌋ + ⌊n/4⌋ + … applications, which is n less its binary ones. Its down-sweep
    /// takes ⌊(n − s)/2s⌋ for every stride s, which adds up to n − 1 − ⌊log₂ n⌋. For a power of two: 2n − 2 − log₂ n in
    /// 2 log₂ n − 1 steps. Blelloch's tree gives an exclusive scan. Of the texts' 2 (n − 1) applications those are left
    /// out that combine the identity, one on each level of the down-sweep. Making it `inclusive` costs n − 1 more
    /// applications, and up to two more steps and barriers.
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

impl BlockScan {
    /// The cost to scan `n` values, if a thread scans `run` of them on its own.
    ///
    /// Coarsened, with r = ⌈n / run⌉ runs: n − r applications within the runs, the network's over r aggregates, and one
    /// for each value after the first run; run − 1 steps, the network's, and run again; the network's barriers and two
    /// more.
    pub fn cost(self, n: u64, run: u64, inclusive: bool) -> BlockCost {
        if !self.coarsened || n == 0 {
            return self.network.cost(n, inclusive);
        }
        let run = run.max(1);
        let runs = n.div_ceil(run);
        let after_the_first = n.saturating_sub(run);
        let first_phase = BlockCost { applications: n - runs, steps: n.min(run) - 1, barriers: 1 };
        let third_phase = BlockCost { applications: after_the_first, steps: after_the_first.min(run), barriers: 1 };
        // The exclusive scan of the aggregates is sufficient, so Blelloch's tree need not become inclusive.
        first_phase + self.network.cost(runs, false) + third_phase
    }
}

/// The applications of a lane in the scan of a warp whose first `count` lanes have values.
pub(super) fn warp_scan_steps(lane: u64, count: u64) -> u64 {
    if 0 < lane && lane < count { log_down(lane) + 1 } else { 0 }
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

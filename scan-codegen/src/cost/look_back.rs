//! The cost of look-back.

use super::networks::{WARP, kogge_stone_applications, log_up};
use crate::plan::Plan;

/// The maximum applications of look-back from a tile: of all lanes, and of the lane with the most.
#[derive(Clone, Copy, Default)]
pub(super) struct LookBackCost {
    pub(super) applications: u64,
    pub(super) steps: u64,
}

impl Plan {
    /// Tiles of a window.
    fn window(&self) -> u64 {
        WARP * u64::from(self.statuses_per_lane)
    }

    /// Applications of a warp for a full window: each lane folds its own run, the network of Kogge and Stone folds the
    /// lanes, and each lane combines the result with its prefix.
    fn full_window_applications(&self) -> u64 {
        self.window() - WARP + kogge_stone_applications(WARP) + WARP
    }

    /// Applications of a warp whose last window has `rest` tiles.
    fn last_window_applications(&self, rest: u64) -> u64 {
        let lanes = rest.div_ceil(self.statuses_per_lane.into());
        rest - lanes + kogge_stone_applications(lanes)
    }

    /// The cost of look-back from tile `number` if no tile but the first has a prefix yet. The minimum is none, if the
    /// left neighbour has its prefix.
    pub(super) fn look_back_max(&self, number: u64) -> LookBackCost {
        if number == 0 {
            return LookBackCost::default();
        }
        let run = u64::from(self.statuses_per_lane);
        let further = (number - 1) / self.window();
        let rest = number - further * self.window();
        let applications = further * self.full_window_applications() + self.last_window_applications(rest);
        // The last lane has the most applications in the network; the first one has none there, and combines the tile's
        // aggregate.
        let of_window = run - 1 + log_up(WARP) + 1;
        let steps = further * of_window + rest.min(run) - 1 + log_up(rest.div_ceil(run));
        LookBackCost { applications, steps: steps.max(further * run + 1) }
    }

    /// The maximum applications of look-back for all tiles before tile `end` together.
    ///
    /// Tile k·w + r, with windows of w tiles and 1 ≤ r ≤ w, looks through k full windows and one of r tiles. So the sum
    /// over tiles is one over r, and one over k.
    pub(super) fn looks_back(&self, end: u64) -> u128 {
        let tiles = end.saturating_sub(1); // the first tile has no tile before it
        let (windows, rest) = (tiles / self.window(), tiles % self.window());
        let of_last_windows =
            |max: u64| (1..=max).map(|rest| u128::from(self.last_window_applications(rest))).sum::<u128>();
        let (window, windows) = (u128::from(self.window()), u128::from(windows));
        let full_windows = window * (windows * windows.saturating_sub(1) / 2) + u128::from(rest) * windows;
        let full = u128::from(self.full_window_applications());
        full * full_windows + windows * of_last_windows(self.window()) + of_last_windows(rest)
    }
}

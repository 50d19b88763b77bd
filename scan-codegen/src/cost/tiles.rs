//! The tiles of an input, and their statuses.

use super::networks::WARP;
use crate::{carry::Polled, plan::Plan};

/// Bytes of the ticket word: every block takes a ticket, and the last one writes the next epoch.
pub(super) const TICKET_BYTES: u64 = 8;

/// Adjacent tiles that cost the same.
#[derive(Clone, Copy)]
pub(super) struct AlikeTiles {
    /// The index of the first of them.
    pub(super) first: u64,
    /// How many there are.
    pub(super) count: u64,
    /// The elements of each.
    pub(super) elements: u64,
}

impl Plan {
    /// The full tiles and the last tile, as (number of tiles, elements of each).
    pub(super) fn tiles(&self, len: u64) -> [(u64, u64); 2] {
        let tile = u64::from(self.tile);
        let full = (len.saturating_sub(1)) / tile;
        [(full, tile), (u64::from(len > 0), len - full * tile)]
    }

    /// Tiles grouped by cost: the first one, those in the middle, and the last.
    pub(super) fn tiles_alike(&self, len: u64) -> impl Iterator<Item = AlikeTiles> {
        let tile = u64::from(self.tile);
        let full = (len - 1) / tile;
        let tiles = [
            AlikeTiles { first: 0, count: full.min(1), elements: tile },
            AlikeTiles { first: 1, count: full.saturating_sub(1), elements: tile },
            AlikeTiles { first: full, count: 1, elements: len - full * tile },
        ];
        tiles.into_iter().filter(|tiles| tiles.count > 0)
    }

    /// The statuses that `blocks` blocks load, with a tile each, and those that they publish, if none has to wait.
    pub(super) fn statuses(&self, polled: Polled, blocks: u64) -> (u64, u64) {
        match polled {
            Polled::Last => (blocks - 1, blocks),
            // Each lane of a warp loads a run of statuses. A tile publishes its aggregate and its prefix, the first
            // tile only its prefix.
            Polled::UntilPrefix => ((blocks - 1) * WARP * u64::from(self.statuses_per_lane), 2 * blocks - 1),
            Polled::All => (blocks * (blocks - 1) / 2, blocks),
        }
    }
}

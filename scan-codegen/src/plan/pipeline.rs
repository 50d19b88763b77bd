//! The shape of the pipeline in each block of look-ahead.

use crate::constants::{PACKET_PAYLOAD, WORD};

/// The shape of the pipeline of a look-ahead block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Pipeline {
    /// The number of teams of a block, which alternate between its tiles. Each publishes the aggregate of a tile one
    /// iteration before it scans the tile.
    pub teams: u32,
    /// The number of stages of shared memory, into which tiles are copied ahead of the teams: two for each team,
    /// because it keeps one tile while it reduces the next, and at least one more, because a stage is filled again an
    /// iteration after it is drained.
    pub stages: u32,
    /// The maximum number of persistent blocks, all of which can be resident at once.
    pub blocks: u32,
    /// The bytes of dynamic shared memory per block.
    pub dynamic_shared_bytes: u32,
    /// Aggregates of tiles that a lane folds on its own.
    pub statuses_per_lane: u32,
    /// The size of a group of blocks, one of which publishes the aggregate of all their tiles of an iteration; 1 if
    /// each block loads the statuses of all tiles itself.
    pub group: u32,
    /// Statuses that a warp loads at once.
    pub(crate) window: u32,
    /// Bytes of a stage for the heads of its tile.
    pub(crate) head_bytes: u32,
    /// Slots, each for the offsets of a tile, and the bytes of one.
    pub(crate) slots: u32,
    pub(crate) slot_bytes: u32,
    /// Threads of the warps other than the teams.
    pub(crate) other_threads: u32,
    /// Whether elements are read one by one when a run is scanned, which takes fewer registers than the run as a whole.
    pub(crate) streams: bool,
    /// Warps that fold tile statuses, round-robin where there are several.
    pub(crate) look_ahead_warps: u32,
    /// Bytes of shared memory for the operator's tables.
    pub(crate) table_bytes: u32,
    /// Parts in which a run is reduced, one after the other, where the loop over all of it would be unrolled too far; else 1.
    pub(crate) run_parts: u32,
    /// Whether the lifted elements of a tile stay in its stage until it is scanned.
    pub(crate) keeps_states: bool,
}

impl Pipeline {
    /// The threads of a block with teams of `team` threads, including the other warps.
    pub(crate) fn block_threads(&self, team: u32) -> u32 {
        self.teams * team + self.other_threads
    }

    /// The number of statuses of groups, for this many tiles and blocks.
    pub(crate) fn group_statuses(&self, tiles: u64, blocks: u64) -> u64 {
        if self.group <= 1 {
            return 0;
        }
        let (group, blocks) = (u64::from(self.group), blocks.max(1));
        tiles / blocks * blocks.div_ceil(group) + tiles % blocks / group
    }
}

/// The size of a slot for the offsets of a tile, in bytes per element. If a tile has more offsets (with empty segments,
/// or 64-bit offsets of short segments), they are read from global memory, which takes longer.
pub(super) const OFFSET_BYTES: u32 = 4;

/// The number of packets of a tile status, for a state of `state` bytes.
pub(super) const fn packets(state: u32) -> u32 {
    state.div_ceil(WORD).div_ceil(PACKET_PAYLOAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group publishes in each whole iteration of the blocks, and in the last one where all its blocks have a tile.
    #[test]
    fn a_group_publishes_where_all_its_blocks_have_a_tile() {
        let statuses = |group, tiles, blocks| Pipeline { group, ..Pipeline::default() }.group_statuses(tiles, blocks);
        assert_eq!([0, 7, 8, 10, 11, 16, 22].map(|tiles| statuses(3, tiles, 8)), [0, 2, 3, 3, 4, 6, 8]);
        assert_eq!((statuses(1, 100, 8), statuses(2, 5, 0)), (0, 5));
    }
}

//! Shared memory of a block of look-ahead: the stages of its pipeline, and its other variables.

use super::{
    measured::{MORE_STAGES, OTHER_WARPS},
    pipeline::OFFSET_BYTES,
    teams::Sizes,
};
use crate::{
    constants::{COPY_ALIGNMENT, MAX_THREADS, WARP, WORD},
    limits::DeviceLimits,
    segments::Segments,
};

/// Bytes of a barrier, and the barriers of a stage and of a group warp.
const BARRIER: u32 = 8;
const BARRIERS_OF_A_STAGE: u32 = 8;
const BARRIERS_OF_A_GROUP_WARP: u32 = 2;

/// Bytes of shared memory for the alignment of a block's variables.
const ALIGNMENT_ROOM: u32 = 128;

/// The threads of the warps other than the teams: one more warp searches for offsets, and two load the statuses of
/// groups, if there are some.
pub(super) fn other_threads(segments: &Segments, group: u32, look_ahead_warps: u32) -> u32 {
    let offset_search = u32::from(matches!(segments, Segments::Offsets(_)));
    (OTHER_WARPS + (look_ahead_warps - 1) + offset_search + group_warps(group)) * WARP
}

/// Warps of a block that fold statuses within and between groups.
fn group_warps(group: u32) -> u32 {
    if group > 1 { 2 } else { 0 }
}

/// The bytes of a stage for the heads of a tile. A copy begins and ends at aligned addresses, so it may be longer than
/// needed.
pub(super) fn head_bytes(segments: &Segments, tile: u32) -> u32 {
    let (tile, alignment) = (u64::from(tile), u64::from(COPY_ALIGNMENT));
    let copied = |bytes: u64| bytes.next_multiple_of(alignment) + alignment;
    let bytes = match segments {
        Segments::None | Segments::Rows => 0,
        Segments::HeadFlags => copied(tile),
        Segments::HeadBits => copied(u64::from(WORD) * (tile / 32 + 1)),
        // One more key, with which the tile's first one is compared.
        Segments::Keys(key) => copied((tile + 1) * key.size as u64),
        // A bit for each element.
        Segments::Offsets(_) => (tile / 8).next_multiple_of(alignment),
    };
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Bytes of a slot for the offsets of a tile.
pub(super) fn slot_bytes(segments: &Segments, tile: u32) -> u32 {
    match segments {
        Segments::Offsets(_) => tile
            .saturating_mul(OFFSET_BYTES)
            .checked_next_multiple_of(COPY_ALIGNMENT)
            .unwrap_or(u32::MAX)
            .saturating_add(COPY_ALIGNMENT),
        _ => 0,
    }
}

/// The number of slots for offsets. Offsets are needed only until the heads of the tile are marked, so there are fewer
/// slots than stages: one for each team, and at least two.
pub(super) fn slots(teams: u32) -> u32 {
    teams.max(2)
}

/// A shape of the pipeline, which determines its shared memory.
#[derive(Clone, Copy)]
pub(super) struct StageRoom<'a> {
    pub(super) sizes: Sizes<'a>,
    pub(super) run: u32,
    pub(super) threads: u32,
    pub(super) teams: u32,
    pub(super) statuses_of_a_lane: u32,
    pub(super) group: u32,
    pub(super) window: u32,
    pub(super) look_ahead_warps: u32,
}

impl StageRoom<'_> {
    /// Whether a block can have that many threads.
    pub(super) fn is_possible(self, limits: &DeviceLimits) -> bool {
        let other_threads = other_threads(self.sizes.segments, self.group, self.look_ahead_warps);
        let threads = self.threads.saturating_mul(self.teams).saturating_add(other_threads);
        let whole_warps = self.threads > 0 && self.threads.is_multiple_of(WARP) && self.threads <= MAX_THREADS;
        whole_warps && self.teams > 0 && threads <= limits.threads_per_block
    }

    fn tile(self) -> u32 {
        self.threads.saturating_mul(self.run)
    }

    /// The bytes of a stage: of a tile or later its results, and of its heads.
    fn stage_bytes(self) -> u32 {
        let tile_bytes = self.tile().saturating_mul(self.sizes.element());
        let ring_bytes = self.sizes.ring.map_or(0, |ring| ring.bytes(self.tile(), self.threads));
        tile_bytes.max(ring_bytes).saturating_add(head_bytes(self.sizes.segments, self.tile()))
    }

    /// The stages that the teams need, so that none waits for another one's tile.
    pub(super) fn min_stages(self) -> u32 {
        2 * self.teams + 1
    }

    /// The dynamic shared memory of a block: the stages and the slots.
    pub(super) fn dynamic_bytes(self, stages: u32) -> u32 {
        let slot = slot_bytes(self.sizes.segments, self.tile());
        stages.saturating_mul(self.stage_bytes()).saturating_add(slots(self.teams).saturating_mul(slot))
    }

    /// The static shared memory of a stage: its barriers, the aggregates of its warps and its exclusive prefix, whether
    /// the warps have heads, and the range of its tile's offsets.
    fn static_bytes_of_stage(self) -> u32 {
        let warps = self.threads / WARP;
        let segmented = if self.sizes.segments.is_none() { 0 } else { warps };
        let offsets = if matches!(self.sizes.segments, Segments::Offsets(_)) { 24 } else { 0 };
        let barriers = BARRIERS_OF_A_STAGE + u32::from(self.sizes.keeps_states);
        barriers * BARRIER + (warps + 1) * self.sizes.state + segmented + offsets
    }

    /// The static shared memory of a block: that of all stages, the initial value, the operator's tables, and the
    /// statuses that its lanes exchange.
    pub(super) fn static_bytes(self, stages: u32) -> u32 {
        let segmented = !self.sizes.segments.is_none();
        let exchanged = self.sizes.exchanged_bytes(self.statuses_of_a_lane);
        let head = u32::from(segmented);
        let group_warps = group_warps(self.group);
        let window =
            if exchanged > 0 { group_warps.max(self.look_ahead_warps) * self.window * (exchanged + head) } else { 0 };
        let parts = 2 * group_warps * (BARRIERS_OF_A_GROUP_WARP * BARRIER + self.sizes.state + head);
        let stages = stages.saturating_mul(self.static_bytes_of_stage());
        stages.saturating_add(ALIGNMENT_ROOM + self.sizes.initial + self.sizes.tables + window + parts)
    }

    /// The sum of both.
    pub(super) fn bytes(self, stages: u32) -> u32 {
        self.dynamic_bytes(stages).saturating_add(self.static_bytes(stages))
    }

    /// The number of stages that fit into `room`, up to the useful maximum.
    pub(super) fn max_stages(self, room: u32) -> u32 {
        let of_stage = self.stage_bytes().saturating_add(self.static_bytes_of_stage()).max(1);
        (room.saturating_sub(self.bytes(0)) / of_stage).min(self.min_stages() + MORE_STAGES)
    }
}

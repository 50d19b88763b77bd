//! 32-bit arithmetic of kernels, at the most elements.

use super::{Checked, Report, Rule};
use crate::carry::{Blocks, Exchange};

/// The first number that a 32-bit word cannot hold.
pub(super) const WORD_END: u64 = 1 << 32;

/// Bytes that one phase of a barrier can be told to expect.
const MAX_EXPECTED_BYTES: u64 = (1 << 20) - 1;

pub(super) fn check(Checked { plan, .. }: Checked<'_>, report: &mut Report) {
    let facts = plan.strategy.carry.describe();
    let tile_bytes = plan.stage_bytes().max(u64::from(plan.tile) * plan.state_bytes);
    report.require(tile_bytes < WORD_END, Rule::Widths, || {
        format!("places in a tile of {tile_bytes} bytes are counted in 32 bits")
    });
    let tiles = plan.max_len.div_ceil(plan.tile.max(1).into());
    match facts.blocks {
        // They go through tiles by the place of an element, in 64 bits.
        Blocks::One | Blocks::Cluster => {}
        Blocks::PerTile | Blocks::PerTileResident | Blocks::Persistent => {
            report.require(tiles < WORD_END, Rule::Widths, || format!("{tiles} tiles are counted in 32 bits"));
        }
    }
    if facts.exchange == Exchange::Aggregates {
        report.require(u64::from(plan.tile) < WORD_END - 1, Rule::Widths, || {
            format!("the place of a head in a tile of {} elements is written in 32 bits", plan.tile)
        });
    }
    let Some(pipeline) = &plan.pipeline else { return };
    let [blocks, stages, teams] = [pipeline.blocks, pipeline.stages, pipeline.teams].map(u64::from);
    // Head padding adds a tile; warps go on until the index of their next tile is beyond the last.
    let max_index = tiles.saturating_add(1 + (stages + 2 * teams + u64::from(plan.threads)) * blocks);
    report.require(max_index < WORD_END, Rule::Widths, || {
        format!("tile indices up to {max_index} are counted in 32 bits: {blocks} blocks look {stages} stages ahead")
    });
    let statuses = tiles.saturating_add(1).saturating_add(pipeline.group_statuses(tiles.saturating_add(1), blocks));
    report.require(statuses < WORD_END, Rule::Widths, || {
        format!("{statuses} statuses of tiles and groups are counted in 32 bits")
    });
    let expected = u64::from(plan.tile) * plan.input_bytes + u64::from(pipeline.head_bytes);
    report.require(expected <= MAX_EXPECTED_BYTES, Rule::Widths, || {
        format!("a barrier is told to expect {expected} bytes, and counts {MAX_EXPECTED_BYTES}")
    });
}

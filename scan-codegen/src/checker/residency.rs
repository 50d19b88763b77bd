//! Blocks that wait for other blocks: these are resident as well, or have started before.

use super::{Checked, Report, Rule};
use crate::{
    carry::{Blocks, Exchange, Polled, TileNumbers},
    plan::PROGRAMMATIC,
    schedule::Cooperative,
};

pub(super) fn check(Checked { plan, limits, .. }: Checked<'_>, report: &mut Report) {
    let facts = plan.strategy.carry.describe();
    let tiles = plan.max_len.div_ceil(plan.tile.max(1).into());
    let at_once = limits.blocks_at_once();
    match (facts.blocks, facts.exchange, facts.tile_numbers) {
        (Blocks::PerTileResident, ..) => report.require(tiles <= at_once, Rule::Residency, || {
            format!("{tiles} blocks wait for each other by block index, and {at_once} are resident for certain")
        }),
        (Blocks::PerTile, Exchange::Statuses(Polled::All), _) => {} // by ticket, or else the aggregate is recomputed
        (Blocks::PerTile, Exchange::Statuses(_), numbers) => {
            report.require(numbers == TileNumbers::Counter, Rule::Residency, || {
                "blocks take tiles by block index and wait for those before, which need not have started".to_owned()
            });
        }
        _ => {}
    }
    let needs_sm_90 = facts.needs_sm_90.is_some() || plan.programmatic;
    report.require(!needs_sm_90 || limits.architecture >= PROGRAMMATIC, Rule::Residency, || {
        format!("{} has no clusters, bulk copies or programmatic launches", limits.architecture)
    });
    let Some(pipeline) = &plan.pipeline else { return };
    // A multiprocessor has room for one: its registers and shared memory are checked elsewhere.
    let blocks = u64::from(pipeline.blocks);
    report.require(pipeline.blocks > 0 && blocks.min(tiles) <= at_once, Rule::Residency, || {
        format!("{blocks} persistent blocks wait for each other, and {at_once} are resident for certain")
    });
    for launch in plan.schedule(plan.max_len.min(1 << 40)).iter().flat_map(|schedule| &schedule.launches) {
        let needed = if plan.stands_in() { Cooperative::InPlace } else { Cooperative::Always };
        report.require(launch.cooperative == needed, Rule::Residency, || {
            format!("persistent blocks are launched as {:?} cooperative, and need {needed:?}", launch.cooperative)
        });
    }
}

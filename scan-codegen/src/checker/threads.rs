//! Threads of a block, lanes of a warp, registers of a multiprocessor.

use super::{Checked, Report, Rule};
use crate::{
    carry::Blocks,
    constants::{MAX_THREADS, WARP},
    plan::BlockSizes,
    segments::Segments,
};

/// 32-bit registers of a multiprocessor, on every architecture.
const REGISTER_FILE: u32 = 1 << 16;

/// The most registers of a thread, in the steps in which they are allocated.
const MAX_REGISTERS: u32 = 248;
const REGISTER_STEP: u32 = 8;

/// Registers without which no kernel does: addresses, indices and the loops' counters.
const MIN_REGISTERS: u32 = 32;

/// Statuses that a lane of a look-ahead warp has in registers at once, at the most.
const MAX_STATUSES_OF_A_LANE: u32 = 8;

/// The registers of each thread where so many are to be resident on a multiprocessor.
pub(super) fn registers_for(resident_threads: u32) -> u32 {
    (REGISTER_FILE / resident_threads.max(1)).min(MAX_REGISTERS) / REGISTER_STEP * REGISTER_STEP
}

/// Trees and networks over the threads of a block need a power of two.
pub(super) fn check_power_of_two(threads: u32, min: u32, max: u32, report: &mut Report) {
    report.require(threads.is_power_of_two() && (min..=max).contains(&threads), Rule::Threads, || {
        format!("{threads} threads are no power of two from {min} to {max}")
    });
}

pub(super) fn check(checked: Checked<'_>, report: &mut Report) {
    let Checked { plan, limits, .. } = checked;
    let max = limits.threads_per_block.min(MAX_THREADS);
    let BlockSizes { smallest, largest } = match &plan.pipeline {
        Some(pipeline) => BlockSizes::of(pipeline.block_threads(plan.threads)),
        None => plan.block_sizes,
    };
    for threads in [plan.threads, smallest, largest] {
        report.require(threads.is_multiple_of(WARP) && (WARP..=max).contains(&threads), Rule::Threads, || {
            format!("{threads} threads are not whole warps, from one to the {max} threads that a block may have")
        });
    }
    if plan.pipeline.is_none() {
        check_power_of_two(plan.threads, WARP, max, report);
        report.require((smallest..=largest).contains(&plan.threads), Rule::Threads, || {
            format!("launches of {} threads, but the text is for {smallest} to {largest}", plan.threads)
        });
    }
    let registers = registers_for(largest);
    report.require(registers >= MIN_REGISTERS, Rule::Registers, || {
        format!("{largest} threads leave {registers} of {REGISTER_FILE} registers for each")
    });
    lanes(checked, report);
}

/// What the lanes of a warp hold one each.
fn lanes(Checked { plan, .. }: Checked<'_>, report: &mut Report) {
    let warps = plan.threads / WARP;
    report.require(warps <= WARP, Rule::Lanes, || {
        format!("one warp scans the aggregates of all {warps} warps, and has {WARP} lanes")
    });
    report.require(plan.statuses_per_lane >= 1, Rule::Lanes, || "a lane that looks back loads no status".to_owned());
    let clusters = plan.strategy.carry.describe().blocks == Blocks::Cluster;
    report.require(if clusters { (1..=8).contains(&plan.cluster) } else { plan.cluster == 1 }, Rule::Lanes, || {
        format!("a cluster of {} blocks: every device supports 8, and one thread stores to each", plan.cluster)
    });
    let Some(pipeline) = &plan.pipeline else { return };
    let offset_search = u32::from(matches!(plan.spec.segments, Segments::Offsets(_)));
    let group_warps = if pipeline.group > 1 { 2 } else { 0 };
    // A copy warp, and those that fold statuses.
    let roles = 1 + pipeline.look_ahead_warps + offset_search + group_warps;
    report.require(pipeline.other_threads == roles * WARP, Rule::Threads, || {
        format!("{} threads beside the teams, but {roles} warps have a role there", pipeline.other_threads)
    });
    report.require((1..=MAX_STATUSES_OF_A_LANE).contains(&pipeline.statuses_per_lane), Rule::Lanes, || {
        format!(
            "a lane folds {} statuses, of which registers hold {MAX_STATUSES_OF_A_LANE}",
            pipeline.statuses_per_lane
        )
    });
    let groups = pipeline.blocks.div_ceil(pipeline.group.max(1));
    let (loaded, needed) = match pipeline.group {
        0 | 1 => (pipeline.window, WARP * pipeline.statuses_per_lane),
        group => (pipeline.window, group.min(pipeline.blocks).max(groups)),
    };
    report.require(if group_warps > 0 { loaded >= needed } else { loaded == needed }, Rule::Lanes, || {
        format!("a window of {loaded} statuses, where a warp folds {needed} at once")
    });
    report.require(group_warps == 0 || loaded <= WARP && pipeline.statuses_per_lane == 1, Rule::Lanes, || {
        format!("a group warp folds {loaded} statuses at once, and has {WARP} lanes")
    });
    report.require(pipeline.look_ahead_warps == 1 || group_warps == 0 && offset_search == 0, Rule::Lanes, || {
        "several look-ahead warps, which take the places of the warps of groups or of the offset search".to_owned()
    });
}

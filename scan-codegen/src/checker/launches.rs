//! What schedules launch.

use super::{Checked, Report, Rule};
use crate::{
    carry::Blocks,
    kernel_role::KernelRole::{ReduceTiles, ScanChained, ScanLookAtAll, ScanLookBack, ScanTiles},
    plan::Plan,
    schedule::{Argument, Schedule},
};

pub(super) fn check(Checked { plan, limits, .. }: Checked<'_>, report: &mut Report) {
    report.require(plan.from <= plan.max_len, Rule::Launches, || {
        format!("a plan from {} elements on, of at most {}", plan.from, plan.max_len)
    });
    let tile = u64::from(plan.tile.max(1));
    let edges = [1, tile - 1, tile, tile + 1, 3 * tile, tile.saturating_mul(tile) + 1, plan.from, plan.max_len];
    for len in edges.into_iter().filter(|&len| 0 < len && len <= plan.max_len) {
        match plan.schedule(len) {
            Ok(schedule) => of_length(plan, &schedule, limits.blocks_per_grid, len, report),
            Err(error) => report.require(false, Rule::Launches, || format!("no schedule of {len} elements: {error}")),
        }
    }
}

fn of_length(plan: &Plan, schedule: &Schedule, max_blocks: u64, len: u64, report: &mut Report) {
    let cluster = plan.strategy.carry.describe().blocks == Blocks::Cluster;
    // Every device has a grid for the blocks of a cluster.
    let max_blocks = if cluster { max_blocks.max(plan.cluster.into()) } else { max_blocks };
    let threads = plan.pipeline.map_or(plan.threads, |pipeline| pipeline.block_threads(plan.threads));
    check_any(schedule, max_blocks, len, report);
    for launch in &schedule.launches {
        let kernel = launch.kernel;
        report.require(plan.kernels().contains(&kernel), Rule::Launches, || {
            format!("{len} elements: `{kernel}` is launched, which the text does not have")
        });
        report.require(launch.threads == threads, Rule::Threads, || {
            format!("{len} elements: `{kernel}` is launched with {} threads, the text is for {threads}", launch.threads)
        });
        // A block of these has one tile.
        let of_tile = matches!(kernel, ReduceTiles | ScanTiles | ScanChained | ScanLookBack | ScanLookAtAll);
        let scanned = u64::from(launch.blocks) * u64::from(plan.tile);
        report.require(!of_tile || scanned >= len, Rule::Launches, || {
            format!("{len} elements: `{kernel}` has {} blocks of {} elements", launch.blocks, plan.tile)
        });
        let dynamic = plan.dynamic_shared_bytes(kernel);
        report.require(launch.dynamic_shared_bytes == dynamic, Rule::SharedMemory, || {
            format!("{len} elements: `{kernel}` is launched with {} bytes, not {dynamic}", launch.dynamic_shared_bytes)
        });
    }
}

/// What holds of any schedule: there are launches, of grids that the device allows, and no argument lies outside of the
/// workspace.
pub(super) fn check_any(schedule: &Schedule, max_blocks: u64, len: u64, report: &mut Report) {
    report.require(!schedule.launches.is_empty(), Rule::Launches, || format!("{len} elements: nothing is launched"));
    let bytes = schedule.workspace.bytes();
    for launch in &schedule.launches {
        report.require((1..=max_blocks).contains(&launch.blocks.into()), Rule::Launches, || {
            format!("{len} elements: `{}` has {} blocks, of {max_blocks} at the most", launch.kernel, launch.blocks)
        });
        for argument in &launch.arguments {
            if let Argument::Workspace(place) = argument {
                report.require(*place <= bytes, Rule::Launches, || {
                    format!("{len} elements: `{}` is given place {place} of {bytes} bytes", launch.kernel)
                });
            }
        }
    }
}

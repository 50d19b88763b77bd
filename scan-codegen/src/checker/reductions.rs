//! The rules for reductions and for the last results of segments.

use super::{Report, Rule, Violation, launches, threads::check_power_of_two, widths::WORD_END};
use crate::{
    LastResultsPlan, RangeReductionPlan, Reduction, ReductionPlan,
    constants::{MAX_THREADS, WARP, WORD},
    limits::DeviceLimits,
    operator::OpSource,
};

impl ReductionPlan {
    /// The rules of kernels that this plan breaks. For tests and fuzzers, before they render it.
    #[doc(hidden)]
    pub fn violations(&self, operator: &OpSource) -> Vec<Violation> {
        let check = |limits: &DeviceLimits, report: &mut Report| {
            check_power_of_two(self.threads, 1, limits.threads_per_block.min(MAX_THREADS), report);
            // A thread of a tree takes two elements, one of a coarsened tree its run and a slot for its aggregate.
            let (values, slots) = match self.reduction {
                Reduction::Coarsened => (self.run, u64::from(self.threads)),
                _ => (2, 0),
            };
            report.require(self.threads.checked_mul(values) == Some(self.tile), Rule::Runs, || {
                format!("a tile of {} elements is not {values} for each of {} threads", self.tile, self.threads)
            });
            let bytes = (u64::from(self.tile) + slots) * operator.state.size as u64;
            let room = u64::from(limits.shared_bytes_per_block);
            report.require(bytes <= room, Rule::SharedMemory, || {
                format!("the kernel declares {bytes} bytes of shared memory, and can declare {room}")
            });
            let tiles = self.max_len.div_ceil(self.tile.max(1).into());
            report.require(tiles < WORD_END && bytes < WORD_END, Rule::Widths, || {
                format!("{tiles} tiles of {bytes} bytes are counted in 32 bits")
            });
            let tile = u64::from(self.tile);
            for len in
                [1, 2, tile, tile + 1, tile * tile + 1, self.max_len].into_iter().filter(|&len| len <= self.max_len)
            {
                match self.schedule(len) {
                    Ok(schedule) => launches::check_any(&schedule, limits.blocks_per_grid, len, report),
                    Err(error) => report.require(false, Rule::Launches, || format!("{len} elements: {error}")),
                }
            }
        };
        of_device(&self.device, check)
    }
}

impl LastResultsPlan {
    /// The rules of kernels that this plan breaks. For tests and fuzzers, before they render it.
    #[doc(hidden)]
    pub fn violations(&self) -> Vec<Violation> {
        let check = |limits: &DeviceLimits, report: &mut Report| {
            check_power_of_two(self.threads, 1, limits.threads_per_block.min(MAX_THREADS), report);
            let (bytes, room) = (8 * u64::from(self.threads), u64::from(limits.shared_bytes_per_block));
            let counts = self.kernels().len() > 1;
            report.require(!counts || bytes <= room, Rule::SharedMemory, || {
                format!("the counts of {} threads have {bytes} bytes, and a kernel can declare {room}", self.threads)
            });
            for len in [1, 31, 32, 33, 1 << 20, 1 << 31, 1 << 33] {
                // Beyond the largest grid there is no schedule.
                if let Ok(schedule) = self.schedule(len) {
                    launches::check_any(&schedule, limits.blocks_per_grid, len, report);
                }
            }
        };
        of_device(&self.device, check)
    }
}

impl RangeReductionPlan {
    /// The rules of kernels that this plan breaks. For tests and fuzzers, before they render it.
    #[doc(hidden)]
    pub fn violations(&self, operator: &OpSource) -> Vec<Violation> {
        let ReductionPlan { threads, tile, .. } = self.block;
        let check = |limits: &DeviceLimits, report: &mut Report| {
            check_power_of_two(threads, WARP, limits.threads_per_block.min(MAX_THREADS), report);
            // The kernel declares a tile, the aggregates of its runs, and a word for each warp.
            let bytes = u64::from(tile + threads) * operator.state.size as u64 + u64::from(threads / WARP * WORD);
            let room = u64::from(limits.shared_bytes_per_block);
            report.require(bytes <= room, Rule::SharedMemory, || {
                format!("the kernel declares {bytes} bytes of shared memory, and can declare {room}")
            });
            for ranges in [1, 31, 32, 33, 1 << 20, 1 << 31, 1 << 33] {
                // Beyond the largest grid there is no schedule.
                if let Ok(schedule) = self.schedule(ranges) {
                    launches::check_any(&schedule, limits.blocks_per_grid, ranges, report);
                    let lanes: u64 =
                        schedule.launches.iter().map(|launch| u64::from(launch.blocks) * u64::from(threads)).sum();
                    report.require(ranges <= lanes, Rule::Launches, || format!("{lanes} lanes for {ranges} ranges"));
                }
            }
        };
        let violations = of_device(&self.device, check);
        self.block.violations(operator).into_iter().chain(violations).collect()
    }
}

fn of_device(device: &DeviceLimits, check: impl FnOnce(&DeviceLimits, &mut Report)) -> Vec<Violation> {
    let mut report = Report::default();
    match device.usable() {
        Ok(limits) => check(&limits, &mut report),
        Err(error) => report.require(false, Rule::Launches, || error.to_string()),
    }
    report.0
}

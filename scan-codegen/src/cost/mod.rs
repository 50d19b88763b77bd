//! The cost model: formulas for the cost of a plan at a length.
//!
//! Nothing is executed here. The emulator of the test crate executes the kernels and counts; a test compares both.

mod banks;
mod figures;
mod in_registers;
mod look_ahead;
mod look_back;
mod networks;
mod shared;
mod tiles;

use crate::{
    error::PlanError,
    kernel_role::KernelRole,
    plan::Plan,
    schedule::{Argument, Launch},
};

pub use banks::{BankCycles, tree_bank_cycles};
pub use figures::{BlockCost, Cost, Count, LaunchCost};

impl Plan {
    /// The cost of a scan of `len` elements, by formulas that depend on the plan alone. Nothing is executed.
    ///
    /// The global traffic for n elements, apart from one value or status per tile, is 2n for one block, chained and
    /// look-back, and 3n for reduce-then-scan.
    ///
    /// # Errors
    ///
    /// [`PlanError::TooLong`], as [`schedule`](Plan::schedule); [`PlanError::CostOfSegments`] for a segmented scan,
    /// whose cost decreases with the number of segments.
    pub fn cost(&self, len: u64) -> Result<Cost, PlanError> {
        if !self.spec.segments.is_none() {
            return Err(PlanError::CostOfSegments);
        }
        let launches = self.schedule(len)?.launches;
        let launches = launches.iter().map(|launch| match launch.kernel {
            _ if self.strategy.block.in_registers => self.launch_cost_in_registers(launch, len),
            KernelRole::ScanBlock => self.one_block_cost(launch, len),
            KernelRole::ReduceTiles => self.reduce_tiles_cost(launch, len),
            KernelRole::ScanAggregates => self.scan_aggregates_cost(launch, length(launch)),
            KernelRole::CarryAggregates => self.carry_aggregates_cost(launch, length(launch)),
            KernelRole::ScanTiles => self.scan_tiles_cost(launch, len),
            KernelRole::ScanLookAhead => self.look_ahead_cost(launch, len),
            _ => self.single_pass_cost(launch, len),
        });
        Ok(Cost { launches: launches.collect() })
    }
}

/// The number of elements that a launch processes.
fn length(launch: &Launch) -> u64 {
    let lengths =
        launch.arguments.iter().map(|argument| if let Argument::Length(length) = argument { *length } else { 0 });
    lengths.sum()
}

#[cfg(test)]
mod loops;

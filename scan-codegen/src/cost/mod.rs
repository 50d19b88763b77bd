//! The cost model: what a plan takes at a length, by formula.
//!
//! Nothing is executed here. The emulator of the test crate executes the kernels and counts the same; a test compares.

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
    plan::Plan,
    schedule::{Argument, Launch},
};

pub use banks::{BankCycles, tree_bank_cycles};
pub use figures::{BlockCost, Cost, Count, LaunchCost};

impl Plan {
    /// What a scan of `len` elements takes, by formula: from the plan alone, with nothing executed.
    ///
    /// Global traffic of n elements, apart from one value or status a tile: 2n by one block, chained and look-back, 4n
    /// hierarchical.
    ///
    /// # Errors
    ///
    /// [`PlanError::TooLong`], as [`schedule`](Plan::schedule); [`PlanError::CostOfSegments`] for a segmented scan,
    /// which takes the less the more segments there are.
    pub fn cost(&self, len: u64) -> Result<Cost, PlanError> {
        if !self.spec.segments.is_none() {
            return Err(PlanError::CostOfSegments);
        }
        let launches = self.schedule(len)?.launches;
        let launches = launches.iter().map(|launch| match launch.kernel {
            _ if self.strategy.block.in_registers => self.launch_cost_in_registers(launch, len),
            "scan_block" => self.one_block_cost(launch, len),
            "scan_sections" => self.sections_cost(launch, len),
            "scan_totals" => self.totals_cost(launch, length(launch)),
            "carry_totals" => self.carry_totals_cost(launch, length(launch)),
            "carry_sections" => self.carry_sections_cost(launch, len),
            "scan_look_ahead" => self.look_ahead_cost(launch, len),
            _ => self.single_pass_cost(launch, len),
        });
        Ok(Cost { launches: launches.collect() })
    }
}

/// How many elements a launch is about.
fn length(launch: &Launch) -> u64 {
    let lengths =
        launch.arguments.iter().map(|argument| if let Argument::Length(length) = argument { *length } else { 0 });
    lengths.sum()
}

#[cfg(test)]
mod loops;

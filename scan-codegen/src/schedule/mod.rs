//! The schedule of a plan for a length: the kernel launches in order, with their arguments.

mod arguments;
mod launch;
mod reduce_then_scan;

use crate::{
    carry::Exchange,
    error::PlanError,
    kernel_role::KernelRole,
    plan::{Pipeline, Plan},
};

pub(crate) use arguments::{STATUSES, initial_value};
pub(crate) use launch::{ALIGNMENT, Reserved};
pub use launch::{Argument, Cooperative, Launch, Schedule, Workspace};

impl Plan {
    /// The roles of the kernels that schedules of this plan may launch.
    pub fn kernels(&self) -> &'static [KernelRole] {
        match self.strategy.carry.describe().kernels {
            [KernelRole::ScanBlock, others @ ..] if !self.has_kernel_of_one_block() => others,
            all => all,
        }
    }

    /// The maximum dynamic shared memory, in bytes, of launches of the kernel with this role.
    pub fn dynamic_shared_bytes(&self, kernel: KernelRole) -> u32 {
        match &self.pipeline {
            Some(pipeline) if self.kernels().contains(&kernel) => pipeline.dynamic_shared_bytes,
            _ => 0,
        }
    }

    /// The launches that scan `len` elements; none if `len` is zero.
    ///
    /// # Errors
    ///
    /// [`PlanError::TooLong`] if the device's grid cannot have that many tiles.
    pub fn schedule(&self, len: u64) -> Result<Schedule, PlanError> {
        self.schedule_aligned(len, ALIGNMENT)
    }

    /// As [`schedule`](Plan::schedule), with the parts of scratch memory at multiples of this many bytes. With one, no
    /// part is followed by unused bytes, which would hide an access beyond its end.
    #[doc(hidden)]
    pub fn schedule_aligned(&self, len: u64, alignment: u64) -> Result<Schedule, PlanError> {
        if len > self.max_len {
            return Err(PlanError::TooLong { len, max_len: self.max_len });
        }
        let facts = self.strategy.carry.describe();
        let one_block = self.has_kernel_of_one_block() && len <= u64::from(self.tile);
        let mut schedule = match (facts.exchange, &self.pipeline) {
            _ if len == 0 => Schedule { workspace: NO_WORKSPACE, launches: Vec::new() },
            _ if one_block => self.without_statuses(KernelRole::ScanBlock, 1, len),
            (Exchange::Nothing, _) => self.without_statuses(facts.kernel(), self.cluster, len),
            (Exchange::Aggregates, _) => self.reduce_then_scan(len, alignment),
            (Exchange::Statuses(_), None) => self.single_pass(facts.kernel(), len),
            (Exchange::Statuses(_), Some(pipeline)) => self.look_ahead(facts.kernel(), pipeline, len),
        };
        for launch in &mut schedule.launches {
            launch.programmatic = self.programmatic;
        }
        Ok(schedule)
    }

    /// One kernel whose blocks use no workspace.
    fn without_statuses(&self, kernel: KernelRole, blocks: u32, len: u64) -> Schedule {
        let launch = Launch::new(kernel, blocks, self.threads, self.arguments(&[], len));
        Schedule { workspace: NO_WORKSPACE, launches: vec![launch] }
    }

    /// One kernel with a block for each tile, which publishes a status.
    fn single_pass(&self, kernel: KernelRole, len: u64) -> Schedule {
        let tiles = len.div_ceil(u64::from(self.tile));
        let launch = Launch::new(kernel, tiles as u32, self.threads, self.arguments(&STATUSES, len));
        Schedule { workspace: self.kept(tiles), launches: vec![launch] }
    }

    /// One kernel of persistent blocks.
    fn look_ahead(&self, kernel: KernelRole, pipeline: &Pipeline, len: u64) -> Schedule {
        let tiles = len.div_ceil(u64::from(self.tile));
        let blocks = tiles.min(u64::from(pipeline.blocks));
        let threads = pipeline.block_threads(self.threads);
        let launch = Launch {
            dynamic_shared_bytes: pipeline.dynamic_shared_bytes,
            cooperative: if self.stands_in() { Cooperative::InPlace } else { Cooperative::Always },
            ..Launch::new(kernel, blocks as u32, threads, self.arguments(&STATUSES, len))
        };
        // Head padding may add one tile.
        let statuses = tiles + 1 + pipeline.group_statuses(tiles + 1, blocks);
        Schedule { workspace: self.kept(statuses), launches: vec![launch] }
    }

    fn kept(&self, statuses: u64) -> Workspace {
        Workspace::Kept { statuses, status_bytes: self.status_bytes() }
    }
}

const NO_WORKSPACE: Workspace = Workspace::Scratch { bytes: 0 };

#[cfg(test)]
mod tests;

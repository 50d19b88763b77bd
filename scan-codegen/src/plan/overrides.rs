//! The caller's choices for a plan.

use crate::{
    constants::{MAX_THREADS, WARP},
    error::PlanError,
    limits::DeviceLimits,
    operator::OpSource,
    spec::ScanSpec,
    strategy::Strategy,
};

/// The maximum number of elements that a thread scans on its own.
const MAX_RUN: u32 = 1024;

/// The maximum number of stages of a pipeline, far more than teams and iterations can fill.
const MAX_STAGES: u32 = 1024;

/// The caller's choices in place of the planner's. `None` leaves the choice to the planner.
///
/// ```
/// # extern crate scan_codegen as scan_runtime;
/// use scan_runtime::Overrides;
///
/// let overrides = Overrides::default().threads(128).run(16);
/// assert_eq!((overrides.threads, overrides.run, overrides.strategy), (Some(128), Some(16), None));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Overrides {
    /// The algorithm.
    pub strategy: Option<Strategy>,
    /// Threads of a block: a power of two.
    pub threads: Option<u32>,
    /// Elements that a thread scans on its own, in a coarsened block scan.
    pub run: Option<u32>,
    /// Teams of a block ([`Pipeline::teams`](crate::Pipeline::teams)).
    pub teams: Option<u32>,
    /// Stages of shared memory ([`Pipeline::stages`](crate::Pipeline::stages)).
    pub stages: Option<u32>,
    /// The maximum number of persistent blocks ([`Pipeline::blocks`](crate::Pipeline::blocks)), or the number of blocks
    /// of a cluster: 1 to 8.
    pub blocks: Option<u32>,
    /// Tile statuses that a lane loads at once in look-back with runs in registers.
    pub statuses_per_lane: Option<u32>,
    /// The size of a group of look-ahead blocks. One of its blocks publishes the aggregate of all their tiles
    /// ([`Pipeline::group`](crate::Pipeline::group)): 1 to 32.
    pub group: Option<u32>,
    /// The maximum number of instructions that an operator's function may have at all its inlined places in a kernel
    /// together ([`Plan::inlined`](crate::Plan::inlined)).
    pub inlined: Option<u32>,
    /// Warps of a look-ahead block that fold tile statuses round-robin, where blocks form no groups and nothing
    /// restarts: at most as many as the block needs stages.
    pub look_ahead_warps: Option<u32>,
    /// Whether stages of look-ahead keep lifted elements, so that each is lifted once.
    pub keeps_states: Option<bool>,
    /// Whether to allow only algorithms that give the same floats in every run ([`Strategy::is_deterministic`]). If the
    /// default is look-back, reduce-then-scan then replaces it.
    pub deterministic: bool,
    /// Whether a launch may begin before the preceding work in the stream has ended: CUDA's programmatic dependent
    /// launch. It makes a scan after a scan faster: `docs/tuning.md#programmatic-dependent-launches`. `None` and `true`
    /// enable it if the architecture has it, which is from `sm_90` on.
    pub programmatic: Option<bool>,
    /// Whether threads wait for a pseudo-random time when they publish or poll. For tests of the kernels, which then
    /// exercise more interleavings of threads.
    pub delays: bool,
}

impl Overrides {
    /// The same, with this algorithm.
    pub fn strategy(self, strategy: Strategy) -> Self {
        Overrides { strategy: Some(strategy), ..self }
    }

    /// The same, with this many threads per block.
    pub fn threads(self, threads: u32) -> Self {
        Overrides { threads: Some(threads), ..self }
    }

    /// The same, with runs of this many elements per thread.
    pub fn run(self, elements: u32) -> Self {
        Overrides { run: Some(elements), ..self }
    }

    /// The same, with this many teams per block.
    pub fn teams(self, teams: u32) -> Self {
        Overrides { teams: Some(teams), ..self }
    }

    /// The same, with this many stages of shared memory.
    pub fn stages(self, stages: u32) -> Self {
        Overrides { stages: Some(stages), ..self }
    }

    /// The same, with at most this many persistent blocks, or this many blocks of a cluster.
    pub fn blocks(self, blocks: u32) -> Self {
        Overrides { blocks: Some(blocks), ..self }
    }

    /// The same, but only with algorithms that give the same floats in every run.
    pub fn deterministic(self) -> Self {
        Overrides { deterministic: true, ..self }
    }

    /// The choices of both; those of `other` win where both choose. A choice of determinism stays.
    pub fn merged(self, other: Overrides) -> Self {
        Overrides {
            strategy: other.strategy.or(self.strategy),
            threads: other.threads.or(self.threads),
            run: other.run.or(self.run),
            teams: other.teams.or(self.teams),
            stages: other.stages.or(self.stages),
            blocks: other.blocks.or(self.blocks),
            statuses_per_lane: other.statuses_per_lane.or(self.statuses_per_lane),
            group: other.group.or(self.group),
            inlined: other.inlined.or(self.inlined),
            keeps_states: other.keeps_states.or(self.keeps_states),
            look_ahead_warps: other.look_ahead_warps.or(self.look_ahead_warps),
            deterministic: other.deterministic || self.deterministic,
            programmatic: other.programmatic.or(self.programmatic),
            delays: other.delays || self.delays,
        }
    }
}

/// The inputs of a planner.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) operator: &'a OpSource,
    pub(crate) spec: &'a ScanSpec,
    pub(crate) limits: &'a DeviceLimits,
    pub(crate) overrides: &'a Overrides,
}

/// Refuses what no kernel can have, whatever the device and the algorithm. What depends on these is checked where it is
/// known.
pub(crate) fn check_overrides(overrides: &Overrides) -> Result<(), PlanError> {
    let ranges = [
        ("threads", overrides.threads, WARP, MAX_THREADS),
        ("run", overrides.run, 1, MAX_RUN),
        ("teams", overrides.teams, 1, WARP),
        ("stages", overrides.stages, 3, MAX_STAGES),
    ];
    for (name, value, min, max) in ranges {
        if let Some(value) = value
            && !(min..=max).contains(&value)
        {
            return Err(match name {
                "threads" => PlanError::Threads { threads: value, min, max },
                "run" => PlanError::Run { run: value, why: format!("ask for {min} to {max}") },
                _ => PlanError::Override { name, value, min, max },
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_fields_that_only_one_sets() {
        let (first, second) =
            (Overrides::default().threads(64).deterministic(), Overrides::default().threads(128).run(4));
        assert_eq!(first.merged(second), Overrides::default().threads(128).run(4).deterministic());
        assert_eq!(first.merged(Overrides::default()), first);
        assert_eq!(Overrides::default().merged(first), first);
    }
}

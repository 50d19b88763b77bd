//! What the caller asks a planner for.

use crate::{
    constants::{MOST_THREADS, WARP},
    error::PlanError,
    limits::DeviceLimits,
    operator::OpSource,
    spec::ScanSpec,
    strategy::Strategy,
};

/// The most elements that a thread scans on its own.
const MOST_RUN: u32 = 1024;

/// The most stages of a pipeline, far above those that teams and iterations can fill.
const MOST_STAGES: u32 = 1024;

/// What the caller wants otherwise than the planner would choose. `None` leaves the choice to the planner.
///
/// ```
/// use scan_codegen::Overrides;
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
    /// The most persistent blocks ([`Pipeline::blocks`](crate::Pipeline::blocks)), or the blocks of a cluster: 1 to 8.
    pub blocks: Option<u32>,
    /// Tile statuses that a lane loads at once when a block whose runs stay in registers looks back.
    pub statuses_per_lane: Option<u32>,
    /// Blocks of look-ahead of which one publishes the aggregate of all their tiles
    /// ([`Pipeline::group`](crate::Pipeline::group)): 1 to 32.
    pub group: Option<u32>,
    /// The most instructions that a function of the operator is to have at all its places in a kernel together
    /// ([`Plan::written_out`](crate::Plan::written_out)).
    pub written_out: Option<u32>,
    /// Whether only algorithms will do that give the same floats in every run ([`Strategy::is_deterministic`]). Where
    /// the default would look back, it is hierarchical then.
    pub deterministic: bool,
    /// Whether a launch may begin before what is before it in the stream has ended: CUDA's programmatic dependent
    /// launch. A scan after a scan takes less time by that: `docs/tuning.md#programmatic-dependent-launches`. `None`
    /// and `true` mean where the architecture has it, which is from `sm_90` on.
    pub programmatic: Option<bool>,
    /// Whether threads wait for a pseudo-random time where they publish or poll. For tests of the kernels, which then
    /// see more of the orders in which threads can come.
    pub delays: bool,
}

impl Overrides {
    /// The same, with this algorithm.
    pub fn strategy(self, strategy: Strategy) -> Self {
        Overrides { strategy: Some(strategy), ..self }
    }

    /// The same, with so many threads a block.
    pub fn threads(self, threads: u32) -> Self {
        Overrides { threads: Some(threads), ..self }
    }

    /// The same, with so many elements a thread.
    pub fn run(self, elements: u32) -> Self {
        Overrides { run: Some(elements), ..self }
    }

    /// The same, with so many teams a block.
    pub fn teams(self, teams: u32) -> Self {
        Overrides { teams: Some(teams), ..self }
    }

    /// The same, with so many stages of shared memory.
    pub fn stages(self, stages: u32) -> Self {
        Overrides { stages: Some(stages), ..self }
    }

    /// The same, with so many persistent blocks at most, or so many blocks of a cluster.
    pub fn blocks(self, blocks: u32) -> Self {
        Overrides { blocks: Some(blocks), ..self }
    }

    /// The same, with algorithms only that give the same floats in every run.
    pub fn deterministic(self) -> Self {
        Overrides { deterministic: true, ..self }
    }

    /// What either asks for; `other` has its way where both ask for something else. Determinism that was asked for
    /// stays.
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
            written_out: other.written_out.or(self.written_out),
            deterministic: other.deterministic || self.deterministic,
            programmatic: other.programmatic.or(self.programmatic),
            delays: other.delays || self.delays,
        }
    }
}

/// What a planner goes by.
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
        ("threads", overrides.threads, WARP, MOST_THREADS),
        ("run", overrides.run, 1, MOST_RUN),
        ("teams", overrides.teams, 1, WARP),
        ("stages", overrides.stages, 3, MOST_STAGES),
    ];
    for (name, value, least, most) in ranges {
        if let Some(value) = value
            && !(least..=most).contains(&value)
        {
            return Err(match name {
                "threads" => PlanError::Threads { threads: value, least, most },
                "run" => PlanError::Run { run: value, why: format!("ask for {least} to {most}") },
                _ => PlanError::Override { name, value, least, most },
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_keeps_what_only_one_asks_for() {
        let (first, second) =
            (Overrides::default().threads(64).deterministic(), Overrides::default().threads(128).run(4));
        assert_eq!(first.merged(second), Overrides::default().threads(128).run(4).deterministic());
        assert_eq!(first.merged(Overrides::default()), first);
        assert_eq!(Overrides::default().merged(first), first);
    }
}

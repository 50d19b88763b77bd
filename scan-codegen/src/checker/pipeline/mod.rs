//! Who waits for whom in a block of look-ahead.
//!
//! The templates of `kernel/pipeline/` give each warp a role: it waits, reads, writes and arrives in a fixed order, tile
//! after tile. `roles` says these orders again as data; `replay` executes them. No step has a choice, so a role that is
//! not held up gets equally far whatever the others' speeds. Therefore a rule holds under all speeds if it holds while a
//! single role is held up before a single step and all others go on until they wait. The rules:
//!
//! - `Arrivals`: a barrier gets as many arrivals a phase as it counts.
//! - `Deadlock`: all roles end.
//! - `Phases`: nobody waits for a phase before the one before it has completed, nor is held up before a wait until the
//!   phase after it has, since a wait tells phases apart by their parity alone; nobody arrives a phase early.
//! - `Overwriting`: no one reads before the write, nor writes again before all have read.
//! - `Stages`: two for each team and one more.

mod replay;
mod roles;

use super::{Checked, Report, Rule};
use crate::{
    constants::WARP,
    plan::{Pipeline, Plan},
    segments::Segments,
};
use replay::{Positions, Replay};
pub(super) use roles::barriers_of;
use roles::{Role, Step, roles};

/// All that the order of a block's steps depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Protocol {
    /// Threads of a team.
    pub(super) team: u32,
    pub(super) teams: u32,
    pub(super) stages: u32,
    /// Slots for offsets, which a warp searches for; 0 without.
    pub(super) slots: u32,
    pub(super) look_ahead_warps: u32,
    /// Whether blocks form groups.
    pub(super) grouped: bool,
    /// Whether lifted elements take the place of elements.
    pub(super) keeps_states: bool,
    /// Whether each result takes the place of an element.
    pub(super) in_place: bool,
    /// Whether all arrays of the input, and of the output, are slices, which bulk copies move.
    pub(super) input_in_slices: bool,
    pub(super) output_in_slices: bool,
    /// Whether threads copy the edges of tiles, as those of the first and last tile, or of all in unaligned memory.
    pub(super) copies_edges: bool,
}

impl Protocol {
    pub(super) fn of(plan: &Plan, pipeline: &Pipeline) -> Self {
        let in_place = plan.zipped.as_ref().map_or(plan.input_bytes == plan.output_bytes, |zipped| zipped.in_place);
        Protocol {
            team: plan.threads,
            teams: pipeline.teams,
            stages: pipeline.stages,
            slots: if matches!(plan.spec.segments, Segments::Offsets(_)) { pipeline.slots } else { 0 },
            look_ahead_warps: pipeline.look_ahead_warps,
            grouped: pipeline.group > 1,
            keeps_states: pipeline.keeps_states,
            in_place: in_place && !pipeline.keeps_states,
            input_in_slices: plan.spec.input_kinds.are_slices(),
            output_in_slices: plan.spec.output_kinds.are_slices(),
            copies_edges: false,
        }
    }

    /// The stages below which a team waits for another one's tile: it keeps one tile while it reduces the next, and a
    /// stage is filled an iteration after it is drained.
    fn min_stages(self) -> u32 {
        2 * self.teams + 1
    }

    /// The same with no more stages than make a difference: where a role is held up, how many tiles the others get ahead
    /// depends on the teams alone, so that further stages are used later, and never earlier.
    fn with_few_stages(self) -> Self {
        const MORE: u32 = 4;
        let max = (self.min_stages() + MORE).max(self.look_ahead_warps + 1).max(2 * self.slots + 1);
        Protocol { stages: self.stages.min(max), ..self }
    }
}

pub(super) fn check(Checked { plan, .. }: Checked<'_>, report: &mut Report) {
    let Some(pipeline) = &plan.pipeline else { return };
    let protocol = Protocol::of(plan, pipeline);
    let (stages, min) = (protocol.stages, protocol.min_stages());
    report.require(stages >= min, Rule::Stages, || {
        format!("{stages} stages for {} teams, which need two each and one more, {min}", protocol.teams)
    });
    let warps = (protocol.team / WARP).saturating_mul(protocol.teams);
    if protocol.team < WARP || protocol.teams == 0 || stages == 0 || warps > WARP {
        return; // no block has such teams: `threads` says so
    }
    for copies_edges in [false, true] {
        let found = protocol_violations(Protocol { copies_edges, ..protocol }.with_few_stages());
        report.0.extend(found.0);
        if !report.0.is_empty() {
            break; // the others would follow
        }
    }
}

/// The rules that this order of steps breaks, each once.
fn protocol_violations(protocol: Protocol) -> Report {
    let mut report = Report::default();
    // A ring is filled twice, and all teams have another tile.
    let tiles = 2 * protocol.stages + 2 * protocol.teams;
    let roles = roles(protocol, tiles);
    arrivals(protocol, tiles, &roles, &mut report);
    if report.0.is_empty() {
        deadlock(protocol, &roles, &mut report);
    }
    if report.0.is_empty() {
        held_up(protocol, &roles, &mut report);
    }
    report
}

/// Counts the arrivals at each phase.
fn arrivals(protocol: Protocol, tiles: u32, roles: &[Role], report: &mut Report) {
    for (barrier, _) in barriers_of(&protocol) {
        let counted = barrier.count(&protocol);
        let arrivals = |number: u32| {
            let steps = roles.iter().flat_map(|role| &role.steps);
            let arrived = steps.map(|step| match *step {
                Step::Arrive(at, of, arrivals) if (at, of) == (barrier, number) => arrivals,
                _ => 0,
            });
            arrived.sum::<u32>()
        };
        let wrong = (0..tiles).map(|number| (number, arrivals(number))).find(|(_, arrived)| *arrived != counted);
        if let Some((number, arrived)) = wrong {
            report.require(false, Rule::Arrivals, || {
                format!(
                    "`{}` counts {counted} arrivals, and gets {arrived} for tile {number} of a block",
                    barrier.name()
                )
            });
        }
    }
}

/// Lets all roles go on until they end.
fn deadlock(protocol: Protocol, roles: &[Role], report: &mut Report) {
    let mut replay = Replay::new(protocol, roles);
    replay.run(None);
    let waiting: Vec<_> = replay.waiting().collect();
    report.require(waiting.is_empty(), Rule::Deadlock, || {
        let words = |(role, step, missing): &(&Role, Step, Vec<&str>)| {
            format!("{} waits for {step}, and for that {}", role.name, missing.join(" and "))
        };
        waiting.iter().map(words).collect::<Vec<_>>().join("; ")
    });
}

/// Holds up each role before each step, and looks how far the others get.
fn held_up(protocol: Protocol, roles: &[Role], report: &mut Report) {
    // Later tiles repeat these; those that overwrite what these use follow within `tiles`.
    let end = protocol.stages + 2 * protocol.teams;
    let positions = Positions::new(roles);
    let mut replay = Replay::new(protocol, roles);
    for (index, role) in roles.iter().enumerate() {
        replay.restart();
        for (at, step) in role.steps.iter().enumerate().filter(|(_, step)| step.number() < end) {
            // What the others have done while it was held up earlier, they do now as well.
            replay.run(Some((index, at)));
            let Some((rule, what)) = broken(protocol, &replay, &positions, index, *step) else { continue };
            let is_new = report.0.iter().all(|known| known.rule != rule);
            report
                .require(!is_new, rule, || format!("while {} is held up before {}, {what}", role.name, step.held_up()));
        }
    }
}

/// What has gone wrong while role `index` was held up before `step`.
fn broken(
    protocol: Protocol,
    replay: &Replay<'_>,
    positions: &Positions,
    index: usize,
    step: Step,
) -> Option<(Rule, String)> {
    // The first of the other roles that has come to this step, or past it.
    let other_at = |step: Step, past: usize| {
        let others = replay.roles().iter().enumerate().filter(|(other, _)| *other != index);
        let mut come =
            others.filter(|(other, _)| positions.of(*other, step).is_some_and(|at| replay.at(*other) >= at + past));
        come.next().map(|(_, role)| role.name.clone())
    };
    const COME_TO: usize = 0;
    const PAST: usize = 1;
    match step {
        Step::Arrive(barrier, number, _) => {
            let next = number + barrier.ring(&protocol);
            let early = other_at(Step::Wait(barrier, next), COME_TO);
            let early =
                early.map(|role| format!("{role} waits for `{}` of tile {next}: a phase early", barrier.name()));
            let arrived = || other_at(Step::Arrive(barrier, next, 0), PAST);
            let arrived = || arrived().map(|role| format!("{role} arrives at `{}` for tile {next}", barrier.name()));
            early.or_else(arrived).map(|what| (Rule::Phases, what))
        }
        Step::Wait(barrier, number) => {
            let next = number + barrier.ring(&protocol);
            let what = || format!("`{}` completes for tile {next}, too, and has the old parity again", barrier.name());
            replay.is_complete(barrier, next).then(|| (Rule::Phases, what()))
        }
        Step::Write(memory, number) => {
            let role = other_at(Step::Read(memory, number), PAST)?;
            Some((Rule::Overwriting, format!("{role} reads {} of tile {number}", memory.name())))
        }
        Step::Read(memory, number) => {
            let next = number + memory.ring(&protocol);
            let role = other_at(Step::Write(memory, next), PAST)?;
            Some((Rule::Overwriting, format!("{role} overwrites {} with that of tile {next}", memory.name())))
        }
        Step::Publish(..) | Step::Poll(..) => None,
    }
}

#[cfg(test)]
mod tests;

//! The plan of look-ahead: the shape of a pipeline in each block.

use super::{
    check::{check_architecture, refused},
    measured::{
        KEEPING_SHAPE, LARGE, LARGE_INLINED, LONG_SHARED_BYTES, STREAMED_BYTES, heavy_shape, is_heavy, keeps_states,
        long_bytes, long_bytes_of_large_states, ring_shape,
    },
    overrides::{Overrides, Request},
    pipeline::Pipeline,
    stages::{StageRoom, head_bytes, other_threads, slot_bytes, slots},
    teams::{ItemBytes, MAX_STATUSES_OF_A_LANE, Sizes, unit},
    types::{Block, Plan},
};
use crate::{
    carry::Carry,
    constants::{WARP, WORD},
    error::PlanError,
    limits::DeviceLimits,
    operator::OpSource,
    strategy::{BlockScan, Strategy},
    weight::{INLINED, Weights},
    zipped::Zipped,
};

/// The maximum number of blocks per group, and of groups: a warp loads their statuses, one per lane.
const MAX_GROUP: u32 = WARP;

/// The most warps that fold tile statuses round-robin.
const MAX_LOOK_AHEAD_WARPS: u32 = 4;

/// Look-ahead for long inputs, where it is available.
pub(super) fn plan_long(request: Request<'_>) -> Option<Plan> {
    let Request { operator, spec, limits, .. } = request;
    if limits.shared_bytes_per_block_optin < LONG_SHARED_BYTES {
        return None;
    }
    let strategy = Strategy { block: BlockScan::SHARED_RUNS, carry: Carry::LookAhead };
    let plan = plan_look_ahead(Request { overrides: &Overrides::default(), ..request }, strategy).ok()?;
    let (input, output) = (spec.input.bytes(&operator.input), spec.output.bytes(&operator.output));
    let (element, state) = (input.max(output), operator.state.size);
    let combine = Weights::instructions_of(operator, "combine");
    let heavy = is_heavy(combine, input as u32, state as u32, element as u32);
    let from = long_bytes_of_large_states(element, state, heavy, &spec.segments)
        .unwrap_or_else(|| long_bytes(element, state, &spec.segments));
    let bytes = (input + output).max(1) as u64;
    Some(Plan { from: from / bytes, ..plan })
}

/// The plan of look-ahead.
pub(super) fn plan_look_ahead(request: Request<'_>, strategy: Strategy) -> Result<Plan, PlanError> {
    let Request { operator, spec, limits, overrides } = request;
    if strategy.block != BlockScan::SHARED_RUNS.over_warps(strategy.block.warp) {
        let why = "its teams scan runs over warp shuffles, so choose `BlockScan::coarsened(Network::WarpShuffle)`";
        return Err(refused(strategy, why));
    }
    check_architecture(strategy, limits)?;
    let items = ItemBytes::of(operator, spec);
    let can_keep = operator.has("lift")
        && !operator.takes_inputs()
        && operator.state.size.is_multiple_of(WORD as usize)
        && spec.segments.is_none()
        && Zipped::of(operator, spec, |_| 0).is_none();
    let keeps_states =
        can_keep && overrides.keeps_states.unwrap_or(keeps_states(Weights::instructions_of(operator, "lift")));
    let sizes = Sizes { keeps_states, ..Sizes::of(operator, spec, &items) };
    let combine = Weights::instructions_of(operator, "combine");
    let Sizes { input, state, .. } = sizes;
    let shape = match sizes.element() {
        _ if !spec.segments.is_none() => None,
        _ if keeps_states => Some(KEEPING_SHAPE),
        element if sizes.ring.is_some() => Some(ring_shape(element)),
        element if is_heavy(combine, input, state, element) => Some(heavy_shape(input, state, element)),
        _ => None,
    };
    let sizes = Sizes { shape, ..sizes };
    let (room, stages) = room(request, sizes)?;
    let StageRoom { threads, teams, run, statuses_of_a_lane, group, window, .. } = room;
    let tile = threads * run;
    let zipped = Zipped::of(operator, spec, |bytes| unit(bytes, run));
    let unit_of_one = |bytes| if zipped.is_none() { unit(bytes, run) } else { 0 };
    let pipeline = Pipeline {
        teams,
        stages,
        blocks: overrides.blocks.unwrap_or(limits.multiprocessors).clamp(1, limits.multiprocessors),
        dynamic_shared_bytes: room.dynamic_bytes(stages),
        statuses_per_lane: statuses_of_a_lane,
        group,
        window,
        head_bytes: head_bytes(&spec.segments, tile),
        slots: slots(teams),
        slot_bytes: slot_bytes(&spec.segments, tile),
        other_threads: other_threads(&spec.segments, group, room.look_ahead_warps),
        streams: zipped.is_none()
            && !sizes.keeps_states
            && sizes.input == sizes.output
            && sizes.input >= STREAMED_BYTES
            && sizes.input.is_multiple_of(WORD),
        look_ahead_warps: room.look_ahead_warps,
        keeps_states: sizes.keeps_states,
        table_bytes: sizes.tables,
        run_parts: if spec.segments.is_none() && zipped.is_none() { run_parts(operator, run) } else { 1 },
    };
    let block = Block { threads, run, tile, shared_bytes: room.static_bytes(stages) };
    let inlined = if sizes.state > LARGE { LARGE_INLINED } else { INLINED };
    Ok(Plan {
        pipeline: Some(pipeline),
        run_by_weight: overrides.run.is_none()
            && sizes.run(Weights::longest_run(operator), Weights::worthwhile_run(operator)) != sizes.run(u32::MAX, 1),
        inlined: overrides.inlined.unwrap_or(inlined),
        input_unit: unit_of_one(sizes.input),
        output_unit: unit_of_one(sizes.output),
        zipped,
        ..Plan::new(request, strategy, block)
    })
}

/// The parts in which runs of `run` inputs are reduced, each of whole units.
fn run_parts(operator: &OpSource, run: u32) -> u32 {
    let (input, max) = (operator.input.size as u32, Weights::max_appended(operator));
    if !operator.takes_inputs() || run <= max || unit(input, run) == 0 {
        return 1;
    }
    let fits = |part: u32| run.is_multiple_of(part) && (part * input).is_multiple_of(unit(input, run));
    let longest = (1..=max / 2).rev().find(|&part| fits(part));
    longest.map_or(1, |part| run / part)
}

/// The first shape, in order of preference, that fits a block's shared memory, and its stages.
fn room<'a>(request: Request<'a>, sizes: Sizes<'a>) -> Result<(StageRoom<'a>, u32), PlanError> {
    let Request { operator, spec, limits, overrides } = request;
    // What joins runs outweighs longer loops, where it is heavy.
    let longest = Weights::longest_run(operator);
    let longest = if sizes.shape.is_some() { longest.saturating_mul(3) / 2 } else { longest };
    let run = overrides.run.unwrap_or_else(|| sizes.run(longest, Weights::worthwhile_run(operator)));
    let room = limits.shared_bytes_per_block_optin;
    // One source for all devices of an architecture, so that it can be compiled ahead of time. A lane with room for
    // more statuses than there are loads the last one again.
    let max_blocks = DeviceLimits::of(limits.architecture).multiprocessors.max(limits.multiprocessors);
    // Shorter runs only if shared memory is too small for any teams with long ones, and the caller does not choose the
    // run.
    let shorter = |run: &u32| (overrides.run.is_none() && *run > 1).then_some(run / 2);
    let runs = std::iter::successors(Some(run), shorter);
    let blocks = overrides.blocks.map_or(max_blocks, |blocks| blocks.clamp(1, max_blocks));
    let group = match overrides.group.unwrap_or_else(|| sizes.group(blocks)) {
        group @ 2.. if blocks <= MAX_GROUP * MAX_GROUP => group.clamp(blocks.div_ceil(MAX_GROUP), MAX_GROUP),
        _ => 1,
    };
    // More than stages would confuse the phases of barriers (`checker/pipeline`).
    let look_ahead_warps = |teams: u32| match overrides.look_ahead_warps.or(sizes.shape.map(|s| s.look_ahead_warps)) {
        Some(warps) if group == 1 && spec.segments.is_none() => {
            warps.clamp(1, teams.saturating_mul(2).saturating_add(1).min(MAX_LOOK_AHEAD_WARPS))
        }
        _ => 1,
    };
    let other_threads = other_threads(&spec.segments, group, 1);
    let mut shapes = runs.flat_map(|run| sizes.teams().iter().map(move |&teams| (run, teams))).filter_map(
        |(run, (threads, teams))| {
            let (threads, teams) = (overrides.threads.unwrap_or(threads), overrides.teams.unwrap_or(teams));
            let look_ahead_warps = look_ahead_warps(teams);
            let other_threads = self::other_threads(&spec.segments, group, look_ahead_warps);
            let block_threads = threads.saturating_mul(teams).saturating_add(other_threads);
            let statuses = || sizes.statuses_of_a_lane(max_blocks, block_threads);
            let (statuses_of_a_lane, window) = if group > 1 {
                (1, group.max(blocks.div_ceil(group)))
            } else {
                let statuses = overrides.statuses_per_lane.unwrap_or_else(statuses).clamp(1, MAX_STATUSES_OF_A_LANE);
                (statuses, WARP * statuses)
            };
            let shape = StageRoom { sizes, run, threads, teams, statuses_of_a_lane, group, window, look_ahead_warps };
            if !shape.is_possible(limits) {
                return None;
            }
            let stages = overrides.stages.unwrap_or_else(|| shape.max_stages(room));
            let fits = stages >= shape.min_stages()
                && shape.bytes(stages) <= room
                && shape.static_bytes(stages) <= limits.shared_bytes_per_block;
            fits.then_some((shape, stages))
        },
    );
    if let Some(found) = shapes.next() {
        return Ok(found);
    }
    let max = limits.threads_per_block.saturating_sub(other_threads) / WARP * WARP;
    if let Some(threads) = overrides.threads
        && max > 0
        && (!threads.is_multiple_of(WARP) || threads > max)
    {
        return Err(PlanError::Threads { threads, min: WARP, max });
    }
    let why = format!(
        "it needs two stages for each team and one more at least, and these must fit {room} bytes of shared memory, \
         the teams and {} warps more {} threads",
        other_threads / WARP,
        limits.threads_per_block
    );
    Err(PlanError::Run { run, why })
}

#[cfg(test)]
mod tests;

//! Shared memory: what the templates declare, variable by variable, against what the plan says and the device has.

use super::{
    Checked, Report, Rule,
    pipeline::{Protocol, barriers_of},
};
use crate::{
    carry::{Blocks, Exchange, Polled},
    constants::{COPY_ALIGNMENT, PACKET_PAYLOAD, WARP, WORD},
    plan::{Pipeline, Plan},
    segments::Segments,
    strategy::Network,
};

/// Bytes of a variable in shared memory.
struct Variable {
    name: &'static str,
    bytes: u64,
}

/// The variables of a kernel.
#[derive(Default)]
struct Variables(Vec<Variable>);

impl Variables {
    /// An array of `count` items of `bytes` bytes.
    fn declare(&mut self, name: &'static str, count: impl Into<u64>, bytes: impl Into<u64>) {
        self.0.push(Variable { name, bytes: count.into() * bytes.into() });
    }

    /// Their sum. No alignment is part of it: each variable has a multiple of its own.
    fn bytes(&self) -> u64 {
        self.0.iter().map(|variable| variable.bytes).sum()
    }

    /// Their names and bytes, the largest first.
    fn words(&self) -> String {
        let mut variables: Vec<_> = self.0.iter().filter(|variable| variable.bytes > 0).collect();
        variables.sort_by_key(|variable| std::cmp::Reverse(variable.bytes));
        let words: Vec<_> = variables.iter().map(|Variable { name, bytes }| format!("{name} {bytes}")).collect();
        words.join(", ")
    }
}

pub(super) fn check(checked: Checked<'_>, report: &mut Report) {
    let Checked { plan, limits, .. } = checked;
    let variables = declared(checked);
    let (declared, planned) = (variables.bytes(), u64::from(plan.shared_bytes));
    report.require(declared <= planned, Rule::SharedMemory, || {
        format!("the kernel declares {declared} bytes ({}), the plan says {planned}", variables.words())
    });
    let room = u64::from(limits.shared_bytes_per_block);
    report.require(planned <= room, Rule::SharedMemory, || {
        format!("{planned} bytes of static shared memory, where a kernel can declare {room}")
    });
    if let Some(pipeline) = &plan.pipeline {
        dynamic(checked, pipeline, report);
    }
}

/// The dynamic shared memory of look-ahead: stages, heads, slots.
fn dynamic(Checked { plan, limits, .. }: Checked<'_>, pipeline: &Pipeline, report: &mut Report) {
    let [stages, slots] = [pipeline.stages, pipeline.slots].map(u64::from);
    let (stage, heads, slot) = (plan.stage_bytes(), u64::from(pipeline.head_bytes), u64::from(pipeline.slot_bytes));
    let (needed, planned) = (stages * (stage + heads) + slots * slot, u64::from(pipeline.dynamic_shared_bytes));
    report.require(needed == planned, Rule::SharedMemory, || {
        format!(
            "{stages} stages of {stage} bytes and {heads} for heads, and {slots} slots of {slot} bytes, are {needed} \
             bytes; the plan says {planned} of dynamic shared memory"
        )
    });
    let (all, room) = (u64::from(plan.shared_bytes) + planned, u64::from(limits.shared_bytes_per_block_optin));
    report.require(all <= room, Rule::SharedMemory, || {
        format!("{all} bytes of static and dynamic shared memory, where a launch can opt in to {room}")
    });
    let needed = head_bytes(&plan.spec.segments, plan.tile.into());
    report.require(heads >= needed, Rule::SharedMemory, || {
        format!("{heads} bytes of a stage for heads, where a tile's take up to {needed}")
    });
}

/// Bytes that what tells the heads of a tile takes in a stage: copied from an aligned address to an aligned one, which
/// adds less than two units to what is needed.
fn head_bytes(segments: &Segments, tile: u64) -> u64 {
    let unit = u64::from(COPY_ALIGNMENT);
    let copied = |bytes: u64, skipped: u64| (bytes + skipped).next_multiple_of(unit);
    match segments {
        Segments::None | Segments::Rows => 0,
        Segments::HeadFlags => copied(tile, unit - 1),
        // A tile need not begin with bit 0 of a word.
        Segments::HeadBits => copied(u64::from(WORD) * (tile / 32 + 1), unit - u64::from(WORD)),
        // The first key is compared with the one before the tile.
        Segments::Keys(key) => copied((tile + 1) * key.size as u64, unit - (key.align as u64).min(unit)),
        Segments::Offsets(_) => tile.div_ceil(8),
    }
}

/// What the kernels of a plan declare: those of one kernel after the other share it, so of each variable the largest.
fn declared(checked: Checked<'_>) -> Variables {
    let mut variables = Variables::default();
    match &checked.plan.pipeline {
        Some(pipeline) => of_look_ahead(checked, pipeline, &mut variables),
        None => of_tile_per_block(checked.plan, &mut variables),
    }
    variables
}

/// `kernel/pipeline/kernel` and `window`.
fn of_look_ahead(checked: Checked<'_>, pipeline: &Pipeline, variables: &mut Variables) {
    let Checked { operator, plan, .. } = checked;
    let (stages, warps, state) = (u64::from(pipeline.stages), u64::from(plan.threads / WARP), plan.state_bytes);
    let segmented = !plan.spec.segments.is_none();
    // A flag, where there are heads.
    let flag = u64::from(segmented);
    for (barrier, ring) in barriers_of(&Protocol::of(plan, pipeline)) {
        variables.declare(barrier.name(), ring, 8_u64);
    }
    variables.declare("warp_aggregates", stages * warps, state);
    variables.declare("warp_heads", stages * warps, flag);
    variables.declare("exclusive_prefixes", stages, state);
    if matches!(plan.spec.segments, Segments::Offsets(_)) {
        variables.declare("tile_offsets", stages, 24_u64);
    }
    if pipeline.group > 1 {
        variables.declare("part_aggregates", 4_u64, state);
        variables.declare("part_heads", 4_u64, flag);
    }
    if plan.spec.initial_value && !plan.spec.initial_values {
        variables.declare("first_value", 1_u64, operator.initial().size as u64);
    }
    variables.declare("tables", 1_u64, pipeline.table_bytes);
    variables.declare("shared_epoch", 1_u64, WORD);
    let folding_warps = u64::from(if pipeline.group > 1 { 2 } else { pipeline.look_ahead_warps.max(1) });
    let payload = u64::from(PACKET_PAYLOAD);
    let exchanged = match plan.loads_packets() {
        // Whole packets, in an odd number of words.
        true => u64::from(WORD) * ((state.div_ceil(u64::from(WORD)).div_ceil(payload) * payload) | 1),
        false if pipeline.statuses_per_lane > 1 => state,
        false => 0,
    };
    if exchanged > 0 {
        variables.declare("window_aggregates", folding_warps * u64::from(pipeline.window), exchanged);
        variables.declare("window_heads", folding_warps * u64::from(pipeline.window), flag);
    }
}

/// The kernels of the other carries, with their tile in shared memory or its runs in registers.
fn of_tile_per_block(plan: &Plan, variables: &mut Variables) {
    let (threads, state) = (u64::from(plan.block_sizes.largest), plan.state_bytes);
    let facts = plan.strategy.carry.describe();
    let segmented = !plan.spec.segments.is_none();
    let coarsened = plan.strategy.block.coarsened;
    let tile = if plan.strategy.block.in_registers { threads * u64::from(plan.run) } else { plan.tile.into() };
    if segmented {
        variables.declare("heads", tile.div_ceil(32), WORD);
    }
    if segmented && coarsened && !plan.strategy.block.in_registers {
        variables.declare("run_heads", threads / u64::from(WARP), WORD);
    }
    if plan.strategy.block.in_registers {
        variables.declare("stage", tile, plan.input_bytes.max(plan.output_bytes));
        variables.declare("warp_aggregates", threads / u64::from(WARP), state);
        if segmented {
            variables.declare("warp_heads", threads / u64::from(WARP), WORD);
        }
        if matches!(plan.spec.segments, Segments::Offsets(_)) {
            variables.declare("bounds", 2_u64, 8_u64);
        }
    } else {
        let padded = plan.strategy.block.network.is_padded();
        let slots = u64::from(plan.network_slots);
        variables.declare("values", if padded && !coarsened { slots } else { tile }, state);
        if coarsened {
            variables.declare("run_aggregates", slots, state);
        }
        match plan.strategy.block.network {
            Network::HillisSteele => variables.declare("buffers", 2 * threads, state),
            Network::WarpShuffle => variables.declare("warp_aggregates", threads / u64::from(WARP), state),
            _ => {}
        }
    }
    match facts.blocks {
        Blocks::Cluster => {
            let restarts = if segmented { u64::from(WORD) } else { 0 };
            let status = state.next_multiple_of(u64::from(WORD)) + restarts;
            variables.declare("statuses", 2 * u64::from(plan.cluster), status);
            variables.declare("all_arrived", 2_u64, 8_u64);
        }
        Blocks::One if plan.one_block_has_one_tile() => {}
        // Look-at-all folds to all threads.
        _ if facts.exchange == Exchange::Statuses(Polled::All) => {}
        _ => variables.declare("shared_prefix", 1_u64, state),
    }
    if matches!(facts.exchange, Exchange::Statuses(_)) {
        variables.declare("shared_epoch", 1_u64, WORD);
        variables.declare("shared_tile_index", 1_u64, WORD);
    }
}

/// How many bytes more a plan says than its kernels declare.
#[cfg(test)]
pub(super) fn slack(checked: Checked<'_>) -> i64 {
    i64::from(checked.plan.shared_bytes) - declared(checked).bytes() as i64
}

//! The shape of the pipeline of look-ahead: what is constant in the text, and the shared memory for heads.

use std::borrow::Cow;

use serde::Serialize;

use super::{Room, Words, arrays::sizes};
use crate::{
    constants::WARP,
    plan::{Pipeline, Plan},
};

/// What its templates speak of.
#[derive(Serialize)]
pub(crate) struct LayoutWords {
    team: u32,
    teams: u32,
    stages: u32,
    run: u32,
    /// How many statuses a warp loads at once, how many of them a lane, and how many warps do so.
    window: u32,
    statuses_per_lane: u32,
    folding_warps: u32,
    /// Bytes of an element, of a result, and of a stage.
    input_size: String,
    output_size: String,
    stage_bytes: Cow<'static, str>,
    /// What an address must be a multiple of so that some element before it lies where bulk copies can begin.
    copy_grain: u64,
    /// Bytes of a stage for heads, slots for the offsets of tiles, bytes of one, and of all dynamic shared memory.
    head_bytes: u32,
    slots: u32,
    slot_bytes: u32,
    dynamic_shared_bytes: u32,
}

impl Words for LayoutWords {
    const ROOM: Room = Room::Layout;
}

impl LayoutWords {
    pub(crate) fn new(plan: &Plan, pipeline: &Pipeline, copy_grain: u64) -> Self {
        let [input_size, output_size] = sizes(plan);
        let is_grouped = pipeline.group > 1;
        LayoutWords {
            team: plan.threads,
            teams: pipeline.teams,
            stages: pipeline.stages,
            run: plan.run,
            window: if is_grouped { pipeline.window } else { WARP * pipeline.statuses_per_lane },
            statuses_per_lane: pipeline.statuses_per_lane,
            folding_warps: if is_grouped { 2 } else { pipeline.look_ahead_warps.max(1) },
            input_size,
            output_size,
            stage_bytes: match (pipeline.keeps_states, plan.input_bytes.max(plan.output_bytes)) {
                _ if plan.ring().is_some() => plan.stage_bytes().to_string().into(),
                (true, larger) if plan.state_bytes > larger => "TILE * sizeof(State)".into(),
                (_, larger) if plan.input_bytes == larger => "INPUT_BYTES".into(),
                _ => "RESULT_BYTES".into(),
            },
            copy_grain,
            head_bytes: pipeline.head_bytes,
            slots: pipeline.slots,
            slot_bytes: pipeline.slot_bytes,
            dynamic_shared_bytes: pipeline.dynamic_shared_bytes,
        }
    }
}

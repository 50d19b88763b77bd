//! Look-ahead: the pipeline of a block. Each warp has a role, which is a function; a plan chooses its implementation.

use serde::Serialize;

use super::{
    Room, Words, heads,
    start::{self, OF_PIPELINE},
};
use crate::{
    constants,
    operator::OpSource,
    plan::{Pipeline, Plan},
};

/// What the templates of a pipeline speak of.
#[derive(Serialize)]
pub(crate) struct PipelineWords {
    block_threads: u32,
    /// How many blocks a group has.
    group: u32,
    /// The bytes of a unit of a lifted element that stays in the stage.
    state_unit: u32,
    /// Parts in which a run is reduced.
    run_parts: u32,
    /// The look-ahead warps, and the roles of warps besides those that every block has.
    look_ahead_warps: &'static str,
    roles: Vec<RoleWords>,
    /// How a run of a whole tile is scanned.
    scanned: ScannedWords,
    /// Where the results of a tile that is not whole go.
    part_results: &'static str,
    /// How many statuses a launch publishes.
    status_count: &'static str,
    /// What a `Block` is made of besides, with the comma before it.
    block_arguments: &'static str,
    /// The operator as a parameter: the kernel changes where its tables are.
    op_parameter: &'static str,
    /// The initial value, where one thread passes it to the others.
    initial_value: &'static str,
    /// Whether all arrays of the input are slices.
    inputs_are_slices: bool,
}

impl Words for PipelineWords {
    const ROOM: Room = Room::Pipeline;
}

/// How a run is scanned: its type, where it comes from, an item of it, and how a cursor moves past one.
#[derive(Serialize)]
struct ScannedWords {
    run: &'static str,
    run_of: &'static str,
    item_of: &'static str,
    advance: &'static str,
}

/// A role, and the warps that take it.
#[derive(Serialize)]
struct RoleWords {
    warps: &'static str,
    call: &'static str,
}

impl PipelineWords {
    pub(crate) fn new(operator: &OpSource, plan: &Plan, pipeline: &Pipeline) -> Self {
        let (spec, is_grouped) = (&plan.spec, pipeline.group > 1);
        let mut roles = Vec::new();
        if spec.segments.has_empty() {
            roles.push(RoleWords { warps: "warp == OFFSET_SEARCH_WARP", call: "search_offsets(block)" });
        }
        if is_grouped {
            roles.push(RoleWords { warps: "warp >= GROUP_WARP", call: "fold_group(op, block)" });
        }
        let [run, run_of, item_of, advance] = match pipeline.keeps_states {
            true => ["StateRun", "states_of", "state_in", "advance_by"],
            false => ["Run", "run_of", "input_of", "advance"],
        };
        let part_results =
            if is_in_place(plan, pipeline) { "outputs_in(stage)" } else { "(block.output + tile.start)" };
        PipelineWords {
            block_threads: pipeline.block_threads(plan.threads),
            group: pipeline.group,
            state_unit: 1
                << (operator.state.size as u32).trailing_zeros().min(constants::COPY_ALIGNMENT.trailing_zeros()),
            run_parts: pipeline.run_parts,
            look_ahead_warps: if pipeline.look_ahead_warps > 1 {
                "warp == LOOK_AHEAD_WARP || warp > COPY_WARP"
            } else {
                "warp == LOOK_AHEAD_WARP"
            },
            roles,
            scanned: ScannedWords { run, run_of, item_of, advance },
            part_results,
            status_count: if is_grouped { "statuses_with_groups(block.tiles)" } else { "block.tiles" },
            block_arguments: if spec.total { ", total" } else { "" },
            op_parameter: if pipeline.table_bytes > 0 { "Op op" } else { "const Op op" },
            initial_value: start::initial_value(spec, "", Some(OF_PIPELINE)).passed,
            inputs_are_slices: spec.input_kinds.are_slices(),
        }
    }
}

/// Whether each result takes the place of an element in the stage.
pub(crate) fn is_in_place(plan: &Plan, pipeline: &Pipeline) -> bool {
    let as_large = plan.zipped.as_ref().map_or(plan.input_bytes == plan.output_bytes, |zipped| zipped.in_place);
    as_large && !pipeline.keeps_states
}

/// The templates of tiles, and of the roles of a block's warps.
pub(crate) fn parts(operator: &OpSource, plan: &Plan, pipeline: &Pipeline) -> Vec<&'static str> {
    let (spec, from_end, is_grouped) = (&plan.spec, operator.folds_backwards(), pipeline.group > 1);
    let completes_all = spec.segments.has_empty() || !spec.input_kinds.are_slices();
    let mut parts = vec!["pipeline/tiles", "pipeline/transfer"];
    let in_words =
        [&operator.input, &operator.output].map(|element| element.align.is_multiple_of(constants::WORD as usize));
    parts.extend(match (plan.zipped.is_some(), in_words) {
        (true, _) => ["zipped/items", "zipped/transfer"].as_slice(),
        (false, [true, true]) => &["one_array/transfer", "one_array/words", "one_array/rest"],
        (false, _) => &["one_array/transfer", "one_array/bytes", "one_array/rest"],
    });
    parts.push(if completes_all { "pipeline/edges_of_all" } else { "pipeline/edges" });
    parts.push(if is_in_place(plan, pipeline) { "pipeline/results_in_place" } else { "pipeline/results_apart" });
    parts.extend(plan.strategy.block.warp.templates());
    parts.extend(match (pipeline.keeps_states, pipeline.run_parts > 1, from_end) {
        (true, _, _) => ["pipeline/kept_states"].as_slice(),
        (_, true, true) => &["pipeline/run_part", "pipeline/run_parts_from_end"],
        (_, true, false) => &["pipeline/run_part", "pipeline/run_parts"],
        (_, _, true) => &["reduce_run_from_end", "pipeline/whole_run"],
        (_, _, false) => &["reduce_run", "pipeline/whole_run"],
    });
    parts.extend((!pipeline.keeps_states).then_some("pipeline/no_kept_states"));
    parts.push(if from_end { "pipeline/elements_from_end" } else { "pipeline/elements" });
    if start::is_passed(spec) {
        parts.push(if spec.initial_late { "pipeline/late_value" } else { "pipeline/first_value" });
    }
    parts.push("pipeline/prefixes");
    parts.extend(["pipeline/team"]);
    let carries = plan.stepped && spec.initial_values;
    parts.push(if carries { "pipeline/carry_before_run" } else { "pipeline/prefix_before_run" });
    parts.push("pipeline/scan_run");
    parts.extend(spec.is_indexed().then_some("pipeline/scan_indexed_run"));
    parts.extend(["pipeline/scan_tile", "pipeline/window"]);
    parts.extend(match (plan.loads_packets(), pipeline.statuses_per_lane > 1) {
        (true, _) => ["pipeline/window_of_packets"].as_slice(),
        (_, true) => &["pipeline/window_of_statuses", "pipeline/window_of_runs"],
        (_, false) => &["pipeline/window_of_statuses", "pipeline/window_of_own"],
    });
    parts.push(if spec.total { "pipeline/total" } else { "pipeline/no_total" });
    let is_round_robin = pipeline.look_ahead_warps > 1;
    let ahead = is_grouped || plan.loads_ahead() && !is_round_robin;
    parts.push(if ahead { "pipeline/load_ahead" } else { "pipeline/load_on_demand" });
    if is_grouped {
        parts.push("pipeline/look_ahead_of_groups");
    } else {
        parts.extend(["pipeline/fold_window", "pipeline/no_parts"]);
        parts.push(if plan.stands_in() { "pipeline/stand_in" } else { "pipeline/no_stand_in" });
        parts.push(if is_round_robin { "pipeline/look_ahead_round_robin" } else { "pipeline/look_ahead" });
    }
    parts.push("pipeline/copy");
    parts.extend(heads::search(&spec.segments));
    parts.push(if pipeline.table_bytes > 0 { "pipeline/tables" } else { "pipeline/no_tables" });
    parts.push("pipeline/kernel");
    parts
}

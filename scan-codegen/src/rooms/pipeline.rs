//! Look-ahead: the pipeline of a block. Each warp has a role, which is a function; a plan chooses its implementation.

use serde::Serialize;

use super::{heads, start};
use crate::{
    constants,
    element::{ElementType, ShortTable},
    names::variable,
    operator::OpSource,
    plan::{Pipeline, Plan},
};

/// What the templates of a pipeline may speak of.
#[derive(Serialize)]
pub(crate) struct PipelineWords {
    team: u32,
    teams: u32,
    stages: u32,
    /// How many blocks a group has, how many statuses a warp loads at once, and how many warps do so.
    group: u32,
    window: u32,
    folding_warps: u32,
    /// The bytes of a unit of a lifted element that stays in the stage.
    state_unit: u32,
    /// Parts in which a run is reduced.
    run_parts: u32,
    block_threads: u32,
    /// Bytes of a stage of the pipeline, of it for what tells the heads, and slots for the offsets of tiles.
    stage_bytes: &'static str,
    head_bytes: u32,
    slots: u32,
    slot_bytes: u32,
    dynamic_shared_bytes: u32,
    /// The look-ahead warps, and the roles of warps besides those that every block has.
    look_ahead_warps: &'static str,
    roles: Vec<RoleWords>,
    /// How a run of a whole tile is folded, and how it is scanned.
    fold_run: &'static str,
    scanned: ScannedWords,
    /// Where the results of a tile that is not whole go.
    part_results: &'static str,
    /// How many statuses a launch publishes.
    status_count: &'static str,
    /// What a `Block` is made of besides, with the comma before it.
    block_arguments: &'static str,
    /// The operator as a parameter: the kernel changes where its tables are.
    op_parameter: &'static str,
    /// The operator's tables that are kept in shared memory, and the bytes that they take there.
    kept_tables: Vec<TableWords>,
    kept_table_bytes: u32,
}

/// How a run is scanned: its type, where it comes from, an item of it, and how a cursor moves past one.
#[derive(Serialize)]
struct ScannedWords {
    run: &'static str,
    run_of: &'static str,
    item: &'static str,
    item_of: &'static str,
    advance: &'static str,
}

/// A role, and the warps that take it.
#[derive(Serialize)]
struct RoleWords {
    warps: &'static str,
    call: &'static str,
}

/// A table of the operator that is kept in shared memory.
#[derive(Serialize)]
struct TableWords {
    /// The fields that lead to it.
    path: String,
    /// Where its items begin in the memory for tables.
    offset: u32,
    /// The bytes that it takes there.
    room: u32,
    /// In what units it is copied, and how many an item has.
    unit: &'static str,
    units: usize,
}

impl TableWords {
    /// All tables of an operator.
    fn of(operator: &OpSource) -> Vec<Self> {
        let mut end = 0;
        let tables = operator.parameters.iter().flat_map(ElementType::short_tables);
        let words = |(path, item, short): (Vec<&str>, &ElementType, ShortTable)| {
            let offset = end;
            end += short.room;
            let word = constants::WORD as usize;
            let (unit, bytes) = if item.size.is_multiple_of(word) { ("unsigned", word) } else { ("unsigned char", 1) };
            let path = path.into_iter().map(variable).collect::<Vec<_>>().join(".");
            TableWords { path, offset, room: short.room, unit, units: item.size / bytes }
        };
        tables.map(words).collect()
    }
}

impl PipelineWords {
    pub(crate) fn new(operator: &OpSource, plan: &Plan) -> Self {
        let pipeline = plan.pipeline.unwrap_or_default();
        let keeps_tables = pipeline.table_bytes > 0;
        let kept_tables = if keeps_tables { TableWords::of(operator) } else { Vec::new() };
        let is_grouped = pipeline.group > 1;
        let mut roles = Vec::new();
        if plan.spec.segments.has_empty() {
            roles.push(RoleWords { warps: "warp == OFFSET_SEARCH_WARP", call: "search_offsets(block)" });
        }
        if is_grouped {
            roles.push(RoleWords { warps: "warp >= GROUP_WARP", call: "fold_group(op, block)" });
        }
        let [run, run_of, item, item_of, advance] = match pipeline.keeps_states {
            true => ["StateRun", "states_of", "State", "state_in", "advance_by"],
            false => ["Run", "run_of", "Input", "input_of", "advance"],
        };
        PipelineWords {
            team: plan.threads,
            teams: pipeline.teams,
            stages: pipeline.stages,
            group: pipeline.group,
            window: if is_grouped { pipeline.window } else { constants::WARP * pipeline.statuses_per_lane },
            folding_warps: if is_grouped { 2 } else { pipeline.look_ahead_warps.max(1) },
            state_unit: 1
                << (operator.state.size as u32).trailing_zeros().min(constants::COPY_ALIGNMENT.trailing_zeros()),
            run_parts: pipeline.run_parts,
            block_threads: pipeline.block_threads(plan.threads),
            stage_bytes: match (pipeline.keeps_states, plan.input_bytes.max(plan.output_bytes)) {
                (true, larger) if plan.state_bytes > larger => "TILE * sizeof(State)",
                (_, larger) if plan.input_bytes == larger => "INPUT_BYTES",
                _ => "RESULT_BYTES",
            },
            head_bytes: pipeline.head_bytes,
            slots: pipeline.slots,
            slot_bytes: pipeline.slot_bytes,
            dynamic_shared_bytes: pipeline.dynamic_shared_bytes,
            look_ahead_warps: if pipeline.look_ahead_warps > 1 {
                "warp == LOOK_AHEAD_WARP || warp > COPY_WARP"
            } else {
                "warp == LOOK_AHEAD_WARP"
            },
            roles,
            fold_run: match pipeline.keeps_states || pipeline.run_parts > 1 {
                true => "aggregate = fold_run(op, stage, at, folded.heads, start, segment, place);",
                false => {
                    "Run run = run_of(stage, place);\n    aggregate = reduce_run(op, run, folded.heads, start, segment, RUN);"
                }
            },
            scanned: ScannedWords { run, run_of, item, item_of, advance },
            part_results: if is_in_place(plan, &pipeline) { "outputs_in(stage)" } else { "block.output + tile.start" },
            status_count: if is_grouped { "statuses_with_groups(block.tiles)" } else { "block.tiles" },
            block_arguments: if plan.spec.total { ", total" } else { "" },
            op_parameter: if keeps_tables { "Op op" } else { "const Op op" },
            kept_table_bytes: kept_tables.iter().map(|table| table.room).sum(),
            kept_tables,
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
        (_, _, true) => &["reduce_run_from_end"],
        (_, _, false) => &["reduce_run"],
    });
    parts.extend((!pipeline.keeps_states).then_some("pipeline/no_kept_states"));
    parts.push(if from_end { "pipeline/elements_from_end" } else { "pipeline/elements" });
    if start::is_passed(spec) {
        parts.push(if spec.initial_late { "pipeline/late_value" } else { "pipeline/first_value" });
    }
    parts.push("pipeline/prefixes");
    parts.extend(["pipeline/team"]);
    let carries = plan.machine && spec.initial_values;
    parts.push(if carries { "pipeline/carry_before_run" } else { "pipeline/prefix_before_run" });
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

//! A tile whose runs are in registers: its size, a thread's run, and its results.

use serde::Serialize;

use super::{Room, Words, algebra::opaque, arrays::sizes};
use crate::{
    arrays::Arrays,
    carry::Blocks,
    constants::WORD,
    element::ElementType,
    operator::OpSource,
    plan::{Pipeline, Plan},
};

/// What the templates of runs speak of.
#[derive(Serialize)]
pub(crate) struct RunsWords {
    threads: u32,
    run: u32,
    /// Bytes of an element, and of a result, in shared memory.
    input_size: String,
    output_size: String,
    /// Whether elements, and results, can only begin at words.
    input_in_words: bool,
    output_in_words: bool,
    /// Bytes of the units in which a run is read and written, and how many it has.
    input_unit: u32,
    input_units: u32,
    output_unit: u32,
    output_units: u32,
    /// Whether launches may have smaller blocks than the largest that the text is for.
    smaller_blocks: bool,
    /// Whether runs are scanned whole of which the tile has a part only.
    whole_runs: bool,
    /// Whether nothing is known of the last run but its first element, and its results are stored one by one.
    last_run_apart: bool,
    /// Whether full tiles are scanned by a loop of their own.
    full_tiles_apart: bool,
    /// Whether each thread's run is one unit of the tile, so that it can read and write that itself.
    runs_are_units: bool,
}

impl Words for RunsWords {
    const ROOM: Room = Room::Runs;
}

impl RunsWords {
    pub(crate) fn new(operator: &OpSource, plan: &Plan) -> Self {
        let [input_size, output_size] = sizes(plan);
        let units = |bytes: u64, unit: u32| (bytes as u32 * plan.run).checked_div(unit).unwrap_or(0);
        RunsWords {
            threads: plan.block_sizes.largest,
            run: plan.run,
            input_size,
            output_size,
            input_in_words: in_words(plan.spec.input, &operator.input),
            output_in_words: in_words(plan.spec.output, &operator.output),
            input_unit: plan.input_unit,
            input_units: units(plan.input_bytes, plan.input_unit),
            output_unit: plan.output_unit,
            output_units: units(plan.output_bytes, plan.output_unit),
            smaller_blocks: plan.block_sizes.smallest < plan.block_sizes.largest,
            whole_runs: plan.whole_runs,
            last_run_apart: plan.last_run_apart,
            full_tiles_apart: full_tiles_apart(plan),
            runs_are_units: plan.runs_are_units(),
        }
    }
}

/// Whether full tiles are scanned by a loop of their own.
pub(super) fn full_tiles_apart(plan: &Plan) -> bool {
    plan.strategy.carry.describe().blocks != Blocks::One && !plan.whole_runs
}

/// Whether the items of each array of elements of this type can only begin at words.
pub(super) fn in_words(arrays: Arrays, element: &ElementType) -> bool {
    arrays.items(element).iter().all(|item| item.align.is_multiple_of(WORD as usize))
}

/// The templates of a thread's run, and of its results.
pub(crate) fn parts(operator: &OpSource, plan: &Plan, pipeline: Pipeline) -> Vec<&'static str> {
    if plan.zipped.is_some() {
        let mut parts = vec!["zipped/units", "zipped/run", opaque(operator)];
        parts.extend(match (plan.ring(), plan.spec.output_kinds.are_computed()) {
            (Some(_), _) => ["zipped/consecutive"].as_slice(),
            (None, true) => &["zipped/results", "zipped/scattered"],
            (None, false) => &["zipped/results"],
        });
        return parts;
    }
    let looks_ahead = plan.pipeline.is_some();
    // Elements that are units themselves.
    let is_unit = |unit: u32, element: &ElementType| unit as usize == element.size && element.size == element.align;
    let plain = looks_ahead && pipeline.run_parts <= 1;
    let run = match (pipeline.streams, plan.input_unit) {
        (true, _) => "run/streamed",
        (_, 0) => "run/of_elements",
        (_, unit) if plain && is_unit(unit, &operator.input) => "run/of_elements",
        _ => "run/of_units",
    };
    let mut parts = vec![run, opaque(operator)];
    let one_by_one = plan.output_unit == 0 && !looks_ahead;
    parts.extend((one_by_one || plan.last_run_apart).then_some("results/of_part"));
    parts.push(match (pipeline.streams, plan.output_unit, looks_ahead) {
        (true, _, _) => "results/streamed",
        (_, 0, true) => "pipeline/element_results",
        (_, 0, false) => "results/of_elements",
        (_, unit, true) if is_unit(unit, &operator.output) => "pipeline/element_results",
        (_, _, false) => "results/in_units",
        (_, _, true) if in_words(plan.spec.output, &operator.output) => "results/in_words",
        (_, _, true) => "results/as_completed",
    });
    parts.extend(looks_ahead.then_some("one_array/stage"));
    parts
}

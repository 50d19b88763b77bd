//! Runs, the units in which they are moved, and the alignment of copies.

use super::{Checked, Report, Rule};
use crate::{
    array_kind::ArrayKind,
    carry::Blocks,
    constants::{COPY_ALIGNMENT, WARP, WORD},
    operator::OpSource,
    plan::{Pipeline, Plan},
    zipped::{Zipped, ZippedArray},
};

pub(super) fn check(checked: Checked<'_>, report: &mut Report) {
    let Checked { operator, plan, .. } = checked;
    runs(operator, plan, report);
    for (what, bytes, unit) in moved(plan) {
        let fits = unit == 0
            || unit.is_power_of_two()
                && (WORD..=COPY_ALIGNMENT).contains(&unit)
                && (u64::from(plan.run) * bytes).is_multiple_of(unit.into());
        report.require(fits, Rule::Units, || {
            format!("{what}: units of {unit} bytes do not divide a run of {} times {bytes} bytes", plan.run)
        });
    }
    if plan.pipeline.is_some() || plan.strategy.block.in_registers {
        copies(plan, report);
    }
    if let Some(pipeline) = &plan.pipeline {
        of_stages(operator, plan, pipeline, report);
    }
    if let Some(zipped) = &plan.zipped {
        arrays_of_stage(zipped, plan.stage_bytes() / u64::from(plan.tile.max(1)), plan.pipeline.is_some(), report);
    }
}

/// Each array that is moved: what it is, bytes of an item, and of a unit.
fn moved(plan: &Plan) -> Vec<(&'static str, u64, u32)> {
    match &plan.zipped {
        None => vec![("elements", plan.input_bytes, plan.input_unit), ("results", plan.output_bytes, plan.output_unit)],
        Some(zipped) => {
            let of = |what| move |array: &ZippedArray| (what, u64::from(array.bytes), array.unit);
            let inputs = zipped.inputs.iter().map(of("an array of elements"));
            inputs.chain(zipped.outputs.iter().map(of("an array of results"))).collect()
        }
    }
}

/// The lengths of runs and tiles.
fn runs(operator: &OpSource, plan: &Plan, report: &mut Report) {
    let Plan { threads, run, tile, .. } = *plan;
    let values = match plan.strategy.block.coarsened {
        true => run,
        false => plan.strategy.block.network.values_per_thread(),
    };
    report.require(run > 0 && threads.checked_mul(values) == Some(tile), Rule::Runs, || {
        format!("a tile of {tile} elements is not {values} for each of {threads} threads")
    });
    report.require(plan.strategy.block.coarsened || run == 1, Rule::Runs, || {
        format!("runs of {run} elements, where the block scan is not coarsened")
    });
    let [segmented, total] = [!plan.spec.segments.is_none(), plan.spec.total];
    report.require(!plan.whole_runs || !segmented && !total && operator.takes_zeros(), Rule::Runs, || {
        "runs are scanned whole, where the rest of one would change a total, or the operator may not take zeros"
            .to_owned()
    });
    let alone = plan.strategy.carry.describe().blocks == Blocks::One;
    let apart = !alone && !plan.whole_runs && !segmented && !total && plan.zipped.is_none();
    report.require(!plan.last_run_apart || apart, Rule::Runs, || {
        "the last run is reduced to its first element, where something follows it".to_owned()
    });
}

/// Tiles are copied in units of the alignment, so each array of one is a whole number of them.
fn copies(plan: &Plan, report: &mut Report) {
    for (what, bytes, _) in moved(plan) {
        let tile_bytes = u64::from(plan.tile) * bytes;
        report.require(tile_bytes.is_multiple_of(COPY_ALIGNMENT.into()), Rule::Alignment, || {
            format!("{what}: a tile of {tile_bytes} bytes is no multiple of {COPY_ALIGNMENT}")
        });
    }
    report.require(plan.tile.is_multiple_of(WARP), Rule::Alignment, || {
        format!("a tile of {} elements does not begin with bit 0 of a word of heads", plan.tile)
    });
}

/// Stages of look-ahead.
fn of_stages(operator: &OpSource, plan: &Plan, pipeline: &Pipeline, report: &mut Report) {
    for (what, bytes) in [("heads", pipeline.head_bytes), ("a slot", pipeline.slot_bytes)] {
        report.require(bytes.is_multiple_of(COPY_ALIGNMENT), Rule::Alignment, || {
            format!("{bytes} bytes for {what} are no multiple of {COPY_ALIGNMENT}, so the next one is not aligned")
        });
    }
    let (parts, run) = (pipeline.run_parts, plan.run);
    let part_bytes = u64::from(run / parts.max(1)) * plan.input_bytes;
    let whole = parts > 0 && run.is_multiple_of(parts);
    report.require(whole && (parts == 1 || divides(plan.input_unit, part_bytes)), Rule::Units, || {
        format!("a run of {run} elements has no {parts} parts of whole units of {} bytes", plan.input_unit)
    });
    report.require(parts == 1 || operator.takes_inputs(), Rule::Runs, || {
        "runs are reduced in parts, but not input by input".to_owned()
    });
    let streams = plan.input_bytes == plan.output_bytes && divides(plan.input_unit, plan.input_bytes);
    report.require(!pipeline.streams || streams && !pipeline.keeps_states, Rule::Units, || {
        format!("elements of {} bytes are read one by one, in units of {}", plan.input_bytes, plan.input_unit)
    });
    let kept = plan.state_bytes.is_multiple_of(WORD.into()) && !operator.takes_inputs() && plan.zipped.is_none();
    report.require(!pipeline.keeps_states || kept && plan.spec.segments.is_none(), Rule::Units, || {
        format!("stages keep states of {} bytes in words, and nothing else", plan.state_bytes)
    });
}

fn divides(unit: u32, bytes: u64) -> bool {
    unit > 0 && bytes.is_multiple_of(unit.into())
}

/// Where arrays lie in a stage of `element` bytes for each element: those of the input apart from each other, and those
/// of the output. In place, each result takes the place of an element of its size.
fn arrays_of_stage(zipped: &Zipped, element: u64, staged: bool, report: &mut Report) {
    for (what, arrays) in [("elements", &zipped.inputs), ("results", &zipped.outputs)] {
        // Places are not staged where a ring has the results.
        let in_stage = |array: &&ZippedArray| zipped.ring.is_none() || array.kind != ArrayKind::NoMemory;
        let mut places: Vec<_> =
            arrays.iter().filter(in_stage).map(|array| (array.before, array.before + array.bytes)).collect();
        places.sort_unstable();
        let apart = places.is_sorted_by(|(_, end), (begin, _)| end <= begin);
        let inside = places.iter().all(|(_, end)| u64::from(*end) <= element);
        report.require(apart && (inside || !staged), Rule::Overwriting, || {
            format!("arrays of {what} at {places:?} of the {element} bytes of an element overlap, or leave the stage")
        });
    }
    let taken = |output: &ZippedArray| {
        zipped.inputs.iter().any(|input| (input.before, input.bytes) == (output.before, output.bytes))
    };
    report.require(!zipped.in_place || zipped.outputs.iter().all(taken), Rule::Overwriting, || {
        "results in place of elements of another size overwrite elements that have not been read".to_owned()
    });
}

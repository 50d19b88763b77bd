//! The text of the kernel that scans along an axis.

use std::iter;

use serde::Serialize;
use tera::Context;

use super::{
    axis::ColumnLayout,
    plan::{ColumnsPlan, STAGES},
};
use crate::{
    constants::{WARP, WORD},
    error::RenderError,
    operator::OpSource,
    operator_text::{OperatorText, operator_text_at},
    render::{KernelSource, finish},
    spec::ScanKind,
    target::Target,
    templates::Templates,
    used::used,
    weight::{Places, calls_combine},
};

#[derive(Serialize)]
struct Words<'a> {
    #[serde(flatten)]
    operator: &'a OperatorText,
    emits: bool,
    exclusive: bool,
    initial_value: bool,
    seeds: bool,
    initial_on_device: bool,
    programmatic: bool,
    delays: bool,
    packet_payload: u32,
    rolled_steps: bool,
    threads: u32,
    resident: u32,
    stages: u32,
    run: u32,
    width: u32,
    whole_columns: bool,
    dimensions: usize,
    input_unit: u32,
    input_word: &'static str,
    input_words: u32,
    output_unit: u32,
    output_word: &'static str,
    output_words: u32,
    /// Whether pieces of elements are loaded asynchronously.
    loads_async: bool,
    /// What the machine is asked for: runs that stay in registers, and none of the rest.
    in_registers: bool,
    looks_at_all: bool,
    looks_ahead: bool,
    clusters: bool,
    stands_in: bool,
    segmented: bool,
    heads_by: &'static str,
    description: String,
    strategy: &'static str,
}

/// The words in which this number of bytes is read and written at addresses that are multiples of `alignment`: their type,
/// and how many there are.
fn words(bytes: u32, alignment: u32) -> (&'static str, u32) {
    match alignment {
        1 => ("unsigned char", bytes),
        2 => ("unsigned short", bytes / 2),
        _ => ("unsigned", bytes / 4),
    }
}

/// The places of the kernel at which `combine` stands, its loops unrolled: twice for each element of a run, in the
/// scans down the warps, and where their results meet.
fn places(operator: &OpSource, plan: &ColumnsPlan) -> Places {
    let joins = 2 * u64::from(plan.threads / WARP) + 16;
    let elements = 2 * u64::from(plan.run) + joins;
    let width = u64::from(plan.width);
    Places { joins: width * if operator.has("append") { joins } else { elements }, elements: width * elements }
}

/// Writes the kernel that scans along an axis. A pure function, like [`render`](crate::render()).
pub fn render_columns(operator: &OpSource, plan: &ColumnsPlan) -> Result<KernelSource, RenderError> {
    render_columns_for(operator, plan, Target::Cuda)
}

/// As [`render_columns`], for another target than the GPU's compiler.
pub fn render_columns_for(
    operator: &OpSource,
    plan: &ColumnsPlan,
    target: Target,
) -> Result<KernelSource, RenderError> {
    render_columns_from(Templates::of_kernels(), operator, plan, target)
}

/// As [`render_columns_for`], from other templates than those of this crate.
pub fn render_columns_from(
    templates: &Templates,
    operator: &OpSource,
    plan: &ColumnsPlan,
    target: Target,
) -> Result<KernelSource, RenderError> {
    let flipped = plan.spec.reversed.then(|| operator.read_backwards());
    let operator = flipped.as_ref().unwrap_or(operator);
    let text = operator_text_at(operator, target, places(operator, plan), plan.written_out)?;
    let (input_unit, output_unit) = plan.alignments;
    let (input_word, input_words) = words(input_unit, input_unit);
    let (output_word, output_words) = words(plan.width * plan.output_bytes, output_unit);
    let mut context = Context::from_serialize(&Words {
        operator: &text,
        emits: plan.spec.emits(operator),
        exclusive: plan.spec.kind == ScanKind::Exclusive,
        initial_value: plan.spec.initial_value,
        seeds: plan.spec.initial_value && operator.carry.is_none(),
        initial_on_device: plan.spec.initial_on_device,
        programmatic: plan.programmatic,
        delays: plan.delays,
        packet_payload: plan.packet_payload(),
        rolled_steps: calls_combine(operator, places(operator, plan), plan.written_out),
        threads: plan.threads,
        resident: plan.resident,
        stages: STAGES,
        run: plan.run,
        width: plan.width,
        whole_columns: plan.has_whole_columns(),
        dimensions: ColumnLayout::DIMENSIONS,
        input_unit,
        input_word,
        input_words,
        output_unit,
        output_word,
        output_words,
        loads_async: input_unit >= WORD,
        in_registers: true,
        looks_at_all: false,
        looks_ahead: false,
        clusters: false,
        stands_in: false,
        segmented: false,
        heads_by: "",
        description: format!("{} along an axis", plan.spec),
        strategy: "columns",
    })?;
    // The kernel works on inputs, whatever the operator offers.
    context.insert("takes_inputs", &true);
    let order = if plan.spec.reversed { "order/reversed" } else { "order/forward" };
    let launches = plan.programmatic.then_some("launches");
    let mut kernels = String::new();
    for part in iter::once("types").chain([order]).chain(launches).chain(["machine", "status", "columns"]) {
        kernels = kernels + "\n" + &templates.render(part, &context)?;
    }
    let heading = templates.render("heading", &context)?;
    Ok(finish(&format!("{heading}{}\n{}", text.text, used(&kernels)), text.prefix))
}

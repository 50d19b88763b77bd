//! The renderer: an operator and a plan in, one CUDA source out.

use std::fmt;

use crate::{
    array_kind::ArrayKind,
    carry::{Blocks, Polled},
    error::RenderError,
    operator::OpSource,
    operator_text::{OperatorText, Wording, operator_text_as},
    plan::Plan,
    rooms::{
        Rooms,
        algebra::{self, AlgebraWords},
        block::BlockWords,
        carry::{CarryWords, StatusWords},
        heads::{self, Engine, HeadsWords},
        intrinsics::IntrinsicsWords,
        kernel::KernelWords,
        layout::LayoutWords,
        pipeline::{self, PipelineWords},
        runs::{self, RunsWords},
        stage::ScanArrays,
        start,
        tables::TablesWords,
        tile::TileWords,
        types::{HeadingWords, TypesWords},
    },
    spec::ScanKind,
    strategy::{BlockScan, Network},
    target::Target,
    templates::Templates,
    used::used,
};

/// A CUDA source, ready for the compiler. `Display` writes the text, whose first line then also says what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelSource {
    /// The name that compiler messages give to the text: `largest.cu`.
    pub name: String,
    /// The CUDA C++ text. It includes no header.
    pub text: String,
    /// The options it must be compiled with, besides the architecture.
    pub options: Vec<&'static str>,
    prefix: String,
    /// The lines of the text that are the operator's own.
    operator: String,
    /// Where it runs and who made it. The text leaves that out, because ranges of lengths and architectures share
    /// texts.
    scope: String,
}

impl KernelSource {
    /// The name in the compiled module of the kernel with this role ([`Launch::kernel`](crate::Launch::kernel)).
    pub fn kernel_name(&self, role: &str) -> String {
        format!("{}_{role}", self.prefix)
    }

    /// The same without `#line`s, for snapshots: a line more above the operator does not change what is left. Messages
    /// of the compiler then count the lines of this text, and no longer those of the operator's file.
    #[must_use = "it gives another source"]
    pub fn without_lines(mut self) -> Self {
        for text in [&mut self.text, &mut self.operator] {
            *text = text.split_inclusive('\n').filter(|line| !line.starts_with("#line ")).collect();
        }
        self
    }

    /// The operator's own part of the text: its elements, the functions that it calls, and its struct with `combine`
    /// and the others. It lies between the arithmetic of Rust's numbers and the kernels. Without its `#line`s it is for
    /// snapshots that change with the operator, and not with the kernels around it. The plan decides whether functions
    /// are inlined, and whether constants are copied to shared memory.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// With words about what the text is for: `Display` puts them at the end of the first line.
    #[doc(hidden)]
    pub fn with_scope(mut self, scope: String) -> Self {
        self.scope = scope;
        self
    }
}

impl fmt::Display for KernelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.split_once(".\n").filter(|_| !self.scope.is_empty()) {
            // In the first line, so that all lines keep their numbers.
            Some((first, rest)) => write!(f, "{first}, {}.\n{rest}", self.scope),
            None => f.write_str(&self.text),
        }
    }
}

/// The options that give the text its meaning: C++20 for designated initialisers, no contraction of `a * b + c` into
/// one rounding, 128-bit integers.
pub const COMPILE_OPTIONS: [&str; 3] = ["--std=c++20", "--fmad=false", "--device-int128"];

/// Writes the kernels of `plan` for `operator`. A pure function: the same arguments give the same bytes on every
/// machine.
pub fn render(operator: &OpSource, plan: &Plan) -> Result<KernelSource, RenderError> {
    render_for(operator, plan, Target::Cuda)
}

/// As [`render`], for another target than the GPU's compiler.
pub fn render_for(operator: &OpSource, plan: &Plan, target: Target) -> Result<KernelSource, RenderError> {
    render_from(Templates::of_kernels(), operator, plan, target)
}

/// As [`render_for`], from other templates than those of this crate.
pub fn render_from(
    templates: &Templates,
    operator: &OpSource,
    plan: &Plan,
    target: Target,
) -> Result<KernelSource, RenderError> {
    let flipped = plan.spec.reversed.then(|| operator.read_backwards());
    let operator = flipped.as_ref().unwrap_or(operator);
    let keeps_constants = plan.pipeline.is_some_and(|pipeline| pipeline.table_bytes > 0);
    let wording = Wording { keeps_constants, ..Wording::of(plan.places(operator), plan.inlined) };
    let text = operator_text_as(operator, target, wording)?;
    let rooms = rooms_of(operator, &text, plan)?;
    source(templates, text, &rooms, parts(operator, plan))
}

/// The words of these kernels.
pub(crate) fn rooms_of(operator: &OpSource, text: &OperatorText, plan: &Plan) -> Result<Rooms, RenderError> {
    let block = plan.strategy.block;
    let facts = plan.strategy.carry.describe();
    let looks_at_all = facts.blocks == Blocks::PerTile && facts.polled() == Some(Polled::All);
    let types = TypesWords::new(text);
    let types = if plan.zipped.is_some() { types.in_arrays(&plan.spec) } else { types };
    let shared = plan.pipeline.is_some().then_some(start::OF_PIPELINE);
    // Look-at-all lets the next launch begin later.
    let kernel =
        KernelWords::new(&plan.spec, text, shared).programmatic(plan.programmatic, !looks_at_all).with_tile(block);
    let arrays = ScanArrays::new(operator, text, plan);
    let rooms = Rooms::default()
        .with(&HeadingWords::new(&plan.spec, plan.strategy))?
        .with(&types)?
        .with(&kernel)?
        .with(&IntrinsicsWords::new(plan.delays, plan.packet_payload()))?
        .with(&arrays.types())?
        .with(&arrays.stage())?
        .with(&RunsWords::new(operator, plan))?
        .with(&TileWords::new(plan))?
        .with(&AlgebraWords::new(operator, plan.spec.kind == ScanKind::Exclusive, plan.emits))?
        .with(&HeadsWords::new(&plan.spec, block.in_registers))?
        .with(&BlockWords::new(operator, plan))?
        .with(&StatusWords { published: "State", count: 4 })?
        .with(&CarryWords::new(operator, plan))?;
    match &plan.pipeline {
        None => Ok(rooms),
        Some(pipeline) => rooms
            .with(&LayoutWords::new(plan, pipeline, arrays.copy_grain()))?
            .with(&TablesWords::new(operator, text, pipeline.block_threads(plan.threads)))?
            .with(&PipelineWords::new(operator, plan, pipeline)),
    }
}

/// The source of an operator and of the templates `parts`, one after the other.
pub(crate) fn source(
    templates: &Templates,
    operator: OperatorText,
    rooms: &Rooms,
    parts: impl IntoIterator<Item = &'static str>,
) -> Result<KernelSource, RenderError> {
    let heading = templates.part("heading", rooms)?;
    let mut kernels = String::new();
    for part in parts {
        kernels.push('\n');
        kernels.push_str(templates.part(part, rooms)?.trim_ascii_end());
        kernels.push('\n');
    }
    let OperatorText { text, prelude_lines, prefix, .. } = operator;
    let name = format!("{prefix}.cu");
    let before = format!("{heading}\n\n");
    let own = before.lines().count() + prelude_lines..before.lines().count() + text.lines().count();
    // Each line becomes one line.
    let text = resolve_line_markers(&format!("{before}{text}\n{}", used(&kernels)), &name);
    let own = text.split_inclusive('\n').take(own.end).skip(own.start);
    let operator = own.skip_while(|line| line.trim().is_empty()).collect();
    Ok(KernelSource { text, name, options: COMPILE_OPTIONS.to_vec(), prefix, operator, scope: String::new() })
}

/// The templates that make up the kernels of a plan, in order.
fn parts(operator: &OpSource, plan: &Plan) -> Vec<&'static str> {
    let BlockScan { network, coarsened, in_registers, warp } = plan.strategy.block;
    let facts = plan.strategy.carry.describe();
    let pipeline = plan.pipeline.filter(|_| facts.blocks == Blocks::Persistent);
    let engine = match (pipeline, in_registers) {
        (Some(_), _) => Engine::Pipeline,
        (None, true) => Engine::Registers,
        (None, false) => Engine::Memory,
    };
    let pipeline = pipeline.unwrap_or_default();
    let is_zipped = plan.zipped.is_some();
    let in_slices = plan.spec.input_kinds.are_slices() && plan.spec.output_kinds.are_slices();
    let mut parts = Vec::new();
    parts.extend((engine == Engine::Pipeline).then_some("pipeline/overview"));
    parts.extend(["types", if plan.spec.reversed { "order/reversed" } else { "order/forward" }]);
    parts.extend((!in_slices).then_some("zipped/kinds"));
    parts.extend(plan.spec.input_kinds.any(ArrayKind::is_neighbour).then_some("zipped/neighbours"));
    parts.extend(plan.spec.input_kinds.any(|kind| kind == ArrayKind::Bits).then_some("zipped/bits"));
    parts.extend(plan.spec.output_kinds.are_computed().then_some("zipped/computed"));
    parts.push(if is_zipped { "zipped/arrays" } else { "one_array/overlap" });
    parts.push(if plan.programmatic { "launches" } else { "no_launches" });
    parts.push("intrinsics");
    match (engine, facts.blocks) {
        (Engine::Pipeline, _) => parts.extend(["dynamic_shared_memory", "barrier", "bulk_copy"]),
        (_, Blocks::Cluster) => parts.extend(["barrier", "distributed_memory"]),
        _ => {}
    }
    match engine {
        Engine::Memory => parts.extend(["tile", "extent"]),
        Engine::Registers => parts.extend(["run_tile", "extent"]),
        Engine::Pipeline => parts.extend(["status", "pipeline/layout"]),
    }
    if engine != Engine::Memory {
        parts.extend(runs::parts(operator, plan, pipeline));
    }
    parts.extend([heads::masks(&plan.spec.segments), "prefix"]);
    parts.extend(start::start(operator, &plan.spec));
    parts.extend(heads::parts(&plan.spec, engine));
    parts.extend(algebra::folds(operator));
    parts.push(algebra::cursor(operator));
    let from_end = operator.folds_backwards();
    let reduce_run = if from_end { "reduce_run_from_end" } else { "reduce_run" };
    match engine {
        Engine::Memory => {
            parts.push("shared_tile");
            parts.extend((network == Network::WarpShuffle).then_some(warp.templates()).into_iter().flatten());
            parts.push(network.name());
            parts.extend(coarsened.then_some("coarsened"));
            parts.push("scan_tile");
        }
        Engine::Registers => {
            parts.extend(["register_tile", "run_transfer"]);
            parts.extend(if is_zipped { &["zipped/items", "zipped/tile"][..] } else { &["one_array/tile"] });
            parts.extend(["load_tile", "run_scan"]);
            parts.extend(warp.templates().iter().chain(&[reduce_run, "in_registers"]));
        }
        Engine::Pipeline => {
            parts.extend(pipeline::parts(operator, plan, &pipeline));
            return parts;
        }
    }
    parts.extend(plan.has_kernel_of_one_block().then_some("one_block"));
    match facts.blocks {
        Blocks::One => {}
        _ if facts.polled().is_some() => parts.extend(["status", facts.name, "tile_per_block"]),
        _ => parts.push(facts.name),
    }
    parts
}

/// Ends each stretch of the user's lines: from the line after a `#line here` on, messages count the lines of this text.
fn resolve_line_markers(text: &str, name: &str) -> String {
    let mut resolved = String::with_capacity(text.len());
    for (index, line) in text.lines().enumerate() {
        if line.trim() == "#line here" {
            resolved.push_str(&format!("#line {} \"{name}\"", index + 2));
        } else {
            resolved.push_str(line.trim_end());
        }
        resolved.push('\n');
    }
    resolved
}

//! The renderer: an operator and a plan in, one CUDA source out.

use std::fmt;

use serde::Serialize;
use tera::Context;

use crate::{
    array_kind::ArrayKind,
    arrays::Arrays,
    carry::{Blocks, Polled, TileNumbers},
    computed::ComputedPlaces,
    constants,
    element::ElementType,
    error::RenderError,
    operator::OpSource,
    operator_text::{OperatorText, Wording, operator_text_as},
    plan::{Pipeline, Plan},
    rooms::{
        algebra::{self, AlgebraWords},
        arrays::{ArraysWords, Named, PlaceWords},
        heads::{self, Engine, HeadsWords},
        pipeline::{self, PipelineWords, is_in_place},
        start::{self, StartWords},
    },
    spec::ScanKind,
    strategy::{BlockScan, Network, Strategy, Workers},
    target::Target,
    templates::Templates,
    used::used,
    weight::{calls_combine, hides_states},
    zipped::ZippedArray,
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
        self.text = self.text.split_inclusive('\n').filter(|line| !line.starts_with("#line ")).collect();
        self
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

/// Bulk copies begin at multiples of so many bytes.
const COPY_ALIGNMENT: u64 = constants::COPY_ALIGNMENT as u64;

/// The largest power of two that divides elements of so many bytes, and is no larger than what bulk copies are aligned
/// to.
fn copy_grain(bytes: u64) -> u64 {
    1 << bytes.trailing_zeros().min(COPY_ALIGNMENT.trailing_zeros())
}

/// The inverse of `bytes / grain` modulo the elements between two addresses at which a bulk copy can begin: how many
/// elements before the input the last of them lies is a multiple of it. An odd number has an inverse modulo a power of
/// two.
fn copy_inverse(bytes: u64) -> u64 {
    let grain = copy_grain(bytes);
    let period = COPY_ALIGNMENT / grain;
    (1..period).find(|inverse| bytes / grain * inverse % period == 1).unwrap_or(1)
}

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
    let wording = Wording { keeps_constants, ..Wording::of(plan.places(operator), plan.written_out) };
    let words = operator_text_as(operator, target, wording)?;
    let context = Context::from_serialize(&words_of(operator, &words, plan))?;
    let kernels = text_of(templates, parts(operator, plan), &context)?;
    let heading = templates.render("heading", &context)?;
    Ok(finish(&format!("{heading}{}\n{}", words.text, used(&kernels)), words.prefix))
}

/// What the templates of these kernels may speak of.
pub(crate) fn words_of<'a>(operator: &OpSource, text: &'a OperatorText, plan: &'a Plan) -> impl Serialize + use<'a> {
    Words::new(operator, text, plan)
}

/// Makes a source of its whole text. `prefix` begins the names of its kernels.
pub(crate) fn finish(text: &str, prefix: String) -> KernelSource {
    let name = format!("{prefix}.cu");
    let text = resolve_line_markers(text, &name);
    KernelSource { text, name, options: COMPILE_OPTIONS.to_vec(), prefix, scope: String::new() }
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
    parts.extend(plan.spec.output_kinds.are_computed().then_some("zipped/computed"));
    parts.push(if is_zipped { "zipped/arrays" } else { "one_array/overlap" });
    parts.push(if plan.programmatic { "launches" } else { "no_launches" });
    parts.push("machine");
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
        parts.extend(runs(operator, plan, pipeline));
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

/// The template of what the optimizer may look through.
pub(crate) fn opaque(operator: &OpSource) -> &'static str {
    if hides_states(operator) { "opaque" } else { "transparent" }
}

/// The templates of a thread's run, and of its results.
fn runs(operator: &OpSource, plan: &Plan, pipeline: Pipeline) -> Vec<&'static str> {
    if plan.zipped.is_some() {
        return vec!["zipped/units", "zipped/run", opaque(operator)];
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
    parts.push(match (pipeline.streams, plan.output_unit, looks_ahead) {
        (true, _, _) => "results/streamed",
        (_, 0, true) => "pipeline/element_results",
        (_, 0, false) => "results/of_elements",
        (_, unit, true) if is_unit(unit, &operator.output) => "pipeline/element_results",
        (_, _, false) => "results/in_units",
        (_, _, true) if in_words(plan.spec.output, &operator.output) => "results/in_words",
        (_, _, true) => "results/as_completed",
    });
    parts.extend(plan.last_run_apart.then_some("results/of_part"));
    parts.extend(looks_ahead.then_some("one_array/stage"));
    parts
}

/// The text of templates, one after the other.
pub(crate) fn text_of(
    templates: &Templates,
    parts: impl IntoIterator<Item = &'static str>,
    context: &Context,
) -> Result<String, RenderError> {
    let mut text = String::new();
    for part in parts {
        text.push('\n');
        text.push_str(templates.render(part, context)?.trim_ascii_end());
        text.push('\n');
    }
    Ok(text)
}

/// What the kernel templates may speak of.
#[derive(Serialize)]
struct Words<'a> {
    #[serde(flatten)]
    operator: &'a OperatorText,
    #[serde(flatten)]
    algebra: AlgebraWords,
    #[serde(flatten)]
    start: StartWords,
    #[serde(flatten)]
    heads: HeadsWords,
    /// Where the input and the output lie: their types, and where they are several arrays, those, and which of the
    /// input's is the hardest to align.
    inputs: &'static str,
    outputs: &'static str,
    /// The types of the same in a stage.
    stage_inputs: &'static str,
    stage_outputs: &'static str,
    /// The type of what the results of a part of a tile are written to.
    part_outputs: &'static str,
    #[serde(flatten)]
    types: ArraysWords,
    /// How many elements lie before the input where tiles begin.
    head_padding: String,
    input_arrays: Vec<ArrayWords<'a>>,
    output_arrays: Vec<ArrayWords<'a>>,
    /// Those of them that lie in memory.
    output_targets: Vec<ArrayWords<'a>>,
    /// The array that has the places that the operator computes in shared memory.
    computed_place: Option<ArrayWords<'a>>,
    /// How many of them a result has.
    places: usize,
    /// Those of them that are slices.
    input_slices: Vec<ArrayWords<'a>>,
    output_slices: Vec<ArrayWords<'a>>,
    /// Whether all arrays of the input, and of the output, are slices, and bytes of an element that lie in slices.
    input_in_slices: bool,
    output_in_slices: bool,
    slice_bytes: u64,
    /// Bytes of an element, and of a result, in a stage.
    input_size: String,
    output_size: String,
    copy_alignment: u32,
    /// How a block does it.
    block_scan: &'a str,
    network: &'a str,
    coarsened: bool,
    in_registers: bool,
    carry: &'static str,
    /// What makes the steps of a network over a warp a loop in the machine code as well, or nothing.
    rolled: &'static str,
    padded: bool,
    contiguous: bool,
    /// What it needs of the machine: a counter, statuses of tiles.
    counts: bool,
    #[serde(flatten)]
    packet: PacketWords,
    /// The type of what statuses hold, and how many statuses a tile can have, with one unused.
    published: &'static str,
    statuses: u64,
    #[serde(flatten)]
    delays: DelayWords,
    /// Whether a launch may begin before the one before it has ended.
    programmatic: bool,
    /// Whether the one after it may begin at the beginning of a kernel. Look-at-all lets it begin later.
    dependents_at_once: bool,
    /// Whether launches may have smaller blocks than the largest that the text is for.
    smaller_blocks: bool,
    /// Whether runs are scanned whole of which the tile has a part only.
    whole_runs: bool,
    /// Whether nothing is known of the last run but its first element, and its results are stored one by one.
    last_run_apart: bool,
    /// Whether the kernel of one block scans one tile at the most.
    one_tile: bool,
    /// How many blocks a cluster has.
    cluster: u32,
    statuses_per_lane: u32,
    #[serde(flatten)]
    pipeline: PipelineWords,
    input_unit: u32,
    input_units: u32,
    output_unit: u32,
    output_units: u32,
    /// Whether each thread's run is one unit of the tile, so that it can read and write that itself.
    runs_are_units: bool,
    /// Whether full tiles are scanned by a loop of their own.
    full_tiles_apart: bool,
    /// Whether elements, and results, can only begin at words.
    input_in_words: bool,
    output_in_words: bool,
    /// What an address must be a multiple of so that some element before it lies where bulk copies can begin.
    copy_grain: u64,
    /// Whether the network gives exclusive scans; where the tile holds the result of the elements before element i.
    network_exclusive: bool,
    before_element: &'static str,
    threads: u32,
    tile: u32,
    run: u32,
    network_slots: u32,
    description: String,
    strategy: String,
}

/// The packets of which statuses consist.
#[derive(Serialize)]
pub(crate) struct PacketWords {
    /// Words of the value in a packet.
    packet_payload: u64,
    /// A type of as many bytes, and the letter by which inline assembly takes it.
    packet_word: &'static str,
    packet_letter: &'static str,
}

impl PacketWords {
    /// `payload` is how many words of a value a packet has.
    pub(crate) fn new(payload: u64) -> Self {
        let (packet_word, packet_letter) =
            if payload == 1 { ("unsigned long long", "l") } else { ("unsigned __int128", "q") };
        PacketWords { packet_payload: payload, packet_word, packet_letter }
    }
}

/// What threads wait for where they communicate.
#[derive(Serialize)]
pub(crate) struct DelayWords {
    /// A call before what follows in the line, and one in a line of its own: none but in tests.
    delay: &'static str,
    delay_after: &'static str,
    /// The polls after which a block has waited for long.
    long_wait: &'static str,
}

impl DelayWords {
    /// Whether threads wait for a pseudo-random time, for tests.
    pub(crate) fn new(delays: bool) -> Self {
        match delays {
            true => DelayWords { delay: "delay(); ", delay_after: "  delay();\n", long_wait: "1 << 5" },
            false => DelayWords { delay: "", delay_after: "", long_wait: "1 << 13" },
        }
    }
}

/// An array of the input or of the output.
#[derive(Clone, Serialize)]
struct ArrayWords<'a> {
    name: &'a str,
    ty: &'a str,
    /// The type of what goes to a computed place: an item of the array, or, where it is an array itself, an item of
    /// that.
    placed: &'a str,
    /// How its item is named within an element: `.field`, or nothing where the item is the element.
    field: String,
    bytes: u64,
    before: u32,
    #[serde(skip)]
    kind: ArrayKind,
    slice: bool,
    #[serde(skip)]
    place: PlaceWords,
    /// The type of places that the operator computes, of the array that has them.
    places: &'static str,
    /// Whether its items go to places that the operator computes.
    computed: bool,
    /// A unit of a thread's run, how many units a run has, and the bytes of one.
    piece: String,
    units: u64,
    unit_bytes: u64,
}

impl<'a> ArrayWords<'a> {
    fn new((name, ty): (&'a str, &'a str), array: ZippedArray, by_field: bool, run: u32) -> Self {
        let ZippedArray { bytes, before, unit, kind } = array;
        let unit_bytes = if unit > 0 { unit } else { bytes };
        let slice = kind == ArrayKind::Slice;
        let field = if by_field { format!(".{name}") } else { String::new() };
        ArrayWords {
            name,
            ty,
            placed: ty,
            bytes: bytes.into(),
            before,
            kind,
            slice,
            place: PlaceWords::new(name, ty, ty, &field, kind),
            field,
            places: "",
            computed: kind == ArrayKind::Computed,
            piece: if unit > 0 { format!("RunUnit<{unit}>") } else { ty.to_owned() },
            units: u64::from(run) * u64::from(bytes) / u64::from(unit_bytes.max(1)),
            unit_bytes: unit_bytes.into(),
        }
    }

    fn in_memory(&self) -> Named<'a> {
        (self.name, self.place.clone())
    }

    fn in_stage(&self) -> Named<'a> {
        (self.name, PlaceWords::new(self.name, self.ty, self.ty, &self.field, ArrayKind::Slice))
    }
}

impl<'a> Words<'a> {
    fn new(operator: &OpSource, text: &'a OperatorText, plan: &'a Plan) -> Self {
        let Strategy { block: BlockScan { network, coarsened, in_registers, .. }, carry } = plan.strategy;
        let facts = carry.describe();
        // A machine that emits goes by the carry before each element, too.
        let exclusive = plan.spec.kind == ScanKind::Exclusive || plan.emits;
        let network_exclusive = matches!(network, Network::Blelloch { .. }) && (exclusive || coarsened);
        let tile_exclusive = network_exclusive && !coarsened;
        let looks_at_all = facts.blocks == Blocks::PerTile && facts.polled() == Some(Polled::All);
        let pipeline = plan.pipeline.unwrap_or_default();
        let looks_ahead = plan.pipeline.is_some();
        let units = |bytes: u64, unit: u32| (bytes as u32 * plan.run).checked_div(unit).unwrap_or(0);
        let (input_units, output_units) =
            (units(plan.input_bytes, plan.input_unit), units(plan.output_bytes, plan.output_unit));
        let zipped = plan.zipped.as_ref();
        let [input_by_field, output_by_field] =
            [(plan.spec.input, &operator.input), (plan.spec.output, &operator.output)]
                .map(|(layout, element)| layout.is_by_field(element));
        let arrays =
            |zipped: &'a [ZippedArray], fields: &'a [(String, String)], by_field: bool, one: (&'a str, &'a str)| {
                let fields = fields.iter().map(|(name, ty)| (&name[..], &ty[..])).filter(|_| by_field);
                let arrays = fields.chain((!by_field).then_some(one)).zip(zipped);
                arrays.map(|(named, array)| ArrayWords::new(named, *array, by_field, plan.run)).collect::<Vec<_>>()
            };
        let [inputs, outputs] = zipped.map_or([&[][..]; 2], |zipped| [&zipped.inputs, &zipped.outputs]);
        let input_arrays = arrays(inputs, &text.input_fields, input_by_field, ("elements", &text.input));
        let mut output_arrays = arrays(outputs, &text.output_fields, output_by_field, ("results", &text.output));
        let computed = plan.spec.output_kinds.are_computed();
        let places = ComputedPlaces::of(&plan.spec, &operator.output).filter(|_| computed);
        if let Some((place, places)) = output_arrays.first_mut().zip(places) {
            place.places = places.width.word();
        }
        let several = places.and_then(|places| places.several);
        let placed = text.output_items.iter().filter(|_| several.is_some());
        output_arrays.iter_mut().zip(placed).for_each(|(array, item)| {
            array.placed = item;
            array.place = PlaceWords::new(array.name, array.ty, item, &array.field, array.kind);
        });
        // The others are not written.
        output_arrays.retain(|array| array.kind != ArrayKind::NoMemory || !array.places.is_empty());
        let computed_place = output_arrays.first().filter(|_| computed).cloned();
        let output_targets = output_arrays[usize::from(computed)..].to_vec();
        // Of the array whose items lie at aligned addresses the most rarely, all others follow.
        let [input_slices, output_slices] = [&input_arrays, &output_arrays]
            .map(|arrays| arrays.iter().filter(|array| array.kind == ArrayKind::Slice).cloned().collect::<Vec<_>>());
        let hardest = input_slices.iter().min_by_key(|array| copy_grain(array.bytes));
        let aligned_bytes = hardest.map_or(plan.input_bytes, |array| array.bytes);
        let (of_inputs, of_outputs) =
            if zipped.is_some() { ("Inputs", "Outputs") } else { ("const Input*", "Output*") };
        // In a stage all arrays are slices.
        let types = ArraysWords::none()
            .inputs("Inputs", input_by_field, input_arrays.iter().map(ArrayWords::in_memory))
            .outputs("Outputs", "OutputElement", output_targets.iter().map(ArrayWords::in_memory))
            .inputs("StageInputs", input_by_field, input_arrays.iter().map(ArrayWords::in_stage))
            .outputs("StageOutputs", "StageElement", output_arrays.iter().map(ArrayWords::in_stage));
        let stage_outputs = if plan.spec.output_kinds.are_slices() { of_outputs } else { "StageOutputs" };
        let inverse = copy_inverse(aligned_bytes);
        let padding = |input: &str| format!("(unsigned)((size_t){input} / COPY_GRAIN * {inverse} % COPY_PERIOD)");
        let head_padding = match (zipped, hardest) {
            (None, _) => padding("input"),
            (Some(_), Some(array)) => padding(&format!("input.{}", array.name)),
            (Some(_), None) => "0".to_owned(),
        };
        Words {
            operator: text,
            algebra: AlgebraWords::new(operator, plan.spec.kind == ScanKind::Exclusive, plan.emits),
            start: StartWords::new(&plan.spec, &text.start, looks_ahead.then_some("first_value()[0]")),
            heads: HeadsWords::new(&plan.spec),
            inputs: of_inputs,
            outputs: of_outputs,
            stage_inputs: if plan.spec.input_kinds.are_slices() { of_inputs } else { "StageInputs" },
            part_outputs: if is_in_place(plan, &pipeline) { stage_outputs } else { of_outputs },
            stage_outputs,
            types,
            head_padding,
            input_in_slices: plan.spec.input_kinds.are_slices(),
            output_in_slices: plan.spec.output_kinds.are_slices(),
            slice_bytes: input_slices.iter().map(|array| array.bytes).sum(),
            input_size: zipped.map_or("sizeof(Input)".to_owned(), |_| plan.input_bytes.to_string()),
            output_size: zipped.map_or("sizeof(Output)".to_owned(), |_| plan.output_bytes.to_string()),
            copy_alignment: constants::COPY_ALIGNMENT,
            block_scan: if in_registers {
                "in_registers"
            } else if coarsened {
                "coarsened"
            } else {
                network.name()
            },
            network: network.name(),
            coarsened,
            in_registers,
            smaller_blocks: plan.block_sizes.0 < plan.block_sizes.1,
            whole_runs: plan.whole_runs,
            last_run_apart: plan.last_run_apart,
            one_tile: plan.one_block_has_one_tile(),
            carry: facts.name,
            rolled: match calls_combine(operator, plan.places(operator), plan.written_out) {
                true => "#pragma unroll 1\n",
                false => "",
            },
            padded: network.is_padded(),
            contiguous: matches!(network, Network::BrentKung { workers: Workers::Contiguous, .. }),
            counts: facts.tile_numbers == TileNumbers::Counter,
            dependents_at_once: plan.programmatic && !looks_at_all,
            cluster: plan.cluster,
            packet: PacketWords::new(plan.packet_payload()),
            published: "State",
            statuses: 4,
            delays: DelayWords::new(plan.delays),
            programmatic: plan.programmatic,
            pipeline: PipelineWords::new(operator, plan),
            statuses_per_lane: if looks_ahead { pipeline.statuses_per_lane } else { plan.statuses_per_lane },
            input_unit: plan.input_unit,
            input_units,
            output_unit: plan.output_unit,
            output_units,
            runs_are_units: plan.runs_are_units(),
            full_tiles_apart: facts.blocks != Blocks::One && !plan.whole_runs,
            input_in_words: in_words(plan.spec.input, &operator.input),
            output_in_words: in_words(plan.spec.output, &operator.output),
            copy_grain: copy_grain(aligned_bytes),
            input_slices,
            output_slices,
            input_arrays,
            output_arrays,
            output_targets,
            computed_place,
            places: several.unwrap_or(1),
            network_exclusive,
            before_element: if tile_exclusive { "i" } else { "i - 1" },
            threads: plan.block_sizes.1,
            tile: plan.tile,
            run: plan.run,
            network_slots: plan.network_slots,
            description: plan.spec.to_string(),
            strategy: plan.strategy.to_string(),
        }
    }
}

/// Whether the items of each array of elements of this type can only begin at words.
fn in_words(arrays: Arrays, element: &ElementType) -> bool {
    arrays.items(element).iter().all(|item| item.align.is_multiple_of(constants::WORD as usize))
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

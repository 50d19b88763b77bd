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
    element::{ElementType, ShortTable},
    error::RenderError,
    names::variable,
    operator::OpSource,
    operator_text::{OperatorText, Wording, operator_text_as},
    plan::Plan,
    rooms::{
        algebra::{self, AlgebraWords},
        heads::{self, Engine, HeadsWords},
        start::{self, StartWords},
    },
    spec::ScanKind,
    strategy::{BlockScan, Network, Strategy, Workers},
    target::Target,
    templates::Templates,
    used::used,
    weight::calls_combine,
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
    let BlockScan { network, coarsened, in_registers } = plan.strategy.block;
    let facts = plan.strategy.carry.describe();
    let pipeline = plan.pipeline.filter(|_| facts.blocks == Blocks::Persistent);
    let engine = match (pipeline, in_registers) {
        (Some(_), _) => Engine::Pipeline,
        (None, true) => Engine::Registers,
        (None, false) => Engine::Memory,
    };
    let is_zipped = plan.zipped.is_some();
    let mut parts = vec!["types", if plan.spec.reversed { "order/reversed" } else { "order/forward" }];
    if is_zipped {
        if !(plan.spec.input_kinds.are_slices() && plan.spec.output_kinds.are_slices()) {
            parts.push("zipped/kinds");
        }
        if plan.spec.output_kinds.are_computed() {
            parts.push("zipped/computed");
        }
        parts.push("zipped/arrays");
    }
    parts.extend(plan.programmatic.then_some("launches"));
    parts.push("machine");
    match engine {
        Engine::Memory => parts.push("tile"),
        Engine::Registers => parts.push("run_tile"),
        Engine::Pipeline => parts.extend(["status", "look_ahead"]),
    }
    parts.extend([heads::masks(&plan.spec.segments), "prefix", start::start(operator, &plan.spec)]);
    parts.extend((engine == Engine::Pipeline).then_some("pipeline/tile"));
    parts.extend(heads::parts(&plan.spec, engine));
    parts.extend(algebra::folds(operator));
    parts.push(algebra::cursor(operator));
    let from_end = operator.folds_backwards();
    let reduce_run = if from_end { "reduce_run_from_end" } else { "reduce_run" };
    match engine {
        Engine::Memory => {
            parts.extend(["shared_tile", network.name()]);
            parts.extend(coarsened.then_some("coarsened"));
            parts.push("scan_tile");
        }
        Engine::Registers => parts.extend(["register_tile", "scan_warp", reduce_run, "in_registers"]),
        Engine::Pipeline => {
            let pipeline = pipeline.unwrap_or_default();
            parts.extend(["pipeline/tiles", "pipeline/transfer", "scan_warp"]);
            parts.extend(match (pipeline.keeps_states, pipeline.run_parts > 1, from_end) {
                (true, _, _) => ["pipeline/kept_states"].as_slice(),
                (_, true, true) => &["pipeline/run_parts_from_end", "pipeline/scanned_inputs"],
                (_, true, false) => &["pipeline/run_parts", "pipeline/scanned_inputs"],
                (_, _, true) => &["reduce_run_from_end", "pipeline/scanned_inputs"],
                (_, _, false) => &["reduce_run", "pipeline/scanned_inputs"],
            });
            parts.push(if from_end { "pipeline/elements_from_end" } else { "pipeline/elements" });
            parts.push("pipeline/window");
            parts.extend(plan.stands_in().then_some("pipeline/stand_in"));
            parts.extend((pipeline.table_bytes > 0).then_some("pipeline/tables"));
            parts.push("pipeline/kernel");
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
    zipped: bool,
    input_by_field: bool,
    output_by_field: bool,
    input_arrays: Vec<ArrayWords<'a>>,
    output_arrays: Vec<ArrayWords<'a>>,
    /// Those of them that lie in memory.
    output_targets: Vec<ArrayWords<'a>>,
    /// Whether some results go to places that the operator computes, and the array that has these in shared memory.
    computed: bool,
    computed_place: Option<ArrayWords<'a>>,
    /// How many of them a result has.
    places: usize,
    /// Those of them that are slices.
    input_slices: Vec<ArrayWords<'a>>,
    output_slices: Vec<ArrayWords<'a>>,
    padded_array: &'a str,
    /// Whether all arrays of the input, and of the output, are slices, and bytes of an element that lie in slices.
    input_in_slices: bool,
    output_in_slices: bool,
    slice_bytes: u64,
    input_bytes: u64,
    output_bytes: u64,
    /// The segment of the element before the first of a thread's run.
    index_before: &'static str,
    /// Whether each segment has an initial value, which is a carry.
    carry_of_segment: bool,
    /// Bytes of a stage of look-ahead for what tells the heads, and slots for the offsets of tiles.
    head_bytes: u32,
    slots: u32,
    slot_bytes: u32,
    dynamic_shared_bytes: u32,
    copy_alignment: u32,
    /// How a block does it.
    block_scan: &'a str,
    network: &'a str,
    coarsened: bool,
    in_registers: bool,
    /// Whether one block scans alone, so that hardly any tile is whole.
    alone: bool,
    carry: &'static str,
    /// Whether the steps of a network over a warp are a loop in the machine code as well.
    rolled_steps: bool,
    padded: bool,
    contiguous: bool,
    /// What it needs of the machine: a counter, statuses of tiles.
    counts: bool,
    packet_payload: u64,
    /// The type of what statuses hold, and how many statuses a tile can have, with one unused.
    published: &'static str,
    statuses: u64,
    /// Whether threads wait for a pseudo-random time where they communicate, for tests.
    delays: bool,
    /// Whether a launch may begin before the one before it has ended.
    programmatic: bool,
    /// Whether launches may have smaller blocks than the largest that the text is for.
    smaller_blocks: bool,
    /// Whether runs are scanned whole of which the tile has a part only.
    whole_runs: bool,
    /// Whether nothing is known of the last run but its first element, and its results are stored one by one.
    last_run_apart: bool,
    /// Whether the kernel of one block scans one tile at the most.
    one_tile: bool,
    /// The pipeline of look-ahead.
    looks_ahead: bool,
    looks_at_all: bool,
    /// Whether blocks of a cluster reach each other's shared memory, and how many blocks it has.
    clusters: bool,
    cluster: u32,
    team: u32,
    teams: u32,
    stages: u32,
    statuses_per_lane: u32,
    /// Whether blocks form groups, how many blocks one has, how many statuses a warp then loads at once, and whether
    /// the lanes share the packets of statuses.
    grouped: bool,
    group: u32,
    /// Whether look-ahead warps stand in for blocks that have not started.
    stands_in: bool,
    window: u32,
    folding_warps: u32,
    by_packets: bool,
    /// Whether elements are read one by one when a run is scanned, and not the run as a whole.
    streams: bool,
    /// Whether look-ahead warps take turns.
    in_turns: bool,
    /// Whether lifted elements stay in the stage, and the bytes of a unit of one.
    keeps_states: bool,
    state_unit: u32,
    /// Parts in which a run is reduced.
    run_parts: u32,
    /// The operator's tables that are kept in shared memory, and the bytes that they take there.
    kept_tables: Vec<TableWords>,
    kept_table_bytes: u32,
    block_threads: u32,
    input_unit: u32,
    input_units: u32,
    output_unit: u32,
    output_units: u32,
    /// Whether each thread's run is one unit of the tile, so that it can read and write that itself.
    runs_are_units: bool,
    /// Whether results are as large as elements, so that each takes the place of one; and where those of a part of a tile
    /// go.
    in_place: bool,
    part_results: String,
    /// Whether elements, and results, can only begin at words.
    input_in_words: bool,
    output_in_words: bool,
    /// What an address must be a multiple of so that some element before it lies where bulk copies can begin.
    copy_grain: u64,
    copy_inverse: u64,
    /// Whether the network gives exclusive scans, and whether the tile then holds one; where it holds the result of the
    /// elements before element i.
    network_exclusive: bool,
    tile_exclusive: bool,
    before_element: &'static str,
    threads: u32,
    tile: u32,
    run: u32,
    network_slots: u32,
    description: String,
    strategy: String,
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
    /// Whether it is a slice; else the type of the places of its items, or nothing where it has no memory.
    slice: bool,
    places: &'static str,
    /// Whether its items go to places that the operator computes.
    computed: bool,
    /// Bytes of a unit of a thread's run, 0 where that is an item; how many units a run has; and the bytes of one.
    unit: u32,
    units: u64,
    unit_bytes: u64,
}

impl<'a> ArrayWords<'a> {
    fn new((name, ty): (&'a str, &'a str), array: ZippedArray, by_field: bool, run: u32) -> Self {
        let ZippedArray { bytes, before, unit, kind } = array;
        let unit_bytes = if unit > 0 { unit } else { bytes };
        ArrayWords {
            name,
            ty,
            placed: ty,
            field: if by_field { format!(".{name}") } else { String::new() },
            bytes: bytes.into(),
            before,
            slice: kind == ArrayKind::Slice,
            places: match kind {
                ArrayKind::Places(width) => width.word(),
                ArrayKind::Slice | ArrayKind::Computed | ArrayKind::NoMemory => "",
            },
            computed: kind == ArrayKind::Computed,
            unit,
            units: u64::from(run) * u64::from(bytes) / u64::from(unit_bytes.max(1)),
            unit_bytes: unit_bytes.into(),
        }
    }
}

impl<'a> Words<'a> {
    fn new(operator: &OpSource, text: &'a OperatorText, plan: &'a Plan) -> Self {
        let Strategy { block: BlockScan { network, coarsened, in_registers }, carry } = plan.strategy;
        let facts = carry.describe();
        // A machine that emits goes by the carry before each element, too.
        let exclusive = plan.spec.kind == ScanKind::Exclusive || plan.emits;
        let network_exclusive = matches!(network, Network::Blelloch { .. }) && (exclusive || coarsened);
        let tile_exclusive = network_exclusive && !coarsened;
        let indexed = plan.spec.is_indexed();
        let pipeline = plan.pipeline.unwrap_or_default();
        let looks_ahead = plan.pipeline.is_some();
        let units = |bytes: u64, unit: u32| (bytes as u32 * plan.run).checked_div(unit).unwrap_or(0);
        let kept_tables = if pipeline.table_bytes > 0 { TableWords::of(operator) } else { Vec::new() };
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
        output_arrays.iter_mut().zip(placed).for_each(|(array, item)| array.placed = item);
        // The others are not written.
        output_arrays.retain(|array| array.slice || array.computed || !array.places.is_empty());
        let computed_place = output_arrays.first().filter(|_| computed).cloned();
        let output_targets = output_arrays[usize::from(computed)..].to_vec();
        // Of the array whose items lie at aligned addresses the most rarely, all others follow.
        let [input_slices, output_slices] = [&input_arrays, &output_arrays]
            .map(|arrays| arrays.iter().filter(|array| array.slice).cloned().collect::<Vec<_>>());
        let hardest = input_slices.iter().min_by_key(|array| copy_grain(array.bytes));
        let aligned_bytes = hardest.map_or(plan.input_bytes, |array| array.bytes);
        let (of_inputs, of_outputs) =
            if zipped.is_some() { ("Inputs", "Outputs") } else { ("const Input*", "Output*") };
        let stage_outputs = if plan.spec.output_kinds.are_slices() { of_outputs } else { "StageOutputs" };
        let in_place =
            !pipeline.keeps_states && zipped.map_or(plan.input_bytes == plan.output_bytes, |zipped| zipped.in_place);
        Words {
            operator: text,
            algebra: AlgebraWords::new(operator, plan.spec.kind == ScanKind::Exclusive, plan.emits),
            start: StartWords::new(&plan.spec, &text.start, looks_ahead.then_some("first_value")),
            heads: HeadsWords::new(&plan.spec),
            inputs: of_inputs,
            outputs: of_outputs,
            stage_inputs: if plan.spec.input_kinds.are_slices() { of_inputs } else { "StageInputs" },
            stage_outputs,
            zipped: zipped.is_some(),
            input_by_field,
            output_by_field,
            input_in_slices: plan.spec.input_kinds.are_slices(),
            output_in_slices: plan.spec.output_kinds.are_slices(),
            slice_bytes: input_slices.iter().map(|array| array.bytes).sum(),
            input_bytes: plan.input_bytes,
            output_bytes: plan.output_bytes,
            index_before: if indexed && plan.spec.segments.has_empty() {
                "segment_before_in(tile_offsets[stage], source, first)"
            } else {
                "segment_before(source, first)"
            },
            carry_of_segment: plan.machine && plan.spec.initial_values,
            head_bytes: pipeline.head_bytes,
            slots: pipeline.slots,
            slot_bytes: pipeline.slot_bytes,
            dynamic_shared_bytes: pipeline.dynamic_shared_bytes,
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
            alone: facts.blocks == Blocks::One,
            smaller_blocks: plan.block_sizes.0 < plan.block_sizes.1,
            whole_runs: plan.whole_runs,
            last_run_apart: plan.last_run_apart,
            one_tile: plan.one_block_has_one_tile(),
            carry: facts.name,
            rolled_steps: calls_combine(operator, plan.places(operator), plan.written_out),
            padded: network.is_padded(),
            contiguous: matches!(network, Network::BrentKung { workers: Workers::Contiguous, .. }),
            counts: facts.tile_numbers == TileNumbers::Counter,
            looks_at_all: facts.blocks == Blocks::PerTile && facts.polled() == Some(Polled::All),
            clusters: facts.blocks == Blocks::Cluster,
            cluster: plan.cluster,
            packet_payload: plan.packet_payload(),
            published: "State",
            statuses: 4,
            delays: plan.delays,
            programmatic: plan.programmatic,
            looks_ahead,
            team: plan.threads,
            teams: pipeline.teams,
            stages: pipeline.stages,
            statuses_per_lane: if looks_ahead { pipeline.statuses_per_lane } else { plan.statuses_per_lane },
            grouped: pipeline.group > 1,
            stands_in: plan.stands_in(),
            group: pipeline.group,
            window: if pipeline.group > 1 { pipeline.window } else { constants::WARP * pipeline.statuses_per_lane },
            folding_warps: if pipeline.group > 1 { 2 } else { pipeline.look_ahead_warps.max(1) },
            by_packets: plan.loads_packets(),
            streams: pipeline.streams,
            in_turns: pipeline.look_ahead_warps > 1,
            keeps_states: pipeline.keeps_states,
            run_parts: pipeline.run_parts,
            kept_table_bytes: kept_tables.iter().map(|table| table.room).sum(),
            kept_tables,
            state_unit: 1
                << (operator.state.size as u32).trailing_zeros().min(constants::COPY_ALIGNMENT.trailing_zeros()),
            block_threads: pipeline.block_threads(plan.threads),
            input_unit: plan.input_unit,
            input_units,
            output_unit: plan.output_unit,
            output_units,
            runs_are_units: plan.runs_are_units(),
            in_place,
            part_results: if in_place {
                format!("{stage_outputs} results = outputs_in(stage_bytes)")
            } else {
                format!("{of_outputs} results = output + tile.start")
            },
            input_in_words: in_words(plan.spec.input, &operator.input),
            output_in_words: in_words(plan.spec.output, &operator.output),
            copy_grain: copy_grain(aligned_bytes),
            copy_inverse: copy_inverse(aligned_bytes),
            padded_array: hardest.map_or("", |array| array.name),
            input_slices,
            output_slices,
            input_arrays,
            output_arrays,
            output_targets,
            computed,
            computed_place,
            places: several.unwrap_or(1),
            network_exclusive,
            tile_exclusive,
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

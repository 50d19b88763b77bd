//! The text of the kernel that scans along an axis.

use serde::Serialize;

use super::{
    array::{ColumnArray, Lying},
    axis::ColumnLayout,
    plan::{ColumnsPlan, GENERATIONS},
};
use crate::{
    array_kind::{ArrayKind, ArrayKinds},
    constants::{COPY_ALIGNMENT, WORD},
    error::RenderError,
    operator::OpSource,
    operator_text::{Halves, OperatorText, Wording, operator_text_as},
    render::{KernelSource, source},
    rooms::{
        Room, Rooms, Words,
        algebra::{self, AlgebraWords},
        arrays::{ArraysWords, PlaceWords, SliceWords},
        carry::StatusWords,
        heads,
        intrinsics::IntrinsicsWords,
        kernel::KernelWords,
        start,
        types::{HeadingWords, TypesWords},
    },
    segments::Segments,
    spec::ScanKind,
    target::Target,
    templates::Templates,
    weight::calls_combine,
};

/// What follows the wait for a stage of which the lanes of a warp have loaded rows for each other.
const WAIT_FOR_WARP: &str = "\n      __syncwarp(); // the other lanes have waited for theirs";

/// Between the statements that load a row of a thread's part, and between those that load the rows of a warp.
const OF_THREAD: &str = "\n    ";
const OF_WARP: &str = "\n  ";

/// What the templates of scans along an axis speak of.
#[derive(Serialize)]
struct ColumnsWords<'a> {
    threads: u32,
    resident: u32,
    stages: u32,
    run: u32,
    width: u32,
    whole_columns: bool,
    dimensions: usize,
    packed_words: u32,
    polled_at_once: u32,
    /// How many steps of a loop with combinations are unrolled: `1`, or nothing where the compiler may choose.
    steps_at_once: &'static str,
    /// What the columns begin with: an array of initial values, or what all begin with.
    starts: String,
    /// The total of a column, if that is asked for.
    total: &'static str,
    input_arrays: Vec<ArrayWords<'a>>,
    output_arrays: Vec<ArrayWords<'a>>,
    /// Bytes of a stage.
    stage_bytes: String,
    /// The arrays of the input from the first row of a thread's part on, and the statements that load that row, or all.
    first_row: String,
    loads: String,
    /// The statements that wait for a stage.
    wait: String,
    pieces: Vec<PieceWords>,
}

impl Words for ColumnsWords<'_> {
    const ROOM: Room = Room::Columns;
}

/// An array of the input or of the output.
#[derive(Serialize)]
struct ArrayWords<'a> {
    name: &'a str,
    /// How its item is named within an element: `.field`, or nothing where the item is the element.
    field: String,
    /// How its pointer is named within those of the input or output: `.name`, or nothing where there is one only.
    pointer: String,
    #[serde(skip)]
    place: PlaceWords,
    bytes: u32,
    /// Where it arrives in a stage.
    #[serde(skip)]
    arrives: String,
    /// What a thread reads or writes at once: its type, its bytes, and how often for a row.
    piece: String,
    pieces: u32,
    /// Where in a stage a thread reads a piece of row k.
    staged: String,
    #[serde(skip)]
    array: ColumnArray,
}

/// What threads read or write at once.
#[derive(Serialize)]
struct PieceWords {
    bytes: u32,
    word: &'static str,
    words: u32,
}

/// The pieces of all arrays, each once.
fn piece_words(plan: &ColumnsPlan) -> Vec<PieceWords> {
    let arrays = plan.inputs.iter().chain(&plan.outputs);
    let of_warps = plan.by_warps.then_some(COPY_ALIGNMENT);
    let mut units: Vec<_> = arrays.map(|array| array.unit).chain(of_warps).collect();
    units.sort_unstable();
    units.dedup();
    let words = |bytes: u32| match bytes {
        1 => ("unsigned char", 1),
        2 => ("unsigned short", 1),
        _ => ("unsigned", bytes / WORD),
    };
    let piece = |bytes| {
        let (word, words) = words(bytes);
        PieceWords { bytes, word, words }
    };
    units.into_iter().map(piece).collect()
}

/// The words of arrays: `one` is the name and the type of the only one.
fn array_words<'a>(
    plan: &ColumnsPlan,
    arrays: &[ColumnArray],
    fields: Option<&'a [(String, String)]>,
    one: (&'a str, &'a str),
    kinds: ArrayKinds,
    zipped: bool,
) -> Vec<ArrayWords<'a>> {
    let fields_of = fields.unwrap_or_default().iter().map(|(name, ty)| (&name[..], &ty[..]));
    let named = fields_of.chain(fields.is_none().then_some(one));
    // Arrays that each thread loads, and behind them those of which each warp loads a run.
    let (mut before, mut repeated) = (0, 0);
    let words = |((name, ty), array): ((&'a str, &'a str), &ColumnArray)| {
        let ColumnArray { bytes, unit, kind, lying, .. } = *array;
        let member = |is_member: bool| if is_member { format!(".{name}") } else { String::new() };
        let pieces = plan.width * bytes / unit;
        let (arrives, index) = match lying {
            Lying::Repeated => {
                let arrives = format!("stage + TILE * {} + {repeated}", plan.loaded_bytes());
                repeated += plan.repeated_bytes(array);
                (arrives, "warp_stage_index(k)".to_owned())
            }
            _ => {
                let arrives = format!("stage + TILE * {before}");
                before += bytes;
                (arrives, format!("stage_index(k, piece, {pieces})"))
            }
        };
        ArrayWords {
            name,
            field: member(fields.is_some()),
            pointer: member(zipped),
            place: PlaceWords::new(name, ty, ty, &member(fields.is_some()), kind),
            bytes,
            piece: format!("Piece{unit}"),
            pieces,
            staged: format!("((const Piece{unit}*)({arrives}))[{index}]"),
            arrives,
            array: *array,
        }
    };
    let planned = named.enumerate().filter(|&(index, _)| kinds.of(index) != ArrayKind::NoMemory);
    planned.map(|(_, named)| named).zip(arrays).map(words).collect()
}

/// Bytes of a stage.
fn stage_bytes(plan: &ColumnsPlan) -> String {
    let repeated = plan.inputs.iter().filter(|array| array.lying == Lying::Repeated);
    match repeated.map(|array| plan.repeated_bytes(array)).sum() {
        0 => format!("TILE * {}", plan.loaded_bytes()),
        repeated => format!("TILE * {} + {repeated}", plan.loaded_bytes()),
    }
}

/// Those of them that are slices.
fn slices(arrays: &[ArrayWords<'_>]) -> Vec<SliceWords> {
    let slices = arrays.iter().filter(|array| array.array.kind == ArrayKind::Slice);
    slices.map(|array| SliceWords { name: array.name.to_owned(), bytes: array.bytes.into() }).collect()
}

/// How a thread's part of a tile is loaded.
struct Loads {
    /// The arrays from its first row on. Those that repeat an item in a row are loaded here.
    first_row: String,
    /// The statements that load the others: a row of a thread, and move the arrays to the next one, or a warp's rows.
    statements: String,
}

impl Loads {
    fn new(arrays: &[ArrayWords<'_>], by_warps: bool) -> Self {
        let loaded: Vec<_> = arrays.iter().filter(|words| words.array.lying != Lying::Repeated).collect();
        let are_slices = arrays.iter().all(|words| words.array.kind == ArrayKind::Slice);
        let first_row = if are_slices {
            "input + part.first.input".to_owned()
        } else {
            let first: Vec<_> = arrays.iter().map(Self::first).collect();
            format!("Inputs{{{}}}", first.join(", "))
        };
        if by_warps {
            let statements: Vec<_> = loaded.into_iter().map(Self::rows).collect();
            return Loads { first_row, statements: statements.join(OF_WARP) };
        }
        let mut statements: Vec<_> = loaded.iter().map(|words| Self::row(words)).collect();
        match are_slices {
            true => statements.push("from = from + step;".to_owned()),
            false => statements.extend(loaded.into_iter().map(Self::next_row)),
        }
        Loads { first_row, statements: statements.join(OF_THREAD) }
    }

    /// Where an array arrives in a stage.
    fn stage(words: &ArrayWords<'_>) -> String {
        format!("({}*)({})", words.piece, words.arrives)
    }

    /// An array from the first row of a thread's part on.
    fn first(words: &ArrayWords<'_>) -> String {
        let strided = format!("first_of(input{}, layout, thread, part)", words.pointer);
        match (words.array.kind, words.array.lying) {
            (ArrayKind::Slice, _) => format!("input{} + part.first.input", words.pointer),
            (_, Lying::Repeated) => format!("begin_repeated({strided}, part.rows, {})", Self::stage(words)),
            _ => strided,
        }
    }

    /// What loads row k of a thread's part.
    fn row(words: &ArrayWords<'_>) -> String {
        let ArrayWords { piece, pieces, pointer, .. } = words;
        let items = if words.array.lying == Lying::SideBySide { ".items" } else { "" };
        format!("begin_pieces<{piece}, {pieces}>(from{pointer}{items}, {}, k);", Self::stage(words))
    }

    /// What moves an array to the next row.
    fn next_row(words: &ArrayWords<'_>) -> String {
        let pointer = &words.pointer;
        match words.array.kind {
            ArrayKind::Slice => format!("from{pointer} += step;"),
            _ => format!("to_next_row(from{pointer}, step);"),
        }
    }

    /// What loads the rows of a warp's run.
    fn rows(words: &ArrayWords<'_>) -> String {
        let (pointer, stage) = (&words.pointer, Self::stage(words));
        match words.array.kind {
            ArrayKind::Strided => {
                let step = format!("FORWARD ? from{pointer}.step : 0 - from{pointer}.step");
                format!("begin_rows(from{pointer}.items, {stage}, part.rows, {step});")
            }
            _ => format!("begin_rows(from{pointer}, {stage}, part.rows, step);"),
        }
    }
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
    let wording = Wording { halves: Halves::Native, ..Wording::of(plan.places(operator), plan.inlined) };
    let text = operator_text_as(operator, target, wording)?;
    let rooms = rooms_of(operator, &text, plan)?;
    let mut parts = vec!["types", if plan.spec.reversed { "order/reversed" } else { "order/forward" }];
    parts.extend(plan.programmatic.then_some("launches"));
    parts.extend(["intrinsics", "dynamic_shared_memory", "columns/part"]);
    let kinds = plan.spec.input_kinds;
    if kinds.any(ArrayKind::is_neighbour) {
        parts.extend(["zipped/neighbours", "columns/neighbours"]);
    }
    parts.extend(kinds.any(|kind| kind == ArrayKind::Strided).then_some("columns/strided"));
    parts.extend(plan.repeats().then_some("columns/repeated"));
    parts.extend(is_zipped(operator, plan).then_some("zipped/arrays"));
    parts.extend((!plan.streams).then_some(["packed_row", "status"]).into_iter().flatten());
    parts.extend([heads::masks(&Segments::None), "prefix"]);
    parts.extend(start::start(operator, &plan.spec));
    parts.push(algebra::opaque(operator));
    parts.extend(algebra::folds(operator));
    let load = if plan.by_warps { "columns/load_by_warps" } else { "columns/load_by_threads" };
    parts.extend([algebra::cursor(operator), "columns/rows", load, "columns/scan"]);
    parts.push(if plan.spec.initial_values { "columns/own_starts" } else { "columns/equal_starts" });
    parts.extend(match plan.streams {
        true => ["columns/streams"].as_slice(),
        false => &["columns/scan_down", "columns/carry", "columns/kernel"],
    });
    source(templates, text, &rooms, parts)
}

/// Whether the arrays of the input and the output are more than one pointer each.
fn is_zipped(operator: &OpSource, plan: &ColumnsPlan) -> bool {
    plan.spec.input.is_by_field(&operator.input)
        || plan.spec.output.is_by_field(&operator.output)
        || !plan.spec.input_kinds.are_slices()
        || !plan.spec.output_kinds.are_slices()
}

/// The words of these kernels.
pub(crate) fn rooms_of<'a>(
    operator: &OpSource,
    text: &'a OperatorText,
    plan: &ColumnsPlan,
) -> Result<Rooms, RenderError> {
    let spec = &plan.spec;
    let zipped = is_zipped(operator, plan);
    let input_by_field = spec.input.is_by_field(&operator.input);
    let input_fields = input_by_field.then_some(&text.input_fields[..]);
    let output_fields = spec.output.is_by_field(&operator.output).then_some(&text.output_fields[..]);
    let (one_input, one_output) = (("elements", "Input"), ("results", "Output"));
    let input_arrays = array_words(plan, &plan.inputs, input_fields, one_input, spec.input_kinds, zipped);
    let output_arrays = array_words(plan, &plan.outputs, output_fields, one_output, spec.output_kinds, zipped);
    let lies = |array: &ArrayWords<'a>| (array.name, array.place.clone());
    let arrays = ArraysWords::new(slices(&input_arrays), slices(&output_arrays));
    let inputs = input_arrays.iter().map(lies);
    let arrays = match spec.input_kinds.are_slices() {
        true => arrays.inputs("Inputs", input_by_field, inputs),
        false => arrays.inputs_without_access("Inputs", inputs),
    };
    let types = TypesWords::new(text);
    let loads = Loads::new(&input_arrays, plan.by_warps);
    let kernel = KernelWords::new(spec, text, None).programmatic(plan.programmatic, true);
    let starts = if spec.initial_values { "initial_values".to_owned() } else { format!("Start{}", kernel.start) };
    let pending = if plan.streams { "STAGES - 1" } else { "STAGES - 2" };
    let of_warp = if plan.repeats() || plan.by_warps { WAIT_FOR_WARP } else { "" };
    Rooms::default()
        .with(&HeadingWords::new(format!("{spec} along an axis"), "columns"))?
        .with(&if zipped { types.in_arrays(spec) } else { types })?
        .with(&kernel)?
        .with(&IntrinsicsWords::new(plan.delays, plan.packet_payload().into()))?
        .with(&arrays.outputs("Outputs", "OutputElement", output_arrays.iter().map(lies)))?
        .with(&AlgebraWords::new(operator, spec.kind == ScanKind::Exclusive, spec.emits(operator)))?
        // One for each time that the ring of statuses is filled, counted from 1, and none.
        .with(&StatusWords { published: "PackedRow", count: GENERATIONS + 1 })?
        .with(&ColumnsWords {
            threads: plan.threads,
            resident: plan.resident,
            stages: plan.stages,
            run: plan.run,
            width: plan.width,
            whole_columns: plan.has_whole_columns(),
            dimensions: ColumnLayout::DIMENSIONS,
            packed_words: plan.packed_words(),
            polled_at_once: plan.polled_at_once,
            steps_at_once: if calls_combine(operator, plan.places(operator), plan.inlined) { " 1" } else { "" },
            starts,
            total: match (spec.totals, spec.projects) {
                (false, _) => "",
                (true, false) => "carry_of(cursors.of[w])",
                (true, true) => "output_at_end(op, cursors.of[w])",
            },
            input_arrays,
            output_arrays,
            stage_bytes: stage_bytes(plan),
            first_row: loads.first_row,
            wait: format!("cp_async_wait_group<{pending}>();{of_warp}"),
            loads: loads.statements,
            pieces: piece_words(plan),
        })
}

//! The text of the kernel that scans along an axis.

use serde::Serialize;

use super::{
    array::ColumnArray,
    axis::ColumnLayout,
    plan::{ColumnsPlan, LAPS, STAGES},
};
use crate::{
    array_kind::{ArrayKind, ArrayKinds},
    constants::WORD,
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
        kernel::KernelWords,
        machine::MachineWords,
        start,
        types::{HeadingWords, TypesWords},
    },
    segments::Segments,
    spec::ScanKind,
    target::Target,
    templates::Templates,
    weight::calls_combine,
};

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
    rolled_steps: bool,
    /// Whether each column has an initial value of its own.
    initial_values: bool,
    /// The total of a column, if that is asked for.
    total: &'static str,
    input_arrays: Vec<ArrayWords<'a>>,
    output_arrays: Vec<ArrayWords<'a>>,
    /// Bytes of an element.
    input_bytes: u32,
    /// The arrays of the input from the first row of a thread's part on, and the statements that move them to the next.
    first_row: String,
    next_row: String,
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
    /// Bytes of an element that lie in the arrays before it.
    before: u32,
    /// What a thread reads or writes at once: its type, its bytes, and how often for a row.
    piece: String,
    pieces: u32,
    /// The statement that begins to load a piece of a row.
    load: String,
    #[serde(skip)]
    kind: ArrayKind,
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
    let mut units: Vec<_> = plan.inputs.iter().chain(&plan.outputs).map(|array| array.unit).collect();
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
    arrays: &[ColumnArray],
    width: u32,
    fields: Option<&'a [(String, String)]>,
    one: (&'a str, &'a str),
    kinds: ArrayKinds,
    zipped: bool,
) -> Vec<ArrayWords<'a>> {
    let fields_of = fields.unwrap_or_default().iter().map(|(name, ty)| (&name[..], &ty[..]));
    let named = fields_of.chain(fields.is_none().then_some(one));
    let mut before = 0;
    let words = |((name, ty), array): ((&'a str, &'a str), &ColumnArray)| {
        let ColumnArray { bytes, unit, kind, .. } = *array;
        let member = |is_member: bool| if is_member { format!(".{name}") } else { String::new() };
        let start = before;
        before += bytes;
        ArrayWords {
            name,
            field: member(fields.is_some()),
            pointer: member(zipped),
            place: PlaceWords::new(name, ty, ty, &member(fields.is_some()), kind),
            bytes,
            before: start,
            piece: format!("Piece{unit}"),
            pieces: width * bytes / unit,
            load: array.load(&format!("from{}", member(zipped))),
            kind,
        }
    };
    let planned = named.enumerate().filter(|&(index, _)| kinds.of(index) != ArrayKind::NoMemory);
    planned.map(|(_, named)| named).zip(arrays).map(words).collect()
}

/// Those of them that are slices.
fn slices(arrays: &[ArrayWords<'_>]) -> Vec<SliceWords> {
    let slices = arrays.iter().filter(|array| array.kind == ArrayKind::Slice);
    slices.map(|array| SliceWords { name: array.name.to_owned(), bytes: array.bytes.into() }).collect()
}

/// The arrays of the input from the first row of a thread's part on, and the statements that move them to the next row.
fn moves(arrays: &[ArrayWords<'_>]) -> (String, String) {
    let (first, step) = ("tile.part.first.input", "step");
    if arrays.iter().all(|array| array.kind == ArrayKind::Slice) {
        return (format!("input + {first}"), format!("from = from + {step};"));
    }
    let each = arrays.iter().map(|ArrayWords { pointer, kind, .. }| match kind {
        ArrayKind::Slice => (format!("input{pointer} + {first}"), format!("from{pointer} += {step};")),
        _ => (
            format!("first_of(input{pointer}, layout, thread, tile.part)"),
            format!("to_next_row(from{pointer}, {step});"),
        ),
    });
    let (first, next): (Vec<_>, Vec<_>) = each.unzip();
    (format!("Inputs{{{}}}", first.join(", ")), next.join(" "))
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
    let wording = Wording { halves: Halves::Native, ..Wording::of(plan.places(operator), plan.written_out) };
    let text = operator_text_as(operator, target, wording)?;
    let rooms = rooms_of(operator, &text, plan)?;
    let mut parts = vec!["types", if plan.spec.reversed { "order/reversed" } else { "order/forward" }];
    parts.extend(plan.programmatic.then_some("launches"));
    parts.extend(["machine", "dynamic_shared_memory", "columns/part"]);
    let kinds = plan.spec.input_kinds;
    if kinds.any(ArrayKind::is_neighbour) {
        parts.extend(["zipped/neighbours", "columns/neighbours"]);
    }
    parts.extend(kinds.any(|kind| kind == ArrayKind::Strided).then_some("columns/strided"));
    parts.extend(is_zipped(operator, plan).then_some("zipped/arrays"));
    parts.extend(["packed_row", "status"]);
    parts.extend([heads::masks(&Segments::None), "prefix"]);
    parts.extend(start::start(operator, &plan.spec));
    parts.push(algebra::opaque(operator));
    parts.extend(algebra::folds(operator));
    parts.extend([algebra::cursor(operator), "columns/rows", "columns/scan", "columns/carry", "columns/kernel"]);
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
    let input_arrays = array_words(&plan.inputs, plan.width, input_fields, one_input, spec.input_kinds, zipped);
    let output_arrays = array_words(&plan.outputs, plan.width, output_fields, one_output, spec.output_kinds, zipped);
    let lies = |array: &ArrayWords<'a>| (array.name, array.place.clone());
    let arrays = ArraysWords::new(slices(&input_arrays), slices(&output_arrays));
    let inputs = input_arrays.iter().map(lies);
    let arrays = match spec.input_kinds.are_slices() {
        true => arrays.inputs("Inputs", input_by_field, inputs),
        false => arrays.inputs_without_access("Inputs", inputs),
    };
    let types = TypesWords::new(text);
    let (first_row, next_row) = moves(&input_arrays);
    Rooms::default()
        .with(&HeadingWords::new(format!("{spec} along an axis"), "columns"))?
        .with(&if zipped { types.in_arrays(spec) } else { types })?
        .with(&KernelWords::new(spec, text, None).programmatic(plan.programmatic, true))?
        .with(&MachineWords::new(plan.delays, plan.packet_payload().into()))?
        .with(&arrays.outputs("Outputs", "OutputElement", output_arrays.iter().map(lies)))?
        .with(&AlgebraWords::new(operator, spec.kind == ScanKind::Exclusive, spec.emits(operator)))?
        // One for each time that the ring of statuses is filled, counted from 1, and none.
        .with(&StatusWords { published: "PackedRow", count: LAPS + 1 })?
        .with(&ColumnsWords {
            threads: plan.threads,
            resident: plan.resident,
            stages: STAGES,
            run: plan.run,
            width: plan.width,
            whole_columns: plan.has_whole_columns(),
            dimensions: ColumnLayout::DIMENSIONS,
            packed_words: plan.packed_words(),
            polled_at_once: plan.polled_at_once,
            rolled_steps: calls_combine(operator, plan.places(operator), plan.written_out),
            initial_values: spec.initial_values,
            total: match (spec.totals, spec.projects) {
                (false, _) => "",
                (true, false) => "carry_of(ends.of[w])",
                (true, true) => "output_at_end(op, ends.of[w])",
            },
            input_arrays,
            output_arrays,
            input_bytes: plan.input_bytes(),
            first_row,
            next_row,
            pieces: piece_words(plan),
        })
}

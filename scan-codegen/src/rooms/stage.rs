//! A tile in shared memory, array by array: how it is copied there, and where its results go.

use serde::Serialize;

use super::{
    Room, Words,
    arrays::{ArraysWords, Named, PlaceWords, SliceWords},
};
use crate::{
    array_kind::ArrayKind,
    computed::ComputedPlaces,
    constants::COPY_ALIGNMENT,
    operator::OpSource,
    operator_text::OperatorText,
    plan::Plan,
    ring::Ring,
    rooms::runs::in_words,
    spec::ScanSpec,
    zipped::{Zipped, ZippedArray},
};

/// What the templates of a stage speak of.
#[derive(Serialize)]
pub(crate) struct StageWords {
    inputs: Vec<ArrayWords>,
    outputs: Vec<ArrayWords>,
    /// The arrays of the output that lie in memory.
    targets: Vec<TargetWords>,
    /// Those arrays that are slices, and bytes of an element that lie in such.
    input_slices: Vec<StagedSlice>,
    output_slices: Vec<StagedSlice>,
    slice_bytes: u64,
    outputs_are_slices: bool,
    /// The places that the operator computes.
    place: Option<ComputedWords>,
    /// For how many results there is room in a stage: for those of a tile, or of a ring.
    slots: u32,
    /// How many elements lie before the input where tiles begin.
    head_padding: String,
    /// Whether results can only begin at words.
    output_in_words: bool,
}

impl Words for StageWords {
    const ROOM: Room = Room::Stage;
}

/// An array in a stage.
#[derive(Serialize)]
struct ArrayWords {
    name: String,
    ty: String,
    /// How its item is named within an element: `.field`, or nothing where the item is the element.
    field: String,
    bytes: u32,
    /// Where it begins, in bytes for each element of a tile.
    before: u32,
    /// A unit of a thread's run, how many units a run has, and the bytes of one.
    piece: String,
    units: u64,
    unit_bytes: u32,
}

/// An array of results that lies in memory.
#[derive(Serialize)]
struct TargetWords {
    name: String,
    ty: String,
    /// The type of what goes to a computed place.
    placed: String,
    /// Where it is in a stage.
    staged: String,
    slice: bool,
    /// Whether its items go to places that the operator computes.
    computed: bool,
}

/// A slice that is copied from memory, or to it.
#[derive(Serialize)]
struct StagedSlice {
    name: String,
    bytes: u32,
    before: u32,
}

/// The array of the places that the operator computes.
#[derive(Serialize)]
struct ComputedWords {
    name: String,
    /// The type of a place, and how many a result has.
    ty: &'static str,
    count: usize,
    before: u32,
}

/// An array of the input or of the output.
struct Array<'a> {
    name: &'a str,
    ty: &'a str,
    /// The type of what goes to a computed place: an item of the array, or, where it is an array itself, an item of
    /// that.
    placed: &'a str,
    field: String,
    array: ZippedArray,
}

impl<'a> Array<'a> {
    fn in_memory(&self) -> Named<'a> {
        (self.name, PlaceWords::new(self.name, self.ty, self.placed, &self.field, self.array.kind))
    }

    fn in_stage(&self) -> Named<'a> {
        (self.name, PlaceWords::new(self.name, self.ty, self.ty, &self.field, ArrayKind::Slice))
    }

    fn words(&self, run: u32) -> ArrayWords {
        let ZippedArray { bytes, before, unit, .. } = self.array;
        let unit_bytes = if unit > 0 { unit } else { bytes };
        ArrayWords {
            name: self.name.to_owned(),
            ty: self.ty.to_owned(),
            field: self.field.clone(),
            bytes,
            before,
            piece: if unit > 0 { format!("RunUnit<{unit}>") } else { self.ty.to_owned() },
            units: u64::from(run) * u64::from(bytes) / u64::from(unit_bytes.max(1)),
            unit_bytes,
        }
    }

    fn target(&self, is_ring: bool) -> TargetWords {
        let slots = if is_ring { "RING" } else { "TILE" };
        let ZippedArray { before, kind, .. } = self.array;
        TargetWords {
            name: self.name.to_owned(),
            ty: self.ty.to_owned(),
            placed: self.placed.to_owned(),
            staged: format!("stage + {slots} * {before}"),
            slice: kind == ArrayKind::Slice,
            computed: kind.is_computed(),
        }
    }
}

/// The arrays of a scan.
pub(crate) struct ScanArrays<'a> {
    spec: &'a ScanSpec,
    zipped: Option<&'a Zipped>,
    input_bytes: u64,
    /// Elements of a thread.
    run: u32,
    inputs: Vec<Array<'a>>,
    /// Those that a kernel has, the places that the operator computes first.
    outputs: Vec<Array<'a>>,
    places: Option<ComputedPlaces>,
    by_field: bool,
    output_in_words: bool,
    /// For how many results there is room in a stage: for those of a tile, or of a ring.
    slots: u32,
    is_ring: bool,
}

impl<'a> ScanArrays<'a> {
    pub(crate) fn new(operator: &OpSource, text: &'a OperatorText, plan: &'a Plan) -> Self {
        let Plan { spec, zipped, input_bytes, run, .. } = plan;
        let is_ring = plan.ring().is_some();
        let slots = if is_ring { Ring::slots(plan.tile) } else { plan.tile };
        let arrays = Self::of(operator, text, spec, zipped.as_ref());
        ScanArrays { input_bytes: *input_bytes, run: *run, slots, is_ring, ..arrays }
    }

    /// The same of kernels without stages.
    pub(crate) fn of(
        operator: &OpSource,
        text: &'a OperatorText,
        spec: &'a ScanSpec,
        zipped: Option<&'a Zipped>,
    ) -> Self {
        let arrays =
            |zipped: &[ZippedArray], fields: &'a [(String, String)], by_field: bool, one: (&'a str, &'a str)| {
                let fields = fields.iter().map(|(name, ty)| (&name[..], &ty[..])).filter(|_| by_field);
                let named = fields.chain((!by_field).then_some(one));
                let field = |name| if by_field { format!(".{name}") } else { String::new() };
                let arrays = named.zip(zipped).map(|((name, ty), array)| {
                    let (placed, field) = (ty, field(name));
                    Array { name, ty, placed, field, array: *array }
                });
                arrays.collect::<Vec<_>>()
            };
        let [inputs, outputs] = zipped.map_or([&[][..]; 2], |zipped| [&zipped.inputs, &zipped.outputs]);
        let by_field = spec.input.is_by_field(&operator.input);
        let output_by_field = spec.output.is_by_field(&operator.output);
        let inputs = arrays(inputs, &text.input_fields, by_field, ("elements", &text.input));
        let mut outputs = arrays(outputs, &text.output_fields, output_by_field, ("results", &text.output));
        let computed = spec.output_kinds.are_computed();
        let places = ComputedPlaces::of(spec, &operator.output).filter(|_| computed);
        if places.is_some_and(|places| places.several.is_some()) {
            outputs.iter_mut().zip(&text.output_items).for_each(|(array, item)| array.placed = item);
        }
        // Others without memory are not written.
        let mut index = 0..;
        outputs.retain(|array| {
            let is_place = index.next() == Some(0) && places.is_some();
            array.array.kind != ArrayKind::NoMemory || is_place
        });
        let output_in_words = in_words(spec.output, &operator.output);
        ScanArrays {
            spec,
            zipped,
            input_bytes: 1,
            run: 1,
            inputs,
            outputs,
            places,
            by_field,
            output_in_words,
            slots: 0,
            is_ring: false,
        }
    }

    /// The arrays of the output that lie in memory.
    fn targets(&self) -> &[Array<'a>] {
        &self.outputs[usize::from(self.places.is_some()).min(self.outputs.len())..]
    }

    /// The slices among arrays.
    fn slices<T>(arrays: &[Array<'a>], words: impl Fn(&Array<'a>) -> T) -> Vec<T> {
        arrays.iter().filter(|array| array.array.kind == ArrayKind::Slice).map(words).collect()
    }

    /// Of the array whose items lie at aligned addresses the most rarely, all others follow.
    fn hardest(&self) -> Option<&Array<'a>> {
        let slices = self.inputs.iter().filter(|array| array.array.kind == ArrayKind::Slice);
        slices.min_by_key(|array| copy_grain(array.array.bytes.into()))
    }

    /// Bytes of an item of that array.
    fn aligned_bytes(&self) -> u64 {
        self.hardest().map_or(self.input_bytes, |array| array.array.bytes.into())
    }

    /// What an address must be a multiple of so that some element before it lies where bulk copies can begin.
    pub(crate) fn copy_grain(&self) -> u64 {
        copy_grain(self.aligned_bytes())
    }

    /// The types by which kernels speak of all arrays.
    pub(crate) fn types(&self) -> ArraysWords {
        // In a stage all arrays are slices.
        self.types_in_memory().inputs("StageInputs", self.by_field, self.inputs.iter().map(Array::in_stage)).outputs(
            "StageOutputs",
            "StageElement",
            self.outputs.iter().map(Array::in_stage),
        )
    }

    /// The same of kernels without stages.
    pub(crate) fn types_in_memory(&self) -> ArraysWords {
        let slice = |array: &Array<'_>| SliceWords { name: array.name.to_owned(), bytes: array.array.bytes.into() };
        ArraysWords::new(Self::slices(&self.inputs, slice), Self::slices(&self.outputs, slice))
            .inputs("Inputs", self.by_field, self.inputs.iter().map(Array::in_memory))
            .outputs("Outputs", "OutputElement", self.targets().iter().map(Array::in_memory))
    }

    /// The types by which kernels speak of the arrays of results, where they have no others.
    pub(crate) fn types_of_results(&self) -> ArraysWords {
        ArraysWords::new(Vec::new(), Vec::new()).outputs(
            "Outputs",
            "OutputElement",
            self.targets().iter().map(Array::in_memory),
        )
    }

    pub(crate) fn stage(&self) -> StageWords {
        let slice = |array: &Array<'_>| {
            let ZippedArray { bytes, before, .. } = array.array;
            StagedSlice { name: array.name.to_owned(), bytes, before }
        };
        let input_slices = Self::slices(&self.inputs, slice);
        let place = self.places.zip(self.outputs.first()).map(|(places, array)| ComputedWords {
            name: array.name.to_owned(),
            ty: places.width.word(),
            count: places.several.unwrap_or(1),
            before: array.array.before,
        });
        let inverse = copy_inverse(self.aligned_bytes());
        let padding = |input: &str| format!("(unsigned)((size_t){input} / COPY_GRAIN * {inverse} % COPY_PERIOD)");
        let head_padding = match (self.zipped, self.hardest()) {
            (None, _) => padding("input"),
            (Some(_), Some(array)) => padding(&format!("input.{}", array.name)),
            (Some(_), None) => "0".to_owned(),
        };
        StageWords {
            inputs: self.inputs.iter().map(|array| array.words(self.run)).collect(),
            outputs: self.outputs.iter().map(|array| array.words(self.run)).collect(),
            targets: self.targets().iter().map(|array| array.target(self.is_ring)).collect(),
            slice_bytes: input_slices.iter().map(|slice| u64::from(slice.bytes)).sum(),
            input_slices,
            output_slices: Self::slices(&self.outputs, slice),
            outputs_are_slices: self.spec.output_kinds.are_slices(),
            place,
            slots: self.slots,
            head_padding,
            output_in_words: self.output_in_words,
        }
    }
}

/// Bulk copies begin at multiples of so many bytes.
const COPY_BYTES: u64 = COPY_ALIGNMENT as u64;

/// The largest power of two that divides elements of so many bytes, and is no larger than what bulk copies are aligned
/// to.
fn copy_grain(bytes: u64) -> u64 {
    1 << bytes.trailing_zeros().min(COPY_BYTES.trailing_zeros())
}

/// The inverse of `bytes / grain` modulo the elements between two addresses at which a bulk copy can begin: how many
/// elements before the input the last of them lies is a multiple of it. An odd number has an inverse modulo a power of
/// two.
fn copy_inverse(bytes: u64) -> u64 {
    let grain = copy_grain(bytes);
    let period = COPY_BYTES / grain;
    (1..period).find(|inverse| bytes / grain * inverse % period == 1).unwrap_or(1)
}

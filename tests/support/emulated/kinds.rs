//! Scans of arrays that are no slices.

use std::fmt::Debug;

use scan_codegen::{ArrayKind, ElementKind, OffsetWidth, ScanSpec, Segments};
use scan_runtime::{ScanElement, ScanOp};

use super::{
    Array, ArrayKind as Taken, Arrays, Emulator, EmulatorError, Fault, FaultKind, Memory, Program,
    program::{Expected, compare_total, elements},
};
use crate::columns;

/// What nothing has been written to.
const UNTOUCHED: u8 = 0xa5;

/// A place beyond the last of any array here. Its lower half alone is a place within each.
const FAR: usize = (1 << 32) + 1;

/// `len` different places among `count`, in no order; where `beyond` says so, three of them in the middle are beyond
/// the last: two have the bits of negative numbers, of 64 bits and, as [`bytes_of_places`] narrows them, of 32.
fn places(len: usize, count: usize, beyond: bool) -> Vec<usize> {
    let coprime =
        |&step: &usize| (1..=step).rev().find(|d| step.is_multiple_of(*d) && count.is_multiple_of(*d)) == Some(1);
    let step = (7..).find(coprime).unwrap_or(1);
    let place = |index: usize| match index {
        _ if beyond && index == len / 2 => FAR,
        _ if beyond && index == len / 2 + 1 => -1_i64 as usize,
        _ if beyond && index == len / 2 + 2 => i64::MIN as usize,
        _ => (index * step + 3) % count,
    };
    (0..len).map(place).collect()
}

/// They as kernels read them.
fn bytes_of_places(places: &[usize], width: OffsetWidth) -> Vec<u8> {
    match width {
        OffsetWidth::U32 => {
            let narrow = |place: usize| match place as i64 {
                i64::MIN => i32::MIN as u32,
                place => u32::try_from(place).unwrap_or(-1_i32 as u32),
            };
            places.iter().flat_map(|&place| narrow(place).to_le_bytes()).collect()
        }
        _ => places.iter().flat_map(|&place| (place as u64).to_le_bytes()).collect(),
    }
}

/// How many items the first field of such an element has; one, if it is no array.
fn several_of<T: ScanElement>() -> usize {
    match T::layout().kind {
        ElementKind::Struct(fields) => match fields.first().map(|field| &field.ty.kind) {
            Some(ElementKind::Array { len, .. }) => *len,
            _ => 1,
        },
        _ => 1,
    }
}

/// The arrays of an output, with what nothing has been written to, and what they hold after a run.
pub(super) struct OutputArrays {
    pub(super) arrays: Vec<Array>,
    /// The bytes of each that has memory, and those of an item.
    pub(super) wanted: Vec<(Vec<u8>, usize)>,
}

impl OutputArrays {
    /// Of arrays of the kinds that a spec tells of, with room for `len` results, of which these are the first. Each
    /// begins so many items beyond an aligned address.
    pub(super) fn new<T: ScanElement>(
        spec: &ScanSpec,
        expected: &[T],
        len: usize,
        offsets: &mut impl Iterator<Item = usize>,
    ) -> Self {
        let (mut outputs, mut wanted) = (Vec::new(), Vec::new());
        let split = columns::split(spec.output, expected);
        // Places of a result, and where all of them lie, one after the other.
        let several = several_of::<T>();
        let computed: Vec<usize> = split.first().map_or(Vec::new(), |(places, item)| {
            let place = |place: &[u8]| place.iter().rev().fold(0, |place, byte| place << 8 | usize::from(*byte));
            places.chunks(*item / several).map(place).collect()
        });
        for (index, (bytes, item)) in split.into_iter().enumerate() {
            let (kind, offset) = (spec.output_kinds.of(index), item * offsets.next().unwrap_or_default());
            outputs.push(match kind {
                ArrayKind::Places(width) => {
                    let (count, places) = (len + 2, places(len, len + 2, true));
                    let mut results = vec![UNTOUCHED; count * item];
                    for (&place, result) in places.iter().zip(bytes.chunks(item)).filter(|(place, _)| **place < count) {
                        results[place * item..][..item].copy_from_slice(result);
                    }
                    wanted.push((results, item));
                    let bytes = vec![UNTOUCHED; count * item];
                    Array { bytes, item, offset, first: 0, kind: Taken::Places(bytes_of_places(&places, width)) }
                }
                ArrayKind::Computed | ArrayKind::Consecutive => {
                    let (count, item) = (len * several + 2, item / several);
                    let mut results = vec![UNTOUCHED; count * item];
                    for (&place, result) in computed.iter().zip(bytes.chunks(item)).filter(|(place, _)| **place < count)
                    {
                        results[place * item..][..item].copy_from_slice(result);
                    }
                    wanted.push((results, item));
                    Array { bytes: vec![UNTOUCHED; count * item], item, offset, first: 0, kind: Taken::Computed }
                }
                ArrayKind::NoMemory => Array { kind: Taken::NoMemory, item, ..Array::default() },
                _ => {
                    let room = vec![UNTOUCHED; len * item];
                    let mut bytes = bytes;
                    bytes.resize(room.len(), UNTOUCHED);
                    wanted.push((bytes, item));
                    Array { bytes: room, item, offset, first: 0, kind: Taken::Slice }
                }
            });
        }
        OutputArrays { arrays: outputs, wanted }
    }
}

/// The first item that is another one than wanted.
pub(super) fn wrong_item(found: &[u8], wanted: &[(Vec<u8>, usize)]) -> Option<FaultKind> {
    let mut before = 0;
    for (array, (wanted, item)) in wanted.iter().enumerate() {
        let found = &found[before..before + wanted.len()];
        before += wanted.len();
        if let Some(index) = found.chunks(*item).zip(wanted.chunks(*item)).position(|(found, wanted)| found != wanted) {
            let item = |bytes: &[u8]| format!("{:?} of array {array}", &bytes[index * item..][..*item]);
            return Some(FaultKind::WrongOutput { index: index as u64, expected: item(wanted), found: item(found) });
        }
    }
    None
}

impl<Op: ScanOp<Output: Debug>> Program<Op> {
    /// As [`verify_columns`](Program::verify_columns), with arrays of the kinds that the plan tells of: some places are
    /// beyond the last item. What lies nowhere in the input is the index. Of a length in device memory `told` has that,
    /// and how many elements are to be scanned; what lies behind their results must stay what it is.
    ///
    /// # Errors
    ///
    /// As [`verify`](Program::verify).
    pub fn verify_kinds(
        &self,
        emulator: &Emulator,
        input: &[Op::Input],
        offsets: &[usize],
        told: Option<(u64, u64)>,
    ) -> Result<(), EmulatorError> {
        let (spec, len) = (&self.plan.spec, input.len());
        let mut offsets = offsets.iter().copied().chain(std::iter::repeat(0));
        let (mut inputs, mut items) = (Vec::new(), Vec::new());
        for (index, (mut bytes, item)) in columns::split(spec.input, input).into_iter().enumerate() {
            let (kind, offset) = (spec.input_kinds.of(index), item * offsets.next().unwrap_or_default());
            let array = match kind {
                ArrayKind::Places(width) => {
                    let (count, places) = (len + 3, places(len, len + 3, true));
                    let mut values = bytes[..item].repeat(count);
                    for (&place, found) in places.iter().zip(bytes.chunks(item)).filter(|(place, _)| **place < count) {
                        values[place * item..][..item].copy_from_slice(found);
                    }
                    for (&place, found) in places.iter().zip(bytes.chunks_mut(item)) {
                        found.copy_from_slice(&values[place.min(count - 1) * item..][..item]);
                    }
                    Array {
                        bytes: values,
                        item,
                        offset,
                        first: 0,
                        kind: Taken::Places(bytes_of_places(&places, width)),
                    }
                }
                ArrayKind::Previous | ArrayKind::Next => {
                    let rows = self.heads.as_ref().filter(|_| spec.segments == Segments::Rows);
                    let row = rows.map_or(len, |heads| heads.head_count() as usize);
                    let edge = columns::edge_of(&bytes[..item]);
                    let neighbour = |place| columns::neighbour_in_row(place, row, kind == ArrayKind::Next);
                    let (found, words) =
                        (columns::neighbours(&bytes, item, &edge, neighbour), columns::neighbour_words(row, &edge));
                    let values = std::mem::replace(&mut bytes, found);
                    Array { bytes: values, item, offset, first: 0, kind: Taken::Followed(words) }
                }
                ArrayKind::Bits => {
                    // The bits before the first item and behind the last one are set.
                    let first = 8 * (len % 3) + 1 + len % 7;
                    let mut bitmap = vec![!0; (first + len).div_ceil(8)];
                    for bit in (first..).zip(&bytes).filter_map(|(bit, is_set)| (*is_set == 0).then_some(bit)) {
                        bitmap[bit / 8] &= !(1 << (bit % 8));
                    }
                    let kind = Taken::Followed((first as u64).to_le_bytes().to_vec());
                    Array { bytes: bitmap, item, offset, first: 0, kind }
                }
                ArrayKind::NoMemory => {
                    let indices = bytes.chunks_mut(item).enumerate();
                    indices.for_each(|(index, item)| item.copy_from_slice(&index.to_le_bytes()[..item.len()]));
                    Array { kind: Taken::NoMemory, item, ..Array::default() }
                }
                _ => Array { bytes: bytes.clone(), item, offset, first: 0, kind: Taken::Slice },
            };
            inputs.push(array);
            items.extend(bytes);
        }
        let joined = columns::joined::<Op::Input>(spec.input, &items, len);
        // SAFETY: the bytes are those of inputs, but for numbers and for what any bytes are.
        let all: Vec<Op::Input> = unsafe { elements(&joined) };
        let input = &all[..told.map_or(len, |(_, wanted)| len.min(wanted as usize))];
        let Expected { output: expected, total, totals } = self.expected(input);
        let OutputArrays { arrays: outputs, wanted } = OutputArrays::new(spec, &expected, len, &mut offsets);
        let arrays = Arrays { inputs: &inputs, outputs: &outputs };
        let (holds, length) = (told.map(|_| UNTOUCHED), told.map_or(0, |(told, _)| told));
        let memory =
            Memory { output_bytes: Some(0), output_holds: holds, length, arrays: Some(arrays), ..Memory::default() };
        let run = self.run_memory(emulator, &all, memory, |_| ())?;
        if let Some(kind) = wrong_item(&run.output, &wanted) {
            return Err(Box::new(Fault::at_end(kind, &self.source.name, "the last kernel")).into());
        }
        if let Some(expected) = total.filter(|_| self.total_of(&all)) {
            compare_total(&expected, &run.total, &self.source, |total| self.op.project(total))?;
        }
        self.compare_totals(&totals, &run.total)
    }
}

//! Inputs and outputs that lie in several arrays: one for each field of an element.

use crate::{
    array_kind::{ArrayKind, ArrayKinds},
    element::ElementType,
    operator::OpSource,
    ring::Ring,
    spec::ScanSpec,
};

/// An array, as kernels move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ZippedArray {
    /// Bytes of an item.
    pub(crate) bytes: u32,
    /// Where it begins in a stage of shared memory, in bytes for each element of a tile.
    pub(crate) before: u32,
    /// Bytes in which a thread reads or writes its run; 0 where it does so item by item.
    pub(crate) unit: u32,
    pub(crate) kind: ArrayKind,
}

/// The arrays of a scan whose input, output or both have one for each field, or one that is no slice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Zipped {
    pub(crate) inputs: Vec<ZippedArray>,
    pub(crate) outputs: Vec<ZippedArray>,
    /// Whether each array of results takes the place of an array of elements, of items of the same size.
    pub(crate) in_place: bool,
    /// Where results at consecutive places are gathered, in a pipeline.
    pub(crate) ring: Option<Ring>,
}

impl Zipped {
    /// `None` where input and output are one slice each. `unit` gives the bytes in which a thread moves a run of items
    /// of this number of bytes.
    pub(crate) fn of(operator: &OpSource, spec: &ScanSpec, unit: impl Fn(u32) -> u32) -> Option<Self> {
        let ScanSpec { input, output, .. } = spec;
        let slices = spec.input_kinds.are_slices() && spec.output_kinds.are_slices();
        if slices && !input.is_by_field(&operator.input) && !output.is_by_field(&operator.output) {
            return None;
        }
        let array = |before: &mut u32, item: &ElementType, kind: ArrayKind| {
            let bytes = item.size as u32;
            let array = ZippedArray { bytes, before: *before, unit: unit(bytes), kind };
            *before = before.saturating_add(bytes);
            array
        };
        let all = |items: Vec<&ElementType>, kinds: ArrayKinds| {
            let (mut before, items) = (0, items.into_iter().enumerate());
            items.map(|(index, item)| array(&mut before, item, kinds.of(index))).collect::<Vec<_>>()
        };
        let inputs = all(input.items(&operator.input), spec.input_kinds);
        let mut outputs = all(output.items(&operator.output), spec.output_kinds);
        let ring = Ring::of(operator, spec);
        if let (Some(ring), Some((place, results))) = (ring, outputs.split_first_mut()) {
            // A ring has the results alone, so these come first.
            results.iter_mut().for_each(|result| result.before -= place.bytes);
            place.before = ring.result;
        }
        let taken = in_place_of(&inputs, &outputs).filter(|_| ring.is_none());
        let in_place = taken.is_some();
        for (output, before) in outputs.iter_mut().zip(taken.unwrap_or_default()) {
            output.before = before;
        }
        Some(Zipped { inputs, outputs, in_place, ring })
    }
}

/// Where the arrays of results begin if each takes the place of another array of elements.
fn in_place_of(inputs: &[ZippedArray], outputs: &[ZippedArray]) -> Option<Vec<u32>> {
    let mut free: Vec<_> = inputs.iter().collect();
    let places = outputs.iter().map(|output| {
        let found = free.iter().position(|input| input.bytes == output.bytes)?;
        Some(free.remove(found).before)
    });
    places.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrays, DeviceLimits, Overrides, Primitive, ScanSpec, operator::operator_of, plan};

    /// Fields of these primitives, in an operator whose output has those of `output`.
    fn operator(input: &[Primitive], output: &[Primitive]) -> OpSource {
        let structure = |name: &str, fields: &[Primitive]| {
            let fields = fields.iter().enumerate();
            let named = fields.map(|(index, field)| (format!("f{index}"), ElementType::primitive(*field)));
            ElementType::structure(name.to_owned(), named)
        };
        OpSource { input: structure("In", input), output: structure("Out", output), ..operator_of(4) }
    }

    #[test]
    fn results_overwrite_elements_of_the_same_size() {
        use Primitive::{F32, I32, U8, U64};
        let spec = ScanSpec::inclusive().with_arrays(Arrays::PerField, Arrays::PerField);
        let places = |input: &[Primitive], output: &[Primitive]| {
            let zipped = Zipped::of(&operator(input, output), &spec, |_| 0).unwrap();
            (zipped.in_place, zipped.outputs.iter().map(|array| array.before).collect::<Vec<_>>())
        };
        assert_eq!(places(&[U8, F32, I32], &[I32, F32, U8]), (true, vec![1, 5, 0]));
        assert_eq!(places(&[F32, U8], &[F32, F32]), (false, vec![0, 4]));
        assert_eq!(places(&[F32, F32], &[U64]), (false, vec![0]));
    }

    #[test]
    fn padding_is_not_moved() {
        let operator = operator(&[Primitive::U8, Primitive::F64], &[Primitive::F64]);
        let bytes = |input, output| {
            let spec = ScanSpec::inclusive().with_arrays(input, output);
            let plans = plan(&operator, &spec, &DeviceLimits::H200, &Overrides::default()).unwrap();
            let cost = plans.shortest().cost(100).unwrap();
            (cost.launches[0].global_read, cost.launches[0].global_written)
        };
        assert_eq!(bytes(Arrays::One, Arrays::One), (1600, 800));
        assert_eq!(bytes(Arrays::PerField, Arrays::One), (900, 800));
    }
}

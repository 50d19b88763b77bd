//! Results at consecutive places: the pipeline of look-ahead gathers those of a tile in a ring in shared memory, and
//! stores neighbours together. Other kernels scatter them.

use crate::{
    array_kind::ArrayKind,
    computed::ComputedPlaces,
    constants::{COPY_ALIGNMENT, WARP},
    operator::OpSource,
    spec::ScanSpec,
};

/// A ring of results, by their bytes, and those of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Ring {
    pub(crate) result: u32,
    place: u32,
}

impl Ring {
    /// `None` where results are not at consecutive places, one each.
    pub(crate) fn of(operator: &OpSource, spec: &ScanSpec) -> Option<Self> {
        let (place, results) =
            spec.output.items(&operator.output).split_first().map(|(place, rest)| (*place, rest.to_vec()))?;
        let are_consecutive = (1..=results.len()).all(|index| spec.output_kinds.of(index) == ArrayKind::Consecutive);
        let is_one = || ComputedPlaces::of(spec, &operator.output).is_some_and(|places| places.several.is_none());
        let result = results.iter().map(|item| item.size as u32).sum();
        (are_consecutive && is_one()).then_some(Ring { result, place: place.size as u32 })
    }

    /// How many results it holds: a power of two, so that the slot of a place is found by a mask, and all of a tile.
    pub(crate) fn slots(tile: u32) -> u32 {
        tile.checked_next_power_of_two().unwrap_or(u32::MAX)
    }

    /// Its bytes in a stage, with the places of what each warp of a team keeps.
    pub(crate) fn bytes(self, tile: u32, threads: u32) -> u32 {
        let warps = (threads / WARP).saturating_mul(2 * self.place);
        let bytes = Ring::slots(tile).saturating_mul(self.result).saturating_add(warps);
        bytes.checked_next_multiple_of(COPY_ALIGNMENT).unwrap_or(u32::MAX)
    }
}

//! Results at places that the operator computes.

use crate::{
    array_kind::ArrayKind,
    element::{ElementKind, ElementType, Primitive},
    segments::OffsetWidth,
    spec::ScanSpec,
};

/// The places that the first item of an output tells: one, to which the other items go, or an array of them. Then the
/// other items are arrays of as many, of which item `j` goes to place `j`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ComputedPlaces {
    /// How a place is read.
    pub(crate) width: OffsetWidth,
    /// How many places there are, where they are an array.
    pub(crate) several: Option<usize>,
}

impl ComputedPlaces {
    /// `None` where the first item of the output is no place, or an item that goes to computed places is not an array
    /// of as many.
    pub(crate) fn of(spec: &ScanSpec, output: &ElementType) -> Option<Self> {
        let items = spec.output.items(output);
        let (places, others) = items.split_first()?;
        let places = match &places.kind {
            ElementKind::Array { item, len } => ComputedPlaces { width: width_of(item)?, several: Some(*len) },
            _ => ComputedPlaces { width: width_of(places)?, several: None },
        };
        let fits = |item: &ElementType| match (&item.kind, places.several) {
            (_, None) => true,
            (ElementKind::Array { len, .. }, Some(several)) => *len == several,
            _ => false,
        };
        let computed = (1..).zip(others).filter(|(index, _)| spec.output_kinds.of(*index) == ArrayKind::Computed);
        (!others.is_empty() && computed.into_iter().all(|(_, item)| fits(item))).then_some(places)
    }
}

/// Places are read as unsigned numbers, so that a negative one is beyond every array.
fn width_of(place: &ElementType) -> Option<OffsetWidth> {
    match place.kind {
        ElementKind::Primitive(Primitive::U32 | Primitive::I32) => Some(OffsetWidth::U32),
        ElementKind::Primitive(Primitive::U64 | Primitive::Usize | Primitive::I64) => Some(OffsetWidth::U64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrayKinds, Arrays};

    #[test]
    fn places_must_be_integers_and_as_many_as_the_items() {
        let number = ElementType::primitive;
        let several = |primitive, len| ElementType::array(number(primitive), len);
        let places = |fields: &[ElementType]| {
            let named = fields.iter().enumerate().map(|(index, field)| (format!("f{index}"), field.clone()));
            let kinds = fields.iter().enumerate();
            let kinds = kinds.map(|(index, _)| if index == 0 { ArrayKind::NoMemory } else { ArrayKind::Computed });
            let spec = ScanSpec::inclusive().with_arrays(Arrays::One, Arrays::PerField);
            let spec = spec.with_kinds(ArrayKinds::default(), ArrayKinds::new(kinds));
            let places = ComputedPlaces::of(&spec, &ElementType::structure("Out".to_owned(), named));
            places.map(|places| (places.width, places.several))
        };
        let (narrow, byte) = (number(Primitive::U32), number(Primitive::U8));
        assert_eq!(places(&[narrow.clone(), byte.clone()]), Some((OffsetWidth::U32, None)));
        assert_eq!(places(&[number(Primitive::I32), byte.clone()]), Some((OffsetWidth::U32, None)));
        assert_eq!(places(&[number(Primitive::I64), byte.clone()]), Some((OffsetWidth::U64, None)));
        assert_eq!(places(&[number(Primitive::Usize), several(Primitive::U8, 3)]), Some((OffsetWidth::U64, None)));
        let pairs = [several(Primitive::U64, 2), several(Primitive::U8, 2), several(Primitive::F32, 2)];
        assert_eq!(places(&pairs), Some((OffsetWidth::U64, Some(2))));
        assert_eq!(places(&[several(Primitive::U32, 2), several(Primitive::U8, 2), several(Primitive::F32, 3)]), None);
        assert_eq!(places(&[several(Primitive::U32, 2), byte.clone()]), None);
        assert_eq!(places(&[byte.clone(), byte]), None);
        assert_eq!(places(&[narrow]), None);
    }
}

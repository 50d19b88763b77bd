//! Where the input and the output lie: one slice each, or arrays.

use serde::Serialize;

use crate::array_kind::ArrayKind;

/// How kernels speak of an array in memory.
#[derive(Clone, Serialize)]
pub(crate) struct PlaceWords {
    /// What stands for an array of the input, and for one of the output.
    source: String,
    target: String,
    /// How an element of the output, whose place in the array is the first, gives it its item of `result`.
    put: String,
    /// Where place i of the output is.
    #[serde(skip)]
    place: String,
}

impl PlaceWords {
    /// `ty` is the type of an item, `placed` that of what goes to a computed place, `field` how the item is named within an
    /// element.
    pub(crate) fn new(name: &str, ty: &str, placed: &str, field: &str, kind: ArrayKind) -> Self {
        let width = match kind {
            ArrayKind::Places(width) => width.word(),
            ArrayKind::Slice | ArrayKind::Computed | ArrayKind::NoMemory => "",
        };
        let (source, target) = match kind {
            ArrayKind::Slice => (format!("const {ty}*"), format!("{ty}*")),
            ArrayKind::Places(_) => (format!("Gathered<{ty}, {width}>"), format!("Scattered<{ty}, {width}>")),
            ArrayKind::Computed | ArrayKind::NoMemory => (format!("Indices<{ty}>"), format!("Computed<{placed}>")),
        };
        let (put, place) = match kind {
            ArrayKind::Slice => (format!("[0] = result{field}"), format!("&this->{name}[i]")),
            ArrayKind::Computed => {
                (format!(".put_result(result, &result{field})"), format!("this->{name} + (size_t)i"))
            }
            _ => (format!(".put(0, result{field})"), format!("this->{name} + (size_t)i")),
        };
        PlaceWords { source, target, put, place }
    }
}

/// Expressions of all arrays of the input, and of the output.
#[derive(Serialize)]
pub(crate) struct ArraysWords {
    /// Element i of the input, and the arrays from element `distance` on.
    input_element: String,
    inputs_behind: String,
    output_places: String,
    outputs_behind: String,
}

impl ArraysWords {
    /// The names of the input's arrays, and whether they are an element's fields; and the output's arrays.
    pub(crate) fn new<'a>(
        inputs: impl Iterator<Item = &'a str> + Clone,
        by_field: bool,
        outputs: impl Iterator<Item = (&'a str, &'a PlaceWords)> + Clone,
    ) -> Self {
        let list = |items: Vec<String>| format!("{{{}}}", items.join(", "));
        let elements: Vec<_> = inputs.clone().map(|name| format!("this->{name}[i]")).collect();
        let behind = |name: &str| format!("this->{name} + distance");
        ArraysWords {
            input_element: if by_field { list(elements) } else { elements.concat() },
            inputs_behind: list(inputs.map(behind).collect()),
            output_places: list(outputs.clone().map(|(_, place)| place.place.clone()).collect()),
            outputs_behind: list(outputs.map(|(name, _)| behind(name)).collect()),
        }
    }
}

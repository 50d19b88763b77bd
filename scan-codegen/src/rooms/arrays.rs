//! Where the input and the output lie: one slice each, or arrays.

use serde::Serialize;

use super::{Room, Words};
use crate::{array_kind::ArrayKind, plan::Plan};

/// How kernels speak of an array in memory.
#[derive(Clone)]
pub(crate) struct PlaceWords {
    /// What stands for an array of the input, and for one of the output.
    source: String,
    target: String,
    /// How an element of the output, whose place in the array is the first, gives it its item of `result`.
    put: String,
    /// Where place i of the output is.
    place: String,
}

impl PlaceWords {
    /// `ty` is the type of an item, `placed` that of what goes to a computed place, `field` how the item is named within an
    /// element.
    pub(crate) fn new(name: &str, ty: &str, placed: &str, field: &str, kind: ArrayKind) -> Self {
        let width = match kind {
            ArrayKind::Places(width) => width.word(),
            _ => "",
        };
        // The planner refuses kinds that are of inputs only, or of outputs only, as the other.
        let (source, target) = match kind {
            ArrayKind::Slice => (format!("const {ty}*"), format!("{ty}*")),
            ArrayKind::Places(_) => (format!("Gathered<{ty}, {width}>"), format!("Scattered<{ty}, {width}>")),
            ArrayKind::Computed | ArrayKind::Consecutive | ArrayKind::NoMemory => {
                (format!("Indices<{ty}>"), format!("Computed<{placed}>"))
            }
            ArrayKind::Previous => (format!("Neighbour<{ty}, 0>"), String::new()),
            ArrayKind::Next => (format!("Neighbour<{ty}, 1>"), String::new()),
            ArrayKind::Strided => (format!("Strided<{ty}>"), String::new()),
            ArrayKind::Bits => ("Bitmap".to_owned(), String::new()),
        };
        let (put, place) = match kind {
            ArrayKind::Slice => (format!("[0] = result{field}"), format!("&this->{name}[i]")),
            ArrayKind::Computed | ArrayKind::Consecutive => {
                (format!(".put_result(result, &result{field})"), format!("this->{name} + (size_t)i"))
            }
            _ => (format!(".put(0, result{field})"), format!("this->{name} + (size_t)i")),
        };
        PlaceWords { source, target, put, place }
    }
}

/// An array of the input or of the output: its name, and where it lies.
pub(crate) type Named<'a> = (&'a str, PlaceWords);

/// The types by which kernels speak of all arrays of the input, and of the output: in memory, and where that is another
/// type, in a stage.
#[derive(Serialize)]
pub(crate) struct ArraysWords {
    types: Vec<ArraysType>,
    input_slices: Vec<SliceWords>,
    output_slices: Vec<SliceWords>,
}

impl Words for ArraysWords {
    const ROOM: Room = Room::Arrays;
}

/// An array that is a slice: its name, and the bytes of an item.
#[derive(Serialize)]
pub(crate) struct SliceWords {
    pub(crate) name: String,
    pub(crate) bytes: u64,
}

/// A type with a member for each array.
#[derive(Serialize)]
struct ArraysType {
    name: &'static str,
    meaning: &'static str,
    /// The type of an element of the output, which is a place for each of its items.
    elements: Vec<&'static str>,
    members: Vec<Member>,
    /// How elements are found by their index. Arrays that a kernel reads in another way have none.
    access: Vec<Access>,
}

/// Element i, and the arrays from element `distance` on.
#[derive(Serialize)]
struct Access {
    item: &'static str,
    at: String,
    behind: String,
}

#[derive(Serialize)]
struct Member {
    name: String,
    ty: String,
    put: String,
}

impl Access {
    fn of(members: &[Member], item: &'static str, at: String) -> Self {
        let behind: Vec<_> = members.iter().map(|member| format!("this->{} + distance", member.name)).collect();
        Access { item, at, behind: format!("{{{}}}", behind.join(", ")) }
    }
}

impl ArraysWords {
    /// No types yet, of arrays among which these are slices.
    pub(crate) fn new(input_slices: Vec<SliceWords>, output_slices: Vec<SliceWords>) -> Self {
        ArraysWords { types: Vec::new(), input_slices, output_slices }
    }

    /// With a type of the arrays of the input. Of an element that lies in one array, `by_field` is false.
    pub(crate) fn inputs<'a>(
        self,
        name: &'static str,
        by_field: bool,
        arrays: impl Iterator<Item = Named<'a>>,
    ) -> Self {
        let mut words = self.inputs_without_access(name, arrays);
        if let Some(ArraysType { members, access, .. }) = words.types.last_mut() {
            let items: Vec<_> = members.iter().map(|member| format!("this->{}[i]", member.name)).collect();
            let at = if by_field { format!("{{{}}}", items.join(", ")) } else { items.concat() };
            access.push(Access::of(members, "Input", at));
        }
        words
    }

    /// The same, without access to elements by their index.
    pub(crate) fn inputs_without_access<'a>(
        mut self,
        name: &'static str,
        arrays: impl Iterator<Item = Named<'a>>,
    ) -> Self {
        let member = |(name, place): Named<'a>| Member { name: name.to_owned(), ty: place.source, put: String::new() };
        let members = arrays.map(member).collect();
        let meaning = "Where the input lies";
        self.types.push(ArraysType { name, meaning, elements: Vec::new(), members, access: Vec::new() });
        self
    }

    /// With a type of the arrays of the output, whose elements are of type `element`.
    pub(crate) fn outputs<'a>(
        mut self,
        name: &'static str,
        element: &'static str,
        arrays: impl Iterator<Item = Named<'a>>,
    ) -> Self {
        let member = |(name, place): Named<'a>| {
            (Member { name: name.to_owned(), ty: place.target, put: place.put }, place.place)
        };
        let (members, places): (Vec<_>, Vec<_>) = arrays.map(member).unzip();
        let access = vec![Access::of(&members, element, format!("{{{}}}", places.join(", ")))];
        let meaning = "Where the output goes";
        self.types.push(ArraysType { name, meaning, elements: vec![element], members, access });
        self
    }
}

/// The bytes of an element, and of a result, in a stage.
pub(crate) fn sizes(plan: &Plan) -> [String; 2] {
    match plan.zipped {
        Some(_) => [plan.input_bytes, plan.output_bytes].map(|bytes| bytes.to_string()),
        None => ["Input", "Output"].map(|element| format!("sizeof({element})")),
    }
}

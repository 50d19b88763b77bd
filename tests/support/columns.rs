//! What scans over several arrays are tested with: operators whose inputs and outputs have fields of several sizes, and
//! the arrays of their fields.

use scan_codegen::{Arrays, ElementKind};
use scan_runtime::{__private::bytes_of, ScanElement, ScanOp, ops, scan_element, scan_op};

use crate::{
    lifting::{self, Mapping, Narrow},
    operators::{AffineU32, MapU32, mixed},
    stepped::{Appending, Coder},
};

/// Three fields of three sizes, with padding between them.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// One byte.
    pub kind: u8,
    /// Four bytes.
    pub value: f32,
    /// Six bytes, aligned to two.
    pub code: [u16; 3],
}

/// Two fields, none of the size of another's of [`Reading`] in its place.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The offset of the map.
    pub hash: u32,
    /// The last byte of its factor.
    pub factor: u8,
}

/// Larger than any field of [`Reading`].
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wide {
    /// The whole map.
    pub map: u64,
    /// And a part of it.
    pub part: [u8; 3],
}

/// The coefficients of a recurrence.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// What the state is multiplied with.
    pub gate: u32,
    /// What is added then.
    pub token: u32,
}

macro_rules! over_readings {
    ($(#[$attribute:meta])* $name:ident -> $output:ty, |$map:ident| $project:expr) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        #[scan_op]
        impl ScanOp for $name {
            type Input = Reading;
            type State = MapU32;
            type Output = $output;
            const IDENTITY: MapU32 = MapU32 { a: 1, b: 0 };
            fn lift(x: Reading) -> MapU32 {
                let low = x.kind as u32 + 251 * (x.value as u32);
                let high = x.code[0] as u32 + 7 * (x.code[1] as u32) + 31 * (x.code[2] as u32);
                MapU32 { a: 2 * low + 1, b: low.wrapping_mul(65599) ^ high }
            }
            fn combine(f: MapU32, g: MapU32) -> MapU32 {
                MapU32 { b: g.a.wrapping_mul(f.b).wrapping_add(g.b), a: f.a.wrapping_mul(g.a) }
            }
            fn project($map: MapU32) -> $output {
                $project
            }
        }
    };
}

over_readings!(
    /// Three arrays to two, each of which takes the place of one.
    Summarize -> Summary, |map| Summary { hash: map.b, factor: map.a as u8 }
);
over_readings!(
    /// Three arrays to two that take no places.
    Widen -> Wide, |map| Wide { map: (map.a as u64) << 32 | map.b as u64, part: [map.a as u8, map.b as u8, 7] }
);

/// `h = gate * h + token` over two arrays to one: the recurrence.
#[derive(Clone, Copy, Debug)]
pub struct Recurrence;

#[scan_op]
impl ScanOp for Recurrence {
    type Input = Step;
    type State = MapU32;
    type Output = u32;
    const IDENTITY: MapU32 = MapU32 { a: 1, b: 0 };
    fn lift(x: Step) -> MapU32 {
        MapU32 { a: x.gate, b: x.token }
    }
    fn combine(f: MapU32, g: MapU32) -> MapU32 {
        MapU32 { b: g.a.wrapping_mul(f.b).wrapping_add(g.b), a: f.a.wrapping_mul(g.a) }
    }
    fn project(map: MapU32) -> u32 {
        map.b
    }
}

/// What is to be added to a register, and where the register goes then.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parcel {
    /// Where it goes.
    pub place: u32,
    /// What moves the register.
    pub step: Step,
}

/// A register, and its place, which comes first.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delivery {
    /// Where the others go; nowhere if it is beyond them.
    pub place: u32,
    /// The register.
    pub register: u32,
    /// Its lowest byte.
    pub low: u8,
}

/// A stepped operator that computes where its outputs go, of which some go nowhere.
#[derive(Clone, Copy, Debug)]
pub struct Router;

#[scan_op]
impl ScanOp for Router {
    type Input = Parcel;
    type State = MapU32;
    type Carry = u32;
    type Output = Delivery;
    const IDENTITY: MapU32 = MapU32 { a: 1, b: 0 };
    const START: u32 = 5;
    fn lift(x: Parcel) -> MapU32 {
        MapU32 { a: x.step.gate, b: x.step.token }
    }
    fn combine(f: MapU32, g: MapU32) -> MapU32 {
        MapU32 { b: g.a.wrapping_mul(f.b).wrapping_add(g.b), a: f.a.wrapping_mul(g.a) }
    }
    fn apply(map: MapU32, register: u32) -> u32 {
        map.a.wrapping_mul(register).wrapping_add(map.b)
    }
    fn step(register: u32, x: Parcel) -> u32 {
        x.step.gate.wrapping_mul(register).wrapping_add(x.step.token)
    }
    fn emit(register: u32, x: Parcel) -> Delivery {
        let after = x.step.gate.wrapping_mul(register).wrapping_add(x.step.token);
        Delivery { place: if register & 3 == 0 { u32::MAX } else { x.place }, register: after, low: after as u8 }
    }
    fn project(register: u32) -> Delivery {
        Delivery { place: u32::MAX, register, low: 0 }
    }
}

impl ColumnsOperator for Router {
    fn new() -> Self {
        Router
    }
    /// Their places are different ones, and one of them is that behind the output.
    fn inputs(len: usize, seed: u64) -> Vec<Parcel> {
        let place = |i: usize| ((i as u64 * 7919 + seed % 64) % (len as u64 + 3)) as u32;
        Recurrence::inputs(len, seed)
            .into_iter()
            .enumerate()
            .map(|(i, step)| Parcel { place: place(i), step })
            .collect()
    }
    fn initial_value() -> u32 {
        9
    }
}

/// An operator over several arrays, with inputs for it.
pub trait ColumnsOperator: ScanOp + Clone + Send + Sync {
    /// The operator.
    fn new() -> Self;
    /// An input of so many elements. Its values follow from `seed`.
    fn inputs(len: usize, seed: u64) -> Vec<Self::Input>;
    /// A carry that is not the one it begins with.
    fn initial_value() -> Self::Carry;
}

macro_rules! columns_operators {
    ($($name:ident, |$bits:ident| $input:expr;)*) => {$(
        impl ColumnsOperator for $name {
            fn new() -> Self {
                $name
            }
            fn inputs(len: usize, seed: u64) -> Vec<Self::Input> {
                (0..len as u64).map(|i| { let $bits = mixed(seed ^ i << 20); $input }).collect()
            }
            fn initial_value() -> MapU32 {
                MapU32 { a: 5, b: 77 }
            }
        }
    )*};
}

columns_operators! {
    Summarize, |bits| reading(bits);
    Widen, |bits| reading(bits);
    Recurrence, |bits| Step { gate: bits as u32 | 1, token: (bits >> 32) as u32 };
    AffineU32, |bits| MapU32 { a: bits as u32 | 1, b: (bits >> 32) as u32 };
}

impl ColumnsOperator for Appending {
    fn new() -> Self {
        Appending
    }
    fn inputs(len: usize, _: u64) -> Vec<Narrow> {
        lifting::inputs(len)
    }
    fn initial_value() -> Mapping {
        lifting::INITIAL_VALUE
    }
}

impl ColumnsOperator for Coder {
    fn new() -> Self {
        Coder
    }
    fn inputs(len: usize, _: u64) -> Vec<Narrow> {
        lifting::inputs(len)
    }
    fn initial_value() -> u32 {
        77
    }
}

impl<Op: ColumnsOperator, const SKIP: bool> ColumnsOperator for ops::OverNullable<Op, SKIP> {
    fn new() -> Self {
        ops::OverNullable { op: Op::new() }
    }
    fn inputs(len: usize, seed: u64) -> Vec<Self::Input> {
        // One in a few hundred is null, so that it is seen where the last one was; all of some inputs.
        let is_valid = |i: usize| seed % 5 != 4 && !mixed(i as u64 ^ seed << 30).is_multiple_of(257);
        let nullable = |(i, value)| ops::Nullable { value, valid: is_valid(i) };
        Op::inputs(len, seed).into_iter().enumerate().map(nullable).collect()
    }
    fn initial_value() -> Self::Carry {
        ops::Nullable { value: Op::initial_value(), valid: true }
    }
}

/// Of bits alone.
impl ColumnsOperator for ops::BitXor<bool> {
    fn new() -> Self {
        ops::bit_xor()
    }
    fn inputs(len: usize, seed: u64) -> Vec<bool> {
        (0..len as u64).map(|i| mixed(seed ^ i << 20) % 2 == 1).collect()
    }
    fn initial_value() -> bool {
        true
    }
}

fn reading(bits: u64) -> Reading {
    Reading {
        kind: bits as u8,
        value: ((bits >> 8) as u16).into(),
        code: [(bits >> 24) as u16, (bits >> 40) as u16, (bits >> 48) as u16],
    }
}

/// The bytes of each array in which elements lie, and bytes of an item of it.
pub fn split<T: ScanElement>(layout: Arrays, elements: &[T]) -> Vec<(Vec<u8>, usize)> {
    let places = places(layout, &T::layout());
    let bytes: Vec<Vec<u8>> = elements.iter().map(bytes_of).collect();
    let items = |&(first, size): &(usize, usize)| {
        (bytes.iter().flat_map(|element| element[first..first + size].to_vec()).collect(), size)
    };
    places.iter().map(items).collect()
}

/// The bytes of `len` elements that lie in arrays of which these are the bytes, one after the other. Padding is zeros.
pub fn joined<T: ScanElement>(layout: Arrays, arrays: &[u8], len: usize) -> Vec<u8> {
    let places = places(layout, &T::layout());
    let mut bytes = vec![0; len * size_of::<T>()];
    let mut before = 0;
    for (first, size) in places {
        for index in 0..len {
            let item = &arrays[before + index * size..][..size];
            bytes[index * size_of::<T>() + first..][..size].copy_from_slice(item);
        }
        before += len * size;
    }
    bytes
}

/// Where the item of each array lies in an element, and its bytes.
fn places(layout: Arrays, element: &scan_codegen::ElementType) -> Vec<(usize, usize)> {
    match (&element.kind, layout) {
        (ElementKind::Struct(fields), Arrays::PerField) => {
            fields.iter().map(|field| (field.offset, field.ty.size)).collect()
        }
        _ => vec![(0, element.size)],
    }
}

/// The items of an array, of which each in turn becomes the neighbour of the one at its place: `neighbour` gives the
/// place of that, or none at an edge.
pub fn neighbours(bytes: &[u8], item: usize, edge: &[u8], neighbour: impl Fn(usize) -> Option<usize>) -> Vec<u8> {
    let of_place = |place| neighbour(place).map_or(edge, |found| &bytes[found * item..][..item]);
    (0..bytes.len() / item).flat_map(of_place).copied().collect()
}

/// The neighbour of a place in rows of so many items.
pub fn neighbour_in_row(place: usize, row: usize, after: bool) -> Option<usize> {
    match after {
        true => (!(place + 1).is_multiple_of(row)).then_some(place + 1),
        false => (!place.is_multiple_of(row)).then(|| place - 1),
    }
}

/// An edge value that is no item of an array that begins with these bytes.
pub fn edge_of(first: &[u8]) -> Vec<u8> {
    first.iter().map(|byte| !byte).collect()
}

/// What kernels are given behind the pointer to the items of which they read the neighbours.
pub fn neighbour_words(row: usize, edge: &[u8]) -> Vec<u8> {
    let mut words = [0_u64, row as u64].map(u64::to_le_bytes).concat();
    words.extend(edge);
    words.resize(words.len().next_multiple_of(8), 0);
    words
}

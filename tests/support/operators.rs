//! The operators that every test of an algorithm runs: one that proves a network for all operators, many that are not
//! commutative, and elements of every size.

use std::ops::Range;

use scan_codegen::{ElementKind, ElementType};
use scan_runtime::half::{bf16, f16};
use scan_runtime::{ScanElement, ScanOp, ops, scan_element, scan_op};

/// An operator with inputs to test it on.
///
/// Inputs are such that every grouping gives the same bits: integers, and floats whose partial results are exact.
pub trait TestOperator:
    ScanOp<Input = Self::Item, State = Self::Item, Carry = Self::Item, Output = Self::Item> + Clone
{
    /// What is read, combined and written.
    type Item: ScanElement + std::fmt::Debug;
    /// The operator.
    fn new() -> Self;
    /// The input at a position.
    fn input(index: u64) -> Self::Item;
    /// An initial value that is not the identity.
    fn initial_value() -> Self::Item;
}

/// Does something with each of the operators.
pub trait Visitor {
    /// Called once an operator.
    fn visit<Op: TestOperator>(&mut self, name: &str);
}

macro_rules! all_operators {
    ($($name:literal => $op:ty),* $(,)?) => {
        /// Visits every operator.
        pub fn visit_all(visitor: &mut impl Visitor) {
            $(visitor.visit::<$op>($name);)*
        }
    };
}

all_operators! {
    "interval" => Interval,
    "sum_u8" => ops::Sum<u8>,
    "sum_i16" => ops::Sum<i16>,
    "sum_i32" => ops::Sum<i32>,
    "sum_u64" => ops::Sum<u64>,
    "sum_i128" => ops::Sum<i128>,
    "sum_usize" => ops::Sum<usize>,
    "sum_f32" => ops::Sum<f32>,
    "sum_f64" => ops::Sum<f64>,
    "sum_f16" => ops::Sum<f16>,
    "product_u32" => ops::Product<u32>,
    "max_f32" => ops::Max<f32>,
    "max_bf16" => ops::Max<bf16>,
    "min_i64" => ops::Min<i64>,
    "bit_xor_u16" => ops::BitXor<u16>,
    "bit_and_u32" => ops::BitAnd<u32>,
    "bit_or_i8" => ops::BitOr<i8>,
    "all" => ops::All,
    "any" => ops::Any,
    "take_left" => TakeLeft,
    "take_right" => TakeRight,
    "affine_u32" => AffineU32,
    "compose" => compose,
    "brackets" => Brackets,
    "permutation" => Permute,
    "polynomial_hash" => PolynomialHash,
    "bytes3" => Bytes3Sum,
    "mixed12" => MixedSum,
    "matrix2" => MatrixProduct<2>,
    "matrix3" => MatrixProduct<3>,
    "matrix4" => MatrixProduct<4>,
    "matrix8" => MatrixProduct<8>,
}

/// Numbers that look random and are the same everywhere (SplitMix64).
pub fn mixed(index: u64) -> u64 {
    let mut z = index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// -1, 0 or 1: floats whose sums are exact at any length that a test has time for.
fn unit(index: u64) -> i64 {
    (mixed(index) % 3) as i64 - 1
}

// ---- the interval monoid ----------------------------------------------------

/// An element of the interval monoid: nothing, an interval of positions, or the trace of a mistake.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The first position.
    pub first: u64,
    /// The last position.
    pub last: u64,
    /// [`EMPTY`], [`COVERS`] or [`BROKEN`].
    pub kind: u64,
}

/// Covers nothing: the identity.
pub const EMPTY: u64 = 0;
/// Covers the positions from the first to the last.
pub const COVERS: u64 = 1;
/// Two partial results were combined that are not neighbours in this order; never mended by what follows.
pub const BROKEN: u64 = 2;

/// Adjacent intervals join; anything else is an error that stays. If position `i` of a scan's output is the interval from
/// the first position to `i`, then the network is right for every associative operator.
#[derive(Clone, Copy, Debug)]
pub struct Interval;

#[scan_op]
impl ScanOp for Interval {
    type Element = Span;
    const IDENTITY: Span = Span { first: 0, last: 0, kind: EMPTY };
    fn combine(a: Span, b: Span) -> Span {
        if a.kind == EMPTY {
            b
        } else if b.kind == EMPTY {
            a
        } else if a.kind == COVERS && b.kind == COVERS && a.last + 1 == b.first {
            Span { first: a.first, last: b.last, kind: COVERS }
        } else {
            Span { first: 0, last: 0, kind: BROKEN }
        }
    }
}

/// An [`Interval`] without an identity.
#[derive(Clone, Copy, Debug)]
pub struct Joined;

#[scan_op]
impl ScanOp for Joined {
    type Element = Span;
    fn combine(a: Span, b: Span) -> Span {
        if a.kind == COVERS && b.kind == COVERS && a.last + 1 == b.first {
            Span { first: a.first, last: b.last, kind: COVERS }
        } else {
            Span { first: 0, last: 0, kind: BROKEN }
        }
    }
}

/// Whether two partial results of [`Interval`] are neighbours in this order, or one of them is the identity.
pub fn adjacent(a: &Span, b: &Span) -> bool {
    let neighbours = a.kind == COVERS && b.kind == COVERS && a.last + 1 == b.first;
    a.kind != BROKEN && b.kind != BROKEN && (a.kind == EMPTY || b.kind == EMPTY || neighbours)
}

/// An operator a line: its generic parameters, its type, how to make it, its inputs, an initial value.
macro_rules! test_operators {
    ($(($($generics:tt)*) $op:ty, $new:expr, $input:expr, $initial:expr;)*) => {$(
        impl<$($generics)*> $crate::operators::TestOperator for $op {
            type Item = <Self as scan_runtime::ScanOp>::State;
            fn new() -> Self {
                $new
            }
            fn input(index: u64) -> Self::Item {
                let input: fn(u64) -> Self::Item = $input;
                input(index)
            }
            fn initial_value() -> Self::Item {
                $initial
            }
        }
    )*};
}

pub(crate) use test_operators;

test_operators! {
    () Interval, Interval, |i| Span { first: i + 1, last: i + 1, kind: COVERS }, Span { first: 0, last: 0, kind: COVERS };
}

// ---- ready operators --------------------------------------------------------

test_operators! {
    () ops::Sum<u8>, ops::sum(), |i| mixed(i) as u8, 7;
    () ops::Sum<i16>, ops::sum(), |i| mixed(i) as i16, -7;
    () ops::Sum<i32>, ops::sum(), |i| mixed(i) as i32, 1_000_003;
    () ops::Sum<u64>, ops::sum(), mixed, 5;
    () ops::Sum<i128>, ops::sum(), |i| (i128::from(mixed(i)) << 64) | i128::from(mixed(!i)), -5;
    () ops::Sum<usize>, ops::sum(), |i| mixed(i) as usize, 11;
    () ops::Sum<f32>, ops::sum(), |i| unit(i) as f32, 0.5;
    () ops::Sum<f64>, ops::sum(), |i| unit(i) as f64 * 0.25, 0.5;
    () ops::Sum<f16>, ops::sum(), |i| f16::from_f32(if mixed(!i).is_multiple_of(32) { unit(i) as f32 } else { 0.0 }), f16::ONE;
    () ops::Product<u32>, ops::product(), |i| mixed(i) as u32 | 1, 3;
    () ops::Max<f32>, ops::max(), |i| mixed(i) as u32 as f32 * 0.5, 1.0e9;
    () ops::Max<bf16>, ops::max(), |i| bf16::from_bits(mixed(i) as u16 & 0x7f7f), bf16::from_f32(1.0e9);
    () ops::Min<i64>, ops::min(), |i| mixed(i) as i64, 12;
    () ops::BitXor<u16>, ops::bit_xor(), |i| mixed(i) as u16, 0x5555;
    () ops::BitAnd<u32>, ops::bit_and(), |i| !(1_u32.checked_shl((mixed(i) % 4096) as u32).unwrap_or(0)), 0xffff_fff7;
    () ops::BitOr<i8>, ops::bit_or(), |i| if mixed(i).is_multiple_of(1000) { mixed(!i) as i8 } else { 0 }, 1;
    () ops::All, ops::all(), |i| !mixed(i).is_multiple_of(1000), true;
    () ops::Any, ops::any(), |i| mixed(i).is_multiple_of(1000), false;
}

// ---- operators that are not commutative -------------------------------------

/// The first value that is not zero.
#[derive(Clone, Copy, Debug)]
pub struct TakeLeft;

#[scan_op]
impl ScanOp for TakeLeft {
    type Element = u32;
    const IDENTITY: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        if a != 0 { a } else { b }
    }
}

/// The last value that is not zero.
#[derive(Clone, Copy, Debug)]
pub struct TakeRight;

#[scan_op]
impl ScanOp for TakeRight {
    type Element = u16;
    const IDENTITY: u16 = 0;
    fn combine(a: u16, b: u16) -> u16 {
        if b != 0 { b } else { a }
    }
}

/// An affine map over the integers modulo 2³².
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapU32 {
    /// The factor.
    pub a: u32,
    /// The offset.
    pub b: u32,
}

/// The composition of affine maps over the integers, the earlier applied first.
#[derive(Clone, Copy, Debug)]
pub struct AffineU32;

#[scan_op]
impl ScanOp for AffineU32 {
    type Element = MapU32;
    const IDENTITY: MapU32 = MapU32 { a: 1, b: 0 };
    fn combine(f: MapU32, g: MapU32) -> MapU32 {
        MapU32 { b: g.a.wrapping_mul(f.b).wrapping_add(g.b), a: f.a.wrapping_mul(g.a) }
    }
}

/// An affine map over the reals.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    /// The factor.
    pub a: f32,
    /// The offset.
    pub b: f32,
}

/// The composition of affine maps, the earlier applied first: the scan of a linear recurrence.
#[scan_op(identity = Affine { a: 1.0, b: 0.0 })]
pub fn compose(f: Affine, g: Affine) -> Affine {
    Affine { a: f.a * g.a, b: g.a * f.b + g.b }
}

/// What is left of a string of brackets when the matching ones are gone: the bicyclic monoid.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unmatched {
    /// Closing brackets, which come first.
    pub close: u32,
    /// Opening brackets, which come after them.
    pub open: u32,
}

/// Bracket matching.
#[derive(Clone, Copy, Debug)]
pub struct Brackets;

#[scan_op]
impl ScanOp for Brackets {
    type Element = Unmatched;
    const IDENTITY: Unmatched = Unmatched { close: 0, open: 0 };
    fn combine(a: Unmatched, b: Unmatched) -> Unmatched {
        let matched = a.open.min(b.close);
        Unmatched { close: a.close + b.close - matched, open: a.open + b.open - matched }
    }
}

/// Where each of five things goes.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Permutation {
    /// The place of each.
    pub image: [u8; 5],
}

/// The composition of permutations of five, a group that is not solvable.
#[derive(Clone, Copy, Debug)]
pub struct Permute;

#[scan_op]
impl ScanOp for Permute {
    type Element = Permutation;
    const IDENTITY: Permutation = Permutation { image: [0, 1, 2, 3, 4] };
    fn combine(a: Permutation, b: Permutation) -> Permutation {
        let mut image = a.image;
        for i in 0..5_usize {
            image[i] = b.image[a.image[i] as usize];
        }
        Permutation { image }
    }
}

/// A string's hash, and the base to the power of its length.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hash {
    /// The base to the power of the length.
    pub power: u32,
    /// The polynomial of the characters.
    pub hash: u32,
}

/// The modulus of [`PolynomialHash`]: a prime.
pub const MODULUS: u64 = 998_244_353;

/// The hash of a concatenation.
#[derive(Clone, Copy, Debug)]
pub struct PolynomialHash;

#[scan_op]
impl ScanOp for PolynomialHash {
    type Element = Hash;
    const IDENTITY: Hash = Hash { power: 1, hash: 0 };
    fn combine(a: Hash, b: Hash) -> Hash {
        let power = a.power as u64 * b.power as u64 % MODULUS;
        let hash = (a.hash as u64 * b.power as u64 + b.hash as u64) % MODULUS;
        Hash { power: power as u32, hash: hash as u32 }
    }
}

// ---- elements of odd sizes --------------------------------------------------

/// An element of three bytes.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bytes3(pub u8, pub u8, pub u8);

/// Sums three bytes, each on its own.
#[derive(Clone, Copy, Debug)]
pub struct Bytes3Sum;

#[scan_op]
impl ScanOp for Bytes3Sum {
    type Element = Bytes3;
    const IDENTITY: Bytes3 = Bytes3(0, 0, 0);
    fn combine(a: Bytes3, b: Bytes3) -> Bytes3 {
        Bytes3(a.0.wrapping_add(b.0), a.1.wrapping_add(b.1), a.2.wrapping_add(b.2))
    }
}

/// A struct in a struct, twelve bytes, two of them padding.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixed {
    /// How many.
    pub count: u16,
    /// The inner struct, aligned to four bytes.
    pub inner: MapU32,
}

/// Sums the outer part and composes the inner one.
#[derive(Clone, Copy, Debug)]
pub struct MixedSum;

#[scan_op]
impl ScanOp for MixedSum {
    type Element = Mixed;
    const IDENTITY: Mixed = Mixed { count: 0, inner: MapU32 { a: 1, b: 0 } };
    fn combine(x: Mixed, y: Mixed) -> Mixed {
        let inner = MapU32 {
            a: x.inner.a.wrapping_mul(y.inner.a),
            b: y.inner.a.wrapping_mul(x.inner.b).wrapping_add(y.inner.b),
        };
        Mixed { inner, count: x.count.wrapping_add(y.count) }
    }
}

/// A square matrix of integers modulo 2³².
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matrix<const N: usize> {
    /// The rows.
    pub rows: [[u32; N]; N],
}

/// The matrix product: 16, 36, 64 and 256 bytes for 2, 3, 4 and 8 rows.
#[derive(Clone, Copy, Debug)]
pub struct MatrixProduct<const N: usize>;

#[scan_op]
impl<const N: usize> ScanOp for MatrixProduct<N> {
    type Element = Matrix<N>;
    const IDENTITY: Matrix<N> = identity_matrix();
    fn combine(a: Matrix<N>, b: Matrix<N>) -> Matrix<N> {
        let mut rows = [[0_u32; N]; N];
        for i in 0..N {
            for j in 0..N {
                for k in 0..N {
                    rows[i][j] = rows[i][j].wrapping_add(a.rows[i][k].wrapping_mul(b.rows[k][j]));
                }
            }
        }
        Matrix { rows }
    }
}

const fn identity_matrix<const N: usize>() -> Matrix<N> {
    let mut rows = [[0; N]; N];
    let mut i = 0;
    while i < N {
        rows[i][i] = 1;
        i += 1;
    }
    Matrix { rows }
}

/// Sixty-four counters, which count together: 256 bytes, for which little is computed.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counters {
    /// The counts.
    pub counts: [u32; 64],
}

/// Their sum.
#[derive(Clone, Copy, Debug)]
pub struct CountersSum;

#[scan_op]
impl ScanOp for CountersSum {
    type Element = Counters;
    const IDENTITY: Counters = Counters { counts: [0; 64] };
    fn combine(a: Counters, b: Counters) -> Counters {
        let mut counts = a.counts;
        for i in 0..64 {
            counts[i] = counts[i].wrapping_add(b.counts[i]);
        }
        Counters { counts }
    }
}

/// The product of two polynomials over the field of two elements, modulo x^8: bit by bit, which takes many instructions.
#[derive(Clone, Copy, Debug)]
pub struct BitProduct;

#[scan_op]
impl ScanOp for BitProduct {
    type Element = u8;
    const IDENTITY: u8 = 1;
    fn combine(a: u8, b: u8) -> u8 {
        let (a, b) = (a as u32, b as u32);
        let mut product = 0_u32;
        for i in 0..8_u32 {
            for j in 0..8_u32 {
                product ^= (a >> i & b >> j & 1) << (i + j);
            }
        }
        product as u8
    }
}

test_operators! {
    () BitProduct, BitProduct, |i| mixed(i) as u8 | 1, 7;
    () TakeLeft, TakeLeft, |i| if mixed(i).is_multiple_of(7) { i as u32 + 1 } else { 0 }, 0;
    () TakeRight, TakeRight, |i| if mixed(i).is_multiple_of(5) { i as u16 } else { 0 }, 9;
    () AffineU32, AffineU32, |i| MapU32 { a: mixed(i) as u32 | 1, b: mixed(!i) as u32 }, MapU32 { a: 3, b: 4 };
    () compose, compose, |i| Affine { a: if mixed(i).is_multiple_of(2) { 1.0 } else { -1.0 }, b: unit(!i) as f32 }, Affine { a: -1.0, b: 2.0 };
    () Brackets, Brackets, |i| if mixed(i).is_multiple_of(2) { Unmatched { close: 1, open: 0 } } else { Unmatched { close: 0, open: 1 } }, Unmatched { close: 2, open: 5 };
    () Permute, Permute, |i| Permutation { image: shuffled(mixed(i)) }, Permutation { image: [1, 2, 3, 4, 0] };
    () PolynomialHash, PolynomialHash, |i| Hash { power: 31, hash: (mixed(i) % 256) as u32 }, Hash { power: 961, hash: 77 };
    () Bytes3Sum, Bytes3Sum, |i| Bytes3(mixed(i) as u8, (mixed(i) >> 8) as u8, (mixed(i) >> 16) as u8), Bytes3(1, 2, 3);
    () MixedSum, MixedSum, |i| Mixed { count: mixed(i) as u16, inner: MapU32 { a: mixed(i) as u32 | 1, b: mixed(!i) as u32 } }, Mixed { count: 5, inner: MapU32 { a: 7, b: 1 } };
    () CountersSum, CountersSum, |i| Counters { counts: std::array::from_fn(|k| mixed(64 * i + k as u64) as u32 % 5) }, Counters { counts: [7; 64] };
    (const N: usize) MatrixProduct<N>, MatrixProduct, matrix_input::<N>, matrix_input(u64::MAX);
}

/// A matrix of determinant 1, drawn from the index: ones on the diagonal and anything below, times ones on the diagonal and anything
/// above. Products of others are soon zeros, since every second has an even determinant and more.
fn matrix_input<const N: usize>(index: u64) -> Matrix<N> {
    let entry = |i: usize, j: usize| mixed(index.wrapping_mul(64).wrapping_add((i * N + j) as u64)) as u32;
    let half = |is_of_it: fn(usize, usize) -> bool| {
        let item = |i: usize, j: usize| if i == j { 1 } else { entry(i, j) * u32::from(is_of_it(i, j)) };
        Matrix { rows: std::array::from_fn(|i| std::array::from_fn(|j| item(i, j))) }
    };
    MatrixProduct.combine(half(|i, j| i > j), half(|i, j| i < j))
}

/// A permutation of five, drawn from the seed (Fisher-Yates).
fn shuffled(mut seed: u64) -> [u8; 5] {
    let mut image = [0, 1, 2, 3, 4];
    for last in (1..5).rev() {
        image.swap(last, (seed % (last as u64 + 1)) as usize);
        seed /= last as u64 + 1;
    }
    image
}

/// The inputs of a scan of this length.
pub fn inputs<Op: TestOperator>(len: usize) -> Vec<Op::Item> {
    (0..len as u64).map(Op::input).collect()
}

/// The bytes of each element in turn, padding as zeros: what "bit for bit" compares.
pub fn bits<T: ScanElement>(elements: &[T]) -> Vec<u8> {
    if let Some(bytes) = as_bytes(elements) {
        return bytes.to_vec();
    }
    let mut parts = Vec::new();
    values_in(&T::layout(), 0, &mut parts);
    let mut bytes = vec![0; size_of_val(elements)];
    for (element, to) in elements.iter().zip(bytes.chunks_exact_mut(size_of::<T>())) {
        for part in &parts {
            // SAFETY: the bytes of primitives within an element are initialised.
            let from = unsafe {
                std::slice::from_raw_parts(std::ptr::from_ref(element).cast::<u8>().add(part.start), part.len())
            };
            to[part.clone()].copy_from_slice(from);
        }
    }
    bytes
}

/// The bytes of a type that carry a value; what is left is padding.
fn values_in(ty: &ElementType, at: usize, parts: &mut Vec<Range<usize>>) {
    match &ty.kind {
        ElementKind::Struct(fields) => fields.iter().for_each(|field| values_in(&field.ty, at + field.offset, parts)),
        ElementKind::Array { item, len } => (0..*len).for_each(|index| values_in(item, at + index * item.size, parts)),
        _ => match parts.last_mut() {
            Some(part) if part.end == at => part.end = at + ty.size,
            _ => parts.push(at..at + ty.size),
        },
    }
}

/// The first position at which the elements are not the same bit for bit, or one of the slices has ended.
pub fn first_difference<T: ScanElement>(a: &[T], b: &[T]) -> Option<usize> {
    let same = match (as_bytes(a), as_bytes(b)) {
        (Some(a), Some(b)) => a == b,
        _ => bits(a) == bits(b),
    };
    if same {
        return None;
    }
    let differ = |(a, b): (&T, &T)| bits(&[*a]) != bits(&[*b]);
    Some(a.iter().zip(b).position(differ).unwrap_or(a.len().min(b.len())))
}

/// The elements' bytes where they have no padding.
fn as_bytes<T: ScanElement>(elements: &[T]) -> Option<&[u8]> {
    (T::layout().padding() == 0).then(|| {
        // SAFETY: without padding, every byte of the elements is initialised.
        unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
    })
}

//! What is scanned: the operators of the benchmark, each with random inputs and its twin in the peer library.

use std::fmt::Debug;

use scan_runtime::{
    ScanElement, ScanOp,
    half::{bf16, f16},
    ops, scan_element, scan_op,
};
use scan_tests::operators::{self, Affine, Matrix, MatrixProduct, TestOperator, compose, mixed};

/// An operator with inputs to time it on.
pub(crate) trait Case: ScanOp<Input = Self::Item, Output = Self::Item> + Clone {
    /// What is read and written.
    type Item: ScanElement + Debug;
    /// Its name, and with `_` for spaces that of its twins in `cub.cu`.
    const NAME: &'static str;
    /// How far a result may be from the CPU's on as many elements as the CPU is given, as a part of the largest number there;
    /// 0 asks for the same bits. It is 0 for sums of floats as well, whose [inputs](inputs) add up without rounding.
    const TOLERANCE: f64 = 0.0;
    /// The same between two results of the GPU at any length.
    const TOLERANCE_AT_LENGTH: f64 = Self::TOLERANCE;
    /// Whether it is also scanned in segments.
    const SEGMENTED: bool = false;
    /// The operator.
    fn new() -> Self;
    /// A random input.
    fn random(index: u64) -> Self::Item;
    /// What makes nothing of an input, for sums that would grow until they round.
    fn opposite(_item: &Self::Item) -> Option<Self::Item> {
        None
    }
    /// Its numbers, for those that are compared within a tolerance.
    fn numbers(_item: &Self::Item) -> [f64; 4] {
        [0.0; 4]
    }
}

/// Random inputs, to be repeated. Those with an opposite stand in the second half again, from last to first, as opposites: so a
/// sum stays as small in a thousand repetitions as in one, and floats that are multiples of a small power of two never round.
pub(crate) fn inputs<C: Case>(len: usize) -> Vec<C::Item> {
    let mut inputs: Vec<C::Item> = (0..len as u64).map(C::random).collect();
    for index in 0..len / 2 {
        if let Some(opposite) = C::opposite(&inputs[index]) {
            inputs[len - 1 - index] = opposite;
        }
    }
    inputs
}

/// Does something with a case.
pub(crate) trait Visitor {
    /// Called once a case.
    fn visit<C: Case>(&mut self) -> crate::Outcome;
}

/// Visits every case.
pub(crate) fn visit_all(visitor: &mut impl Visitor) -> crate::Outcome {
    visitor.visit::<ops::Sum<i8>>()?;
    visitor.visit::<ops::Sum<i16>>()?;
    visitor.visit::<SumF16>()?;
    visitor.visit::<SumBf16>()?;
    visitor.visit::<ops::Sum<i32>>()?;
    visitor.visit::<ops::Sum<f32>>()?;
    visitor.visit::<ops::Sum<i64>>()?;
    visitor.visit::<ops::Sum<f64>>()?;
    visitor.visit::<ops::Max<f64>>()?;
    visitor.visit::<SumVector3>()?;
    visitor.visit::<compose>()?;
    visitor.visit::<ProductMatrix2>()?;
    visitor.visit::<ProductModulo>()?;
    visitor.visit::<MatrixProduct<3>>()
}

// ---- integers ---------------------------------------------------------------

macro_rules! integer_sums {
    ($($ty:ty: $name:literal, $segmented:literal;)*) => {$(
        impl Case for ops::Sum<$ty> {
            type Item = $ty;
            const NAME: &'static str = $name;
            const SEGMENTED: bool = $segmented;
            fn new() -> Self {
                ops::sum()
            }
            fn random(index: u64) -> $ty {
                mixed(index) as $ty
            }
        }
    )*};
}

integer_sums! {
    i8: "sum i8", false;
    i16: "sum i16", false;
    i32: "sum i32", true;
    i64: "sum i64", false;
}

/// The product modulo a prime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProductModulo;

#[scan_op]
impl ScanOp for ProductModulo {
    type Element = u32;
    const IDENTITY: u32 = 1;
    fn combine(a: u32, b: u32) -> u32 {
        (a as u64 * b as u64 % operators::MODULUS) as u32
    }
}

impl Case for ProductModulo {
    type Item = u32;
    const NAME: &'static str = "product modulo u32";
    fn new() -> Self {
        ProductModulo
    }
    fn random(index: u64) -> u32 {
        (mixed(index) % (operators::MODULUS - 1)) as u32 + 1 // never 0, which would stay
    }
}

impl Case for MatrixProduct<3> {
    type Item = Matrix<3>;
    const NAME: &'static str = "matrix3 u32";
    fn new() -> Self {
        MatrixProduct
    }
    fn random(index: u64) -> Matrix<3> {
        // Modulo 2 these are triangular, with ones on the diagonal, so that no product comes to be all zeros.
        let mut matrix = <Self as TestOperator>::input(index);
        for (i, row) in matrix.rows.iter_mut().enumerate() {
            row[i] |= 1;
            row[..i].iter_mut().for_each(|below| *below &= !1);
        }
        matrix
    }
}

// ---- floats -----------------------------------------------------------------

/// From -1 to 1 in steps of 2⁻⁸: sums of a few millions of them, which are a few thousands at most, are exact in `f32`.
fn coarse(bits: u64) -> f32 {
    (bits % 513) as f32 / 256.0 - 1.0
}

/// From 0 to 1.
fn unit(bits: u64) -> f64 {
    bits as u32 as f64 / f64::from(u32::MAX)
}

macro_rules! half_sums {
    ($($name:ident of $ty:ident: $title:literal;)*) => {$(
        #[doc = concat!("Sums of `", stringify!($ty), "`, added in `f32` as its twin does.")]
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name;

        #[scan_op]
        impl ScanOp for $name {
            type Input = $ty;
            type State = f32;
            type Output = $ty;
            const IDENTITY: f32 = 0.0;
            fn lift(x: $ty) -> f32 {
                x.to_f32()
            }
            fn combine(a: f32, b: f32) -> f32 {
                a + b
            }
            fn project(sum: f32) -> $ty {
                $ty::from_f32(sum)
            }
        }

        impl Case for $name {
            type Item = $ty;
            const NAME: &'static str = $title;
            fn new() -> Self {
                $name
            }
            fn random(index: u64) -> $ty {
                // From -1 to 1 in steps of 2⁻⁶, which both types have.
                $ty::from_f32((mixed(index) % 129) as f32 / 64.0 - 1.0)
            }
            fn opposite(x: &$ty) -> Option<$ty> {
                Some(-*x)
            }
        }
    )*};
}

half_sums! {
    SumF16 of f16: "sum f16";
    SumBf16 of bf16: "sum bf16";
}

impl Case for ops::Sum<f32> {
    type Item = f32;
    const NAME: &'static str = "sum f32";
    const SEGMENTED: bool = true;
    fn new() -> Self {
        ops::sum()
    }
    fn random(index: u64) -> f32 {
        coarse(mixed(index))
    }
    fn opposite(item: &f32) -> Option<f32> {
        Some(0.0 - item) // of 0 it is not -0
    }
}

impl Case for ops::Sum<f64> {
    type Item = f64;
    const NAME: &'static str = "sum f64";
    fn new() -> Self {
        ops::sum()
    }
    fn random(index: u64) -> f64 {
        f64::from(coarse(mixed(index)))
    }
    fn opposite(item: &f64) -> Option<f64> {
        Some(0.0 - item)
    }
}

impl Case for ops::Max<f64> {
    type Item = f64;
    const NAME: &'static str = "max f64";
    fn new() -> Self {
        ops::max()
    }
    fn random(index: u64) -> f64 {
        (index + mixed(index) % 4_096) as f64 // rising, so that there are new maxima
    }
}

/// Three numbers: twelve bytes.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Vector3 {
    x: f32,
    y: f32,
    z: f32,
}

/// The sum of vectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SumVector3;

#[scan_op]
impl ScanOp for SumVector3 {
    type Element = Vector3;
    const IDENTITY: Vector3 = Vector3 { x: 0.0, y: 0.0, z: 0.0 };
    fn combine(a: Vector3, b: Vector3) -> Vector3 {
        Vector3 { x: a.x + b.x, y: a.y + b.y, z: a.z + b.z }
    }
}

impl Case for SumVector3 {
    type Item = Vector3;
    const NAME: &'static str = "sum vector3 f32";
    fn new() -> Self {
        SumVector3
    }
    fn random(index: u64) -> Vector3 {
        let bits = mixed(index);
        Vector3 { x: coarse(bits & 0xffff), y: coarse(bits >> 16 & 0xffff), z: coarse(bits >> 32) }
    }
    fn opposite(item: &Vector3) -> Option<Vector3> {
        Some(Vector3 { x: 0.0 - item.x, y: 0.0 - item.y, z: 0.0 - item.z })
    }
}

/// The steps of a linear recurrence that forgets its past slowly.
impl Case for compose {
    type Item = Affine;
    const NAME: &'static str = "affine f32";
    const TOLERANCE: f64 = 1e-5;
    const SEGMENTED: bool = true;
    fn new() -> Self {
        compose
    }
    fn random(index: u64) -> Affine {
        let bits = mixed(index);
        let size = 0.5 + 0.5 * unit(bits >> 32) as f32;
        Affine { a: if bits.is_multiple_of(2) { size } else { -size }, b: coarse(bits >> 8 & 0xffff) }
    }
    fn numbers(item: &Affine) -> [f64; 4] {
        [f64::from(item.a), f64::from(item.b), 0.0, 0.0]
    }
}

/// A matrix of two rows: sixteen bytes.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Matrix2 {
    rows: [[f32; 2]; 2],
}

/// The product of matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProductMatrix2;

#[scan_op]
impl ScanOp for ProductMatrix2 {
    type Element = Matrix2;
    const IDENTITY: Matrix2 = Matrix2 { rows: [[1.0, 0.0], [0.0, 1.0]] };
    fn combine(a: Matrix2, b: Matrix2) -> Matrix2 {
        let mut rows = [[0.0_f32; 2]; 2];
        for i in 0..2_usize {
            for j in 0..2_usize {
                rows[i][j] = a.rows[i][0] * b.rows[0][j] + a.rows[i][1] * b.rows[1][j];
            }
        }
        Matrix2 { rows }
    }
}

/// Rotations and reflections, which neither grow nor commute.
impl Case for ProductMatrix2 {
    type Item = Matrix2;
    const NAME: &'static str = "matrix2 f32";
    const TOLERANCE: f64 = 1e-3;
    const TOLERANCE_AT_LENGTH: f64 = 0.1;
    fn new() -> Self {
        ProductMatrix2
    }
    fn random(index: u64) -> Matrix2 {
        let bits = mixed(index);
        let (sin, cos) = (unit(bits >> 32) * std::f64::consts::TAU).sin_cos();
        let sign = if bits.is_multiple_of(2) { 1.0 } else { -1.0 };
        Matrix2 { rows: [[cos as f32, (-sign * sin) as f32], [sin as f32, (sign * cos) as f32]] }
    }
    fn numbers(item: &Matrix2) -> [f64; 4] {
        let [[a, b], [c, d]] = item.rows;
        [a, b, c, d].map(f64::from)
    }
}

//! Built-in operators, for every type that supports them.
//!
//! Each is a struct, with a function that makes one, so that the element type is inferred from its use:
//! `scanner.scan(ops::sum()).run(&x)`.
//!
//! ```
//! use scan_runtime::{ScanOp, ops};
//!
//! assert_eq!(ops::sum().combine(2_u8, 255), 1); // integers wrap, in debug builds as well
//! assert_eq!(ops::max().combine(1.5, -2.0), 1.5);
//! assert!(ops::any().combine(false, true));
//! ```
//!
//! [`flip`], [`map`], [`pair`], [`zip`], [`with_exclusive`], [`by_key`], [`by_flag`], [`aggregate`],
//! [`over_aggregates`], [`skip_nulls`] and [`propagate_nulls`] make operators from others. [`filter`] keeps some of
//! the elements, [`flat_map`] gives several results of each. [`sum_in`] and [`exact_sum`] lose less. [`predicted`] is
//! for branches of operators of your own.

use crate::{
    __private::{Add, And, Apply, ExclusiveOr, Larger, Multiply, Or, Smaller, Vectorized},
    ScanElement, ScanOp, scan_op,
};
use std::marker::PhantomData;

mod filter;
mod flat_map;
mod flip;
mod map;
mod pair;
mod prediction;
mod with_exclusive;
mod zip;

pub use filter::{Candidate, Filter, Kept, filter};
pub use flat_map::{FlatMap, Placed, Several, flat_map};
pub use flip::{Flip, flip};
pub use map::{Map, map};
pub use pair::{Both, Pair, pair};
pub use prediction::predicted;
pub use with_exclusive::{ExclusiveInclusive, WithExclusive, with_exclusive};
pub use zip::{Zip, first_of, second_of, zip};

mod sealed {
    use crate::{
        __private::{Apply, Vectorized},
        ScanElement, ScanOp,
    };

    pub trait Sealed: ScanElement {
        /// The vectorized CPU form of an operator on this type that applies `V` to each lane; `None` if a vector
        /// register cannot hold several values of the type.
        #[inline]
        fn vectorized<Op, V: Apply>() -> Option<Vectorized<Op>>
        where
            Op: ScanOp<Input = Self, State = Self, Carry = Self, Output = Self>,
        {
            None
        }
    }
}

use sealed::Sealed;

/// A type with arithmetic: every integer, `f32`, `f64`, and, with the feature `half`, `half::f16` and `half::bf16`.
///
/// The methods have the names of the integer operations; on floats they are plain `+` and `*`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no arithmetic",
    label = "not a number",
    note = "for elements that are no numbers write an operator, a function of two elements marked `#[scan_op]`; or make a number of each by `ops::map::<function, _>(operator)`"
)]
pub trait Number: ScanElement + PartialOrd + Sealed {
    /// The identity of addition. `0.0` for floats, where it changes no value but the sign of `-0.0`.
    const ZERO: Self;
    /// The identity of multiplication.
    const ONE: Self;
    /// The smallest value: −∞ for floats.
    const LOWEST: Self;
    /// The largest value: ∞ for floats.
    const HIGHEST: Self;
    /// The sum. Integers wrap around on overflow.
    fn wrapping_add(self, other: Self) -> Self;
    /// The product. Integers wrap around on overflow.
    fn wrapping_mul(self, other: Self) -> Self;
}

/// A type with bitwise operations: every integer, and `bool`.
pub trait Bits:
    ScanElement
    + std::ops::BitAnd<Output = Self>
    + std::ops::BitOr<Output = Self>
    + std::ops::BitXor<Output = Self>
    + Sealed
{
    /// No bit is set.
    const NONE: Self;
    /// Every bit is set.
    const ALL: Self;
}

macro_rules! integers {
    ($($ty:ident)*) => {$(
        impl Number for $ty {
            const ZERO: $ty = 0;
            const ONE: $ty = 1;
            const LOWEST: $ty = $ty::MIN;
            const HIGHEST: $ty = $ty::MAX;
            #[inline]
            fn wrapping_add(self, other: $ty) -> $ty {
                <$ty>::wrapping_add(self, other)
            }
            #[inline]
            fn wrapping_mul(self, other: $ty) -> $ty {
                <$ty>::wrapping_mul(self, other)
            }
        }
        impl Bits for $ty {
            const NONE: $ty = 0;
            const ALL: $ty = !0;
        }
    )*};
}

macro_rules! floats {
    ($($ty:ty: $zero:expr, $one:expr;)*) => {$(
        impl Number for $ty {
            const ZERO: $ty = $zero;
            const ONE: $ty = $one;
            const LOWEST: $ty = <$ty>::NEG_INFINITY;
            const HIGHEST: $ty = <$ty>::INFINITY;
            #[inline]
            fn wrapping_add(self, other: $ty) -> $ty {
                self + other
            }
            #[inline]
            fn wrapping_mul(self, other: $ty) -> $ty {
                self * other
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize }
floats! {
    f32: 0.0, 1.0;
    f64: 0.0, 1.0;
}
#[cfg(feature = "half")]
floats! {
    half::f16: half::f16::ZERO, half::f16::ONE;
    half::bf16: half::bf16::ZERO, half::bf16::ONE;
}

macro_rules! lanes {
    ($($ty:ident)*) => {$(
        impl Sealed for $ty {
            #[inline]
            fn vectorized<Op, V: Apply>() -> Option<Vectorized<Op>>
            where
                Op: ScanOp<Input = Self, State = Self, Carry = Self, Output = Self>,
            {
                Vectorized::new::<Self, V>()
            }
        }
    )*};
}

lanes! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize bool f32 f64 }
impl Sealed for i128 {}
impl Sealed for u128 {}
#[cfg(feature = "half")]
impl Sealed for half::f16 {}
#[cfg(feature = "half")]
impl Sealed for half::bf16 {}

impl Bits for bool {
    const NONE: bool = false;
    const ALL: bool = true;
}

macro_rules! operator {
    ($(#[$doc:meta])* $name:ident, $make:ident, $bound:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name<T>(PhantomData<T>);

        #[doc = concat!("The operator [`", stringify!($name), "`].")]
        pub fn $make<T: $bound>() -> $name<T> {
            $name(PhantomData)
        }
    };
}

operator! {
    /// `a + b`. Integers wrap around on overflow, in debug builds as well. A sum of -0.0 is -0.0.
    ///
    /// Floats round to `T` at each addition, so that the grouping shows ([`ExactSum`]), or [overflow](ScanOp#overflow).
    Sum, sum, Number
}

#[scan_op(crate = crate, vectorized = T::vectorized::<_, Add>())]
impl<T: Number> ScanOp for Sum<T> {
    type Element = T;
    const IDENTITY: T = T::ZERO;
    fn combine(a: T, b: T) -> T {
        a.wrapping_add(b)
    }
}

operator! {
    /// `a * b`. Integers wrap around, in debug builds as well. A part of floats may [overflow](ScanOp#overflow).
    Product, product, Number
}

#[scan_op(crate = crate, vectorized = T::vectorized::<_, Multiply>())]
impl<T: Number> ScanOp for Product<T> {
    type Element = T;
    const IDENTITY: T = T::ONE;
    fn combine(a: T, b: T) -> T {
        a.wrapping_mul(b)
    }
}

operator! {
    /// The larger of two values; of equal ones (`0.0` and `-0.0`) the left one.
    ///
    /// Once a float is NaN, so is every result after it. That makes the result the same, bit for bit, however the scan
    /// groups the values. To ignore NaNs, write an operator with `a.max(b)` and the identity `f32::NAN`.
    Max, max, Number
}

#[scan_op(crate = crate, vectorized = T::vectorized::<_, Larger>())]
impl<T: Number> ScanOp for Max<T> {
    type Element = T;
    const IDENTITY: T = T::LOWEST;
    #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
    fn combine(a: T, b: T) -> T {
        // A NaN on the left is not `>=` anything, and differs from itself.
        if a >= b || a != a { a } else { b }
    }
}

operator! {
    /// The smaller of two values; of equal ones (`0.0` and `-0.0`) the left one.
    ///
    /// NaNs propagate, as with [`Max`].
    Min, min, Number
}

#[scan_op(crate = crate, vectorized = T::vectorized::<_, Smaller>())]
impl<T: Number> ScanOp for Min<T> {
    type Element = T;
    const IDENTITY: T = T::HIGHEST;
    #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
    fn combine(a: T, b: T) -> T {
        // A NaN on the left is not `<=` anything, and differs from itself.
        if a <= b || a != a { a } else { b }
    }
}

operator! {
    /// `a & b`.
    BitAnd, bit_and, Bits
}

#[scan_op(crate = crate, vectorized = T::vectorized::<_, And>())]
impl<T: Bits> ScanOp for BitAnd<T> {
    type Element = T;
    const IDENTITY: T = T::ALL;
    fn combine(a: T, b: T) -> T {
        a & b
    }
}

operator! {
    /// `a | b`.
    BitOr, bit_or, Bits
}

#[scan_op(crate = crate, vectorized = T::vectorized::<_, Or>())]
impl<T: Bits> ScanOp for BitOr<T> {
    type Element = T;
    const IDENTITY: T = T::NONE;
    fn combine(a: T, b: T) -> T {
        a | b
    }
}

operator! {
    /// `a ^ b`.
    BitXor, bit_xor, Bits
}

#[scan_op(crate = crate, vectorized = T::vectorized::<_, ExclusiveOr>())]
impl<T: Bits> ScanOp for BitXor<T> {
    type Element = T;
    const IDENTITY: T = T::NONE;
    fn combine(a: T, b: T) -> T {
        a ^ b
    }
}

operator! {
    /// `a`: the first element of the array, or of each segment. It has no identity, so an exclusive scan needs an
    /// initial value.
    First, first, ScanElement
}

#[scan_op(crate = crate)]
impl<T: ScanElement> ScanOp for First<T> {
    type Element = T;
    #[allow(unused_variables, reason = "the first element is the result")]
    fn combine(a: T, b: T) -> T {
        a
    }
}

operator! {
    /// `b`: the last element so far. It has no identity, so an exclusive scan needs an initial value.
    Last, last, ScanElement
}

#[scan_op(crate = crate)]
impl<T: ScanElement> ScanOp for Last<T> {
    type Element = T;
    #[allow(unused_variables, reason = "the last element is the result")]
    fn combine(a: T, b: T) -> T {
        b
    }
}

/// Logical and: whether all values so far are true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct All;

/// The operator [`All`].
pub fn all() -> All {
    All
}

#[scan_op(crate = crate, vectorized = bool::vectorized::<_, And>())]
impl ScanOp for All {
    type Element = bool;
    const IDENTITY: bool = true;
    fn combine(a: bool, b: bool) -> bool {
        a && b
    }
}

/// Logical or: whether any value so far is true.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Any;

/// The operator [`Any`].
pub fn any() -> Any {
    Any
}

#[scan_op(crate = crate, vectorized = bool::vectorized::<_, Or>())]
impl ScanOp for Any {
    type Element = bool;
    const IDENTITY: bool = false;
    fn combine(a: bool, b: bool) -> bool {
        a || b
    }
}

mod aggregate;
mod by_flag;
mod by_key;
mod checked_sum;
mod compensated_sum;
mod complex_recurrence;
mod exact_sum;
mod matrix_recurrence;
mod nullable;
mod position;
mod recurrence;
mod second_order;
mod wider;

pub use aggregate::{Aggregate, OverAggregates, aggregate, over_aggregates};
pub use by_flag::{ByFlag, Flagged, FlaggedState, by_flag};
pub use by_key::{ByKey, Keyed, KeyedCarry, KeyedState, by_key};
pub use checked_sum::{CheckedSum, Prefixes, checked_sum};
pub use compensated_sum::{Compensated, CompensatedSum, WideFloat, compensated_sum};
pub use complex_recurrence::{Complex, ComplexRecurrence, ComplexRecurrenceGradient, complex_recurrence};
pub use exact_sum::{Accumulator, ExactSum, exact_sum};
pub use matrix_recurrence::{
    MatrixAdjoint, MatrixMap, MatrixRecurrence, MatrixRecurrenceGradient, MatrixStep, matrix_recurrence,
};
pub use nullable::{Nullable, OverNullable, PropagateNulls, SkipNulls, propagate_nulls, skip_nulls};
pub use position::{Found, Position, position};
pub use recurrence::{
    Adjoint, AffineMap, Gated, MaxPlus, MaxPlusAdjoint, MaxPlusGradient, Recurrence, RecurrenceGradient, max_plus,
    recurrence, recurrence_in,
};
pub use second_order::{SecondOrder, SecondOrderAdjoint, SecondOrderGradient, SecondOrderStep, TwoRows, second_order};
pub use wider::{Narrower, ProductIn, SumIn, Wider, product_in, sum_in};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_nan_stays() {
        let (one, other) = (f32::from_bits(0x7fc0_0001), f32::from_bits(0x7fc0_0002));
        assert_eq!(max().combine(one, other).to_bits(), one.to_bits());
        assert_eq!(max().combine(1.0, other).to_bits(), other.to_bits());
        assert_eq!(min().combine(other, 1.0).to_bits(), other.to_bits());
        assert_eq!(max().combine(max::<f32>().identity().unwrap(), one).to_bits(), one.to_bits());
        assert_eq!(max().combine(-0.0_f32, 0.0).to_bits(), (-0.0_f32).to_bits());
    }

    #[test]
    fn identities_change_nothing() {
        let op = sum::<f32>();
        let zero = op.identity().unwrap();
        assert_eq!(op.combine(zero, 2.5), 2.5);
        assert_eq!(op.combine(0.0, zero).to_bits(), 0.0_f32.to_bits());
        assert_eq!(bit_and::<bool>().identity(), Some(true));
        assert_eq!(min::<i8>().identity(), Some(127));
    }
}

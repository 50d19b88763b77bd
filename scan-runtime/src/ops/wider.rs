//! Sums and products of narrow numbers in a wider type.

use std::marker::PhantomData;

use super::Number;
use crate::{ScanOp, scan_op};

mod sealed {
    /// The conversion to a wider type, which is exact. Its name is that of `From`, which the operator language knows.
    pub trait Widens<N> {
        fn from(narrow: N) -> Self;
    }

    /// The conversion of a result.
    pub trait Narrows<W> {
        fn from(wide: W) -> Self;
    }
}

use sealed::{Narrows, Widens};

/// A type that has every value of the type `N`, a narrower one or the same.
///
/// | narrow | wide |
/// |---|---|
/// | `u8` to `u64` | every wider unsigned type and every wider signed one, up to 128 bits |
/// | `i8` to `i64` | every wider signed type, up to 128 bits |
/// | `f16`, `bf16` | `f32`, `f64` |
/// | `f32` | `f64` |
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a wider type than `{N}`",
    label = "not wider than `{N}`",
    note = "narrow numbers are added and multiplied in a type that has all of their values: `ops::sum_in::<f32, bf16>()`, `ops::sum_in::<i64, u32>()`"
)]
pub trait Wider<N>: Number + Widens<N> {}

/// A type for the results of a sum or a product in `W`: `W` itself, or one that is narrower.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a narrower type than `{W}`",
    label = "not narrower than `{W}`",
    note = "the results have the narrow type, or after `.wide()` the wide one"
)]
pub trait Narrower<W>: Number + Narrows<W> {}

macro_rules! conversions {
    ($($wide:ty: $($narrow:ty)*;)*) => {$(
        conversions!(@pair $wide: $wide, |same| same);
        conversions!(@results $wide: $wide, |wide| wide);
        $(
            conversions!(@pair $wide: $narrow, |narrow| narrow as $wide);
            conversions!(@results $narrow: $wide, |wide| wide as $narrow);
        )*
    )*};
    (@pair $wide:ty: $narrow:ty, |$x:ident| $widened:expr) => {
        impl Widens<$narrow> for $wide {
            #[inline]
            fn from($x: $narrow) -> $wide {
                $widened
            }
        }
        impl Wider<$narrow> for $wide {}
    };
    (@results $result:ty: $wide:ty, |$x:ident| $result_of:expr) => {
        impl Narrows<$wide> for $result {
            #[inline]
            fn from($x: $wide) -> $result {
                $result_of
            }
        }
        impl Narrower<$wide> for $result {}
    };
}

conversions! {
    u16: u8;
    u32: u8 u16;
    u64: u8 u16 u32;
    u128: u8 u16 u32 u64;
    i16: u8 i8;
    i32: u8 u16 i8 i16;
    i64: u8 u16 u32 i8 i16 i32;
    i128: u8 u16 u32 u64 i8 i16 i32 i64;
    f32:;
    f64: f32;
}

#[cfg(feature = "half")]
macro_rules! halves {
    ($($half:ident)*) => {$(
        conversions!(@pair f32: half::$half, |narrow| narrow.to_f32());
        conversions!(@results half::$half: f32, |wide| half::$half::from_f32(wide));
        conversions!(@pair f64: half::$half, |narrow| narrow.to_f64());
        // As `as` in an operator: by `f32`.
        conversions!(@results half::$half: f64, |wide| half::$half::from_f32(wide as f32));
    )*};
}

#[cfg(feature = "half")]
halves! { f16 bf16 }

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident, $(#[$made:meta])* $make:ident, $identity:ident, $combine:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name<W, N, O = N>(PhantomData<(W, N, O)>);

        $(#[$made])*
        pub fn $make<W: Wider<N>, N: Narrower<W>>() -> $name<W, N> {
            $name(PhantomData)
        }

        impl<W: Wider<N>, N: Number> $name<W, N> {
            /// The same operator with results in the wide type.
            pub fn wide(self) -> $name<W, N, W>
            where
                W: Narrower<W>,
            {
                $name(PhantomData)
            }
        }

        #[scan_op(crate = crate)]
        impl<W: Wider<N>, N: Number, O: Narrower<W>> ScanOp for $name<W, N, O> {
            type Input = N;
            type State = W;
            type Output = O;
            const IDENTITY: W = W::$identity;
            fn lift(x: N) -> W {
                W::from(x)
            }
            fn combine(a: W, b: W) -> W {
                a.$combine(b)
            }
            fn project(result: W) -> O {
                O::from(result)
            }
        }
    )*};
}

operators! {
    /// The sum of numbers of the type `N`, added in the wider type `W`.
    ///
    /// The results have the narrow type, or after [`wide`](SumIn::wide) the wide one:
    ///
    /// ```
    /// # #[cfg(feature = "half")] {
    /// use scan_runtime::{Scanner, half::bf16, ops};
    ///
    /// let scanner = Scanner::new()?;
    /// let ones = vec![bf16::ONE; 4_096];
    /// // In `bf16`, 256 + 1 is 256: a loop stays there.
    /// let added_in_bf16 = ones.iter().fold(bf16::ZERO, |sum, &one| sum + one);
    /// assert_eq!(added_in_bf16, bf16::from_f32(256.0));
    /// let sums = scanner.scan(ops::sum_in::<f32, bf16>()).run(&ones)?;
    /// assert_eq!(sums[4_095], bf16::from_f32(4_096.0));
    /// let sums = scanner.scan(ops::sum_in::<f32, bf16>().wide()).run(&ones)?;
    /// assert_eq!(sums[4_094], 4_095.0_f32);
    /// # }
    /// # use scan_runtime::{Scanner, ops};
    ///
    /// // Of bytes: the sums may be larger than 255.
    /// let sums = Scanner::new()?.scan(ops::sum_in::<u64, u8>().wide()).run(b"aaa")?;
    /// assert_eq!(sums, [97, 194, 291]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// Initial values and totals are of the wide type, so that a sum goes on from chunk to chunk without loss.
    ///
    /// - Integers wrap around in the wide type. A narrow result is the sum modulo 2ⁿ, with `n` its bits, which plain
    ///   [`sum`](super::sum) gives as well.
    /// - Floats are rounded to `W` at each addition, and once more, to the nearest, to a narrow result (from `f64` to
    ///   16 bits in two steps, by `f32`). A narrow result beyond the range of its type is ±∞. Where all partial sums
    ///   are exact in `W`, the bits are the same on every device. Elsewhere they depend on the grouping, as those of
    ///   any sum of floats.
    ///
    /// Plain [`sum`](super::sum) adds in the type of its elements on every device: `f16` and `bf16` are rounded at each
    /// addition. A GPU adds sums of groups, which are as large as each other, so that it loses less than a loop: of
    /// 4,096 ones in `bf16` it gives 4,096 as the total, though nothing is wider there, and other lengths and devices
    /// give other sums.
    SumIn,
    /// The operator [`SumIn`]: the wide type, then the narrow one, which may be inferred.
    sum_in, ZERO, wrapping_add;

    /// The product of numbers of the type `N`, multiplied in the wider type `W`.
    ///
    /// ```
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let factorials = Scanner::new()?.scan(ops::product_in::<u64, u8>().wide()).run(&[1, 2, 3, 4, 5, 6])?;
    /// assert_eq!(factorials, [1, 2, 6, 24, 120, 720]);
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// Everything is as for [`SumIn`]. A part of floats may [overflow](ScanOp#overflow) in the wide type, too.
    ProductIn,
    /// The operator [`ProductIn`]: the wide type, then the narrow one, which may be inferred.
    product_in, ONE, wrapping_mul;
}

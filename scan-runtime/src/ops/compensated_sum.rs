//! Sums of floats that keep what additions round away.

use std::marker::PhantomData;

use super::Number;
use crate::{ScanOp, scan_element, scan_op};

/// `f32` or `f64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no compensated sum",
    label = "neither `f32` nor `f64`",
    note = "`f16` and `bf16` are added in a wider type: `ops::sum_in::<f32, _>()`; sums of integers are exact"
)]
pub trait WideFloat: Number + std::ops::Add<Output = Self> + std::ops::Sub<Output = Self> {
    /// Whether it is neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

impl WideFloat for f32 {
    #[inline]
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
}

impl WideFloat for f64 {
    #[inline]
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
}

/// The state of a [`CompensatedSum`]: a sum as two numbers, which are not rounded to one (a double word).
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compensated<T> {
    /// The sum, rounded to the nearest.
    pub high: T,
    /// What is left of it: at most half a unit in the last place of `high`, 0 where that is not finite.
    pub low: T,
}

/// The sum of `f32` or `f64`, added with about twice the digits of the type and rounded to it for each result.
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let scanner = Scanner::new()?;
/// let x = [1.0e16, 1.0, 1.0, 1.0, 1.0, -1.0e16];
/// assert_eq!(scanner.reduce(ops::compensated_sum()).run(&x)?, 4.0);
/// assert_eq!(x.iter().sum::<f64>(), 0.0); // `f64` has no 10,000,000,000,000,001
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// Each addition of two partial sums has a relative error of at most 3·u² to first order, where `u` is 2⁻²⁴ for `f32`
/// and 2⁻⁵³ for `f64`. A result of `n` elements is off by at most u·|exact sum| + 3·n·u²·(sum of their magnitudes): by
/// half a unit in the last place, unless nearly all of the magnitudes cancel. An error of plain [`sum`](super::sum) may
/// be n·u·(sum of the magnitudes).
///
/// Additions are still rounded, so that the operator is associative only up to that error, and the last digits of a sum
/// that cancels may depend on the grouping. The sums of [`exact_sum`](super::exact_sum()) do not, at a higher price.
/// For `f32`, [`sum_in::<f64, f32>`](super::sum_in()) costs less than this operator where a device has fast `f64`.
///
/// Infinities and NaN are those of a plain sum. A part of finite numbers may [overflow](ScanOp#overflow). A sum of -0.0
/// is -0.0. Initial values and totals are [`Compensated`].
///
/// # Source
///
/// The addition is algorithm 6 of M. Joldes, J.-M. Muller and V. Popescu, *Tight and Rigorous Error Bounds for Basic
/// Building Blocks of Double-Word Arithmetic*, ACM Transactions on Mathematical Software 44(2), 2017, of which
/// algorithm 4 adds a single number. T. Ogita, S. M. Rump and S. Oishi, *Accurate Sum and Dot Product*, SIAM Journal on
/// Scientific Computing 26(6), 2005, compare such sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompensatedSum<T>(PhantomData<T>);

/// The operator [`CompensatedSum`].
pub fn compensated_sum<T: WideFloat>() -> CompensatedSum<T> {
    CompensatedSum(PhantomData)
}

#[scan_op(crate = crate)]
impl<T: WideFloat> ScanOp for CompensatedSum<T> {
    type Input = T;
    type State = Compensated<T>;
    type Output = T;
    const IDENTITY: Compensated<T> = Compensated { high: T::ZERO, low: T::ZERO };
    fn lift(x: T) -> Compensated<T> {
        Compensated { high: x, low: T::ZERO }
    }
    fn combine(a: Compensated<T>, b: Compensated<T>) -> Compensated<T> {
        // The sums of both parts, and what these additions round away.
        let sum = a.high + b.high;
        let of_b = sum - a.high;
        let lost = (a.high - (sum - of_b)) + (b.high - of_b);
        let low_sum = a.low + b.low;
        let low_of_b = low_sum - a.low;
        let low_lost = (a.low - (low_sum - low_of_b)) + (b.low - low_of_b);
        // All of it, as two numbers again.
        let rest = lost + low_sum;
        let first = sum + rest;
        let second = low_lost + (rest - (first - sum));
        let high = first + second;
        let low = second - (high - first);
        // Of what is not finite, nothing is lost. Zeros keep their sign.
        let all = if high == sum || !sum.is_finite() { sum } else { high };
        Compensated { high: all, low: if all.is_finite() { low } else { T::ZERO } }
    }
    fn append(s: Compensated<T>, x: T) -> Compensated<T> {
        let sum = s.high + x;
        let of_x = sum - s.high;
        let rest = s.low + ((s.high - (sum - of_x)) + (x - of_x));
        let high = sum + rest;
        let low = rest - (high - sum);
        let all = if high == sum || !sum.is_finite() { sum } else { high };
        Compensated { high: all, low: if all.is_finite() { low } else { T::ZERO } }
    }
    fn project(sum: Compensated<T>) -> T {
        sum.high
    }
}

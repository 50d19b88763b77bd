//! Recurrences of second order, and their gradients.

use std::marker::PhantomData;

use super::Number;
use crate::{ScanOp, scan_element, scan_op};

/// A step of a recurrence h = p·h₁ + q·h₂ + x, an input of a [`SecondOrder`]; or its gradient, an output of a
/// [`SecondOrderGradient`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SecondOrderStep<T> {
    /// The factor of the result before.
    pub p: T,
    /// The factor of the one before that.
    pub q: T,
    /// The term that is added.
    pub x: T,
}

/// The map that several steps make of the last two results: each becomes `p·h₁ + q·h₂ + x`.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TwoRows<T> {
    /// The last result.
    pub last: SecondOrderStep<T>,
    /// The one before it.
    pub other: SecondOrderStep<T>,
}

/// The recurrence `h[t] = p[t]·h[t−1] + q[t]·h[t−2] + x[t]`: filters and oscillators of second order whose coefficients
/// may change at each step.
///
/// The input is a struct of p, q and x: an array of these, or a tuple of three arrays. The carry, of which an initial
/// value and the total are, is the last two results, the last one first; without an initial value it begins with zeros.
/// Of integers a recurrence wraps around.
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let (ones, x) = ([1_u32; 8], [1, 0, 0, 0, 0, 0, 0, 0]);
/// let fibonacci = Scanner::new()?.scan(ops::second_order::<u32>());
/// let (h, total) = fibonacci.with_total().run((&ones, &ones, &x))?;
/// assert_eq!((h, total), (vec![1, 1, 2, 3, 5, 8, 13, 21], Some([21, 13])));
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// Coefficients that are the same at each step are parameters of `gallery::second_order_recurrence::Oscillator`, with the
/// feature `gallery`.
///
/// # Gradient
///
/// [`gradient`](SecondOrder::gradient) is the operator of the backward pass, a reversed scan.
///
/// # Source
///
/// G. E. Blelloch, *Prefix Sums and Their Applications*, 1990, section 1.4.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondOrder<T>(PhantomData<T>);

/// The recurrence h = p·h₁ + q·h₂ + x.
pub fn second_order<T: Number>() -> SecondOrder<T> {
    SecondOrder(PhantomData)
}

impl<T: Number> SecondOrder<T> {
    /// The operator of the backward pass, for a reversed scan: [`SecondOrderGradient`].
    pub fn gradient(self) -> SecondOrderGradient<T> {
        SecondOrderGradient(PhantomData)
    }
}

impl<T: Number> TwoRows<T> {
    /// The map that changes nothing.
    const IDENTITY: Self = TwoRows {
        last: SecondOrderStep { p: T::ONE, q: T::ZERO, x: T::ZERO },
        other: SecondOrderStep { p: T::ZERO, q: T::ONE, x: T::ZERO },
    };
}

/// A row of the map that is first `f`, and then a row of another map.
#[crate::scan_fn(crate = crate)]
#[inline]
fn row_after<T: Number>(f: TwoRows<T>, row: SecondOrderStep<T>) -> SecondOrderStep<T> {
    SecondOrderStep::<T> {
        p: row.p.wrapping_mul(f.last.p).wrapping_add(row.q.wrapping_mul(f.other.p)),
        q: row.p.wrapping_mul(f.last.q).wrapping_add(row.q.wrapping_mul(f.other.q)),
        x: row.p.wrapping_mul(f.last.x).wrapping_add(row.q.wrapping_mul(f.other.x)).wrapping_add(row.x),
    }
}

/// What a row makes of the last two results.
#[crate::scan_fn(crate = crate)]
#[inline]
fn row_of<T: Number>(row: SecondOrderStep<T>, h: [T; 2]) -> T {
    row.p.wrapping_mul(h[0]).wrapping_add(row.q.wrapping_mul(h[1])).wrapping_add(row.x)
}

#[scan_op(crate = crate)]
impl<T: Number> ScanOp for SecondOrder<T> {
    type Input = SecondOrderStep<T>;
    type State = TwoRows<T>;
    type Carry = [T; 2];
    type Output = T;
    const IDENTITY: TwoRows<T> = TwoRows::IDENTITY;
    const START: [T; 2] = [T::ZERO; 2];
    fn lift(x: SecondOrderStep<T>) -> TwoRows<T> {
        TwoRows::<T> { last: x, other: SecondOrderStep::<T> { p: T::ONE, q: T::ZERO, x: T::ZERO } }
    }
    fn combine(f: TwoRows<T>, g: TwoRows<T>) -> TwoRows<T> {
        TwoRows::<T> { last: row_after::<T>(f, g.last), other: row_after::<T>(f, g.other) }
    }
    fn apply(f: TwoRows<T>, h: [T; 2]) -> [T; 2] {
        [row_of::<T>(f.last, h), row_of::<T>(f.other, h)]
    }
    fn step(h: [T; 2], x: SecondOrderStep<T>) -> [T; 2] {
        [row_of::<T>(x, h), h[0]]
    }
    fn project(h: [T; 2]) -> T {
        h[0]
    }
}

/// What the backward pass of a step reads, an input of a [`SecondOrderGradient`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SecondOrderAdjoint<T> {
    /// The factor `p[t]` of the step,
    pub p: T,
    /// and `q[t]`.
    pub q: T,
    /// The result `h[t−1]` before the step,
    pub before: T,
    /// and `h[t−2]` before that.
    pub earlier: T,
    /// The gradient of the loss with respect to the step's result `h[t]`.
    pub gradient: T,
}

/// The gradient of a [`SecondOrder`]: a reversed scan that gives the gradients of p, q and x.
///
/// With `λ[t]` the gradient of the loss with respect to `h[t]` in all: `λ[t] = g[t] + p[t+1]·λ[t+1] + q[t+2]·λ[t+2]`.
/// The results are `dp[t] = λ[t]·h[t−1]`, `dq[t] = λ[t]·h[t−2]` and `dx[t] = λ[t]`. An initial value is the gradient of
/// the last two results that the scan carries on, and the total that of the initial ones.
///
/// ```
/// use scan_runtime::{Scanner, arrays, ops};
///
/// let (scanner, recurrence) = (Scanner::new()?, ops::second_order::<f64>());
/// let (p, q, x) = ([1.0, 2.0, 1.0], [1.0, 1.0, 3.0], [1.0, 0.0, 0.0]);
/// let h = scanner.scan(recurrence).run((&p, &q, &x))?;
/// assert_eq!(h, [1.0, 2.0, 5.0]);
/// // Backward, for a loss that is the sum of all results.
/// let [before, earlier] = [[0.0, 1.0, 2.0], [0.0, 0.0, 1.0]];
/// let [mut dp, mut dq, mut dx] = [[0.0; 3]; 3];
/// let gradient = scanner.scan(recurrence.gradient()).reverse();
/// gradient.run_into((&p, &q, &before, &earlier, &[1.0; 3]), (&mut dp, &mut dq, &mut dx))?;
/// assert_eq!((dp, dq, dx), ([0.0, 2.0, 2.0], [0.0, 0.0, 1.0], [8.0, 2.0, 1.0]));
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondOrderGradient<T>(PhantomData<T>);

#[scan_op(crate = crate)]
impl<T: Number> ScanOp for SecondOrderGradient<T> {
    type Input = SecondOrderAdjoint<T>;
    /// What several steps make of the gradients of the last two results.
    type State = TwoRows<T>;
    type Carry = [T; 2];
    type Output = SecondOrderStep<T>;
    const IDENTITY: TwoRows<T> = TwoRows::IDENTITY;
    const START: [T; 2] = [T::ZERO; 2];
    fn lift(x: SecondOrderAdjoint<T>) -> TwoRows<T> {
        TwoRows::<T> {
            last: SecondOrderStep::<T> { p: x.p, q: T::ONE, x: x.p.wrapping_mul(x.gradient) },
            other: SecondOrderStep::<T> { p: x.q, q: T::ZERO, x: x.q.wrapping_mul(x.gradient) },
        }
    }
    fn combine(f: TwoRows<T>, g: TwoRows<T>) -> TwoRows<T> {
        TwoRows::<T> { last: row_after::<T>(f, g.last), other: row_after::<T>(f, g.other) }
    }
    fn apply(f: TwoRows<T>, c: [T; 2]) -> [T; 2] {
        [row_of::<T>(f.last, c), row_of::<T>(f.other, c)]
    }
    fn step(c: [T; 2], x: SecondOrderAdjoint<T>) -> [T; 2] {
        let lambda = x.gradient.wrapping_add(c[0]);
        [x.p.wrapping_mul(lambda).wrapping_add(c[1]), x.q.wrapping_mul(lambda)]
    }
    fn emit(c: [T; 2], x: SecondOrderAdjoint<T>) -> SecondOrderStep<T> {
        let lambda = x.gradient.wrapping_add(c[0]);
        SecondOrderStep::<T> { p: lambda.wrapping_mul(x.before), q: lambda.wrapping_mul(x.earlier), x: lambda }
    }
}

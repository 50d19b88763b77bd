//! Recurrences of vectors, with a small matrix as factor, and their gradients.

#![allow(clippy::needless_range_loop, reason = "ranges are the operator language's loops")]

use std::marker::PhantomData;

use super::Number;
use crate::{ScanOp, scan_element, scan_fn, scan_op};

/// A step of a recurrence h = A·h + x, an input of a [`MatrixRecurrence`]; or its gradient, an output of a
/// [`MatrixRecurrenceGradient`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixStep<T, const N: usize> {
    /// The rows of the matrix A.
    pub a: [[T; N]; N],
    /// The vector that is added.
    pub x: [T; N],
}

/// The map h ↦ A·h + b that several steps make.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixMap<T, const N: usize> {
    /// The rows of the matrix.
    pub a: [[T; N]; N],
    /// The vector that is added.
    pub b: [T; N],
}

/// The recurrence `h[t] = A[t]·h[t−1] + x[t]` of vectors of `N` numbers: state-space models with small dense blocks,
/// Kalman filters of which the gains are known, recurrences of order `N` by their companion matrices.
///
/// The input is a struct of A and x: an array of these, or a tuple of two arrays. The state is a vector, which the
/// total and an initial value are; without one it begins with zeros. The map of several steps has `N·N + N` numbers and
/// at most 256 bytes: `N` is at most 5 for `f64`, 7 for `f32`. Of integers a recurrence wraps around.
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// // Rotations by a quarter turn, with a push to the right at each step.
/// let (turn, push) = ([[0.0_f32, -1.0], [1.0, 0.0]], [1.0, 0.0]);
/// let places = Scanner::new()?.scan(ops::matrix_recurrence::<f32, 2>());
/// assert_eq!(places.run((&[turn; 4], &[push; 4]))?, [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// A recurrence of second order, `h[t] = p·h[t−1] + q·h[t−2] + x[t]`, has the matrix `[[p, q], [1, 0]]` and the vector
/// `[x[t], 0]`; its states are `[h[t], h[t−1]]`. [`second_order`](super::second_order()) makes them of three arrays.
///
/// # Gradient
///
/// [`gradient`](MatrixRecurrence::gradient) is the operator of the backward pass, a reversed scan.
///
/// # Source
///
/// Kogge and Stone, *A Parallel Algorithm for the Efficient Solution of a General Class of Recurrence Equations*, 1973.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatrixRecurrence<T, const N: usize>(PhantomData<T>);

/// The recurrence h = A·h + x of vectors.
pub fn matrix_recurrence<T: Number, const N: usize>() -> MatrixRecurrence<T, N> {
    MatrixRecurrence(PhantomData)
}

impl<T: Number, const N: usize> MatrixRecurrence<T, N> {
    /// The operator of the backward pass, for a reversed scan: [`MatrixRecurrenceGradient`].
    pub fn gradient(self) -> MatrixRecurrenceGradient<T, N> {
        MatrixRecurrenceGradient(PhantomData)
    }
}

impl<T: Number, const N: usize> MatrixMap<T, N> {
    /// The map that changes nothing.
    const IDENTITY: Self = {
        let mut a = [[T::ZERO; N]; N];
        let mut row = 0;
        while row < N {
            a[row][row] = T::ONE;
            row += 1;
        }
        MatrixMap { a, b: [T::ZERO; N] }
    };
}

/// The product of a matrix and a vector, with a vector added.
#[scan_fn(crate = crate)]
#[inline]
pub(super) fn affine<T: Number, const N: usize>(a: [[T; N]; N], h: [T; N], b: [T; N]) -> [T; N] {
    let mut sums = b;
    for row in 0..N {
        for k in 0..N {
            sums[row] = sums[row].wrapping_add(a[row][k].wrapping_mul(h[k]));
        }
    }
    sums
}

/// The product of two matrices.
#[scan_fn(crate = crate)]
#[inline]
fn product<T: Number, const N: usize>(a: [[T; N]; N], b: [[T; N]; N]) -> [[T; N]; N] {
    let mut products = [[T::ZERO; N]; N];
    for row in 0..N {
        for column in 0..N {
            for k in 0..N {
                products[row][column] = products[row][column].wrapping_add(a[row][k].wrapping_mul(b[k][column]));
            }
        }
    }
    products
}

/// The rows of a matrix as columns.
#[scan_fn(crate = crate)]
#[inline]
fn transposed<T: Number, const N: usize>(a: [[T; N]; N]) -> [[T; N]; N] {
    let mut columns = a;
    for row in 0..N {
        for column in 0..N {
            columns[row][column] = a[column][row];
        }
    }
    columns
}

/// First `f`, then `g`.
#[scan_fn(crate = crate)]
#[inline]
fn composed<T: Number, const N: usize>(f: MatrixMap<T, N>, g: MatrixMap<T, N>) -> MatrixMap<T, N> {
    MatrixMap::<T, N> { a: product::<T, N>(g.a, f.a), b: affine::<T, N>(g.a, f.b, g.b) }
}

#[scan_op(crate = crate)]
impl<T: Number, const N: usize> ScanOp for MatrixRecurrence<T, N> {
    type Input = MatrixStep<T, N>;
    type State = MatrixMap<T, N>;
    type Carry = [T; N];
    type Output = [T; N];
    const IDENTITY: MatrixMap<T, N> = MatrixMap::IDENTITY;
    const START: [T; N] = [T::ZERO; N];
    fn lift(x: MatrixStep<T, N>) -> MatrixMap<T, N> {
        MatrixMap::<T, N> { a: x.a, b: x.x }
    }
    fn combine(f: MatrixMap<T, N>, g: MatrixMap<T, N>) -> MatrixMap<T, N> {
        composed::<T, N>(f, g)
    }
    fn apply(f: MatrixMap<T, N>, h: [T; N]) -> [T; N] {
        affine::<T, N>(f.a, h, f.b)
    }
    fn step(h: [T; N], x: MatrixStep<T, N>) -> [T; N] {
        affine::<T, N>(x.a, h, x.x)
    }
    fn project(h: [T; N]) -> [T; N] {
        h
    }
}

/// What the backward pass of a step reads, an input of a [`MatrixRecurrenceGradient`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixAdjoint<T, const N: usize> {
    /// The rows of the matrix `A[t]` of the step.
    pub a: [[T; N]; N],
    /// The state `h[t−1]` before the step.
    pub before: [T; N],
    /// The gradient of the loss with respect to the step's result `h[t]`.
    pub gradient: [T; N],
}

/// The gradient of a [`MatrixRecurrence`]: a reversed scan that gives the gradients of the matrices and of the vectors.
///
/// With `λ[t]` the gradient of the loss with respect to the state `h[t]` in all: `λ[t] = g[t] + A[t+1]ᵀ·λ[t+1]`. The
/// results are `dA[t] = λ[t]·h[t−1]ᵀ` and `dx[t] = λ[t]`; the carry is `A[t]ᵀ·λ[t]`. So an initial value is the
/// gradient of the final state, and the total that of the initial state.
///
/// ```
/// use scan_runtime::{Scanner, arrays, ops};
///
/// let (scanner, recurrence) = (Scanner::new()?, ops::matrix_recurrence::<f64, 2>());
/// let (a, x) = ([[[0.0, 1.0], [2.0, 0.0]]; 2], [[1.0, 0.0], [0.0, 1.0]]);
/// let h = scanner.scan(recurrence).run((&a, &x))?;
/// assert_eq!(h, [[1.0, 0.0], [0.0, 3.0]]);
/// // Backward, for a loss that is the sum of all numbers of all results.
/// let before = arrays::previous(&h, [0.0, 0.0]);
/// let (mut da, mut dx) = ([[[0.0; 2]; 2]; 2], [[0.0; 2]; 2]);
/// let gradient = scanner.scan(recurrence.gradient()).reverse();
/// gradient.run_into((&a, before, &[[1.0, 1.0]; 2]), (&mut da, &mut dx))?;
/// assert_eq!(dx, [[3.0, 2.0], [1.0, 1.0]]);
/// assert_eq!(da[1], [[1.0, 0.0], [1.0, 0.0]]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatrixRecurrenceGradient<T, const N: usize>(PhantomData<T>);

#[scan_op(crate = crate)]
impl<T: Number, const N: usize> ScanOp for MatrixRecurrenceGradient<T, N> {
    type Input = MatrixAdjoint<T, N>;
    type State = MatrixMap<T, N>;
    type Carry = [T; N];
    type Output = MatrixStep<T, N>;
    const IDENTITY: MatrixMap<T, N> = MatrixMap::IDENTITY;
    const START: [T; N] = [T::ZERO; N];
    fn lift(x: MatrixAdjoint<T, N>) -> MatrixMap<T, N> {
        let back = transposed::<T, N>(x.a);
        MatrixMap::<T, N> { a: back, b: affine::<T, N>(back, x.gradient, [T::ZERO; N]) }
    }
    fn combine(f: MatrixMap<T, N>, g: MatrixMap<T, N>) -> MatrixMap<T, N> {
        composed::<T, N>(f, g)
    }
    fn apply(f: MatrixMap<T, N>, c: [T; N]) -> [T; N] {
        affine::<T, N>(f.a, c, f.b)
    }
    fn step(c: [T; N], x: MatrixAdjoint<T, N>) -> [T; N] {
        let mut lambda = c;
        for k in 0..N {
            lambda[k] = lambda[k].wrapping_add(x.gradient[k]);
        }
        affine::<T, N>(transposed::<T, N>(x.a), lambda, [T::ZERO; N])
    }
    fn emit(c: [T; N], x: MatrixAdjoint<T, N>) -> MatrixStep<T, N> {
        let mut lambda = c;
        for k in 0..N {
            lambda[k] = lambda[k].wrapping_add(x.gradient[k]);
        }
        let mut da = x.a;
        for row in 0..N {
            for column in 0..N {
                da[row][column] = lambda[row].wrapping_mul(x.before[column]);
            }
        }
        MatrixStep::<T, N> { a: da, x: lambda }
    }
}

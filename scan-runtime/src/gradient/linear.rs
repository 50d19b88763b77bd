//! The maps by which the steps of a backward pass change an adjoint.

#![allow(clippy::needless_range_loop, reason = "ranges are the operator language's loops")]

use super::components::{Components, add_at, add_scaled, component, dot, multiply};
use crate::{scan_element, scan_fn};

/// The affine map `a ↦ M·a + v` of an adjoint with `N` components: the effect of some steps of a backward pass on it.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdjointMap<C, const N: usize> {
    /// The rows of M.
    pub rows: [C; N],
    /// v
    pub shift: C,
}

/// The same for steps with a diagonal M.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiagonalMap<C> {
    /// The diagonal of M.
    pub factors: C,
    /// v
    pub shift: C,
}

/// The effect of some steps on an adjoint, and the affine map that they add to the gradient of the parameters.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParametersMap<M, C, P, const K: usize> {
    /// The map of the adjoint.
    pub state: M,
    /// The rows of the linear map from an adjoint to the gradient of the parameters.
    pub rows: [C; K],
    /// The sum that is added for any adjoint.
    pub shift: P,
}

/// The adjoint of a state, and the gradient of the operator's parameters: the carry of a backward pass.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WithParameters<C, P> {
    /// The gradient with respect to the state.
    pub state: C,
    /// The gradient with respect to the parameters, of all steps so far.
    pub parameters: P,
}

/// The carry of a backward pass: the adjoint of a state of type `C` alone, or [`WithParameters`].
pub trait AdjointCarry<C>: Copy {
    /// The carry with this adjoint; the gradient of the parameters is 0.
    fn of_state(state: C) -> Self;
    /// The adjoint of the state.
    fn state(&self) -> C;
    /// The gradient with respect to the floats of the parameters.
    fn parameters(&self) -> Vec<f64>;
}

impl<C: Components> AdjointCarry<C> for C {
    fn of_state(state: C) -> Self {
        state
    }
    fn state(&self) -> C {
        *self
    }
    fn parameters(&self) -> Vec<f64> {
        Vec::new()
    }
}

impl<C: Components, P: Components<Scalar: Into<f64>>> AdjointCarry<C> for WithParameters<C, P> {
    fn of_state(state: C) -> Self {
        WithParameters { state, parameters: P::ZERO }
    }
    fn state(&self) -> C {
        self.state
    }
    fn parameters(&self) -> Vec<f64> {
        (0..P::COUNT).map(|index| self.parameters.component(index).into()).collect()
    }
}

/// An input of a backward pass, for a step of the operator: a struct, or a tuple of three arrays.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Backward<C, X, Y> {
    /// The carry before the step.
    pub before: C,
    /// The operator's input.
    pub x: X,
    /// The gradient of the loss with respect to the step's output.
    pub gradient: Y,
}

/// The map that changes nothing.
pub fn identity<C: Components, const N: usize>() -> AdjointMap<C, N> {
    let one = <C::Scalar as crate::ops::Number>::ONE;
    AdjointMap { rows: std::array::from_fn(|index| C::ZERO.add_at(index, one)), shift: C::ZERO }
}

/// The rows of `rows · map`.
#[scan_fn(crate = crate)]
pub fn product<C: Components, const N: usize, const K: usize>(rows: [C; K], map: [C; N]) -> [C; K] {
    let mut products = [<C as Components>::ZERO; K];
    for row in 0..K {
        let mut sum = <C as Components>::ZERO;
        for i in 0..N {
            sum = add_scaled::<C>(sum, map[i], component::<C>(rows[row], i));
        }
        products[row] = sum;
    }
    products
}

/// A map, applied to an adjoint.
#[scan_fn(crate = crate)]
pub fn applied<C: Components, const N: usize>(map: AdjointMap<C, N>, to: C) -> C {
    let mut sum = map.shift;
    for row in 0..N {
        sum = add_at::<C>(sum, row, dot::<C>(map.rows[row], to));
    }
    sum
}

/// First `f`, then `g`.
#[scan_fn(crate = crate)]
pub fn composed<C: Components, const N: usize>(f: AdjointMap<C, N>, g: AdjointMap<C, N>) -> AdjointMap<C, N> {
    AdjointMap::<C, N> { rows: product::<C, N, N>(g.rows, f.rows), shift: applied::<C, N>(g, f.shift) }
}

/// A diagonal map, applied to an adjoint.
#[scan_fn(crate = crate)]
pub fn applied_diagonally<C: Components>(map: DiagonalMap<C>, to: C) -> C {
    add_scaled::<C>(map.shift, multiply::<C>(map.factors, to), <C::Scalar as crate::ops::Number>::ONE)
}

/// First `f`, then `g`.
#[scan_fn(crate = crate)]
pub fn composed_diagonally<C: Components>(f: DiagonalMap<C>, g: DiagonalMap<C>) -> DiagonalMap<C> {
    DiagonalMap::<C> { factors: multiply::<C>(f.factors, g.factors), shift: applied_diagonally::<C>(g, f.shift) }
}

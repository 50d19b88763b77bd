//! Gradients of scans: the backward pass of an operator, as one reversed scan.
//!
//! `#[scan_op(gradient)]` derives it from the operator's own functions:
//!
//! ```
//! use scan_runtime::{ScanOp, Scanner, scan_element, scan_op};
//!
//! /// The map h ↦ a·h + b.
//! #[scan_element(gradient)]
//! #[derive(Clone, Copy, Debug)]
//! struct Affine { a: f64, b: f64 }
//!
//! /// h ← tanh(x)·h + x, with the output h².
//! #[derive(Clone, Copy)]
//! struct Layer;
//!
//! #[scan_op(gradient)]
//! impl ScanOp for Layer {
//!     type Input = f64;
//!     type State = Affine;
//!     type Carry = f64;
//!     type Output = f64;
//!     const IDENTITY: Affine = Affine { a: 1.0, b: 0.0 };
//!     const START: f64 = 0.0;
//!     fn lift(x: f64) -> Affine { Affine { a: x.tanh(), b: x } }
//!     fn combine(f: Affine, g: Affine) -> Affine { Affine { a: f.a * g.a, b: g.a * f.b + g.b } }
//!     fn apply(f: Affine, h: f64) -> f64 { f.a * h + f.b }
//!     fn step(h: f64, x: f64) -> f64 { x.tanh() * h + x }
//!     fn project(h: f64) -> f64 { h * h }
//! }
//!
//! let (scanner, x) = (Scanner::new()?, [0.5, -1.0, 2.0]);
//! // Forward: the outputs, and the state before each step.
//! let y = scanner.scan(Layer).run(&x)?;
//! let before = scanner.states(Layer).run(&x)?;
//! // Backward, for a loss that is the sum of the outputs.
//! let mut dx = [0.0; 3];
//! scanner.backward(Layer).run_into((&before, &x, &[1.0; 3]), &mut dx)?;
//!
//! // The same by a difference.
//! let loss = |x: &[f64]| Ok::<f64, scan_runtime::Error>(scanner.scan(Layer).run(x)?.iter().sum());
//! let difference = (loss(&[0.5, -1.0 + 1e-6, 2.0])? - loss(&[0.5, -1.0 - 1e-6, 2.0])?) / 2e-6;
//! assert!((dx[1] - difference).abs() < 1e-7);
//! # Ok::<(), scan_runtime::Error>(())
//! ```
//!
//! # What the backward pass is
//!
//! A step makes the state `F(c, x)` and the output `E(c, x)` of the carry `c` and the input `x`. With `g` the
//! gradient of the loss with respect to the output, and `a` the gradient with respect to the state after the step:
//!
//! | | |
//! |---|---|
//! | carry, from the last step to the first | `(∂F/∂c)ᵀ·a + (∂E/∂c)ᵀ·g`, the gradient with respect to the state before |
//! | output | `(∂F/∂x)ᵀ·a + (∂E/∂x)ᵀ·g`, the gradient with respect to the input |
//! | initial value | the gradient with respect to the final state; 0 without one |
//! | total | the gradient with respect to the initial value |
//!
//! A step is affine in `a`. So the state of the operator is such a map, of d × d and d numbers for a carry of d, and
//! its `combine` composes two. `F` is `step`, or `append`, or `combine(c, lift(x))`; `E` is `emit`, or `project(F(c,
//! x))`. The operator is in the operator language, like any: it runs on the CPU and on the GPU, by rows, segments and
//! along an axis.
//!
//! The gradient has the type of the value: the gradient of a struct is a struct. Integers and `bool` are constants, whose
//! gradient is 0 and `false`. A cast to an integer, a rounding and a comparison change by steps; their derivative is
//! 0. Of `min` and `max`, a gradient of equal operands is the first one's; `abs` has the slope 1 at 0; `sqrt` has
//! none at 0, but where its operand does not change, neither does the root. A branch has the gradient of the side
//! that is taken.
//!
//! # Options
//!
//! | | |
//! |---|---|
//! | `gradient` | of inputs and initial value |
//! | `gradient(decay: f64, gain: f64)` | of the fields `self.decay` and `self.gain` too, with their types. The carry is then a [`WithParameters`], whose `parameters` has fields of these names: in the total, the sums of all steps. All other fields are constants |
//! | `gradient(diagonal)` | the vouched-for `∂F/∂c` is diagonal, as of independent channels: the state has 2·d numbers in place of d² + d |
//!
//! A state has at most 256 bytes: without parameters a full map is for carries of up to 5 numbers of `f64`, or 7 of
//! `f32`. Each step costs as many tangents of `F` and `E` as there are numbers in the carry and in the input.
//!
//! Structs in the operator's types are marked `#[scan_element(gradient)]`, functions that it calls
//! `#[scan_fn(gradient)]`. The derivation reports an error at an expression that it cannot follow: a loop with a value,
//! a name inside of a pattern of `match`, the bits of a float. An operator whose gradient you write yourself implements
//! [`Differentiable`], as [`ops::Recurrence`](crate::ops::Recurrence) does.
//!
//! # Generic operators
//!
//! The gradient of a generic operator is derived for the types that you name, and so is the gradient of a generic
//! struct: the size of the Jacobian depends on the types, and stable Rust does not compute lengths of arrays from type
//! parameters. The macro replaces the parameters by the types and derives the gradient of the result.
//!
//! ```
//! use scan_runtime::{ScanOp, Scanner, ops::Number, scan_element, scan_op};
//!
//! #[scan_element(gradient(Affine<f32>, Affine<f64>))]
//! #[derive(Clone, Copy, Debug)]
//! struct Affine<T> { a: T, b: T }
//!
//! /// h ← decay·h + x
//! #[derive(Clone, Copy)]
//! struct Decay<T> { decay: T }
//!
//! #[scan_op(gradient(decay: T, Decay<f32>, Decay<f64>))]
//! impl<T: Number> ScanOp for Decay<T> {
//!     type Input = T;
//!     type State = Affine<T>;
//!     type Carry = T;
//!     type Output = T;
//!     const IDENTITY: Affine<T> = Affine { a: T::ONE, b: T::ZERO };
//!     const START: T = T::ZERO;
//!     fn lift(&self, x: T) -> Affine<T> { Affine { a: self.decay, b: x } }
//!     fn combine(f: Affine<T>, g: Affine<T>) -> Affine<T> {
//!         Affine { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
//!     }
//!     fn apply(f: Affine<T>, h: T) -> T { f.a.wrapping_mul(h).wrapping_add(f.b) }
//!     fn step(&self, h: T, x: T) -> T { self.decay.wrapping_mul(h).wrapping_add(x) }
//! }
//!
//! let (scanner, op, x) = (Scanner::new()?, Decay { decay: 0.5_f32 }, [1.0_f32, 0.0, 0.0]);
//! let before = scanner.states(op).run(&x)?;
//! assert_eq!(scanner.backward(op).run((&before, &x, &[0.0, 0.0, 1.0]))?, [0.25, 0.5, 1.0]);
//! # Ok::<(), scan_runtime::Error>(())
//! ```
//!
//! The methods of [`Number`](crate::ops::Number) and `T::from(x)` between types with `From` are found in an instance;
//! the trait of another method has to be in scope. A generic `#[scan_fn]` has no gradient.
//!
//! # Floats of 16 bits
//!
//! Inputs, outputs and parameters may be `f16` and `bf16`; the carry has `f32` or `f64`:
//!
//! ```
//! # #[cfg(feature = "half")] {
//! use scan_runtime::{ScanOp, Scanner, half::bf16, scan_element, scan_op};
//!
//! #[scan_element(gradient)]
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! struct Step { a: bf16, x: bf16 }
//!
//! #[scan_element(gradient)]
//! #[derive(Clone, Copy, Debug)]
//! struct Affine { a: f32, b: f32 }
//!
//! /// h ← a·h + x
//! #[derive(Clone, Copy)]
//! struct Layer;
//!
//! #[scan_op(gradient)]
//! impl ScanOp for Layer {
//!     type Input = Step;
//!     type State = Affine;
//!     type Carry = f32;
//!     type Output = bf16;
//!     const IDENTITY: Affine = Affine { a: 1.0, b: 0.0 };
//!     const START: f32 = 0.0;
//!     fn lift(step: Step) -> Affine { Affine { a: step.a.to_f32(), b: step.x.to_f32() } }
//!     fn combine(f: Affine, g: Affine) -> Affine { Affine { a: f.a * g.a, b: g.a * f.b + g.b } }
//!     fn apply(f: Affine, h: f32) -> f32 { f.a * h + f.b }
//!     fn step(h: f32, step: Step) -> f32 { step.a.to_f32() * h + step.x.to_f32() }
//!     fn project(h: f32) -> bf16 { bf16::from_f32(h) }
//! }
//!
//! let (scanner, steps) = (Scanner::new()?, vec![Step { a: bf16::ONE, x: bf16::ONE }; 300]);
//! let before = scanner.states(Layer).run(&steps)?;
//! let gradients = scanner.backward(Layer).run((&before, &steps, &[bf16::ONE; 300]))?;
//! // The adjoint is an `f32`: in `bf16`, 256 + 1 is 256.
//! assert_eq!(gradients[0].x, bf16::from_f32(300.0));
//! # }
//! # Ok::<(), scan_runtime::Error>(())
//! ```
//!
//! Each gradient is rounded once. Adjoints have the type of the carry, the gradients of parameters are `f32`, and so
//! are all derivatives on the way, of arithmetic in 16 bits too. Conversions have the derivative 1.
//!
//! A carry of 16 bits is an error: a state that is rounded at each step loses what small inputs add, forward and
//! backward. Widen the inputs in `lift` and `step`, and round the outputs in `project` or `emit`.
//!
//! # Reversed and exclusive scans
//!
//! [`Scanner::backward`] is for scans that read from the left. Of a reversed scan by a [stepped
//! operator](ScanOp#stepped-operators) the backward pass is `scanner.scan(op.gradient())`, and the states are
//! `scanner.states(op).reverse()`. Of an exclusive scan, output `i` is the projection of the state after step `i - 1`:
//! so is its gradient.
//!
//! # Memory
//!
//! The states of n steps are kept in n carries. Or they are recomputed by chunks, which costs another forward pass and
//! keeps one carry for each chunk and the carries of one chunk: [`Differentiable`] has an example.
//!
//! # Second derivatives
//!
//! Out: the gradient's operator has no gradient.

mod components;
mod functions;
mod halves;
mod linear;

pub use components::Components;
pub use linear::{AdjointCarry, AdjointMap, Backward, DiagonalMap, ParametersMap, WithParameters};

use crate::{Scan, ScanOp, Scanner};

/// An operator whose scans have a backward pass: one with `#[scan_op(gradient)]`, or one whose gradient is written by
/// hand.
///
/// States that are recomputed by chunks, with one carry kept for each:
///
/// ```
/// use scan_runtime::{ScanOp, Scanner, gradient::Differentiable, scan_op};
///
/// #[scan_op(identity = 1.0, name = Product, gradient)]
/// fn product(a: f64, b: f64) -> f64 {
///     a * b
/// }
///
/// let (scanner, x, g) = (Scanner::new()?, [2.0, 0.5, 3.0, -1.0, 0.25, 4.0], [1.0; 6]);
/// let chunk = 2;
/// // Forward: the total of each chunk is the initial value of the next.
/// let mut first = vec![1.0];
/// for part in x.chunks(chunk) {
///     let last = first[first.len() - 1];
///     let (_outputs, total) = scanner.scan(Product).init(last).with_total().run(part)?;
///     first.extend(total);
/// }
/// // Backward, from the last chunk: forward over the chunk for its states, then backward.
/// let (mut dx, mut adjoint) = (vec![0.0; x.len()], 0.0);
/// for (index, part) in x.chunks(chunk).enumerate().rev() {
///     let places = index * chunk..index * chunk + part.len();
///     let before = scanner.states(Product).init(first[index]).run(part)?;
///     let backward = scanner.backward(Product).init(adjoint);
///     let total = backward.with_total().run_into((&before, part, &g[places.clone()]), &mut dx[places])?;
///     adjoint = total.unwrap_or(adjoint);
/// }
/// let before = scanner.states(Product).run(&x)?;
/// let mut whole = vec![0.0; x.len()];
/// scanner.backward(Product).run_into((&before, &x, &g), &mut whole)?;
/// assert_eq!(dx, whole);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// Of n steps in chunks of k, n / k + k carries are kept in place of n: least with k = √n.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no gradient",
    label = "no operator of a backward pass is known",
    note = "derive it: `#[scan_op(gradient)]`; or implement `gradient::Differentiable` by hand"
)]
pub trait Differentiable: ScanOp + Sized {
    /// The operator of the backward pass. Its outputs are the gradients of the inputs.
    type Gradient: ScanOp<Output = Self::Input>;
    /// The operator whose outputs are the carries.
    type States: ScanOp<Input = Self::Input, Carry = Self::Carry, Output = Self::Carry>;
    /// The operator of the backward pass, for a scan from the other end.
    fn gradient(self) -> Self::Gradient;
    /// The operator whose outputs are the carries. Its exclusive scan gives the carry before each step, which the
    /// backward pass reads.
    fn states(self) -> Self::States;
}

/// Gradients.
impl Scanner {
    /// The backward pass of scans with this operator: a reversed scan. Its input is a [`Backward`] for each step, or
    /// three arrays: the [states](Scanner::states), the inputs, and the gradients of the loss with respect to the
    /// outputs. Its outputs are the gradients with respect to the inputs.
    ///
    /// Its initial value is the gradient with respect to the final state. Its total is the gradient with respect to the
    /// initial value, and to the parameters that `gradient(…)` names:
    ///
    /// ```
    /// use scan_runtime::{ScanOp, Scanner, scan_element, scan_op};
    ///
    /// #[scan_element(gradient)]
    /// #[derive(Clone, Copy, Debug)]
    /// struct Affine { a: f64, b: f64 }
    ///
    /// /// h ← decay·h + x
    /// #[derive(Clone, Copy)]
    /// struct Decay { decay: f64 }
    ///
    /// #[scan_op(gradient(decay: f64))]
    /// impl ScanOp for Decay {
    ///     type Input = f64;
    ///     type State = Affine;
    ///     type Carry = f64;
    ///     type Output = f64;
    ///     const IDENTITY: Affine = Affine { a: 1.0, b: 0.0 };
    ///     const START: f64 = 0.0;
    ///     fn lift(&self, x: f64) -> Affine { Affine { a: self.decay, b: x } }
    ///     fn combine(f: Affine, g: Affine) -> Affine { Affine { a: f.a * g.a, b: g.a * f.b + g.b } }
    ///     fn apply(f: Affine, h: f64) -> f64 { f.a * h + f.b }
    ///     fn step(&self, h: f64, x: f64) -> f64 { self.decay * h + x }
    /// }
    ///
    /// let (scanner, op, x) = (Scanner::new()?, Decay { decay: 0.5 }, [1.0, 0.0, 0.0]);
    /// let before = scanner.states(op).run(&x)?;
    /// // The loss is the last output, 0.25·x[0] + 0.5·x[1] + x[2].
    /// let mut dx = [0.0; 3];
    /// let total = scanner.backward(op).with_total().run_into((&before, &x, &[0.0, 0.0, 1.0]), &mut dx)?;
    /// assert_eq!(dx, [0.25, 0.5, 1.0]);
    /// let total = total.ok_or("no steps")?;
    /// // With respect to the initial value, 0.125·h; and to the decay, 2·0.5·x[0].
    /// assert_eq!((total.state, total.parameters.decay), (0.125, 1.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// It reads three arrays and writes one. For struct inputs whose fields lie in arrays of their own, write an
    /// array of structs.
    pub fn backward<Op: Differentiable>(&self, op: Op) -> Scan<Op::Gradient> {
        self.scan(op.gradient()).reverse()
    }

    /// The states that the [backward pass](Scanner::backward) reads: the carry before each step, by an exclusive
    /// scan. Its initial value is the forward scan's, and its total is the carry after the last step.
    ///
    /// It is a forward pass of its own. Where outputs are the states themselves, they are also
    /// [`arrays::previous`](crate::arrays::previous)`(&y, first)` of the outputs.
    pub fn states<Op: Differentiable>(&self, op: Op) -> Scan<Op::States> {
        self.scan(op.states()).exclusive()
    }
}

/// The items that the output of the macros names.
#[doc(hidden)]
pub mod private {
    pub use super::components::{Float, Width, add_at, add_scaled, component, dot, multiply, narrowed, widened};
    pub use super::functions::{
        Tangent1, Tangent2, Tangent3, Tangent4, Tangent5, Tangent6, tangent1, tangent2, tangent3, tangent4, tangent5,
        tangent6,
    };
    pub use super::halves::{Choice, Factor, TangentOf, Whole, carry_of_wide_floats, no_halves};
    pub use super::linear::{applied, applied_diagonally, composed, composed_diagonally, identity, product};
}

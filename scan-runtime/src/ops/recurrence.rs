//! Recurrences of first order, and their gradients.

use std::marker::PhantomData;

use super::{Narrower, Number, Wider};
use crate::{ScanOp, gradient::Differentiable, scan_element, scan_op};

/// A step of a recurrence h = a·h + x, an input of a [`Recurrence`]; or its gradient, an output of a
/// [`RecurrenceGradient`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gated<T> {
    /// The factor of the state before: the gate, or the decay.
    pub a: T,
    /// The term that is added.
    pub x: T,
}

/// The map h ↦ a·h + b that several steps make.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AffineMap<T> {
    /// The factor of h.
    pub a: T,
    /// The term that is added.
    pub b: T,
}

/// The recurrence `h[t] = a[t]·h[t−1] + x[t]`, as gated linear recurrences and diagonal state-space models have it.
///
/// The input is a struct of a and x: an array of these, or a tuple of two arrays. The state is a number of the type
/// `W`, into which the inputs are converted, and which the total and an initial value have; without one it begins with
/// 0.
///
/// ```
/// use scan_runtime::{Axis, Scanner, ops};
///
/// // Two sequences of three steps, each of two channels.
/// let (a, x) = ([0.5_f32; 12], [1.0, 8.0, 1.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 4.0]);
/// let recurrence = Scanner::new()?.scan(ops::recurrence::<f32>());
/// let along = recurrence.along(Axis::of(&[2, 3, 2], 1)?).with_totals();
/// let (h, last) = along.run((&a, &x))?;
/// assert_eq!(h, [1.0, 8.0, 1.5, 4.0, 1.75, 2.0, 2.0, 0.0, 1.0, 0.0, 0.5, 4.0]);
/// // The sequences go on from here, in their next chunk or token by token: `.init_each(&last)`.
/// assert_eq!(last, [1.75, 2.0, 0.5, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// One gate for all channels of a head is `arrays::strided(&a, &[steps, 1, 0])` in place of `&a`, with the strides of
/// the gates along each dimension: an item is read where it is, and nothing is repeated in memory.
///
/// Numbers narrower than the state are [`recurrence_in::<f32, bf16>()`](recurrence_in), whose results are narrow, or
/// after [`wide`](Recurrence::wide) as wide as the state. Of integers a recurrence wraps around, as polynomial hashes
/// do.
///
/// Factors larger than 1 may [overflow](ScanOp#overflow) in a scan where a loop does not.
///
/// # Gradient
///
/// [`gradient`](Recurrence::gradient) is the operator of the backward pass, a reversed scan.
///
/// # Source
///
/// Each step is a map h ↦ a·h + x, and their composition is associative: Kogge and Stone, *A Parallel Algorithm for the
/// Efficient Solution of a General Class of Recurrence Equations*, 1973. For sequence models: Martin and Cundy,
/// *Parallelizing Linear Recurrent Neural Nets Over Sequence Length*, 2018.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recurrence<W, N = W, O = N>(PhantomData<(W, N, O)>);

/// The recurrence h = a·h + x of numbers of one type.
pub fn recurrence<T: Wider<T> + Narrower<T>>() -> Recurrence<T> {
    Recurrence(PhantomData)
}

/// The recurrence h = a·h + x whose state is of the type `W`, and whose inputs are of the narrower type `N`.
///
/// ```
/// # #[cfg(feature = "half")] {
/// use scan_runtime::{Scanner, half::f16, ops};
///
/// let (a, x) = ([f16::ONE; 3_000], [f16::ONE; 3_000]);
/// let counts = Scanner::new()?.scan(ops::recurrence_in::<f32, f16>());
/// // In `f16`, 2048 + 1 is 2048.
/// assert_eq!(counts.run((&a, &x))?[2_999], f16::from_f32(3_000.0));
/// # }
/// # Ok::<(), scan_runtime::Error>(())
/// ```
pub fn recurrence_in<W: Wider<N>, N: Narrower<W>>() -> Recurrence<W, N> {
    Recurrence(PhantomData)
}

impl<W: Wider<N>, N: Number> Recurrence<W, N> {
    /// The same with results of the type of the state.
    pub fn wide(self) -> Recurrence<W, N, W>
    where
        W: Narrower<W>,
    {
        Recurrence(PhantomData)
    }
}

impl<W: Wider<N>, N: Narrower<W>, O: Narrower<W>> Recurrence<W, N, O> {
    /// The operator of the backward pass, for a reversed scan: [`RecurrenceGradient`].
    pub fn gradient(self) -> RecurrenceGradient<W, N, O> {
        RecurrenceGradient(PhantomData)
    }
}

#[scan_op(crate = crate)]
impl<W: Wider<N>, N: Number, O: Narrower<W>> ScanOp for Recurrence<W, N, O> {
    type Input = Gated<N>;
    type State = AffineMap<W>;
    type Carry = W;
    type Output = O;
    const IDENTITY: AffineMap<W> = AffineMap { a: W::ONE, b: W::ZERO };
    const START: W = W::ZERO;
    fn lift(x: Gated<N>) -> AffineMap<W> {
        AffineMap { a: W::from(x.a), b: W::from(x.x) }
    }
    fn combine(f: AffineMap<W>, g: AffineMap<W>) -> AffineMap<W> {
        AffineMap { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn apply(f: AffineMap<W>, h: W) -> W {
        f.a.wrapping_mul(h).wrapping_add(f.b)
    }
    fn step(h: W, x: Gated<N>) -> W {
        W::from(x.a).wrapping_mul(h).wrapping_add(W::from(x.x))
    }
    fn project(h: W) -> O {
        O::from(h)
    }
}

/// What the backward pass of a step reads, an input of a [`RecurrenceGradient`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Adjoint<N, O = N> {
    /// The gate `a[t]` of the step.
    pub a: N,
    /// The state `h[t−1]` before the step.
    pub before: O,
    /// The gradient of the loss with respect to the step's result `h[t]`.
    pub gradient: O,
}

/// The gradient of a [`Recurrence`]: a reversed scan that gives the gradients of the gates and of the terms.
///
/// With `λ[t]` the gradient of the loss with respect to the state `h[t]` in all, the result's own gradient `g[t]` and
/// what comes back from later steps: `λ[t] = g[t] + a[t+1]·λ[t+1]`. The results are `da[t] = λ[t]·h[t−1]` and
/// `dx[t] = λ[t]`; the carry is `a[t]·λ[t]`. So an initial value is the gradient of the final state, and the total that
/// of the initial state.
///
/// ```
/// use scan_runtime::{Axis, Scanner, arrays, ops};
///
/// let (a, x, first) = ([0.5, 2.0, 3.0], [1.0, 1.0, 1.0], 4.0);
/// let (scanner, recurrence) = (Scanner::new()?, ops::recurrence::<f64>());
/// // Forward: the initial state, and that after each step.
/// let h = scanner.scan(recurrence).init(first).include_initial().run((&a, &x))?;
/// assert_eq!(h, [4.0, 3.0, 7.0, 22.0]);
/// // Backward, for a loss that is the sum of all results.
/// let gradient = scanner.scan(recurrence.gradient()).reverse();
/// let (mut da, mut dx) = ([0.0; 3], [0.0; 3]);
/// let d_first = gradient.with_total().run_into((&a, &h[..3], &[1.0; 3]), (&mut da, &mut dx))?;
/// assert_eq!((da, dx, d_first), ([36.0, 12.0, 7.0], [9.0, 4.0, 1.0], Some(4.5)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It reads three arrays and writes two, 5n in all. Along an axis each column has its own gradients of the final and of
/// the initial state: `.init_each(&d_last).totals_into(&mut d_first)`. Where an array holds the initial states too, as
/// `include_initial` writes them, `arrays::strided(&h, &strides)` gives the states before each step without a copy.
///
/// A gate that is shared, by the channels of a head, has as its gradient the sum of theirs: reduce da along that axis.
///
/// # Source
///
/// The adjoint of a linear recurrence is a linear recurrence from the other end; as a scan: Martin and Cundy,
/// *Parallelizing Linear Recurrent Neural Nets Over Sequence Length*, 2018, section 2.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecurrenceGradient<W, N = W, O = N>(PhantomData<(W, N, O)>);

#[scan_op(crate = crate)]
impl<W: Wider<N> + Wider<O>, N: Narrower<W>, O: Number> ScanOp for RecurrenceGradient<W, N, O> {
    type Input = Adjoint<N, O>;
    type State = AffineMap<W>;
    type Carry = W;
    type Output = Gated<N>;
    const IDENTITY: AffineMap<W> = AffineMap { a: W::ONE, b: W::ZERO };
    const START: W = W::ZERO;
    fn lift(x: Adjoint<N, O>) -> AffineMap<W> {
        AffineMap { a: W::from(x.a), b: W::from(x.a).wrapping_mul(W::from(x.gradient)) }
    }
    fn combine(f: AffineMap<W>, g: AffineMap<W>) -> AffineMap<W> {
        AffineMap { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn apply(f: AffineMap<W>, c: W) -> W {
        f.a.wrapping_mul(c).wrapping_add(f.b)
    }
    fn step(c: W, x: Adjoint<N, O>) -> W {
        W::from(x.a).wrapping_mul(W::from(x.gradient).wrapping_add(c))
    }
    fn emit(c: W, x: Adjoint<N, O>) -> Gated<N> {
        let lambda = W::from(x.gradient).wrapping_add(c);
        Gated { a: N::from(lambda.wrapping_mul(W::from(x.before))), x: N::from(lambda) }
    }
}

impl<W, N, O> Differentiable for Recurrence<W, N, O>
where
    W: Wider<N> + Wider<O> + Narrower<W>,
    N: Narrower<W>,
    O: Narrower<W>,
{
    type Gradient = RecurrenceGradient<W, N, O>;
    type States = Recurrence<W, N, W>;
    fn gradient(self) -> RecurrenceGradient<W, N, O> {
        RecurrenceGradient(PhantomData)
    }
    fn states(self) -> Recurrence<W, N, W> {
        Recurrence(PhantomData)
    }
}

/// The recurrence `h[t] = max(h[t−1] + a[t], x[t])`, which is linear in the max-plus algebra: the best score of a path
/// that goes on or begins here, a peak that decays, the time at which a job of a queue ends. `T` is `f32` or `f64`.
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// // The level falls by 3 a step, and rises to each peak.
/// let envelope = Scanner::new()?.scan(ops::max_plus::<f32>());
/// assert_eq!(envelope.run((&[-3.0; 5], &[0.0, 9.0, 1.0, 0.0, 2.0]))?, [0.0, 9.0, 6.0, 3.0, 2.0]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// Without an initial value the state begins with −∞. No input is NaN, and no a is ∞.
///
/// # Gradient
///
/// [`gradient`](MaxPlus::gradient) is the operator of the backward pass, a reversed scan: [`MaxPlusGradient`].
///
/// # Source
///
/// Baccelli, Cohen, Olsder and Quadrat, *Synchronization and Linearity: An Algebra for Discrete Event Systems*, 1992.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaxPlus<T>(PhantomData<T>);

/// The recurrence h = max(h + a, x).
pub fn max_plus<T>() -> MaxPlus<T>
where
    MaxPlus<T>: ScanOp,
{
    MaxPlus(PhantomData)
}

impl<T> MaxPlus<T> {
    /// The operator of the backward pass, for a reversed scan: [`MaxPlusGradient`].
    pub fn gradient(self) -> MaxPlusGradient<T> {
        MaxPlusGradient(PhantomData)
    }
}

/// What the backward pass of a step reads, an input of a [`MaxPlusGradient`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MaxPlusAdjoint<T> {
    /// The term `a[t]` of the step,
    pub a: T,
    /// and `x[t]`.
    pub x: T,
    /// The state `h[t−1]` before the step.
    pub before: T,
    /// The gradient of the loss with respect to the step's result `h[t]`.
    pub gradient: T,
}

/// The gradient of a [`MaxPlus`], a reversed scan: each step's gradient goes to the larger one of its two sides, to the
/// state before and `a[t]` where both are equal. Values and totals are as those of a [`RecurrenceGradient`].
///
/// ```
/// use scan_runtime::{Scanner, arrays, ops};
///
/// let (scanner, envelope) = (Scanner::new()?, ops::max_plus::<f32>());
/// let (a, x) = ([-3.0; 4], [1.0, 9.0, 1.0, 7.0]);
/// let h = scanner.scan(envelope).run((&a, &x))?;
/// let before = arrays::previous(&h, f32::NEG_INFINITY);
/// let (mut da, mut dx) = ([0.0; 4], [0.0; 4]);
/// scanner.scan(envelope.gradient()).reverse().run_into((&a, &x, before, &[1.0; 4]), (&mut da, &mut dx))?;
/// assert_eq!((da, dx), ([0.0, 0.0, 1.0, 0.0], [1.0, 2.0, 0.0, 1.0]));
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaxPlusGradient<T>(PhantomData<T>);

macro_rules! floats {
    ($($float:ident)*) => {$(
        #[scan_op(crate = crate)]
        impl ScanOp for MaxPlus<$float> {
            type Input = Gated<$float>;
            /// The map h ↦ max(h + a, b).
            type State = AffineMap<$float>;
            type Carry = $float;
            type Output = $float;
            const IDENTITY: AffineMap<$float> = AffineMap { a: 0.0, b: $float::NEG_INFINITY };
            const START: $float = $float::NEG_INFINITY;
            fn lift(x: Gated<$float>) -> AffineMap<$float> {
                AffineMap { a: x.a, b: x.x }
            }
            fn combine(f: AffineMap<$float>, g: AffineMap<$float>) -> AffineMap<$float> {
                AffineMap { a: f.a + g.a, b: $float::max(f.b + g.a, g.b) }
            }
            fn apply(f: AffineMap<$float>, h: $float) -> $float {
                $float::max(h + f.a, f.b)
            }
            fn step(h: $float, x: Gated<$float>) -> $float {
                $float::max(h + x.a, x.x)
            }
            fn project(h: $float) -> $float {
                h
            }
        }

        impl Differentiable for MaxPlus<$float> {
            type Gradient = MaxPlusGradient<$float>;
            type States = Self;
            fn gradient(self) -> MaxPlusGradient<$float> {
                MaxPlusGradient(PhantomData)
            }
            fn states(self) -> Self {
                self
            }
        }

        #[scan_op(crate = crate)]
        impl ScanOp for MaxPlusGradient<$float> {
            type Input = MaxPlusAdjoint<$float>;
            type State = AffineMap<$float>;
            type Carry = $float;
            type Output = Gated<$float>;
            const IDENTITY: AffineMap<$float> = AffineMap { a: 1.0, b: 0.0 };
            const START: $float = 0.0;
            fn lift(x: MaxPlusAdjoint<$float>) -> AffineMap<$float> {
                if x.before + x.a >= x.x { AffineMap { a: 1.0, b: x.gradient } } else { AffineMap { a: 0.0, b: 0.0 } }
            }
            fn combine(f: AffineMap<$float>, g: AffineMap<$float>) -> AffineMap<$float> {
                AffineMap { a: f.a * g.a, b: g.a * f.b + g.b }
            }
            fn apply(f: AffineMap<$float>, c: $float) -> $float {
                f.a * c + f.b
            }
            fn step(c: $float, x: MaxPlusAdjoint<$float>) -> $float {
                if x.before + x.a >= x.x { x.gradient + c } else { 0.0 }
            }
            fn emit(c: $float, x: MaxPlusAdjoint<$float>) -> Gated<$float> {
                let lambda = x.gradient + c;
                if x.before + x.a >= x.x { Gated { a: lambda, x: 0.0 } } else { Gated { a: 0.0, x: lambda } }
            }
        }
    )*};
}

floats! { f32 f64 }

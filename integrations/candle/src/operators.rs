//! The operators of this crate: log-sum-exps, and the gradients of products, maxima and log-sum-exps. Those of sums and
//! recurrences are in [`scan_runtime::ops`].

use std::marker::PhantomData;

use scan_runtime::{
    ScanOp,
    half::{bf16, f16},
    ops::{
        AffineMap, Max, MaxPlus, MaxPlusGradient, Narrower, Number, Product, ProductIn, Recurrence, RecurrenceGradient,
        Sum, SumIn, Wider,
    },
    scan_element, scan_fn, scan_op,
};

use crate::{Float, Read, TensorOp};

impl<T: Float + Number> TensorOp<T> for Sum<T> {
    const NAME: &'static str = "cumsum";
    type Forward = Self;
    type Inputs = [T; 1];
    type Backward = Self;
    type Reads = [T; 1];
    fn forward(&self) -> Self {
        *self
    }
    fn backward(&self) -> Self {
        *self
    }
    fn reads(&self) -> Vec<Read> {
        vec![Read::Gradient]
    }
}

impl<W: Float + Wider<N>, N: Float + Narrower<W>> TensorOp<N> for SumIn<W, N> {
    const NAME: &'static str = "cumsum";
    type Forward = Self;
    type Inputs = [N; 1];
    type Backward = Self;
    type Reads = [N; 1];
    fn forward(&self) -> Self {
        *self
    }
    fn backward(&self) -> Self {
        *self
    }
    fn reads(&self) -> Vec<Read> {
        vec![Read::Gradient]
    }
}

/// What the backward pass of a product reads.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct ProductAdjoint<N> {
    /// The factor.
    pub x: N,
    /// The product before it.
    pub before: N,
    /// The gradient of the product with it.
    pub gradient: N,
}

/// The gradient of a running product, without a division: with `λ[t] = g[t] + x[t+1]·λ[t+1]` it is `λ[t]·y[t−1]`. So a
/// factor of 0 has the gradient that it should have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProductGradient<W, N = W>(PhantomData<(W, N)>);

#[scan_op]
impl<W: Wider<N>, N: Narrower<W>> ScanOp for ProductGradient<W, N> {
    type Input = ProductAdjoint<N>;
    type State = AffineMap<W>;
    type Carry = W;
    type Output = N;
    const IDENTITY: AffineMap<W> = AffineMap { a: W::ONE, b: W::ZERO };
    const START: W = W::ZERO;
    fn lift(x: ProductAdjoint<N>) -> AffineMap<W> {
        AffineMap { a: W::from(x.x), b: W::from(x.x).wrapping_mul(W::from(x.gradient)) }
    }
    fn combine(f: AffineMap<W>, g: AffineMap<W>) -> AffineMap<W> {
        AffineMap { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn apply(f: AffineMap<W>, c: W) -> W {
        f.a.wrapping_mul(c).wrapping_add(f.b)
    }
    fn step(c: W, x: ProductAdjoint<N>) -> W {
        W::from(x.x).wrapping_mul(W::from(x.gradient).wrapping_add(c))
    }
    fn emit(c: W, x: ProductAdjoint<N>) -> N {
        N::from(W::from(x.gradient).wrapping_add(c).wrapping_mul(W::from(x.before)))
    }
}

macro_rules! products {
    ($(<$($parameter:ident: $bound:ident),*> $product:ty, $wide:ident, $narrow:ident;)*) => {$(
        impl<$($parameter: Float + $bound),*> TensorOp<$narrow> for $product
        where
            $wide: Wider<$narrow>,
            $narrow: Narrower<$wide>,
        {
            const NAME: &'static str = "cumprod";
            type Forward = Self;
            type Inputs = [$narrow; 1];
            type Backward = ProductGradient<$wide, $narrow>;
            type Reads = [$narrow; 3];
            fn forward(&self) -> Self {
                *self
            }
            fn backward(&self) -> ProductGradient<$wide, $narrow> {
                ProductGradient(PhantomData)
            }
            fn reads(&self) -> Vec<Read> {
                vec![Read::Input(0), Read::Before(1.0), Read::Gradient]
            }
        }
    )*};
}

products! {
    <T: Number> Product<T>, T, T;
    <W: Number, N: Number> ProductIn<W, N>, W, N;
}

/// What the backward pass of a maximum reads.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct MaxAdjoint<N> {
    /// The value.
    pub x: N,
    /// The largest so far.
    pub y: N,
    /// The gradient of the largest so far.
    pub gradient: N,
}

/// The gradient of a running maximum: all of it goes to the element that is the maximum, of equal ones to the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaxGradient<W, N = W>(PhantomData<(W, N)>);

#[scan_op]
impl<W: Wider<N>, N: Narrower<W>> ScanOp for MaxGradient<W, N> {
    type Input = MaxAdjoint<N>;
    type State = AffineMap<W>;
    type Carry = W;
    type Output = N;
    const IDENTITY: AffineMap<W> = AffineMap { a: W::ONE, b: W::ZERO };
    const START: W = W::ZERO;
    fn lift(x: MaxAdjoint<N>) -> AffineMap<W> {
        if x.x == x.y { AffineMap { a: W::ZERO, b: W::ZERO } } else { AffineMap { a: W::ONE, b: W::from(x.gradient) } }
    }
    fn combine(f: AffineMap<W>, g: AffineMap<W>) -> AffineMap<W> {
        AffineMap { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn apply(f: AffineMap<W>, c: W) -> W {
        f.a.wrapping_mul(c).wrapping_add(f.b)
    }
    fn step(c: W, x: MaxAdjoint<N>) -> W {
        if x.x == x.y { W::ZERO } else { W::from(x.gradient).wrapping_add(c) }
    }
    fn emit(c: W, x: MaxAdjoint<N>) -> N {
        let all = W::from(x.gradient).wrapping_add(c);
        if x.x == x.y { N::from(all) } else { N::ZERO }
    }
}

macro_rules! maxima {
    ($($narrow:ident: $wide:ident;)*) => {$(
        impl TensorOp<$narrow> for Max<$narrow> {
            const NAME: &'static str = "cummax";
            type Forward = Self;
            type Inputs = [$narrow; 1];
            type Backward = MaxGradient<$wide, $narrow>;
            type Reads = [$narrow; 3];
            fn forward(&self) -> Self {
                *self
            }
            fn backward(&self) -> MaxGradient<$wide, $narrow> {
                MaxGradient(PhantomData)
            }
            fn reads(&self) -> Vec<Read> {
                vec![Read::Input(0), Read::Output, Read::Gradient]
            }
        }
    )*};
}

maxima! { f32: f32; f64: f64; f16: f32; bf16: f32; }

impl<W: Float + Wider<N>, N: Float + Narrower<W>> TensorOp<N> for Recurrence<W, N> {
    const NAME: &'static str = "recurrence";
    type Forward = Self;
    type Inputs = [N; 2];
    type Backward = RecurrenceGradient<W, N>;
    type Reads = [N; 3];
    fn forward(&self) -> Self {
        *self
    }
    fn backward(&self) -> RecurrenceGradient<W, N> {
        self.gradient()
    }
    fn reads(&self) -> Vec<Read> {
        vec![Read::Input(0), Read::Before(0.0), Read::Gradient]
    }
}

macro_rules! max_plus {
    ($($float:ident)*) => {$(
        impl TensorOp<$float> for MaxPlus<$float> {
            const NAME: &'static str = "max_plus";
            type Forward = Self;
            type Inputs = [$float; 2];
            type Backward = MaxPlusGradient<$float>;
            type Reads = [$float; 4];
            fn forward(&self) -> Self {
                *self
            }
            fn backward(&self) -> MaxPlusGradient<$float> {
                self.gradient()
            }
            fn reads(&self) -> Vec<Read> {
                vec![Read::Input(0), Read::Input(1), Read::Before(f64::NEG_INFINITY), Read::Gradient]
            }
        }
    )*};
}

max_plus! { f32 f64 }

/// What the backward pass of a log-sum-exp reads.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct LogSumExpAdjoint<N> {
    /// The logarithm that is added.
    pub x: N,
    /// The result before it,
    pub before: N,
    /// and with it.
    pub y: N,
    /// The gradient of the result with it.
    pub gradient: N,
}

/// `y[t] = ln(e^y[t−1] + e^x[t])`, computed from the larger one of the two, so that nothing overflows. `W` is the type
/// that it is computed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSumExp<W, N = W>(PhantomData<(W, N)>);

/// The operator [`LogSumExp`] of tensors of type `N`, computed in `W`.
pub fn log_sum_exp<W, N>() -> LogSumExp<W, N> {
    LogSumExp(PhantomData)
}

/// The gradient of a [`LogSumExp`]: with `λ[t] = g[t] + e^(y[t]−y[t+1])·λ[t+1]` it is `e^(x[t]−y[t])·λ[t]`, in which no
/// exponent is positive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSumExpGradient<W, N = W>(PhantomData<(W, N)>);

macro_rules! log_sum_exps {
    ($($narrow:ident $wide:ident, $add:ident $share:ident $widen:ident $round:ident, |$value:ident| $widened:expr, $narrowed:expr;)*) => {$(
        #[scan_fn]
        fn $widen($value: $narrow) -> $wide {
            $widened
        }

        #[scan_fn]
        fn $round($value: $wide) -> $narrow {
            $narrowed
        }

        /// ln(e^a + e^b).
        #[scan_fn]
        fn $add(a: $wide, b: $wide) -> $wide {
            let larger = if a > b { a } else { b };
            let sum = larger + ((-(a - b).abs()).exp() + 1.0).ln();
            if larger == $wide::NEG_INFINITY { larger } else if larger == $wide::INFINITY { larger } else { sum }
        }

        /// e^(a − b), of which b is −∞ only where a is: then 0.
        #[scan_fn]
        fn $share(a: $wide, b: $wide) -> $wide {
            let share = (a - b).exp();
            if a == $wide::NEG_INFINITY { 0.0 } else { share }
        }

        #[scan_op]
        impl ScanOp for LogSumExp<$wide, $narrow> {
            type Input = $narrow;
            type State = $wide;
            type Output = $narrow;
            const IDENTITY: $wide = $wide::NEG_INFINITY;
            fn lift(x: $narrow) -> $wide {
                $widen(x)
            }
            fn combine(a: $wide, b: $wide) -> $wide {
                $add(a, b)
            }
            fn project(x: $wide) -> $narrow {
                $round(x)
            }
        }

        #[scan_op]
        impl ScanOp for LogSumExpGradient<$wide, $narrow> {
            type Input = LogSumExpAdjoint<$narrow>;
            type State = AffineMap<$wide>;
            type Carry = $wide;
            type Output = $narrow;
            const IDENTITY: AffineMap<$wide> = AffineMap { a: 1.0, b: 0.0 };
            const START: $wide = 0.0;
            fn lift(x: LogSumExpAdjoint<$narrow>) -> AffineMap<$wide> {
                let share = $share($widen(x.before), $widen(x.y));
                AffineMap { a: share, b: share * $widen(x.gradient) }
            }
            fn combine(f: AffineMap<$wide>, g: AffineMap<$wide>) -> AffineMap<$wide> {
                AffineMap { a: f.a * g.a, b: g.a * f.b + g.b }
            }
            fn apply(f: AffineMap<$wide>, c: $wide) -> $wide {
                f.a * c + f.b
            }
            fn step(c: $wide, x: LogSumExpAdjoint<$narrow>) -> $wide {
                $share($widen(x.before), $widen(x.y)) * ($widen(x.gradient) + c)
            }
            fn emit(c: $wide, x: LogSumExpAdjoint<$narrow>) -> $narrow {
                $round($share($widen(x.x), $widen(x.y)) * ($widen(x.gradient) + c))
            }
        }

        impl TensorOp<$narrow> for LogSumExp<$wide, $narrow> {
            const NAME: &'static str = "logcumsumexp";
            type Forward = Self;
            type Inputs = [$narrow; 1];
            type Backward = LogSumExpGradient<$wide, $narrow>;
            type Reads = [$narrow; 4];
            fn forward(&self) -> Self {
                *self
            }
            fn backward(&self) -> LogSumExpGradient<$wide, $narrow> {
                LogSumExpGradient(PhantomData)
            }
            fn reads(&self) -> Vec<Read> {
                vec![Read::Input(0), Read::Before(f64::NEG_INFINITY), Read::Output, Read::Gradient]
            }
        }
    )*};
}

log_sum_exps! {
    f32 f32, add_f32 share_f32 widen_f32 round_f32, |x| x, x;
    f64 f64, add_f64 share_f64 widen_f64 round_f64, |x| x, x;
    f16 f32, add_f16 share_f16 widen_f16 round_f16, |x| x.to_f32(), f16::from_f32(x);
    bf16 f32, add_bf16 share_bf16 widen_bf16 round_bf16, |x| x.to_f32(), bf16::from_f32(x);
}

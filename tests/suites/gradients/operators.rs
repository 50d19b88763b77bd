//! Operators with derived gradients, each with its inputs. `values.py` has the same operators in Python.

use scan_runtime::{
    ScanOp,
    gallery::{complex_product::Phase, second_order_recurrence::Oscillator},
    gradient::{AdjointCarry, Components, Differentiable},
    scan_element, scan_fn, scan_op,
};

/// An operator of `f64` with a gradient.
pub(crate) trait Case {
    type Op: Differentiable<
            Input: Components<Scalar = f64>,
            Output: Components<Scalar = f64>,
            Carry: Components<Scalar = f64>,
            Gradient: ScanOp<
                Input = scan_runtime::gradient::Backward<
                    <Self::Op as ScanOp>::Carry,
                    <Self::Op as ScanOp>::Input,
                    <Self::Op as ScanOp>::Output,
                >,
                Carry: AdjointCarry<<Self::Op as ScanOp>::Carry>,
            >,
        > + Clone;
    const NAME: &str;
    /// The operator with these parameters.
    fn op(parameters: &[f64]) -> Self::Op;
    /// The input of these components.
    fn input(components: &[f64], _index: usize) -> <Self::Op as ScanOp>::Input {
        element(components)
    }
    /// The numbers between which the components of inputs lie.
    fn range() -> [f64; 2] {
        [-1.5, 1.5]
    }
    fn parameters() -> Vec<f64> {
        Vec::new()
    }
}

/// The element of these components.
pub(crate) fn element<T: Components<Scalar = f64>>(components: &[f64]) -> T {
    components.iter().enumerate().fold(T::ZERO, |element, (index, value)| element.add_at(index, *value))
}

/// The components of an element.
pub(crate) fn components<T: Components<Scalar = f64>>(element: T) -> Vec<f64> {
    (0..T::COUNT).map(|index| element.component(index)).collect()
}

/// Visits each case.
pub(crate) trait Visitor {
    fn visit<C: Case>(&mut self);
}

macro_rules! cases {
    ($($name:ident: $op:ty, $text:literal, |$p:pat_param| $make:expr, [$low:expr, $high:expr], [$($parameter:expr),*];)*) => {
        $(
            pub(crate) struct $name;
            impl Case for $name {
                type Op = $op;
                const NAME: &str = $text;
                fn op($p: &[f64]) -> $op {
                    $make
                }
                fn range() -> [f64; 2] {
                    [$low, $high]
                }
                fn parameters() -> Vec<f64> {
                    vec![$($parameter),*]
                }
            }
        )*
        pub(crate) fn visit(visitor: &mut impl Visitor) {
            $(visitor.visit::<$name>();)*
            visitor.visit::<OfChoices>();
        }
    };
}

cases! {
    OfSum: Sum, "sum", |_| Sum, [-1.5, 1.5], [];
    OfProduct: Product, "product", |_| Product, [0.5, 1.5], [];
    OfMaximum: Maximum, "maximum", |_| Maximum, [-1.5, 1.5], [];
    OfRecurrence: Recurrence, "recurrence", |_| Recurrence, [-0.9, 0.9], [];
    OfDecay: Decay, "decay", |p| Decay { rate: p[0], gain: p[1] }, [-1.5, 1.5], [0.8, 1.25];
    OfLogSumExp: LogSumExp, "log_sum_exp", |_| LogSumExp, [-1.5, 1.5], [];
    OfAttention: Attention, "attention", |_| Attention, [-1.5, 1.5], [];
    OfPhase: Phase, "phase", |_| Phase, [-1.5, 1.5], [];
    OfAttitude: Attitude, "attitude", |_| Attitude, [-0.9, 0.9], [];
    OfMoments: Moments, "moments", |_| Moments, [-1.5, 1.5], [];
    OfOscillator: Oscillator, "oscillator", |p| Oscillator { p: p[0], q: p[1] }, [-1.5, 1.5], [1.1, -0.6];
    OfGate: Gate, "gate", |_| Gate, [-1.5, 1.5], [];
    OfPowers: Powers, "powers", |p| Powers(p[0]), [0.5, 1.5], [1.7];
    OfRoots: Roots, "roots", |_| Roots, [0.5, 1.5], [];
    OfLogarithms: Logarithms, "logarithms", |_| Logarithms, [0.5, 1.5], [];
    OfAngles: Angles, "angles", |_| Angles, [-0.9, 0.9], [];
    OfHyperbolas: Hyperbolas, "hyperbolas", |_| Hyperbolas, [0.25, 1.25], [];
    OfPieces: Pieces, "pieces", |_| Pieces, [-1.5, 1.5], [];
    OfPolynomial: Polynomial, "polynomial", |p| Polynomial { coefficients: [p[0], p[1], p[2]] }, [-1.5, 1.5], [0.3, -0.7, 0.4];
    OfMaxPlus: MaxPlus, "max_plus", |_| MaxPlus, [-1.5, 1.5], [];
    OfChannels: Channels, "channels", |p| Channels { gain: p[0] }, [-0.9, 0.9], [0.9];
    OfNewton: Newton, "newton", |_| Newton, [0.5, 1.5], [];
}

#[scan_op(identity = 0.0, name = Sum, gradient)]
pub(crate) fn sum(a: f64, b: f64) -> f64 {
    a + b
}

#[scan_op(identity = 1.0, name = Product, gradient)]
pub(crate) fn product(a: f64, b: f64) -> f64 {
    a * b
}

#[scan_op(identity = f64::NEG_INFINITY, name = Maximum, gradient)]
pub(crate) fn maximum(a: f64, b: f64) -> f64 {
    if a > b {
        return a;
    }
    b
}

#[scan_element(gradient)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Affine {
    pub(crate) a: f64,
    pub(crate) b: f64,
}

/// The linear recurrence whose gates are inputs, as a plain operator of maps.
#[derive(Clone, Copy)]
pub(crate) struct Recurrence;

#[scan_op(gradient)]
impl ScanOp for Recurrence {
    type Element = Affine;
    type Output = f64;
    const IDENTITY: Affine = Affine { a: 1.0, b: 0.0 };
    fn combine(f: Affine, g: Affine) -> Affine {
        let Affine { a, b } = g;
        Affine { a: f.a * a, b: a * f.b + b }
    }
    fn project(f: Self::Element) -> f64 {
        f.b
    }
}

/// A stepped operator with parameters, whose outputs are made of the carry before and of the input.
#[derive(Clone, Copy)]
pub(crate) struct Decay {
    pub(crate) rate: f64,
    pub(crate) gain: f64,
}

#[scan_op(gradient(rate: f64, gain: f64))]
impl ScanOp for Decay {
    type Input = f64;
    type State = Affine;
    type Carry = f64;
    type Output = f64;
    const IDENTITY: Affine = Affine { a: 1.0, b: 0.0 };
    const START: f64 = 0.0;
    fn lift(&self, x: f64) -> Affine {
        Affine { a: self.rate, b: self.gain * x }
    }
    fn combine(f: Affine, g: Affine) -> Affine {
        Affine { a: f.a * g.a, b: g.a * f.b + g.b }
    }
    fn apply(f: Affine, h: f64) -> f64 {
        f.a * h + f.b
    }
    fn advance(&self, h: f64, x: f64) -> (f64, f64) {
        let after = self.rate * h + self.gain * x;
        if after > 0.0 {
            return (after, (after * x).sin() + self.gain);
        }
        (after, h * after - x)
    }
}

#[scan_element(gradient)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scaled {
    largest: f64,
    sum: f64,
}

/// e to the power of the smaller exponent, divided by that of the larger one.
#[scan_fn(gradient)]
fn share_of_smaller(a: f64, b: f64) -> f64 {
    let share = (-(a - b).abs()).exp();
    if a == b && a.is_infinite() { 1.0 } else { share }
}

#[derive(Clone, Copy)]
pub(crate) struct LogSumExp;

#[scan_op(gradient)]
impl ScanOp for LogSumExp {
    type Input = f64;
    type State = Scaled;
    type Output = f64;
    const IDENTITY: Scaled = Scaled { largest: f64::NEG_INFINITY, sum: 0.0 };
    fn lift(x: f64) -> Scaled {
        Scaled { largest: x, sum: 1.0 }
    }
    fn combine(a: Scaled, b: Scaled) -> Scaled {
        if a.sum == 0.0 {
            b
        } else if b.sum == 0.0 {
            a
        } else {
            let share = share_of_smaller(a.largest, b.largest);
            if a.largest < b.largest {
                Scaled { largest: b.largest, sum: a.sum * share + b.sum }
            } else {
                Scaled { largest: a.largest, sum: a.sum + b.sum * share }
            }
        }
    }
    fn project(s: Scaled) -> f64 {
        s.largest + s.sum.ln()
    }
}

#[scan_element(gradient)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scored {
    score: f64,
    value: [f64; 2],
}

#[scan_element(gradient)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partial {
    largest: f64,
    sum: f64,
    weighted: [f64; 2],
}

#[derive(Clone, Copy)]
pub(crate) struct Attention;

#[scan_op(gradient)]
impl ScanOp for Attention {
    type Input = Scored;
    type State = Partial;
    type Output = [f64; 2];
    const IDENTITY: Partial = Partial { largest: f64::NEG_INFINITY, sum: 0.0, weighted: [0.0; 2] };
    fn lift(x: Scored) -> Partial {
        Partial { largest: x.score, sum: 1.0, weighted: x.value }
    }
    fn combine(a: Partial, b: Partial) -> Partial {
        if a.sum == 0.0 {
            return b;
        }
        if b.sum == 0.0 {
            return a;
        }
        let share = share_of_smaller(a.largest, b.largest);
        let (before, after) =
            (if a.largest < b.largest { share } else { 1.0 }, if a.largest < b.largest { 1.0 } else { share });
        let mut weighted = a.weighted;
        for i in 0..2_usize {
            weighted[i] = before * a.weighted[i] + after * b.weighted[i];
        }
        Partial { largest: a.largest.max(b.largest), sum: before * a.sum + after * b.sum, weighted }
    }
    fn project(s: Partial) -> [f64; 2] {
        let scale = 1.0 / s.sum;
        let mut mean = s.weighted;
        for i in 0..2_usize {
            mean[i] *= scale;
        }
        mean
    }
}

#[scan_element(gradient)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quaternion {
    w: f64,
    x: f64,
    y: f64,
    z: f64,
}

#[derive(Clone, Copy)]
pub(crate) struct Attitude;

#[scan_op(gradient)]
impl ScanOp for Attitude {
    type Input = [f64; 3];
    type State = Quaternion;
    type Output = [f64; 3];
    const IDENTITY: Quaternion = Quaternion { w: 1.0, x: 0.0, y: 0.0, z: 0.0 };
    fn lift(turn: [f64; 3]) -> Quaternion {
        let angle = (turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2]).sqrt();
        let scale = if angle == 0.0 { 0.5 } else { (0.5 * angle).sin() / angle };
        Quaternion { w: (0.5 * angle).cos(), x: scale * turn[0], y: scale * turn[1], z: scale * turn[2] }
    }
    fn combine(a: Quaternion, b: Quaternion) -> Quaternion {
        Quaternion {
            w: a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
            x: a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            y: a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
            z: a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
        }
    }
    fn project(q: Quaternion) -> [f64; 3] {
        [1.0 - 2.0 * (q.y * q.y + q.z * q.z), 2.0 * (q.x * q.y + q.w * q.z), 2.0 * (q.x * q.z - q.w * q.y)]
    }
}

#[scan_element(gradient)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    count: f64,
    mean: f64,
    m2: f64,
}

#[derive(Clone, Copy)]
pub(crate) struct Moments;

#[scan_op(gradient)]
impl ScanOp for Moments {
    type Input = f64;
    type State = Sample;
    type Output = [f64; 2];
    const IDENTITY: Sample = Sample { count: 0.0, mean: 0.0, m2: 0.0 };
    fn lift(x: f64) -> Sample {
        Sample { count: 1.0, mean: x, m2: 0.0 }
    }
    fn combine(a: Sample, b: Sample) -> Sample {
        if a.count == 0.0 {
            return b;
        }
        if b.count == 0.0 {
            return a;
        }
        let count = a.count + b.count;
        let share = 1.0 / count;
        let delta = b.mean - a.mean;
        Sample {
            count,
            mean: a.mean + delta * (b.count * share),
            m2: a.m2 + b.m2 + delta * delta * (a.count * b.count * share),
        }
    }
    fn append(s: Sample, x: f64) -> Sample {
        let count = s.count + 1.0;
        let share = 1.0 / count;
        let delta = x - s.mean;
        Sample { count, mean: s.mean + delta * share, m2: s.m2 + delta * delta * (s.count * share) }
    }
    fn project(s: Sample) -> [f64; 2] {
        [s.mean, s.m2 / s.count]
    }
}

#[scan_element(gradient)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gated {
    z: f64,
    x: f64,
}

#[scan_fn(gradient)]
fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// A gated unit: h ← σ(z)·h + (1 − σ(z))·tanh(x).
#[derive(Clone, Copy)]
pub(crate) struct Gate;

#[scan_op(gradient)]
impl ScanOp for Gate {
    type Input = Gated;
    type State = Affine;
    type Carry = f64;
    type Output = f64;
    const IDENTITY: Affine = Affine { a: 1.0, b: 0.0 };
    const START: f64 = 0.0;
    fn lift(item: Gated) -> Affine {
        let gate = sigmoid(item.z);
        Affine { a: gate, b: (1.0 - gate) * item.x.tanh() }
    }
    fn combine(f: Affine, g: Affine) -> Affine {
        Affine { a: f.a * g.a, b: g.a.mul_add(f.b, g.b) }
    }
    fn apply(f: Affine, h: f64) -> f64 {
        f.a.mul_add(h, f.b)
    }
    fn step(h: f64, item: Gated) -> f64 {
        let gate = sigmoid(item.z);
        gate.mul_add(h, (1.0 - gate) * item.x.tanh())
    }
}

/// Products of powers.
#[derive(Clone, Copy)]
pub(crate) struct Powers(pub(crate) f64);

#[scan_op(gradient(0: f64))]
impl ScanOp for Powers {
    type Element = f64;
    type Output = f64;
    const IDENTITY: f64 = 1.0;
    fn lift(&self, x: f64) -> f64 {
        x.powf(self.0)
    }
    fn combine(a: f64, b: f64) -> f64 {
        a * b
    }
    fn project(s: f64) -> f64 {
        s.powf(0.5) + 1.0 / s.powi(3)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Roots;

#[scan_op(gradient)]
impl ScanOp for Roots {
    type Element = f64;
    type Output = f64;
    const IDENTITY: f64 = 1.0;
    fn lift(x: f64) -> f64 {
        x.sqrt() * x.recip()
    }
    fn combine(a: f64, b: f64) -> f64 {
        a * b
    }
    fn project(s: f64) -> f64 {
        s.cbrt() - s.powi(-2)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Logarithms;

#[scan_op(gradient)]
impl ScanOp for Logarithms {
    type Element = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(x: f64) -> f64 {
        x.ln() + x.log2() * x.log10() - x.ln_1p()
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(s: f64) -> f64 {
        (0.1 * s).exp2() + (-(s * s)).exp_m1()
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Angles;

#[scan_op(gradient)]
impl ScanOp for Angles {
    type Element = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(x: f64) -> f64 {
        x.asin() + x.acos() * x.tan()
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(s: f64) -> f64 {
        s.atan() * s.cos() + s.sin()
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Hyperbolas;

#[scan_op(gradient)]
impl ScanOp for Hyperbolas {
    type Input = [f64; 2];
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(x: [f64; 2]) -> f64 {
        x[0].sinh() / x[1].cosh() + x[0].atan2(x[1]) - x[0].hypot(x[1])
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(s: f64) -> f64 {
        s.tanh() + s
    }
}

/// Functions that are put together of pieces.
#[derive(Clone, Copy)]
pub(crate) struct Pieces;

#[scan_op(gradient)]
impl ScanOp for Pieces {
    type Element = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(x: f64) -> f64 {
        x.abs() + x.clamp(-0.5, 0.75) * x.floor() + x.min(0.25) - x.max(-0.125) * x.signum() + x.fract()
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(s: f64) -> f64 {
        s % 2.0 + s.rem_euclid(3.0) * s.copysign(1.0)
    }
}

/// A loop over the coefficients.
#[derive(Clone, Copy)]
pub(crate) struct Polynomial {
    pub(crate) coefficients: [f64; 3],
}

#[scan_op(gradient(coefficients: [f64; 3]))]
impl ScanOp for Polynomial {
    type Element = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(&self, x: f64) -> f64 {
        let mut value = 0.0_f64;
        for i in (0..3_usize).rev() {
            value = value * x + self.coefficients[i];
        }
        value
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
}

#[derive(Clone, Copy)]
pub(crate) struct MaxPlus;

#[scan_op(gradient)]
impl ScanOp for MaxPlus {
    type Input = Affine;
    type State = Affine;
    type Carry = f64;
    type Output = f64;
    const IDENTITY: Affine = Affine { a: 0.0, b: f64::NEG_INFINITY };
    const START: f64 = f64::NEG_INFINITY;
    fn combine(f: Affine, g: Affine) -> Affine {
        Affine { a: f.a + g.a, b: f64::max(f.b + g.a, g.b) }
    }
    fn apply(f: Affine, h: f64) -> f64 {
        f64::max(h + f.a, f.b)
    }
    fn step(h: f64, x: Affine) -> f64 {
        f64::max(h + x.a, x.b)
    }
}

#[scan_element(gradient)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factors {
    a: [f64; 3],
    x: [f64; 3],
}

/// Channels that do not depend on each other.
#[derive(Clone, Copy)]
pub(crate) struct Channels {
    pub(crate) gain: f64,
}

#[scan_op(gradient(gain: f64, diagonal))]
impl ScanOp for Channels {
    type Input = Factors;
    type State = Factors;
    type Carry = [f64; 3];
    type Output = f64;
    const IDENTITY: Factors = Factors { a: [1.0; 3], x: [0.0; 3] };
    const START: [f64; 3] = [0.0; 3];
    fn lift(&self, item: Factors) -> Factors {
        let mut x = item.x;
        for i in 0..3_usize {
            x[i] *= self.gain;
        }
        Factors { a: item.a, x }
    }
    fn combine(f: Factors, g: Factors) -> Factors {
        let mut both = g;
        for i in 0..3_usize {
            both.a[i] *= f.a[i];
            both.x[i] += g.a[i] * f.x[i];
        }
        both
    }
    fn apply(f: Factors, h: [f64; 3]) -> [f64; 3] {
        let mut after = f.x;
        for i in 0..3_usize {
            after[i] += f.a[i] * h[i];
        }
        after
    }
    fn step(&self, h: [f64; 3], item: Factors) -> [f64; 3] {
        let mut after = [0.0_f64; 3];
        for i in 0..3_usize {
            after[i] = item.a[i] * h[i] + self.gain * item.x[i];
        }
        after
    }
    fn project(h: [f64; 3]) -> f64 {
        h[0] * h[1] + h[2].sin()
    }
}

/// Square roots by Newton's method.
#[derive(Clone, Copy)]
pub(crate) struct Newton;

#[scan_op(gradient)]
impl ScanOp for Newton {
    type Element = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(x: f64) -> f64 {
        let mut root = x;
        let mut rounds = 0_u32;
        while rounds < 6 {
            rounds += 1;
            if rounds == 3 {
                continue;
            }
            root = 0.5 * (root + x / root);
        }
        root -= x;
        root /= 1.0 + x;
        root
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
}

#[scan_element(gradient)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kinded {
    kind: u32,
    exact: bool,
    x: f64,
}

/// Branches by an integer of the input.
#[derive(Clone, Copy)]
pub(crate) struct Choices;

#[scan_op(gradient)]
#[allow(clippy::needless_late_init, reason = "the language has it")]
impl ScanOp for Choices {
    type Input = Kinded;
    type State = f64;
    type Output = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(item: Kinded) -> f64 {
        let weight: f64 = match item.kind % 4 {
            0 => 2.0,
            1 => {
                let square = item.x * item.x;
                square * item.x
            }
            k if k == 2 => item.x.exp() * k as f64,
            _ => (item.kind as f64 * item.x).cos(),
        };
        let shifted: f64;
        if item.exact {
            shifted = weight;
        } else {
            shifted = weight + item.x;
        }
        shifted
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(s: f64) -> f64 {
        s * s
    }
}

pub(crate) struct OfChoices;

impl Case for OfChoices {
    type Op = Choices;
    const NAME: &str = "choices";
    fn op(_: &[f64]) -> Choices {
        Choices
    }
    fn input(components: &[f64], index: usize) -> Kinded {
        Kinded { kind: index as u32, exact: index.is_multiple_of(3), x: components[0] }
    }
}

//! The check of an operator's gradient, by finite differences.

use std::fmt;

use super::value::{Scalar, Shape, Value, epsilon};
use super::{Check, mixed, search};
use crate::ScanOp;
use crate::gradient::{AdjointCarry, Backward, Differentiable};

/// How a gradient compares with finite differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GradientReport {
    /// The derivatives that were compared.
    pub compared: usize,
    /// Those left out because the operator has a kink or a step there.
    pub kinks: usize,
}

impl fmt::Display for GradientReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} derivatives agree with differences; {} are at kinks", self.compared, self.kinks)
    }
}

/// Why a gradient did not pass its check.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum GradientFailure {
    /// A derivative is not what a difference gives.
    Wrong(Box<WrongDerivative>),
    /// The operator of the backward pass breaks a law of scans: the failure of its [check](super::check).
    Laws(String),
    /// Nothing could be compared: there are no samples, or all results are infinite, or at kinks.
    NothingCompared,
    /// The layout of the input does not say which values are valid; give samples.
    NoDefaultSamples,
}

/// A step at which a derivative is wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WrongDerivative {
    /// With respect to what: a component of the carry or of the input, or a parameter.
    pub component: String,
    /// The carry before the step.
    pub carry: String,
    /// The input of the step.
    pub input: String,
    /// The gradient with respect to the state after the step.
    pub adjoint: String,
    /// The gradient with respect to the output.
    pub gradient: String,
    /// What the operator of the backward pass gives.
    pub found: f64,
    /// The central difference.
    pub expected: f64,
}

impl fmt::Display for GradientFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GradientFailure::Wrong(wrong) => write!(
                f,
                "the gradient with respect to {} is {}, where the difference is {}\n  carry = {}\n  input = {}\n  \
                 gradient of the state after = {}\n  gradient of the output = {}",
                wrong.component, wrong.found, wrong.expected, wrong.carry, wrong.input, wrong.adjoint, wrong.gradient
            ),
            GradientFailure::Laws(failure) => write!(f, "the operator of the backward pass: {failure}"),
            GradientFailure::NothingCompared => {
                f.write_str("no derivative could be compared: give samples whose results are finite, away from kinks")
            }
            GradientFailure::NoDefaultSamples => {
                f.write_str("the layout of the input does not say which values are valid: give samples")
            }
        }
    }
}

impl fmt::Debug for GradientFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for GradientFailure {}

/// Checks an operator's gradient on these samples, with the default options of [`Check`]: each derivative of a step
/// is compared with a central difference, and the laws of the operator of the backward pass.
///
/// ```
/// use scan_runtime::{laws, scan_op};
///
/// #[scan_op(identity = 1.0, name = Product, gradient)]
/// fn product(a: f64, b: f64) -> f64 {
///     a * b
/// }
///
/// let report = laws::check_gradient(&Product, &[1.5, -2.0, 0.25])?;
/// assert!(report.compared > 100);
/// # Ok::<(), laws::GradientFailure>(())
/// ```
///
/// `#[scan_op(…, laws, gradient)]` writes a test that does the same.
///
/// # Errors
///
/// The first derivative that is wrong, with the step.
pub fn check_gradient<Op>(op: &Op, samples: impl AsRef<[Op::Input]>) -> Result<GradientReport, GradientFailure>
where
    Op: Differentiable + Clone,
    Op::Gradient: ScanOp<Input = Backward<Op::Carry, Op::Input, Op::Output>, Carry: AdjointCarry<Op::Carry>>,
{
    Check::new().gradient(op, samples)
}

impl Check {
    /// Checks an operator's gradient on these samples. The tolerance is relative to the terms that a derivative is
    /// the sum of. The default depends on the narrowest float in the carry, the input and the output:
    ///
    /// | narrowest float | tolerance |
    /// |---|---|
    /// | `f64` | 1e-6 |
    /// | `f32` | 1e-2 |
    /// | `f16` | 4e-2 |
    /// | `bf16` | 0.16 |
    ///
    /// Floats of 16 bits are rounded at each end of a difference, so that its steps are long and it shows few digits.
    /// Compare an operator of such floats with the same operator of `f32` as well.
    ///
    /// # Errors
    ///
    /// As [`check_gradient`].
    pub fn gradient<Op>(&self, op: &Op, samples: impl AsRef<[Op::Input]>) -> Result<GradientReport, GradientFailure>
    where
        Op: Differentiable + Clone,
        Op::Gradient: ScanOp<Input = Backward<Op::Carry, Op::Input, Op::Output>, Carry: AdjointCarry<Op::Carry>>,
    {
        self.gradient_of(|_| op.clone(), &[], samples)
    }

    /// Also checks the gradient with respect to the operator's parameters. `op` makes the operator of their floats, in
    /// the order of `gradient(…)`.
    ///
    /// ```
    /// # #[cfg(feature = "gallery")] {
    /// use scan_runtime::{gallery::second_order_recurrence::Oscillator, laws::Check};
    ///
    /// let oscillator = |parameters: &[f64]| Oscillator { p: parameters[0], q: parameters[1] };
    /// Check::new().gradient_of(oscillator, &[1.8, -0.9], &[0.5, -1.0, 0.0])?;
    /// # }
    /// # Ok::<(), scan_runtime::laws::GradientFailure>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`check_gradient`].
    pub fn gradient_of<Op>(
        &self,
        op: impl Fn(&[f64]) -> Op,
        parameters: &[f64],
        samples: impl AsRef<[Op::Input]>,
    ) -> Result<GradientReport, GradientFailure>
    where
        Op: Differentiable,
        Op::Gradient: ScanOp<Input = Backward<Op::Carry, Op::Input, Op::Output>, Carry: AdjointCarry<Op::Carry>>,
    {
        let steps = Steps { op: &op, parameters, shapes: shapes::<Op>() };
        steps.check(self, samples.as_ref())
    }

    /// Checks an operator's gradient on samples generated from its input's layout.
    ///
    /// # Errors
    ///
    /// As [`check_gradient`]; and [`GradientFailure::NoDefaultSamples`].
    pub fn gradient_on_default_samples<Op>(&self, op: &Op) -> Result<GradientReport, GradientFailure>
    where
        Op: Differentiable + Clone,
        Op::Gradient: ScanOp<Input = Backward<Op::Carry, Op::Input, Op::Output>, Carry: AdjointCarry<Op::Carry>>,
    {
        match search::samples::<Op::Input>(24, self.seed) {
            Some(samples) => self.gradient(op, samples),
            None => Err(GradientFailure::NoDefaultSamples),
        }
    }
}

struct Shapes {
    carry: Shape,
    input: Shape,
    output: Shape,
}

fn shapes<Op: ScanOp>() -> Shapes {
    use crate::ScanElement;
    Shapes {
        carry: Shape::of(Op::Carry::layout()),
        input: Shape::of(Op::Input::layout()),
        output: Shape::of(Op::Output::layout()),
    }
}

struct Steps<'a, F> {
    op: &'a F,
    parameters: &'a [f64],
    shapes: Shapes,
}

/// The number that is differentiated: the sum of a step's results with the weights, and the sum of the magnitudes.
#[derive(Clone, Copy)]
struct Sum {
    /// Where the component is that changes.
    at: f64,
    value: f64,
    magnitude: f64,
}

fn slope(left: Sum, right: Sum) -> f64 {
    (right.value - left.value) / (right.at - left.at)
}

impl<F> Steps<'_, F> {
    fn check<Op>(&self, check: &Check, samples: &[Op::Input]) -> Result<GradientReport, GradientFailure>
    where
        F: Fn(&[f64]) -> Op,
        Op: Differentiable,
        Op::Gradient: ScanOp<Input = Backward<Op::Carry, Op::Input, Op::Output>, Carry: AdjointCarry<Op::Carry>>,
    {
        let op = (self.op)(self.parameters);
        let backward = (self.op)(self.parameters).gradient();
        let Shapes { carry, input, output } = &self.shapes;
        let primitives = carry.primitives().chain(input.primitives()).chain(output.primitives());
        let coarsest = primitives.map(epsilon).fold(f64::EPSILON, f64::max);
        let of_16_bits = coarsest > f64::from(f32::EPSILON);
        let default = match coarsest {
            _ if of_16_bits => 4.0 * coarsest.cbrt().powi(2),
            coarsest if coarsest > f64::EPSILON => 1e-2,
            _ => 1e-6,
        };
        let tolerance = check.tolerance.unwrap_or(default);
        let mut report = GradientReport::default();
        let mut items = Vec::new();
        let mut seed = check.seed;
        let mut draw = || {
            seed = seed.wrapping_add(1);
            mixed(seed)
        };
        if samples.is_empty() {
            return Err(GradientFailure::NothingCompared);
        }
        for _ in 0..(check.cases / 8).max(1) {
            let sample = |draw: &mut dyn FnMut() -> u64| samples[(draw() % samples.len() as u64) as usize];
            let length = 1 + draw() as usize % check.longest_run;
            let mut before = op.start().unwrap_or_else(|| op.carry_of(op.lift(sample(&mut draw))));
            for _ in 0..length {
                before = op.step(before, sample(&mut draw));
            }
            let x = sample(&mut draw);
            let mut weights = |shape: &Shape, zero: &Value| {
                let scalars = shape.scalars(zero).into_iter().map(|scalar| match scalar {
                    Scalar::Float(_) => Scalar::Float((draw() % 65) as f64 / 32.0 - 1.0),
                    Scalar::Int(_) => Scalar::Int(0),
                    Scalar::Unsigned(_) => Scalar::Unsigned(0),
                    Scalar::Bool(_) => Scalar::Bool(false),
                });
                shape.value(&scalars.collect::<Vec<_>>())
            };
            let values = [Value::of(&before), Value::of(&x), Value::of(&op.emit(before, x))];
            let (Some(adjoint), Some(gradient)) = (weights(carry, &values[0]), weights(output, &values[2])) else {
                return Err(GradientFailure::NothingCompared);
            };
            // SAFETY: the shapes of these types made them.
            let (adjoint_of, gradient_of) =
                unsafe { (adjoint.element::<Op::Carry>(), gradient.element::<Op::Output>()) };
            let item = Backward { before, x, gradient: gradient_of };
            let from = AdjointCarry::of_state(adjoint_of);
            let after = backward.step(from, item);
            let found = [Value::of(&after.state()), Value::of(&backward.emit(from, item))];
            items.push(item);
            let sum = |op: &Op, before: &Value, x: &Value| {
                // SAFETY: these are values of these types, or made by their shapes.
                let (before, x) = unsafe { (before.element::<Op::Carry>(), x.element::<Op::Input>()) };
                let results = [
                    (carry, Value::of(&op.step(before, x)), &adjoint),
                    (output, Value::of(&op.emit(before, x)), &gradient),
                ];
                weighted(&results)
            };
            let mut compare = |component: String, found: f64, at: f64, eps: f64, sum: &dyn Fn(f64) -> Option<Sum>| {
                // The results are rounded too.
                let eps = if of_16_bits { coarsest } else { eps };
                let step = eps.cbrt() * at.abs().max(1.0);
                let (Some(left), Some(here), Some(right)) = (sum(-step), sum(0.0), sum(step)) else { return Ok(()) };
                let expected = slope(left, right);
                let scale = expected.abs().max(found.abs()).max(here.magnitude);
                // Where the slope changes fast, a shorter step sees it better.
                let nearer = || {
                    let shorter = step / 8.0;
                    let (left, right) = (sum(-shorter)?, sum(shorter)?);
                    Some(slope(left, right))
                };
                let agrees = |expected: f64| (found - expected).abs() <= tolerance * scale;
                if agrees(expected) || nearer().is_some_and(agrees) {
                    report.compared += 1;
                    return Ok(());
                }
                let (before, after) = (slope(left, here), slope(here, right));
                if (before - after).abs() > tolerance.sqrt() * expected.abs().max(found.abs()) {
                    report.kinks += 1;
                    return Ok(());
                }
                Err(GradientFailure::Wrong(Box::new(WrongDerivative {
                    component,
                    carry: carry.show(&values[0]),
                    input: input.show(&values[1]),
                    adjoint: carry.show(&adjoint),
                    gradient: output.show(&gradient),
                    found,
                    expected,
                })))
            };
            for (part, shape) in [carry, input].into_iter().enumerate() {
                let scalars = shape.scalars(&values[part]);
                let of_scalars = shape.scalars(&found[part]);
                for (leaf, (scalar, primitive)) in scalars.iter().zip(shape.primitives()).enumerate() {
                    let (Some(at), Some(found)) = (scalar.float(), of_scalars[leaf].float()) else { continue };
                    if !at.is_finite() {
                        continue;
                    }
                    let name = format!("the {}{}", ["carry", "input"][part], shape.path(leaf));
                    compare(name, found, at, epsilon(primitive), &|step| {
                        let mut changed = scalars.clone();
                        changed[leaf] = Scalar::Float(at + step);
                        let changed = shape.value(&changed)?;
                        let sum = match part {
                            0 => sum(&op, &changed, &values[1]),
                            _ => sum(&op, &values[0], &changed),
                        };
                        // A float of 16 bits is not where it was to be.
                        Some(Sum { at: shape.scalars(&changed)[leaf].float()?, ..sum? })
                    })?;
                }
            }
            let of_parameters = after.parameters();
            for (index, (&found, &at)) in of_parameters.iter().zip(self.parameters).enumerate() {
                compare(format!("parameter {index}"), found, at, coarsest, &|step| {
                    let mut changed = self.parameters.to_vec();
                    changed[index] += step;
                    Some(Sum { at: changed[index], ..sum(&(self.op)(&changed), &values[0], &values[1])? })
                })?;
            }
        }
        if report.compared == 0 {
            return Err(GradientFailure::NothingCompared);
        }
        items.truncate(64);
        let laws = Check { tolerance: check.tolerance, cases: (check.cases / 8).max(1), ..check.clone() };
        laws.run(&backward, &items).map_err(|failure| GradientFailure::Laws(failure.to_string()))?;
        Ok(report)
    }
}

fn weighted(results: &[(&Shape, Value, &Value)]) -> Option<Sum> {
    let mut sum = Sum { at: 0.0, value: 0.0, magnitude: 0.0 };
    for (shape, value, weights) in results {
        for (number, weight) in shape.scalars(value).into_iter().zip(shape.scalars(weights)) {
            if let (Scalar::Float(number), Scalar::Float(weight)) = (number, weight) {
                sum.value += number * weight;
                sum.magnitude += (number * weight).abs();
            }
        }
    }
    sum.value.is_finite().then_some(sum)
}

//! An operator applied to values: both sides of a law, and by how much they may differ.

use scan_codegen::OpSource;

use super::{
    Law,
    value::{Difference, Shape, Value},
};
use crate::{
    ScanOp,
    caught::{self, Panic, quietly},
};

/// How often each float is nudged to estimate the effect of rounding.
const TRIALS: u64 = 4;

/// An operator whose inputs, states and carries are known by their bytes, so that a check is compiled once and not for
/// every operator. Each value that it is given is one of the operator's: made by it, or by the shape of its type.
pub(super) trait OnValues {
    fn lift(&self, x: &Value) -> Value;
    fn combine(&self, a: &Value, b: &Value) -> Value;
    fn append(&self, s: &Value, x: &Value) -> Value;
    fn prepend(&self, x: &Value, s: &Value) -> Value;
    fn step(&self, c: &Value, x: &Value) -> Value;
    fn apply(&self, s: &Value, c: &Value) -> Value;
    /// The carry before the first input; without one, that after the input `x`.
    fn start_or_after(&self, x: &Value) -> Value;
}

/// An operator, of values in bytes.
pub(super) struct Typed<'a, Op>(pub(super) &'a Op);

impl<Op: ScanOp> OnValues for Typed<'_, Op> {
    fn lift(&self, x: &Value) -> Value {
        // SAFETY: the value is an input, as the trait says; so below of each type.
        Value::of(&self.0.lift(unsafe { x.element() }))
    }

    fn combine(&self, a: &Value, b: &Value) -> Value {
        // SAFETY: as above.
        let (a, b) = unsafe { (a.element(), b.element()) };
        Value::of(&self.0.combine(a, b))
    }

    fn append(&self, s: &Value, x: &Value) -> Value {
        // SAFETY: as above.
        let (s, x) = unsafe { (s.element(), x.element()) };
        Value::of(&self.0.append(s, x))
    }

    fn prepend(&self, x: &Value, s: &Value) -> Value {
        // SAFETY: as above.
        let (x, s) = unsafe { (x.element(), s.element()) };
        Value::of(&self.0.prepend(x, s))
    }

    fn step(&self, c: &Value, x: &Value) -> Value {
        // SAFETY: as above.
        let (c, x) = unsafe { (c.element(), x.element()) };
        Value::of(&self.0.step(c, x))
    }

    fn apply(&self, s: &Value, c: &Value) -> Value {
        // SAFETY: as above.
        let (s, c) = unsafe { (s.element(), c.element()) };
        Value::of(&self.0.apply(s, c))
    }

    fn start_or_after(&self, x: &Value) -> Value {
        // SAFETY: as above.
        let after = || self.0.carry_of(self.0.lift(unsafe { x.element() }));
        Value::of(&self.0.start().unwrap_or_else(after))
    }
}

/// The shapes of an operator's types.
pub(super) struct Shapes {
    pub(super) input: Shape,
    pub(super) state: Shape,
    pub(super) carry: Shape,
}

/// What is checked: an operator and samples of its inputs.
pub(super) struct Subject<'a> {
    pub(super) op: &'a dyn OnValues,
    pub(super) source: OpSource,
    pub(super) identity: Option<Value>,
    pub(super) shapes: Shapes,
    pub(super) samples: Vec<Value>,
}

/// An operator whose panics are returned as errors.
pub(super) struct Applied<'a> {
    pub(super) op: &'a dyn OnValues,
    pub(super) identity: Option<Value>,
    pub(super) shape: Shape,
    pub(super) tolerance: Option<f64>,
}

/// Both sides of a law, and the partial results.
pub(super) struct Sides {
    pub(super) operands: Vec<Value>,
    pub(super) partials: Vec<Value>,
    pub(super) left: Value,
    pub(super) right: Value,
}

/// The outcome of a case.
pub(super) enum Outcome {
    Holds {
        /// The largest difference of floats, relative to what rounding explains.
        rounding: f64,
        /// Whether the sides have zeros of different signs.
        signs: bool,
    },
    /// A float left its range, so the case shows nothing: where it did.
    Overflow(String),
    Violated(Box<Sides>, Difference),
}

/// A panic of the operator.
pub(super) struct Panicked {
    pub(super) on: String,
    pub(super) message: String,
}

impl Panicked {
    pub(super) fn new(on: String, panic: Panic) -> Self {
        Panicked { on, message: caught::message(panic) }
    }
}

impl Applied<'_> {
    pub(super) fn combine(&self, a: &Value, b: &Value) -> Result<Value, Panicked> {
        quietly(|| self.op.combine(a, b))
            .map_err(|panic| Panicked::new(format!("combine({}, {})", self.shape.show(a), self.shape.show(b)), panic))
    }

    pub(super) fn fold<'v>(&self, states: impl IntoIterator<Item = &'v Value>) -> Result<Option<Value>, Panicked> {
        let mut sum = None;
        for state in states {
            sum = Some(match sum {
                Some(sum) => self.combine(&sum, state)?,
                None => state.clone(),
            });
        }
        Ok(sum)
    }

    /// Both sides, each operand and each partial result passed through `change`.
    fn sides(&self, law: Law, operands: &[Value], change: &dyn Fn(&Value) -> Value) -> Result<Sides, Panicked> {
        let operands: Vec<Value> = operands.iter().map(change).collect();
        let combine = |a: usize, b: usize| self.combine(&operands[a], &operands[b]);
        let (partials, left, right) = match law {
            Law::Associativity => {
                let (ab, bc) = (change(&combine(0, 1)?), change(&combine(1, 2)?));
                let (left, right) = (self.combine(&ab, &operands[2])?, self.combine(&operands[0], &bc)?);
                (vec![ab, bc], left, right)
            }
            Law::LeftIdentity => (Vec::new(), combine(0, 1)?, operands[1].clone()),
            _ => (Vec::new(), combine(0, 1)?, operands[0].clone()),
        };
        Ok(Sides { operands, partials, left, right })
    }

    /// Evaluates one case of a law.
    pub(super) fn evaluate(&self, law: Law, operands: &[Value]) -> Result<Outcome, Panicked> {
        let sides = self.sides(law, operands, &Value::clone)?;
        let shape = &self.shape;
        let nothing = vec![0.0; shape.primitives().count()];
        if shape.difference(&sides.left, &sides.right, &nothing).is_none() {
            return Ok(Outcome::Holds { rounding: 0.0, signs: shape.differs_in_signs(&sides.left, &sides.right) });
        }
        let finite = |value: &Value| shape.is_finite(value);
        let in_range = sides.operands.iter().all(finite);
        // An infinity that the operands do not hold is an overflow. An identity of NaN results is a mistake, though.
        if in_range && law == Law::Associativity {
            let (a, b, c) = (&operands[0], &operands[1], &operands[2]);
            let (ab, bc) = (&sides.partials[0], &sides.partials[1]);
            let calls = [(a, b, ab), (b, c, bc), (ab, c, &sides.left), (a, bc, &sides.right)];
            if let Some((left, right, result)) = calls.into_iter().find(|(_, _, result)| !finite(result)) {
                let [left, right, result] = [left, right, result].map(|value| shape.show(value));
                return Ok(Outcome::Overflow(format!("combine({left}, {right}) = {result}")));
            }
        }
        let allowed = self.allowed(law, operands, &sides)?;
        let amounts = shape.scalars(&sides.left).into_iter().zip(shape.scalars(&sides.right));
        let rounding = amounts
            .zip(&allowed)
            .filter_map(|((left, right), allowed)| Some((left.float()? - right.float()?).abs() / allowed))
            .filter(|ratio| ratio.is_finite())
            .fold(0.0, f64::max);
        Ok(match shape.difference(&sides.left, &sides.right, &allowed) {
            Some(difference) => Outcome::Violated(Box::new(sides), difference),
            None => Outcome::Holds { rounding, signs: false },
        })
    }

    /// By how much each float of the two sides may differ: see the documentation of [`laws`](super).
    fn allowed(&self, law: Law, operands: &[Value], sides: &Sides) -> Result<Vec<f64>, Panicked> {
        let shape = &self.shape;
        let all = || sides.operands.iter().chain(&sides.partials).chain([&sides.left, &sides.right]);
        let floats = |value: &Value| -> Vec<f64> {
            let finite = |scalar: super::value::Scalar| scalar.float().filter(|float| float.is_finite());
            shape.scalars(value).into_iter().map(|scalar| finite(scalar).unwrap_or(0.0)).collect()
        };
        let mut scale = vec![0.0_f64; shape.primitives().count()];
        for value in all() {
            scale.iter_mut().zip(floats(value)).for_each(|(scale, float)| *scale = scale.max(float.abs()));
        }
        let mut spread = vec![0.0_f64; scale.len()];
        let (left, right) = (floats(&sides.left), floats(&sides.right));
        for trial in 0..TRIALS {
            let nudged = self.sides(law, operands, &|value| shape.nudged(value, self.tolerance, trial))?;
            for (moved, still) in [(floats(&nudged.left), &left), (floats(&nudged.right), &right)] {
                let moves = moved.iter().zip(still).map(|(moved, still)| (moved - still).abs());
                spread.iter_mut().zip(moves).for_each(|(spread, by)| *spread = spread.max(by));
            }
        }
        let largest = scale.iter().copied().fold(0.0, f64::max);
        let allowed = shape.primitives().zip(scale.iter().zip(&spread)).map(|(primitive, (scale, spread))| {
            let tolerance = shape.tolerance(self.tolerance, primitive);
            // The spread is bounded: where the operator is discontinuous, a nudge does not measure rounding.
            tolerance * scale + spread.min(tolerance.sqrt() * largest)
        });
        Ok(allowed.collect())
    }
}

//! The probable mistake, found by trying the operator on the samples and on values between them.

use std::{cell::Cell, fmt};

use super::{
    Law,
    applied::{Applied, Sides},
    value::{Difference, Scalar, Shape, Value},
};

/// The known shapes of operators that break a law. The text of each says which scan to use instead.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Hint {
    /// `a * 0.5 + b`: linear in `a`, but not a sum.
    RecurrenceStep,
    /// `tanh(a) + b`: any other function of the previous result and the next input.
    NonlinearStep,
    /// `a + exp(b)`: a sum, or a product, that maps its right operand each time.
    LiftedMap,
    /// Combines where keys are equal, restarts where they differ.
    ByKey,
    /// `(a + b) / 2`
    Average,
    /// `a - b`
    Subtraction,
    /// `a / b`
    Division,
    /// `a.abs_diff(b)`
    AbsoluteDifference,
    /// A sum that stops at a least or a greatest value.
    Saturation,
    /// A comparison, and a NaN among the operands.
    NotANumber,
    /// Chooses one of the operands, but not by an order.
    Choice,
    /// The identity is not one, but another value is, on the samples.
    OtherIdentity {
        /// The other value, in Rust notation.
        value: String,
    },
    /// The identity made a NaN.
    EmptyPart,
    /// A difference so small that it may be rounding.
    Rounding,
    /// `prepend` is not what `lift` and `combine` do.
    OtherPrepend,
    /// `append` is not what `lift` and `combine` do.
    OtherAppend,
    /// `step` is not what `lift` and `apply` do.
    OtherStep,
    /// `apply` does not follow `combine`.
    OtherApply,
    /// `combine` applies its right operand first.
    AppliedBackwards,
    /// The identity changes a carry.
    MovingIdentity,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Hint::RecurrenceStep => {
                "this is the step of a recurrence, y = α·y + x. Scan the steps themselves: the state is the map \
                 y ↦ p·y + q (a pair `p`, `q`; `lift` makes `p: α, q: x`), and combine(f, g) is `p: f.p * g.p, \
                 q: g.p * f.q + g.q`. `q` is then y, if it starts at 0. Where y is a vector, p is a matrix. An α larger \
                 than 1 may overflow in p where a loop does not."
            }
            Hint::NonlinearStep => {
                "this is the step of a recurrence that is not linear, y = g(y) + x. Its steps have no short composition, \
                 so it is no scan. Only for few possible states: scan the tables state ↦ next state."
            }
            Hint::LiftedMap => {
                "this combines `a` with a function of `b`, and so applies the function again to what is combined already. \
                 Apply it once to each input, in `lift` (or before the scan), and let `combine` join the results."
            }
            Hint::ByKey => {
                "this combines where keys are equal and starts anew where they differ, which fails when a key comes back. \
                 Leave the keys out of the operator and scan with `.by_keys(&keys)`. If keys always ascend, check with \
                 `Check::in_order` on samples with ascending keys."
            }
            Hint::Average => {
                "this is an average: the more often a value is averaged, the less it counts. Keep the sum and the count, \
                 add both, and divide in `project`."
            }
            Hint::Subtraction => {
                "this is a subtraction. Negate the inputs, in `lift` or before the scan, and add: a - b - c is a + (-b) + (-c)."
            }
            Hint::Division => {
                "this is a division. Invert the inputs, in `lift` or before the scan, and multiply: a / b / c is \
                 a * (1/b) * (1/c); of integers, keep numerator and denominator."
            }
            Hint::AbsoluteDifference => {
                "this is the distance of two values, which has no meaning for three. For differences of neighbours no scan \
                 is needed."
            }
            Hint::Saturation => {
                "this sum stops at a limit, and which terms it drops depends on the grouping. Add in a wider type and clamp \
                 in `project`; or, where each step is to be clamped, scan the steps: x ↦ (x + add).clamp(low, high) is \
                 a triple, and two of them compose to another."
            }
            Hint::NotANumber => {
                "an operand is NaN, and every comparison with NaN is false, so the choice depends on its side. \
                 Decide what NaN means: `a.max(b)` passes over it; `if a >= b || a != a { a } else { b }` keeps it."
            }
            Hint::Choice => {
                "this chooses one of its operands, but by no order: comparisons within a tolerance, or of some fields that \
                 do not decide alone, are not transitive. Compare exactly, by a total order, ties to the left."
            }
            Hint::OtherIdentity { value } => {
                return write!(f, "on these samples the identity is `{value}`: it changes nothing on either side.");
            }
            Hint::EmptyPart => {
                "combining with the identity made a NaN: a division by the size of an empty part, perhaps, or ∞ - ∞. Return \
                 the other operand where one is empty."
            }
            Hint::OtherAppend => {
                "`append(s, x)` is a cheaper way to `combine(s, lift(x))`: the same value, `s` the part before `x`. Leave it out, \
                 and that is what is computed."
            }
            Hint::OtherPrepend => {
                "`prepend(x, s)` is a cheaper way to `combine(lift(x), s)`: the same value, `s` the part after `x`. Leave it \
                 out, and that is what is computed."
            }
            Hint::OtherStep => {
                "`lift(x)` stands for what `step` does with `x`, to any carry: `apply(lift(x), c)` is `step(c, x)`."
            }
            Hint::OtherApply => {
                "`combine(a, b)` is what `a` and then `b` do to a carry: applying it is applying `a`, and `b` to what comes of \
                 that."
            }
            Hint::AppliedBackwards => {
                "this applies `b` before `a`. `combine(a, b)` has the earlier part on its left: exchange its operands (of \
                 matrices that multiply a column, it is `b * a`)."
            }
            Hint::MovingIdentity => "the identity is what no input does: applied to a carry, it gives that carry.",
            Hint::Rounding => {
                "the difference is small: this may be rounding. If it is, state how much of a value may be lost: \
                 `Check::tolerance`, or `laws(tolerance = …)`."
            }
        })
    }
}

/// How far floats may be from what a shape predicts.
const CLOSE: f64 = 1e-4;

/// Values to try: enough to tell shapes apart.
const POOL: usize = 12;

pub(super) fn find(
    applied: &Applied<'_>,
    law: Law,
    samples: &[Value],
    sides: &Sides,
    difference: &Difference,
) -> Option<Hint> {
    let probe = Probe::new(applied, samples, sides);
    match law {
        Law::Associativity => probe.associativity(sides, difference),
        _ => probe.identity(samples, sides, difference),
    }
}

struct Probe<'a> {
    applied: &'a Applied<'a>,
    shape: &'a Shape,
    /// Distinct values that scans reach.
    pool: Vec<Value>,
    panicked: Cell<bool>,
}

/// A number of the result, of `a` and of `b`.
type Leafwise = fn(f64, f64) -> f64;

impl<'a> Probe<'a> {
    fn new(applied: &'a Applied<'a>, samples: &[Value], sides: &Sides) -> Self {
        let shape = &applied.shape;
        let mut pool: Vec<Value> = Vec::new();
        let candidates = sides.operands.iter().chain(samples.iter().take(4096)).chain(&sides.partials);
        for candidate in candidates {
            if pool.len() < POOL && !pool.contains(candidate) {
                pool.push(candidate.clone());
            }
        }
        Probe { applied, shape, pool, panicked: Cell::new(false) }
    }

    /// The operator's result. `None` from its first panic on, since each panic is printed.
    fn combine(&self, a: &Value, b: &Value) -> Option<Value> {
        if self.panicked.get() {
            return None;
        }
        let answer = self.applied.combine(a, b).ok();
        self.panicked.set(answer.is_none());
        answer
    }

    fn scalars(&self, value: &Value) -> Vec<Scalar> {
        self.shape.scalars(value)
    }

    fn same(&self, a: &Value, b: &Value) -> bool {
        self.scalars(a).into_iter().zip(self.scalars(b)).all(|(a, b)| match (a, b) {
            (Scalar::Float(a), Scalar::Float(b)) => a == b || a.is_nan() && b.is_nan(),
            (a, b) => a == b,
        })
    }

    fn associativity(&self, sides: &Sides, difference: &Difference) -> Option<Hint> {
        let nan = sides.operands.iter().chain(&sides.partials).any(|value| self.shape.has_nan(value));
        // Before all others, and before their probes: a rounding difference has the shape of a sum.
        if self.is_small(sides, difference) {
            return Some(Hint::Rounding);
        }
        if nan && self.chooses() {
            return Some(Hint::NotANumber);
        }
        if self.by_key() {
            return Some(Hint::ByKey);
        }
        if self.chooses() {
            return Some(Hint::Choice);
        }
        if self.shape.is_numeric() {
            // The last number: by how much integers may differ, which round one way or another.
            let known: [(Hint, Leafwise, f64); 4] = [
                (Hint::Subtraction, |a, b| a - b, 0.0),
                (Hint::AbsoluteDifference, |a, b| (a - b).abs(), 0.0),
                (Hint::Division, |a, b| a / b, 1.0),
                (Hint::Average, |a, b| (a + b) / 2.0, 1.0),
            ];
            for (hint, leafwise, rounding) in known {
                if self.is_leafwise(leafwise, rounding) {
                    return Some(hint);
                }
            }
            if self.saturates() {
                return Some(Hint::Saturation);
            }
            if self.maps_one(true) {
                return Some(Hint::LiftedMap);
            }
            if self.linear_on_the_left() {
                return Some(Hint::RecurrenceStep);
            }
            if self.maps_one(false) {
                return Some(Hint::NonlinearStep);
            }
        }
        None
    }

    /// Whether only floats differ, each by little relative to the terms that were added.
    fn is_small(&self, sides: &Sides, difference: &Difference) -> bool {
        let values = sides.operands.iter().chain(&sides.partials).chain([&sides.left, &sides.right]);
        let largest = values
            .flat_map(|value| self.scalars(value))
            .filter_map(Scalar::float)
            .filter(|float| float.is_finite())
            .fold(0.0, |largest: f64, float| largest.max(float.abs()));
        difference.amount.is_some_and(|amount| amount <= 1e-3 * largest && amount <= 1e4 * difference.allowed)
    }

    /// Whether the result is always one of the operands, and not always the same one.
    fn chooses(&self) -> bool {
        let (mut left, mut right) = (false, false);
        for (a, b, result) in self.results() {
            if self.same(a, b) {
                continue;
            }
            let (is_left, is_right) = (self.same(&result, a), self.same(&result, b));
            if !is_left && !is_right {
                return false;
            }
            left |= is_left;
            right |= is_right;
        }
        left && right
    }

    fn results(&self) -> impl Iterator<Item = (&Value, &Value, Value)> {
        let pairs = self.pool.iter().flat_map(|a| self.pool.iter().map(move |b| (a, b)));
        pairs.map_while(|(a, b)| Some((a, b, self.combine(a, b)?)))
    }

    /// Whether one number of the state is a key: kept where both have it, and a restart where they differ.
    fn by_key(&self) -> bool {
        let leaves = self.shape.primitives().count();
        let results: Vec<_> =
            self.results().map(|(a, b, result)| [a, b, &result].map(|value| self.scalars(value))).collect();
        leaves > 1
            && (0..leaves).any(|key| {
                let (equal, differ): (Vec<_>, Vec<_>) = results.iter().partition(|[a, b, _]| a[key] == b[key]);
                let restarts = |[_, b, result]: &&[Vec<Scalar>; 3]| result == b;
                let combines = |[a, b, result]: &&[Vec<Scalar>; 3]| result[key] == a[key] && result != a && result != b;
                !differ.is_empty()
                    && differ.iter().all(restarts)
                    && equal.iter().all(|[a, _, result]| result[key] == a[key])
                    && equal.iter().any(combines)
            })
    }

    /// Whether each number of the result is this function of the operands', on finite values.
    fn is_leafwise(&self, function: Leafwise, rounding: f64) -> bool {
        let mut tested = 0;
        for (a, b, result) in self.results() {
            let numbers = self.scalars(a).into_iter().zip(self.scalars(b)).zip(self.scalars(&result));
            for (((a, b), result), primitive) in numbers.zip(self.shape.primitives()) {
                let (a, b, found) = (signed(a), signed(b), signed(result));
                let mut expected = function(a, b);
                if expected < 0.0 && matches!(result, Scalar::Unsigned(_)) {
                    expected += 2.0_f64.powi(8 * primitive.size() as i32);
                }
                if !expected.is_finite() || !found.is_finite() {
                    continue;
                }
                let miss = (found - expected).abs();
                let rounds = result.float().is_none() && miss < rounding;
                if !rounds && miss > CLOSE * (a.abs() + b.abs() + expected.abs()) {
                    return false;
                }
                tested += 1;
            }
        }
        tested >= 4
    }

    /// Whether it is a sum except for an upper or lower limit that some sums reach.
    fn saturates(&self) -> bool {
        let leaves = self.shape.primitives().count();
        if leaves != 1 {
            return false;
        }
        let close = |a: f64, b: f64| (a - b).abs() <= CLOSE * a.abs().max(b.abs());
        let (mut sums, mut high, mut low) = (0, None, None);
        for (a, b, result) in self.results() {
            let [a, b, result] = [a, b, &result].map(|value| self.scalars(value).first().map_or(0.0, |&n| signed(n)));
            let sum = a + b;
            if close(sum, result) {
                sums += 1;
                continue;
            }
            let limit = if sum > result { &mut high } else { &mut low };
            if limit.is_some_and(|limit| limit != result) {
                return false;
            }
            *limit = Some(result);
        }
        // A sum that wraps misses by the width of its type, to either side: its results never agree on a limit.
        sums > 0 && (high.is_some() || low.is_some())
    }

    /// Whether `a ∘ b - a` depends on `b` alone (the right operand is mapped, and added), or `a ∘ b - b` on `a` alone; or
    /// the same with a quotient.
    fn maps_one(&self, right: bool) -> bool {
        let kept_and_mapped = |kept: &Value, mapped: &Value| match right {
            true => self.combine(kept, mapped),
            false => self.combine(mapped, kept),
        };
        let constant = |rest: &dyn Fn(Scalar, Scalar) -> Option<Scalar>| {
            let mut tested = 0;
            for mapped in &self.pool {
                let mut first: Option<Vec<Scalar>> = None;
                for kept in &self.pool {
                    let Some(result) = kept_and_mapped(kept, mapped) else { return false };
                    let numbers = self.scalars(&result).into_iter().zip(self.scalars(kept));
                    let Some(rests) = numbers.map(|(result, kept)| rest(result, kept)).collect::<Option<Vec<_>>>()
                    else {
                        continue;
                    };
                    let largest = self
                        .scalars(&result)
                        .into_iter()
                        .chain(self.scalars(kept))
                        .map(Scalar::magnitude)
                        .fold(0.0, f64::max);
                    match &first {
                        Some(first) if !near(self.shape, first, &rests, largest) => return false,
                        Some(_) => tested += 1,
                        None => first = Some(rests),
                    }
                }
            }
            tested >= 3
        };
        constant(&|result, kept| minus(result, kept))
            || constant(&|result, kept| match (result.float()?, kept.float()?) {
                (result, kept) if kept != 0.0 && (result / kept).is_finite() => Some(Scalar::Float(result / kept)),
                _ => None,
            })
    }

    /// Whether `(a + d) ∘ x - a ∘ x` is the same for every `a`.
    fn linear_on_the_left(&self) -> bool {
        let pool: Vec<&Value> = self.pool.iter().filter(|value| self.shape.is_finite(value)).take(5).collect();
        let &[p, q, ..] = pool.as_slice() else { return false };
        let leafwise = |a: &Value, b: &Value, f: &dyn Fn(Scalar, Scalar) -> Option<Scalar>| {
            let numbers = self.scalars(a).into_iter().zip(self.scalars(b));
            numbers.map(|(a, b)| f(a, b)).collect::<Option<Vec<_>>>()
        };
        let Some(step) = leafwise(p, q, &minus) else { return false };
        let Some(step) = self.shape.value(&step) else { return false };
        let mut tested = 0;
        for &x in &pool {
            let mut first: Option<Vec<Scalar>> = None;
            for &a in &pool {
                let moved = leafwise(a, &step, &plus).and_then(|sum| self.shape.value(&sum));
                let Some((from, to)) = moved.and_then(|moved| Some((self.combine(a, x)?, self.combine(&moved, x)?)))
                else {
                    return false;
                };
                let Some(change) = leafwise(&to, &from, &minus) else { return false };
                let largest =
                    self.scalars(&to).into_iter().chain(self.scalars(&from)).map(Scalar::magnitude).fold(0.0, f64::max);
                match &first {
                    Some(first) if !near(self.shape, first, &change, largest) => return false,
                    Some(_) => tested += 1,
                    None => first = Some(change),
                }
            }
        }
        tested >= 1
    }

    fn identity(&self, samples: &[Value], sides: &Sides, difference: &Difference) -> Option<Hint> {
        if self.shape.has_nan(&sides.left) && !self.shape.has_nan(&sides.right) {
            return Some(Hint::EmptyPart);
        }
        if self.is_small(sides, difference) {
            return Some(Hint::Rounding);
        }
        let others: Vec<&Value> = samples.iter().take(64).chain(&sides.operands).collect();
        let identity = self.applied.identity.as_ref()?;
        let fits = |candidate: &Value| {
            others.iter().filter(|other| !self.same(other, identity)).all(|&other| {
                let both = || Some((self.combine(candidate, other)?, self.combine(other, candidate)?));
                both().is_some_and(|(left, right)| self.same(&left, other) && self.same(&right, other))
            })
        };
        let value = self.candidates().into_iter().find(fits)?;
        Some(Hint::OtherIdentity { value: self.shape.show(&value) })
    }

    /// Identities that operators often have: of numbers 0, 1, the ends of the type, all bits; combined where there are few.
    fn candidates(&self) -> Vec<Value> {
        use scan_codegen::Primitive::*;
        let of = |primitive| -> Vec<Scalar> {
            let integer = |numbers: [i128; 4]| numbers.map(Scalar::Int).to_vec();
            match primitive {
                Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
                F32 | F64 => [0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY].map(Scalar::Float).to_vec(),
                I8 => integer([0, 1, i8::MIN.into(), i8::MAX.into()]),
                I16 => integer([0, 1, i16::MIN.into(), i16::MAX.into()]),
                I32 => integer([0, 1, i32::MIN.into(), i32::MAX.into()]),
                I64 | Isize => integer([0, 1, i64::MIN.into(), i64::MAX.into()]),
                I128 => integer([0, 1, i128::MIN, i128::MAX]),
                // All bits of any width: bits that do not fit are cut off.
                _ => [0, 1, u128::MAX].map(Scalar::Unsigned).to_vec(),
            }
        };
        let choices: Vec<Vec<Scalar>> = self.shape.primitives().map(of).collect();
        let combined = choices.len() <= 4;
        let count = match combined {
            true => choices.iter().map(Vec::len).product(),
            false => choices.iter().map(Vec::len).max().unwrap_or(0),
        };
        let candidate = |mut number: usize| {
            let scalars: Vec<Scalar> = choices
                .iter()
                .map(|choices| {
                    let chosen = choices[number % choices.len()];
                    if combined {
                        number /= choices.len();
                    }
                    chosen
                })
                .collect();
            self.shape.value(&scalars)
        };
        (0..count).filter_map(candidate).collect()
    }
}

fn signed(scalar: Scalar) -> f64 {
    match scalar {
        Scalar::Int(value) => value as f64,
        Scalar::Unsigned(value) => value as f64,
        Scalar::Float(value) => value,
        Scalar::Bool(value) => f64::from(u8::from(value)),
    }
}

/// Wraps like integers; [`Shape::value`] and [`near`] handle their width.
fn plus(a: Scalar, b: Scalar) -> Option<Scalar> {
    Some(match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => Scalar::Int(a.wrapping_add(b)),
        (Scalar::Unsigned(a), Scalar::Unsigned(b)) => Scalar::Unsigned(a.wrapping_add(b)),
        (Scalar::Float(a), Scalar::Float(b)) => Some(a + b).filter(|sum| sum.is_finite()).map(Scalar::Float)?,
        _ => return None,
    })
}

fn minus(a: Scalar, b: Scalar) -> Option<Scalar> {
    Some(match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => Scalar::Int(a.wrapping_sub(b)),
        (Scalar::Unsigned(a), Scalar::Unsigned(b)) => Scalar::Unsigned(a.wrapping_sub(b)),
        (Scalar::Float(a), Scalar::Float(b)) => Some(a - b).filter(|rest| rest.is_finite()).map(Scalar::Float)?,
        _ => return None,
    })
}

/// Whether numbers are equal: integers in the width of their types, floats up to a small part of what they were
/// computed from.
fn near(shape: &Shape, a: &[Scalar], b: &[Scalar], largest: f64) -> bool {
    a.iter().zip(b).zip(shape.primitives()).all(|((a, b), primitive)| match (a, b) {
        (Scalar::Float(a), Scalar::Float(b)) => (a - b).abs() <= CLOSE * largest,
        (a, b) => {
            let bits = |scalar: &Scalar| match scalar {
                Scalar::Int(value) => *value as u128,
                Scalar::Unsigned(value) => *value,
                _ => 0,
            };
            let unused = u128::BITS - 8 * primitive.size() as u32;
            bits(a) << unused == bits(b) << unused
        }
    })
}

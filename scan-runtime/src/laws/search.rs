//! Looks for a counterexample among what scans can reach, and makes it small.

use std::{
    any::Any,
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{
    Check, Failure, Law, Report, Violation, hints,
    value::{Difference, Shape},
};
use crate::{ScanElement, ScanOp};

/// How often each float is nudged to see what rounding may do.
const TRIALS: u64 = 4;

/// Samples that are tried in place of others when a counterexample shrinks.
const SIMPLEST: usize = 64;

/// A run of samples, by their indices: an operand is the fold of one.
type Run = Vec<usize>;

/// An operator whose panics are failures.
pub(super) struct Applied<'a, Op: ScanOp> {
    pub(super) op: &'a Op,
    pub(super) shape: Shape,
    pub(super) tolerance: Option<f64>,
}

/// Both sides of a law, and what was computed on the way.
pub(super) struct Sides<S> {
    pub(super) operands: Vec<S>,
    pub(super) partials: Vec<S>,
    pub(super) left: S,
    pub(super) right: S,
}

/// What becomes of a case.
pub(super) enum Outcome<S> {
    Holds {
        /// The largest difference of floats, in relation to what rounding explains.
        rounding: f64,
    },
    /// A float left its range: nothing can be said.
    Overflow,
    Violated(Box<Sides<S>>, Difference),
}

pub(super) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

impl<'a, Op: ScanOp> Applied<'a, Op> {
    pub(super) fn new(op: &'a Op, tolerance: Option<f64>) -> Self {
        Applied { op, shape: Shape::of::<Op::State>(), tolerance }
    }

    fn panicked(&self, on: String, panic: &(dyn Any + Send)) -> Failure<Op> {
        Failure::Panicked { operator: self.op.source().name, on, message: message(panic) }
    }

    fn lift(&self, input: Op::Input) -> Result<Op::State, Failure<Op>> {
        catch_unwind(AssertUnwindSafe(|| self.op.lift(input)))
            .map_err(|panic| self.panicked(format!("lift({})", Shape::of::<Op::Input>().show(&input)), &*panic))
    }

    pub(super) fn combine(&self, a: Op::State, b: Op::State) -> Result<Op::State, Failure<Op>> {
        catch_unwind(AssertUnwindSafe(|| self.op.combine(a, b))).map_err(|panic| {
            self.panicked(format!("combine({}, {})", self.shape.show(&a), self.shape.show(&b)), &*panic)
        })
    }

    fn fold(&self, states: impl IntoIterator<Item = Op::State>) -> Result<Option<Op::State>, Failure<Op>> {
        let mut sum = None;
        for state in states {
            sum = Some(match sum {
                Some(sum) => self.combine(sum, state)?,
                None => state,
            });
        }
        Ok(sum)
    }

    /// Both sides, each operand and each partial result passed through `change`.
    fn sides(
        &self,
        law: Law,
        operands: &[Op::State],
        change: &dyn Fn(Op::State) -> Op::State,
    ) -> Result<Sides<Op::State>, Failure<Op>> {
        let values: Vec<Op::State> = operands.iter().map(|&value| change(value)).collect();
        match (law, values.as_slice()) {
            (Law::Associativity, &[a, b, c]) => {
                let ab = change(self.combine(a, b)?);
                let bc = change(self.combine(b, c)?);
                let (left, right) = (self.combine(ab, c)?, self.combine(a, bc)?);
                Ok(Sides { operands: values, partials: vec![ab, bc], left, right })
            }
            (Law::LeftIdentity, &[identity, x]) => {
                Ok(Sides { left: self.combine(identity, x)?, right: x, operands: values, partials: Vec::new() })
            }
            (_, &[x, identity]) => {
                Ok(Sides { left: self.combine(x, identity)?, right: x, operands: values, partials: Vec::new() })
            }
            _ => Err(Failure::TooFewSamples { found: operands.len(), needed: 3 }),
        }
    }

    /// Evaluates one case of a law.
    pub(super) fn evaluate(&self, law: Law, operands: &[Op::State]) -> Result<Outcome<Op::State>, Failure<Op>> {
        let sides = self.sides(law, operands, &|value| value)?;
        let shape = &self.shape;
        let nothing = vec![0.0; shape.primitives().count()];
        if shape.difference(&sides.left, &sides.right, &nothing).is_none() {
            return Ok(Outcome::Holds { rounding: 0.0 });
        }
        let finite = |value: &Op::State| shape.is_finite(value);
        let in_range = sides.operands.iter().all(finite);
        let stays = finite(&sides.left) && finite(&sides.right) && sides.partials.iter().all(finite);
        // An infinity that the operands do not hold is an overflow. An identity of NaN results is a mistake, though.
        if in_range && !stays && law == Law::Associativity {
            return Ok(Outcome::Overflow);
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
            None => Outcome::Holds { rounding },
        })
    }

    /// By how much each float of the two sides may differ: see the documentation of [`laws`](super).
    fn allowed(&self, law: Law, operands: &[Op::State], sides: &Sides<Op::State>) -> Result<Vec<f64>, Failure<Op>> {
        let shape = &self.shape;
        let all = || sides.operands.iter().chain(&sides.partials).chain([&sides.left, &sides.right]);
        let floats = |value: &Op::State| -> Vec<f64> {
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
            // The bound on the spread: where the operator jumps, a nudge says nothing of rounding.
            tolerance * scale + spread.min(tolerance.sqrt() * largest)
        });
        Ok(allowed.collect())
    }
}

/// The whole check.
pub(super) struct Search<'a, Op: ScanOp> {
    check: &'a Check,
    samples: &'a [Op::Input],
    states: Vec<Op::State>,
    applied: Applied<'a, Op>,
    /// Whether no sample holds an infinity or a NaN.
    finite: bool,
    random: Cell<u64>,
    report: Report,
}

impl<'a, Op: ScanOp> Search<'a, Op> {
    pub(super) fn new(check: &'a Check, op: &'a Op, samples: &'a [Op::Input]) -> Result<Self, Failure<Op>> {
        let applied = Applied::new(op, check.tolerance);
        let states = samples.iter().map(|&sample| applied.lift(sample)).collect::<Result<Vec<_>, _>>()?;
        let needed = if check.in_order { 3 } else { 1 };
        if states.len() < needed {
            return Err(Failure::TooFewSamples { found: states.len(), needed });
        }
        let finite = states.iter().all(|state| applied.shape.is_finite(state));
        let report = Report { operator: op.source().name, ..Report::default() };
        Ok(Search { check, samples, states, applied, finite, random: Cell::new(check.seed), report })
    }

    pub(super) fn run(mut self) -> Result<Report, Failure<Op>> {
        for runs in self.triples() {
            self.case(Law::Associativity, runs)?;
        }
        if self.report.associativity == 0 {
            return Err(Failure::NothingTested { operator: self.report.operator, overflowed: self.report.overflowed });
        }
        if self.applied.op.identity().is_some() {
            let runs = self.single_runs();
            for law in [Law::LeftIdentity, Law::RightIdentity] {
                for run in &runs {
                    self.case(law, vec![run.clone()])?;
                }
            }
        }
        Ok(self.report)
    }

    fn below(&self, limit: usize) -> usize {
        self.random.set(self.random.get().wrapping_add(1));
        ((u128::from(super::mixed(self.random.get())) * limit as u128) >> 64) as usize
    }

    /// Three runs each: all that are short, then longer ones at random.
    fn triples(&self) -> Vec<Vec<Run>> {
        let len = self.states.len();
        let mut triples: Vec<Vec<Run>> = Vec::new();
        let adjacent = (0..len.saturating_sub(2)).take(self.check.cases);
        triples.extend(adjacent.map(|first| vec![vec![first], vec![first + 1], vec![first + 2]]));
        if !self.check.in_order {
            let half = self.check.cases / 2;
            if len.checked_pow(3).is_some_and(|all| all <= half) {
                let all = (0..len.pow(3)).map(|n| vec![vec![n % len], vec![n / len % len], vec![n / len / len]]);
                triples.extend(all);
            } else {
                triples.extend((0..half).map(|_| (0..3).map(|_| vec![self.below(len)]).collect()));
            }
        }
        for case in 0..self.check.cases {
            let lengths: [usize; 3] = std::array::from_fn(|_| 1 + self.below(self.check.longest_run.max(1)));
            let total: usize = lengths.iter().sum();
            if case % 2 == 0 && total <= len || self.check.in_order {
                // Runs that are neighbours in the samples as they stand.
                let Some(room) = len.checked_sub(total) else { continue };
                let first = self.below(room + 1);
                let starts = [first, first + lengths[0], first + lengths[0] + lengths[1]];
                triples.push(starts.iter().zip(lengths).map(|(&start, len)| (start..start + len).collect()).collect());
            } else {
                triples.push(lengths.iter().map(|&n| (0..n).map(|_| self.below(len)).collect()).collect());
            }
        }
        triples
    }

    /// The values that an identity is tried on.
    fn single_runs(&self) -> Vec<Run> {
        let len = self.states.len();
        let mut runs: Vec<Run> = (0..len).take(self.check.cases).map(|index| vec![index]).collect();
        for case in 0..self.check.cases / 4 {
            let length = 1 + self.below(self.check.longest_run.max(1));
            if case % 2 == 0 && length <= len || self.check.in_order {
                let Some(room) = len.checked_sub(length) else { continue };
                let first = self.below(room + 1);
                runs.push((first..first + length).collect());
            } else {
                runs.push((0..length).map(|_| self.below(len)).collect());
            }
        }
        runs
    }

    /// The operands of a case: the folds of its runs, and the identity. `None` where a fold leaves the range of floats.
    fn operands(&self, law: Law, runs: &[Run]) -> Result<Option<Vec<Op::State>>, Failure<Op>> {
        let mut operands = Vec::new();
        for run in runs {
            let Some(fold) = self.applied.fold(run.iter().map(|&index| self.states[index]))? else { return Ok(None) };
            if self.finite && !self.applied.shape.is_finite(&fold) {
                return Ok(None);
            }
            operands.push(fold);
        }
        match (law, self.applied.op.identity()) {
            (Law::LeftIdentity, Some(identity)) => operands.insert(0, identity),
            (Law::RightIdentity, Some(identity)) => operands.push(identity),
            _ => {}
        }
        Ok(Some(operands))
    }

    fn evaluate(&self, law: Law, runs: &[Run]) -> Result<Outcome<Op::State>, Failure<Op>> {
        match self.operands(law, runs)? {
            Some(operands) => self.applied.evaluate(law, &operands),
            None => Ok(Outcome::Overflow),
        }
    }

    fn case(&mut self, law: Law, runs: Vec<Run>) -> Result<(), Failure<Op>> {
        match self.evaluate(law, &runs)? {
            Outcome::Holds { rounding } => {
                self.report.rounding = self.report.rounding.max(rounding);
                match law {
                    Law::Associativity => self.report.associativity += 1,
                    Law::LeftIdentity | Law::RightIdentity => self.report.identity += 1,
                }
                Ok(())
            }
            Outcome::Overflow => {
                self.report.overflowed += 1;
                Ok(())
            }
            Outcome::Violated(sides, difference) => {
                let (runs, sides, difference) = self.shrink(law, runs, *sides, difference);
                Err(self.violation(law, &runs, sides, difference))
            }
        }
    }

    /// The smallest counterexample that small steps lead to: fewer samples first, then simpler ones.
    fn shrink(
        &self,
        law: Law,
        mut runs: Vec<Run>,
        mut sides: Sides<Op::State>,
        mut difference: Difference,
    ) -> (Vec<Run>, Sides<Op::State>, Difference) {
        // A plain violation must not shrink into one that might be rounding.
        let enough = difference.severity.min(1000.0);
        let simplest = self.simplest();
        // A panic on the way is no counterexample to this law; each is printed, so a few are enough.
        let mut panics = 0;
        loop {
            let smaller = self.smaller(&runs, &simplest).into_iter().find_map(|runs| {
                match if panics < 3 { self.evaluate(law, &runs) } else { return None } {
                    Ok(Outcome::Violated(sides, difference)) if difference.severity >= enough => {
                        Some((runs, *sides, difference))
                    }
                    Ok(_) => None,
                    Err(_) => {
                        panics += 1;
                        None
                    }
                }
            });
            match smaller {
                Some(found) => (runs, sides, difference) = found,
                None => return (runs, sides, difference),
            }
        }
    }

    /// The simplest samples, each with its rank.
    fn simplest(&self) -> Vec<(u64, usize)> {
        let shape = Shape::of::<Op::Input>();
        let mut ranked: Vec<(u64, usize)> = self
            .samples
            .iter()
            .take(4096)
            .enumerate()
            .map(|(index, sample)| (shape.complexity(sample), index))
            .collect();
        ranked.sort_unstable();
        ranked.dedup_by_key(|(_, index)| crate::element::bytes_of(&self.samples[*index]));
        ranked.truncate(SIMPLEST);
        ranked
    }

    /// Every step to something smaller, the largest steps first. Each step makes the runs shorter, or a sample simpler and
    /// none more complex, so that steps come to an end.
    fn smaller(&self, runs: &[Run], simplest: &[(u64, usize)]) -> Vec<Vec<Run>> {
        let mut smaller = Vec::new();
        if self.check.in_order {
            let shorter = |change: &dyn Fn(&mut Vec<Run>)| {
                let mut next = runs.to_vec();
                change(&mut next);
                next
            };
            for index in (0..runs.len()).filter(|&index| runs[index].len() > 1) {
                // What this run loses at one end is made up for by its neighbours, which move.
                smaller.push(shorter(&|next| {
                    next[index].remove(0);
                    next[..index].iter_mut().flatten().for_each(|sample| *sample += 1);
                }));
                smaller.push(shorter(&|next| {
                    next[index].pop();
                    next[index + 1..].iter_mut().flatten().for_each(|sample| *sample -= 1);
                }));
            }
            return smaller;
        }
        let with = |index: usize, run: Run| {
            let mut next = runs.to_vec();
            next[index] = run;
            next
        };
        for (index, run) in runs.iter().enumerate().filter(|(_, run)| run.len() > 1) {
            smaller.extend(run.iter().map(|&sample| with(index, vec![sample])));
            for left_out in 0..run.len() {
                let mut shorter = run.clone();
                shorter.remove(left_out);
                smaller.push(with(index, shorter));
            }
        }
        let shape = Shape::of::<Op::Input>();
        for (index, run) in runs.iter().enumerate() {
            for (position, &sample) in run.iter().enumerate() {
                let rank = shape.complexity(&self.samples[sample]);
                for &(_, other) in simplest.iter().take_while(|(simpler, _)| *simpler < rank) {
                    let mut run = run.clone();
                    run[position] = other;
                    smaller.push(with(index, run));
                }
            }
        }
        smaller
    }

    fn violation(&self, law: Law, runs: &[Run], sides: Sides<Op::State>, difference: Difference) -> Failure<Op> {
        let hint = hints::find(&self.applied, law, &self.states, &sides, &difference);
        let inputs: Vec<Vec<Op::Input>> =
            runs.iter().map(|run| run.iter().map(|&index| self.samples[index]).collect()).collect();
        Failure::Violated(Box::new(Violation {
            operator: self.report.operator.clone(),
            law,
            inputs,
            operands: sides.operands,
            partials: sides.partials,
            left: sides.left,
            right: sides.right,
            path: difference.path,
            amount: difference.amount,
            allowed: difference.allowed,
            hint,
        }))
    }
}

/// Samples of any element: small numbers, some of them equal.
pub(super) fn samples<T: ScanElement>(count: usize, seed: u64) -> Option<Vec<T>> {
    use super::value::Scalar;
    use scan_codegen::Primitive;
    let shape = Shape::of::<T>();
    let mut state = seed;
    let mut below = |limit: u64| {
        state = state.wrapping_add(1);
        ((u128::from(super::mixed(state)) * u128::from(limit)) >> 64) as i128
    };
    let mut scalar = |primitive: Primitive| match primitive {
        Primitive::Bool => Scalar::Bool(below(2) == 1),
        Primitive::F16 | Primitive::Bf16 | Primitive::F32 | Primitive::F64 => {
            Scalar::Float((below(17) - 8) as f64 * 0.25)
        }
        Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 | Primitive::I128 | Primitive::Isize => {
            Scalar::Int(below(7) - 3)
        }
        _ => Scalar::Unsigned(below(4) as u128),
    };
    (0..count).map(|_| shape.element(&shape.primitives().map(&mut scalar).collect::<Vec<_>>())).collect()
}

//! Searches for a counterexample among the values that scans can reach, and shrinks it.

use std::cell::Cell;

use scan_codegen::ElementType;

use super::{
    Check, Failure, Law, Report,
    action::{self, Found},
    applied::{Applied, Outcome, Panicked, Shapes, Sides, Subject, Typed},
    hints, limits,
    value::{Difference, Shape, Value},
};
use crate::{ScanElement, ScanOp, caught::quietly};

/// Samples that are tried in place of others when a counterexample shrinks.
const SIMPLEST: usize = 64;

/// A run of samples, by their indices: an operand is the fold of one.
pub(super) type Run = Vec<usize>;

/// The reason why a check stops early.
pub(super) enum Stop {
    Panicked(Panicked),
    Violated(Box<Counterexample>),
    Disagrees(Box<Found>),
    TooFewSamples { found: usize, needed: usize },
    NothingTested { overflowed: usize },
}

impl From<Panicked> for Stop {
    fn from(panicked: Panicked) -> Self {
        Stop::Panicked(panicked)
    }
}

/// A case in which a law does not hold: `sides.operands` are the folds of `runs`, and the identity.
pub(super) struct Counterexample {
    pub(super) law: Law,
    pub(super) runs: Vec<Run>,
    pub(super) sides: Sides,
    pub(super) difference: Difference,
    pub(super) hint: Option<hints::Hint>,
}

/// Checks an operator on these samples.
pub(super) fn run<Op: ScanOp>(check: &Check, op: &Op, samples: &[Op::Input]) -> Result<Report, Failure<Op>> {
    let [input, state, carry] =
        [Op::Input::layout, Op::State::layout, Op::Carry::layout].map(|layout| Shape::of(layout()));
    let subject = Subject {
        op: &Typed(op),
        source: op.source(),
        identity: op.identity().as_ref().map(Value::of),
        shapes: Shapes { input, state, carry },
        samples: samples.iter().map(Value::of).collect(),
    };
    examine(check, &subject).map_err(|stop| Failure::new(stop, &subject, samples))
}

fn examine(check: &Check, subject: &Subject<'_>) -> Result<Report, Stop> {
    let Subject { op, source, identity, shapes, samples } = subject;
    let lift = |sample: &Value| {
        quietly(|| op.lift(sample))
            .map_err(|panic| Panicked::new(format!("lift({})", shapes.input.show(sample)), panic))
    };
    let states = samples.iter().map(lift).collect::<Result<Vec<_>, _>>()?;
    let (found, needed) = (samples.len(), if check.in_order { 3 } else { 1 });
    if found < needed {
        return Err(Stop::TooFewSamples { found, needed });
    }
    let (identity, shape) = (identity.clone(), shapes.state.clone());
    let applied = Applied { op: *op, identity, shape, tolerance: check.tolerance };
    let search = Search::new(check, applied, shapes.input.clone(), samples.clone(), states);
    let report = Report { operator: source.name.clone(), ..search.run(&limits::compared(source))? };
    match report.associativity {
        0 => Err(Stop::NothingTested { overflowed: report.overflowed }),
        _ => action::run(check, subject, report),
    }
}

/// The whole check.
struct Search<'a> {
    check: &'a Check,
    input: Shape,
    inputs: Vec<Value>,
    /// The inputs, lifted.
    states: Vec<Value>,
    applied: Applied<'a>,
    /// Whether no sample holds an infinity or a NaN.
    finite: bool,
    random: Cell<u64>,
    /// The largest integer in an operand.
    largest: Cell<u128>,
    report: Report,
}

impl<'a> Search<'a> {
    fn new(check: &'a Check, applied: Applied<'a>, input: Shape, inputs: Vec<Value>, states: Vec<Value>) -> Self {
        let finite = states.iter().all(|state| applied.shape.is_finite(state));
        let random = Cell::new(check.seed);
        let largest = Cell::new(0);
        Search { check, input, inputs, states, applied, finite, random, largest, report: Report::default() }
    }

    /// `compared` are the numbers that `combine` compares with.
    fn run(mut self, compared: &[u64]) -> Result<Report, Stop> {
        for runs in self.triples() {
            self.case(Law::Associativity, runs)?;
        }
        if self.applied.identity.is_some() && self.report.associativity > 0 {
            let runs = self.single_runs();
            for law in [Law::LeftIdentity, Law::RightIdentity] {
                for run in &runs {
                    self.case(law, vec![run.clone()])?;
                }
            }
        }
        let reached = self.largest.get().max(self.check.longest_run as u128);
        let unreached = compared.iter().copied().filter(|&number| u128::from(number) > reached).max();
        Ok(Report { unreached, ..self.report })
    }

    fn below(&self, limit: usize) -> usize {
        self.random.set(self.random.get().wrapping_add(1));
        ((u128::from(super::mixed(self.random.get())) * limit as u128) >> 64) as usize
    }

    /// Triples of runs: all short ones, then longer ones at random.
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
                // Runs that are neighbours in the order of the samples.
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

    /// The operands of a case: the folds of its runs, and the identity; or the fold that leaves the range of floats.
    fn operands(&self, law: Law, runs: &[Run]) -> Result<Result<Vec<Value>, String>, Panicked> {
        let mut operands = Vec::new();
        for run in runs {
            let states = || run.iter().map(|&index| &self.states[index]);
            let Some(fold) = self.applied.fold(states())? else { continue };
            let shape = &self.applied.shape;
            if self.finite && !shape.is_finite(&fold) {
                let folded: Vec<_> = states().map(|state| shape.show(state)).collect();
                return Ok(Err(format!("the fold of {} = {}", folded.join(", "), shape.show(&fold))));
            }
            self.largest.set(self.largest.get().max(shape.largest_integer(&fold)));
            operands.push(fold);
        }
        match (law, &self.applied.identity) {
            (Law::LeftIdentity, Some(identity)) => operands.insert(0, identity.clone()),
            (Law::RightIdentity, Some(identity)) => operands.push(identity.clone()),
            _ => {}
        }
        Ok(Ok(operands))
    }

    fn evaluate(&self, law: Law, runs: &[Run]) -> Result<Outcome, Panicked> {
        match self.operands(law, runs)? {
            Ok(operands) => self.applied.evaluate(law, &operands),
            Err(overflow) => Ok(Outcome::Overflow(overflow)),
        }
    }

    fn case(&mut self, law: Law, runs: Vec<Run>) -> Result<(), Stop> {
        match self.evaluate(law, &runs)? {
            Outcome::Holds { rounding, signs } => {
                self.report.rounding = self.report.rounding.max(rounding);
                match law {
                    Law::Associativity => self.report.associativity += 1,
                    _ => {
                        self.report.identity += 1;
                        self.report.signs += usize::from(signs);
                    }
                }
                Ok(())
            }
            Outcome::Overflow(overflow) => {
                self.report.leave_out(overflow);
                Ok(())
            }
            Outcome::Violated(sides, difference) => {
                let (runs, sides, difference) = self.shrink(law, runs, *sides, difference);
                let hint = hints::find(&self.applied, law, &self.states, &sides, &difference);
                Err(Stop::Violated(Box::new(Counterexample { law, runs, sides, difference, hint })))
            }
        }
    }

    /// The smallest counterexample that small steps lead to: fewer samples first, then simpler ones.
    fn shrink(
        &self,
        law: Law,
        mut runs: Vec<Run>,
        mut sides: Sides,
        mut difference: Difference,
    ) -> (Vec<Run>, Sides, Difference) {
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
        let inputs = self.inputs.iter().take(4096).enumerate();
        let mut ranked: Vec<(u64, usize)> =
            inputs.map(|(index, input)| (self.input.complexity(input), index)).collect();
        ranked.sort_unstable();
        ranked.dedup_by(|(_, a), (_, b)| self.inputs[*a] == self.inputs[*b]);
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
                // The neighbours move to fill the place of what this run loses at one end.
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
        for (index, run) in runs.iter().enumerate() {
            for (position, &sample) in run.iter().enumerate() {
                let rank = self.input.complexity(&self.inputs[sample]);
                for &(_, other) in simplest.iter().take_while(|(simpler, _)| *simpler < rank) {
                    let mut run = run.clone();
                    run[position] = other;
                    smaller.push(with(index, run));
                }
            }
        }
        smaller
    }
}

/// Samples of any element: small numbers, some of them equal.
pub(super) fn samples<T: ScanElement>(count: usize, seed: u64) -> Option<Vec<T>> {
    let samples = values(T::layout(), count, seed)?;
    // SAFETY: the shape of `T` made them.
    Some(samples.iter().map(|value| unsafe { value.element() }).collect())
}

fn values(layout: ElementType, count: usize, seed: u64) -> Option<Vec<Value>> {
    use super::value::Scalar;
    use scan_codegen::Primitive;
    let shape = Shape::of(layout);
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
    (0..count).map(|_| shape.value(&shape.primitives().map(&mut scalar).collect::<Vec<_>>())).collect()
}

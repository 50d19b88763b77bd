//! What an operator says twice: how an input is appended, and how a stepped operator's carry moves on. Both ways must
//! agree.

use super::{
    Check, Law, Report,
    applied::{Panicked, Shapes, Subject},
    hints::Hint,
    mixed,
    search::{Run, Stop},
    value::{Difference, Shape, Value},
};
use crate::caught::quietly;

/// How often each float is nudged to see what rounding may do.
const TRIALS: u64 = 4;

/// What a law is tried on: what precedes, and one part or two that follow.
#[derive(Clone)]
struct Case {
    before: Run,
    parts: Vec<Run>,
}

/// Both ways, by their bytes, and the operands as they are shown.
struct Ways {
    left: Value,
    right: Value,
    operands: Vec<(&'static str, String)>,
}

/// The outcome of a case.
enum Outcome {
    /// The two ways agree, but for rounding.
    Holds,
    /// A float left its range, so the case shows nothing: where it did.
    Overflow(String),
    Differs(Difference),
}

/// Passes a value of a shape through what is done to each operand.
type Change<'c> = &'c dyn Fn(&Shape, &Value) -> Value;

/// A case in which two ways disagree.
pub(super) struct Found {
    pub(super) law: Law,
    pub(super) runs: Vec<Run>,
    pub(super) difference: Difference,
    pub(super) hint: Hint,
    pub(super) text: String,
}

/// Checks what the operator declares of these laws, on samples of which it keeps the others.
pub(super) fn run(check: &Check, subject: &Subject<'_>, report: Report) -> Result<Report, Stop> {
    let by_input = [("append", Law::Append), ("prepend", Law::Prepend)];
    let has = |name: &str| subject.source.functions.iter().any(|function| function.name == name);
    let mut laws: Vec<Law> = by_input.into_iter().filter(|(name, _)| has(name)).map(|(_, law)| law).collect();
    if subject.source.carry.is_some() {
        laws.extend([Law::Step, Law::Apply, Law::IdentityApplied]);
    }
    let mut search = Search { check, subject, report };
    for law in laws {
        search.law(law)?;
    }
    Ok(search.report)
}

/// The two sides of a law.
fn sides(law: Law) -> [&'static str; 2] {
    match law {
        Law::Append => ["append(s, x)", "combine(s, lift(x))"],
        Law::Prepend => ["prepend(x, s)", "combine(lift(x), s)"],
        Law::Step => ["step(c, x)", "apply(lift(x), c)"],
        Law::Apply => ["apply(combine(a, b), c)", "apply(b, apply(a, c))"],
        _ => ["apply(IDENTITY, c)", "c"],
    }
}

struct Search<'a> {
    check: &'a Check,
    subject: &'a Subject<'a>,
    report: Report,
}

impl Search<'_> {
    fn law(&mut self, law: Law) -> Result<(), Stop> {
        for number in 0..self.check.cases {
            let Some(case) = self.case(law, number) else { continue };
            match self.outcome(law, &case)? {
                Outcome::Holds => match law {
                    Law::Append | Law::Prepend => self.report.appended += 1,
                    _ => self.report.carried += 1,
                },
                Outcome::Overflow(overflow) => self.report.leave_out(overflow),
                Outcome::Differs(_) => return Err(self.failure(law, case)),
            }
        }
        Ok(())
    }

    /// The case of this number, the shortest first: neighbours among the samples, and, unless their order matters, any.
    fn case(&self, law: Law, number: usize) -> Option<Case> {
        let parts = match law {
            Law::Apply => 2,
            Law::IdentityApplied => 0,
            _ => 1,
        };
        let mut state = self.check.seed ^ (number as u64) << 20;
        let mut below = |limit: usize| {
            state = state.wrapping_add(1);
            ((u128::from(mixed(state)) * limit as u128) >> 64) as usize
        };
        let longest = if number < self.subject.samples.len() { 1 } else { self.check.longest_run.max(1) };
        // One input is appended, and one is stepped past.
        let lengths: Vec<usize> =
            (0..=parts).map(|part| if part == 0 || law == Law::Apply { 1 + below(longest) } else { 1 }).collect();
        let total: usize = lengths.iter().sum();
        let mut runs: Vec<Run> = if self.check.in_order || number.is_multiple_of(2) {
            let room = self.subject.samples.len().checked_sub(total)?;
            let mut next = below(room + 1);
            let neighbours = |&length: &usize| {
                next += length;
                (next - length..next).collect()
            };
            lengths.iter().map(neighbours).collect()
        } else {
            lengths.iter().map(|&length| (0..length).map(|_| below(self.subject.samples.len())).collect()).collect()
        };
        let parts = runs.split_off(1);
        Some(Case { before: runs.pop()?, parts })
    }

    /// Whether the two ways differ by more than rounding explains.
    fn outcome(&self, law: Law, case: &Case) -> Result<Outcome, Panicked> {
        let shape = if matches!(law, Law::Append | Law::Prepend) {
            &self.subject.shapes.state
        } else {
            &self.subject.shapes.carry
        };
        let Ways { left, right, .. } = self.ways(law, case, &|_, value| value.clone())?;
        if shape.difference(&left, &right, &vec![0.0; shape.primitives().count()]).is_none() {
            return Ok(Outcome::Holds);
        }
        let names = sides(law);
        for (side, value) in names.into_iter().zip([&left, &right]) {
            if !shape.is_finite(value) {
                return Ok(Outcome::Overflow(format!("{side} = {}", shape.show(value))));
            }
        }
        let floats = |value: &Value| -> Vec<f64> {
            shape.scalars(value).into_iter().map(|scalar| scalar.float().unwrap_or(0.0)).collect()
        };
        let still = [floats(&left), floats(&right)];
        let mut spread = vec![0.0_f64; shape.primitives().count()];
        for trial in 0..TRIALS {
            let nudge = |shape: &Shape, value: &Value| shape.nudged(value, self.check.tolerance, trial);
            let nudged = self.ways(law, case, &nudge)?;
            for (moved, still) in [floats(&nudged.left), floats(&nudged.right)].iter().zip(&still) {
                let moves = moved.iter().zip(still).map(|(moved, still)| (moved - still).abs());
                spread.iter_mut().zip(moves).for_each(|(spread, by)| *spread = spread.max(by));
            }
        }
        let largest = still.iter().flatten().fold(0.0_f64, |largest, float| largest.max(float.abs()));
        let allowed = shape.primitives().zip(still[0].iter().zip(&still[1]).zip(&spread)).map(
            |(primitive, ((left, right), spread))| {
                let tolerance = shape.tolerance(self.check.tolerance, primitive);
                tolerance * left.abs().max(right.abs()) + spread.min(tolerance.sqrt() * largest)
            },
        );
        let difference = shape.difference(&left, &right, &allowed.collect::<Vec<_>>());
        Ok(difference.map_or(Outcome::Holds, Outcome::Differs))
    }

    /// Both ways of a law, each operand passed through `change`.
    fn ways(&self, law: Law, case: &Case, change: Change<'_>) -> Result<Ways, Panicked> {
        let Subject { op, identity, samples, shapes: Shapes { input, state, carry }, .. } = self.subject;
        let shown = |value: &Value, shape: &Shape| shape.show(value);
        let next = || {
            let index = case.parts.first().and_then(|run| run.first()).copied().unwrap_or_default();
            change(input, &samples[index])
        };
        let call = |name: &str, shown: Vec<String>, call: &dyn Fn() -> Value| {
            quietly(call).map_err(|panic| Panicked::new(format!("{name}({})", shown.join(", ")), panic))
        };
        Ok(match law {
            Law::Append => {
                let s = change(state, &self.fold(&case.before)?);
                let x = next();
                let both = || vec![shown(&s, state), shown(&x, input)];
                let left = call("append", both(), &|| op.append(&s, &x))?;
                let right = call("combine", both(), &|| op.combine(&s, &op.lift(&x)))?;
                let operands = vec![("s", shown(&s, state)), ("x", shown(&x, input))];
                Ways { left, right, operands }
            }
            Law::Prepend => {
                let s = change(state, &self.fold(&case.before)?);
                let x = next();
                let both = || vec![shown(&x, input), shown(&s, state)];
                let left = call("prepend", both(), &|| op.prepend(&x, &s))?;
                let right = call("combine", both(), &|| op.combine(&op.lift(&x), &s))?;
                let operands = vec![("x", shown(&x, input)), ("s", shown(&s, state))];
                Ways { left, right, operands }
            }
            Law::Step => {
                let c = change(carry, &self.carry_after(&case.before)?);
                let x = next();
                let both = || vec![shown(&c, carry), shown(&x, input)];
                let left = call("step", both(), &|| op.step(&c, &x))?;
                let right = call("apply", both(), &|| op.apply(&op.lift(&x), &c))?;
                let operands = vec![("c", shown(&c, carry)), ("x", shown(&x, input))];
                Ways { left, right, operands }
            }
            Law::Apply => {
                let c = change(carry, &self.carry_after(&case.before)?);
                let a = change(state, &self.fold(&case.parts[0])?);
                let b = change(state, &self.fold(&case.parts[1])?);
                let operands = vec![("a", shown(&a, state)), ("b", shown(&b, state)), ("c", shown(&c, carry))];
                let all = || operands.iter().map(|(_, shown)| shown.clone()).collect();
                let left = call("apply", all(), &|| op.apply(&op.combine(&a, &b), &c))?;
                let right = call("apply", all(), &|| op.apply(&b, &op.apply(&a, &c)))?;
                Ways { left, right, operands }
            }
            _ => {
                let c = change(carry, &self.carry_after(&case.before)?);
                let operands = vec![("c", shown(&c, carry))];
                let left = match identity {
                    Some(identity) => {
                        call("apply", vec!["IDENTITY".to_owned(), shown(&c, carry)], &|| op.apply(identity, &c))?
                    }
                    None => c.clone(),
                };
                Ways { left, right: c, operands }
            }
        })
    }

    /// The fold of a run, by `lift` and `combine`.
    fn fold(&self, run: &Run) -> Result<Value, Panicked> {
        let Subject { op, samples, .. } = self.subject;
        let fold = || run.iter().map(|&index| op.lift(&samples[index])).reduce(|a, b| op.combine(&a, &b));
        let folded = quietly(fold).map_err(|panic| Panicked::new("combine of samples".to_owned(), panic))?;
        Ok(folded.unwrap_or_else(|| op.lift(&samples[0])))
    }

    /// The carry from the start past all but the first of a run, by `step`. Runs have one at least, so the start comes,
    /// too.
    fn carry_after(&self, run: &Run) -> Result<Value, Panicked> {
        let Subject { op, samples, .. } = self.subject;
        let first = op.start_or_after(&samples[run[0]]);
        let steps = || run[1..].iter().fold(first, |carry, &index| op.step(&carry, &samples[index]));
        quietly(steps).map_err(|panic| Panicked::new("step past samples".to_owned(), panic))
    }

    /// Whether a case breaks the law.
    fn breaks(&self, law: Law, case: &Case) -> bool {
        matches!(self.outcome(law, case), Ok(Outcome::Differs(_)))
    }

    /// The case with as few samples as show it, in words.
    fn failure(&self, law: Law, mut case: Case) -> Stop {
        let shorter = |case: &Case| {
            let parts = (0..=case.parts.len()).flat_map(|part| {
                let run = if part == 0 { &case.before } else { &case.parts[part - 1] };
                let lengths = if run.len() > 1 { 0..run.len() } else { 0..0 };
                lengths.map(move |left_out| (part, left_out))
            });
            let without = |(part, left_out): (usize, usize)| {
                let mut case = case.clone();
                let run = if part == 0 { &mut case.before } else { &mut case.parts[part - 1] };
                run.remove(left_out);
                case
            };
            parts.map(without).find(|case| self.breaks(law, case))
        };
        // Neighbours must stay neighbours.
        while let Some(smaller) = if self.check.in_order { None } else { shorter(&case) } {
            case = smaller;
        }
        let (ways, difference) = match (self.ways(law, &case, &|_, value| value.clone()), self.outcome(law, &case)) {
            (Ok(ways), Ok(Outcome::Differs(difference))) => (ways, difference),
            (Err(panicked), _) | (_, Err(panicked)) => return panicked.into(),
            (Ok(_), Ok(_)) => return Stop::NothingTested { overflowed: 0 },
        };
        let hint = self.hint(law, &case);
        let text = self.text(law, &case, &ways, &difference, &hint);
        let Case { before, parts } = case;
        let runs = std::iter::once(before).chain(parts).collect();
        Stop::Disagrees(Box::new(Found { law, runs, difference, hint, text }))
    }

    /// What the mistake may be.
    fn hint(&self, law: Law, case: &Case) -> Hint {
        match law {
            Law::Append => Hint::OtherAppend,
            Law::Prepend => Hint::OtherPrepend,
            Law::Step => Hint::OtherStep,
            Law::IdentityApplied => Hint::MovingIdentity,
            _ => {
                // The later part first?
                let swapped = Case { before: case.before.clone(), parts: case.parts.iter().rev().cloned().collect() };
                let same = |case: &Case, other: &Case| -> Option<bool> {
                    let left = self.ways(law, case, &|_, value| value.clone()).ok()?.left;
                    let right = self.ways(law, other, &|_, value| value.clone()).ok()?.right;
                    let nothing = vec![0.0; self.subject.shapes.carry.primitives().count()];
                    Some(self.subject.shapes.carry.difference(&left, &right, &nothing).is_none())
                };
                match same(case, &swapped) {
                    Some(true) => Hint::AppliedBackwards,
                    _ => Hint::OtherApply,
                }
            }
        }
    }

    fn text(&self, law: Law, case: &Case, ways: &Ways, difference: &Difference, hint: &Hint) -> String {
        let shape = if matches!(law, Law::Append | Law::Prepend) {
            &self.subject.shapes.state
        } else {
            &self.subject.shapes.carry
        };
        let operator = &self.subject.source.name;
        let [left, right] = sides(law);
        let what = match law {
            Law::Append => "appends an input as no `lift` and `combine` do",
            Law::Prepend => "prepends an input as no `lift` and `combine` do",
            Law::Step => "steps past an input to another carry",
            Law::Apply => "applies two parts to another carry than both at once",
            _ => "has an identity that moves a carry",
        };
        let mut text = format!("`{operator}` {what}: {left} ≠ {right}\n\n");
        let show = |run: &[usize]| {
            let samples: Vec<_> =
                run.iter().map(|&index| self.subject.shapes.input.show(&self.subject.samples[index])).collect();
            samples.join(", ")
        };
        for (name, operand) in &ways.operands {
            text += &format!("    {name} = {operand}");
            let run = match *name {
                "s" => Some(&case.before),
                "a" => case.parts.first(),
                "b" => case.parts.get(1),
                _ => None,
            };
            match (run.map(Vec::as_slice), *name) {
                (Some(&[one]), _) => text += &format!(", lifted from {}", show(&[one])),
                (Some(several), _) => text += &format!(", the fold of {}", show(several)),
                (None, "c") if case.before.len() > 1 => text += &format!(", after {}", show(&case.before[1..])),
                (None, "c") => text += ", its start",
                _ => {}
            }
            text.push('\n');
        }
        text += &format!("\n    {left} = {}\n", shape.show(&ways.left));
        if law != Law::IdentityApplied {
            text += &format!("    {right} = {}\n", shape.show(&ways.right));
        }
        let place = if difference.path.is_empty() { String::new() } else { format!("`{}`: ", difference.path) };
        text += &match difference.amount {
            Some(amount) => {
                format!("\n    {place}a difference of {amount:e}, where rounding may make {:.1e}", difference.allowed)
            }
            None => format!("\n    {place}not equal"),
        };
        text + &format!("\n\nhint: {hint}")
    }
}

//! Checks that an operator keeps the laws of a scan: that it is associative, that its identity is one, and that what it
//! says twice (how an input is appended, how a carry moves on) is the same both times.
//!
//! A scan chooses how it groups its elements. If the grouping matters, the results change with the device, the length
//! and the strategy. Neither the compiler nor a GPU can detect that; this check can:
//!
//! ```
//! use scan_runtime::{laws, scan_op};
//!
//! #[scan_op(identity = 0.0)]
//! fn decay(a: f32, b: f32) -> f32 {
//!     a * 0.5 + b
//! }
//!
//! let failure = laws::check(&decay, &[1.0, 2.0, 4.0]).unwrap_err();
//! let text = failure.to_string();
//! assert!(text.contains("`decay` is not associative"), "{text}");
//! assert!(text.contains("a = 1.0"), "{text}");
//! assert!(text.contains("the step of a recurrence"), "{text}");
//! ```
//!
//! `#[scan_op(…, laws)]` writes a test that does the same.
//!
//! # What is tested
//!
//! The check tests values that scans reach: your samples, lifted, and folds of runs of them. They are drawn from a
//! fixed seed, so that every run tests the same. Samples may occur in any order, any number of times. For operators
//! that rely on an order, [`Check::in_order`] tests only runs of neighbouring samples, in the given order.
//!
//! A counterexample is shrunk to the fewest samples, then to the simplest ones. The failure reports the law, the values
//! and both sides. Where the mistake has a known shape, which is found by trying the operator, it also reports the
//! remedy.
//!
//! # Panics
//!
//! An operator that panics, such as one that overflows in a debug build, fails the check. The panics of the check's own
//! trials are not printed. For that, the first check of a process installs a panic hook, which forwards all panics but
//! those of a thread that tries an operator to the previous hook. A hook that you set later stays in place. It is
//! called for those trials too, unless it forwards to the hook that it replaced.
//!
//! # Floats
//!
//! Integers and `bool` must be equal. Floats round, so the two sides may differ: each float of the element by `tolerance` times
//! its own magnitude (the largest that this field has in the operands, the partial results and the two sides), and by as much
//! as it moves when the floats of operands and partial results are changed by `tolerance` of their values. The second
//! part covers sums whose large terms cancel. It is bounded by √`tolerance` times the largest float of the element, so
//! that discontinuous operators are not excused. [`Check::tolerance`] sets the tolerance; the default is 64 times the
//! relative distance of neighbouring floats (7.6 · 10⁻⁶ for `f32`, 1.4 · 10⁻¹⁴ for `f64`). NaN equals NaN, and 0.0
//! equals -0.0; how often the identity changed no more than that sign is [counted](Report::signs).
//!
//! Cases in which finite operands give an infinity or a NaN on the way are left out, unless both sides are equal. The
//! [`Report`] says how many these are, and shows one. The operands of a check are folds of few samples. A scan folds many, and may leave the range of
//! floats where a loop does not: see [Overflow](ScanOp#overflow).

mod action;
mod applied;
mod gradient;
mod hints;
mod limits;
mod search;
mod value;

use std::{any::TypeId, fmt};

pub use gradient::{GradientFailure, GradientReport, WrongDerivative, check_gradient};
pub use hints::Hint;

use crate::{ScanElement, ScanOp};
use action::Found;
use applied::{Panicked, Sides, Subject};
use search::{Counterexample, Run, Stop};
use value::{Difference, Value};

/// Checks an operator's laws on these samples, with the default options of [`Check`].
///
/// # Errors
///
/// The first law that does not hold, with a counterexample; or the reason why nothing could be tested.
///
/// ```
/// use scan_runtime::{laws, ops};
///
/// let report = laws::check(&ops::max(), &[1.5, -2.0, 0.25])?;
/// println!("{report}");
/// # Ok::<(), laws::Failure<ops::Max<f32>>>(())
/// ```
pub fn check<Op: ScanOp>(op: &Op, samples: impl AsRef<[Op::Input]>) -> Result<Report, Failure<Op>> {
    Check::new().run(op, samples)
}

/// The options of a check of the laws, set by chaining.
///
/// ```
/// use scan_runtime::{laws::Check, ops};
///
/// let report = Check::new().tolerance(1e-3).cases(500).run(&ops::sum::<f32>(), [0.1, 0.2, -0.3])?;
/// assert!(report.associativity > 500);
/// # Ok::<(), scan_runtime::laws::Failure<ops::Sum<f32>>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "nothing is checked until it is run"]
pub struct Check {
    tolerance: Option<f64>,
    seed: u64,
    cases: usize,
    longest_run: usize,
    in_order: bool,
}

impl Default for Check {
    fn default() -> Self {
        Check { tolerance: None, seed: 0, cases: 1000, longest_run: 4, in_order: false }
    }
}

impl Check {
    /// The default options.
    pub fn new() -> Self {
        Check::default()
    }

    /// How much of its value a float may lose to rounding; see [Floats](self#floats).
    pub fn tolerance(mut self, relative: f64) -> Self {
        self.tolerance = Some(relative.abs());
        self
    }

    /// The seed from which cases are drawn.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// About how many cases of associativity are tried; 1,000 by default.
    pub fn cases(mut self, cases: usize) -> Self {
        self.cases = cases.max(1);
        self
    }

    /// The maximum number of samples whose fold is an operand; 4 by default.
    ///
    /// An operator that counts to k is a sum until then: it needs runs of k + 1 samples. The report names a number that
    /// `combine` compares with and no operand [reached](Report::unreached).
    ///
    /// ```
    /// use scan_runtime::{laws::Check, scan_op};
    ///
    /// // Counts to nine, and then begins again at one, which is not associative.
    /// #[scan_op(identity = 0)]
    /// fn count(a: u32, b: u32) -> u32 {
    ///     if a + b > 9 { 1 } else { a + b }
    /// }
    ///
    /// // Sums of three ones, and of three more, and of three more.
    /// let report = Check::new().longest_run(3).run(&count, [1; 6])?;
    /// assert_eq!(report.unreached, Some(9));
    /// assert!(report.to_string().contains("check it with `longest_run = 10`"));
    ///
    /// assert!(Check::new().longest_run(10).run(&count, [1; 6]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn longest_run(mut self, samples: usize) -> Self {
        self.longest_run = samples.max(1);
        self
    }

    /// Treats the samples as one input, and tests only values that scans of it reach: runs of neighbours. For operators
    /// that are associative only if the inputs are ordered, by ascending keys for example.
    pub fn in_order(mut self) -> Self {
        self.in_order = true;
        self
    }

    /// Checks an operator on these samples.
    ///
    /// # Errors
    ///
    /// As [`check`].
    pub fn run<Op: ScanOp>(&self, op: &Op, samples: impl AsRef<[Op::Input]>) -> Result<Report, Failure<Op>> {
        search::run(self, op, samples.as_ref())
    }

    /// Checks an operator on samples generated from its input's layout: small numbers, positive and negative ones.
    ///
    /// They are poor samples if the input has rules of its own, such as a probability or an index; then give samples.
    ///
    /// # Errors
    ///
    /// As [`check`]; and [`Failure::NoDefaultSamples`] if the layout does not determine which values are valid.
    pub fn run_on_default_samples<Op: ScanOp>(&self, op: &Op) -> Result<Report, Failure<Op>> {
        match search::samples::<Op::Input>(24, self.seed) {
            Some(samples) => self.run(op, samples),
            None => Err(Failure::NoDefaultSamples { input: Op::Input::layout().name }),
        }
    }
}

/// The laws that held, with the number of cases.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The operator.
    pub operator: String,
    /// Cases in which associativity held.
    pub associativity: usize,
    /// Cases in which the identity changed nothing, on either side.
    pub identity: usize,
    /// Cases in which an input was appended, or prepended, as `lift` and `combine` do it.
    pub appended: usize,
    /// Cases in which a stepped operator's carry moved on by `apply` as by `step`, or stayed under the identity.
    pub carried: usize,
    /// Cases left out because a float left its range.
    pub overflowed: usize,
    /// The first of them: `combine(1e30, 1e30) = inf`.
    pub overflow: Option<String>,
    /// Cases in which the identity changed the sign of a zero, as 0.0 does that is added to -0.0. Results keep the sign:
    /// a scan combines no element with the identity. An exclusive one begins with it.
    pub signs: usize,
    /// The largest difference of floats, as a fraction of what the tolerance allows.
    pub rounding: f64,
    /// The largest number that `combine` compares with and no operand reached, of those from
    /// [`longest_run`](Check::longest_run) to 4096. If the operator counts samples to that number, the check has not
    /// seen what it does there.
    pub unreached: Option<u64>,
}

impl Report {
    fn leave_out(&mut self, overflow: String) {
        self.overflowed += 1;
        self.overflow.get_or_insert(overflow);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: associative in {} cases", self.operator, self.associativity)?;
        match self.identity {
            0 => write!(f, ", no identity to test")?,
            cases => write!(f, ", its identity one in {cases}")?,
        }
        if self.appended > 0 {
            write!(f, ", inputs appended in {}", self.appended)?;
        }
        if self.carried > 0 {
            write!(f, ", its carry moved alike in {}", self.carried)?;
        }
        if self.rounding > 0.0 {
            write!(f, "; rounding took up to {:.2} of the tolerance", self.rounding)?;
        }
        if self.signs > 0 {
            write!(f, "; the identity changed nothing but the sign of a zero in {}", self.signs)?;
        }
        if let Some(number) = self.unreached {
            write!(
                f,
                "; `combine` compares with {number}, which no operand reached: if the operator counts to {number}, check \
                 it with `longest_run = {}`",
                number + 1
            )?;
        }
        if let Some(overflow) = &self.overflow {
            write!(f, "; {} cases left out, where floats overflow, such as {overflow}", self.overflowed)?;
        }
        Ok(())
    }
}

/// A law that an operator must keep. `∘` is its `combine`, `e` its identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Law {
    /// `(a ∘ b) ∘ c = a ∘ (b ∘ c)`
    Associativity,
    /// `e ∘ x = x`
    LeftIdentity,
    /// `x ∘ e = x`
    RightIdentity,
    /// `append(s, x) = combine(s, lift(x))`
    Append,
    /// `prepend(x, s) = combine(lift(x), s)`
    Prepend,
    /// `step(c, x) = apply(lift(x), c)`
    Step,
    /// `apply(combine(a, b), c) = apply(b, apply(a, c))`
    Apply,
    /// `apply(e, c) = c`
    IdentityApplied,
}

/// The reason why a check did not pass.
#[non_exhaustive]
pub enum Failure<Op: ScanOp> {
    /// A law does not hold.
    Violated(Box<Violation<Op>>),
    /// What the operator says twice is not the same: how an input is appended, or how a carry moves on.
    Disagrees(Box<Disagreement<Op>>),
    /// The operator panicked.
    Panicked {
        /// The operator.
        operator: String,
        /// The call.
        on: String,
        /// The panic's message.
        message: String,
    },
    /// There are too few samples to test anything.
    TooFewSamples {
        /// How many there are.
        found: usize,
        /// How many there must be.
        needed: usize,
    },
    /// In every case, a float left its range.
    NothingTested {
        /// The operator.
        operator: String,
        /// How many cases that was.
        overflowed: usize,
    },
    /// The layout of an input does not determine which values are valid.
    NoDefaultSamples {
        /// The input's type.
        input: String,
    },
}

impl<Op: ScanOp> Failure<Op> {
    fn new(stop: Stop, subject: &Subject<'_>, samples: &[Op::Input]) -> Self {
        let operator = subject.source.name.clone();
        match stop {
            Stop::Panicked(Panicked { on, message }) => Failure::Panicked { operator, on, message },
            Stop::Violated(counterexample) => {
                Failure::Violated(Box::new(Violation::new(*counterexample, subject, samples)))
            }
            Stop::Disagrees(found) => {
                let Found { law, runs, difference: Difference { path, amount, allowed, .. }, hint, text } = *found;
                let inputs = inputs(&runs, samples);
                Failure::Disagrees(Box::new(Disagreement { operator, law, inputs, path, amount, allowed, hint, text }))
            }
            Stop::TooFewSamples { found, needed } => Failure::TooFewSamples { found, needed },
            Stop::NothingTested { overflowed } => Failure::NothingTested { operator, overflowed },
        }
    }

    /// The counterexample, where a law does not hold.
    pub fn violation(&self) -> Option<&Violation<Op>> {
        match self {
            Failure::Violated(violation) => Some(violation),
            _ => None,
        }
    }
}

impl<Op: ScanOp> fmt::Display for Failure<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Violated(violation) => write!(f, "{violation}"),
            Failure::Disagrees(disagreement) => write!(f, "{disagreement}"),
            Failure::Panicked { operator, on, message } => write!(
                f,
                "`{operator}` panicked in {on}: {message}\n\nA scan of such values panics too. Make the operator total \
                 (`wrapping_add`, a test before a division), or choose samples whose folds it can bear."
            ),
            Failure::TooFewSamples { found, needed } => {
                write!(f, "there are {found} samples, and a check of the laws needs {needed} at least")
            }
            Failure::NothingTested { operator, overflowed } => write!(
                f,
                "nothing could be tested: in all {overflowed} cases, `{operator}` made an infinity or a NaN of finite \
                 operands; bring smaller samples, or none that divide by zero"
            ),
            Failure::NoDefaultSamples { input } => {
                write!(f, "no samples can be made up for `{input}`: bring some, `laws = [ … ]` or `laws::check`")
            }
        }
    }
}

/// The text of [`Display`](fmt::Display), so that `unwrap` and a test that returns it show what is wrong.
impl<Op: ScanOp> fmt::Debug for Failure<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl<Op: ScanOp> std::error::Error for Failure<Op> {}

/// A counterexample to a law. `Display` writes all of it.
#[non_exhaustive]
pub struct Violation<Op: ScanOp> {
    /// The operator.
    pub operator: String,
    /// The law that it breaks.
    pub law: Law,
    /// The samples whose folds `a`, `b` and `c` are, or `x` alone.
    pub inputs: Vec<Vec<Op::Input>>,
    /// `[a, b, c]`, `[e, x]` or `[x, e]`.
    pub operands: Vec<Op::State>,
    /// `[a ∘ b, b ∘ c]`; nothing in a law of the identity.
    pub partials: Vec<Op::State>,
    /// The law's left side.
    pub left: Op::State,
    /// The law's right side.
    pub right: Op::State,
    /// The number that differs: `.b[1]`; empty where the state is a number.
    pub path: String,
    /// By how much it differs, where it is a finite float.
    pub amount: Option<f64>,
    /// By how much it may differ.
    pub allowed: f64,
    /// The probable mistake.
    pub hint: Option<Hint>,
    text: String,
}

impl<Op: ScanOp> Violation<Op> {
    fn new(counterexample: Counterexample, subject: &Subject<'_>, samples: &[Op::Input]) -> Self {
        let text = counterexample.text(subject, TypeId::of::<Op::Input>() != TypeId::of::<Op::State>());
        let Counterexample { law, runs, sides, difference, hint } = counterexample;
        let Sides { operands, partials, left, right } = &sides;
        // SAFETY: a search computes with states of its operator only.
        let state = |value: &Value| unsafe { value.element::<Op::State>() };
        Violation {
            law,
            inputs: inputs(&runs, samples),
            operands: operands.iter().map(state).collect(),
            partials: partials.iter().map(state).collect(),
            left: state(left),
            right: state(right),
            operator: subject.source.name.clone(),
            text,
            path: difference.path,
            amount: difference.amount,
            allowed: difference.allowed,
            hint,
        }
    }
}

/// The samples of runs.
fn inputs<T: Copy>(runs: &[Run], samples: &[T]) -> Vec<Vec<T>> {
    runs.iter().map(|run| run.iter().map(|&index| samples[index]).collect()).collect()
}

impl<Op: ScanOp> fmt::Display for Violation<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A counterexample to a law of [`append`](crate::ScanOp::append), [`prepend`](crate::ScanOp::prepend),
/// [`step`](crate::ScanOp::step) or [`apply`](crate::ScanOp::apply). Its text shows all of it.
#[non_exhaustive]
pub struct Disagreement<Op: ScanOp> {
    /// The operator.
    pub operator: String,
    /// The law that it breaks.
    pub law: Law,
    /// The samples of which the operands are made: those of `s`, of which `c` is reached by the ones after the first,
    /// then `x`, or those of `a` and of `b`.
    pub inputs: Vec<Vec<Op::Input>>,
    /// The number that differs: `.b[1]`; empty where the result is a number.
    pub path: String,
    /// By how much it differs, where it is a finite float.
    pub amount: Option<f64>,
    /// By how much it might.
    pub allowed: f64,
    /// What the mistake may be.
    pub hint: Hint,
    text: String,
}

impl<Op: ScanOp> fmt::Display for Disagreement<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The text of [`Display`](fmt::Display).
impl<Op: ScanOp> fmt::Debug for Disagreement<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Counterexample {
    /// The text of `Display`. Samples are `lifted` where states are of another type.
    fn text(&self, subject: &Subject<'_>, lifted: bool) -> String {
        let (operator, shape) = (&subject.source.name, &subject.shapes.state);
        let sample = |index: usize| subject.shapes.input.show(&subject.samples[index]);
        let Sides { operands, partials, left, right } = &self.sides;
        let (broken, names, [left_name, right_name]) = match self.law {
            Law::Associativity => ("is not associative", ["a", "b", "c"].as_slice(), ["(a ∘ b) ∘ c", "a ∘ (b ∘ c)"]),
            Law::LeftIdentity => ("has no identity on the left", ["e", "x"].as_slice(), ["e ∘ x", "x"]),
            _ => ("has no identity on the right", ["x", "e"].as_slice(), ["x ∘ e", "x"]),
        };
        let mut text = format!("`{operator}` {broken}: {left_name} ≠ {right_name}, where ∘ is its `combine`\n\n");
        let mut runs = self.runs.iter();
        for (name, operand) in names.iter().zip(operands) {
            text += &format!("    {name} = {}", shape.show(operand));
            let run = if *name == "e" { None } else { runs.next() };
            match run.map(Vec::as_slice) {
                None => text += ", its identity",
                Some(&[one]) => {
                    if lifted {
                        text += &format!(", lifted from {}", sample(one));
                    }
                }
                Some(several) => {
                    let samples: Vec<String> = several.iter().map(|&index| sample(index)).collect();
                    text += &format!(", the fold of {}", samples.join(", "));
                }
            }
            text.push('\n');
        }
        for (name, partial) in ["a ∘ b", "b ∘ c"].iter().zip(partials) {
            text += &format!("    {name} = {}\n", shape.show(partial));
        }
        text += &format!("\n    {left_name} = {}\n", shape.show(left));
        if self.law == Law::Associativity {
            text += &format!("    {right_name} = {}\n", shape.show(right));
        }
        let Difference { path, amount, allowed, .. } = &self.difference;
        let place = if path.is_empty() { String::new() } else { format!("`{path}`: ") };
        text += &match amount {
            Some(amount) => {
                format!("\n    {place}a difference of {amount:e}, where rounding may make {allowed:.1e}")
            }
            None => format!("\n    {place}not equal"),
        };
        if let Some(hint) = &self.hint {
            text += &format!("\n\nhint: {hint}");
        }
        text
    }
}

/// The text of [`Display`](fmt::Display).
impl<Op: ScanOp> fmt::Debug for Violation<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A number that looks random (SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

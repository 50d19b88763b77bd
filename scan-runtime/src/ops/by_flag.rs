//! An operator that begins anew at each flag.

use scan_codegen::{OpSource, OutputsOf};

use crate::{__private::around, Parameters, ScanOp, scan_element};

/// An input of a [`ByFlag`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flagged<V> {
    /// Whether a segment begins with this input.
    pub flag: bool,
    /// The input of the operator.
    pub value: V,
}

/// A partial result of a [`ByFlag`]: what a part of the inputs folds to.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlaggedState<S> {
    /// Whether a segment begins within the part.
    pub restarts: bool,
    /// The partial result of the inputs since the last segment began, or of all of them.
    pub value: S,
}

/// An operator that begins anew at each input whose flag is set. The flag is a part of the input, so that a segment goes
/// on in the next chunk of a stream, in the next rank of a [`World`](crate::World), or begins within a row.
///
/// The input is a struct of a flag and a value: an array of these, or a tuple of an array of flags and one of values.
///
/// ```
/// use scan_runtime::{Scanner, arrays, ops};
///
/// let (flags, values) = ([false, false, true, false, true], [3, 1, 4, 1, 5]);
/// let scanner = Scanner::new()?;
/// let sums = scanner.scan(ops::by_flag(ops::sum::<i32>()));
/// assert_eq!(sums.run((&flags, &values))?, [3, 4, 4, 5, 5]);
///
/// // The same flags as bits, and in two chunks: the total of one is the initial value of the next.
/// let bits = [0b10100_u8];
/// let (first, total) = sums.with_total().run((arrays::bits(&bits, 0), &values[..2]))?;
/// let second = sums.init(total.unwrap_or(0)).run((arrays::bits(&bits, 2), &values[2..]))?;
/// assert_eq!([first, second].concat(), [3, 4, 4, 5, 5]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// It is an operator like others: it also restarts within the rows of `.rows(len)` and within the columns along an axis.
/// It has an identity if the operator has one.
///
/// # What a segment begins with
///
/// Each segment begins with the operator's `START` if it is a [stepped operator](ScanOp#stepped-operators). Of any
/// other operator the first element of a segment is its first result, not combined with anything. What comes before the
/// first flag goes on from the initial value, or else from the `START` or the identity, if there is one.
///
/// # Reversed scans
///
/// A reversed scan comes to the last element first, so a flag is set where a segment *ends*. Where flags say where
/// segments begin, as those of [`by_flags`](crate::Scan::by_flags), give it `arrays::next(&flags, true)`.
///
/// # Exclusive results
///
/// `by_flag(with_exclusive(op))` gives the exclusive result beside the inclusive one, for an operator that has an
/// identity or a `START`. The scan itself remains inclusive.
///
/// # Source
///
/// Blelloch, *Prefix sums and their applications* (1990), section 1.5: the segmented operator.
#[derive(Clone, Copy, Debug)]
pub struct ByFlag<Op> {
    op: Op,
}

/// The operator [`ByFlag`] of another one.
pub fn by_flag<Op: ScanOp>(op: Op) -> ByFlag<Op> {
    ByFlag { op }
}

type Inputs<Op> = Flagged<<Op as ScanOp>::Input>;
type States<Op> = FlaggedState<<Op as ScanOp>::State>;

impl<Op: ScanOp> ByFlag<Op> {
    /// The carry before an input or a part: what a stepped operator begins with where a segment begins. `None` if
    /// nothing comes before the first element of a segment.
    #[inline(always)]
    fn before(&self, carry: Op::Carry, restarts: bool) -> Option<Op::Carry> {
        if restarts { self.op.start().filter(|_| self.op.is_stepped()) } else { Some(carry) }
    }

    #[inline(always)]
    fn first(&self, input: Op::Input) -> Op::Carry {
        self.op.carry_of(self.op.lift(input))
    }

    #[inline(always)]
    fn advanced(
        &self,
        carry: Op::Carry,
        input: Inputs<Op>,
        advance: impl Fn(&Op, Op::Carry, Op::Input) -> (Op::Carry, Op::Output),
    ) -> (Op::Carry, Op::Output) {
        match self.before(carry, input.flag) {
            Some(before) => advance(&self.op, before, input.value),
            None => {
                let first = self.first(input.value);
                (first, self.op.project(first))
            }
        }
    }

    #[inline(always)]
    fn combined(a: States<Op>, b: States<Op>, combine: impl Fn(Op::State, Op::State) -> Op::State) -> States<Op> {
        let value = if b.restarts { b.value } else { combine(a.value, b.value) };
        FlaggedState { restarts: a.restarts || b.restarts, value }
    }

    #[inline(always)]
    fn appended(
        &self,
        state: States<Op>,
        input: Inputs<Op>,
        append: impl Fn(&Op, Op::State, Op::Input) -> Op::State,
    ) -> States<Op> {
        let value = if input.flag { self.op.lift(input.value) } else { append(&self.op, state.value, input.value) };
        FlaggedState { restarts: state.restarts || input.flag, value }
    }
}

// SAFETY: the layouts are those of `Flagged`, `FlaggedState`, and the operator's carry and output. The functions call
// those of the operator with its own parameters. It has an identity and a start where the operator has one, which never
// change.
unsafe impl<Op: ScanOp> ScanOp for ByFlag<Op> {
    type Input = Flagged<Op::Input>;
    type State = FlaggedState<Op::State>;
    type Carry = Op::Carry;
    type Output = Op::Output;

    fn identity(&self) -> Option<Self::State> {
        self.op.identity().map(|value| FlaggedState { restarts: false, value })
    }

    fn lift(&self, input: Self::Input) -> Self::State {
        FlaggedState { restarts: input.flag, value: self.op.lift(input.value) }
    }

    fn combine(&self, a: Self::State, b: Self::State) -> Self::State {
        Self::combined(a, b, |a, b| self.op.combine(a, b))
    }

    fn append(&self, state: Self::State, input: Self::Input) -> Self::State {
        self.appended(state, input, Op::append)
    }

    fn prepend(&self, input: Self::Input, state: Self::State) -> Self::State {
        let value = if state.restarts { state.value } else { self.op.prepend(input.value, state.value) };
        FlaggedState { restarts: input.flag || state.restarts, value }
    }

    fn start(&self) -> Option<Self::Carry> {
        self.op.start()
    }

    fn apply(&self, state: Self::State, carry: Self::Carry) -> Self::Carry {
        match self.before(carry, state.restarts) {
            Some(before) => self.op.apply(state.value, before),
            None => self.op.carry_of(state.value),
        }
    }

    fn step(&self, carry: Self::Carry, input: Self::Input) -> Self::Carry {
        match self.before(carry, input.flag) {
            Some(before) => self.op.step(before, input.value),
            None => self.first(input.value),
        }
    }

    fn emit(&self, carry: Self::Carry, input: Self::Input) -> Op::Output {
        match self.before(carry, input.flag) {
            Some(before) => self.op.emit(before, input.value),
            None => self.op.project(self.first(input.value)),
        }
    }

    fn project(&self, carry: Self::Carry) -> Op::Output {
        self.op.project(carry)
    }

    fn outputs_of(&self) -> OutputsOf {
        match self.op.is_stepped() && self.op.start().is_none() {
            true => OutputsOf::NoStart,
            false => self.op.outputs_of().min(OutputsOf::Totals),
        }
    }

    fn advance(&self, carry: Self::Carry, input: Self::Input) -> (Self::Carry, Op::Output) {
        self.advanced(carry, input, Op::advance)
    }

    fn folds_backwards(&self) -> bool {
        self.op.folds_backwards()
    }

    fn is_stepped(&self) -> bool {
        true
    }

    fn carry_of(&self, state: Self::State) -> Self::Carry {
        self.op.carry_of(state.value)
    }

    fn state_of(&self, _: Self::Carry) -> Option<Self::State> {
        None
    }

    fn combine_back(&self, a: Self::State, b: Self::State) -> Self::State {
        Self::combined(a, b, |a, b| self.op.combine_back(a, b))
    }

    fn append_back(&self, state: Self::State, input: Self::Input) -> Self::State {
        self.appended(state, input, Op::append_back)
    }

    fn apply_back(&self, state: Self::State, carry: Self::Carry) -> Self::Carry {
        match self.before(carry, state.restarts) {
            Some(before) => self.op.apply_back(state.value, before),
            None => self.op.carry_of(state.value),
        }
    }

    fn step_back(&self, carry: Self::Carry, input: Self::Input) -> Self::Carry {
        match self.before(carry, input.flag) {
            Some(before) => self.op.step_back(before, input.value),
            None => self.first(input.value),
        }
    }

    fn advance_back(&self, carry: Self::Carry, input: Self::Input) -> (Self::Carry, Op::Output) {
        self.advanced(carry, input, Op::advance_back)
    }

    fn source(&self) -> OpSource {
        let op = self.op.source();
        OpSource::by_flag(around(self, format!("by_flag_{}", op.name), true), &op)
    }

    fn parameters(&self) -> Parameters {
        Parameters::default().with_all("op", &self.op.source().name, self.op.parameters())
    }
}

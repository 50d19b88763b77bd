//! The exclusive and the inclusive result at once.

use scan_codegen::{OpSource, OutputsOf};

use crate::{__private::around, Parameters, ScanOp, scan_element};

/// The outputs of a [`WithExclusive`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExclusiveInclusive<T> {
    /// The result without the element.
    pub exclusive: T,
    /// The result with the element.
    pub inclusive: T,
}

/// An operator whose inclusive scan writes the exclusive result beside the inclusive one. A tuple of two outputs takes
/// them apart:
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// // Where each row of a ragged array begins, and where it ends.
/// let (mut begins, mut ends) = ([0; 3], [0; 3]);
/// let sums = Scanner::new()?.scan(ops::with_exclusive(ops::sum::<u32>()));
/// sums.run_into(&[3, 0, 4], (&mut begins, &mut ends))?;
/// assert_eq!((begins, ends), ([0, 3, 3], [3, 3, 7]));
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// The first exclusive result (of each segment) is that of the initial value, or else of the identity: an operator that
/// has no identity needs an initial value. The inclusive results follow on it: a sum of -0.0 is 0.0 here, of 0.0 and
/// -0.0. The exclusive result of a [stepped operator](ScanOp#stepped-operators) is the projection of
/// the carry before an input. An exclusive scan, and a reduction, have no element to tell the two apart by: both fields
/// are the same there.
///
/// Put it around the other combinators, not within them: `with_exclusive(flip(op))`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WithExclusive<Op> {
    /// The operator.
    pub op: Op,
}

/// The operator [`WithExclusive`] of another one.
pub fn with_exclusive<Op: ScanOp>(op: Op) -> WithExclusive<Op> {
    WithExclusive { op }
}

// SAFETY: the layouts are those of the operator's types, and that of the output is that of `ExclusiveInclusive`. The
// functions call those of the operator with its own parameters. It has a start if the operator has one, which never
// changes.
unsafe impl<Op: ScanOp> ScanOp for WithExclusive<Op> {
    type Input = Op::Input;
    type State = Op::State;
    type Carry = Op::Carry;
    type Output = ExclusiveInclusive<Op::Output>;

    fn identity(&self) -> Option<Op::State> {
        self.op.identity()
    }

    fn lift(&self, input: Op::Input) -> Op::State {
        self.op.lift(input)
    }

    fn combine(&self, a: Op::State, b: Op::State) -> Op::State {
        self.op.combine(a, b)
    }

    fn append(&self, state: Op::State, input: Op::Input) -> Op::State {
        self.op.append(state, input)
    }

    fn prepend(&self, input: Op::Input, state: Op::State) -> Op::State {
        self.op.prepend(input, state)
    }

    fn start(&self) -> Option<Op::Carry> {
        self.op.start()
    }

    fn apply(&self, state: Op::State, carry: Op::Carry) -> Op::Carry {
        self.op.apply(state, carry)
    }

    fn step(&self, carry: Op::Carry, input: Op::Input) -> Op::Carry {
        self.op.step(carry, input)
    }

    fn emit(&self, carry: Op::Carry, input: Op::Input) -> Self::Output {
        ExclusiveInclusive { exclusive: self.op.project(carry), inclusive: self.op.emit(carry, input) }
    }

    fn project(&self, carry: Op::Carry) -> Self::Output {
        let result = self.op.project(carry);
        ExclusiveInclusive { exclusive: result, inclusive: result }
    }

    fn outputs_of(&self) -> OutputsOf {
        match self.op.outputs_of() {
            OutputsOf::Inputs => OutputsOf::NoProject,
            OutputsOf::Totals => OutputsOf::NoKey,
            outputs_of => outputs_of,
        }
    }

    fn advance(&self, carry: Op::Carry, input: Op::Input) -> (Op::Carry, Self::Output) {
        let (after, inclusive) = self.op.advance(carry, input);
        (after, ExclusiveInclusive { exclusive: self.op.project(carry), inclusive })
    }

    fn folds_backwards(&self) -> bool {
        self.op.folds_backwards()
    }

    fn is_stepped(&self) -> bool {
        true
    }

    fn carry_of(&self, state: Op::State) -> Op::Carry {
        self.op.carry_of(state)
    }

    fn state_of(&self, _: Op::Carry) -> Option<Op::State> {
        None
    }

    fn combine_back(&self, a: Op::State, b: Op::State) -> Op::State {
        self.op.combine_back(a, b)
    }

    fn append_back(&self, state: Op::State, input: Op::Input) -> Op::State {
        self.op.append_back(state, input)
    }

    fn apply_back(&self, state: Op::State, carry: Op::Carry) -> Op::Carry {
        self.op.apply_back(state, carry)
    }

    fn step_back(&self, carry: Op::Carry, input: Op::Input) -> Op::Carry {
        self.op.step_back(carry, input)
    }

    fn advance_back(&self, carry: Op::Carry, input: Op::Input) -> (Op::Carry, Self::Output) {
        let (after, inclusive) = self.op.advance_back(carry, input);
        (after, ExclusiveInclusive { exclusive: self.op.project(carry), inclusive })
    }

    fn source(&self) -> OpSource {
        let op = self.op.source();
        let name = format!("with_exclusive_{}", op.name);
        let around = around(self, name, true);
        OpSource::with_exclusive(around, &op)
    }

    fn parameters(&self) -> Parameters {
        Parameters::default().with_all("op", &self.op.source().name, self.op.parameters())
    }
}

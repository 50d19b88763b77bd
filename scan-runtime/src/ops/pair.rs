//! Two operators at once.

use scan_codegen::{OpSource, OutputsOf};

use crate::{__private::around, Parameters, ScanOp, scan_element};

/// Two values: the partial results and the outputs of a [`Pair`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Both<A, B> {
    /// The value of the first operator.
    pub first: A,
    /// The value of the second operator.
    pub second: B,
}

/// Two operators over the same input in one scan, which reads the input once.
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let range = Scanner::new()?.scan(ops::pair(ops::min(), ops::max())).run(&[5, 2, 7])?;
/// assert_eq!(range[2], ops::Both { first: 2, second: 7 });
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// It has an identity if both have one. For more than two operators, nest pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair<A, B> {
    /// The first operator.
    pub first: A,
    /// The second operator.
    pub second: B,
}

/// The operator [`Pair`] of two others.
pub fn pair<A: ScanOp, B: ScanOp<Input = A::Input>>(first: A, second: B) -> Pair<A, B> {
    Pair { first, second }
}

// SAFETY: the layouts are those of `Both`. The functions call those of the two operators, each on its field of the
// state and with its own parameters. It has an identity if both have one, which never changes.
unsafe impl<A: ScanOp, B: ScanOp<Input = A::Input>> ScanOp for Pair<A, B> {
    type Input = A::Input;
    type State = Both<A::State, B::State>;
    type Carry = Both<A::Carry, B::Carry>;
    type Output = Both<A::Output, B::Output>;

    fn identity(&self) -> Option<Self::State> {
        Some(Both { first: self.first.identity()?, second: self.second.identity()? })
    }

    fn lift(&self, input: A::Input) -> Self::State {
        Both { first: self.first.lift(input), second: self.second.lift(input) }
    }

    fn combine(&self, a: Self::State, b: Self::State) -> Self::State {
        Both { first: self.first.combine(a.first, b.first), second: self.second.combine(a.second, b.second) }
    }

    fn append(&self, state: Self::State, input: A::Input) -> Self::State {
        Both { first: self.first.append(state.first, input), second: self.second.append(state.second, input) }
    }

    fn prepend(&self, input: A::Input, state: Self::State) -> Self::State {
        Both { first: self.first.prepend(input, state.first), second: self.second.prepend(input, state.second) }
    }

    fn start(&self) -> Option<Self::Carry> {
        Some(Both { first: self.first.start()?, second: self.second.start()? })
    }

    fn apply(&self, state: Self::State, carry: Self::Carry) -> Self::Carry {
        Both {
            first: self.first.apply(state.first, carry.first),
            second: self.second.apply(state.second, carry.second),
        }
    }

    fn step(&self, carry: Self::Carry, input: A::Input) -> Self::Carry {
        Both { first: self.first.step(carry.first, input), second: self.second.step(carry.second, input) }
    }

    fn emit(&self, carry: Self::Carry, input: A::Input) -> Self::Output {
        Both { first: self.first.emit(carry.first, input), second: self.second.emit(carry.second, input) }
    }

    fn project(&self, carry: Self::Carry) -> Self::Output {
        Both { first: self.first.project(carry.first), second: self.second.project(carry.second) }
    }

    fn outputs_of(&self) -> OutputsOf {
        self.first.outputs_of().min(self.second.outputs_of())
    }

    fn advance(&self, carry: Self::Carry, input: A::Input) -> (Self::Carry, Self::Output) {
        let (first, second) = (self.first.advance(carry.first, input), self.second.advance(carry.second, input));
        (Both { first: first.0, second: second.0 }, Both { first: first.1, second: second.1 })
    }

    fn is_stepped(&self) -> bool {
        self.first.is_stepped() || self.second.is_stepped()
    }

    fn carry_of(&self, state: Self::State) -> Self::Carry {
        Both { first: self.first.carry_of(state.first), second: self.second.carry_of(state.second) }
    }

    fn state_of(&self, carry: Self::Carry) -> Option<Self::State> {
        Some(Both { first: self.first.state_of(carry.first)?, second: self.second.state_of(carry.second)? })
    }

    fn combine_back(&self, a: Self::State, b: Self::State) -> Self::State {
        Both { first: self.first.combine_back(a.first, b.first), second: self.second.combine_back(a.second, b.second) }
    }

    fn append_back(&self, state: Self::State, input: A::Input) -> Self::State {
        Both { first: self.first.append_back(state.first, input), second: self.second.append_back(state.second, input) }
    }

    fn apply_back(&self, state: Self::State, carry: Self::Carry) -> Self::Carry {
        Both {
            first: self.first.apply_back(state.first, carry.first),
            second: self.second.apply_back(state.second, carry.second),
        }
    }

    fn advance_back(&self, carry: Self::Carry, input: A::Input) -> (Self::Carry, Self::Output) {
        let first = self.first.advance_back(carry.first, input);
        let second = self.second.advance_back(carry.second, input);
        (Both { first: first.0, second: second.0 }, Both { first: first.1, second: second.1 })
    }

    fn step_back(&self, carry: Self::Carry, input: A::Input) -> Self::Carry {
        Both { first: self.first.step_back(carry.first, input), second: self.second.step_back(carry.second, input) }
    }

    fn source(&self) -> OpSource {
        let (first, second) = (self.first.source(), self.second.source());
        let name = format!("pair_{}_{}", first.name, second.name);
        let pair = around(self, name, first.carry.is_some() || second.carry.is_some());
        OpSource::side_by_side(pair, &first, &second)
    }

    fn parameters(&self) -> Parameters {
        let (first, second) = (self.first.source().name, self.second.source().name);
        Parameters::default().with_all("first", &first, self.first.parameters()).with_all(
            "second",
            &second,
            self.second.parameters(),
        )
    }
}

//! Two operators at once.

use scan_codegen::OpSource;

use crate::{__private::bytes_of, Parameters, ScanElement, ScanOp, scan_element};

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

    fn project(&self, state: Self::State) -> Self::Output {
        Both { first: self.first.project(state.first), second: self.second.project(state.second) }
    }

    fn source(&self) -> OpSource {
        let (first, second) = (self.first.source(), self.second.source());
        let name = format!("pair_{}_{}", first.name, second.name);
        let pair = OpSource {
            input: A::Input::layout(),
            state: Self::State::layout(),
            output: Self::Output::layout(),
            identity: self.identity().as_ref().map(bytes_of),
            parameters: self.parameters().layout(&name),
            functions: Vec::new(),
            helpers: Vec::new(),
            name,
        };
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

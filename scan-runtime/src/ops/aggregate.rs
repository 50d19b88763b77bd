//! The aggregate of a part as a result, and what follows from the aggregates of several parts.

#[cfg(feature = "cuda")]
use std::sync::Arc;

use scan_codegen::OpSource;

use crate::{Parameters, ScanOp};

/// An operator whose reduction gives the aggregate of the input: the [`State`](ScanOp::State) of the operator, which
/// says what the input does to any carry. A rank that does not know its initial value yet reduces its part by this, and
/// sends the aggregate to the others. [`OverAggregates`] makes the initial value of each rank of the aggregates.
///
/// ```
/// use scan_runtime::{ScanOp, Scanner, ops, scan_op};
///
/// /// Which bytes are in a comment, from `#` to the end of the line.
/// struct Comments;
///
/// #[scan_op]
/// impl ScanOp for Comments {
///     type Input = u8;
///     // The loop: whether the byte before is in a comment.
///     type Carry = bool;
///     const START: bool = false;
///     fn step(inside: bool, byte: u8) -> bool { byte != b'\n' && (inside || byte == b'#') }
///     type Output = bool;
///     // What a part of the text makes of either carry.
///     type State = [bool; 2];
///     const IDENTITY: [bool; 2] = [false, true];
///     fn lift(byte: u8) -> [bool; 2] { [byte == b'#', byte != b'\n'] }
///     fn combine(a: [bool; 2], b: [bool; 2]) -> [bool; 2] { [b[a[0] as usize], b[a[1] as usize]] }
///     fn apply(part: [bool; 2], inside: bool) -> bool { part[inside as usize] }
/// }
///
/// let scanner = Scanner::new()?;
/// let text = b"x = 1 # one\ny = 2 # two\n";
/// let parts = [&text[..8], &text[8..10], &text[10..]];
///
/// // On each rank: the aggregate of its part.
/// let aggregate = scanner.reduce(ops::aggregate(Comments));
/// let aggregates = [aggregate.run(parts[0])?, aggregate.run(parts[1])?, aggregate.run(parts[2])?];
///
/// // The aggregates, gathered: the carry before each part.
/// let carries = scanner.scan(ops::over_aggregates(Comments)).exclusive().run(&aggregates)?;
/// assert_eq!(carries, [false, true, true]);
///
/// // On each rank: the scan of its part.
/// let scan = scanner.scan(Comments);
/// let mut inside = Vec::new();
/// for (part, carry) in parts.iter().zip(carries) {
///     inside.extend(scan.clone().init(carry).run(*part)?);
/// }
/// assert_eq!(inside, scan.run(text)?);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// Of an operator that is not [stepped](ScanOp#stepped-operators), it is the same operator without
/// [`project`](ScanOp::project). A part without elements has the identity, or is an error if the operator has none.
///
/// In a reversed scan the ranks do the same, with `.reverse()` in each of the three calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Aggregate<Op> {
    /// The operator.
    pub op: Op,
}

/// The operator [`Aggregate`] of another one.
pub fn aggregate<Op: ScanOp>(op: Op) -> Aggregate<Op> {
    Aggregate { op }
}

#[cfg(feature = "cuda")]
impl<Op> Aggregate<Op> {
    /// Of an operator that is shared.
    pub(crate) fn of(op: Arc<Op>) -> Arc<Self> {
        // SAFETY: it is transparent, so that both have one layout.
        unsafe { Arc::from_raw(Arc::into_raw(op).cast()) }
    }
}

// SAFETY: the input, the state, the identity and the parameters are those of the operator; the carry and the output are
// the state. The text is that of the operator, without the functions of carries.
unsafe impl<Op: ScanOp> ScanOp for Aggregate<Op> {
    type Input = Op::Input;
    type State = Op::State;
    type Carry = Op::State;
    type Output = Op::State;

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

    fn start(&self) -> Option<Op::State> {
        self.op.identity()
    }

    fn apply(&self, state: Op::State, carry: Op::State) -> Op::State {
        self.op.combine(carry, state)
    }

    fn step(&self, carry: Op::State, input: Op::Input) -> Op::State {
        self.op.append(carry, input)
    }

    fn project(&self, carry: Op::State) -> Op::State {
        carry
    }

    fn is_stepped(&self) -> bool {
        false
    }

    fn carry_of(&self, state: Op::State) -> Op::State {
        state
    }

    fn state_of(&self, carry: Op::State) -> Option<Op::State> {
        Some(carry)
    }

    fn combine_back(&self, a: Op::State, b: Op::State) -> Op::State {
        self.op.combine_back(a, b)
    }

    fn append_back(&self, state: Op::State, input: Op::Input) -> Op::State {
        self.op.append_back(state, input)
    }

    fn apply_back(&self, state: Op::State, carry: Op::State) -> Op::State {
        self.op.combine_back(carry, state)
    }

    fn step_back(&self, carry: Op::State, input: Op::Input) -> Op::State {
        self.op.append_back(carry, input)
    }

    fn source(&self) -> OpSource {
        let source = self.op.source().aggregate();
        let name = format!("aggregate_{}", source.name);
        OpSource { parameters: self.parameters().layout(&name), name, ..source }
    }

    fn parameters(&self) -> Parameters {
        self.op.parameters()
    }

    fn rounds(&self) -> bool {
        self.op.rounds()
    }
}

/// An operator over the [aggregates](Aggregate) of consecutive parts. An exclusive scan gives the carry before each
/// part, which is the initial value of its scan; an inclusive scan gives the carry after each part.
///
/// [`Aggregate`] has an example. An initial value is the carry before the first part. An operator without an identity
/// has none there: an inclusive scan gives the initial values of all other parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct OverAggregates<Op> {
    /// The operator.
    pub op: Op,
}

/// The operator [`OverAggregates`] of another one.
pub fn over_aggregates<Op: ScanOp>(op: Op) -> OverAggregates<Op> {
    OverAggregates { op }
}

#[cfg(feature = "cuda")]
impl<Op> OverAggregates<Op> {
    /// Of an operator that is shared.
    pub(crate) fn of(op: Arc<Op>) -> Arc<Self> {
        // SAFETY: it is transparent, so that both have one layout.
        unsafe { Arc::from_raw(Arc::into_raw(op).cast()) }
    }
}

// SAFETY: the state, the carry, the identity, the start and the parameters are those of the operator; the input is the
// state, and the output the carry. The text is that of the operator's functions of states, of which `apply` is the step
// as well.
unsafe impl<Op: ScanOp> ScanOp for OverAggregates<Op> {
    type Input = Op::State;
    type State = Op::State;
    type Carry = Op::Carry;
    type Output = Op::Carry;

    fn identity(&self) -> Option<Op::State> {
        self.op.identity()
    }

    fn lift(&self, aggregate: Op::State) -> Op::State {
        aggregate
    }

    fn combine(&self, a: Op::State, b: Op::State) -> Op::State {
        self.op.combine(a, b)
    }

    fn start(&self) -> Option<Op::Carry> {
        self.op.start()
    }

    fn apply(&self, state: Op::State, carry: Op::Carry) -> Op::Carry {
        self.op.apply(state, carry)
    }

    fn step(&self, carry: Op::Carry, aggregate: Op::State) -> Op::Carry {
        self.op.apply(aggregate, carry)
    }

    fn project(&self, carry: Op::Carry) -> Op::Carry {
        carry
    }

    fn is_stepped(&self) -> bool {
        self.op.is_stepped()
    }

    fn carry_of(&self, state: Op::State) -> Op::Carry {
        self.op.carry_of(state)
    }

    fn state_of(&self, carry: Op::Carry) -> Option<Op::State> {
        self.op.state_of(carry)
    }

    fn combine_back(&self, a: Op::State, b: Op::State) -> Op::State {
        self.op.combine_back(a, b)
    }

    fn append_back(&self, state: Op::State, aggregate: Op::State) -> Op::State {
        self.op.combine_back(state, aggregate)
    }

    fn apply_back(&self, state: Op::State, carry: Op::Carry) -> Op::Carry {
        self.op.apply_back(state, carry)
    }

    fn step_back(&self, carry: Op::Carry, aggregate: Op::State) -> Op::Carry {
        self.op.apply_back(aggregate, carry)
    }

    fn source(&self) -> OpSource {
        let source = self.op.source().over_aggregates();
        let name = format!("over_aggregates_{}", source.name);
        OpSource { parameters: self.parameters().layout(&name), name, ..source }
    }

    fn parameters(&self) -> Parameters {
        self.op.parameters()
    }

    fn rounds(&self) -> bool {
        self.op.rounds()
    }
}

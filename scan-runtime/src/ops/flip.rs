//! An operator with its operands exchanged.

use scan_codegen::OpSource;

use crate::{Parameters, ScanOp};

/// An operator whose `combine(a, b)` is the `combine(b, a)` of another one.
///
/// Reversed scans of JAX and PyTorch exchange the operands; [`Scan::reverse`](crate::Scan::reverse) does not. With this
/// operator the results are the same as theirs. Operators with a `step` of their own ([stepped
/// operators](ScanOp#stepped-operators)) need none: a reversed scan already applies their steps from the right.
///
/// ```
/// use scan_runtime::{Scanner, ops, scan_element, scan_op};
///
/// #[scan_element]
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Affine { a: f32, b: f32 }
///
/// /// `f`, and then `g`.
/// #[scan_op(identity = Affine { a: 1.0, b: 0.0 })]
/// fn compose(f: Affine, g: Affine) -> Affine {
///     Affine { a: f.a * g.a, b: g.a * f.b + g.b }
/// }
///
/// // x[i] = a[i] · x[i + 1] + b[i], from the end on.
/// let steps = [Affine { a: 0.5, b: 1.0 }, Affine { a: 2.0, b: 3.0 }, Affine { a: 4.0, b: 5.0 }];
/// let x = Scanner::new()?.scan(ops::flip(compose)).reverse().run(&steps)?;
/// assert_eq!([x[0].b, x[1].b, x[2].b], [7.5, 13.0, 5.0]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flip<Op>(pub Op);

/// The operator [`Flip`] of another one.
pub fn flip<Op: ScanOp>(op: Op) -> Flip<Op> {
    Flip(op)
}

/// A carry that is the operator's state.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "an operator with a `step` of its own cannot be flipped: its carry is `{Self}`, and its state `{State}`",
    label = "the operator steps",
    note = "leave out `flip`: a scan with `.reverse()` applies the steps from the right"
)]
pub trait IsState<State> {}

impl<State> IsState<State> for State {}

// SAFETY: the types, the identity and the parameters are those of the operator, and its text is that of the operator
// but for the order in which `combine` names its parameters, and `append` and `prepend` theirs.
unsafe impl<Op> ScanOp for Flip<Op>
where
    Op: ScanOp<Carry: IsState<<Op as ScanOp>::State>>,
{
    type Input = Op::Input;
    type State = Op::State;
    type Output = Op::Output;

    fn identity(&self) -> Option<Op::State> {
        self.0.identity()
    }

    fn lift(&self, input: Op::Input) -> Op::State {
        self.0.lift(input)
    }

    fn combine(&self, a: Op::State, b: Op::State) -> Op::State {
        self.0.combine(b, a)
    }

    fn append(&self, state: Op::State, input: Op::Input) -> Op::State {
        self.0.prepend(input, state)
    }

    fn prepend(&self, input: Op::Input, state: Op::State) -> Op::State {
        self.0.append(state, input)
    }

    crate::__scan_carry_is_state! {}

    fn project(&self, state: Op::State) -> Op::Output {
        self.0.project(self.0.carry_of(state))
    }

    fn source(&self) -> OpSource {
        let source = self.0.source().flipped();
        let name = format!("flip_{}", source.name);
        OpSource { parameters: self.parameters().layout(&name), name, ..source }
    }

    fn parameters(&self) -> Parameters {
        self.0.parameters()
    }
}

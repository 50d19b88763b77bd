//! An operator whose inputs are first mapped by a function.

use std::{fmt, marker::PhantomData};

use scan_codegen::{OpSource, OutputsOf};

use crate::{
    __private::{ScanMap, function_text},
    Parameters, ScanElement, ScanOp,
};

/// An operator whose inputs are first mapped by a function marked [`#[scan_fn]`](macro@crate::scan_fn): a struct to one
/// of its fields, a byte to a flag, a number to its square.
///
/// ```
/// use scan_runtime::{Scanner, ops, scan_fn};
///
/// #[scan_fn]
/// fn is_newline(byte: u8) -> u32 {
///     (byte == b'\n') as u32
/// }
///
/// // The line number of each byte of a text.
/// let lines = Scanner::new()?.scan(ops::map::<is_newline, _>(ops::sum())).exclusive().run(b"a\nb\n\nc")?;
/// assert_eq!(lines, [0, 0, 1, 1, 2, 3]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
pub struct Map<F, Op> {
    op: Op,
    map: PhantomData<fn() -> F>,
}

/// The operator [`Map`]: `map::<function, _>(operator)`.
pub fn map<F, Op>(op: Op) -> Map<F, Op>
where
    F: ScanMap<To = Op::Input>,
    F::From: ScanElement,
    Op: ScanOp,
{
    Map { op, map: PhantomData }
}

impl<F, Op: Clone> Clone for Map<F, Op> {
    fn clone(&self) -> Self {
        Map { op: self.op.clone(), map: PhantomData }
    }
}

impl<F, Op: Copy> Copy for Map<F, Op> {}

impl<F, Op: fmt::Debug> fmt::Debug for Map<F, Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Map").field(&self.op).finish()
    }
}

// SAFETY: the state, the output, the identity and the parameters are those of the operator. Its `lift` takes the
// function's result, in the text too; `ScanMap` guarantees that the function is that of the text.
unsafe impl<F, Op> ScanOp for Map<F, Op>
where
    F: ScanMap<To = Op::Input>,
    F::From: ScanElement,
    Op: ScanOp,
{
    type Input = F::From;
    type State = Op::State;
    type Carry = Op::Carry;
    type Output = Op::Output;

    fn identity(&self) -> Option<Op::State> {
        self.op.identity()
    }

    fn lift(&self, input: F::From) -> Op::State {
        self.op.lift(F::map(input))
    }

    fn combine(&self, a: Op::State, b: Op::State) -> Op::State {
        self.op.combine(a, b)
    }

    fn append(&self, state: Op::State, input: F::From) -> Op::State {
        self.op.append(state, F::map(input))
    }

    fn prepend(&self, input: F::From, state: Op::State) -> Op::State {
        self.op.prepend(F::map(input), state)
    }

    fn start(&self) -> Option<Op::Carry> {
        self.op.start()
    }

    fn apply(&self, state: Op::State, carry: Op::Carry) -> Op::Carry {
        self.op.apply(state, carry)
    }

    fn step(&self, carry: Op::Carry, input: F::From) -> Op::Carry {
        self.op.step(carry, F::map(input))
    }

    fn emit(&self, carry: Op::Carry, input: F::From) -> Op::Output {
        self.op.emit(carry, F::map(input))
    }

    fn advance(&self, carry: Op::Carry, input: F::From) -> (Op::Carry, Op::Output) {
        self.op.advance(carry, F::map(input))
    }

    fn folds_backwards(&self) -> bool {
        self.op.folds_backwards()
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

    fn append_back(&self, state: Op::State, input: F::From) -> Op::State {
        self.op.append_back(state, F::map(input))
    }

    fn apply_back(&self, state: Op::State, carry: Op::Carry) -> Op::Carry {
        self.op.apply_back(state, carry)
    }

    fn advance_back(&self, carry: Op::Carry, input: F::From) -> (Op::Carry, Op::Output) {
        self.op.advance_back(carry, F::map(input))
    }

    fn step_back(&self, carry: Op::Carry, input: F::From) -> Op::Carry {
        self.op.step_back(carry, F::map(input))
    }

    fn project(&self, carry: Op::Carry) -> Op::Output {
        self.op.project(carry)
    }

    fn outputs_of(&self) -> OutputsOf {
        self.op.outputs_of()
    }

    fn source(&self) -> OpSource {
        let map = function_text::<F>();
        let source = self.op.source().lifted(&map);
        let map = map.last().map_or("", |function| &function.name);
        let name = format!("lifted_{map}_{}", source.name);
        OpSource { parameters: self.parameters().layout(&name), name, ..source }
    }

    fn parameters(&self) -> Parameters {
        self.op.parameters()
    }
}

//! Operators over elements that may be null.

use scan_codegen::{Nulls, OpSource, OutputsOf};

use crate::{__private::around, Parameters, ScanOp, scan_element};

/// A value that may be null: the inputs, the partial results and the outputs of [`skip_nulls`] and [`propagate_nulls`].
///
/// As an input it is a slice of values and the validity bitmap of an Apache Arrow array, by
/// [`arrays::bits`](crate::arrays::bits).
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nullable<T> {
    /// The value. That of a null is any value.
    pub value: T,
    /// Whether it is a value, and not null.
    pub valid: bool,
}

/// An operator over [`Nullable`] elements, made by [`skip_nulls`] or [`propagate_nulls`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverNullable<Op, const SKIP: bool> {
    /// The operator.
    pub op: Op,
}

/// The operator that [`skip_nulls`] makes.
pub type SkipNulls<Op> = OverNullable<Op, true>;

/// The operator that [`propagate_nulls`] makes.
pub type PropagateNulls<Op> = OverNullable<Op, false>;

/// An operator that skips nulls: a null does not change the running result. The values and the validity bitmap of an
/// Apache Arrow array are the two arrays of the input:
///
/// ```
/// use scan_runtime::{Scanner, arrays, ops};
///
/// let (values, validity) = ([3, 0, 4, 9, 5], [0b10101_000_u8]); // 3, null, 4, null, 5, from bit 3 on
/// let sums = Scanner::new()?.scan(ops::skip_nulls(ops::sum()));
/// let mut running = [0; 5];
/// sums.run_into((&values, arrays::bits(&validity, 3)), (&mut running, arrays::discard()))?;
/// assert_eq!(running, [3, 3, 7, 7, 12]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// The result at a null is the running result. Arrow's `cumulative_sum` with `skip_nulls` gives null there, so that the
/// validity of its result is that of its input: take the bitmap of the input for it, and write the values alone, as
/// above.
///
/// A result is [valid](Nullable#structfield.valid) where an element up to it is valid, which is what SQL says of a
/// window from the first row on. So is a reduction; of nulls alone it is null. Its value is then the projection of the
/// identity, if the operator has one:
///
/// ```
/// use scan_runtime::{Scanner, arrays, ops};
///
/// let largest = Scanner::new()?.reduce(ops::skip_nulls(ops::max()));
/// let all = [ops::Nullable { value: 7, valid: true }, ops::Nullable { value: 8, valid: false }];
/// assert_eq!(largest.run(&all)?, all[0]);
/// assert!(!largest.run(&all[1..])?.valid);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// Without an element before it, an exclusive result is null, too, with the identity as its value. An initial value is
/// a [`Nullable`] of what the operator's own initial value is.
///
/// The functions of an operator without an identity are called with the values of nulls, too. What they give is in no
/// valid result. A [stepped operator](ScanOp#stepped-operators) needs `project`: the result at a null is that of the
/// carry.
pub fn skip_nulls<Op: ScanOp>(op: Op) -> SkipNulls<Op> {
    OverNullable { op }
}

/// An operator whose results are null from the first null on (in a segment), as those of Apache Arrow's
/// `cumulative_sum` without `skip_nulls`. In a reversed scan the last null comes first.
///
/// ```
/// use scan_runtime::{Scanner, arrays, ops};
///
/// let (values, validity) = ([3, 1, 4, 9], [0b1011_u8]); // 3, 1, null, 9
/// let sums = Scanner::new()?.scan(ops::propagate_nulls(ops::sum()));
/// let (mut running, mut valid) = ([0; 4], [false; 4]);
/// sums.run_into((&values, arrays::bits(&validity, 0)), (&mut running, &mut valid))?;
/// assert_eq!((&running[..2], valid), (&[3, 4][..], [true, true, false, false]));
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// The value of a null result is the running result before the first null, if the operator has an identity. A reduction
/// is null if an element is null. Without an element before it, an exclusive result is that of the operator, and valid.
/// Everything else is as for [`skip_nulls`].
pub fn propagate_nulls<Op: ScanOp>(op: Op) -> PropagateNulls<Op> {
    OverNullable { op }
}

impl<T> Nullable<T> {
    fn of(value: T) -> Self {
        Nullable { value, valid: true }
    }
}

impl<Op: ScanOp, const SKIP: bool> OverNullable<Op, SKIP> {
    const NULLS: Nulls = if SKIP { Nulls::Skip } else { Nulls::Propagate };

    /// What two partial results are together. Of each: whether it is valid, and what it is alone.
    #[inline(always)]
    fn join<T>(
        first: (bool, impl FnOnce() -> T),
        second: (bool, impl FnOnce() -> T),
        both: impl FnOnce() -> T,
    ) -> Nullable<T> {
        match (first.0, second.0) {
            (true, true) => Nullable::of(both()),
            (false, true) if SKIP => Nullable::of(second.1()),
            (true, false) if !SKIP => Nullable { value: both(), valid: false },
            (valid, _) => Nullable { value: first.1(), valid },
        }
    }

    /// A carry that is moved on by a partial result or an input, or stays what it is.
    #[inline(always)]
    fn moved(carry: Nullable<Op::Carry>, by: bool, after: impl FnOnce() -> Op::Carry) -> Nullable<Op::Carry> {
        let moves = if SKIP { by } else { carry.valid };
        if moves { Nullable { value: after(), valid: by } } else { carry }
    }

    /// A state or a carry after an input. A null has no effect, if the operator has an identity.
    #[inline(always)]
    fn after<T>(&self, before: T, input: Nullable<Op::Input>, after: impl FnOnce(T, Op::Input) -> T) -> T {
        if input.valid || self.op.identity().is_none() { after(before, input.value) } else { before }
    }

    /// A partial result as what an initial value is, of an operator that is not stepped.
    #[inline(always)]
    fn carried(&self, state: Nullable<Op::State>) -> Nullable<Op::Carry> {
        Nullable { value: self.op.carry_of(state.value), valid: state.valid }
    }

    /// A carry and the result beside it, by a step of a stepped operator that gives both.
    #[inline(always)]
    fn advanced(
        &self,
        carry: Nullable<Op::Carry>,
        input: Nullable<Op::Input>,
        advance: impl FnOnce(Op::Carry, Op::Input) -> (Op::Carry, Op::Output),
        step: impl FnOnce() -> Nullable<Op::Carry>,
    ) -> (Nullable<Op::Carry>, Nullable<Op::Output>) {
        if input.valid && (SKIP || carry.valid) {
            let (carry, output) = advance(carry.value, input.value);
            return (Nullable::of(carry), Nullable::of(output));
        }
        (step(), self.emit(carry, input))
    }
}

// SAFETY: the layouts are those of `Nullable` of the operator's types. The functions call those of the operator, with
// its own parameters. It has an identity and a start where the operator has one, which never change.
unsafe impl<Op: ScanOp, const SKIP: bool> ScanOp for OverNullable<Op, SKIP> {
    type Input = Nullable<Op::Input>;
    type State = Nullable<Op::State>;
    type Carry = Nullable<Op::Carry>;
    type Output = Nullable<Op::Output>;

    fn identity(&self) -> Option<Self::State> {
        self.op.identity().map(|value| Nullable { value, valid: !SKIP })
    }

    #[inline]
    fn lift(&self, input: Self::Input) -> Self::State {
        let value = match self.op.identity() {
            Some(identity) if !input.valid => identity,
            _ => self.op.lift(input.value),
        };
        Nullable { value, valid: input.valid }
    }

    #[inline]
    fn combine(&self, a: Self::State, b: Self::State) -> Self::State {
        Self::join((a.valid, || a.value), (b.valid, || b.value), || self.op.combine(a.value, b.value))
    }

    #[inline]
    fn append(&self, state: Self::State, input: Self::Input) -> Self::State {
        let both = || self.after(state.value, input, |state, input| self.op.append(state, input));
        Self::join((state.valid, || state.value), (input.valid, || self.lift(input).value), both)
    }

    #[inline]
    fn prepend(&self, input: Self::Input, state: Self::State) -> Self::State {
        let both = || self.op.prepend(input.value, state.value);
        Self::join((input.valid, || self.lift(input).value), (state.valid, || state.value), both)
    }

    fn start(&self) -> Option<Self::Carry> {
        self.op.start().map(|value| Nullable { value, valid: !SKIP })
    }

    #[inline]
    fn apply(&self, state: Self::State, carry: Self::Carry) -> Self::Carry {
        let both = || self.op.apply(state.value, carry.value);
        if self.is_stepped() {
            return Self::moved(carry, state.valid, both);
        }
        Self::join((carry.valid, || carry.value), (state.valid, || self.carried(state).value), both)
    }

    #[inline]
    fn step(&self, carry: Self::Carry, input: Self::Input) -> Self::Carry {
        let both = || self.after(carry.value, input, |carry, input| self.op.step(carry, input));
        if self.is_stepped() {
            return Self::moved(carry, input.valid, both);
        }
        Self::join((carry.valid, || carry.value), (input.valid, || self.carried(self.lift(input)).value), both)
    }

    #[inline]
    fn emit(&self, carry: Self::Carry, input: Self::Input) -> Self::Output {
        if !self.is_stepped() {
            return self.project(self.step(carry, input));
        }
        match input.valid && (SKIP || carry.valid) {
            true => Nullable::of(self.op.emit(carry.value, input.value)),
            false => Nullable { value: self.op.project(carry.value), valid: SKIP && carry.valid },
        }
    }

    #[inline]
    fn project(&self, carry: Self::Carry) -> Self::Output {
        Nullable { value: self.op.project(carry.value), valid: carry.valid }
    }

    fn outputs_of(&self) -> OutputsOf {
        // A null has the output of a carry.
        match self.op.outputs_of() {
            OutputsOf::Inputs => OutputsOf::NoProject,
            outputs_of => outputs_of,
        }
    }

    #[inline]
    fn advance(&self, carry: Self::Carry, input: Self::Input) -> (Self::Carry, Self::Output) {
        if self.is_stepped() {
            let advance = |carry, input| self.op.advance(carry, input);
            return self.advanced(carry, input, advance, || self.step(carry, input));
        }
        let after = self.step(carry, input);
        (after, self.project(after))
    }

    fn is_stepped(&self) -> bool {
        self.op.is_stepped()
    }

    fn carry_of(&self, state: Self::State) -> Self::Carry {
        match self.start() {
            Some(start) if self.is_stepped() => self.apply(state, start),
            _ => self.carried(state),
        }
    }

    fn state_of(&self, carry: Self::Carry) -> Option<Self::State> {
        self.op.state_of(carry.value).map(|value| Nullable { value, valid: carry.valid })
    }

    #[inline]
    fn combine_back(&self, a: Self::State, b: Self::State) -> Self::State {
        if !self.is_stepped() {
            return self.combine(b, a);
        }
        Self::join((a.valid, || a.value), (b.valid, || b.value), || self.op.combine_back(a.value, b.value))
    }

    #[inline]
    fn append_back(&self, state: Self::State, input: Self::Input) -> Self::State {
        if !self.is_stepped() {
            return self.prepend(input, state);
        }
        let both = || self.after(state.value, input, |state, input| self.op.append_back(state, input));
        Self::join((state.valid, || state.value), (input.valid, || self.lift(input).value), both)
    }

    #[inline]
    fn apply_back(&self, state: Self::State, carry: Self::Carry) -> Self::Carry {
        let both = || self.op.apply_back(state.value, carry.value);
        if self.is_stepped() {
            return Self::moved(carry, state.valid, both);
        }
        Self::join((state.valid, || self.carried(state).value), (carry.valid, || carry.value), both)
    }

    #[inline]
    fn step_back(&self, carry: Self::Carry, input: Self::Input) -> Self::Carry {
        if self.is_stepped() {
            let after = || self.after(carry.value, input, |carry, input| self.op.step_back(carry, input));
            return Self::moved(carry, input.valid, after);
        }
        let both = || self.op.step_back(carry.value, input.value);
        Self::join((input.valid, || self.carried(self.lift(input)).value), (carry.valid, || carry.value), both)
    }

    #[inline]
    fn advance_back(&self, carry: Self::Carry, input: Self::Input) -> (Self::Carry, Self::Output) {
        if self.is_stepped() {
            let advance = |carry, input| self.op.advance_back(carry, input);
            return self.advanced(carry, input, advance, || self.step_back(carry, input));
        }
        let after = self.step_back(carry, input);
        (after, self.project(after))
    }

    fn source(&self) -> OpSource {
        let op = self.op.source();
        let name = format!("{}_nulls_{}", if SKIP { "skip" } else { "propagate" }, op.name);
        let around = around(self, name, op.carry.is_some());
        OpSource::over_nullable(around, &op, Self::NULLS)
    }

    fn parameters(&self) -> Parameters {
        Parameters::default().with_all("op", &self.op.source().name, self.op.parameters())
    }
}

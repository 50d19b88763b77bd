//! An operator that begins anew at each new key.

use std::{fmt, marker::PhantomData};

use scan_codegen::{OpSource, OutputsOf};

use crate::{
    __private::{around, function_text},
    Parameters, ScanElement, ScanOp, scan_element, scan_fn,
};

/// An input of a [`ByKey`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keyed<K, V> {
    /// The key. Neighbours of one key belong together.
    pub key: K,
    /// The input of the operator.
    pub value: V,
}

/// A partial result of a [`ByKey`]: what a part of the inputs folds to.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyedState<K, S> {
    /// The key of the first input.
    pub first: K,
    /// The key of the last input.
    pub last: K,
    /// Whether another key begins after the first input.
    pub restarts: bool,
    /// The partial result of the inputs since the last key began, or of all of them.
    pub value: S,
}

/// The initial value and the total of a [`ByKey`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyedCarry<K, C> {
    /// Whether there was an input. If not, the first input begins a key, whatever `key` and `value` are.
    pub begun: bool,
    /// The key of the last input.
    pub key: K,
    /// The carry of the operator after that input.
    pub value: C,
}

/// An operator that begins anew where the key differs from the key of the previous element, as a scan
/// [by keys](crate::Scan::by_keys) does. The key is a part of the input, and the last key a part of the total. So the
/// next chunk of a stream goes on where the chunk before it has ended, in the middle of a key too.
///
/// The input is a struct of a key and a value: an array of these, or a tuple of an array of keys and one of values.
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let (shops, prices) = ([7_u64, 7, 8, 8, 8, 7], [5, 2, 9, 1, 4, 3]);
/// let scanner = Scanner::new()?;
/// let sums = scanner.scan(ops::by_key(ops::sum::<i32>()));
/// assert_eq!(sums.run((&shops, &prices))?, [5, 7, 9, 10, 14, 3]);
///
/// // The same in two chunks, of which the first ends within shop 8.
/// let (first, total) = sums.with_total().run((&shops[..4], &prices[..4]))?;
/// let total = total.ok_or("an empty chunk")?;
/// assert_eq!((total.key, total.value), (8, 10));
/// let second = sums.clone().init(total).run((&shops[4..], &prices[4..]))?;
/// assert_eq!([first, second].concat(), [5, 7, 9, 10, 14, 3]);
///
/// // A reduction gives the result of the last key.
/// assert_eq!(scanner.reduce(ops::by_key(ops::sum::<i32>())).run((&shops[..4], &prices[..4]))?, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It is an operator like others: it also restarts within the rows of `.rows(len)`, within the columns along an axis,
/// and in a reversed scan.
///
/// # Keys
///
/// Keys are compared by `==`, of numbers and of types with `#[derive(PartialEq)]`: `-0.0` equals `0.0`, and each NaN
/// begins a key of its own. ([`by_keys`](crate::Scan::by_keys) compares bytes.) For another equality let
/// [`map`](super::map) make the same key of all that are equal.
///
/// # What a key begins with
///
/// Each key begins with the operator's `START` if it is a [stepped operator](ScanOp#stepped-operators). Of any other
/// operator the first element of a key is its first result, not combined with anything. The initial value of the scan
/// is no such beginning: it is the [carry](KeyedCarry) after the elements before the first one.
///
/// Of an operator without an identity the scan needs an initial value, which is `Default::default()` where there was no
/// element before:
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let firsts = Scanner::new()?.scan(ops::by_key(ops::first())).init(Default::default());
/// assert_eq!(firsts.run((&[1_u8, 1, 2, 2], &['a' as u32, 98, 99, 100]))?, [97, 97, 99, 99]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// # Exclusive results
///
/// `by_key(with_exclusive(op))` gives the exclusive result beside the inclusive one, for an operator that has an
/// identity or a `START`. With it each key begins. The scan itself remains inclusive:
///
/// ```
/// use scan_runtime::{Scanner, arrays, ops};
///
/// let (shops, ones) = ([7_u64, 7, 8, 8, 8], [1; 5]);
/// // The number of each element within its key.
/// let numbers = Scanner::new()?.scan(ops::by_key(ops::with_exclusive(ops::sum::<u32>())));
/// let mut number = [0; 5];
/// numbers.run_into((&shops, &ones), (&mut number, arrays::discard()))?;
/// assert_eq!(number, [0, 1, 0, 1, 2]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
pub struct ByKey<K, Op> {
    op: Op,
    keys: PhantomData<fn() -> K>,
}

/// The operator [`ByKey`] of another one.
pub fn by_key<K, Op>(op: Op) -> ByKey<K, Op>
where
    K: ScanElement + Default + PartialEq,
    Op: ScanOp,
{
    ByKey { op, keys: PhantomData }
}

impl<K, Op: Clone> Clone for ByKey<K, Op> {
    fn clone(&self) -> Self {
        ByKey { op: self.op.clone(), keys: PhantomData }
    }
}

impl<K, Op: Copy> Copy for ByKey<K, Op> {}

impl<K, Op: fmt::Debug> fmt::Debug for ByKey<K, Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ByKey").field(&self.op).finish()
    }
}

#[scan_fn(crate = crate)]
fn equal_keys<K: ScanElement + PartialEq>(a: K, b: K) -> bool {
    a == b
}

type Inputs<K, Op> = Keyed<K, <Op as ScanOp>::Input>;
type States<K, Op> = KeyedState<K, <Op as ScanOp>::State>;
type Carries<K, Op> = KeyedCarry<K, <Op as ScanOp>::Carry>;

impl<K: ScanElement + PartialEq, Op: ScanOp> ByKey<K, Op> {
    /// The carry of the operator before an input or a part of this key: that of the key if it goes on, else what a
    /// stepped operator begins with.
    #[inline(always)]
    fn before(&self, carry: Carries<K, Op>, goes_on: bool) -> Option<Op::Carry> {
        if carry.begun && goes_on { Some(carry.value) } else { self.op.start().filter(|_| self.op.is_stepped()) }
    }

    #[inline(always)]
    fn applied(
        &self,
        state: States<K, Op>,
        carry: Carries<K, Op>,
        apply: impl Fn(&Op, Op::State, Op::Carry) -> Op::Carry,
    ) -> Carries<K, Op> {
        let value = match self.before(carry, !state.restarts && equal_keys(carry.key, state.first)) {
            Some(before) => apply(&self.op, state.value, before),
            None => self.op.carry_of(state.value),
        };
        KeyedCarry { begun: true, key: state.last, value }
    }

    #[inline(always)]
    fn stepped(
        &self,
        carry: Carries<K, Op>,
        input: Inputs<K, Op>,
        step: impl Fn(&Op, Op::Carry, Op::Input) -> Op::Carry,
    ) -> Carries<K, Op> {
        let value = match self.before(carry, equal_keys(carry.key, input.key)) {
            Some(before) => step(&self.op, before, input.value),
            None => self.op.carry_of(self.op.lift(input.value)),
        };
        KeyedCarry { begun: true, key: input.key, value }
    }

    #[inline(always)]
    fn advanced(
        &self,
        carry: Carries<K, Op>,
        input: Inputs<K, Op>,
        advance: impl Fn(&Op, Op::Carry, Op::Input) -> (Op::Carry, Op::Output),
    ) -> (Carries<K, Op>, Op::Output) {
        let (value, output) = match self.before(carry, equal_keys(carry.key, input.key)) {
            Some(before) => advance(&self.op, before, input.value),
            None => {
                let first = self.op.carry_of(self.op.lift(input.value));
                (first, self.op.project(first))
            }
        };
        (KeyedCarry { begun: true, key: input.key, value }, output)
    }

    #[inline(always)]
    fn combined(
        a: States<K, Op>,
        b: States<K, Op>,
        combine: impl Fn(Op::State, Op::State) -> Op::State,
    ) -> States<K, Op> {
        let same = !b.restarts && equal_keys(a.last, b.first);
        let value = if same { combine(a.value, b.value) } else { b.value };
        KeyedState { first: a.first, last: b.last, restarts: a.restarts || !same, value }
    }

    #[inline(always)]
    fn appended(
        &self,
        state: States<K, Op>,
        input: Inputs<K, Op>,
        append: impl Fn(&Op, Op::State, Op::Input) -> Op::State,
    ) -> States<K, Op> {
        let same = equal_keys(state.last, input.key);
        let value = if same { append(&self.op, state.value, input.value) } else { self.op.lift(input.value) };
        KeyedState { first: state.first, last: input.key, restarts: state.restarts || !same, value }
    }
}

// SAFETY: the layouts are those of `Keyed`, `KeyedState` and `KeyedCarry`, and that of the operator's output. The
// functions call those of the operator with its own parameters, and a `#[scan_fn]` that compares keys. It has a start
// if the operator has one, which never changes.
unsafe impl<K, Op> ScanOp for ByKey<K, Op>
where
    K: ScanElement + Default + PartialEq,
    Op: ScanOp,
{
    type Input = Keyed<K, Op::Input>;
    type State = KeyedState<K, Op::State>;
    type Carry = KeyedCarry<K, Op::Carry>;
    type Output = Op::Output;

    /// There is none: each partial result has a first key.
    fn identity(&self) -> Option<Self::State> {
        None
    }

    fn lift(&self, input: Self::Input) -> Self::State {
        KeyedState { first: input.key, last: input.key, restarts: false, value: self.op.lift(input.value) }
    }

    fn combine(&self, a: Self::State, b: Self::State) -> Self::State {
        Self::combined(a, b, |a, b| self.op.combine(a, b))
    }

    fn append(&self, state: Self::State, input: Self::Input) -> Self::State {
        self.appended(state, input, Op::append)
    }

    fn prepend(&self, input: Self::Input, state: Self::State) -> Self::State {
        let same = !state.restarts && equal_keys(input.key, state.first);
        let value = if same { self.op.prepend(input.value, state.value) } else { state.value };
        KeyedState { first: input.key, last: state.last, restarts: state.restarts || !same, value }
    }

    fn start(&self) -> Option<Self::Carry> {
        Some(KeyedCarry { begun: false, key: K::default(), value: self.op.start()? })
    }

    fn apply(&self, state: Self::State, carry: Self::Carry) -> Self::Carry {
        self.applied(state, carry, Op::apply)
    }

    fn step(&self, carry: Self::Carry, input: Self::Input) -> Self::Carry {
        self.stepped(carry, input, Op::step)
    }

    fn emit(&self, carry: Self::Carry, input: Self::Input) -> Op::Output {
        match self.before(carry, equal_keys(carry.key, input.key)) {
            Some(before) => self.op.emit(before, input.value),
            None => self.op.project(self.op.carry_of(self.op.lift(input.value))),
        }
    }

    fn project(&self, carry: Self::Carry) -> Op::Output {
        self.op.project(carry.value)
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
        KeyedCarry { begun: true, key: state.last, value: self.op.carry_of(state.value) }
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
        self.applied(state, carry, Op::apply_back)
    }

    fn step_back(&self, carry: Self::Carry, input: Self::Input) -> Self::Carry {
        self.stepped(carry, input, Op::step_back)
    }

    fn advance_back(&self, carry: Self::Carry, input: Self::Input) -> (Self::Carry, Op::Output) {
        self.advanced(carry, input, Op::advance_back)
    }

    fn source(&self) -> OpSource {
        let op = self.op.source();
        let name = format!("by_key_{}", op.name);
        let around = around(self, name, true);
        OpSource::by_key(around, &op, &function_text::<equal_keys<K>>())
    }

    fn parameters(&self) -> Parameters {
        Parameters::default().with_all("op", &self.op.source().name, self.op.parameters())
    }
}

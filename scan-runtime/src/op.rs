//! The operator of a scan.

use scan_codegen::{ElementType, OpSource, OutputsOf};

use crate::{Error, Parameters, ScanElement, element::bytes_of_any};

/// The associative operator of a scan, with its identity if it has one.
///
/// Write it with the attribute [`#[scan_op]`](macro@crate::scan_op), which derives the CUDA text from the Rust body and
/// fills in the usual parts:
///
/// ```
/// use scan_runtime::{ScanOp, scan_op};
///
/// struct Largest;
///
/// #[scan_op]
/// impl ScanOp for Largest {
///     type Element = f32;                              // Input, State and Output in one
///     const IDENTITY: f32 = f32::NEG_INFINITY;         // becomes `identity()`
///     fn combine(a: f32, b: f32) -> f32 { if a > b { a } else { b } } // `&self` may be left out
/// }
///
/// assert_eq!(Largest.combine(1.0, 3.0), 3.0);
/// ```
///
/// # Stepped operators
///
/// Many operators begin as a loop: each input updates a small carry `c`, `c = step(c, x)`. Write both: the loop, and
/// the monoid that describes the effect of a part of the input on any carry. Threads then fold their parts by
/// [`append`](ScanOp::append) or [`prepend`](ScanOp::prepend), `combine` joins only the folds of parts,
/// [`apply`](ScanOp::apply) turns the exclusive prefix of a part into a carry, and [`step`](ScanOp::step) goes through
/// the part as the loop does; on one thread of the CPU it is the loop.
///
/// ```
/// use scan_runtime::{ScanOp, Scanner, scan_element, scan_op};
///
/// /// c ↦ c · scale + shift
/// #[scan_element]
/// #[derive(Clone, Copy, Debug)]
/// struct Map { scale: u32, shift: u32 }
///
/// /// The hash `h = h * 31 + byte` of each prefix of a text.
/// struct Hash;
///
/// #[scan_op]
/// impl ScanOp for Hash {
///     type Input = u8;
///     type Output = u32;
///     // The loop.
///     type Carry = u32;
///     const START: u32 = 17;
///     fn step(h: u32, byte: u8) -> u32 { h.wrapping_mul(31).wrapping_add(byte as u32) }
///     // The effect of a part of the text on any hash.
///     type State = Map;
///     const IDENTITY: Map = Map { scale: 1, shift: 0 };
///     fn lift(byte: u8) -> Map { Map { scale: 31, shift: byte as u32 } }
///     fn combine(a: Map, b: Map) -> Map {
///         Map { scale: a.scale.wrapping_mul(b.scale), shift: a.shift.wrapping_mul(b.scale).wrapping_add(b.shift) }
///     }
///     fn apply(map: Map, h: u32) -> u32 { h.wrapping_mul(map.scale).wrapping_add(map.shift) }
/// }
///
/// let scanner = Scanner::new()?;
/// assert_eq!(scanner.scan(Hash).run(b"ab")?, [17 * 31 + 97, (17 * 31 + 97) * 31 + 98]);
/// assert_eq!(scanner.scan(Hash).init(0).run(b"ab")?, [97, 97 * 31 + 98]);
/// assert_eq!(scanner.scan(Hash).exclusive().run(b"ab")?, [17, 17 * 31 + 97]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// The output for an input is [`project`](ScanOp::project) of the carry after it, or what [`emit`](ScanOp::emit) makes
/// of the carry before it and the input. [`advance`](ScanOp::advance) gives the carry and the output at once, in place
/// of `step` and `emit`.
///
/// The initial value of a scan is a carry, in place of `START`; so is the total: the carry after the last input. Each
/// segment begins anew with it. An exclusive scan gives the carry before each input. A reversed scan reads from the
/// right: `step` takes the last input first, and the left operand of `combine` is the part that was read first, which
/// is on the right in memory. Of operators that are not stepped, a reversed scan keeps the operands in the order of
/// memory.
///
/// # Laws
///
/// `combine(combine(a, b), c)` equals `combine(a, combine(b, c))`, and the identity changes nothing on either side.
/// `append(s, x)` equals `combine(s, lift(x))`, and `prepend(x, s)` equals `combine(lift(x), s)`. Of a stepped
/// operator, `apply(combine(a, b), c)` equals `apply(b, apply(a, c))`, `step(c, x)` equals `apply(lift(x), c)`, and the
/// identity applied to a carry gives that carry. The operator need not be commutative: the machinery always applies it
/// to two adjacent partial results, the one of earlier elements on the left (of the elements read earlier, in a
/// reversed scan by a stepped operator). [`laws`](crate::laws) checks both.
///
/// No scan combines an element with the identity. An exclusive scan begins with it, and a total of nothing is it. So an
/// identity of 0.0 is right for a sum of floats, though `0.0 + -0.0` is 0.0: sums of -0.0 are -0.0.
///
/// # Overflow
///
/// A loop computes prefixes only. A scan also folds parts that begin anywhere, which a loop never sees, and the groups
/// differ between devices and lengths. Such a part may leave the range of floats where no prefix does:
///
/// - The products of `[0.0, 65536.0, 65536.0, …]` are 0 in a loop. Eight of the later factors alone are 2¹²⁸, which is ∞
///   as an `f32`, and `0.0 * ∞` is NaN.
/// - The sums of `[-m, 0.0, m, m, -m, …]`, with `m` the largest `f32`, are finite in a loop. `m + m` is ∞.
/// - The recurrence `h = a·h + b` is a scan of maps `(a, b)`, whose factors are multiplied: with `a = 2`, the map of 128
///   steps has the factor ∞, and takes `h = 0` to NaN, where a loop stays at 0.
///
/// Parts stay in range if factors are at most 1 in magnitude, if the state has a wider type than the input (`lift` to
/// `f64`), or if it holds a logarithm. Integers that wrap around (`wrapping_add`) are the same in every group; a plain
/// `+` that overflows panics on the CPU in debug builds, as anywhere in Rust.
///
/// # Safety
///
/// Kernels are made of the text and the layouts that [`source`](ScanOp::source) gives, and run on the memory of values
/// of `Input`, `State`, `Carry` and `Output`. `#[scan_op]` derives all of it from the Rust bodies, so that an operator
/// needs no `unsafe`; there is no reason to implement the trait by hand. Who does so vouches that
///
/// - `source` gives the layouts of `Input`, `State`, `Carry` and `Output`, and the same text for every operator of the
///   type;
/// - the functions in the text touch nothing but their parameters, the operator's own fields and the items of its tables, and
///   give valid values of the types that they return;
/// - `identity` and `start` always give a value or never do, and `source` tells the same values;
/// - `parameters` has the fields that the text reads, with the layouts that `source` tells.
///
/// The laws are no safety requirement: an operator that breaks them gives unspecified values, but stays within its
/// memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scan operator",
    label = "not a scan operator",
    note = "mark an `impl ScanOp for {Self}`, or a function of two elements, with `#[scan_op]`",
    note = "a closure is no operator: its text does not reach the GPU; write a function",
    note = "a variable that has the name of an operator hides it: give the variable another name"
)]
pub unsafe trait ScanOp: Send + Sync + 'static {
    /// The type of the input elements.
    type Input: ScanElement;
    /// The type of partial results, which `combine` works on.
    type State: ScanElement;
    /// What each input updates: the state, unless the operator is a [stepped operator](ScanOp#stepped-operators).
    /// Initial values and totals are carries.
    type Carry: ScanElement;
    /// What the scan writes.
    type Output: ScanElement;

    /// The neutral element of [`combine`](ScanOp::combine), if `State` has one. An operator without one supports
    /// inclusive scans, exclusive scans with an initial value, and reductions of at least one element or with an
    /// initial value.
    fn identity(&self) -> Option<Self::State>;

    /// Maps a single input to a partial result.
    fn lift(&self, input: Self::Input) -> Self::State;

    /// Combines two adjacent partial results. `a` is the left one, of the earlier elements.
    fn combine(&self, a: Self::State, b: Self::State) -> Self::State;

    /// Combines a partial result with the input that follows it: `combine(state, lift(input))`, unless the operator
    /// knows a cheaper way.
    #[inline]
    fn append(&self, state: Self::State, input: Self::Input) -> Self::State {
        self.combine(state, self.lift(input))
    }

    /// Combines an input with the partial result that follows it: `combine(lift(input), state)`, unless the operator
    /// knows a cheaper way. A GPU folds the runs of a [stepped operator](ScanOp#stepped-operators) from their ends
    /// then.
    #[inline]
    fn prepend(&self, input: Self::Input, state: Self::State) -> Self::State {
        self.combine(self.lift(input), state)
    }

    /// The carry before the first input: the identity, unless the operator is stepped.
    fn start(&self) -> Option<Self::Carry>;

    /// Moves a carry past the inputs of a partial result.
    fn apply(&self, state: Self::State, carry: Self::Carry) -> Self::Carry;

    /// Moves a carry past one input.
    fn step(&self, carry: Self::Carry, input: Self::Input) -> Self::Carry;

    /// Makes the output for an input, of the carry before it: that of the carry after it, unless the operator tells
    /// another. Then only exclusive scans and reductions need [`project`](ScanOp::project), which may be left out.
    ///
    /// ```
    /// use scan_runtime::{ScanOp, Scanner, scan_op};
    ///
    /// /// The difference of each number to the largest one before it.
    /// struct AboveRecord;
    ///
    /// #[scan_op]
    /// impl ScanOp for AboveRecord {
    ///     type Element = u32;
    ///     type Carry = u32;
    ///     type Output = i64;
    ///     const IDENTITY: u32 = 0;
    ///     const START: u32 = 0;
    ///     fn step(record: u32, x: u32) -> u32 { record.max(x) }
    ///     fn emit(record: u32, x: u32) -> i64 { x as i64 - record as i64 }
    ///     fn combine(a: u32, b: u32) -> u32 { a.max(b) }
    ///     fn apply(largest: u32, record: u32) -> u32 { record.max(largest) }
    /// }
    ///
    /// let scanner = Scanner::new()?;
    /// assert_eq!(scanner.scan(AboveRecord).run(&[5, 3, 9])?, [5, -2, 4]);
    /// let error = scanner.reduce(AboveRecord).run(&[5, 3, 9]).unwrap_err();
    /// assert!(error.to_string().contains("add `project` to scan exclusively or to reduce"));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    #[inline]
    fn emit(&self, carry: Self::Carry, input: Self::Input) -> Self::Output {
        self.project(self.step(carry, input))
    }

    /// Makes an output of a carry: for exclusive scans, for reductions, and where the operator has no
    /// [`emit`](ScanOp::emit) of its own.
    ///
    /// # Panics
    ///
    /// Where the operator has `emit` or `advance` and no `project`, and `Output` is another type than `Carry`. A call
    /// that would need `project` then is an error, [`PlanError::NoProject`](crate::PlanError::NoProject).
    fn project(&self, carry: Self::Carry) -> Self::Output;

    /// What outputs can be made of.
    #[doc(hidden)]
    #[inline(always)]
    fn outputs_of(&self) -> OutputsOf {
        OutputsOf::Prefixes
    }

    /// Moves a carry past one input, and makes the output for it: [`step`](ScanOp::step) and [`emit`](ScanOp::emit) at
    /// once. A [stepped operator](ScanOp#stepped-operators) whose step and output need the same values has `advance` in
    /// place of both. One thread of the CPU calls it once an input. `#[scan_op]` makes `step` and `emit` of it: in the
    /// CUDA text, each has the body with one item of the results, without what only the other one needs.
    ///
    /// Each result is a tuple that is written in place: the carry, then the output. That is true of each `return` and
    /// of the last expression, in each branch of an `if` or a `match`. An `assert!` is in both functions. A value that
    /// only one of them needs is computed only there; if computing it panics, a GPU panics only there.
    ///
    /// ```
    /// use scan_runtime::{ScanOp, Scanner, scan_op};
    ///
    /// /// The second that a clock shows, which durations move on, and the minutes that each of them completes.
    /// struct Clock;
    ///
    /// #[scan_op]
    /// impl ScanOp for Clock {
    ///     type Element = u32;
    ///     type Carry = u32;
    ///     const IDENTITY: u32 = 0;
    ///     const START: u32 = 0;
    ///     fn advance(second: u32, duration: u32) -> (u32, u32) {
    ///         let seconds = second + duration;
    ///         (seconds % 60, seconds / 60)
    ///     }
    ///     fn lift(duration: u32) -> u32 { duration % 60 }
    ///     fn combine(a: u32, b: u32) -> u32 { (a + b) % 60 }
    ///     fn apply(s: u32, second: u32) -> u32 { (second + s) % 60 }
    /// }
    ///
    /// let (minutes, second) = Scanner::new()?.scan(Clock).with_total().run(&[50, 75, 20])?;
    /// assert_eq!((minutes, second), (vec![0, 2, 0], Some(25)));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    #[inline(always)]
    fn advance(&self, carry: Self::Carry, input: Self::Input) -> (Self::Carry, Self::Output) {
        let after = self.step(carry, input);
        (after, self.project(after))
    }

    /// Whether the operator is stepped. A carry is a state otherwise.
    #[doc(hidden)]
    fn is_stepped(&self) -> bool;

    /// The carry after a partial result before which there is nothing.
    #[doc(hidden)]
    fn carry_of(&self, state: Self::State) -> Self::Carry;

    /// The carry as a state, where it is one.
    #[doc(hidden)]
    fn state_of(&self, carry: Self::Carry) -> Option<Self::State>;

    /// `combine`, `append`, `apply`, `step` and `advance` of a reversed scan: where partial results are combined in the
    /// order of memory, the other way round. `a` is read before `b`.
    #[doc(hidden)]
    #[inline(always)]
    fn combine_back(&self, a: Self::State, b: Self::State) -> Self::State {
        if self.is_stepped() { self.combine(a, b) } else { self.combine(b, a) }
    }
    #[doc(hidden)]
    fn append_back(&self, state: Self::State, input: Self::Input) -> Self::State;
    #[doc(hidden)]
    fn apply_back(&self, state: Self::State, carry: Self::Carry) -> Self::Carry;
    #[doc(hidden)]
    fn step_back(&self, carry: Self::Carry, input: Self::Input) -> Self::Carry;
    #[doc(hidden)]
    #[inline(always)]
    fn advance_back(&self, carry: Self::Carry, input: Self::Input) -> (Self::Carry, Self::Output) {
        let after = self.step_back(carry, input);
        (after, self.project(after))
    }

    /// The operator's CUDA text. `#[scan_op]` writes this.
    fn source(&self) -> OpSource;

    /// The operator's own fields that its functions read. They are kernel arguments, passed at every launch.
    /// `#[scan_op]` writes this where the operator reads `self`.
    fn parameters(&self) -> Parameters {
        Parameters::default()
    }

    /// Whether floats may be rounded where partial results are made and combined, so that their grouping shows in the
    /// results. `#[scan_op]` knows operators that only compare and choose.
    #[doc(hidden)]
    #[inline(always)]
    fn rounds(&self) -> bool {
        true
    }

    /// Whether the fold of a part begins at its end: of a stepped operator that has a `prepend` of its own.
    #[doc(hidden)]
    #[inline(always)]
    fn folds_backwards(&self) -> bool {
        false
    }

    /// How the CPU applies the operator to several values at once. Only the built-in operators have this.
    #[doc(hidden)]
    fn vectorized(&self) -> Option<crate::__private::Vectorized<Self>>
    where
        Self: Sized,
    {
        None
    }
}

/// What an operator has whose carry is its state.
#[doc(hidden)]
#[macro_export]
macro_rules! __scan_carry_is_state {
    () => {
        type Carry = Self::State;
        #[inline]
        fn start(&self) -> $crate::__private::Option<Self::State> {
            self.identity()
        }
        #[inline(always)]
        fn apply(&self, __scan_state: Self::State, __scan_carry: Self::State) -> Self::State {
            self.combine(__scan_carry, __scan_state)
        }
        #[inline(always)]
        fn step(&self, __scan_carry: Self::State, __scan_input: Self::Input) -> Self::State {
            self.append(__scan_carry, __scan_input)
        }
        #[inline(always)]
        fn is_stepped(&self) -> bool {
            false
        }
        #[inline(always)]
        fn carry_of(&self, __scan_state: Self::State) -> Self::State {
            __scan_state
        }
        #[inline(always)]
        fn state_of(&self, __scan_carry: Self::State) -> $crate::__private::Option<Self::State> {
            $crate::__private::Some(__scan_carry)
        }
        #[inline(always)]
        fn append_back(&self, __scan_state: Self::State, __scan_input: Self::Input) -> Self::State {
            self.prepend(__scan_input, __scan_state)
        }
        #[inline(always)]
        fn apply_back(&self, __scan_state: Self::State, __scan_carry: Self::State) -> Self::State {
            self.combine(__scan_state, __scan_carry)
        }
        #[inline(always)]
        fn step_back(&self, __scan_carry: Self::State, __scan_input: Self::Input) -> Self::State {
            self.prepend(__scan_input, __scan_carry)
        }
    };
}

/// What a stepped operator has in addition to what its impl block says.
#[doc(hidden)]
#[macro_export]
macro_rules! __scan_is_stepped {
    () => {
        #[inline(always)]
        fn is_stepped(&self) -> bool {
            true
        }
        #[inline(always)]
        fn state_of(&self, _: Self::Carry) -> $crate::__private::Option<Self::State> {
            $crate::__private::None
        }
        #[inline(always)]
        fn append_back(&self, __scan_state: Self::State, __scan_input: Self::Input) -> Self::State {
            self.append(__scan_state, __scan_input)
        }
        #[inline(always)]
        fn apply_back(&self, __scan_state: Self::State, __scan_carry: Self::Carry) -> Self::Carry {
            self.apply(__scan_state, __scan_carry)
        }
        #[inline(always)]
        fn step_back(&self, __scan_carry: Self::Carry, __scan_input: Self::Input) -> Self::Carry {
            self.step(__scan_carry, __scan_input)
        }
    };
}

/// What an operator has beside its `emit`.
#[doc(hidden)]
#[macro_export]
macro_rules! __scan_emits {
    () => {
        #[inline(always)]
        fn advance(&self, __scan_carry: Self::Carry, __scan_input: Self::Input) -> (Self::Carry, Self::Output) {
            (self.step(__scan_carry, __scan_input), self.emit(__scan_carry, __scan_input))
        }
        #[inline(always)]
        fn advance_back(&self, __scan_carry: Self::Carry, __scan_input: Self::Input) -> (Self::Carry, Self::Output) {
            self.advance(__scan_carry, __scan_input)
        }
    };
}

/// The functions of an operator that has `advance`.
#[doc(hidden)]
#[macro_export]
macro_rules! __scan_advances {
    () => {
        #[inline(always)]
        fn step(&self, __scan_carry: Self::Carry, __scan_input: Self::Input) -> Self::Carry {
            self.advance(__scan_carry, __scan_input).0
        }
        #[inline(always)]
        fn emit(&self, __scan_carry: Self::Carry, __scan_input: Self::Input) -> Self::Output {
            self.advance(__scan_carry, __scan_input).1
        }
        #[inline(always)]
        fn advance_back(&self, __scan_carry: Self::Carry, __scan_input: Self::Input) -> (Self::Carry, Self::Output) {
            self.advance(__scan_carry, __scan_input)
        }
    };
}

/// The source of an operator, compared with its types: kernels that are made of another one would go astray in their memory.
pub(crate) fn checked_source<Op: ScanOp>(op: &Op) -> Result<OpSource, Error> {
    let facts = Facts {
        layouts: [layout::<Op::Input>(), layout::<Op::State>(), layout::<Op::Output>(), layout::<Op::Carry>()],
        identity: bytes_of_any(op.identity()),
        start: bytes_of_any(op.start()),
        parameters: op.parameters(),
        is_stepped: op.is_stepped(),
    };
    check_source(op.source(), &facts)
}

/// What an operator says of itself in Rust.
struct Facts {
    /// The layouts of its types, where they are those of Rust: input, state, output and carry.
    layouts: [Option<ElementType>; 4],
    identity: Option<Vec<u8>>,
    start: Option<Vec<u8>>,
    parameters: Parameters,
    is_stepped: bool,
}

/// The layout of a type, if its size and alignment are those of the type.
fn layout<T: ScanElement>() -> Option<ElementType> {
    let layout = T::layout();
    (layout.size == size_of::<T>() && layout.align == align_of::<T>()).then_some(layout)
}

/// Not generic, so that it is compiled once and not for every operator.
fn check_source(source: OpSource, facts: &Facts) -> Result<OpSource, Error> {
    let Facts { layouts: [input, state, output, carry], identity, start, parameters, is_stepped } = facts;
    if source.carry.is_some() && !is_stepped {
        return Err(Error::FlippedStep { operator: source.name });
    }
    let what = if Some(&source.input) != input.as_ref() {
        "input"
    } else if Some(&source.state) != state.as_ref() {
        "state"
    } else if Some(&source.output) != output.as_ref() {
        "output"
    } else if source.identity != *identity {
        "identity"
    } else if Some(source.initial()) != carry.as_ref() || source.carry.is_some() != *is_stepped {
        "carry"
    } else if source.carry.as_ref().is_some_and(|carry| carry.start != *start) {
        "start"
    } else if source.parameters != parameters.layout(&source.name) {
        "parameters"
    } else {
        return Ok(source);
    };
    Err(Error::SourceMismatch { operator: source.name, what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ops, scan_op};

    /// A sum whose source the test chooses.
    struct WithSource(OpSource);

    // SAFETY: the contract does not hold, but the tests call nothing that relies on it: only the source is read.
    unsafe impl ScanOp for WithSource {
        type Input = u32;
        type State = u32;
        type Output = u32;
        fn identity(&self) -> Option<u32> {
            Some(0)
        }
        fn lift(&self, x: u32) -> u32 {
            x
        }
        fn combine(&self, a: u32, b: u32) -> u32 {
            a.wrapping_add(b)
        }
        fn project(&self, x: u32) -> u32 {
            x
        }
        crate::__scan_carry_is_state! {}
        fn source(&self) -> OpSource {
            self.0.clone()
        }
    }

    #[test]
    fn a_source_of_another_type_is_refused() {
        let source = ops::sum::<u32>().source();
        let double = f64::layout();
        assert!(checked_source(&WithSource(source.clone())).is_ok());
        let wrong = [
            ("input", OpSource { input: double.clone(), ..source.clone() }),
            ("state", OpSource { state: double.clone(), ..source.clone() }),
            ("output", OpSource { output: double.clone(), ..source.clone() }),
            ("identity", OpSource { identity: None, ..source.clone() }),
            ("identity", OpSource { identity: Some(vec![1; 4]), ..source.clone() }),
            ("parameters", OpSource { parameters: Some(double), ..source }),
        ];
        for (expected, source) in wrong {
            let error = checked_source(&WithSource(source)).unwrap_err();
            assert!(matches!(error, Error::SourceMismatch { what, .. } if what == expected), "{expected}: {error}");
        }
    }

    /// A stepped operator whose carry has the type of its state, which bounds do not tell from an operator without
    /// steps.
    struct Counter;

    #[scan_op]
    impl ScanOp for Counter {
        type Element = u32;
        type Carry = u32;
        const IDENTITY: u32 = 0;
        const START: u32 = 7;
        fn combine(a: u32, b: u32) -> u32 {
            a.wrapping_add(b)
        }
        fn apply(s: u32, c: u32) -> u32 {
            c.wrapping_add(s)
        }
        fn step(c: u32, x: u32) -> u32 {
            c.wrapping_add(x)
        }
    }

    #[test]
    fn a_flipped_stepped_operator_is_refused_with_what_to_write_instead() {
        assert!(checked_source(&Counter).is_ok());
        let error = checked_source(&ops::flip(Counter)).unwrap_err();
        assert!(matches!(&error, Error::FlippedStep { operator } if operator == "flip_Counter"), "{error}");
        assert!(error.to_string().contains("`.reverse()`"), "{error}");
    }
}

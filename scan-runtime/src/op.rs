//! The operator of a scan.

use scan_codegen::{ElementType, OpSource};

use crate::{Error, Parameters, ScanElement, element::bytes_of};

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
/// # Laws
///
/// `combine(combine(a, b), c)` equals `combine(a, combine(b, c))`, and the identity changes nothing on either side.
/// The operator need not be commutative: scans apply it to two adjacent partial results only, and the left operand is
/// that of the earlier elements. [`laws`](crate::laws) checks both laws.
///
/// # Safety
///
/// Kernels are rendered from the text and the layouts that [`source`](ScanOp::source) gives, and run on the memory of
/// values of `Input`, `State` and `Output`. `#[scan_op]` derives all of it from the Rust bodies, so that an operator
/// needs no `unsafe`; there is no reason to implement the trait by hand. An implementation by hand guarantees that
///
/// - `source` gives the layouts of `Input`, `State` and `Output`, and the same text for every operator of the type;
/// - the functions in the text touch nothing but their parameters, the operator's own fields and the items of its tables, and
///   give valid values of the types that they return;
/// - `identity` always gives a value or never does, and `source` has the same value;
/// - `parameters` has the fields that the text reads, with the layouts that `source` gives.
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
    /// The type of the output elements.
    type Output: ScanElement;

    /// The neutral element of [`combine`](ScanOp::combine), if `State` has one. An operator without one supports
    /// inclusive scans, exclusive scans with an initial value, and reductions of at least one element or with an
    /// initial value.
    fn identity(&self) -> Option<Self::State>;

    /// Maps a single input to a partial result.
    fn lift(&self, input: Self::Input) -> Self::State;

    /// Combines two adjacent partial results. `a` is the left one, of the earlier elements.
    fn combine(&self, a: Self::State, b: Self::State) -> Self::State;

    /// Maps a partial result to an output.
    fn project(&self, state: Self::State) -> Self::Output;

    /// The operator's CUDA text. `#[scan_op]` writes this.
    fn source(&self) -> OpSource;

    /// The operator's own fields that its functions read. They are kernel arguments, passed at every launch.
    /// `#[scan_op]` writes this where the operator reads `self`.
    fn parameters(&self) -> Parameters {
        Parameters::default()
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

/// The source of an operator, checked against its types: kernels of another layout would access memory out of bounds.
pub(crate) fn checked_source<Op: ScanOp>(op: &Op) -> Result<OpSource, Error> {
    let elements = [expected::<Op::Input>(), expected::<Op::State>(), expected::<Op::Output>()];
    check_source(op.source(), elements, op.identity().as_ref().map(bytes_of), &op.parameters())
}

/// The layout of a type, if its size and alignment are those of the type.
fn expected<T: ScanElement>() -> Option<ElementType> {
    let layout = T::layout();
    (layout.size == size_of::<T>() && layout.align == align_of::<T>()).then_some(layout)
}

/// Not generic, so that it is compiled once and not for every operator.
fn check_source(
    source: OpSource,
    [input, state, output]: [Option<ElementType>; 3],
    identity: Option<Vec<u8>>,
    parameters: &Parameters,
) -> Result<OpSource, Error> {
    let what = if Some(&source.input) != input.as_ref() {
        "input"
    } else if Some(&source.state) != state.as_ref() {
        "state"
    } else if Some(&source.output) != output.as_ref() {
        "output"
    } else if source.identity != identity {
        "identity"
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
    use crate::ops;

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
}

//! The elements for which a function holds.

use crate::{ScanElement, ScanOp, scan_element, scan_op};

/// An input of a [`Filter`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Candidate<T> {
    /// Whether it is kept.
    pub keep: bool,
    /// What is kept.
    pub value: T,
}

/// An output of a [`Filter`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept<T> {
    /// How many elements before it are kept, if it is kept itself; else `u32::MAX`.
    pub place: u32,
    /// The element.
    pub value: T,
}

/// An operator that keeps some of the elements, in their order: stream compaction. The total is how many these are.
///
/// Run it by [columns](crate::Scan::columns) into [`scatter_computed`](crate::arrays::scatter_computed), which writes
/// what is kept to the beginning of an array. A function from an element to a [`Candidate`] says what that is, and may
/// change it; without one the inputs are an array of flags and one of values.
///
/// ```
/// use scan_runtime::{Scanner, arrays, ops, scan_fn};
///
/// #[scan_fn]
/// fn positive(x: f32) -> ops::Candidate<f32> {
///     ops::Candidate { keep: x > 0.0, value: x }
/// }
///
/// let scanner = Scanner::new()?;
/// let x = [3.0, -1.0, 0.5, 0.0, 2.0];
/// let mut kept = [0.0; 5];
/// let scan = scanner.scan(ops::lifted::<positive, _>(ops::filter())).columns();
/// let count = scan.run_into_with_total(&x, arrays::scatter_computed((&mut kept,)))?;
/// assert_eq!((count, &kept[..3]), (Some(3), &[3.0, 0.5, 2.0][..]));
///
/// // Flags and values in two arrays.
/// let (flags, values) = ([true, false, true], [10_u64, 20, 30]);
/// let mut kept = [0; 3];
/// scanner.scan(ops::filter()).columns().run_into((&flags, &values), arrays::scatter_computed((&mut kept,)))?;
/// assert_eq!(kept, [10, 30, 0]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// In a reversed scan the last element that is kept comes first. At most `u32::MAX` elements are kept. An exclusive
/// scan, and a reduction, have no element to keep: the `value` of their outputs is the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter<T> {
    nothing: T,
}

/// The operator [`Filter`].
pub fn filter<T: ScanElement + Default>() -> Filter<T> {
    Filter { nothing: T::default() }
}

#[scan_op(crate = crate)]
impl<T: ScanElement> ScanOp for Filter<T> {
    type Input = Candidate<T>;
    type State = u32;
    type Carry = u32;
    type Output = Kept<T>;
    const IDENTITY: u32 = 0;
    const START: u32 = 0;
    fn lift(x: Candidate<T>) -> u32 {
        x.keep as u32
    }
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(count: u32, before: u32) -> u32 {
        before.wrapping_add(count)
    }
    fn step(before: u32, x: Candidate<T>) -> u32 {
        before.wrapping_add(x.keep as u32)
    }
    fn emit(before: u32, x: Candidate<T>) -> Kept<T> {
        Kept { place: if x.keep { before } else { u32::MAX }, value: x.value }
    }
    fn project(&self, count: u32) -> Kept<T> {
        Kept { place: count, value: self.nothing }
    }
}

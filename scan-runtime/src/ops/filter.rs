//! The elements for which a function holds.

use std::marker::PhantomData;

use super::predicted;
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
pub struct Kept<T, P = u32> {
    /// How many elements before it are kept, if it is kept itself; else the largest number. Where the number of elements
    /// before it is one of the two largest, the place is the one before the largest, which is beyond every array.
    pub place: P,
    /// The element.
    pub value: T,
}

/// An operator that keeps some of the elements, in their order: stream compaction. The total is how many these are.
///
/// Run it into [`scatter_by_output`](crate::arrays::scatter_by_output), which writes what is kept to the beginning of an
/// array, [consecutively](crate::arrays::ScatterByOutput::consecutive). A function from an element to a [`Candidate`]
/// says what that is, and may change it; without one the inputs are an array of flags and one of values.
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
/// let scan = scanner.scan(ops::map::<positive, _>(ops::filter()));
/// let count = scan.with_total().run_into(&x, arrays::scatter_by_output((&mut kept,)).consecutive())?;
/// assert_eq!((count, &kept[..3]), (Some(3), &[3.0, 0.5, 2.0][..]));
///
/// // Flags and values in two arrays.
/// let (flags, values) = ([true, false, true], [10_u64, 20, 30]);
/// let mut kept = [0; 3];
/// scanner.scan(ops::filter()).run_into((&flags, &values), arrays::scatter_by_output((&mut kept,)))?;
/// assert_eq!(kept, [10, 30, 0]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// In a reversed scan the last element that is kept comes first. An exclusive scan, and a reduction, have no element to
/// keep: the `value` of their outputs is the default.
///
/// # More than there is room for
///
/// The elements that have no place in the array are not written. In host memory they are
/// [`Error::ComputedIndex`](crate::Error::ComputedIndex). In device memory nothing but the count tells of them: compare
/// it with the length of the array.
///
/// Places and the count are `u32`, or what [`places`](Filter::places) chooses. The count stays at `u32::MAX` where more
/// elements are kept: those from the one with the number `u32::MAX - 1` on have no place in any array, and a count of
/// `u32::MAX` says that there are such. An initial value counts like as many elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter<T, P = u32> {
    nothing: T,
    places: PhantomData<P>,
}

/// The operator [`Filter`].
pub fn filter<T: ScanElement + Default>() -> Filter<T> {
    Filter { nothing: T::default(), places: PhantomData }
}

impl<T> Filter<T> {
    /// The same operator with places and a count of another unsigned type, `u64` or `usize` for more than 2³² elements.
    ///
    /// ```
    /// use scan_runtime::{Scanner, arrays, ops};
    ///
    /// let (flags, values, mut kept) = ([true, false, true], [10_i8, 20, 30], [0; 3]);
    /// let scan = Scanner::new()?.scan(ops::filter().places::<u64>());
    /// let count = scan.with_total().run_into((&flags, &values), arrays::scatter_by_output((&mut kept,)))?;
    /// assert_eq!((count, kept), (Some(2_u64), [10, 30, 0]));
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    pub fn places<P>(self) -> Filter<T, P>
    where
        Filter<T, P>: ScanOp,
    {
        Filter { nothing: self.nothing, places: PhantomData }
    }
}

macro_rules! filters {
    ($($place:ident)*) => {$(
        #[scan_op(crate = crate)]
        impl<T: ScanElement> ScanOp for Filter<T, $place> {
            type Input = Candidate<T>;
            type State = $place;
            type Carry = $place;
            type Output = Kept<T, $place>;
            const IDENTITY: $place = 0;
            const START: $place = 0;
            fn lift(x: Candidate<T>) -> $place {
                x.keep as $place
            }
            fn combine(a: $place, b: $place) -> $place {
                a.saturating_add(b)
            }
            fn apply(count: $place, before: $place) -> $place {
                before.saturating_add(count)
            }
            fn append(count: $place, x: Candidate<T>) -> $place {
                // As `saturating_add`, and shorter.
                $place::max(count.wrapping_add(x.keep as $place), count)
            }
            fn advance(before: $place, x: Candidate<T>) -> ($place, Kept<T, $place>) {
                let mut after = before;
                let mut place = $place::MAX;
                if x.keep {
                    // So the next place waits for one addition.
                    if predicted(before < $place::MAX - 1) {
                        place = before;
                        after = before.wrapping_add(1);
                    } else {
                        place = $place::MAX - 1;
                        after = $place::MAX;
                    }
                }
                (after, Kept { place, value: x.value })
            }
            fn project(&self, count: $place) -> Kept<T, $place> {
                Kept { place: count, value: self.nothing }
            }
        }
    )*};
}

filters! { u32 u64 usize }

//! Sums of integers that report what does not fit their type.

use std::marker::PhantomData;

use super::{Narrower, Nullable, Number, Wider};
use crate::{ScanOp, scan_element, scan_op};

/// The exact sum of a part, and the extremes of the sums of its prefixes: the state of [`CheckedSum`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefixes {
    /// The sum of all elements.
    pub sum: i128,
    /// The least sum of the first elements, however many; of none it is 0.
    pub min: i128,
    /// The largest sum of the first elements, however many; of none it is 0.
    pub max: i128,
}

impl Prefixes {
    /// Whether every sum so far is a value of `T`.
    pub fn fit<T: Number>(self) -> bool
    where
        i128: From<T>,
    {
        self.min >= i128::from(T::LOWEST) && self.max <= i128::from(T::HIGHEST)
    }
}

/// An initial value.
impl<T> From<T> for Prefixes
where
    i128: Wider<T> + From<T>,
{
    fn from(value: T) -> Self {
        let sum = i128::from(value);
        Prefixes { sum, min: sum.min(0), max: sum.max(0) }
    }
}

/// The sum of integers of up to 64 bits, each with whether it fits their type. A sum that does not is no error: the
/// scan goes on, and a later sum may fit again.
///
/// The outputs are [`Nullable`]: `valid` where the exact sum of the elements so far is a value of `T`. `value` is the
/// sum modulo 2ⁿ, with `n` the bits of `T`, as that of a plain [`sum`](super::sum). The total says whether all of them
/// fit:
///
/// ```
/// use scan_runtime::{Scanner, ops, scan_fn};
///
/// #[scan_fn]
/// fn failed(valid: bool) -> bool {
///     !valid
/// }
///
/// let scanner = Scanner::new()?;
/// let (mut sums, mut valid) = ([0; 4], [false; 4]);
/// let checked = scanner.scan(ops::checked_sum::<i32>());
/// let total = checked.with_total().run_into(&[i32::MAX, 1, -1, 5], (&mut sums, &mut valid))?;
/// assert_eq!(valid, [true, false, true, false]);
/// assert!(total.is_some_and(|total| !total.fit::<i32>()));
///
/// // Only then: where the first one is.
/// let first = scanner.reduce(ops::map::<failed, _>(ops::position())).run(&valid)?;
/// assert_eq!((first.valid, first.value), (true, 1));
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// What fits is a property of the exact sums, so that it is the same for every grouping, on every device. The total has
/// the extremes of all sums, in 128 bits; it cannot have the place of the first that does not fit, because a part of
/// the input would have to know it for every sum before that part. A second pass over `valid` finds it, in the same
/// memory, by [`position`](super::position()).
///
/// Initial values are [`Prefixes`], made of a number by `Prefixes::from`, or the total of the chunk before: then the
/// total of the last chunk is about all of them. A reversed scan adds suffixes, of which the total has the extremes of
/// prefixes: use the outputs there.
///
/// There is none of 128 bits, and no product, whose exact values have no bound. Floats report overflow as infinities
/// and NaN, which stay: [`position`](super::position()) finds the first of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckedSum<T>(PhantomData<T>);

/// The operator [`CheckedSum`].
pub fn checked_sum<T: Narrower<i128>>() -> CheckedSum<T>
where
    i128: Wider<T> + From<T>,
{
    CheckedSum(PhantomData)
}

#[scan_op(crate = crate)]
impl<T: Narrower<i128>> ScanOp for CheckedSum<T>
where
    i128: Wider<T> + From<T>,
{
    type Input = T;
    type State = Prefixes;
    type Output = Nullable<T>;
    const IDENTITY: Prefixes = Prefixes { sum: 0, min: 0, max: 0 };
    fn lift(x: T) -> Prefixes {
        let sum = i128::from(x);
        Prefixes { sum, min: sum.min(0), max: sum.max(0) }
    }
    fn combine(a: Prefixes, b: Prefixes) -> Prefixes {
        Prefixes {
            sum: a.sum.wrapping_add(b.sum),
            min: a.min.min(a.sum.wrapping_add(b.min)),
            max: a.max.max(a.sum.wrapping_add(b.max)),
        }
    }
    fn append(s: Prefixes, x: T) -> Prefixes {
        let sum = s.sum.wrapping_add(i128::from(x));
        Prefixes { sum, min: s.min.min(sum), max: s.max.max(sum) }
    }
    fn project(s: Prefixes) -> Nullable<T> {
        let lowest = i128::from(T::LOWEST);
        let highest = i128::from(T::HIGHEST);
        Nullable { value: T::from(s.sum), valid: s.sum >= lowest && s.sum <= highest }
    }
}

//! Where something first holds.

use super::Nullable;
use crate::{ScanOp, scan_element, scan_op};

/// How many elements a part has, and how many of them come before the first `true`: the state of [`Position`].
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The number of elements.
    pub len: u64,
    /// The number of elements before the first `true`; all of them where there is none.
    pub before: u64,
}

/// The index of the first `true`, as [`Iterator::position`]. With [`map`](super::map()), of the first element for which
/// a function holds.
///
/// The output is [`Nullable`]: `valid` if there is one, and then `value` is its index, from 0 on. Where there is none,
/// `value` is the number of elements.
///
/// ```
/// use scan_runtime::{Scanner, ops, scan_fn};
///
/// #[scan_fn]
/// fn is_not_finite(x: f32) -> bool {
///     !x.is_finite()
/// }
///
/// let scanner = Scanner::new()?;
/// let x = [1.0, 3.0e38, 3.0e38, f32::NAN];
/// let sums = scanner.scan(ops::sum()).run(&x)?;
/// let first = scanner.reduce(ops::map::<is_not_finite, _>(ops::position())).run(&sums)?;
/// assert_eq!((first.valid, first.value), (true, 2)); // infinite
///
/// // In one call with the sums: the first input that is not finite.
/// let both = ops::pair(ops::sum(), ops::map::<is_not_finite, _>(ops::position()));
/// let (sums, total) = scanner.scan(both).with_total().run(&x)?;
/// assert_eq!((sums[1].first, total.map(|total| total.second.before)), (3.0e38, Some(3)));
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// A reduction by rows, keys or offsets gives the index within each segment. The result of a scan is that of the
/// elements so far; in a reversed scan it counts from the element of the result on. The initial value counts as
/// elements that come before: the total of a chunk is the initial value of the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position;

/// The operator [`Position`].
pub fn position() -> Position {
    Position
}

#[scan_op(crate = crate)]
impl ScanOp for Position {
    type Input = bool;
    type State = Found;
    type Output = Nullable<u64>;
    const IDENTITY: Found = Found { len: 0, before: 0 };
    #[inline]
    fn lift(x: bool) -> Found {
        Found { len: 1, before: if x { 0 } else { 1 } }
    }
    #[inline]
    fn combine(a: Found, b: Found) -> Found {
        Found { len: a.len + b.len, before: if a.before < a.len { a.before } else { a.len + b.before } }
    }
    #[inline]
    fn project(found: Found) -> Nullable<u64> {
        Nullable { value: found.before, valid: found.before < found.len }
    }
}

//! Two operators over two inputs.

use super::{Both, Map, Pair, map, pair};
use crate::{ScanElement, ScanOp, scan_fn};

/// The first of two values, for [`map`].
#[scan_fn(crate = crate)]
pub fn first_of<A: ScanElement, B: ScanElement>(both: Both<A, B>) -> A {
    both.first
}

/// The second of two values, for [`map`].
#[scan_fn(crate = crate)]
pub fn second_of<A: ScanElement, B: ScanElement>(both: Both<A, B>) -> B {
    both.second
}

/// A [`Pair`] of operators each of which reads an input of its own: the inputs are [`Both`].
pub type Zip<A, B> = Pair<
    Map<first_of<<A as ScanOp>::Input, <B as ScanOp>::Input>, A>,
    Map<second_of<<A as ScanOp>::Input, <B as ScanOp>::Input>, B>,
>;

/// Two operators over two inputs in one call: the first operator reads the first array of a tuple, the second one the
/// second. Segments and places are the same for both.
///
/// With [`first`](super::first) a reduction by keys writes the keys next to the results:
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let (shops, prices) = ([7_u64, 7, 8], [5.0, 2.0, 9.0]);
/// let totals = Scanner::new()?.reduce(ops::zip(ops::first(), ops::sum()));
/// let totals = totals.by_keys(&shops).run((&shops, &prices))?;
/// assert_eq!(totals, [ops::Both { first: 7, second: 7.0 }, ops::Both { first: 8, second: 9.0 }]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// For more than two operators, nest them; the fields of the input are then structs.
pub fn zip<A: ScanOp, B: ScanOp>(first: A, second: B) -> Zip<A, B> {
    pair(map(first), map(second))
}

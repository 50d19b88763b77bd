//! The place of the largest value so far.
//!
//! Of equal values the first counts. That is associative, but not commutative.

use crate::{ScanOp, scan_element, scan_op};

/// A value and its place.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// The value.
    pub value: f32,
    /// Its place.
    pub place: u32,
}

/// The place of the largest value so far, the first of equal ones.
///
/// - Input: a value and its place, for example its index. A NaN is never the largest.
/// - Output: the place of the largest value; `u32::MAX` where no value is above −∞.
/// - Source: the operation `MPI_MAXLOC` of the MPI standard. It takes the lowest index of equal values; here it is the
///   first one.
///
/// ```
/// use scan_runtime::{Scanner, gallery::argmax::{ArgMax, Placed}};
///
/// let values = [1.0, 7.0, 7.0, 3.0, 9.0];
/// let placed: Vec<Placed> = (0..).zip(values).map(|(place, value)| Placed { value, place }).collect();
/// assert_eq!(Scanner::new()?.scan(ArgMax).run(&placed)?, [0, 1, 1, 1, 4]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArgMax;

#[scan_op(crate = crate)]
impl ScanOp for ArgMax {
    type Input = Placed;
    type State = Placed;
    type Output = u32;
    const IDENTITY: Placed = Placed { value: f32::NEG_INFINITY, place: u32::MAX };
    fn combine(a: Placed, b: Placed) -> Placed {
        if b.value > a.value { b } else { a }
    }
    fn project(s: Placed) -> u32 {
        s.place
    }
}

//! Maximum subarray: the largest sum of neighbouring values.
//!
//! The best range of two adjacent parts lies in one of them, or is an end of the first with a beginning of the second.
//! A part is described by four sums. The loop over single values, which is Kadane's, needs two.

use crate::{ScanOp, scan_element, scan_op};

/// Sums of neighbouring values in a part of the input.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    /// The sum of the whole part.
    pub all: i64,
    /// The largest sum of a range that begins with the part.
    pub beginning: i64,
    /// The largest sum of a range that ends with the part.
    pub end: i64,
    /// The largest sum of any range of the part.
    pub best: i64,
}

/// The largest sums of neighbouring values so far.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Best {
    /// Of a range that ends here.
    pub end: i64,
    /// Of any range.
    pub best: i64,
}

/// The largest sum of neighbouring values so far, for example the gain of the best period. A range may be empty, so no
/// sum is below 0.
///
/// - Input: a change, as a whole number of any unit.
/// - Output: the largest sum, in the same unit.
/// - Source: J. Bentley, *Programming Pearls: Algorithm Design Techniques*, Communications of the ACM 27, 1984; as a
///   scan, K. Perumalla and N. Deo, *Parallel Algorithms for Maximum Subsequence and Maximum Subarray*, Parallel
///   Processing Letters 5, 1995.
///
/// ```
/// use scan_runtime::{Scanner, gallery::maximum_subarray::BestPeriod};
///
/// let best = Scanner::new()?.scan(BestPeriod).run(&[2, -3, 4, -1, 3])?;
/// assert_eq!(best, [2, 2, 4, 4, 6]); // 6 is 4 - 1 + 3.
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BestPeriod;

#[scan_op(crate = crate)]
impl ScanOp for BestPeriod {
    type Input = i32;
    type State = Sums;
    type Carry = Best;
    type Output = i64;
    const IDENTITY: Sums = Sums { all: 0, beginning: 0, end: 0, best: 0 };
    const START: Best = Best { end: 0, best: 0 };
    fn lift(x: i32) -> Sums {
        let gain = x as i64;
        Sums { all: gain, beginning: gain.max(0), end: gain.max(0), best: gain.max(0) }
    }
    fn combine(a: Sums, b: Sums) -> Sums {
        Sums {
            all: a.all + b.all,
            beginning: a.beginning.max(a.all + b.beginning),
            end: b.end.max(a.end + b.all),
            best: a.best.max(b.best).max(a.end + b.beginning),
        }
    }
    fn append(s: Sums, x: i32) -> Sums {
        let all = s.all + x as i64;
        let end = (s.end + x as i64).max(0);
        Sums { all, beginning: s.beginning.max(all), end, best: s.best.max(end) }
    }
    fn apply(s: Sums, c: Best) -> Best {
        Best { end: s.end.max(c.end + s.all), best: c.best.max(s.best).max(c.end + s.beginning) }
    }
    fn step(c: Best, x: i32) -> Best {
        let end = (c.end + x as i64).max(0);
        Best { end, best: c.best.max(end) }
    }
    fn project(c: Best) -> i64 {
        c.best
    }
}

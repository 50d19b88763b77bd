//! Maximum subarray: the best sum of neighbouring values so far, from four sums of each stretch.

use super::{Example, below, each_prefix};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// The sums of a stretch: of all of it, and the largest of its beginnings, of its ends, and within it. None is below that of no
/// values at all.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    all: i64,
    beginning: i64,
    end: i64,
    best: i64,
}

/// The gain of the best period so far.
#[derive(Clone, Copy, Debug)]
pub struct BestPeriod;

#[scan_op]
impl ScanOp for BestPeriod {
    type Input = i32;
    type State = Sums;
    type Output = i64;
    const IDENTITY: Sums = Sums { all: 0, beginning: 0, end: 0, best: 0 };
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
    fn project(s: Sums) -> i64 {
        s.best
    }
}

impl Example for BestPeriod {
    fn new() -> Self {
        BestPeriod
    }
    /// Changes of a price, in cents.
    fn input(len: usize) -> Vec<i32> {
        (0..len).map(|day| below(2001, day) as i32 - 1000).collect()
    }
    /// Kadane's loop.
    fn expected(&self, input: &[i32]) -> Vec<i64> {
        each_prefix(input, (0_i64, 0_i64), |(ending_here, best), x| {
            *ending_here = (*ending_here + i64::from(x)).max(0);
            *best = (*best).max(*ending_here);
            *best
        })
    }
}

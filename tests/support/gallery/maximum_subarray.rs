use super::{Example, below, each_prefix};
use scan_runtime::gallery::maximum_subarray::BestPeriod;

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

use super::{Example, below, each_prefix};
use scan_runtime::gallery::saturating_counter::BranchPredictor;

impl Example for BranchPredictor {
    fn new() -> Self {
        BranchPredictor
    }
    /// A loop of nine rounds, and a branch that depends on data.
    fn input(len: usize) -> Vec<bool> {
        (0..len).map(|i| if i % 2 == 0 { i % 18 != 16 } else { below(3, i) == 0 }).collect()
    }
    fn expected(&self, input: &[bool]) -> Vec<u8> {
        each_prefix(input, 1_u8, |counter, taken| {
            *counter = if taken { (*counter + 1).min(3) } else { counter.saturating_sub(1) };
            *counter
        })
    }
}

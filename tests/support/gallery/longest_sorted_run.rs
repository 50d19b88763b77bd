use super::{Example, below, each_prefix};
use scan_runtime::gallery::longest_sorted_run::LongestClimb;

impl Example for LongestClimb {
    fn new() -> Self {
        LongestClimb
    }
    /// Heights along a path that climbs more often than not.
    fn input(len: usize) -> Vec<i32> {
        each_prefix(&(0..len).collect::<Vec<_>>(), 0_i32, |height, i| {
            *height += below(12, i) as i32 - 1;
            if i % 97 == 96 {
                *height -= 300;
            }
            *height
        })
    }
    fn expected(&self, input: &[i32]) -> Vec<u32> {
        each_prefix(input, (None, 0_u32, 0_u32), |(last, current, longest), x| {
            *current = if last.is_some_and(|last| last <= x) { *current + 1 } else { 1 };
            *last = Some(x);
            *longest = (*longest).max(*current);
            *longest
        })
    }
}

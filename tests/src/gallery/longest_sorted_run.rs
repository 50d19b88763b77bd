//! The longest run of values that do not descend, so far.

use super::{Example, below, each_prefix};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// A stretch: its ends, how many values it has, and how many are sorted at its beginning, at its end, and anywhere.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    first: i32,
    last: i32,
    len: u32,
    beginning: u32,
    end: u32,
    longest: u32,
}

/// The length of the longest climb.
#[derive(Clone, Copy, Debug)]
pub struct LongestClimb;

#[scan_op]
impl ScanOp for LongestClimb {
    type Input = i32;
    type State = Stretch;
    type Output = u32;
    const IDENTITY: Stretch = Stretch { first: 0, last: 0, len: 0, beginning: 0, end: 0, longest: 0 };
    fn lift(x: i32) -> Stretch {
        Stretch { first: x, last: x, len: 1, beginning: 1, end: 1, longest: 1 }
    }
    fn combine(a: Stretch, b: Stretch) -> Stretch {
        if a.len == 0 {
            return b;
        }
        if b.len == 0 {
            return a;
        }
        let joined = if a.last <= b.first { a.end + b.beginning } else { 0 };
        let goes_on = a.last <= b.first;
        Stretch {
            first: a.first,
            last: b.last,
            len: a.len + b.len,
            beginning: if goes_on && a.beginning == a.len { a.len + b.beginning } else { a.beginning },
            end: if goes_on && b.end == b.len { a.end + b.len } else { b.end },
            longest: a.longest.max(b.longest).max(joined),
        }
    }
    fn project(s: Stretch) -> u32 {
        s.longest
    }
}

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

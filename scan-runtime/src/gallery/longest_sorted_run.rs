//! The longest run of values that do not descend.
//!
//! A run of two adjacent parts lies in one of them, or goes on from the first to the second. So a part keeps its first
//! and last value, and the runs at its beginning and its end.

use crate::{ScanOp, scan_element, scan_op};

/// The runs of a part of the input.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// The first value of the part.
    pub first: i32,
    /// Its last value.
    pub last: i32,
    /// The number of its values. Where it is 0, the ends mean nothing.
    pub len: u32,
    /// The length of the run at its beginning.
    pub beginning: u32,
    /// The length of the run at its end.
    pub end: u32,
    /// The length of its longest run.
    pub longest: u32,
}

/// The runs up to a value.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Climb {
    /// The value. Where `end` is 0, it means nothing.
    pub last: i32,
    /// The length of the run that ends with it.
    pub end: u32,
    /// The length of the longest run.
    pub longest: u32,
}

/// The length of the longest run so far in which no value is below the one before it.
///
/// - Input: a value.
/// - Output: the number of values in the longest run.
/// - Source: M. Cole, *Parallel Programming, List Homomorphisms and the Maximum Segment Sum Problem*, 1993, whose
///   method makes a homomorphism of such a function.
///
/// ```
/// use scan_runtime::{Scanner, gallery::longest_sorted_run::LongestClimb};
///
/// let longest = Scanner::new()?.scan(LongestClimb).run(&[1, 2, 2, 0, 5, 6, 7])?;
/// assert_eq!(longest, [1, 2, 3, 3, 3, 3, 4]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LongestClimb;

#[scan_op(crate = crate)]
impl ScanOp for LongestClimb {
    type Input = i32;
    type State = Stretch;
    type Carry = Climb;
    type Output = u32;
    const IDENTITY: Stretch = Stretch { first: 0, last: 0, len: 0, beginning: 0, end: 0, longest: 0 };
    const START: Climb = Climb { last: 0, end: 0, longest: 0 };
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
    fn append(s: Stretch, x: i32) -> Stretch {
        let len = s.len + 1;
        let end = if s.last <= x { s.end + 1 } else { 1 };
        Stretch {
            first: if s.len == 0 { x } else { s.first },
            last: x,
            len,
            beginning: if end == len || s.len == 0 { len } else { s.beginning },
            end,
            longest: s.longest.max(end),
        }
    }
    fn apply(s: Stretch, c: Climb) -> Climb {
        if s.len == 0 {
            return c;
        }
        let joined = if c.last <= s.first { c.end } else { 0 };
        Climb {
            last: s.last,
            end: if s.end == s.len { joined + s.len } else { s.end },
            longest: c.longest.max(s.longest).max(joined + s.beginning),
        }
    }
    fn step(c: Climb, x: i32) -> Climb {
        let end = if c.last <= x { c.end + 1 } else { 1 };
        Climb { last: x, end, longest: c.longest.max(end) }
    }
    fn project(c: Climb) -> u32 {
        c.longest
    }
}

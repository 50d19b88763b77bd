//! Runs of equal values: at each value, the length of its run so far.

use crate::{ScanOp, scan_element, scan_op};

/// The run at the end of a part of the input.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Its length; 0 where the part is empty.
    pub len: u32,
    /// Its value.
    pub value: u8,
    /// Whether the run is the whole part.
    pub whole: bool,
}

/// The run at a value.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Current {
    /// Its length so far; 0 before the first value.
    pub len: u32,
    /// Its value.
    pub value: u8,
}

/// The number of equal values in a row that ends at each value.
///
/// - Input: a value of one byte, for example a pixel of a line.
/// - Output: the length of the current run: 1 at its first value.
/// - Source: a sum of ones that restarts at each new value, the segmented scan of G. E. Blelloch, *Prefix Sums and
///   Their Applications*, 1990. Here the operator finds where a run begins.
///
/// ```
/// use scan_runtime::{Scanner, gallery::run_length::RunLength};
///
/// assert_eq!(Scanner::new()?.scan(RunLength).run(b"aabbba")?, [1, 2, 1, 2, 3, 1]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunLength;

#[scan_op(crate = crate)]
impl ScanOp for RunLength {
    type Input = u8;
    type State = Run;
    type Carry = Current;
    type Output = u32;
    const IDENTITY: Run = Run { len: 0, value: 0, whole: true };
    const START: Current = Current { len: 0, value: 0 };
    fn lift(value: u8) -> Run {
        Run { len: 1, value, whole: true }
    }
    fn combine(a: Run, b: Run) -> Run {
        if a.len == 0 {
            b
        } else if b.len == 0 {
            a
        } else if b.whole && a.value == b.value {
            Run { len: a.len + b.len, ..a }
        } else {
            Run { whole: false, ..b }
        }
    }
    fn append(s: Run, value: u8) -> Run {
        let goes_on = s.value == value;
        Run { len: if goes_on { s.len + 1 } else { 1 }, value, whole: s.whole && (goes_on || s.len == 0) }
    }
    fn apply(s: Run, c: Current) -> Current {
        if s.len == 0 {
            c
        } else {
            Current { len: if s.whole && s.value == c.value { c.len + s.len } else { s.len }, value: s.value }
        }
    }
    fn step(c: Current, value: u8) -> Current {
        Current { len: if c.value == value { c.len + 1 } else { 1 }, value }
    }
    fn project(c: Current) -> u32 {
        c.len
    }
}

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
    type Output = u32;
    const IDENTITY: Run = Run { len: 0, value: 0, whole: true };
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
        if s.len > 0 && s.value == value {
            Run { len: s.len + 1, ..s }
        } else {
            Run { len: 1, value, whole: s.len == 0 }
        }
    }
    fn project(s: Run) -> u32 {
        s.len
    }
}

//! How long the run of equal values is that ends at each.

use super::{Example, below, each_prefix};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// The run at the end of a stretch.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Run {
    len: u32,
    value: u8,
    /// Whether the run is all of the stretch.
    whole: bool,
}

/// The length of the current run.
#[derive(Clone, Copy, Debug)]
pub struct RunLength;

#[scan_op]
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
    fn project(s: Run) -> u32 {
        s.len
    }
}

impl Example for RunLength {
    fn new() -> Self {
        RunLength
    }
    /// A line of a black and white picture.
    fn input(len: usize) -> Vec<u8> {
        each_prefix(&(0..len).collect::<Vec<_>>(), 0_u8, |colour, i| {
            if below(6, i) == 0 {
                *colour = 255 - *colour;
            }
            *colour
        })
    }
    fn expected(&self, input: &[u8]) -> Vec<u32> {
        let start = |end: usize| input[..end].iter().rev().take_while(|&&value| value == input[end]).count();
        (0..input.len()).map(|end| start(end) as u32 + 1).collect()
    }
}

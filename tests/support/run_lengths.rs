//! Run lengths: results at consecutive places, of which there are fewer than elements.

use scan_runtime::{ScanOp, scan_element, scan_op};

/// Elements one after the other: the first and the last of them, how many runs have ended among them, and the length of
/// the last one. No elements have the length 0.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The first element.
    pub first: u32,
    /// The last element.
    pub last: u32,
    /// Runs that have ended.
    pub ended: u32,
    /// The length of the last run, so far.
    pub length: u32,
}

/// How many runs have ended, and the run that has not.
#[scan_element]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Open {
    /// Runs that have ended.
    pub ended: u32,
    /// The element of the run.
    pub value: u32,
    /// The length of the last run, so far.
    pub length: u32,
}

/// A run: its number, its element, its length.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The number of the run, or the largest number where none ends.
    pub place: u32,
    /// The element of the run.
    pub value: u32,
    /// The length of the last run, so far.
    pub length: u32,
}

/// Each run of equal elements where the next one begins. The last run is the total.
#[derive(Clone, Copy, Debug)]
pub struct RunLengths;

#[scan_op]
impl ScanOp for RunLengths {
    type Input = u32;
    type State = Stretch;
    type Carry = Open;
    type Output = Run;
    const IDENTITY: Stretch = Stretch { first: 0, last: 0, ended: 0, length: 0 };
    const START: Open = Open { ended: 0, value: 0, length: 0 };
    fn lift(x: u32) -> Stretch {
        Stretch { first: x, last: x, ended: 0, length: 1 }
    }
    fn combine(a: Stretch, b: Stretch) -> Stretch {
        if a.length == 0 {
            return b;
        }
        if b.length == 0 {
            return a;
        }
        let ended = b.ended + (a.last != b.first) as u32;
        let length = if ended > 0 { b.length } else { a.length + b.length };
        Stretch { first: a.first, last: b.last, ended: a.ended + ended, length }
    }
    fn append(s: Stretch, x: u32) -> Stretch {
        let ends = s.last != x && s.length > 0;
        let first = if s.length == 0 { x } else { s.first };
        Stretch { first, last: x, ended: s.ended + ends as u32, length: if ends { 1 } else { s.length + 1 } }
    }
    fn apply(s: Stretch, c: Open) -> Open {
        if s.length == 0 {
            return c;
        }
        let ended = s.ended + (c.value != s.first && c.length > 0) as u32;
        let length = if ended > 0 { s.length } else { c.length + s.length };
        Open { ended: c.ended + ended, value: s.last, length }
    }
    fn step(c: Open, x: u32) -> Open {
        let ends = c.value != x && c.length > 0;
        Open { ended: c.ended + ends as u32, value: x, length: if ends { 1 } else { c.length + 1 } }
    }
    fn emit(c: Open, x: u32) -> Run {
        let ends = c.value != x && c.length > 0;
        Run { place: if ends { c.ended } else { u32::MAX }, value: c.value, length: c.length }
    }
}

//! Counters that saturate, as a branch predictor has them. Saturating addition is not associative, but x ↦ (x + add) held
//! between two bounds is a map, and two such maps compose to a third.

use super::{Example, below, each_prefix};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// x ↦ (x + add).clamp(low, high)
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Clamped {
    add: i32,
    low: i32,
    high: i32,
}

/// A counter of two bits: up where a branch is taken, down where it is not.
#[derive(Clone, Copy, Debug)]
pub struct BranchPredictor;

#[scan_op(laws)]
impl ScanOp for BranchPredictor {
    type Input = bool;
    type State = Clamped;
    type Output = u8;
    const IDENTITY: Clamped = Clamped { add: 0, low: -1_000_000_000, high: 1_000_000_000 };
    fn lift(taken: bool) -> Clamped {
        Clamped { add: if taken { 1 } else { -1 }, low: 0, high: 3 }
    }
    fn combine(f: Clamped, g: Clamped) -> Clamped {
        Clamped {
            add: f.add + g.add,
            low: (f.low + g.add).clamp(g.low, g.high),
            high: (f.high + g.add).clamp(g.low, g.high),
        }
    }
    fn project(f: Clamped) -> u8 {
        (1 + f.add).clamp(f.low, f.high) as u8
    }
}

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

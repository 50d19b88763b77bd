//! Saturating counters, as in a branch predictor.
//!
//! Saturating addition is not associative. But x ↦ (x + add).clamp(low, high) is a map, and two such maps compose to a
//! third.

use crate::{ScanOp, scan_element, scan_op};

/// The map x ↦ (x + add).clamp(low, high).
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Clamped {
    /// The term that is added.
    pub add: i32,
    /// The least result.
    pub low: i32,
    /// The greatest result.
    pub high: i32,
}

/// A counter of two bits: up where a branch is taken, down where it is not, from 1 before the first branch.
///
/// - Input: whether the branch is taken.
/// - Output: the counter, from 0 to 3. A predictor takes 2 and 3 for "taken".
/// - Source: J. E. Smith, *A Study of Branch Prediction Strategies*, 8th Annual Symposium on Computer Architecture,
///   1981.
///
/// ```
/// use scan_runtime::{Scanner, gallery::saturating_counter::BranchPredictor};
///
/// let counters = Scanner::new()?.scan(BranchPredictor).run(&[true, true, true, false])?;
/// assert_eq!(counters, [2, 3, 3, 2]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchPredictor;

#[scan_op(crate = crate, laws)]
impl ScanOp for BranchPredictor {
    type Input = bool;
    type State = Clamped;
    type Carry = u8;
    type Output = u8;
    const IDENTITY: Clamped = Clamped { add: 0, low: -1_000_000_000, high: 1_000_000_000 };
    const START: u8 = 1;
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
    fn append(f: Clamped, taken: bool) -> Clamped {
        let by: i32 = if taken { 1 } else { -1 };
        Clamped { add: f.add + by, low: (f.low + by).clamp(0, 3), high: (f.high + by).clamp(0, 3) }
    }
    fn apply(f: Clamped, counter: u8) -> u8 {
        (counter as i32 + f.add).clamp(f.low, f.high) as u8
    }
    fn step(counter: u8, taken: bool) -> u8 {
        let by: i32 = if taken { 1 } else { -1 };
        (counter as i32 + by).clamp(0, 3) as u8
    }
}

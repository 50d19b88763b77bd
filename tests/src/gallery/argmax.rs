//! Where the largest value so far stands, the first of equal ones: ties go to the left, which is not commutative.

use super::{Example, below, each_prefix};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// A value and its place.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    value: f32,
    place: u32,
}

/// The place of the largest value.
#[derive(Clone, Copy, Debug)]
pub struct ArgMax;

#[scan_op]
impl ScanOp for ArgMax {
    type Input = Placed;
    type State = Placed;
    type Output = u32;
    const IDENTITY: Placed = Placed { value: f32::NEG_INFINITY, place: u32::MAX };
    fn combine(a: Placed, b: Placed) -> Placed {
        if b.value > a.value { b } else { a }
    }
    fn project(s: Placed) -> u32 {
        s.place
    }
}

impl Example for ArgMax {
    fn new() -> Self {
        ArgMax
    }
    /// Scores with many ties, slowly rising.
    fn input(len: usize) -> Vec<Placed> {
        (0..len).map(|i| Placed { value: (below(40, i) + i as u64 / 50) as f32 * 0.5, place: i as u32 }).collect()
    }
    fn expected(&self, input: &[Placed]) -> Vec<u32> {
        each_prefix(input, 0_usize, |best, x| {
            let largest = input[*best].value;
            if x.value.total_cmp(&largest).is_gt() {
                *best = x.place as usize;
            }
            *best as u32
        })
    }
}

//! A recurrence of second order: y ← p·y₁ + q·y₂ + x.
//!
//! Each step is an affine map that takes (y₁, y₂) to (y, y₁), where y₁ and y₂ are the last two outputs. The
//! composition of maps is associative.

use crate::{ScanOp, scan_element, scan_op};

/// One step, or several: for each of the last two outputs, the last one first, its weights of y₁ and y₂, and a term.
pub type Steps = [[f64; 3]; 2];

/// A filter of second order, y ← p·y₁ + q·y₂ + x, that starts at rest: y₁ = y₂ = 0.
///
/// With p = 2·r·cos ω and q = −r² it is an oscillator of ω radians per step, damped by the factor r per step.
///
/// Of weights with which the answer to a pulse grows, as below, parts of the input [overflow](ScanOp#overflow) by
/// themselves: with p = q = 1 that takes 1,475 steps, from which on results may be NaN, also those of no excitation.
///
/// - Input: the excitation at each step, in any unit.
/// - Output: the filter's output, in the same unit.
/// - Source: the higher order recurrences of G. E. Blelloch, *Prefix Sums and Their Applications*, 1990.
///
/// ```
/// use scan_runtime::{Scanner, gallery::second_order_recurrence::Oscillator};
///
/// // With p = q = 1, the answer to one pulse is the Fibonacci numbers.
/// let answer = Scanner::new()?.scan(Oscillator { p: 1.0, q: 1.0 }).run(&[1.0, 0.0, 0.0, 0.0, 0.0])?;
/// assert_eq!(answer, [1.0, 1.0, 2.0, 3.0, 5.0]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Oscillator {
    /// The weight of the last output.
    pub p: f64,
    /// The weight of the output before the last.
    pub q: f64,
}

#[scan_op(crate = crate, gradient(p: f64, q: f64))]
impl ScanOp for Oscillator {
    type Input = f64;
    type State = Steps;
    /// The last two outputs, the last one first.
    type Carry = [f64; 2];
    type Output = f64;
    const IDENTITY: Steps = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    const START: [f64; 2] = [0.0, 0.0];
    fn lift(&self, x: f64) -> Steps {
        [[self.p, self.q, x], [1.0_f64, 0.0, 0.0]]
    }
    fn combine(a: Steps, b: Steps) -> Steps {
        let mut both = b;
        for i in 0..2_usize {
            for j in 0..3_usize {
                both[i][j] = b[i][0] * a[0][j] + b[i][1] * a[1][j];
            }
            both[i][2] += b[i][2];
        }
        both
    }
    fn append(&self, steps: Steps, x: f64) -> Steps {
        let mut last = [0.0_f64; 3];
        for j in 0..3_usize {
            last[j] = self.p * steps[0][j] + self.q * steps[1][j];
        }
        last[2] += x;
        [last, steps[0]]
    }
    fn apply(steps: Steps, y: [f64; 2]) -> [f64; 2] {
        [steps[0][0] * y[0] + steps[0][1] * y[1] + steps[0][2], steps[1][0] * y[0] + steps[1][1] * y[1] + steps[1][2]]
    }
    fn step(&self, y: [f64; 2], x: f64) -> [f64; 2] {
        [self.p * y[0] + self.q * y[1] + x, y[0]]
    }
    fn project(y: [f64; 2]) -> f64 {
        y[0]
    }
}

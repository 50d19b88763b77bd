//! A recurrence of second order: y ← p·y₁ + q·y₂ + x.
//!
//! Each step is a matrix that takes (y₁, y₂, 1) to (y, y₁, 1), where y₁ and y₂ are the last two outputs. The product
//! of matrices is associative.

use crate::{ScanOp, scan_element, scan_op};

/// A matrix of 3 × 3, by rows: one step, or several.
pub type Matrix = [[f64; 3]; 3];

/// A filter of second order, y ← p·y₁ + q·y₂ + x, that starts at rest: y₁ = y₂ = 0.
///
/// With p = 2·r·cos ω and q = −r² it is an oscillator of ω radians per step, damped by the factor r per step.
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

#[scan_op(crate = crate)]
impl ScanOp for Oscillator {
    type Input = f64;
    type State = Matrix;
    /// The last two outputs, the last one first.
    type Carry = [f64; 2];
    type Output = f64;
    const IDENTITY: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    const START: [f64; 2] = [0.0, 0.0];
    fn lift(&self, x: f64) -> Matrix {
        [[self.p, self.q, x], [1.0_f64, 0.0, 0.0], [0.0_f64, 0.0, 1.0]]
    }
    /// The product `b · a`: a matrix acts on what is to its right, so the later step is the left factor.
    fn combine(a: Matrix, b: Matrix) -> Matrix {
        let mut product = [[0.0_f64; 3]; 3];
        for i in 0..3_usize {
            for j in 0..3_usize {
                for k in 0..3_usize {
                    product[i][j] += b[i][k] * a[k][j];
                }
            }
        }
        product
    }
    fn append(&self, steps: Matrix, x: f64) -> Matrix {
        let mut first = [0.0_f64; 3];
        for j in 0..3_usize {
            first[j] = self.p * steps[0][j] + self.q * steps[1][j];
        }
        first[2] += x;
        [first, steps[0], steps[2]]
    }
    fn apply(steps: Matrix, y: [f64; 2]) -> [f64; 2] {
        [steps[0][0] * y[0] + steps[0][1] * y[1] + steps[0][2], steps[1][0] * y[0] + steps[1][1] * y[1] + steps[1][2]]
    }
    fn step(&self, y: [f64; 2], x: f64) -> [f64; 2] {
        [self.p * y[0] + self.q * y[1] + x, y[0]]
    }
    fn project(y: [f64; 2]) -> f64 {
        y[0]
    }
}

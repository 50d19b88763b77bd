//! A recurrence of second order, y ← p·y₁ + q·y₂ + x: steps are matrices that take (y₁, y₂, 1) to (y, y₁, 1).

use super::{Example, each_prefix, uniform};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// A matrix, by rows.
type Matrix = [[f64; 3]; 3];

/// A damped oscillator that is pushed now and then.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Oscillator {
    p: f64,
    q: f64,
}

#[scan_op]
impl ScanOp for Oscillator {
    type Input = f64;
    type State = Matrix;
    type Output = f64;
    const IDENTITY: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    fn lift(&self, x: f64) -> Matrix {
        [[self.p, self.q, x], [1.0_f64, 0.0, 0.0], [0.0_f64, 0.0, 1.0]]
    }
    /// The later step stands on the left of a product of matrices.
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
    fn project(steps: Matrix) -> f64 {
        steps[0][2] // of rest, y₁ = y₂ = 0
    }
}

impl Example for Oscillator {
    fn new() -> Self {
        Oscillator { p: 1.8, q: -0.9 }
    }
    fn input(len: usize) -> Vec<f64> {
        (0..len).map(|i| if i % 17 == 0 { uniform(i) - 0.5 } else { 0.0 }).collect()
    }
    fn expected(&self, input: &[f64]) -> Vec<f64> {
        each_prefix(input, (0.0, 0.0), |(before, last), x| {
            (*before, *last) = (*last, self.p * *last + self.q * *before + x);
            *last
        })
    }
    fn tolerance() -> f64 {
        1e-10
    }
}

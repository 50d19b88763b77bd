//! The logarithm of a sum of exponentials, as probabilities are added that are too small for a float: the largest exponent is
//! kept apart from the sum of what remains.

use super::{Example, each_prefix, uniform};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// e^largest · sum
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Scaled {
    largest: f32,
    sum: f32,
}

/// ln(e^x₀ + e^x₁ + …)
#[derive(Clone, Copy, Debug)]
pub struct LogSumExp;

#[scan_op]
impl ScanOp for LogSumExp {
    type Input = f32;
    type State = Scaled;
    type Output = f32;
    const IDENTITY: Scaled = Scaled { largest: f32::NEG_INFINITY, sum: 0.0 };
    fn lift(x: f32) -> Scaled {
        Scaled { largest: x, sum: 1.0 }
    }
    fn combine(a: Scaled, b: Scaled) -> Scaled {
        if a.sum == 0.0 {
            b
        } else if b.sum == 0.0 {
            a
        } else {
            let largest = a.largest.max(b.largest);
            Scaled { largest, sum: a.sum * (a.largest - largest).exp() + b.sum * (b.largest - largest).exp() }
        }
    }
    fn project(s: Scaled) -> f32 {
        s.largest + s.sum.ln()
    }
}

impl Example for LogSumExp {
    fn new() -> Self {
        LogSumExp
    }
    /// Logarithms of probabilities that no `f32` holds.
    fn input(len: usize) -> Vec<f32> {
        (0..len).map(|i| (-600.0 + 80.0 * uniform(i)) as f32).collect()
    }
    /// In `f64`, which holds e^-600.
    fn expected(&self, input: &[f32]) -> Vec<f32> {
        each_prefix(input, 0.0, |sum, x| {
            *sum += f64::from(x).exp();
            sum.ln() as f32
        })
    }
    fn tolerance() -> f64 {
        1e-6
    }
}

//! The product of complex numbers: the phase of an oscillator whose frequency wanders.

use super::{Example, each_prefix, uniform};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// re + im·i
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Complex {
    re: f64,
    im: f64,
}

/// e to the i times the sum of angles.
#[derive(Clone, Copy, Debug)]
pub struct Phase;

#[scan_op]
impl ScanOp for Phase {
    type Input = f64;
    type State = Complex;
    type Output = Complex;
    const IDENTITY: Complex = Complex { re: 1.0, im: 0.0 };
    fn lift(angle: f64) -> Complex {
        Complex { re: angle.cos(), im: angle.sin() }
    }
    fn combine(a: Complex, b: Complex) -> Complex {
        Complex { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
    }
}

impl Example for Phase {
    fn new() -> Self {
        Phase
    }
    fn input(len: usize) -> Vec<f64> {
        (0..len).map(|i| 0.1 + 0.01 * (uniform(i) - 0.5)).collect()
    }
    fn expected(&self, input: &[f64]) -> Vec<Complex> {
        each_prefix(input, 0.0_f64, |sum, angle| {
            *sum += angle;
            Complex { re: sum.cos(), im: sum.sin() }
        })
    }
    fn tolerance() -> f64 {
        1e-9
    }
}

use super::{Example, each_prefix, uniform};
use scan_runtime::gallery::complex_product::{Complex, Phase};

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

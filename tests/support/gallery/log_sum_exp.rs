use super::{Example, each_prefix, uniform};
use scan_runtime::gallery::log_sum_exp::LogSumExp;

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

use super::{Example, below, each_prefix};
use scan_runtime::gallery::welford::Moments;

impl Example for Moments {
    fn new() -> Self {
        Moments
    }
    /// Pressures in hectopascal, to a quarter.
    fn input(len: usize) -> Vec<f32> {
        (0..len).map(|i| 990.0 + below(160, i) as f32 * 0.25).collect()
    }
    /// By exact sums of whole quarters.
    fn expected(&self, input: &[f32]) -> Vec<[f64; 2]> {
        each_prefix(input, (0_i128, 0_i128, 0_i128), |(count, sum, squares), x| {
            let quarters = (x * 4.0) as i128;
            (*count, *sum, *squares) = (*count + 1, *sum + quarters, *squares + quarters * quarters);
            let mean = *sum as f64 / *count as f64 / 4.0;
            let spread = *count * *squares - *sum * *sum;
            let variance = if *count > 1 { spread as f64 / (*count * (*count - 1)) as f64 / 16.0 } else { 0.0 };
            [mean, variance]
        })
    }
    fn tolerance() -> f64 {
        1e-9
    }
}

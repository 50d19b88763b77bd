use super::{Example, each_prefix, uniform};
use scan_runtime::gallery::linear_recurrence::Smoothing;

impl Example for Smoothing {
    fn new() -> Self {
        Smoothing { alpha: 0.25 }
    }
    /// A temperature by the hour, in degrees.
    fn input(len: usize) -> Vec<f32> {
        (0..len).map(|hour| (15.0 + 8.0 * (hour as f64 / 24.0).sin() + 2.0 * uniform(hour)) as f32).collect()
    }
    fn expected(&self, input: &[f32]) -> Vec<f32> {
        let alpha = f64::from(self.alpha);
        each_prefix(input, 0.0, |y, x| {
            *y += alpha * (f64::from(x) - *y);
            *y as f32
        })
    }
    fn tolerance() -> f64 {
        1e-5
    }
}

use super::{Example, each_prefix, uniform};
use scan_runtime::gallery::second_order_recurrence::Oscillator;

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

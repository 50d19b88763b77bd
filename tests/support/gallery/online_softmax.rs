use super::{Example, each_prefix, uniform};
use scan_runtime::gallery::online_softmax::{Attention, Scored};

impl Example for Attention {
    fn new() -> Self {
        Attention
    }
    fn input(len: usize) -> Vec<Scored> {
        let value = |i: usize| [0, 1, 2, 3].map(|j| (uniform(5 * i + j) * 2.0 - 1.0) as f32);
        (0..len).map(|i| Scored { score: (12.0 * uniform(5 * i + 4)) as f32, value: value(i) }).collect()
    }
    /// By the formula, with e^score as it is.
    fn expected(&self, input: &[Scored]) -> Vec<[f32; 4]> {
        each_prefix(input, (0.0, [0.0; 4]), |(sum, weighted), x| {
            let weight = f64::from(x.score).exp();
            *sum += weight;
            weighted.iter_mut().zip(x.value).for_each(|(sum, value)| *sum += weight * f64::from(value));
            weighted.map(|weighted| (weighted / *sum) as f32)
        })
    }
    fn tolerance() -> f64 {
        1e-5
    }
}

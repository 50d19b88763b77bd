use super::{Example, below, each_prefix};
use scan_runtime::gallery::tropical_matrices::{CHANGE, Viterbi};

impl Example for Viterbi {
    fn new() -> Self {
        Viterbi
    }
    /// Whole scores, so that sums are exact at any length that tests have.
    fn input(len: usize) -> Vec<[f32; 3]> {
        (0..len).map(|i| [0, 1, 2].map(|state| below(9, 3 * i + state) as f32 - 4.0)).collect()
    }
    fn expected(&self, input: &[[f32; 3]]) -> Vec<f32> {
        let larger = |a: f32, b: f32| if a > b { a } else { b };
        each_prefix(input, [0.0, f32::NEG_INFINITY, f32::NEG_INFINITY], |best, fit| {
            let from = *best;
            for (state, best) in best.iter_mut().enumerate() {
                let costs = |other: usize| if other == state { 0.0 } else { CHANGE };
                *best = (0..3).map(|other| from[other] - costs(other)).fold(f32::NEG_INFINITY, larger) + fit[state];
            }
            best.iter().copied().fold(f32::NEG_INFINITY, larger)
        })
    }
}

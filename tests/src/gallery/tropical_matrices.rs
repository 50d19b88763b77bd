//! Matrices whose sum is the larger and whose product is the sum: Viterbi's best path through three hidden states.

use super::{Example, below, each_prefix};
use scan_runtime::{ScanOp, scan_op};

/// The best score of a path from each state to each.
type Scores = [[f32; 3]; 3];

/// What changing the state costs.
const CHANGE: f32 = 3.0;

/// The score of the best path that begins in state 0.
#[derive(Clone, Copy, Debug)]
pub struct Viterbi;

#[scan_op(laws = [[1.0, 0.0, -2.0], [0.5, 4.0, 4.0], [-1.0, 0.0, 8.0]])]
impl ScanOp for Viterbi {
    /// How well an observation fits each state.
    type Input = [f32; 3];
    type State = Scores;
    type Output = f32;
    const IDENTITY: Scores = [
        [0.0, f32::NEG_INFINITY, f32::NEG_INFINITY],
        [f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY],
        [f32::NEG_INFINITY, f32::NEG_INFINITY, 0.0],
    ];
    fn lift(fit: [f32; 3]) -> Scores {
        let mut scores = [[0.0_f32; 3]; 3];
        for i in 0..3_usize {
            for j in 0..3_usize {
                scores[i][j] = if i == j { fit[j] } else { fit[j] - CHANGE };
            }
        }
        scores
    }
    fn combine(a: Scores, b: Scores) -> Scores {
        let mut best = [[f32::NEG_INFINITY; 3]; 3];
        for i in 0..3_usize {
            for j in 0..3_usize {
                for k in 0..3_usize {
                    best[i][j] = best[i][j].max(a[i][k] + b[k][j]);
                }
            }
        }
        best
    }
    fn project(s: Scores) -> f32 {
        s[0][0].max(s[0][1]).max(s[0][2])
    }
}

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

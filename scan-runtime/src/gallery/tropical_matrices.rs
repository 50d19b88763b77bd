//! Viterbi's best path through three hidden states: matrices whose sum is the maximum and whose product is the sum.
//!
//! Such a matrix has the best score of a path from each state to each state. The product of matrices is associative.

use crate::{ScanOp, scan_fn, scan_op};

/// The best score of a path from each state (rows) to each state (columns).
pub type Scores = [[f32; 3]; 3];

/// The cost of a change of the state.
pub const CHANGE: f32 = 3.0;

/// The score of the best path so far that begins in state 0.
///
/// A path goes through one state per observation. Its score is the sum of the fits of its states, less [`CHANGE`] for
/// each change of the state.
///
/// - Input: the fit of an observation to each of the three states, for example a logarithm of a probability.
/// - Output: the score of the best path, in the same unit. Before the first observation the state is 0.
/// - Source: A. J. Viterbi, *Error Bounds for Convolutional Codes and an Asymptotically Optimum Decoding Algorithm*,
///   IEEE Transactions on Information Theory 13, 1967; as a scan, S. S. Hassan, S. Särkkä and Á. F. García-Fernández,
///   *Temporal Parallelization of Inference in Hidden Markov Models*, IEEE Transactions on Signal Processing 69, 2021.
///
/// ```
/// use scan_runtime::{Scanner, gallery::tropical_matrices::Viterbi};
///
/// let scores = Scanner::new()?.scan(Viterbi).run(&[[1.0, 0.0, 0.0], [0.0, 0.0, 9.0]])?;
/// assert_eq!(scores, [1.0, 7.0]); // 7 is 1 in state 0, and 9 - 3 in state 2.
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Viterbi;

#[scan_op(crate = crate, laws = [[1.0, 0.0, -2.0], [0.5, 4.0, 4.0], [-1.0, 0.0, 8.0]])]
impl ScanOp for Viterbi {
    type Input = [f32; 3];
    type State = Scores;
    /// The best score that ends in each state.
    type Carry = [f32; 3];
    type Output = f32;
    const IDENTITY: Scores = [
        [0.0, f32::NEG_INFINITY, f32::NEG_INFINITY],
        [f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY],
        [f32::NEG_INFINITY, f32::NEG_INFINITY, 0.0],
    ];
    const START: [f32; 3] = [0.0, f32::NEG_INFINITY, f32::NEG_INFINITY];
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
    /// Less than a product: the best predecessor of a change is the same for all three states.
    fn append(s: Scores, fit: [f32; 3]) -> Scores {
        let mut best = s;
        for i in 0..3_usize {
            best[i] = observed(s[i], fit);
        }
        best
    }
    fn apply(s: Scores, best: [f32; 3]) -> [f32; 3] {
        let mut after = [f32::NEG_INFINITY; 3];
        for j in 0..3_usize {
            for i in 0..3_usize {
                after[j] = after[j].max(best[i] + s[i][j]);
            }
        }
        after
    }
    fn step(best: [f32; 3], fit: [f32; 3]) -> [f32; 3] {
        observed(best, fit)
    }
    fn project(best: [f32; 3]) -> f32 {
        best[0].max(best[1]).max(best[2])
    }
}

/// The best scores that end in each state, past an observation.
#[scan_fn(crate = crate)]
fn observed(best: [f32; 3], fit: [f32; 3]) -> [f32; 3] {
    let changed = best[0].max(best[1]).max(best[2]) - CHANGE;
    [best[0].max(changed) + fit[0], best[1].max(changed) + fit[1], best[2].max(changed) + fit[2]]
}

//! Attention over a stream: the softmax of all scores so far, applied to their values.
//!
//! A partial result has the largest score, the sum of the exponentials and the weighted sum of the values, both
//! relative to the largest score. So no second pass over the scores is needed, and nothing overflows.

use crate::{ScanOp, scan_element, scan_op};

/// A score, and the value that it weights.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Scored {
    /// The product of query and key.
    pub score: f32,
    /// The value.
    pub value: [f32; 4],
}

/// The softmax of some scores before its division, applied to their values.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Partial {
    /// The largest score.
    pub largest: f32,
    /// The sum of the weights e^(score − largest). 0 where there are none.
    pub sum: f32,
    /// The sum of the values times their weights.
    pub weighted: [f32; 4],
}

/// The mean of all values so far, weighted by the softmax of their scores.
///
/// - Input: a score, which is the product of query and key, and a value of four components.
/// - Output: the weighted mean of the values.
/// - Source: M. Milakov and N. Gimelshein, *Online Normalizer Calculation for Softmax*, arXiv:1805.02867, 2018; M. N.
///   Rabe and C. Staats, *Self-attention Does Not Need O(n²) Memory*, arXiv:2112.05682, 2021.
///
/// ```
/// use scan_runtime::{Scanner, gallery::online_softmax::{Attention, Scored}};
///
/// // e^1000 is infinite in `f32`. Equal scores have equal weights.
/// let stream = [1.0, 3.0].map(|x| Scored { score: 1000.0, value: [x, 0.0, 0.0, 0.0] });
/// let means = Scanner::new()?.scan(Attention).run(&stream)?;
/// assert_eq!(means, [[1.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attention;

#[scan_op(crate = crate)]
impl ScanOp for Attention {
    type Input = Scored;
    type State = Partial;
    type Output = [f32; 4];
    const IDENTITY: Partial = Partial { largest: f32::NEG_INFINITY, sum: 0.0, weighted: [0.0; 4] };
    fn lift(x: Scored) -> Partial {
        Partial { largest: x.score, sum: 1.0, weighted: x.value }
    }
    fn combine(a: Partial, b: Partial) -> Partial {
        if a.sum == 0.0 {
            return b;
        }
        if b.sum == 0.0 {
            return a;
        }
        let largest = a.largest.max(b.largest);
        let before = (a.largest - largest).exp();
        let after = (b.largest - largest).exp();
        let mut weighted = a.weighted;
        for i in 0..4_usize {
            weighted[i] = before * a.weighted[i] + after * b.weighted[i];
        }
        Partial { largest, sum: before * a.sum + after * b.sum, weighted }
    }
    fn project(s: Partial) -> [f32; 4] {
        let mut mean = s.weighted;
        for i in 0..4_usize {
            mean[i] /= s.sum;
        }
        mean
    }
}

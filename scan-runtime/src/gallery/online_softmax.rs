//! Attention over a stream: the softmax of all scores so far, applied to their values.
//!
//! A partial result has the largest score, the sum of the exponentials and the weighted sum of the values, both
//! relative to the largest score. So no second pass over the scores is needed, and nothing overflows.

use crate::{ScanOp, scan_element, scan_fn, scan_op};

/// A score, and the value that it weights.
#[scan_element(crate = crate, gradient)]
#[derive(Clone, Copy, Debug)]
pub struct Scored {
    /// The product of query and key.
    pub score: f32,
    /// The value.
    pub value: [f32; 4],
}

/// The softmax of some scores before its division, applied to their values.
#[scan_element(crate = crate, gradient)]
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

#[scan_op(crate = crate, gradient)]
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
        let share = share_of_smaller(a.largest, b.largest);
        let (before, after) =
            (if a.largest < b.largest { share } else { 1.0 }, if a.largest < b.largest { 1.0 } else { share });
        let mut weighted = a.weighted;
        for i in 0..4_usize {
            weighted[i] = before * a.weighted[i] + after * b.weighted[i];
        }
        Partial { largest: a.largest.max(b.largest), sum: before * a.sum + after * b.sum, weighted }
    }
    fn append(s: Partial, x: Scored) -> Partial {
        let share = share_of_smaller(s.largest, x.score);
        let (before, after) =
            (if s.largest < x.score { share } else { 1.0 }, if s.largest < x.score { 1.0 } else { share });
        let mut weighted = s.weighted;
        for i in 0..4_usize {
            weighted[i] = before * s.weighted[i] + after * x.value[i];
        }
        Partial { largest: s.largest.max(x.score), sum: before * s.sum + after, weighted }
    }
    fn project(s: Partial) -> [f32; 4] {
        let scale = 1.0 / s.sum;
        let mut mean = s.weighted;
        for i in 0..4_usize {
            mean[i] *= scale;
        }
        mean
    }
}

/// e to the power of the smaller score, divided by that of the larger one. Both may be negative infinity.
#[scan_fn(crate = crate, gradient)]
fn share_of_smaller(a: f32, b: f32) -> f32 {
    let share = (-(a - b).abs()).exp();
    // Of equal finite ones it is 1 anyway, with a slope.
    if a == b && a.is_infinite() { 1.0 } else { share }
}

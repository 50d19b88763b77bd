//! Attention as it streams: the softmax of scores so far, applied to their values, from a triple of the largest score, the sum
//! of the exponentials and the weighted sum of the values.

use super::{Example, uniform};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// A score and a value, as a key and the query give them.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Scored {
    score: f32,
    value: [f32; 4],
}

/// What a stretch of scored values comes to.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Partial {
    largest: f32,
    sum: f32,
    weighted: [f32; 4],
}

/// The mean of the values, weighted by the softmax of the scores.
#[derive(Clone, Copy, Debug)]
pub struct Attention;

#[scan_op]
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
        super::each_prefix(input, (0.0, [0.0; 4]), |(sum, weighted), x| {
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

//! Running mean and variance: the merge of two samples' moments (Chan, Golub and LeVeque 1979), of which Welford's update is the
//! case of one new value.

use super::{Example, below, each_prefix};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// How many values, their mean, and the sum of their squared distances from it.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    count: f64,
    mean: f64,
    m2: f64,
}

/// The mean, and the variance of the sample.
#[derive(Clone, Copy, Debug)]
pub struct Moments;

#[scan_op]
impl ScanOp for Moments {
    type Input = f32;
    type State = Sample;
    type Output = [f64; 2];
    const IDENTITY: Sample = Sample { count: 0.0, mean: 0.0, m2: 0.0 };
    fn lift(x: f32) -> Sample {
        Sample { count: 1.0, mean: x as f64, m2: 0.0 }
    }
    fn combine(a: Sample, b: Sample) -> Sample {
        if a.count == 0.0 {
            b
        } else if b.count == 0.0 {
            a
        } else {
            let count = a.count + b.count;
            let delta = b.mean - a.mean;
            Sample {
                count,
                mean: a.mean + delta * (b.count / count),
                m2: a.m2 + b.m2 + delta * delta * (a.count * b.count / count),
            }
        }
    }
    fn project(s: Sample) -> [f64; 2] {
        [s.mean, if s.count > 1.0 { s.m2 / (s.count - 1.0) } else { 0.0 }]
    }
}

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

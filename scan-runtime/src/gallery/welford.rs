//! Running mean and variance, in one pass and without cancellation.
//!
//! The moments of two samples merge into those of both together. Welford's update is the case where one of the samples
//! is a single value.

use crate::{ScanOp, scan_element, scan_op};

/// The moments of a sample.
#[scan_element(crate = crate, gradient)]
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The number of values.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// The sum of their squared distances from the mean.
    pub m2: f64,
}

/// The moments of all values so far. Each value takes one division: that of the value before is what the variance is
/// divided by.
#[scan_element(crate = crate, gradient)]
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// The number of values.
    pub count: f64,
    /// Their mean.
    pub mean: f64,
    /// The sum of their squared distances from the mean.
    pub m2: f64,
    /// One divided by their number; 0 where there are none.
    pub share: f64,
    /// One divided by their number less one; 0 where there is one, or none.
    pub share_before: f64,
}

/// The mean and the variance of all values so far.
///
/// - Input: a value in any unit.
/// - Output: the mean, in that unit, and the variance of the sample (divided by n − 1), in its square. The variance of
///   one value is 0.
/// - Source: T. F. Chan, G. H. Golub and R. J. LeVeque, *Updating Formulae and a Pairwise Algorithm for Computing
///   Sample Variances*, Stanford University, STAN-CS-79-773, 1979; B. P. Welford, *Note on a Method for Calculating
///   Corrected Sums of Squares and Products*, Technometrics 4, 1962.
///
/// ```
/// use scan_runtime::{Scanner, gallery::welford::Moments};
///
/// let moments = Scanner::new()?.scan(Moments).run(&[2.0, 4.0, 6.0])?;
/// assert_eq!(moments, [[2.0, 0.0], [3.0, 2.0], [4.0, 4.0]]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments;

#[scan_op(crate = crate, gradient)]
impl ScanOp for Moments {
    type Input = f32;
    type State = Sample;
    type Carry = Running;
    type Output = [f64; 2];
    const IDENTITY: Sample = Sample { count: 0.0, mean: 0.0, m2: 0.0 };
    const START: Running = Running { count: 0.0, mean: 0.0, m2: 0.0, share: 0.0, share_before: 0.0 };
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
            let share = 1.0 / count;
            let delta = b.mean - a.mean;
            Sample {
                count,
                mean: a.mean + delta * (b.count * share),
                m2: a.m2 + b.m2 + delta * delta * (a.count * b.count * share),
            }
        }
    }
    fn append(s: Sample, x: f32) -> Sample {
        let count = s.count + 1.0;
        let share = 1.0 / count;
        let delta = x as f64 - s.mean;
        Sample { count, mean: s.mean + delta * share, m2: s.m2 + delta * delta * (s.count * share) }
    }
    fn apply(s: Sample, c: Running) -> Running {
        let count = c.count + s.count;
        if count == 0.0 {
            c
        } else {
            let share = 1.0 / count;
            let delta = s.mean - c.mean;
            Running {
                count,
                mean: c.mean + delta * (s.count * share),
                m2: c.m2 + s.m2 + delta * delta * (c.count * s.count * share),
                share,
                share_before: if count > 1.0 { 1.0 / (count - 1.0) } else { 0.0 },
            }
        }
    }
    fn step(c: Running, x: f32) -> Running {
        let count = c.count + 1.0;
        let share = 1.0 / count;
        let delta = x as f64 - c.mean;
        Running {
            count,
            mean: c.mean + delta * share,
            m2: c.m2 + delta * delta * (c.count * share),
            share,
            share_before: c.share,
        }
    }
    fn project(c: Running) -> [f64; 2] {
        [c.mean, c.m2 * c.share_before]
    }
}

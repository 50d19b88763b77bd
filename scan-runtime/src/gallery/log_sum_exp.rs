//! Sums of probabilities that are too small for a float, by their logarithms.
//!
//! The largest exponent is kept apart, and the sum is of exponentials relative to it. So nothing underflows or
//! overflows.

use crate::{ScanOp, scan_element, scan_fn, scan_op};

/// The number e^largest · sum.
#[scan_element(crate = crate, gradient)]
#[derive(Clone, Copy, Debug)]
pub struct Scaled {
    /// The largest exponent.
    pub largest: f32,
    /// The sum of the exponentials, each divided by e^largest. 0 where there are none.
    pub sum: f32,
}

/// ln(e^x₀ + e^x₁ + …), the logarithm of the sum of all exponentials so far.
///
/// - Input: the natural logarithm of a probability, or of another positive number.
/// - Output: the natural logarithm of the sum.
/// - Source: P. Blanchard, D. J. Higham and N. J. Higham, *Accurately Computing the Log-Sum-Exp and Softmax
///   Functions*, IMA Journal of Numerical Analysis 41, 2021.
///
/// ```
/// use scan_runtime::{Scanner, gallery::log_sum_exp::LogSumExp};
///
/// // e^-600 is 0 in `f32`.
/// let sums = Scanner::new()?.scan(LogSumExp).run(&[-600.0, -600.0])?;
/// assert_eq!(sums[0], -600.0);
/// assert!((sums[1] - (-600.0 + 2_f32.ln())).abs() < 1e-3);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSumExp;

#[scan_op(crate = crate, gradient)]
impl ScanOp for LogSumExp {
    type Input = f32;
    type State = Scaled;
    type Output = f32;
    const IDENTITY: Scaled = Scaled { largest: f32::NEG_INFINITY, sum: 0.0 };
    fn lift(x: f32) -> Scaled {
        Scaled { largest: x, sum: 1.0 }
    }
    fn combine(a: Scaled, b: Scaled) -> Scaled {
        if a.sum == 0.0 {
            b
        } else if b.sum == 0.0 {
            a
        } else {
            let share = share_of_smaller(a.largest, b.largest);
            if a.largest < b.largest {
                Scaled { largest: b.largest, sum: a.sum * share + b.sum }
            } else {
                Scaled { largest: a.largest, sum: a.sum + b.sum * share }
            }
        }
    }
    fn append(s: Scaled, x: f32) -> Scaled {
        let share = share_of_smaller(s.largest, x);
        if s.largest < x {
            Scaled { largest: x, sum: s.sum * share + 1.0 }
        } else {
            Scaled { largest: s.largest, sum: s.sum + share }
        }
    }
    fn project(s: Scaled) -> f32 {
        s.largest + s.sum.ln()
    }
}

/// e to the power of the smaller exponent, divided by that of the larger one. Both may be negative infinity.
#[scan_fn(crate = crate, gradient)]
fn share_of_smaller(a: f32, b: f32) -> f32 {
    let share = (-(a - b).abs()).exp();
    // Of equal finite ones it is 1 anyway, with a slope.
    if a == b && a.is_infinite() { 1.0 } else { share }
}

//! Exponential smoothing, a linear recurrence: y ← (1 − α)·y + α·x.
//!
//! One step is not associative. The composition of steps is: each step is a map y ↦ a·y + b, and so are two of them.
//!
//! The factor of several steps is the product of their factors. Here these are at most 1. A recurrence whose factors
//! are larger [overflows](ScanOp#overflow) in a scan where a loop may not: 128 steps y ← 2·y have the factor ∞ as an
//! `f32`, which makes NaN of y = 0.

use crate::{ScanOp, scan_element, scan_op};

/// The map y ↦ a·y + b: one step, or several.
#[scan_element(crate = crate, gradient)]
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The factor of y.
    pub a: f32,
    /// The term that is added.
    pub b: f32,
}

/// Exponential smoothing, y ← (1 − α)·y + α·x, that starts with y = 0.
///
/// - Input: a measurement in any unit, at equal intervals.
/// - Output: the smoothed measurement, in the same unit.
/// - Source: P. M. Kogge and H. S. Stone, *A Parallel Algorithm for the Efficient Solution of a General Class of
///   Recurrence Equations*, IEEE Transactions on Computers C-22, 1973.
///
/// ```
/// use scan_runtime::{Scanner, gallery::linear_recurrence::Smoothing};
///
/// let smoothed = Scanner::new()?.scan(Smoothing { alpha: 0.5 }).run(&[10.0, 20.0, 20.0])?;
/// assert_eq!(smoothed, [5.0, 12.5, 16.25]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Smoothing {
    /// The weight of a new measurement, from 0 to 1.
    pub alpha: f32,
}

#[scan_op(crate = crate, gradient(alpha: f32), laws(operator = Smoothing { alpha: 0.25 }, samples = [15.0, 16.5, 14.25, -3.0, 0.0]))]
impl ScanOp for Smoothing {
    type Input = f32;
    type State = Step;
    type Output = f32;
    const IDENTITY: Step = Step { a: 1.0, b: 0.0 };
    fn lift(&self, x: f32) -> Step {
        Step { a: 1.0 - self.alpha, b: self.alpha * x }
    }
    fn combine(f: Step, g: Step) -> Step {
        Step { a: f.a * g.a, b: g.a * f.b + g.b }
    }
    fn project(f: Step) -> f32 {
        f.b // The value of the map at y = 0.
    }
}

//! A linear recurrence: exponential smoothing, y ← (1 − α)·y + α·x. One step is not associative; the composition of steps,
//! each a map y ↦ a·y + b, is.

use super::{Example, each_prefix, uniform};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// y ↦ a·y + b
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Step {
    a: f32,
    b: f32,
}

/// The smoothing of measurements.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Smoothing {
    /// How much a new measurement counts.
    alpha: f32,
}

#[scan_op(laws(operator = Smoothing::new(), samples = Smoothing::input(16)))]
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
        f.b // of y = 0
    }
}

impl Example for Smoothing {
    fn new() -> Self {
        Smoothing { alpha: 0.25 }
    }
    /// A temperature by the hour, in degrees.
    fn input(len: usize) -> Vec<f32> {
        (0..len).map(|hour| (15.0 + 8.0 * (hour as f64 / 24.0).sin() + 2.0 * uniform(hour)) as f32).collect()
    }
    fn expected(&self, input: &[f32]) -> Vec<f32> {
        let alpha = f64::from(self.alpha);
        each_prefix(input, 0.0, |y, x| {
            *y += alpha * (f64::from(x) - *y);
            *y as f32
        })
    }
    fn tolerance() -> f64 {
        1e-5
    }
}

//! The four operators. Each combines the results of two adjacent stretches of the record, the earlier one on the left,
//! and each has an identity: the result of a stretch in which nothing was observed.

use scan_runtime::{scan_element, scan_op};

/// Record high: of two stretches, the higher of their highs.
#[scan_op(identity = f64::NEG_INFINITY)]
pub fn higher(a: f64, b: f64) -> f64 {
    a.max(b)
}

/// How many values a stretch has, their mean, and the sum of their squared distances from it.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    pub count: f64,
    pub mean: f64,
    pub m2: f64,
}

impl Moments {
    pub const NONE: Moments = Moments { count: 0.0, mean: 0.0, m2: 0.0 };

    /// The moments of a single value.
    pub fn of(value: f64) -> Self {
        Moments { count: 1.0, mean: value, m2: 0.0 }
    }

    /// The standard deviation of the sample; of a single value, zero.
    pub fn standard_deviation(self) -> f64 {
        if self.count > 1.0 { (self.m2 / (self.count - 1.0)).sqrt() } else { 0.0 }
    }
}

/// Running mean and variance: Chan, Golub and LeVeque's merge of two samples (1979), which loses no digits to
/// cancellation as the sum of squares does.
#[scan_op(identity = Moments::NONE)]
pub fn merge(a: Moments, b: Moments) -> Moments {
    if a.count == 0.0 {
        b
    } else if b.count == 0.0 {
        a
    } else {
        let count = a.count + b.count;
        let delta = b.mean - a.mean;
        Moments {
            count,
            mean: a.mean + delta * (b.count / count),
            m2: a.m2 + b.m2 + delta * delta * (a.count * b.count / count),
        }
    }
}

/// The function y ↦ a·y + b.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Affine {
    pub a: f64,
    pub b: f64,
}

impl Affine {
    pub const SAME: Affine = Affine { a: 1.0, b: 0.0 };

    /// A step of exponential smoothing, y ↦ (1 − α)·y + α·x.
    pub fn step(alpha: f64, x: f64) -> Self {
        Affine { a: 1.0 - alpha, b: alpha * x }
    }

    /// y ↦ x, where smoothing starts.
    pub fn start(x: f64) -> Self {
        Affine { a: 0.0, b: x }
    }
}

/// Exponential smoothing: one step of it is not associative, but the composition of steps is, `f` being the earlier one.
#[scan_op(identity = Affine::SAME)]
pub fn compose(f: Affine, g: Affine) -> Affine {
    Affine { a: f.a * g.a, b: g.a * f.b + g.b }
}

/// The highest and the lowest value of a stretch, and how far it fell from any value to any later one.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fall {
    pub highest: f64,
    pub lowest: f64,
    pub fall: f64,
}

impl Fall {
    pub const NONE: Fall = Fall { highest: f64::NEG_INFINITY, lowest: f64::INFINITY, fall: 0.0 };

    /// A single value falls by nothing.
    pub fn of(value: f64) -> Self {
        Fall { highest: value, lowest: value, fall: 0.0 }
    }
}

/// Largest fall: within either stretch, or from the highest value of the earlier one to the lowest of the later one.
#[scan_op(identity = Fall::NONE)]
pub fn deepest(a: Fall, b: Fall) -> Fall {
    Fall {
        highest: a.highest.max(b.highest),
        lowest: a.lowest.min(b.lowest),
        fall: a.fall.max(b.fall).max(a.highest - b.lowest),
    }
}

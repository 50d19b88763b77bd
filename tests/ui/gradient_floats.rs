use scan_runtime::{ScanOp, scan_op};

/// Integers have no gradient.
#[scan_op(identity = 0, gradient)]
fn count(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

/// Nor has a comparison alone.
struct Above;

#[scan_op(gradient)]
impl ScanOp for Above {
    type Element = f64;
    type Output = bool;
    const IDENTITY: f64 = 0.0;
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(s: f64) -> bool {
        s > 1.0
    }
}

fn main() {}

use scan_runtime::{ScanOp, scan_op};

struct Plus;

#[scan_op]
impl ScanOp for Plus {
    type Element = f32;
    fn combine(a: f32, b: f32) -> f32 {
        a + b
    }
}

#[scan_op]
fn longest(a: u32, b: u32) -> u32 {
    a.max(b)
}

fn main() {
    // The operators exist all the same: no second wave of errors.
    let _ = Plus.combine(1.0, 2.0);
    let _ = longest.combine(1, 2);
}

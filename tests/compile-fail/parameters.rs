use scan_runtime::{ScanOp, scan_op};

struct Scale {
    factor: f32,
}

#[scan_op]
impl ScanOp for Scale {
    type Element = f32;
    const IDENTITY: f32 = 0.0;
    fn combine(a: f32, b: f32) -> f32 {
        self.factor * (a + b)
    }
}

fn main() {
    let _ = Scale { factor: 2.0 }.combine(1.0, 2.0);
}

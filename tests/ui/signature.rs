use scan_runtime::{ScanOp, scan_op};

struct Three;

#[scan_op]
impl ScanOp for Three {
    type Element = f32;
    const IDENTITY: f32 = 0.0;
    fn combine(a: f32, b: f32, c: f32) -> f32 {
        a + b + c
    }
}

struct Borrowed;

#[scan_op]
impl ScanOp for Borrowed {
    type Element = f32;
    const IDENTITY: f32 = 0.0;
    fn combine(&mut self, a: &f32, b: f32) -> f32 {
        b
    }
}

struct OtherType;

#[scan_op]
impl ScanOp for OtherType {
    type Element = f32;
    const IDENTITY: f32 = 0.0;
    fn combine(a: f32, b: f64) -> f32 {
        a
    }
}

struct NoResult;

#[scan_op]
impl ScanOp for NoResult {
    type Element = f32;
    const IDENTITY: f32 = 0.0;
    async fn combine(a: f32, b: f32) {}
}

#[scan_op(identity = 0)]
fn nothing(a: u32, b: u32) {}

#[scan_op(identity = 0)]
fn generic<T>(a: T, b: T) -> T {
    a
}

fn main() {}

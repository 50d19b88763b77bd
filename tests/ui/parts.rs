use scan_runtime::{ScanOp, scan_op};

struct Misspelt;

#[scan_op]
impl ScanOp for Misspelt {
    type Elements = f32;
    type Element = f32;
    const IDENTITY: f32 = 0.0;
    const FACTOR: f32 = 2.0;
    fn identity() -> f32 {
        0.0
    }
    fn combined(a: f32, b: f32) -> f32 {
        a + b
    }
    fn combine(a: f32, b: f32) -> f32 {
        a + b
    }
}

struct Lifting;

#[scan_op]
impl ScanOp for Lifting {
    type Input = u8;
    type State = u32;
    type Output = f32;
    const IDENTITY: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        a + b
    }
}

struct Empty;

#[scan_op]
impl ScanOp for Empty {}

#[scan_op(identify = 0, crate = ::scan_runtime)]
fn option(a: u32, b: u32) -> u32 {
    a + b
}

#[scan_op]
struct NotAnOperator;

#[scan_op]
impl Clone for Empty {
    fn clone(&self) -> Self {
        Empty
    }
}

fn main() {}

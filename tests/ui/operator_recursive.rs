use scan_runtime::{ScanOp, scan_op};

#[scan_op]
fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

struct Own;

#[scan_op]
impl ScanOp for Own {
    type Element = u32;
    fn combine(a: u32, b: u32) -> u32 {
        if b == 0 { a } else { Self::combine(b, a % b) }
    }
}

struct OwnByMethod;

#[scan_op]
impl ScanOp for OwnByMethod {
    type Element = u32;
    fn combine(&self, a: u32, b: u32) -> u32 {
        if b == 0 { a } else { self.combine(b, a % b) }
    }
}

fn main() {}

use scan_runtime::{ScanOp, scan_fn, scan_op};

#[scan_fn]
fn gcd(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

#[scan_op]
fn combine(a: u32, b: u32) -> u32 {
    gdc(a, b)
}

fn main() {
    let _ = combine.combine(1, gcd(2, 3));
}

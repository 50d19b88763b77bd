use scan_runtime::{ScanOp, scan_fn, scan_op};

#[scan_fn]
fn down<T: Copy>(x: T, n: u32) -> T {
    if n == 0 { x } else { up::<T>(x, n - 1) }
}

#[scan_fn]
fn up<T: Copy>(x: T, n: u32) -> T {
    if n == 0 { x } else { down::<T>(x, n - 1) }
}

#[scan_op(identity = 0)]
fn larger(a: u32, b: u32) -> u32 {
    down::<u32>(a, b)
}

fn main() {
    let _ = larger.combine(1, 2);
}

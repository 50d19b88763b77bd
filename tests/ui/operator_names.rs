use scan_runtime::{ScanOp, Scanner, scan_op};

/// Poisons its name: patterns mean the operator.
#[scan_op]
fn max(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

fn clamped(x: u32, max: u32) -> u32 {
    if x > max { max } else { x }
}

fn scans() {
    let max = Scanner::cpu().scan(max).run(&[1]);
}

#[scan_op(name = sum)]
fn sum(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

#[scan_op(name = "Product")]
fn product(a: u32, b: u32) -> u32 {
    a.wrapping_mul(b)
}

struct First;

#[scan_op(name = Leading)]
impl ScanOp for First {
    type Element = u32;
    fn combine(a: u32, _b: u32) -> u32 {
        a
    }
}

#[scan_op(name = Mixed)]
fn mixed(a: u32, b: f32) -> u32 {
    a
}

#[scan_op(name = Wrong)]
fn wrong(a: u32, b: u32) -> u32 {
    a + 1.5
}

fn main() {}

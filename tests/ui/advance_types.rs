use scan_runtime::{ScanOp, scan_op};

/// What rustc finds in a function that gives both, it reports once.
struct Mixed;

#[scan_op]
impl ScanOp for Mixed {
    type Element = u32;
    type Carry = u64;
    type Output = u32;
    const IDENTITY: u32 = 0;
    const START: u64 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(s: u32, c: u64) -> u64 {
        c.wrapping_add(s as u64)
    }
    fn advance(c: u64, x: u32) -> (u64, u32) {
        let unread = x;
        if x == 7 {
            return (x, c);
        }
        (c.wrapping_add(x), x)
    }
}

/// The output before the carry.
struct Swapped;

#[scan_op]
impl ScanOp for Swapped {
    type Element = u32;
    type Carry = u64;
    type Output = u32;
    const IDENTITY: u32 = 0;
    const START: u64 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(s: u32, c: u64) -> u64 {
        c.wrapping_add(s as u64)
    }
    fn advance(c: u64, x: u32) -> (u32, u64) {
        (x, c.wrapping_add(x as u64))
    }
}

fn main() {}

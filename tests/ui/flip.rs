use scan_runtime::{ScanOp, Scanner, ops, scan_op};

/// The sum of what came, in another type than the carry.
struct Steps;

#[scan_op]
impl ScanOp for Steps {
    type Input = u32;
    type State = u32;
    type Output = u64;
    type Carry = u64;
    const IDENTITY: u32 = 0;
    const START: u64 = 7;
    fn lift(x: u32) -> u32 {
        x
    }
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(s: u32, c: u64) -> u64 {
        c + s as u64
    }
    fn step(c: u64, x: u32) -> u64 {
        c + x as u64
    }
}

fn main() {
    let _ = Scanner::cpu().scan(ops::flip(Steps)).reverse().run(&[1, 2, 3]);
}

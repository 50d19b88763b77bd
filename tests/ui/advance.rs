use scan_runtime::{ScanOp, scan_fn, scan_op};

/// Both of the functions that `advance` stands for, beside it.
struct Both;

#[scan_op]
impl ScanOp for Both {
    type Element = u32;
    type Carry = u32;
    const IDENTITY: u32 = 0;
    const START: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(s: u32, c: u32) -> u32 {
        c.wrapping_add(s)
    }
    fn step(c: u32, x: u32) -> u32 {
        c.wrapping_add(x)
    }
    fn emit(c: u32, x: u32) -> u32 {
        c.wrapping_mul(x)
    }
    fn advance(c: u32, x: u32) -> (u32, u32) {
        (c.wrapping_add(x), c.wrapping_mul(x))
    }
}

/// Results that are not written as two values.
struct Whole;

#[scan_fn]
fn doubled(x: u32) -> u32 {
    x.wrapping_mul(2)
}

#[scan_op]
impl ScanOp for Whole {
    type Element = u32;
    type Carry = u32;
    const IDENTITY: u32 = 0;
    const START: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(s: u32, c: u32) -> u32 {
        c.wrapping_add(s)
    }
    fn advance(c: u32, x: u32) -> (u32, u32) {
        let result = (c.wrapping_add(x), c);
        let mut count = c;
        if x == 7 {
            return doubled(x);
        }
        match x {
            1 => result,
            2 => (c, x, x),
            3 => loop {
                break (c, x);
            },
            4 => (
                {
                    count = count.wrapping_add(1);
                    count
                },
                count,
            ),
            _ => (c.wrapping_add(x), c),
        }
    }
}

/// One value, in place of two.
struct Single;

#[scan_op]
impl ScanOp for Single {
    type Element = u32;
    type Carry = u32;
    const IDENTITY: u32 = 0;
    const START: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(s: u32, c: u32) -> u32 {
        c.wrapping_add(s)
    }
    fn advance(c: u32, x: u32) -> u32 {
        c.wrapping_add(x)
    }
}

struct OneOperand;

#[scan_op]
impl ScanOp for OneOperand {
    type Element = u32;
    type Carry = u32;
    const IDENTITY: u32 = 0;
    const START: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(s: u32, c: u32) -> u32 {
        c.wrapping_add(s)
    }
    fn advance(c: u32) -> (u32, u32) {
        (c, c)
    }
}

/// What is wrong with both halves is said once.
struct Refused;

#[scan_op]
impl ScanOp for Refused {
    type Element = u32;
    type Carry = u32;
    const IDENTITY: u32 = 0;
    const START: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(&self, s: u32, c: u32) -> u32 {
        let (after, _) = self.advance(c, s);
        after
    }
    fn advance(c: u32, x: u32) -> (u32, u32) {
        let y = &x;
        (c.wrapping_add(x), y.maximum(c))
    }
}

/// A step, and nothing that says what a part of the input does.
struct Stepped;

#[scan_op]
impl ScanOp for Stepped {
    type Element = u32;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn advance(c: u32, x: u32) -> (u32, u32) {
        (c.wrapping_add(x), c)
    }
}

/// `async`, a signature that no half can have.
struct Later;

#[scan_op]
impl ScanOp for Later {
    type Element = u32;
    type Carry = u32;
    const IDENTITY: u32 = 0;
    const START: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(s: u32, c: u32) -> u32 {
        c.wrapping_add(s)
    }
    async fn advance(c: u32, x: u32) -> (u32, u32) {
        (c.wrapping_add(x), c)
    }
}

fn main() {}

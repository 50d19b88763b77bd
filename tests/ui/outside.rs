use scan_runtime::{ScanOp, scan_fn, scan_op};

#[scan_fn]
fn gcd(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

struct Outside;

#[scan_op]
impl ScanOp for Outside {
    type Element = u32;
    fn combine(a: u32, b: u32) -> u32 {
        let boxed = Box::new(a);
        let text = String::new();
        let object: Box<dyn Fn(u32) -> u32>;
        let list = Vec::<u32>::with_capacity(3);
        let future = async { a };
        let checked = a.checked_add(b)?;
        let [first, second] = [a, b];
        let &c = &a;
        let ref d = a;
        let Some(e) = b else { return a };
        while let 3 = a {}
        let between = a..b;
        let (x, y): (u32, u32);
        (x, y) = (a, b);
        static TABLE: [u32; 2] = [1, 2];
        let both = matches!(a, 1 | 2);
        panic!("no");
        let n = a.pwo(3) + a.leading_zero() + a.length();
        let f = u32::mx(a, b);
        let g = (|x| x)(a);
        let h = *a;
        fn inner() {}
        let s = if a > b { 1 } else { 2 };
        return;
    }
}

struct Pairs;

#[scan_op]
impl ScanOp for Pairs {
    type Element = (u32, u32);
    fn combine(a: (u32, u32), b: (u32, u32)) -> (u32, u32) {
        (a.0, b.1)
    }
}

fn main() {
    let _ = Outside.combine(1, 2);
}

use scan_runtime::{ScanOp, scan_fn, scan_op};

fn unmarked(a: u32) -> u32 {
    a
}

#[scan_fn]
fn by_reference(a: &u32, pair: (u32, u32)) -> u32 {
    *a
}

#[scan_fn]
fn nothing(a: u32) {}

#[scan_fn]
fn factorial(n: u32) -> u32 {
    if n == 0 { 1 } else { n * factorial(n - 1) }
}

#[scan_fn]
fn first<T: Copy, const N: usize>(x: [T; N]) -> T {
    x[0]
}

#[scan_fn]
fn any(x: impl Copy) -> u32 {
    1
}

#[scan_fn]
async unsafe fn words(x: u32) -> u32 {
    x
}

struct Vector {
    x: u32,
}

impl Vector {
    fn length(self) -> u32 {
        self.x
    }

    #[scan_fn]
    fn marked(self) -> u32 {
        self.x
    }
}

#[scan_fn]
struct NotAFunction;

#[scan_op]
fn combine(a: u32, b: u32) -> u32 {
    let s = std::cmp::max(a, b);
    let t = std::mem::size_of::<u32>();
    let v = Vector::length(Vector { x: a });
    let m = std::primitive::u32::max(a, b);
    let q = <u32 as Ord>::max(a, b);
    s
}

fn main() {
    let _ = combine.combine(1, 2);
}

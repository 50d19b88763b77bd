use scan_runtime::{ScanOp, ops::Number, scan_element, scan_op};
use std::marker::PhantomData;

struct Plus<T>(PhantomData<T>);

#[scan_op(laws)]
impl<T: Number> ScanOp for Plus<T> {
    type Element = T;
    const IDENTITY: T = T::ZERO;
    fn combine(a: T, b: T) -> T {
        a.wrapping_add(b)
    }
}

#[scan_element]
#[derive(Clone, Copy)]
struct Modular {
    p: u32,
}

#[scan_op(laws = [1, 2, 3])]
impl ScanOp for Modular {
    type Element = u32;
    const IDENTITY: u32 = 0;
    fn combine(&self, a: u32, b: u32) -> u32 {
        (a + b) % self.p
    }
}

#[scan_op(identity = 0, laws(sample = [1, 2, 3]))]
fn add(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

#[scan_element(laws)]
#[derive(Clone, Copy)]
struct Pair {
    a: u32,
    b: u32,
}

fn main() {}

//! A crate that forbids unsafe code can write everything that a scan works with.

#![forbid(unsafe_code)]

use std::marker::PhantomData;

use scan_runtime::{ScanElement, ScanOp, Scanner, Table, laws, scan_element, scan_fn, scan_op};

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Affine<T> {
    scale: T,
    offset: T,
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bracket {
    Open,
    Close,
}

#[scan_fn]
fn halved(x: u32) -> u32 {
    x / 2
}

struct Weigh<T> {
    weights: Table<u32>,
    kind: PhantomData<fn() -> T>,
}

#[scan_op]
impl<T: ScanElement> ScanOp for Weigh<T> {
    type Input = Bracket;
    type State = u32;
    type Output = u32;
    const IDENTITY: u32 = 0;
    fn lift(&self, x: Bracket) -> u32 {
        if x == Bracket::Open { halved(self.weights[0]) } else { self.weights[1] }
    }
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
}

#[scan_op(identity = Affine { scale: 1, offset: 0 })]
fn compose(f: Affine<i32>, g: Affine<i32>) -> Affine<i32> {
    Affine { scale: f.scale.wrapping_mul(g.scale), offset: f.offset.wrapping_mul(g.scale).wrapping_add(g.offset) }
}

#[test]
fn a_crate_without_unsafe_code_scans() {
    let weigh = Weigh::<f32> { weights: Table::from([6, 10]), kind: PhantomData };
    let sums = Scanner::cpu().scan(weigh).run(&[Bracket::Open, Bracket::Close, Bracket::Open]).unwrap();
    assert_eq!(sums, [3, 13, 16]);
    laws::check(&compose, [Affine { scale: 2, offset: 1 }, Affine { scale: -3, offset: 4 }]).unwrap();
}

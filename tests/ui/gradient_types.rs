use scan_runtime::{ScanOp, Scanner, half::bf16, scan_element, scan_fn, scan_op};

/// A struct and a function without gradients.
#[scan_element]
#[derive(Clone, Copy)]
struct Pair {
    a: f64,
    b: f64,
}

struct Marked;

#[scan_op(gradient)]
impl ScanOp for Marked {
    type Element = Pair;
    const IDENTITY: Pair = Pair { a: 1.0, b: 0.0 };
    fn combine(f: Pair, g: Pair) -> Pair {
        Pair { a: f.a * g.a, b: g.a * f.b + g.b }
    }
}

#[scan_fn]
fn twice(x: f64) -> f64 {
    2.0 * x
}

struct Calls;

#[scan_op(gradient)]
impl ScanOp for Calls {
    type Element = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(x: f64) -> f64 {
        twice(x)
    }
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
}

#[scan_op(identity = 0.0)]
fn without(a: f64, b: f64) -> f64 {
    a + b
}

/// Floats of 16 bits in a carry, and in an input of which the operator's functions do not say so.
#[scan_element(gradient)]
#[derive(Clone, Copy)]
struct Narrow {
    x: bf16,
}

struct NarrowCarry;

#[scan_op(gradient)]
impl ScanOp for NarrowCarry {
    type Element = Narrow;
    const IDENTITY: Narrow = Narrow { x: bf16::ZERO };
    fn combine(a: Narrow, b: Narrow) -> Narrow {
        let x: bf16 = a.x + b.x;
        Narrow { x }
    }
}

#[scan_fn(gradient)]
fn widened(x: bf16) -> f32 {
    x.to_f32()
}

struct Unseen;

#[scan_op(gradient)]
impl ScanOp for Unseen {
    type Input = Narrow;
    type State = f32;
    type Output = f32;
    const IDENTITY: f32 = 0.0;
    fn lift(x: Narrow) -> f32 {
        widened(x.x)
    }
    fn combine(a: f32, b: f32) -> f32 {
        a + b
    }
}

fn main() {
    let scanner = Scanner::cpu();
    let _ = scanner.backward(without);
}

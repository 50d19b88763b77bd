use scan_runtime::{ScanOp, half::bf16, scan_element, scan_fn, scan_op};

/// What a derived gradient does not follow.
struct Followed;

#[scan_op(gradient)]
impl ScanOp for Followed {
    type Element = f64;
    const IDENTITY: f64 = 0.0;
    fn lift(x: f64) -> f64 {
        let _above: f64 = if x > 4.0 { return x } else { x };
        let root: f64 = loop {
            break x.sqrt();
        };
        root
    }
    fn combine(a: f64, b: f64) -> f64 {
        f64::from_bits(a.to_bits()) + b
    }
    fn append(s: f64, x: f64) -> f64 {
        let n = x as i32;
        let power = s.powi(n);
        let mut last: f64 = s;
        let sum = {
            last = power;
            last + x
        };
        let bits = x.to_bits() as f64;
        let kept: f64 = loop {
            break sum;
        };
        let _above: f64 = if x > 4.0 { return x } else { x };
        kept + bits
    }
}

#[scan_element(gradient)]
#[derive(Clone, Copy)]
struct Pair {
    a: f64,
    b: f64,
}

const SCALE: f64 = 2.0;

struct Constants;

#[scan_op(gradient)]
impl ScanOp for Constants {
    type Input = f64;
    type State = Pair;
    const IDENTITY: Pair = Pair { a: 1.0, b: 0.0 };
    type Output = f64;
    fn lift(x: f64) -> Pair {
        Pair { a: SCALE, b: x }
    }
    fn combine(f: Pair, g: Pair) -> Pair {
        match g {
            Pair { a, b } => Pair { a: f.a * a, b: a * f.b + b },
        }
    }
    fn project(s: Pair) -> f64 {
        s.b
    }
}

/// The fields that have a gradient.
struct Fields {
    decay: f64,
}

#[scan_op(gradient(rate: f64))]
impl ScanOp for Fields {
    type Element = f64;
    const IDENTITY: f64 = 0.0;
    fn combine(&self, a: f64, b: f64) -> f64 {
        self.decay * a + b
    }
}

struct Counted {
    steps: u32,
}

#[scan_op(gradient(steps: u32))]
impl ScanOp for Counted {
    type Element = f64;
    const IDENTITY: f64 = 0.0;
    fn combine(&self, a: f64, b: f64) -> f64 {
        self.steps as f64 * a + b
    }
}

struct Untyped {
    decay: f64,
}

#[scan_op(gradient(decay))]
impl ScanOp for Untyped {
    type Element = f64;
    const IDENTITY: f64 = 0.0;
    fn combine(&self, a: f64, b: f64) -> f64 {
        self.decay * a + b
    }
}

struct Generic<T>(T);

#[scan_op(gradient)]
impl<T: scan_runtime::ops::Number> ScanOp for Generic<T> {
    type Element = T;
    const IDENTITY: T = T::ZERO;
    fn combine(a: T, b: T) -> T {
        a.wrapping_add(b)
    }
}

#[scan_element(gradient)]
#[derive(Clone, Copy)]
struct Both<T> {
    a: T,
    b: T,
}

/// Instances of another operator, of too many types, and of a struct without parameters.
struct Named<T>(T);

#[scan_op(gradient(Generic<f32>, Named<f32, f64>))]
impl<T: scan_runtime::ops::Number> ScanOp for Named<T> {
    type Element = T;
    const IDENTITY: T = T::ZERO;
    fn combine(a: T, b: T) -> T {
        a.wrapping_add(b)
    }
}

#[scan_element(gradient(Single<f32>))]
#[derive(Clone, Copy)]
struct Single {
    a: f32,
}

/// A state of 16 bits.
#[scan_op(identity = bf16::ZERO, gradient)]
fn narrow(a: bf16, b: bf16) -> bf16 {
    a + b
}

#[scan_element(gradient)]
#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

#[scan_element(gradient(a: f64))]
#[derive(Clone, Copy)]
struct WithOptions {
    a: f64,
}

#[scan_fn(gradient)]
fn first<T: scan_runtime::ScanElement>(a: T, b: T) -> T {
    a
}

/// Integers have no gradient.
#[scan_op(identity = 0, gradient)]
fn count(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

#[scan_element(gradient)]
#[derive(Clone, Copy)]
struct Count {
    n: [u32; 2],
}

/// Nor has a comparison alone.
struct Above;

#[scan_op(gradient)]
impl ScanOp for Above {
    type Element = f64;
    type Output = bool;
    const IDENTITY: f64 = 0.0;
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
    fn project(s: f64) -> bool {
        s > 1.0
    }
}

fn main() {}

use scan_runtime::{ScanOp, scan_op};

#[derive(Clone, Copy)]
struct Affine {
    a: f32,
    b: f32,
}

#[scan_op]
fn compose(f: Affine, g: Affine) -> Affine {
    Affine { a: f.a * g.a, b: g.a * f.b + g.b }
}

struct Mean;

#[scan_op]
impl ScanOp for Mean {
    type Input = f32;
    type State = Affine;
    type Output = f32;
    fn lift(x: f32) -> Affine {
        Affine { a: x, b: 1.0 }
    }
    fn combine(f: Affine, g: Affine) -> Affine {
        Affine { a: f.a + g.a, b: f.b + g.b }
    }
    fn project(sum: Affine) -> f32 {
        sum.a / sum.b
    }
}

fn main() {}

use scan_runtime::{ScanOp, scan_op};

struct Mistyped;

#[scan_op]
impl ScanOp for Mistyped {
    type Element = f32;
    const IDENTITY: f32 = 0;
    fn combine(a: f32, b: f32) -> f32 {
        let c: u32 = a;
        unknown + c as f32
    }
}

#[derive(Clone, Copy)]
struct NotAnElement {
    a: f32,
}

#[scan_op(identity = NotAnElement { a: 0.0 })]
fn first(a: NotAnElement, b: NotAnElement) -> NotAnElement {
    NotAnElement { a: a.a }
}

fn main() {}

use scan_runtime::scan_op;

#[scan_op]
fn degrees(a: f32, b: f32) -> f32 {
    a.to_degrees() + b.asinh() + a.lerp_towards_everything(b)
}

fn main() {}

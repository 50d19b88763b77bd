use scan_runtime::scan_op;

#[scan_op]
fn degrees(a: f32, b: f32) -> f32 {
    a.to_degrees() + b.asinh() + a.lerp_towards_everything(b)
}

#[scan_op]
fn widens(a: u64, b: u64) -> u64 {
    let narrow: u64 = (a as u32).into();
    narrow + b
}

fn main() {}

use scan_runtime::scan_element;

#[scan_element]
struct Affine {
    a: f32,
    b: f32,
}

fn main() {}

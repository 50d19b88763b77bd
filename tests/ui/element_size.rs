use scan_runtime::scan_element;

#[scan_element]
#[derive(Clone, Copy)]
struct Large {
    rows: [[f64; 6]; 6],
}

#[scan_element]
#[derive(Clone, Copy)]
struct Empty {
    rows: [f32; 0],
}

fn main() {}

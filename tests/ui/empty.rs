use scan_runtime::{ScanOp, scan_element, scan_op};

#[scan_element]
#[derive(Clone, Copy)]
struct Padded {
    value: u32,
    nothing: [u64; 0],
}

#[scan_element]
#[derive(Clone, Copy)]
struct Listed<T, const N: usize> {
    value: T,
    list: [T; N],
}

struct Nothing;

#[scan_op]
impl ScanOp for Nothing {
    type Element = [f32; 0];
    fn combine(a: [f32; 0], _b: [f32; 0]) -> [f32; 0] {
        a
    }
}

#[scan_op]
fn whole(a: Listed<u32, 2>, b: Listed<u32, 2>) -> Listed<u32, 2> {
    Listed { value: b.value, ..a }
}

fn main() {}

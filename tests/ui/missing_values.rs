use scan_runtime::{scan_element, scan_op};

#[scan_op]
fn last_some(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    if b.is_some() { b } else { a }
}

#[scan_op]
fn inside(a: u32, b: u32) -> u32 {
    let found: Option<u32> = None;
    let other = Some(a);
    other.unwrap_or(b)
}

#[scan_element]
#[derive(Clone, Copy)]
struct Holds {
    value: Option<u32>,
}

fn main() {}

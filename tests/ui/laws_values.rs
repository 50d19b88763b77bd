use scan_runtime::scan_op;

#[scan_op(identity = 0, laws(longest_run = 0, cases = 0))]
fn no_samples(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

#[scan_op(identity = 0, laws(longest_run = -4, cases = "many", seed = 1.5, tolerance = 1))]
fn other_types(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

#[scan_op(identity = 0, laws(longest_run, seed = 1, seed = 2))]
fn without_value(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

const LONGEST: usize = 9;

#[scan_op(identity = 0, laws(longest_run = LONGEST + 1, cases = 5_000, seed = 0, tolerance = 1e-3))]
fn right(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

fn main() {}

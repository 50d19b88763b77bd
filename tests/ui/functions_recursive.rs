use scan_runtime::scan_fn;

#[scan_fn]
fn even(n: u32) -> bool {
    if n == 0 { true } else { odd(n - 1) }
}

#[scan_fn]
fn odd(n: u32) -> bool {
    if n == 0 { false } else { even(n - 1) }
}

fn main() {
    assert!(even(4));
}

use scan_runtime::{ScanOp, scan_fn, scan_op};

mod helpers {
    use scan_runtime::scan_fn;

    pub fn unmarked(a: u32) -> u32 {
        a
    }

    #[scan_fn]
    pub fn marked(a: u32) -> u32 {
        unmarked(a)
    }
}

#[scan_fn]
fn first<T: Copy, const N: usize>(x: [T; N]) -> T {
    x[0]
}

#[scan_op]
fn combine(a: u32, b: u32) -> u32 {
    helpers::marked(a) + helpers::unmarked(b) + first([a, b])
}

fn main() {
    let _ = combine.combine(1, 2);
}

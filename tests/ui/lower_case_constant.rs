use scan_runtime::{ScanOp, scan_op};

struct Pick;

#[allow(non_upper_case_globals)]
const limit: u32 = 3;

#[scan_op]
impl ScanOp for Pick {
    type Element = u32;
    const IDENTITY: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        match a {
            limit => b,
            _ => a,
        }
    }
}

fn main() {}

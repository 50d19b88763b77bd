//! Initial values and totals of each segment, on the CPU.

use scan_runtime::Scanner;
use scan_tests::each_segment;

#[test]
fn as_plain_loops() {
    each_segment::check(&Scanner::cpu(), &[0, 1, 5, 700, 40_003]).unwrap();
}

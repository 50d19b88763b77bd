//! What kernels trust is not written by hand, or only by who vouches for it with `unsafe`.

use scan_codegen::OpSource;
use scan_runtime::{ScanFn, ScanOp, ops};

struct Sum;

impl ScanOp for Sum {
    type Input = u32;
    type State = u32;
    type Output = u32;
    fn identity(&self) -> Option<u32> {
        None
    }
    fn lift(&self, x: u32) -> u32 {
        x
    }
    fn combine(&self, a: u32, b: u32) -> u32 {
        a + b
    }
    fn project(&self, x: u32) -> u32 {
        x
    }
    fn source(&self) -> OpSource {
        ops::sum::<f64>().source()
    }
}

#[allow(non_camel_case_types)]
struct halved;

impl ScanFn for halved {
    const NOT_RECURSIVE: scan_runtime::__private::Callee = unreachable!();
}

fn main() {}

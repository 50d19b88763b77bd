//! What the tests of several crates share.

pub mod emulator;
mod nvrtc;
pub mod operators;
pub mod reference;
pub mod strategies;
mod target;

pub use nvrtc::nvrtc;
pub use target::target_dir;

use operators::TestOperator;
use scan_runtime::{Scan, ScanKind, Scanner};

/// The scan of a test operator in one of the four [ways](reference::WAYS).
pub fn configure<Op: TestOperator>(scanner: &Scanner, (kind, with_initial_value): (ScanKind, bool)) -> Scan<'_, Op> {
    let scan = scanner.scan(Op::new());
    let scan = if with_initial_value { scan.init(Op::initial_value()) } else { scan };
    match kind {
        ScanKind::Inclusive => scan.inclusive(),
        ScanKind::Exclusive => scan.exclusive(),
    }
}

//! What the tests of several crates share, and what needs a whole build to fail.
//!
//! The size of a generic element is known when it is used:
//!
//! ```
//! use scan_runtime::{ScanElement, scan_element};
//!
//! #[scan_element]
//! #[derive(Clone, Copy)]
//! struct Block<T, const N: usize> {
//!     items: [T; N],
//! }
//!
//! assert_eq!(Block::<u64, 32>::layout().name, "Block_u64_32");
//! ```
//!
//! ```compile_fail,E0080
//! use scan_runtime::{ScanElement, scan_element};
//!
//! #[scan_element]
//! #[derive(Clone, Copy)]
//! struct Block<T, const N: usize> {
//!     items: [T; N],
//! }
//!
//! Block::<u64, 33>::layout();
//! ```

pub mod climb;
pub mod emulator;
pub mod explain;
pub mod fuzz;
pub mod gallery;
pub mod items;
pub mod lifting;
pub mod mutants;
mod nvrtc;
pub mod operators;
pub mod pip;
pub mod planted;
pub mod programs;
pub mod reference;
pub mod segments;
pub mod spans;
pub mod strategies;
#[path = "../../scan-runtime/src/time_limit.rs"]
pub mod time_limit;

pub use nvrtc::nvrtc;
pub use scan_emulator::target_dir;

use operators::TestOperator;
use scan_runtime::{Scan, ScanKind, Scanner};

/// The manifest of the workspace.
pub const MANIFEST: &str = include_str!("../../Cargo.toml");

/// The paragraph of a manifest that tells how debug builds are made: nothing, where there is none.
pub fn profile(manifest: &str) -> &str {
    let there = manifest.find("[profile.dev]").map_or("", |start| &manifest[start..]);
    there.split("\n\n").next().unwrap_or_default()
}

/// The scan of a test operator in one of the four [ways](reference::WAYS).
pub fn configure<Op: TestOperator>(scanner: &Scanner, (kind, with_initial_value): (ScanKind, bool)) -> Scan<'_, Op> {
    let scan = scanner.scan(Op::new());
    let scan = if with_initial_value { scan.init(Op::initial_value()) } else { scan };
    match kind {
        ScanKind::Inclusive => scan.inclusive(),
        ScanKind::Exclusive => scan.exclusive(),
    }
}

/// Tests, each of which calls a generic function for one operator, with an emulator that checks nothing more.
#[macro_export]
macro_rules! climb_operators {
    ($climb:ident: $($name:ident: $op:ty;)*) => {$(
        #[test]
        fn $name() {
            $climb::<$op>(|emulator| emulator);
        }
    )*};
}

/// Tests, each of which calls a generic function for one operator, with the first strategy and the step to the next one.
#[macro_export]
macro_rules! operators_in_steps {
    ($call:ident: $($name:ident: $op:ty, $first:literal, $step:literal;)*) => {$(
        #[test]
        fn $name() {
            $call::<$op>($first, $step);
        }
    )*};
}

/// The code in the README is tested like an example in the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

//! Executes generated kernels on the CPU, and finds what hardware hides: the emulator, and scans of typed elements for it.

mod columns;
mod kinds;
mod last_results;
mod program;
mod ranges;

pub use columns::ColumnsProgram;
pub use last_results::{LastResultsProgram, last_results, results_of};
pub use program::{Emulated, Program, ReductionProgram};
pub use ranges::RangesProgram;
pub use scan_emulator::*;

//! Generated kernels, executed in the emulator: one program, so that tests of all kinds keep all cores busy to the end.

mod axis;
mod cluster;
mod columns;
mod composed;
mod counts;
mod distant;
mod each_segment;
mod edges;
mod epochs;
mod faults;
mod in_registers;
mod initial_value;
mod kept_states;
mod kinds;
mod ladder;
mod last_results;
mod last_run;
mod launches;
mod length;
mod lifting;
mod literature;
mod look_ahead;
mod look_ahead_segmented;
mod look_ahead_warps;
mod matrix;
mod older;
mod ranges;
mod reduction;
mod reversed;
mod rows;
mod run_parts;
mod segmented;
mod segmented_faults;
mod segmented_totals;
mod shared_memory;
mod statuses;
mod stepped;
mod tables;
mod transducers;
mod workspace;

use scan_tests::extent::{self, Generated};

/// As [`extent::compiled`]: a quick run also drops programs whose lines the [matrix](matrix::LINES) has.
fn compiled<P: Generated>(programs: impl IntoIterator<Item = P>) -> Vec<P> {
    extent::compiled_beyond(|| matrix::LINES.clone(), programs)
}

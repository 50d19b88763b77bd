//! Generated kernels, executed in the emulator: one program, so that tests of all kinds keep all cores busy to the end.

mod cluster;
mod columns;
mod composed;
mod counts;
mod distant;
mod edges;
mod epochs;
mod faults;
mod in_registers;
mod initial_value;
mod ladder;
mod launches;
mod lifting;
mod long;
mod look_ahead;
mod look_ahead_segmented;
mod older;
mod reduction;
mod reversed;
mod rows;
mod segmented;
mod segmented_faults;
mod shared_memory;
mod statuses;
mod texts;
mod workspace;

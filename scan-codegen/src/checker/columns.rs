//! The rules for scans along an axis.

use super::{
    Report, Rule, Violation, launches,
    threads::{check_power_of_two, registers_for},
    widths::WORD_END,
};
use crate::{
    columns::{
        ColumnArray, ColumnLayout, ColumnsPlan, EXCHANGES, GENERATIONS, Lying, MAX_RESIDENT_THREADS, MAX_TILES,
        SYSTEM_SHARED_BYTES,
    },
    constants::{COPY_ALIGNMENT, WARP, WORD},
    kernel_role::KernelRole,
    limits::DeviceLimits,
    operator::OpSource,
    schedule::{Argument, Cooperative},
};

/// Registers of a thread that hold no elements and no partial results, at the least.
const OTHER_REGISTERS: u32 = 32;

/// Bytes that the kernel declares beside its dynamic shared memory: the epoch.
const DECLARED_BYTES: u32 = WORD;

impl ColumnsPlan {
    /// The rules of kernels that this plan breaks. For tests and fuzzers, before they render it.
    #[doc(hidden)]
    pub fn violations(&self, operator: &OpSource) -> Vec<Violation> {
        let mut report = Report::default();
        match self.device.usable() {
            Ok(limits) => {
                threads(self, &limits, &mut report);
                shared_memory(self, operator, &limits, &mut report);
                registers(self, operator, &mut report);
                units(self, &mut report);
                for layout in layouts(self) {
                    schedules(self, &layout, &limits, &mut report);
                }
            }
            Err(error) => report.require(false, Rule::Launches, || error.to_string()),
        }
        report.0
    }
}

fn bytes_of(arrays: &[ColumnArray]) -> u32 {
    arrays.iter().map(|array| array.bytes).sum()
}

fn threads(plan: &ColumnsPlan, limits: &DeviceLimits, report: &mut Report) {
    let max = limits.threads_per_block.min(WARP * WARP);
    check_power_of_two(plan.threads, WARP, max, report);
    let (min, max) = (*plan.across.start(), *plan.across.end());
    report.require(min.is_power_of_two() && max.is_power_of_two() && min <= max, Rule::Threads, || {
        format!("{min} to {max} threads side by side are no powers of two")
    });
    report.require(plan.run > 0 && plan.polled_at_once > 0, Rule::Lanes, || {
        format!("a thread has {} rows, and polls {} statuses at once", plan.run, plan.polled_at_once)
    });
}

/// The tiles, in which rows of threads lie side by side, of repeated items one for each warp, and four rows of
/// partial results.
fn shared_memory(plan: &ColumnsPlan, operator: &OpSource, limits: &DeviceLimits, report: &mut Report) {
    let [threads, run, width, state] = [plan.threads, plan.run, plan.width, operator.state.size as u32].map(u64::from);
    let of_array = |array: &ColumnArray| match array.lying {
        Lying::Repeated => {
            (threads / u64::from(WARP) * run * width * u64::from(array.bytes)).next_multiple_of(COPY_ALIGNMENT.into())
        }
        _ => threads * run * width * u64::from(array.bytes),
    };
    let stages = u64::from(plan.stages) * plan.inputs.iter().map(of_array).sum::<u64>();
    let (needed, planned) = (
        stages + if plan.streams { 0 } else { u64::from(EXCHANGES) * threads * width * state },
        u64::from(plan.dynamic_shared_bytes(KernelRole::ScanColumns)),
    );
    report.require(needed == planned, Rule::SharedMemory, || {
        let tiles = plan.stages;
        format!("{tiles} tiles and {EXCHANGES} rows of partial results are {needed} bytes; the plan says {planned}")
    });
    let of_block = needed + u64::from(DECLARED_BYTES);
    let room = u64::from(limits.shared_bytes_per_block_optin);
    report.require(of_block <= room, Rule::SharedMemory, || {
        format!("{of_block} bytes of shared memory, where a launch can opt in to {room}")
    });
    // The system takes a part of each block.
    let [system, resident] = [SYSTEM_SHARED_BYTES, plan.resident].map(u64::from);
    report.require(resident == 1 || resident * (of_block + system) <= room + system, Rule::Residency, || {
        format!("{resident} blocks of {of_block} bytes of shared memory, where a multiprocessor has {room} for one")
    });
    let alignment = operator.state.align.max(1) as u64;
    report.require(stages.is_multiple_of(alignment), Rule::Alignment, || {
        format!("partial results, aligned to {alignment} bytes, begin behind {stages}")
    });
}

fn registers(plan: &ColumnsPlan, operator: &OpSource, report: &mut Report) {
    let resident = plan.threads.saturating_mul(plan.resident);
    report.require(plan.resident == 1 || resident <= MAX_RESIDENT_THREADS, Rule::Residency, || {
        format!("{} blocks of {} threads, of {MAX_RESIDENT_THREADS} for certain", plan.resident, plan.threads)
    });
    let row = (plan.width * (bytes_of(&plan.inputs) + bytes_of(&plan.outputs))).div_ceil(WORD);
    let partial_results = EXCHANGES * plan.width * (operator.state.size as u32).div_ceil(WORD);
    // What a thread cannot have in any block is kept in local memory.
    let needed = (row + partial_results + OTHER_REGISTERS).min(registers_for(1));
    let found = registers_for(resident);
    report.require(plan.resident > 0 && (plan.resident == 1 || found >= needed), Rule::Registers, || {
        format!("{resident} resident threads have {found} registers each, and need {needed}")
    });
}

fn units(plan: &ColumnsPlan, report: &mut Report) {
    report.require(plan.width.is_power_of_two() && plan.aligned_width.is_power_of_two(), Rule::Units, || {
        format!("{} columns of a thread, {} where memory is aligned", plan.width, plan.aligned_width)
    });
    for ColumnArray { bytes, unit, .. } in plan.inputs.iter().chain(&plan.outputs) {
        let moved = plan.width * bytes;
        let fits = unit.is_power_of_two() && *unit <= COPY_ALIGNMENT && moved.is_multiple_of(*unit);
        report.require(fits, Rule::Units, || {
            format!("units of {unit} bytes do not divide {} columns of {bytes} bytes", plan.width)
        });
    }
}

/// Arrays of extreme shapes that the plan is for.
fn layouts(plan: &ColumnsPlan) -> Vec<ColumnLayout> {
    let rows = u64::from(plan.threads * plan.run);
    let lengths = [1, 2, rows - 1, rows, rows + 1, 1000 * rows, 1 << 31, 1 << 40, 1 << 50];
    let lengths = lengths.into_iter().filter(|&length| 0 < length && length <= plan.longest);
    let columns = [1, 2, 3, 1000, 1 << 20, 1 << 40].into_iter();
    let columns = columns.filter(|columns| (plan.min_columns..=plan.max_columns).contains(columns));
    let columns: Vec<_> = columns.collect();
    lengths.flat_map(|length| columns.iter().map(move |columns| ColumnLayout::of_rows(length, *columns))).collect()
}

fn schedules(plan: &ColumnsPlan, layout: &ColumnLayout, limits: &DeviceLimits, report: &mut Report) {
    // An array beyond the most tiles has no schedule.
    let Ok(schedule) = plan.schedule(layout) else { return };
    launches::check_any(&schedule, limits.blocks_per_grid, layout.length(), report);
    for launch in &schedule.launches {
        let of = || format!("{} columns of {} elements", layout.columns(), layout.length());
        if plan.streams {
            let covered = u64::from(launch.blocks) * u64::from(plan.threads * plan.width);
            report.require(covered >= layout.columns(), Rule::Launches, || format!("{}: {covered} are scanned", of()));
            continue;
        }
        let number = |argument: &Argument| if let Argument::Length(number) = argument { Some(*number) } else { None };
        let numbers: Vec<_> = launch.arguments.iter().filter_map(number).collect();
        let [across, window, ring_log] = numbers[..] else {
            return report.require(false, Rule::Launches, || format!("{}: numbers {numbers:?}", of()));
        };
        let tile_rows = layout.length().div_ceil(u64::from(plan.threads) / across * u64::from(plan.run));
        let tile_columns = layout.columns().div_ceil(across * u64::from(plan.width));
        let threads = u64::from(plan.threads);
        report.require(across.is_power_of_two() && across <= threads, Rule::Threads, || {
            format!("{}: {across} of {threads} threads side by side", of())
        });
        let tiles = tile_rows.saturating_mul(tile_columns);
        report.require(tiles <= MAX_TILES && window < WORD_END, Rule::Widths, || {
            format!("{}: {tiles} tiles, {window} rows of which are polled, are counted in 32 bits", of())
        });
        report.require(tile_rows <= GENERATIONS << ring_log.min(32), Rule::Widths, || {
            format!("{}: {tile_rows} rows of tiles fill a ring of 2^{ring_log} more than {GENERATIONS} times", of())
        });
        let resident = u64::from(limits.multiprocessors) * u64::from(plan.resident);
        report.require(tile_rows == 1 || u64::from(launch.blocks) <= resident, Rule::Residency, || {
            format!("{}: {} blocks wait for each other, {resident} are resident", of(), launch.blocks)
        });
        report.require(tile_rows == 1 || launch.cooperative == Cooperative::Always, Rule::Residency, || {
            format!("{}: blocks wait for each other in a launch that is not cooperative", of())
        });
    }
}

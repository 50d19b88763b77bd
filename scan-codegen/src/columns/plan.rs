//! The planner of scans along an axis, and their schedule.

use std::fmt;

use super::axis::ColumnLayout;
use crate::{
    constants::{COPY_ALIGNMENT, PACKET_PAYLOAD, WARP, WORD},
    error::PlanError,
    limits::DeviceLimits,
    operator::OpSource,
    plan::{Overrides, PROGRAMMATIC, check_operator, check_overrides, check_start},
    schedule::{Argument, Cooperative, Launch, STATUSES, Schedule, Workspace, initial_value},
    spec::{ScanKind, ScanSpec},
    weight::{WRITTEN_OUT, Weights},
    zipped::Arrays,
};

/// The role of the kernel.
const KERNEL: &str = "scan_columns";

/// Threads of a block, unless shared memory is too short for them.
const THREADS: u32 = 256;

/// Bytes of a row that a thread has side by side, where elements are smaller.
const ROW_BYTES: u32 = 8;

/// Columns that a thread has side by side, at the most, where elements are smaller still.
const MOST_ALIGNED_WIDTH: u32 = 4;

/// Bytes of the partial results that a thread has side by side, where it has several.
const ROW_STATE_BYTES: u32 = 32;

/// Bytes of a row of a tile, at the most, where columns need not be shared by more threads. This and what follows:
/// `docs/tuning.md#scans-along-an-axis`.
const WIDE_ROW_BYTES: u64 = 256;

/// Bytes of all columns of a group of tiles, at the least: passing on a prefix from group to group takes 0.6
/// microseconds.
const GROUP_BYTES: u64 = 4 << 20;

/// How many times as many columns a thread has side by side where columns are short, the most of them, and the most
/// bytes of their partial results.
const SHORT: u32 = 4;
const MOST_WIDTH: u32 = 16;
const SHORT_STATE_BYTES: u32 = 64;

/// Bytes of elements that a thread keeps in registers.
const RUN_BYTES: u32 = 128;

/// The minimum bytes of a row of a tile, unless the array has fewer columns.
const TILE_ROW_BYTES: u32 = 64;

/// Registers of a thread for all but elements and partial results.
const OTHER_REGISTERS: u32 = 64;

/// The most tiles: the kernel counts them in 32 bits.
const MOST_TILES: u64 = (1 << 31) - 1;

/// Bytes of shared memory of a block for all but elements and partial results.
const OTHER_SHARED_BYTES: u32 = 64;

/// Bytes of shared memory that the system takes of each block, from `sm_80` on.
const SYSTEM_SHARED_BYTES: u32 = 1024;

/// Registers of a multiprocessor.
const REGISTERS: u32 = 1 << 16;

/// Threads that every multiprocessor has room for at once.
const MOST_RESIDENT_THREADS: u32 = 1024;

/// The shape of the kernel that scans along an axis. [`plan_columns`] makes one; its `Display` describes it.
/// Blocks of the same threads cover tiles of different widths, by the array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ColumnsPlan {
    /// The device that it is for.
    pub device: DeviceLimits,
    /// The scan.
    pub spec: ScanSpec,
    /// Threads of a block: a power of two.
    pub threads: u32,
    /// The most persistent blocks: as many as are resident at once.
    pub blocks: u32,
    /// Blocks that a multiprocessor has registers and shared memory for, at the least: the compiler keeps to it.
    pub resident: u32,
    /// Rows that a thread scans on its own, in registers.
    pub run: u32,
    /// Neighbouring columns that a thread scans, and reads and writes at once: a power of two.
    pub width: u32,
    /// The width of the plan for memory that is aligned. Tiles have as many rows in both, so that results are grouped
    /// in the same way.
    pub(super) aligned_width: u32,
    /// What the addresses of input and output must be multiples of.
    pub(super) alignments: (u32, u32),
    own_alignments: (u32, u32),
    /// The longest columns that it is for.
    longest: u64,
    /// The minimum number of threads of a block that are side by side, unless the array has fewer columns: a power of
    /// two.
    pub least_across: u32,
    /// The most instructions that a function of the operator is to have at all its places in the kernel together.
    pub written_out: u32,
    /// Whether the launch may begin before the preceding work in the stream has ended.
    pub programmatic: bool,
    /// Whether threads wait for a pseudo-random time where they publish or poll.
    pub delays: bool,
    shared_bytes: u32,
    pub(super) input_bytes: u32,
    pub(super) output_bytes: u32,
    state_bytes: u32,
}

/// How threads and tiles are placed on an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Placement {
    /// Threads of a block that are side by side: a power of two.
    across: u32,
    /// Whether a block takes all tiles of its columns, one below the other.
    strips: bool,
}

/// Chooses the shape of the kernel that scans along an axis. A pure function, like [`plan`](crate::plan()). Of the
/// overrides it takes those that say how many threads a block has, how many rows a thread, and how many blocks there
/// are, and those that are no matter of shape.
///
/// # Errors
///
/// Those of [`plan`](crate::plan()); [`PlanError::Columns`] for what a scan along an axis does not do.
pub fn plan_columns(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
    overrides: &Overrides,
) -> Result<ColumnsPlan, PlanError> {
    check_operator(operator)?;
    check_overrides(overrides)?;
    check(operator, spec, overrides)?;
    let device = *limits;
    let limits = limits.usable()?;
    let [input_bytes, state_bytes, output_bytes] =
        [&operator.input, &operator.state, &operator.output].map(|ty| ty.size as u32);
    let largest = input_bytes.max(output_bytes);
    let width = width(input_bytes, output_bytes).min((ROW_STATE_BYTES / state_bytes).max(1));
    let width = 1 << width.ilog2();
    let run = overrides
        .run
        .unwrap_or_else(|| (RUN_BYTES / (largest * width)).min(Weights::longest_run(operator) / width).max(1));
    // A run of each thread, and a partial result of each of its columns.
    let thread_bytes = width * (run.saturating_mul(input_bytes).saturating_add(state_bytes));
    let most = (limits.shared_bytes_per_block - OTHER_SHARED_BYTES) / thread_bytes.max(1);
    let most = most.min(limits.threads_per_block).checked_ilog2().map_or(0, |log| 1 << log);
    let threads = overrides.threads.unwrap_or_else(|| most.min(THREADS));
    if !(WARP..=most).contains(&threads) || !threads.is_power_of_two() {
        return Err(PlanError::Threads { threads, least: WARP, most });
    }
    Ok(ColumnsPlan {
        device,
        spec: spec.clone(),
        threads,
        blocks: overrides.blocks.unwrap_or(u32::MAX),
        resident: 1,
        shared_bytes: 0,
        run,
        width,
        aligned_width: width,
        alignments: (unit(width * input_bytes), unit(width * output_bytes)),
        own_alignments: (operator.input.align as u32, operator.output.align as u32),
        longest: u64::MAX,
        least_across: TILE_ROW_BYTES.div_ceil(width * largest).next_power_of_two(),
        written_out: overrides.written_out.unwrap_or(WRITTEN_OUT),
        programmatic: overrides.programmatic.unwrap_or(true) && limits.architecture >= PROGRAMMATIC,
        delays: overrides.delays,
        input_bytes,
        output_bytes,
        state_bytes,
    }
    .fitted(&limits))
}

/// Refuses what scans along an axis do not do.
fn check(operator: &OpSource, spec: &ScanSpec, overrides: &Overrides) -> Result<(), PlanError> {
    let refused = |why| Err(PlanError::Columns { why });
    let known = Overrides {
        threads: None,
        run: None,
        blocks: None,
        written_out: None,
        programmatic: None,
        deterministic: false,
        delays: false,
        ..*overrides
    };
    if known != Overrides::default() {
        return refused("it has one strategy: ask for threads, or for the elements of a thread");
    }
    if !spec.segments.is_none() {
        return refused("it restarts with each column, and nowhere else: scan without segments");
    }
    if (spec.input, spec.output) != (Arrays::One, Arrays::One) {
        return refused("it reads one array and writes one: make structs of what belongs together");
    }
    if spec.total {
        return refused("it has a total for each column: the last result of an inclusive scan");
    }
    check_start(operator, spec.initial_value)?;
    let lacks_begin = operator.identity.is_none() && operator.carry.is_none();
    if spec.kind == ScanKind::Exclusive && !spec.initial_value && lacks_begin {
        return Err(PlanError::NoIdentity { operator: operator.name.clone() });
    }
    Ok(())
}

/// The number of columns that a thread has side by side, such that the larger elements have [`ROW_BYTES`], or the smaller ones a
/// word. Where elements fill no power of two, it is one.
fn width(input: u32, output: u32) -> u32 {
    let [smaller, larger] = [input.min(output), input.max(output)];
    if !smaller.is_power_of_two() || !larger.is_power_of_two() {
        return 1;
    }
    let widest = (2 * ROW_BYTES / larger).max(1); // the widest access has 16 bytes
    (ROW_BYTES / larger).min(MOST_ALIGNED_WIDTH).max(WORD / smaller).clamp(1, widest)
}

/// The largest power of two up to the widest access that divides this number of bytes.
fn unit(bytes: u32) -> u32 {
    1 << bytes.trailing_zeros().min(COPY_ALIGNMENT.trailing_zeros())
}

impl ColumnsPlan {
    /// With as many blocks as a device has room for at once.
    fn fitted(self, limits: &DeviceLimits) -> ColumnsPlan {
        let ColumnsPlan { threads, run, width, input_bytes, output_bytes, state_bytes, .. } = self;
        let shared_bytes = threads * width * (run * input_bytes + state_bytes) + OTHER_SHARED_BYTES;
        // A multiprocessor has what a block can have, and what the system takes of each block.
        let shared = (limits.shared_bytes_per_block_optin + SYSTEM_SHARED_BYTES) / (shared_bytes + SYSTEM_SHARED_BYTES);
        // The run becomes the results; there are four rows of partial results at a time.
        let run_words = (run * width * input_bytes.max(output_bytes)).div_ceil(WORD);
        let registers = run_words + 4 * width * state_bytes.div_ceil(WORD) + OTHER_REGISTERS;
        let resident = (REGISTERS / (threads * registers)).min(shared).clamp(1, MOST_RESIDENT_THREADS / threads);
        let at_once = limits.multiprocessors.saturating_mul(resident);
        ColumnsPlan { shared_bytes, resident, blocks: self.blocks.min(at_once).max(1), ..self }
    }

    /// Whether it is for an array that lies like this at these addresses, of its first element and of its first result.
    /// Where it is not, [`unaligned`](ColumnsPlan::unaligned) is.
    pub fn suits(&self, layout: &ColumnLayout, input: u64, output: u64) -> bool {
        layout.length() <= self.longest
            && layout.grain().is_multiple_of(self.width.into())
            && input.is_multiple_of(self.alignments.0.into())
            && output.is_multiple_of(self.alignments.1.into())
    }

    /// This plan, that for short columns before it if there is one, and that for any array after it: the first one that
    /// [suits](ColumnsPlan::suits) an array is for it. All give the same results.
    pub fn all(&self) -> Vec<ColumnsPlan> {
        self.short().into_iter().chain([self.clone(), self.unaligned()]).collect()
    }

    /// The plan for columns of so few elements that a thread has each whole, and more columns instead.
    fn short(&self) -> Option<ColumnsPlan> {
        let width = (SHORT * self.width).min(MOST_WIDTH).min((SHORT_STATE_BYTES / self.state_bytes).max(1));
        let width = 1 << width.ilog2();
        let run = self.run * self.width / width;
        let limits = self.device;
        let is_short = width > self.width && run > 0 && self.width == self.aligned_width;
        let plan = ColumnsPlan { run, longest: run.into(), ..self.clone() };
        is_short.then(|| plan.shaped(width, self.least_across).fitted(&limits))
    }

    /// The plan for any array, in which each thread scans one column. It is slower where that of several is for the
    /// array, and gives the same results.
    pub fn unaligned(&self) -> ColumnsPlan {
        ColumnsPlan { width: 1, alignments: self.own_alignments, ..self.clone() }
    }

    /// This plan with another width of threads and another number of them side by side: for tests, and to measure.
    #[doc(hidden)]
    pub fn shaped(self, width: u32, least_across: u32) -> ColumnsPlan {
        let alignments = (unit(width * self.input_bytes), unit(width * self.output_bytes));
        let limits = self.device;
        ColumnsPlan { width, aligned_width: width, alignments, least_across, ..self }.fitted(&limits)
    }

    /// The roles of the kernels that schedules of this plan may launch.
    pub fn kernels(&self) -> &'static [&'static str] {
        &[KERNEL]
    }

    /// How the threads of a block are placed for an array, and whether each block takes whole strips of tiles.
    fn placement(&self, layout: &ColumnLayout) -> Placement {
        let power = |number: u64| number.max(1).checked_next_power_of_two().unwrap_or(u64::MAX);
        let columns = power(layout.columns().div_ceil(self.aligned_width.into()));
        let rows = power(layout.length().div_ceil(self.run.into()));
        let threads = u64::from(self.threads);
        let whole = threads.div_ceil(rows); // that leaves no thread without rows
        let fitting = |across: u64| whole.max(across).min(columns).min(threads);
        let least = u64::from(self.least_across);
        let row_bytes = u64::from(self.aligned_width * self.input_bytes.max(self.output_bytes));
        let wider = || std::iter::successors(Some(least), |across| Some(2 * across));
        let widths: Vec<u64> =
            wider().take_while(|across| *across == least || across * row_bytes <= WIDE_ROW_BYTES).collect();
        // Strips, where the widest keep nearly all blocks busy to the end: narrow ones are slower than statuses.
        let widest = fitting(widths.last().copied().unwrap_or(least));
        let strips = layout.columns().div_ceil(widest * u64::from(self.aligned_width));
        let blocks = u64::from(self.blocks);
        if 10 * strips >= 9 * strips.div_ceil(blocks) * blocks {
            return Placement { across: widest as u32, strips: true };
        }
        // Else the widest for which groups of tiles are not so short that tiles wait for what groups pass on.
        let column_bytes = layout.columns().saturating_mul(row_bytes / u64::from(self.aligned_width));
        let is_long = |across: &u64| {
            let down = (threads / across).max(1);
            column_bytes.saturating_mul(down * down * u64::from(self.run)) >= GROUP_BYTES
        };
        let across = widths.iter().rev().copied().find(|across| is_long(across)).unwrap_or(least);
        Placement { across: fitting(across) as u32, strips: false }
    }

    /// Words of a state for which a packet of a status has room, in addition to its tag.
    pub(super) fn packet_payload(&self) -> u32 {
        if self.state_bytes <= WORD { 1 } else { PACKET_PAYLOAD }
    }

    /// Bytes of a status: packets of a tag and a part of the state.
    pub fn status_bytes(&self) -> u64 {
        let payload = self.packet_payload();
        u64::from(self.state_bytes.div_ceil(WORD * payload) * (payload + 1) * WORD)
    }

    /// The launches that scan an array; none where it has no elements.
    ///
    /// # Errors
    ///
    /// [`PlanError::TooLong`] if the device's grid cannot have that many tiles.
    pub fn schedule(&self, layout: &ColumnLayout) -> Result<Schedule, PlanError> {
        let Placement { across, strips } = self.placement(layout);
        let tile_columns = layout.columns().div_ceil(u64::from(across * self.width));
        let tile_rows = layout.length().div_ceil(u64::from(self.threads / across * self.run));
        let carries = tile_rows > 1 && !strips;
        let statuses = if carries { tile_rows.saturating_mul(layout.columns()) } else { 0 };
        let workspace = Workspace::Kept { statuses, status_bytes: self.status_bytes() };
        if layout.is_empty() {
            return Ok(Schedule { workspace, launches: Vec::new() });
        }
        let tiles = tile_rows.saturating_mul(tile_columns);
        if tiles > MOST_TILES {
            let tile = u64::from(self.threads * self.run * self.width);
            let len = layout.columns().saturating_mul(layout.length());
            return Err(PlanError::TooLong { len, max_len: MOST_TILES.saturating_mul(tile) });
        }
        let chunks = if strips { tile_columns } else { tiles };
        let blocks = u64::from(self.blocks).min(chunks).min(self.device.usable()?.blocks_per_grid);
        let mut arguments = vec![Argument::Operator, Argument::Input, Argument::Output];
        arguments.extend(STATUSES);
        arguments.extend([Argument::Layout, Argument::Length(across.into()), Argument::Length(strips.into())]);
        arguments.extend(initial_value(&self.spec));
        let launch = Launch::new(KERNEL, blocks as u32, self.threads, arguments);
        // Only then does a tile wait for others.
        let cooperative = if carries { Cooperative::Always } else { Cooperative::Never };
        let launch = Launch { programmatic: self.programmatic, cooperative, ..launch };
        Ok(Schedule { workspace, launches: vec![launch] })
    }
}

impl fmt::Display for ColumnsPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ColumnsPlan { threads, blocks, shared_bytes, run, width, least_across, .. } = self;
        writeln!(f, "{} along an axis, for {}", self.spec, self.device)?;
        writeln!(f, "  strategy  columns")?;
        writeln!(f, "  blocks    {blocks} at most, {shared_bytes} bytes of shared memory each")?;
        writeln!(f, "  block     {threads} threads, {least_across} of them side by side or more")?;
        writeln!(f, "  tile      {} elements, {run} rows of {width} columns a thread", threads * run * width)?;
        write!(f, "  statuses  {} bytes a column of a tile", self.status_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, operator::operator_of};

    fn plan_of(bytes: usize) -> ColumnsPlan {
        plan_columns(&operator_of(bytes), &ScanSpec::inclusive(), &DeviceLimits::H200, &Overrides::default()).unwrap()
    }

    #[test]
    fn runs_fill_registers() {
        let shape = |bytes| {
            let plan = plan_of(bytes);
            (plan.threads, plan.run, plan.width, plan.least_across)
        };
        assert_eq!(shape(1), (256, 32, 4, 16));
        assert_eq!(shape(2), (256, 16, 4, 8));
        assert_eq!(shape(4), (256, 16, 2, 8));
        assert_eq!(shape(8), (256, 16, 1, 8));
        assert_eq!(shape(12), (256, 10, 1, 8));
        assert_eq!(shape(36), (256, 3, 1, 2));
        assert_eq!(shape(256), (64, 1, 1, 1));
        assert_eq!([(1, 4), (4, 1), (1, 8), (2, 4), (3, 4), (4, 16)].map(|(i, o)| width(i, o)), [4, 4, 2, 2, 1, 1]);
    }

    #[test]
    fn tiles_cover_columns_and_rows() {
        let plan = plan_of(4);
        let of = |shape: &[usize], axis| {
            let layout = Axis::of(shape, axis).unwrap().layout();
            let schedule = plan.schedule(&layout).unwrap();
            let statuses = (schedule.workspace.bytes() - 256) / 8;
            let Placement { across, strips } = plan.placement(&layout);
            (across, strips, schedule.launches.first().map_or(0, |launch| launch.blocks), statuses)
        };
        // Many columns: strips where the widest keep all blocks busy.
        assert_eq!(of(&[4096, 65536], 0), (32, true, 264, 0));
        assert_eq!(of(&[8, 65536, 1536], 1), (32, false, 264, 512 * 8 * 1536));
        assert_eq!(of(&[65536, 4096], 0), (32, false, 264, 512 * 4096));
        // Long ones: tiles of 16 columns and 512 rows.
        assert_eq!(of(&[1 << 22, 64], 0), (8, false, 264, 8192 * 64));
        assert_eq!(of(&[1 << 20, 1024], 0), (32, false, 264, 8192 * 1024));
        // Short ones: no tile has fewer rows than a run.
        assert_eq!(of(&[4, 1 << 20], 0), (256, true, 264, 0));
        assert_eq!(of(&[100, 1 << 20], 0), (32, true, 264, 0));
        // Few columns.
        assert_eq!(of(&[1 << 20, 1], 0), (1, false, 256, 256));
        assert_eq!(of(&[1 << 20, 5], 0), (4, false, 264, 1024 * 5));
        assert_eq!(of(&[3, 1], 0), (1, false, 1, 0));
        assert_eq!(of(&[0, 9], 0).2, 0);
    }

    #[test]
    fn arrays_find_their_plan() {
        let plans = plan_of(4).all();
        let of = |shape: &[usize], axis, address| {
            let layout = Axis::of(shape, axis).unwrap().layout();
            let plan = plans.iter().find(|plan| plan.suits(&layout, address, 0)).unwrap();
            (plan.run, plan.width)
        };
        assert_eq!([of(&[4, 64], 0, 0), of(&[5, 64], 0, 0), of(&[4, 68], 0, 0)], [(4, 8), (16, 2), (16, 2)]);
        assert_eq!([of(&[4, 64], 0, 4), of(&[40, 7], 0, 0), of(&[40, 8], 0, 4)], [(16, 1); 3]);
    }

    #[test]
    fn what_it_does_not_do_is_told() {
        let plan = |spec: &ScanSpec, overrides: &Overrides| {
            plan_columns(&operator_of(4), spec, &DeviceLimits::H200, overrides).map(drop)
        };
        let spec = ScanSpec::inclusive();
        let rows = spec.clone().with_segments(crate::Segments::Rows);
        assert!(matches!(plan(&rows, &Overrides::default()), Err(PlanError::Columns { .. })));
        assert!(matches!(plan(&spec.clone().with_total(), &Overrides::default()), Err(PlanError::Columns { .. })));
        assert!(matches!(plan(&spec, &Overrides::default().teams(2)), Err(PlanError::Columns { .. })));
        let per_field = ScanSpec { input: Arrays::PerField, ..spec.clone() };
        assert!(matches!(plan(&per_field, &Overrides::default()), Err(PlanError::Columns { .. })));
        assert!(matches!(plan(&spec, &Overrides::default().threads(96)), Err(PlanError::Threads { .. })));
        assert!(matches!(plan(&ScanSpec::exclusive(), &Overrides::default()), Err(PlanError::NoIdentity { .. })));
        let plan = plan_of(4);
        let layout = Axis::of(&[1 << 45, 8], 0).unwrap().layout();
        assert_eq!(plan.schedule(&layout), Err(PlanError::TooLong { len: 1 << 48, max_len: 8192 * MOST_TILES }));
    }
}

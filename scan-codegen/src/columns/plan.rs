//! The planner of scans along an axis, and their schedule.

use std::{fmt, ops::RangeInclusive};

use super::{
    array::{ColumnArray, Columns, Lying},
    axis::ColumnLayout,
};
use crate::{
    array_kind::{ArrayKind, ArrayKinds},
    constants::{COPY_ALIGNMENT, PACKET_PAYLOAD, WARP, WORD},
    element::ElementType,
    error::PlanError,
    kernel_role::KernelRole,
    limits::DeviceLimits,
    operator::OpSource,
    plan::{Overrides, PROGRAMMATIC, check_operator, check_outputs, check_overrides, check_start},
    schedule::{Argument, Cooperative, Launch, STATUSES, Schedule, Workspace, initial_value},
    spec::{ScanKind, ScanSpec},
    weight::{Decided, INLINED, Places, Weights},
};

/// Threads of a block, unless shared memory is too short for them: `docs/tuning.md#scans-along-an-axis`.
const THREADS: u32 = 256;

/// Threads of a block for which runs are shorter, if shared memory has no room for as many.
const MIN_THREADS: u32 = 64;

/// Bytes of a row that a thread has side by side, where elements are smaller.
const ROW_BYTES: u32 = 8;

/// Columns that a thread has side by side, at the most, where elements are smaller still.
const MAX_ALIGNED_WIDTH: u32 = 4;

/// Bytes of the partial results that a thread has side by side, where it has several. Of several arrays, where it
/// carries them from tile to tile, unless the smallest items then had less than a word:
/// `docs/tuning.md#scans-along-an-axis`.
const ROW_STATE_BYTES: u32 = 32;
const CARRIED_STATE_BYTES: u32 = 16;

/// Bytes of a row of a tile, at the most, where columns need not be shared by more threads:
/// `docs/tuning.md#scans-along-an-axis`.
const WIDE_ROW_BYTES: u32 = 256;

/// Tiles of a block that are in shared memory: one that is scanned, one that is folded, and one that arrives.
pub(crate) const STAGES: u32 = 3;

/// The most tiles of a block in shared memory, where few threads scan their columns alone.
const MAX_STAGES: u32 = 8;

/// How often there is room for the partial results of all threads.
pub(crate) const EXCHANGES: u32 = 4;

/// The most bytes that a thread reads at once, and of the partial results of its columns, where columns are short.
const SHORT_ROW_BYTES: u32 = 16;
const SHORT_STATE_BYTES: u32 = 64;

/// Bytes of elements of a thread's run, where columns are short.
const SHORT_RUN_BYTES: u32 = 128;

/// Bytes of elements of a thread's run: `docs/tuning.md#scans-along-an-axis`.
const RUN_BYTES: u32 = 272;

/// Bytes of a row of an array, at the most, for which a thread has more statuses in flight: the fewer columns there
/// are, the more statuses of other tiles a tile needs.
const NARROW_ROW_BYTES: u32 = 2048;

/// Bytes of elements of a thread's run where it scans its columns alone. Two runs are on their way, which is enough for one
/// warp of each multiprocessor to load as fast as memory is: `docs/tuning.md#scans-along-an-axis`.
const STREAMED_BYTES: u32 = 512;

/// Rows of a thread's run, at the most. Those of a power of two would begin in the same channels of memory as those of
/// the threads next to it: `docs/tuning.md#scans-along-an-axis`.
const MAX_ROWS: u32 = 28;

/// Words of statuses that a thread has in flight at once, and of arrays with few columns:
/// `docs/tuning.md#scans-along-an-axis`.
const POLLED_WORDS: u32 = 16;
const NARROW_POLLED_WORDS: u32 = 32;

/// How often the ring of statuses is filled, at the most: tags have bits for no more.
pub(crate) const GENERATIONS: u64 = (1 << 10) - 1;

/// The most arrays with strides of their own that have kernels for the ways in which their rows lie.
const MAX_IN_ROWS: usize = 3;

/// The minimum bytes of a row of a tile, unless the array has fewer columns.
const TILE_ROW_BYTES: u32 = 128;

/// Registers of a thread for all but elements and partial results.
const OTHER_REGISTERS: u32 = 64;

/// The most tiles: the kernel counts them in 32 bits.
pub(crate) const MAX_TILES: u64 = (1 << 31) - 1;

/// Bytes of shared memory of a block for all but elements and partial results.
const OTHER_SHARED_BYTES: u32 = 64;

/// Bytes of shared memory that the system takes of each block, from `sm_80` on.
pub(crate) const SYSTEM_SHARED_BYTES: u32 = 1024;

/// Registers of a multiprocessor.
const REGISTERS: u32 = 1 << 16;

/// Threads that every multiprocessor has room for at once.
pub(crate) const MAX_RESIDENT_THREADS: u32 = 1024;

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
    /// The most persistent blocks: as many as are resident at once,
    pub blocks: u32,
    /// unless fewer are asked for.
    max_blocks: u32,
    /// Blocks that a multiprocessor has registers and shared memory for, at the least: the compiler keeps to it.
    pub resident: u32,
    /// Rows that a thread scans on its own, in registers.
    pub run: u32,
    /// Neighbouring columns that a thread scans, and reads and writes at once: a power of two.
    pub width: u32,
    /// Tiles of a block that are in shared memory at once.
    pub(crate) stages: u32,
    /// The width of the plan for memory that is aligned. Tiles have as many rows in both, so that results are grouped
    /// in the same way.
    pub(crate) aligned_width: u32,
    /// The arrays of the input,
    pub(crate) inputs: Vec<ColumnArray>,
    /// and of the output.
    pub(crate) outputs: Vec<ColumnArray>,
    /// The longest columns that it is for,
    pub(crate) longest: u64,
    /// and how many of them at the least and at the most.
    pub(crate) min_columns: u64,
    pub(crate) max_columns: u64,
    /// Whether each thread scans its columns alone, from their first row to their last.
    pub(crate) streams: bool,
    /// Whether lanes load for each other: sixteen bytes each of the rows of their warp, whose columns are side by side.
    pub(crate) by_warps: bool,
    /// The fewest and the most threads of a block that are side by side, unless the array has fewer columns, or so few
    /// rows that there would be threads without any: powers of two.
    pub across: RangeInclusive<u32>,
    /// Statuses of other tiles that a thread has in flight at once.
    pub(crate) polled_at_once: u32,
    /// The most instructions that a function of the operator is to have at all its places in the kernel together.
    pub inlined: u32,
    /// Whether the launch may begin before the preceding work in the stream has ended.
    pub programmatic: bool,
    /// Whether threads wait for a pseudo-random time where they publish or poll.
    pub delays: bool,
    state_bytes: u32,
    /// What the weight of the operator decides.
    decided: Decided,
    run_by_weight: bool,
    /// The most rows of a thread by the operator's weight; none where a shape has been asked for.
    max_rows: Option<u32>,
}

/// How threads and tiles are placed on an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Placement {
    /// Threads of a block that are side by side: a power of two.
    across: u32,
    /// Rows of tiles of which a tile reads the aggregates or the prefix.
    window: u64,
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
    let state_bytes = operator.state.size as u32;
    let arrays = |items: Vec<&ElementType>, kinds: ArrayKinds| {
        let arrays = items.into_iter().enumerate().map(|(index, item)| ColumnArray::of(item, kinds.of(index)));
        arrays.filter(|array| array.kind != ArrayKind::NoMemory).collect::<Vec<_>>()
    };
    let inputs = arrays(spec.input.items(&operator.input), spec.input_kinds);
    let outputs = arrays(spec.output.items(&operator.output), spec.output_kinds);
    let (input_bytes, output_bytes) = (bytes_of(&inputs), bytes_of(&outputs));
    let items = || inputs.iter().chain(&outputs).map(|array| array.bytes);
    let row_state_bytes = if inputs.len() > 1 { CARRIED_STATE_BYTES } else { ROW_STATE_BYTES };
    let width = width(items(), state_bytes, row_state_bytes);
    // Runs of each thread, and partial results of each of its columns.
    let max_threads = |run: u32| {
        let row = run.saturating_mul(STAGES * input_bytes).saturating_add(EXCHANGES * state_bytes);
        let max =
            limits.shared_bytes_per_block_optin.saturating_sub(OTHER_SHARED_BYTES) / width.saturating_mul(row).max(1);
        max.min(limits.threads_per_block).checked_ilog2().map_or(0, |log| 1 << log)
    };
    let bytes = input_bytes.max(output_bytes) * width;
    let rows = (RUN_BYTES / bytes).min(MAX_ROWS);
    let by_weight = Weights::longest_run(operator) / width;
    let run_by_weight = overrides.run.is_none() && by_weight < rows;
    let run = overrides.run.unwrap_or_else(|| {
        let mut run = rows.min(by_weight).max(1);
        while run > 1 && max_threads(run) < MIN_THREADS {
            run /= 2;
        }
        run
    });
    let max = max_threads(run);
    let threads = overrides.threads.unwrap_or_else(|| max.min(THREADS));
    if !(WARP..=max).contains(&threads) || !threads.is_power_of_two() {
        return Err(PlanError::Threads { threads, min: WARP, max });
    }
    let plan = ColumnsPlan {
        device,
        spec: spec.clone(),
        threads,
        blocks: 1,
        max_blocks: overrides.blocks.unwrap_or(u32::MAX),
        resident: 1,
        run,
        width,
        stages: STAGES,
        aligned_width: width,
        longest: u64::MAX,
        min_columns: 0,
        max_columns: u64::MAX,
        streams: false,
        by_warps: false,
        across: across(width * items().max().unwrap_or(1)),
        inputs: inputs.iter().map(|array| array.aligned(width)).collect(),
        outputs: outputs.iter().map(|array| array.aligned(width)).collect(),
        polled_at_once: 1,
        inlined: overrides.inlined.unwrap_or(INLINED),
        programmatic: overrides.programmatic.unwrap_or(true) && limits.architecture >= PROGRAMMATIC,
        delays: overrides.delays,
        state_bytes,
        decided: Decided::default(),
        run_by_weight,
        max_rows: [overrides.run, overrides.threads, overrides.blocks].iter().all(Option::is_none).then_some(by_weight),
    }
    .polling(POLLED_WORDS)
    .fitted(&limits);
    let decided = Decided::of(operator, plan.places(operator), plan.inlined);
    Ok(ColumnsPlan { decided, ..plan })
}

/// Refuses what scans along an axis do not do.
fn check(operator: &OpSource, spec: &ScanSpec, overrides: &Overrides) -> Result<(), PlanError> {
    let refused = |why| Err(PlanError::Columns { why });
    let known = Overrides {
        threads: None,
        run: None,
        blocks: None,
        inlined: None,
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
    let is_read = |kind: ArrayKind| kind.is_neighbour() || kind == ArrayKind::Strided;
    if !spec.input_kinds.are_slices_or(is_read) || !spec.output_kinds.are_slices_or(|kind| kind == ArrayKind::NoMemory)
    {
        return refused(
            "it reads slices, neighbours and arrays with strides of their own, and writes slices: nothing gathered, \
             scattered, or made of indices or bits; copy such items to a slice first",
        );
    }
    if spec.total {
        return refused("it has a total for each column: ask for those `.with_totals()`");
    }
    if spec.initial_late {
        return refused("its initial value is there when the kernel begins: give it with `init_from`");
    }
    check_outputs(operator, spec.outputs_of(operator))?;
    check_start(operator, spec.initial_value)?;
    let lacks_begin = operator.identity.is_none() && operator.carry.is_none();
    if spec.kind == ScanKind::Exclusive && !spec.initial_value && lacks_begin {
        return Err(PlanError::NoIdentity { operator: operator.name.clone() });
    }
    Ok(())
}

/// The number of columns that a thread has side by side, such that the largest items have [`ROW_BYTES`], or the
/// smallest ones a word, with states of `row_state_bytes`. Where items fill no power of two, it is one.
fn width(items: impl Iterator<Item = u32> + Clone, state_bytes: u32, row_state_bytes: u32) -> u32 {
    let all = items.clone().all(u32::is_power_of_two);
    let (Some(smallest), Some(largest), true) = (items.clone().min(), items.max(), all) else { return 1 };
    let widest = (2 * ROW_BYTES / largest).max(1); // the widest access has 16 bytes
    let a_word = WORD / smallest;
    let states = (row_state_bytes / state_bytes).max(a_word).min(ROW_STATE_BYTES / state_bytes);
    let width = (ROW_BYTES / largest).min(MAX_ALIGNED_WIDTH).max(a_word).clamp(1, widest).min(states);
    1 << width.max(1).ilog2()
}

/// Bytes of an element, of all its arrays together.
fn bytes_of(arrays: &[ColumnArray]) -> u32 {
    arrays.iter().fold(0, |bytes, array| bytes.saturating_add(array.bytes))
}

/// The fewest and the most threads side by side, each of `bytes` bytes of a row.
fn across(bytes: u32) -> RangeInclusive<u32> {
    let min = TILE_ROW_BYTES.div_ceil(bytes).next_power_of_two();
    min..=min.max(1 << (WIDE_ROW_BYTES / bytes).max(1).ilog2())
}

impl ColumnsPlan {
    /// With as many blocks as a device has room for at once.
    fn fitted(self, limits: &DeviceLimits) -> ColumnsPlan {
        let ColumnsPlan { threads, width, state_bytes, .. } = self;
        // A multiprocessor has what a block can have, and what the system takes of each block.
        let of_block = self.tile_bytes().saturating_add(OTHER_SHARED_BYTES + SYSTEM_SHARED_BYTES);
        let shared = limits.shared_bytes_per_block_optin.saturating_add(SYSTEM_SHARED_BYTES) / of_block;
        // A row of elements and one of results, and four rows of partial results.
        let row_words = (width * (bytes_of(&self.inputs) + bytes_of(&self.outputs))).div_ceil(WORD);
        let registers = row_words + 4 * width * state_bytes.div_ceil(WORD) + OTHER_REGISTERS;
        let resident = (REGISTERS / (threads * registers)).min(shared).clamp(1, MAX_RESIDENT_THREADS / threads);
        let at_once = limits.multiprocessors.saturating_mul(resident);
        ColumnsPlan { resident, blocks: self.max_blocks.min(at_once).max(1), ..self }
    }

    /// Bytes of an element that each thread loads, of all its arrays together.
    pub(super) fn loaded_bytes(&self) -> u32 {
        let loaded = self.inputs.iter().filter(|array| array.lying != Lying::Repeated);
        loaded.fold(0, |bytes, array| bytes.saturating_add(array.bytes))
    }

    /// Bytes of a stage for an array of which each warp loads a run.
    pub(super) fn repeated_bytes(&self, array: &ColumnArray) -> u32 {
        let of_warp = self.run * self.width * array.bytes;
        (self.threads / WARP * of_warp).next_multiple_of(COPY_ALIGNMENT)
    }

    /// Whether a thread has all rows of its columns.
    pub(super) fn has_whole_columns(&self) -> bool {
        self.longest <= self.run.into()
    }

    /// Bytes of shared memory in which tiles arrive, and threads exchange partial results.
    fn tile_bytes(&self) -> u32 {
        let repeated = self.inputs.iter().filter(|array| array.lying == Lying::Repeated);
        let repeated: u32 = repeated.map(|array| self.repeated_bytes(array)).sum();
        let exchanged = if self.streams { 0 } else { EXCHANGES * self.state_bytes };
        let of_columns = self.stages * self.run * self.loaded_bytes() + exchanged;
        self.threads * self.width * of_columns + self.stages * repeated
    }

    /// Bytes of dynamic shared memory with which a kernel is launched.
    pub fn dynamic_shared_bytes(&self, kernel: KernelRole) -> u32 {
        if kernel == KernelRole::ScanColumns { self.tile_bytes() } else { 0 }
    }

    /// Whether it is for an array that lies like this, where kernels are given these words for the arrays of the input,
    /// and of the output: the address of the first item of each, and what its kind needs. Strides of an array's own are
    /// those of the layout. Without words all arrays begin at the best addresses.
    pub fn suits(&self, layout: &ColumnLayout, inputs: &[u64], outputs: &[u64]) -> bool {
        let fill_warps = (self.repeats() || self.by_warps) && self.fills_warps(layout);
        let smallest = self.inputs.iter().map(|array| array.bytes).min().unwrap_or(1);
        let (grain, alignment) = match self.by_warps {
            true => ((COPY_ALIGNMENT / smallest).max(self.width).into(), COPY_ALIGNMENT),
            false => (self.width.into(), 1),
        };
        let suit = |arrays: &[ColumnArray], words: &[u64], alignment| {
            let columns = Columns { grain, alignment, fill_warps };
            let (mut words, mut strided) = (words.iter(), 0);
            arrays.iter().all(|array| {
                let address = words.next().copied().unwrap_or(0);
                words.by_ref().take(array.words() - 1).for_each(drop);
                let steps: Vec<u64> = match array.kind {
                    ArrayKind::Strided => layout.strided_words(strided).collect(),
                    _ => Vec::new(),
                };
                strided += usize::from(array.kind == ArrayKind::Strided);
                array.suits(address, &steps, &columns)
            })
        };
        layout.length() <= self.longest
            && (self.min_columns..=self.max_columns).contains(&layout.columns())
            && (fill_warps || !self.by_warps)
            && layout.grain().is_multiple_of(grain)
            && suit(&self.inputs, inputs, alignment)
            && suit(&self.outputs, outputs, 1)
    }

    /// Whether the columns of any warp are side by side, and of one index in all dimensions but the innermost one.
    fn fills_warps(&self, layout: &ColumnLayout) -> bool {
        let innermost = layout.dimensions().next().map_or(1, |(extent, _)| extent as u64);
        innermost.is_multiple_of(u64::from(WARP * self.aligned_width)) && self.placement(layout).across >= WARP
    }

    /// This plan, those for short columns, for many and for few columns before it if there are any, and that for any
    /// array after it: the first one that [suits](ColumnsPlan::suits) an array is for it. All that are for an array, but
    /// for where it begins, give the same results.
    pub fn all(&self) -> Vec<ColumnsPlan> {
        let other = if self.streams { Vec::new() } else { self.many().into_iter().chain(self.narrow()).collect() };
        let any = other.into_iter().chain([self.clone()]);
        let any = any.flat_map(|plan| {
            let in_rows = plan.in_rows();
            // Runs of repeated items are equally long wherever the other arrays begin, so that results are grouped alike.
            let repeated = in_rows.iter().filter(|plan| plan.repeats()).map(ColumnsPlan::unaligned).collect::<Vec<_>>();
            let all = in_rows.into_iter().chain(repeated).chain([plan.clone(), plan.unaligned()]);
            all.flat_map(|plan| plan.loading_by_warps().into_iter().chain([plan])).collect::<Vec<_>>()
        });
        self.short().filter(|_| !self.streams).into_iter().chain(any).collect()
    }

    /// The plan for an array that lies like this, and begins at the best addresses.
    pub fn for_layout(&self, layout: &ColumnLayout) -> ColumnsPlan {
        let of_slices = |plan: &ColumnsPlan| plan.suits(layout, &[], &[]);
        self.all().into_iter().find(of_slices).unwrap_or_else(|| self.clone())
    }

    /// The plans for arrays with strides of their own whose rows lie in any of the faster ways. None for many such
    /// arrays: there are as many plans as combinations.
    fn in_rows(&self) -> Vec<ColumnsPlan> {
        let is_strided = |array: &&ColumnArray| array.kind == ArrayKind::Strided;
        if !(1..=MAX_IN_ROWS).contains(&self.inputs.iter().filter(is_strided).count()) {
            return Vec::new();
        }
        let mut plans = vec![self.clone()];
        for (index, array) in self.inputs.iter().enumerate().filter(|(_, array)| is_strided(array)) {
            let with = |plan: &ColumnsPlan| {
                let of_way = |way| {
                    let mut plan = plan.clone();
                    plan.inputs[index] = way;
                    plan
                };
                array.in_rows(self.run, self.width).into_iter().map(of_way).collect::<Vec<_>>()
            };
            plans = plans.iter().flat_map(with).collect();
        }
        plans.into_iter().map(ColumnsPlan::with_longer_runs).collect()
    }

    /// This plan with lanes that load for each other, if that makes any load wider.
    fn loading_by_warps(&self) -> Option<ColumnsPlan> {
        let mut loaded = self.inputs.iter().filter(|array| array.lying != Lying::Repeated);
        let lie_so = |array: &ColumnArray| array.kind == ArrayKind::Slice || array.lying == Lying::SideBySide;
        let is_one_piece = |array: &ColumnArray| lie_so(array) && array.unit == self.width * array.bytes;
        let wider = loaded.clone().any(|array| array.unit < COPY_ALIGNMENT) && loaded.all(is_one_piece);
        wider.then(|| ColumnsPlan { by_warps: true, ..self.clone() })
    }

    /// Whether warps load runs of items that all their columns have.
    pub(super) fn repeats(&self) -> bool {
        self.inputs.iter().any(|array| array.lying == Lying::Repeated)
    }

    /// With as many rows of a thread as there is room for where not every column has items of its own.
    fn with_longer_runs(self) -> ColumnsPlan {
        let Some(max) = self.max_rows.filter(|_| self.repeats()) else { return self };
        let bytes = self.loaded_bytes().max(bytes_of(&self.outputs)) * self.width;
        let rows = (self.run_bytes() / bytes.max(1)).min(MAX_ROWS).min(max);
        let limits = self.device;
        let with = |run: u32| ColumnsPlan { run, ..self.clone() };
        let fits = |run: &u32| with(*run).tile_bytes() + OTHER_SHARED_BYTES <= limits.shared_bytes_per_block_optin;
        let run = (self.run..=rows).rev().find(fits).unwrap_or(self.run);
        with(run).fitted(&limits)
    }

    /// Bytes of elements of a thread's run.
    fn run_bytes(&self) -> u32 {
        if self.streams { STREAMED_BYTES } else { RUN_BYTES }
    }

    /// The plans for several arrays of many columns, whose threads scan some of them alone: a warp for each
    /// multiprocessor where memory bounds the scan, two where instructions do. Of one array the other kernel is as
    /// fast. The widest plan comes first: it is for the most columns.
    fn many(&self) -> Vec<ColumnsPlan> {
        let Some(max_rows) = self.max_rows.filter(|_| self.inputs.len() > 1) else { return Vec::new() };
        let multiprocessors = u64::from(self.device.multiprocessors);
        let warps = if self.run_by_weight { 2 * multiprocessors } else { multiprocessors };
        let items = self.inputs.iter().chain(&self.outputs).map(|array| array.bytes);
        let widest = width(items, self.state_bytes, ROW_STATE_BYTES);
        let widths =
            std::iter::successors(Some(widest), |width| Some(width / 2)).take_while(|width| *width >= self.width);
        let plans = widths.map(|width| {
            let plan = self.clone().shaped(width, WARP).streaming((max_rows * self.width / width).max(1));
            let plan = if width < widest { plan.loading_ahead() } else { plan };
            plan.for_columns(u64::from(WARP * width) * warps)
        });
        let limit = self.device.shared_bytes_per_block_optin;
        plans.filter(|plan| plan.tile_bytes() + OTHER_SHARED_BYTES <= limit).collect()
    }

    /// This plan with threads that scan their columns alone, of any number of columns.
    #[doc(hidden)]
    pub fn streaming(&self, max_rows: u32) -> ColumnsPlan {
        let limits = self.device;
        let max_columns = u64::from(WARP).saturating_mul(limits.blocks_per_grid); // a block has 32 at the least
        let plan = ColumnsPlan { streams: true, threads: WARP, across: WARP..=WARP, max_columns, ..self.clone() };
        let bytes = bytes_of(&plan.inputs).max(bytes_of(&plan.outputs)) * plan.width;
        let with = |run: u32| ColumnsPlan { run, ..plan.clone() };
        let fits = |run: &u32| with(*run).tile_bytes() + OTHER_SHARED_BYTES <= limits.shared_bytes_per_block_optin;
        let rows = (plan.run_bytes() / bytes).min(MAX_ROWS).min(max_rows);
        let run = (1..=rows).rev().find(fits).unwrap_or(1);
        with(run).fitted(&limits)
    }

    /// This plan with more runs in shared memory, so that they have as many bytes as three of [`STREAMED_BYTES`]. A
    /// warp that has a multiprocessor almost to itself needs as much on its way.
    fn loading_ahead(self) -> ColumnsPlan {
        let of_run = self.width * self.run * self.loaded_bytes();
        let stages = (STAGES * STREAMED_BYTES / of_run.max(1)).clamp(STAGES, MAX_STAGES);
        ColumnsPlan { stages, ..self }.fitted(&self.device)
    }

    /// This plan for `min_columns` columns and more.
    #[doc(hidden)]
    pub fn for_columns(self, min_columns: u64) -> ColumnsPlan {
        ColumnsPlan { min_columns, ..self }
    }

    /// The plan for few columns, whose threads have more statuses in flight.
    fn narrow(&self) -> Option<ColumnsPlan> {
        let bytes = bytes_of(&self.inputs).max(bytes_of(&self.outputs));
        let plan = ColumnsPlan { max_columns: u64::from(NARROW_ROW_BYTES / bytes), ..self.clone() };
        Some(plan.polling(NARROW_POLLED_WORDS)).filter(|plan| plan.polled_at_once > self.polled_at_once)
    }

    /// The plan for columns of so few elements that a thread has each whole, and more columns instead.
    fn short(&self) -> Option<ColumnsPlan> {
        let largest = self.inputs.iter().chain(&self.outputs).map(|array| array.bytes).max().unwrap_or(1);
        let width = (SHORT_ROW_BYTES / largest).min(SHORT_STATE_BYTES / self.state_bytes).max(1);
        let width = 1 << width.ilog2();
        let bytes = width * bytes_of(&self.inputs).max(bytes_of(&self.outputs));
        let run = (SHORT_RUN_BYTES / bytes).min(self.run * self.width / width);
        let limits = self.device;
        let is_short = width > self.width && run > 0 && self.width == self.aligned_width;
        let plan = ColumnsPlan { run, longest: run.into(), ..self.clone() };
        let fits = |plan: &ColumnsPlan| plan.tile_bytes() + OTHER_SHARED_BYTES <= limits.shared_bytes_per_block_optin;
        let short = is_short.then(|| ColumnsPlan { across: self.across.clone(), ..plan.shaped(width, 1) });
        short.filter(fits).map(|plan| plan.fitted(&limits))
    }

    /// The plan for any array, in which each thread scans one column. It is slower where that of several is for the
    /// array, and gives the same results.
    pub fn unaligned(&self) -> ColumnsPlan {
        let with = |arrays: &[ColumnArray]| arrays.iter().map(ColumnArray::unaligned).collect();
        ColumnsPlan { width: 1, inputs: with(&self.inputs), outputs: with(&self.outputs), ..self.clone() }
    }

    /// This plan with another width of threads, `across` of them side by side, and for any number of columns: for
    /// tests, and to measure.
    #[doc(hidden)]
    pub fn shaped(self, width: u32, across: u32) -> ColumnsPlan {
        let limits = self.device;
        let with = |arrays: &[ColumnArray]| arrays.iter().map(|array| array.aligned(width)).collect();
        let (inputs, outputs) = (with(&self.inputs), with(&self.outputs));
        let plan = ColumnsPlan { width, aligned_width: width, inputs, outputs, across: across..=across, ..self };
        plan.polling(NARROW_POLLED_WORDS).fitted(&limits)
    }

    /// This plan, with `words` of statuses that a thread has in flight at once: for measurements, too.
    #[doc(hidden)]
    pub fn polling(self, words: u32) -> ColumnsPlan {
        ColumnsPlan { polled_at_once: (words / (self.status_bytes() as u32 / WORD)).max(1), ..self }
    }

    /// The places of the kernel at which `combine` stands, its loops unrolled: twice for each element of a run, in the
    /// scans down the warps, and where their results meet.
    pub(super) fn places(&self, operator: &OpSource) -> Places {
        let (passes, joins) = if self.streams { (1, 0) } else { (2, 2 * u64::from(self.threads / WARP) + 16) };
        let elements = passes * u64::from(self.run) + joins;
        let width = u64::from(self.width);
        Places { joins: width * if operator.has("append") { joins } else { elements }, elements: width * elements }
    }

    /// The roles of the kernels that schedules of this plan may launch.
    pub fn kernels(&self) -> &'static [KernelRole] {
        &[KernelRole::ScanColumns]
    }

    /// How the threads of a block are placed for an array: side by side as far as a thread need not poll the statuses
    /// of more tiles than it can at once.
    fn placement(&self, layout: &ColumnLayout) -> Placement {
        if self.streams {
            return Placement { across: self.threads, window: 0 };
        }
        let power = |number: u64| number.max(1).checked_next_power_of_two().unwrap_or(u64::MAX);
        let columns = power(layout.columns().div_ceil(self.aligned_width.into()));
        let rows = power(layout.length().div_ceil(self.run.into()));
        let threads = u64::from(self.threads);
        let at_once = threads * u64::from(self.polled_at_once);
        let whole = threads.div_ceil(rows); // that leaves no thread without rows
        let placed = |across: u64| {
            let across = whole.max(across).min(columns).min(threads);
            let tile_columns = layout.columns().div_ceil(across * u64::from(self.aligned_width)).max(1);
            let tile_rows = layout.length().div_ceil(threads / across * u64::from(self.run)).max(1);
            let blocks = u64::from(self.blocks).min(tile_rows.saturating_mul(tile_columns));
            // What a tile needs has been published an iteration before, or two, where threads have as many statuses in
            // flight at once: that gives the others more time.
            let window = |iterations: u64| (iterations * blocks).div_ceil(tile_columns);
            let window = if window(2) * across <= at_once { window(2) } else { window(1) };
            Placement { across: across as u32, window: window.min(tile_rows) }
        };
        let polls_few = |placement: Placement| placement.window * u64::from(placement.across) <= at_once;
        let [min, max] = [self.across.start(), self.across.end()].map(|across| u64::from(*across));
        let mut across = max;
        while across > min && !polls_few(placed(across)) {
            across /= 2;
        }
        placed(across)
    }

    /// Words of the partial results of a thread's columns.
    pub(super) fn packed_words(&self) -> u32 {
        (self.width * self.state_bytes).div_ceil(WORD)
    }

    /// How many of these words a packet of a status has room for, in addition to its tag.
    pub(super) fn packet_payload(&self) -> u32 {
        if self.packed_words() == 1 { 1 } else { PACKET_PAYLOAD }
    }

    /// Bytes of a status: packets of a tag and a part of the partial results of a thread's columns.
    pub fn status_bytes(&self) -> u64 {
        let payload = self.packet_payload();
        u64::from(self.packed_words().div_ceil(payload) * (payload + 1) * WORD)
    }

    /// The launches that scan an array; none where it has no elements.
    ///
    /// # Errors
    ///
    /// [`PlanError::TooLong`] if the device's grid cannot have that many tiles.
    pub fn schedule(&self, layout: &ColumnLayout) -> Result<Schedule, PlanError> {
        let Placement { across: across_threads, window } = self.placement(layout);
        let tile_columns = layout.columns().div_ceil(u64::from(across_threads * self.width));
        let tile_rows = layout.length().div_ceil(u64::from(self.threads / across_threads * self.run));
        let carries = tile_rows > 1 && !self.streams;
        let tiles = tile_rows.saturating_mul(tile_columns);
        let resident = if self.streams { tile_columns } else { self.blocks.into() };
        let blocks = resident.min(tiles).min(self.device.usable()?.blocks_per_grid);
        let ring = ring_rows(tile_rows, tile_columns, blocks, window);
        // An aggregate and a prefix of each tile of the ring.
        let across = layout.columns().div_ceil(self.width.into());
        let statuses = if carries { ring.min(tile_rows).saturating_mul(2 * across) } else { 0 };
        let workspace = Workspace::Kept { statuses, status_bytes: self.status_bytes() };
        if layout.is_empty() {
            return Ok(Schedule { workspace, launches: Vec::new() });
        }
        if tiles > MAX_TILES {
            let tile = u64::from(self.threads * self.run * self.width);
            let len = layout.columns().saturating_mul(layout.length());
            return Err(PlanError::TooLong { len, max_len: MAX_TILES.saturating_mul(tile) });
        }
        let mut arguments = vec![Argument::Operator, Argument::Input, Argument::Output];
        let numbers = [across_threads.into(), window, ring.ilog2().into()].map(Argument::Length);
        if self.streams {
            arguments.push(Argument::Layout);
        } else {
            arguments.extend(STATUSES);
            arguments.push(Argument::Layout);
            arguments.extend(numbers);
        }
        arguments.extend(initial_value(&self.spec));
        arguments.extend(self.spec.totals.then_some(Argument::Total));
        let launch = Launch::new(KernelRole::ScanColumns, blocks as u32, self.threads, arguments);
        // Only then does a tile wait for others.
        let cooperative = if carries { Cooperative::Always } else { Cooperative::Never };
        let dynamic_shared_bytes = self.dynamic_shared_bytes(KernelRole::ScanColumns);
        let launch = Launch { programmatic: self.programmatic, cooperative, dynamic_shared_bytes, ..launch };
        Ok(Schedule { workspace, launches: vec![launch] })
    }
}

/// How many rows of tiles have statuses at once, a power of two: so many that a row's are read before they are
/// published again.
///
/// A block's tile after tile `n - blocks` is tile `n`, which is published only after that one has been read, and so
/// after the tiles 1 to `window` rows above that one were published, the last of them with its prefix, for which it has
/// been read. So for any `m` the tiles from `m - 1` rows above tile `n - m * blocks` on have been read: those
/// `(m - 1) * window` rows above it and less, and where these are a window, all. Of the same column as tile `n` they
/// are where `m` is a multiple of `columns / divisor`.
fn ring_rows(rows: u64, columns: u64, blocks: u64, window: u64) -> u64 {
    let divisor = greatest_common_divisor(blocks, columns).max(1);
    let turns = if columns / divisor < 2 { 2 } else { 1 };
    let safe = (turns * (blocks + columns) / divisor).saturating_add(window);
    safe.min(rows).max(rows.div_ceil(GENERATIONS)).max(1).next_power_of_two()
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl fmt::Display for ColumnsPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ColumnsPlan { threads, blocks, run, width, across, .. } = self;
        let (min, max) = (across.start(), across.end());
        let shared_bytes = self.tile_bytes() + OTHER_SHARED_BYTES;
        writeln!(f, "{} along an axis, for {}", self.spec, self.device)?;
        writeln!(f, "  strategy  columns")?;
        f.write_str(&self.decided.line(self.run_by_weight.then_some(self.run)))?;
        if self.streams {
            writeln!(f, "  blocks    one for {} columns, {shared_bytes} bytes of shared memory each", threads * width)?;
            return write!(f, "  parts     {run} rows of {width} columns a thread, one after the other");
        }
        writeln!(f, "  blocks    {blocks} at most, {shared_bytes} bytes of shared memory each")?;
        writeln!(f, "  block     {threads} threads, {min} to {max} of them side by side")?;
        writeln!(f, "  tile      {} elements, {run} rows of {width} columns a thread", threads * run * width)?;
        write!(f, "  statuses  two of {} bytes for the columns of a thread", self.status_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrayKind, ArrayKinds, Axis, operator::operator_of};

    fn plan_of(bytes: usize) -> ColumnsPlan {
        plan_columns(&operator_of(bytes), &ScanSpec::inclusive(), &DeviceLimits::H200, &Overrides::default()).unwrap()
    }

    #[test]
    fn runs_fill_registers() {
        let shape = |bytes| {
            let plan = plan_of(bytes);
            (plan.threads, plan.run, plan.width, *plan.across.start())
        };
        assert_eq!(shape(1), (256, 28, 4, 32));
        assert_eq!(shape(2), (256, 28, 4, 16));
        assert_eq!(shape(4), (256, 28, 2, 16));
        assert_eq!(shape(8), (256, 28, 1, 16));
        assert_eq!(shape(12), (256, 22, 1, 16));
        assert_eq!(shape(36), (256, 7, 1, 4));
        assert_eq!(shape(256), (128, 1, 1, 1));
        let width = |items: &[u32]| width(items.iter().copied(), 4, CARRIED_STATE_BYTES);
        assert_eq!([[1, 4], [4, 1], [1, 8], [2, 4], [3, 4], [4, 16]].map(|items| width(&items)), [4, 4, 2, 2, 1, 1]);
        assert_eq!((width(&[4, 4, 4]), width(&[1, 4, 6, 4])), (2, 1));
    }

    /// Which plan is for an array is asked before it is known whether the array has elements.
    #[test]
    fn plans_are_chosen_for_arrays_without_elements() {
        for bytes in [1, 4, 12, 256] {
            for plan in plan_of(bytes).all() {
                for (shape, axis) in [(&[0, 10][..], 0), (&[10, 0], 0), (&[0, 10], 1), (&[0], 0), (&[3, 0, 4], 0)] {
                    plan.suits(&Axis::of(shape, axis).unwrap().layout(), &[0], &[0]);
                }
            }
        }
    }

    #[test]
    fn tiles_cover_columns_and_rows() {
        let plans = plan_of(4).all();
        let of = |shape: &[usize], axis| {
            let layout = Axis::of(shape, axis).unwrap().layout();
            let plan = plans.iter().find(|plan| plan.suits(&layout, &[0], &[0])).unwrap();
            let schedule = plan.schedule(&layout).unwrap();
            let statuses = (schedule.workspace.bytes() - 256) / 8;
            let Placement { across, window } = plan.placement(&layout);
            (across, window, schedule.launches.first().map_or(0, |launch| launch.blocks), statuses)
        };
        let many_columns = [of(&[4096, 65536], 0), of(&[8, 65536, 1536], 1), of(&[65536, 4096], 0)];
        // Tiles as wide as can be, and one row of them or a few in a window.
        assert_eq!(many_columns, [(32, 1, 132, 2490368), (32, 2, 132, 786432), (32, 5, 132, 524288)]);
        // Fewer: narrower ones where threads would poll more statuses than at once, but of 128 bytes.
        assert_eq!([of(&[1 << 20, 256], 0), of(&[1 << 22, 64], 0)], [(32, 33, 132, 65536), (16, 66, 132, 32768)]);
        // Short ones: no tile has fewer rows than a run.
        assert_eq!([of(&[4, 1 << 20], 0), of(&[96, 1 << 20], 0)], [(256, 1, 264, 0), (64, 1, 132, 0)]);
        let few_columns = [of(&[1 << 20, 1], 0), of(&[1 << 20, 5], 0), of(&[3, 1], 0)];
        assert_eq!(few_columns, [(1, 147, 132, 294), (4, 264, 132, 5120), (1, 1, 1, 0)]);
        assert_eq!(of(&[0, 9], 0).2, 0);
    }

    /// Of several arrays, from a warp of columns for each multiprocessor on.
    #[test]
    fn threads_scan_many_columns_alone() {
        let plan = plan_of(4);
        let plan = ColumnsPlan { inputs: [&plan.inputs[..], &plan.inputs].concat(), ..plan };
        let of = |columns: usize| {
            let layout = Axis::of(&[1000, columns], 0).unwrap().layout();
            let plan = plan.for_layout(&layout);
            let schedule = plan.schedule(&layout).unwrap();
            (plan.streams, plan.run, schedule.launches[0].threads, schedule.launches[0].blocks)
        };
        assert_eq!([of(132 * 64 - 2), of(132 * 64)], [(false, 28, 256, 132), (true, 28, 32, 132)]);
        assert_eq!([of(132 * 64 + 2), of(1 << 20)], [(true, 28, 32, 133), (true, 28, 32, 1 << 14)]);
        let asked = ColumnsPlan { max_rows: None, ..plan.clone() };
        assert!(!asked.for_layout(&Axis::of(&[1000, 1 << 20], 0).unwrap().layout()).streams);
    }

    /// Threads have fewer columns where they carry states longer than the elements, or where an array has few columns:
    /// these threads load as many bytes ahead.
    #[test]
    fn states_that_are_carried_take_columns_from_a_thread() {
        let operator = OpSource { state: operator_of(8).state, ..operator_of(2) };
        let plan = plan_columns(&operator, &ScanSpec::inclusive(), &DeviceLimits::H200, &Overrides::default()).unwrap();
        assert_eq!((plan.width, plan.run), (4, 28));
        let inputs = [&plan.inputs[..], &plan.inputs].concat();
        let plan = ColumnsPlan { inputs, ..plan.shaped(2, 32) };
        let of = |columns: usize| {
            let plan = plan.for_layout(&Axis::of(&[1000, columns], 0).unwrap().layout());
            (plan.streams, plan.width, plan.run, plan.stages)
        };
        assert_eq!([of(132 * 64 - 2), of(132 * 64)], [(false, 2, 28, 3), (true, 2, 28, 6)]);
        assert_eq!([of(132 * 128 - 4), of(132 * 128)], [(true, 2, 28, 6), (true, 4, 28, 3)]);
        let width = |row_state_bytes| width([2, 2].into_iter(), 8, row_state_bytes);
        assert_eq!([width(CARRIED_STATE_BYTES), width(ROW_STATE_BYTES)], [2, 4]);
        assert_eq!(super::width([1, 1].into_iter(), 8, CARRIED_STATE_BYTES), 4);
    }

    /// The statuses of a row are published again only after all have read them, whatever block is late: a tile that is
    /// published implies which ones have been read.
    #[test]
    fn rings_are_long_enough() {
        for (columns, blocks, window) in [(1, 1, 1), (1, 5, 5), (3, 5, 2), (4, 6, 3), (6, 4, 1), (2, 7, 7), (5, 5, 2)] {
            let (rows, ring) = (400, ring_rows(400, columns, blocks, window));
            assert!(ring < rows, "{columns} columns, {blocks} blocks");
            let last = (rows - 1) * columns + columns / 2;
            let mut is_read = vec![false; (rows * columns) as usize];
            let mut read = vec![last - blocks];
            while let Some(tile) = read.pop() {
                if std::mem::replace(&mut is_read[tile as usize], true) {
                    continue;
                }
                let above = (1..=window).filter_map(|above| tile.checked_sub(above * columns));
                read.extend(above.filter_map(|published| published.checked_sub(blocks)));
                read.extend(tile.checked_sub(window * columns));
            }
            let reads = |above: u64| is_read[(last - (ring - above) * columns) as usize];
            assert!((1..=window).all(reads), "{columns} columns, {blocks} blocks, {window} rows: {ring}");
        }
    }

    #[test]
    fn plans_suit_the_shape_and_alignment_of_arrays() {
        let plans = plan_of(4).all();
        let of = |shape: &[usize], axis, address| {
            let layout = Axis::of(shape, axis).unwrap().layout();
            let plan = plans.iter().find(|plan| plan.suits(&layout, &[address], &[0])).unwrap();
            (plan.run, plan.width, plan.polled_at_once)
        };
        let few = [of(&[8, 64], 0, 0), of(&[9, 64], 0, 0), of(&[8, 66], 0, 0), of(&[40, 7], 0, 0), of(&[40, 8], 0, 4)];
        assert_eq!(few, [(8, 4, 4), (28, 2, 8), (28, 2, 8), (28, 1, 8), (28, 1, 8)]);
        let many = [of(&[8, 640], 0, 0), of(&[9, 640], 0, 0), of(&[8, 640], 0, 4), of(&[40, 513], 0, 0)];
        assert_eq!(many, [(8, 4, 4), (28, 2, 4), (28, 1, 4), (28, 1, 4)]);
    }

    /// Threads have more columns side by side where columns are short, but no more shared memory than there is.
    #[test]
    fn short_columns_fit_shared_memory() {
        let operator = OpSource { state: operator_of(4).state, ..operator_of(1) };
        let fits = |limits: DeviceLimits| {
            let plan = plan_columns(&operator, &ScanSpec::inclusive(), &limits, &Overrides::default()).unwrap();
            let plans = plan.all();
            assert!(plans.iter().all(|plan| plan.tile_bytes() <= limits.shared_bytes_per_block_optin), "{plans:?}");
            plans.iter().any(ColumnsPlan::has_whole_columns)
        };
        let of = |architecture: &str| fits(DeviceLimits::of(architecture.parse().unwrap()));
        assert_eq!(["sm_75", "sm_86", "sm_90"].map(of), [false, true, true]);
    }

    #[test]
    fn specs_that_columns_do_not_support_are_refused() {
        let plan = |spec: &ScanSpec, overrides: &Overrides| {
            plan_columns(&operator_of(4), spec, &DeviceLimits::H200, overrides).map(drop)
        };
        let spec = ScanSpec::inclusive();
        let rows = spec.clone().with_segments(crate::Segments::Rows);
        assert!(matches!(plan(&rows, &Overrides::default()), Err(PlanError::Columns { .. })));
        assert!(matches!(plan(&spec.clone().with_total(), &Overrides::default()), Err(PlanError::Columns { .. })));
        assert!(matches!(plan(&spec, &Overrides::default().teams(2)), Err(PlanError::Columns { .. })));
        let indices = spec.clone().with_kinds(ArrayKinds::new([ArrayKind::NoMemory]), ArrayKinds::default());
        assert!(matches!(plan(&indices, &Overrides::default()), Err(PlanError::Columns { .. })));
        assert!(matches!(plan(&spec, &Overrides::default().threads(96)), Err(PlanError::Threads { .. })));
        assert!(matches!(plan(&ScanSpec::exclusive(), &Overrides::default()), Err(PlanError::NoIdentity { .. })));
        let plan = plan_of(4);
        let layout = Axis::of(&[1 << 45, 8], 0).unwrap().layout();
        assert_eq!(plan.schedule(&layout), Err(PlanError::TooLong { len: 1 << 48, max_len: 14336 * MAX_TILES }));
    }
}

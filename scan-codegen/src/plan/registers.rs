//! The plan of a block scan whose runs stay in registers.

use super::{
    check::{check_architecture, refused},
    measured::{
        ALONE, CLUSTER, HEAVY_RUN, MAX_CLUSTER_BYTES, MAX_REGISTER_BYTES, REGISTER_SHAPE, RegisterShape, together,
        whole_runs_are_as_fast,
    },
    overrides::{Overrides, Request},
    types::{Block, BlockSizes, Plan},
};
use crate::{
    carry::{Blocks, Carry, CarryFacts, TileIn},
    constants::{BANKS, COPY_ALIGNMENT, MAX_THREADS, WARP, WORD},
    element::ElementType,
    error::PlanError,
    strategy::{BlockScan, Strategy},
    weight::Weights,
    zipped::Zipped,
};

/// The maximum cluster size that every device with clusters supports.
const MAX_OF_CLUSTER: u32 = 8;

/// Statuses that a lane loads at once in look-back, by default.
const STATUSES_OF_A_LANE: u32 = 1;

/// Words of the statuses that a lane holds at once: more would spill registers.
const STATUS_WORDS: u32 = 24;

/// The minimum number of multiprocessors that ranges are planned for. With fewer, plans of long runs would begin within
/// their first tile, and need a text that no larger device needs.
const MIN_MULTIPROCESSORS: u32 = 8;

/// The plans without overrides: for inputs of one block, and for longer ones.
pub(super) fn plan_ranges(request: Request<'_>) -> Result<(Plan, Vec<Plan>), PlanError> {
    let Request { operator, spec, limits, .. } = request;
    let open = Overrides::default();
    let request = Request { overrides: &open, ..request };
    let plan = |shape, carry| plan_shape(request, Strategy { block: BlockScan::in_registers(), carry }, shape);
    let [(shortest, _), more @ ..] = ALONE;
    // Longer inputs have plans of their own.
    let one_block = |shape| plan(shape, Carry::OneBlock).map(Plan::of_one_tile);
    let shortest = one_block(shortest)?;
    let mut end = u64::from(shortest.tile);
    let mut longer: Vec<Plan> = Vec::new();
    let mut add = |plan: Plan, max: u64| {
        if max <= end {
            return;
        }
        // Large elements have the same run for several numbers of bytes.
        if longer.last().is_none_or(|last| (Plan { from: last.from, ..plan.clone() }) != *last) {
            longer.push(Plan { from: end + 1, ..plan });
        }
        end = max;
    };
    let clusters = limits.architecture.major >= 9 && operator.largest_element() <= MAX_CLUSTER_BYTES;
    let [second, last] = more;
    for (shape, elements) in [Some(second), (!clusters).then_some(last)].into_iter().flatten() {
        let plan = one_block(shape)?;
        let max = plan.tile.min(elements);
        add(plan, max.into());
    }
    if clusters {
        let plan = plan(CLUSTER, Carry::Cluster)?;
        let max = u64::from(plan.tile) * u64::from(plan.cluster);
        add(plan, max);
    }
    let element = spec.input.bytes(&operator.input).max(spec.output.bytes(&operator.output));
    for &(carry, shape, tiles) in together(!spec.segments.is_none(), element) {
        let plan = plan(shape, carry)?;
        let multiprocessors = limits.multiprocessors.max(MIN_MULTIPROCESSORS);
        let tiles = u64::from(multiprocessors).saturating_mul(tiles.into());
        let max = tiles.saturating_mul(plan.tile.into());
        add(plan, max);
    }
    Ok((shortest, longer))
}

/// The plan of a block scan whose runs stay in registers.
pub(super) fn plan_in_registers(request: Request<'_>, strategy: Strategy) -> Result<Plan, PlanError> {
    plan_shape(request, strategy, REGISTER_SHAPE)
}

fn plan_shape(request: Request<'_>, strategy: Strategy, shape: RegisterShape) -> Result<Plan, PlanError> {
    let Request { operator, spec, limits, overrides } = request;
    let facts = strategy.carry.describe();
    check_strategy(request, strategy, &facts)?;
    let cluster = cluster_blocks(request, strategy, &facts)?;
    let sizes = Sizes {
        input: &spec.input.items(&operator.input),
        state: operator.state.size as u32,
        output: &spec.output.items(&operator.output),
        segmented: !spec.segments.is_none(),
        cluster,
    };
    let by_weight = sizes.run(shape.run_bytes, Weights::longest_run(operator));
    let run_by_weight = overrides.run.is_none() && by_weight != sizes.run(shape.run_bytes, u32::MAX);
    let run = overrides.run.unwrap_or(by_weight);
    let room = limits.shared_bytes_per_block;
    let fits = |run: u32, threads: u32| threads <= limits.threads_per_block && sizes.shared_bytes(run, threads) <= room;
    // Shorter runs only if shared memory is too small for a warp of them, and the caller does not choose the run.
    let shorter = |run: &u32| (overrides.run.is_none() && *run > 1).then_some(run / 2);
    let Some(run) = std::iter::successors(Some(run), shorter).find(|&run| fits(run, WARP)) else {
        let largest = sizes.element();
        let why = format!("{WARP} threads' runs of {largest} bytes an element outgrow {room} bytes of shared memory");
        return Err(PlanError::Run { run, why });
    };
    let powers = || (0..u32::BITS).rev().map(|log| 1 << log).filter(|threads| (WARP..=MAX_THREADS).contains(threads));
    let max = powers().find(|&threads| fits(run, threads)).unwrap_or(WARP);
    let threads = overrides.threads.unwrap_or(max.min(shape.threads));
    if !(WARP..=max).contains(&threads) || !threads.is_power_of_two() {
        return Err(PlanError::Threads { threads, min: WARP, max });
    }
    let block_sizes = overrides.threads.map_or(shape.block_sizes.at_most(max), BlockSizes::of);
    let shared_bytes = sizes.shared_bytes(run, block_sizes.largest);
    let block = Block { threads, run, tile: threads * run, shared_bytes };
    let zipped = Zipped::of(operator, spec, |bytes| unit(bytes * run));
    let unit_of_one = |items| if zipped.is_none() { unit(total(items) * run) } else { 0 };
    let whole_runs = scans_whole_runs(request, &facts, shape);
    let has_last_run = facts.blocks != Blocks::One && !whole_runs;
    let is_last_run_apart = has_last_run && spec.segments.is_none() && !spec.total && zipped.is_none();
    let statuses = overrides.statuses_per_lane.unwrap_or(STATUSES_OF_A_LANE);
    let plan = Plan {
        run_by_weight,
        whole_runs,
        statuses_per_lane: statuses.min(STATUS_WORDS / sizes.state.div_ceil(WORD)).max(1),
        cluster: cluster.unwrap_or(1),
        block_sizes,
        input_unit: unit_of_one(sizes.input),
        output_unit: unit_of_one(sizes.output),
        zipped,
        ..Plan::new(request, strategy, block)
    };
    let instructions = Weights::of_a_run(operator, run, plan.places(operator), plan.inlined);
    Ok(Plan { last_run_apart: is_last_run_apart && instructions >= HEAVY_RUN, ..plan })
}

/// Refuses strategies that do not support runs in registers.
fn check_strategy(request: Request<'_>, strategy: Strategy, facts: &CarryFacts) -> Result<(), PlanError> {
    if strategy.block != BlockScan::in_registers().over_warps(strategy.block.warp) {
        return Err(refused(strategy, "runs in registers go over warp shuffles: choose `BlockScan::in_registers()`"));
    }
    let largest = request.operator.largest_element();
    if largest > MAX_REGISTER_BYTES {
        return Err(refused(
            strategy,
            &format!(
                "elements have {largest} bytes, and registers are for {MAX_REGISTER_BYTES} at most: choose \
                 `BlockScan::coarsened(Network::WarpShuffle)`"
            ),
        ));
    }
    if facts.tile_in == TileIn::SharedMemory {
        return Err(refused(
            strategy,
            "aggregates are scanned as a tile in shared memory: choose `BlockScan::coarsened(Network::WarpShuffle)`",
        ));
    }
    check_architecture(strategy, request.limits)
}

/// Blocks of a cluster, where there is one.
fn cluster_blocks(request: Request<'_>, strategy: Strategy, facts: &CarryFacts) -> Result<Option<u32>, PlanError> {
    if facts.blocks != Blocks::Cluster {
        return Ok(None);
    }
    match request.overrides.blocks.unwrap_or(MAX_OF_CLUSTER) {
        blocks @ 1..=MAX_OF_CLUSTER => Ok(Some(blocks)),
        blocks => Err(refused(strategy, &format!("a cluster has 1 to {MAX_OF_CLUSTER} blocks, not {blocks}"))),
    }
}

/// Whether partial runs are scanned as whole ones, including zeros. Then there is one text for both, which compiles
/// faster, and less work for one block. With several blocks, scanning the whole run has to be as fast.
fn scans_whole_runs(request: Request<'_>, facts: &CarryFacts, shape: RegisterShape) -> bool {
    let Request { operator, spec, .. } = request;
    let as_fast = facts.blocks == Blocks::One || whole_runs_are_as_fast(operator.largest_element(), shape);
    spec.segments.is_none() && !spec.total && operator.takes_zeros() && as_fast
}

/// The items of each array of the input and of the output, the bytes of a state, whether there are heads besides, and
/// the blocks of a cluster, where there is one.
#[derive(Clone, Copy)]
struct Sizes<'a> {
    input: &'a [&'a ElementType],
    state: u32,
    output: &'a [&'a ElementType],
    segmented: bool,
    cluster: Option<u32>,
}

impl Sizes<'_> {
    /// Bytes of an element, or of a result where those are larger.
    fn element(self) -> u32 {
        total(self.input).max(total(self.output))
    }

    /// Elements that a thread scans on its own: of runs of half of so many bytes up to all of them the one that is read
    /// and written with the fewest conflicts of memory banks, in the widest units; of those the longest. No more than
    /// `longest`.
    fn run(self, bytes: u32, longest: u32) -> u32 {
        let max = (bytes / self.element()).min(longest).max(1);
        let costs = |run: u32| {
            let items = self.input.iter().chain(self.output);
            (items.map(|item| cycles(item.size as u32 * run)).max(), max - run)
        };
        (max.div_ceil(2)..=max).min_by_key(|&run| costs(run)).unwrap_or(max)
    }

    /// A tile, or later its results; the aggregates of its warps, its exclusive prefix, and its index, with room for
    /// alignment. A head bit for each element, one for each thread, and the range of the tile's offsets. In a cluster,
    /// twice the aggregates of its tiles, each with whether the tile has a head, and a barrier.
    fn shared_bytes(self, run: u32, threads: u32) -> u32 {
        let elements = threads.saturating_mul(run);
        let tile = elements.saturating_mul(self.element());
        let heads = if self.segmented { elements / 8 + threads / 8 + 32 } else { 0 };
        let published = self.cluster.map_or(0, |blocks| 2 * blocks * (self.state.next_multiple_of(WORD) + WORD) + 24);
        tile.saturating_add((threads / WARP + 1) * self.state + 32 + heads + published)
    }
}

/// Bytes of these items together.
fn total(items: &[&ElementType]) -> u32 {
    items.iter().map(|item| item.size as u32).sum()
}

/// Bytes in which a run of so many bytes is read or written: the widest words that divide it; 0 where none of four
/// bytes do.
fn unit(bytes: u32) -> u32 {
    [COPY_ALIGNMENT, 2 * WORD, WORD].into_iter().find(|unit| bytes.is_multiple_of(*unit)).unwrap_or(0)
}

/// The cost of reading sixteen bytes of each of a row of runs of `bytes` bytes: accesses, and threads per bank.
fn cycles(bytes: u32) -> (u32, u32) {
    let unit = unit(bytes);
    match unit {
        0 => (u32::MAX, 0),
        _ => {
            let (units, threads) = (bytes / unit, BANKS * WORD / unit);
            (1 << units.trailing_zeros().min(threads.trailing_zeros()), COPY_ALIGNMENT / unit)
        }
    }
}

//! The plan of a block scan whose runs stay in registers.

use crate::{
    limits::DeviceLimits,
    operator::OpSource,
    plan::{MOST_REGISTER_BYTES, Overrides, Plan, PlanError},
    spec::ScanSpec,
    strategy::{BlockScan, Carry, Strategy, TileNumbers},
    weight::{WRITTEN_OUT, Weights},
};

/// Threads of a warp.
const WARP: u32 = 32;

/// Bytes in which a tile is moved.
const UNIT: u32 = 16;

/// Threads of a block, and bytes of a run at the most.
#[derive(Clone, Copy)]
struct Shape {
    threads: u32,
    run_bytes: u32,
}

/// Where the caller asks for runs in registers: three units of sixteen bytes.
const SHAPE: Shape = Shape { threads: 256, run_bytes: 48 };

/// What one block scans alone, from the shortest on, and how many elements at the most; the last where there are no clusters.
///
/// Measured: `docs/tuning.md#one-block`.
const ALONE: [(Shape, u32); 3] = [
    (Shape { threads: 256, run_bytes: 16 }, u32::MAX),
    (Shape { threads: 512, run_bytes: 16 }, 4096),
    (Shape { threads: 512, run_bytes: 48 }, 6144),
];

/// What one cluster scans at once, for elements of [`MOST_CLUSTER_BYTES`] at most.
///
/// Measured: `docs/tuning.md#one-cluster`.
const CLUSTER: [Shape; 3] = [
    Shape { threads: 128, run_bytes: 16 },
    Shape { threads: 256, run_bytes: 16 },
    Shape { threads: 256, run_bytes: 48 },
];

/// The most bytes of elements that a cluster scans.
const CLUSTER_BYTES: u64 = 64 << 10;

/// The largest elements that are left to a cluster.
const MOST_CLUSTER_BYTES: usize = 16;

/// How several blocks carry, their shapes, and how many tiles a multiprocessor has before the next of these takes over.
///
/// A segment over many tiles makes each block look at all those before it, and so wants few of them. Look-back gives
/// other floats in every run, so it is left to lengths with too many tiles for look-at-all. Measured:
/// `docs/tuning.md#look-at-all`.
fn together(segmented: bool, element: usize) -> &'static [(Carry, Shape, u32)] {
    const fn at_all(threads: u32, run_bytes: u32, tiles: u32) -> (Carry, Shape, u32) {
        (Carry::LookAtAll, Shape { threads, run_bytes }, tiles)
    }
    const BACK: (Carry, Shape, u32) = (Carry::LookBack, Shape { threads: 256, run_bytes: 112 }, u32::MAX);
    /// With so many tiles a multiprocessor before the last runs that look at all.
    const fn whole(tiles: u32) -> [(Carry, Shape, u32); 6] {
        [at_all(128, 16, 1), at_all(128, 48, 1), at_all(256, 48, 1), at_all(256, 80, tiles), at_all(256, 144, 16), BACK]
    }
    const SMALL: [(Carry, Shape, u32); 6] = whole(2);
    const LARGE: [(Carry, Shape, u32); 6] = whole(1);
    const SEGMENTED: [(Carry, Shape, u32); 5] =
        [at_all(128, 16, 1), at_all(128, 48, 1), at_all(128, 80, 12), at_all(128, 144, 16), BACK];
    match (segmented, element) {
        (true, _) => &SEGMENTED,
        (false, 0..=7) => &SMALL,
        (false, _) => &LARGE,
    }
}

/// The plans where the caller leaves everything open: for what one block scans at once, and for longer inputs.
pub(crate) fn plan_ranges(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
) -> Result<(Plan, Vec<Plan>), PlanError> {
    let plan = |shape, carry| {
        let strategy = Strategy { block: BlockScan::in_registers(), carry };
        plan_shape(operator, spec, limits, &Overrides::default(), strategy, shape)
    };
    let [(shortest, _), more @ ..] = ALONE;
    // Longer inputs have plans of their own.
    let one_block = |shape| plan(shape, Carry::OneBlock).map(Plan::of_one_tile);
    let shortest = one_block(shortest)?;
    let mut end = u64::from(shortest.tile);
    let mut longer: Vec<Plan> = Vec::new();
    let mut add = |plan: Plan, most: u64| {
        if most <= end {
            return;
        }
        // Large elements come to the same run for several numbers of bytes.
        if longer.last().is_none_or(|last| (Plan { from: last.from, ..plan.clone() }) != *last) {
            longer.push(Plan { from: end + 1, ..plan });
        }
        end = most;
    };
    let clusters = limits.architecture.major >= 9 && operator.largest_element() <= MOST_CLUSTER_BYTES;
    let [second, last] = more;
    for (shape, elements) in [Some(second), (!clusters).then_some(last)].into_iter().flatten() {
        let plan = one_block(shape)?;
        let most = plan.tile.min(elements);
        add(plan, most.into());
    }
    for shape in CLUSTER.into_iter().filter(|_| clusters) {
        let plan = plan(shape, Carry::Cluster)?;
        let most = u64::from(plan.tile) * u64::from(plan.cluster);
        let bytes = plan.input_bytes.max(plan.output_bytes);
        add(plan, most.min(CLUSTER_BYTES / bytes));
    }
    let element = operator.input.size.max(operator.output.size);
    for &(carry, shape, tiles) in together(!spec.segments.is_none(), element) {
        let plan = plan(shape, carry)?;
        let tiles = u64::from(limits.multiprocessors).saturating_mul(tiles.into());
        let most = tiles.saturating_mul(plan.tile.into());
        add(plan, most);
    }
    Ok((shortest, longer))
}

/// Whether runs of which a tile has a part only are scanned whole, zeros and all: there is one text for both then,
/// which compiles faster, and less to do for one block. Of several blocks, a whole run has to be as fast. Measured:
/// `docs/tuning.md#whole-runs`.
fn scans_whole_runs(operator: &OpSource, spec: &ScanSpec, carry: Carry, shape: Shape) -> bool {
    let bytes = operator.largest_element();
    let as_fast = bytes <= 4 && !(bytes == 2 && shape.run_bytes > 80);
    spec.segments.is_none() && !spec.total && operator.takes_zeros() && (carry == Carry::OneBlock || as_fast)
}

/// Blocks of a cluster, as many as every device that has clusters grants.
const MOST_OF_CLUSTER: u32 = 8;

/// The most sums of tiles that a lane looks at at once.
const MOST_LOOKS: u32 = 1;

/// The plan of a block scan whose runs stay in registers.
pub(crate) fn plan_in_registers(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
    overrides: &Overrides,
    strategy: Strategy,
) -> Result<Plan, PlanError> {
    plan_shape(operator, spec, limits, overrides, strategy, SHAPE)
}

fn plan_shape(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
    overrides: &Overrides,
    strategy: Strategy,
    shape: Shape,
) -> Result<Plan, PlanError> {
    let refuse = |why: &str| Err(PlanError::Strategy { strategy: strategy.to_string(), why: why.to_owned() });
    if strategy.block != BlockScan::in_registers() {
        return refuse("runs in registers go over warp shuffles: choose `BlockScan::in_registers()`");
    }
    let largest = operator.largest_element();
    if largest > MOST_REGISTER_BYTES {
        return refuse(&format!(
            "elements have {largest} bytes, and registers are for {MOST_REGISTER_BYTES} at most: choose `BlockScan::coarsened(Network::WarpShuffle)`"
        ));
    }
    if strategy.carry == Carry::Hierarchical {
        return refuse(
            "runs in registers cannot be completed later: choose `BlockScan::coarsened(Network::WarpShuffle)`",
        );
    }
    let cluster = match (strategy.carry, overrides.blocks) {
        (Carry::Cluster, _) if limits.architecture.major < 9 => {
            return refuse("clusters need compute capability 9.0 or later: choose look-at-all");
        }
        (Carry::Cluster, None) => MOST_OF_CLUSTER,
        (Carry::Cluster, Some(blocks)) if (1..=MOST_OF_CLUSTER).contains(&blocks) => blocks,
        (Carry::Cluster, Some(blocks)) => {
            return refuse(&format!("a cluster has 1 to {MOST_OF_CLUSTER} blocks, not {blocks}"));
        }
        _ => 1,
    };
    let sizes = Sizes {
        input: operator.input.size as u32,
        state: operator.state.size as u32,
        output: operator.output.size as u32,
        segmented: !spec.segments.is_none(),
        cluster: if strategy.carry == Carry::Cluster { cluster } else { 0 },
    };
    let run = match overrides.run {
        None => sizes.run(shape.run_bytes, Weights::longest_run(operator)),
        Some(run) => run,
    };
    let room = limits.shared_bytes_per_block;
    let fits = |run: u32, threads: u32| threads <= limits.threads_per_block && sizes.shared_bytes(run, threads) <= room;
    // Shorter runs only where shared memory is too short for a warp of them, and the caller leaves it open.
    let shorter = |run: &u32| (overrides.run.is_none() && *run > 1).then_some(run / 2);
    let Some(run) = std::iter::successors(Some(run), shorter).find(|&run| fits(run, WARP)) else {
        let largest = sizes.input.max(sizes.output);
        let why = format!("{WARP} threads' runs of {largest} bytes an element outgrow {room} bytes of shared memory");
        return Err(PlanError::Run { run, why });
    };
    let powers = || (0..u32::BITS).rev().map(|log| 1 << log).filter(|threads| (WARP..=WARP * WARP).contains(threads));
    let most = powers().find(|&threads| fits(run, threads)).unwrap_or(WARP);
    let threads = overrides.threads.unwrap_or(most.min(shape.threads));
    if !(WARP..=most).contains(&threads) || !threads.is_power_of_two() {
        return Err(PlanError::Threads { threads, least: WARP, most });
    }
    let tile = threads * run;
    Ok(Plan {
        spec: spec.clone(),
        from: 0,
        strategy,
        threads,
        run,
        tile,
        shared_bytes: sizes.shared_bytes(run, threads),
        partials_in_output: operator.state == operator.output,
        max_len: match strategy.carry {
            Carry::OneBlock | Carry::Cluster => u64::MAX,
            Carry::Chained(TileNumbers::BlockIndex) => limits.blocks_at_once() * u64::from(tile),
            _ => limits.blocks_per_grid.saturating_mul(u64::from(tile)),
        },
        pipeline: None,
        written_out: overrides.written_out.unwrap_or(WRITTEN_OUT),
        whole_runs: scans_whole_runs(operator, spec, strategy.carry, shape),
        look_run: overrides.look_run.unwrap_or(MOST_LOOKS).min(24 / sizes.state.div_ceil(4)).max(1),
        cluster,
        programmatic: false,
        delays: false,
        network_slots: 0,
        input_unit: unit(sizes.input * run),
        output_unit: unit(sizes.output * run),
        state_bytes: u64::from(sizes.state),
        input_bytes: u64::from(sizes.input),
        output_bytes: u64::from(sizes.output),
    })
}

/// Bytes of the three element types, whether there are heads besides, and the blocks of a cluster, where there is one.
#[derive(Clone, Copy)]
struct Sizes {
    input: u32,
    state: u32,
    output: u32,
    segmented: bool,
    cluster: u32,
}

impl Sizes {
    /// Elements that a thread scans on its own: of runs of half of so many bytes up to all of them the one that is read and
    /// written with the fewest conflicts of memory banks, in the widest units; of those the longest. No more than `longest`.
    fn run(self, bytes: u32, longest: u32) -> u32 {
        let most = (bytes / self.input.max(self.output)).min(longest).max(1);
        let costs = |run: u32| {
            let [input, output] = [self.input, self.output].map(|size| cycles(size * run));
            (input.max(output), most - run)
        };
        (most.div_ceil(2)..=most).min_by_key(|&run| costs(run)).unwrap_or(most)
    }

    /// A tile, or its results after that; the sums of its warps, of what stands before it, and its number, which alignment
    /// may push apart. A bit for each element that tells whether it is a head, one for each thread, and which offsets lie in the
    /// tile. Where there is a cluster, twice the sums of its tiles, with whether a segment begins in each, and a barrier.
    fn shared_bytes(self, run: u32, threads: u32) -> u32 {
        let elements = threads.saturating_mul(run);
        let tile = elements.saturating_mul(self.input.max(self.output));
        let heads = if self.segmented { elements / 8 + threads / 8 + 32 } else { 0 };
        let told = if self.cluster > 0 { 2 * self.cluster * (self.state.next_multiple_of(4) + 4) + 24 } else { 0 };
        tile.saturating_add((threads / WARP + 1) * self.state + 32 + heads + told)
    }
}

/// Bytes in which a run of so many bytes is read or written: the widest words that divide it; 0 where none of four bytes do.
fn unit(bytes: u32) -> u32 {
    [16, 8, 4].into_iter().find(|unit| bytes.is_multiple_of(*unit)).unwrap_or(0)
}

/// What it takes to read sixteen bytes of each of a row of runs of so many bytes: accesses, and the threads that meet in a bank.
fn cycles(bytes: u32) -> (u32, u32) {
    let unit = unit(bytes);
    match unit {
        0 => (u32::MAX, 0),
        _ => {
            let (units, banks) = (bytes / unit, 128 / unit);
            (1 << units.trailing_zeros().min(banks.trailing_zeros()), 16 / unit)
        }
    }
}

impl Plan {
    /// Whether the run of a thread is one of the units in which a tile is moved, so that each thread can read and write its own.
    pub(crate) fn runs_are_units(&self) -> bool {
        let bytes = u64::from(UNIT);
        let run = u64::from(self.run);
        self.strategy.block.in_registers
            && self.spec.segments.is_none()
            && [self.input_bytes * run, self.output_bytes * run] == [bytes, bytes]
    }
}

//! The planner: from what to scan and what the device grants to the shape of the kernels.

use std::{fmt, iter};

use crate::{
    element::ElementType,
    limits::{Architecture, DeviceLimits},
    look_ahead::{Pipeline, plan_long, plan_look_ahead},
    operator::OpSource,
    registers::{plan_in_registers, plan_ranges},
    segments::Segments,
    spec::{ScanKind, ScanSpec},
    strategy::{BlockScan, Carry, Network, Strategy, TileNumbers},
    weight::WRITTEN_OUT,
};

/// The most bytes an element can have.
pub const MAX_ELEMENT_BYTES: usize = 256;

/// The most bytes of an element of which several are held in registers at once.
///
/// NVRTC 13.0 miscompiles larger ones: it reads a value again that a branch has changed meanwhile. Where the value is
/// opaque to it, as in look-ahead, larger ones are right: `docs/tuning.md#elements-in-registers`.
pub(crate) const MOST_REGISTER_BYTES: usize = 64;

/// The most bytes of an operator's parameters: what a launch can hand over, less what the kernels need themselves.
pub const MAX_PARAMETER_BYTES: usize = 3072;

/// The algorithm where the caller names none, but asks for a shape: the one that scans any length, everywhere.
fn default_strategy(operator: &OpSource, deterministic: bool) -> Strategy {
    if deterministic {
        return Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::Hierarchical };
    }
    let block = match operator.largest_element() <= MOST_REGISTER_BYTES {
        true => BlockScan::in_registers(),
        false => BlockScan::coarsened(Network::WarpShuffle),
    };
    Strategy { block, carry: Carry::LookBack }
}

/// The fewest threads of a block: one warp.
const LEAST_THREADS: u32 = 32;

/// The most elements that a thread scans on its own.
const MOST_RUN: u32 = 1024;

/// The most stages of a pipeline: as many as there are teams and iterations for is far below it.
const MOST_STAGES: u32 = 1024;

/// The most bytes of a state whose aggregates blocks of look-ahead publish for others. For larger ones the kernel would
/// spill registers: `docs/tuning.md#stand-in`.
const MOST_HELPED_BYTES: u64 = 32;

/// The first architecture on which a launch may begin before the one before it has ended.
const PROGRAMMATIC: Architecture = Architecture { major: 9, minor: 0 };

/// What the caller wants otherwise than the planner would choose. `None` leaves the choice to the planner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Overrides {
    /// The algorithm.
    pub strategy: Option<Strategy>,
    /// Threads of a block: a power of two.
    pub threads: Option<u32>,
    /// Elements that a thread scans on its own, in a coarsened block scan.
    pub run: Option<u32>,
    /// Teams of a block ([`Pipeline::teams`]).
    pub teams: Option<u32>,
    /// Stages of shared memory ([`Pipeline::stages`]).
    pub stages: Option<u32>,
    /// The most blocks that stay ([`Pipeline::blocks`]), or the blocks of a cluster: 1 to 8.
    pub blocks: Option<u32>,
    /// Tiles that a lane looks at at once when a block whose runs stay in registers looks back.
    pub look_run: Option<u32>,
    /// Blocks of look-ahead of which one tells the sum of all their tiles ([`Pipeline::group`]): 1 to 32.
    pub group: Option<u32>,
    /// The most instructions that a function of the operator is to have at all its places in a kernel together
    /// ([`Plan::written_out`]).
    pub written_out: Option<u32>,
    /// Whether only algorithms will do that give the same floats in every run ([`Strategy::is_deterministic`]). Where the
    /// default would look back, it is hierarchical then.
    pub deterministic: bool,
    /// Whether a launch may begin before what is before it in the stream has ended: CUDA's programmatic dependent launch. A scan
    /// after a scan takes less time by that: `docs/tuning.md#programmatic-dependent-launches`. `None` and `true` mean
    /// where the architecture has it, which is from `sm_90` on.
    pub programmatic: Option<bool>,
    /// Whether whoever tells other threads something, or is told, waits for a while that looks random. For tests of the kernels,
    /// which see more of the orders in which threads can come.
    pub delays: bool,
}

/// The plans for one scan, each for a range of lengths and with kernels of its own: only those that a call needs are
/// compiled. Where the caller names an algorithm or a shape there is one plan, for all lengths. [`plan`] makes them; their
/// `Display` tells them in words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plans {
    shortest: Plan,
    /// In the order of the lengths that they are for.
    longer: Vec<Plan>,
}

impl Plans {
    /// The plan for `len` elements.
    pub fn for_len(&self, len: u64) -> &Plan {
        self.longer.iter().rev().find(|plan| plan.from <= len).unwrap_or(&self.shortest)
    }

    /// The plan for the shortest inputs.
    pub fn shortest(&self) -> &Plan {
        &self.shortest
    }

    /// The plans for longer inputs, in the order of the lengths that they are for.
    pub fn longer(&self) -> &[Plan] {
        &self.longer
    }

    /// The plan for the longest inputs.
    pub fn longest(&self) -> &Plan {
        self.longer.last().unwrap_or(&self.shortest)
    }

    /// Whether results are the same from run to run at every length ([`Strategy::is_deterministic`]).
    pub fn is_deterministic(&self) -> bool {
        self.iter().all(|plan| plan.strategy.is_deterministic())
    }

    /// All plans, in the order of the lengths that they are for.
    pub fn iter(&self) -> impl Iterator<Item = &Plan> {
        iter::once(&self.shortest).chain(&self.longer)
    }
}

impl Plans {
    /// These plans, with another one for inputs of `from` to `to - 1` elements.
    pub(crate) fn with_range(&self, from: u64, to: u64, plan: Plan) -> Self {
        // What was for so many elements may be for no more.
        let after = Some(Plan { from: to, ..self.for_len(to).clone() }).filter(|after| after.max_len >= to);
        let before = self.iter().filter(|known| known.from < from).cloned();
        let later = self.iter().filter(|known| known.from > to).cloned();
        let mut ranges = before.chain([Plan { from, ..plan.clone() }]).chain(after).chain(later);
        let shortest = ranges.next().unwrap_or(plan);
        Plans { shortest, longer: ranges.collect() }
    }
}

impl From<Plan> for Plans {
    fn from(plan: Plan) -> Self {
        Plans { shortest: Plan { from: 0, ..plan }, longer: Vec::new() }
    }
}

/// The shape of the kernels for one scan, of any length or of a range of lengths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Plan {
    /// What is scanned.
    pub spec: ScanSpec,
    /// The fewest elements that it is for.
    pub from: u64,
    /// The algorithm.
    pub strategy: Strategy,
    /// Threads that scan a tile together: those of a block, or of a team of it where there are teams.
    pub threads: u32,
    /// Elements that a thread scans on its own; 1 where the block scan is not coarsened.
    pub run: u32,
    /// Elements that a block, or a team of it, scans at once.
    pub tile: u32,
    /// Bytes of shared memory that a block declares.
    pub shared_bytes: u32,
    /// Whether partial results fit into the output buffer until the last kernel completes them there: they do where the
    /// output is of the type that is combined. Elsewhere they lie in the workspace.
    pub partials_in_output: bool,
    /// The most elements that one scan can have under this plan.
    pub max_len: u64,
    /// The line along which look-ahead works; `None` with another way to carry.
    pub pipeline: Option<Pipeline>,
    /// The most instructions that a function of the operator is to have at all its places in a kernel together, as far as its
    /// text tells. What would have more stands once and is called. 8192 where the caller leaves it open.
    pub written_out: u32,
    /// Whether its kernels wait themselves for what is before them in the stream, so that a launch may begin before that has ended
    /// ([`Launch::programmatic`](crate::Launch::programmatic)).
    pub programmatic: bool,
    /// Whether a run of which the tile has a part only is scanned whole: from the end on it is zeros, and nobody sees what comes of them.
    pub(crate) whole_runs: bool,
    /// Sums of tiles that a lane folds on its own when a block looks back; 1 with another way to carry.
    pub(crate) look_run: u32,
    /// Blocks of a cluster; 1 with another way to carry.
    pub(crate) cluster: u32,
    /// Whether its kernels wait at random, for tests.
    pub(crate) delays: bool,
    /// Slots of shared memory for the values that the network scans, unused ones among them.
    pub(crate) network_slots: u32,
    /// Bytes in which a thread reads its run from shared memory; 0 where it reads element by element.
    pub(crate) input_unit: u32,
    /// The same for its results.
    pub(crate) output_unit: u32,
    pub(crate) state_bytes: u64,
    pub(crate) input_bytes: u64,
    pub(crate) output_bytes: u64,
}

impl Plan {
    /// This plan, for inputs of one tile at the most.
    pub(crate) fn of_one_tile(self) -> Self {
        Plan { max_len: self.tile.into(), ..self }
    }

    /// Whether the kernel of one block scans one tile at the most: it does where another kernel, or another plan, is for longer inputs.
    pub(crate) fn one_block_has_one_tile(&self) -> bool {
        self.strategy.carry != Carry::OneBlock || self.max_len <= u64::from(self.tile)
    }
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// An element has no bytes, so there is nothing to scan.
    #[error("element type `{name}` is zero-sized: give it at least one field")]
    ZeroSized {
        /// The element type.
        name: String,
    },
    /// An element has more bytes than the kernels handle.
    #[error(
        "element type `{name}` has {size} bytes; the kernels handle up to {MAX_ELEMENT_BYTES}: scan indices or keys of it instead"
    )]
    TooLarge {
        /// The element type.
        name: String,
        /// Its size in bytes.
        size: usize,
    },
    /// An operator reads more of its own fields than a launch can hand over.
    #[error(
        "operator `{operator}` reads {size} bytes of its own fields, and a launch can hand over {MAX_PARAMETER_BYTES}: put what is long into a `Table`"
    )]
    ParametersTooLarge {
        /// The operator.
        operator: String,
        /// Bytes of its fields.
        size: usize,
    },
    /// An exclusive scan needs something to put first.
    #[error("operator `{operator}` has no identity, so an exclusive scan needs an initial value: add `.init(value)`")]
    NoIdentity {
        /// The operator.
        operator: String,
    },
    /// A reduction of nothing needs something to give.
    #[error(
        "operator `{operator}` has no identity, so the sum of no elements needs an initial value: add `.init(value)`"
    )]
    NoElements {
        /// The operator.
        operator: String,
    },
    /// The algorithm needs an identity, and the operator has none.
    #[error("{strategy} needs an identity, and operator `{operator}` has none: choose another block scan")]
    StrategyNeedsIdentity {
        /// The algorithm.
        strategy: String,
        /// The operator.
        operator: String,
    },
    /// A scan that restarts has no one total.
    #[error("a segmented scan has a sum for each segment and no one total: reduce the input instead")]
    TotalOfSegments,
    /// The algorithm cannot do this.
    #[error("{strategy} cannot be had here: {why}")]
    Strategy {
        /// The algorithm.
        strategy: String,
        /// What stands against it, and what to do.
        why: String,
    },
    /// A device cannot have such a limit.
    #[error("a device with {value} {limit} runs no kernel: set `DeviceLimits::{limit}` to {least} at the least")]
    Limits {
        /// The field of [`DeviceLimits`].
        limit: &'static str,
        /// What it is.
        value: u64,
        /// What it is at the least.
        least: u64,
    },
    /// There is no kernel with such a shape, on any device.
    #[error("{value} {name} cannot be had: ask for {least} to {most}")]
    Override {
        /// The field of [`Overrides`].
        name: &'static str,
        /// What was asked for.
        value: u32,
        /// The least that can be asked for.
        least: u32,
        /// The most.
        most: u32,
    },
    /// The requested number of threads cannot be had.
    #[error("a block cannot have {threads} threads here: ask for a power of two from {least} to {most}")]
    Threads {
        /// What was asked for.
        threads: u32,
        /// The fewest threads of a block.
        least: u32,
        /// The most threads of a block, for this element on this device.
        most: u32,
    },
    /// The requested number of elements a thread cannot be had.
    #[error("a thread cannot scan {run} elements on its own here: {why}")]
    Run {
        /// What was asked for.
        run: u32,
        /// What stands against it.
        why: String,
    },
    /// Keys are compared by their bytes, and padding bytes hold anything.
    #[error("key type `{name}` has {padding} bytes of padding: give it fields that fill it, or use head flags")]
    KeyPadding {
        /// The key type.
        name: String,
        /// Bytes of padding.
        padding: usize,
    },
    /// The cost model knows no data.
    #[error(
        "what a segmented scan takes depends on where its segments begin: ask for the cost of the same scan without segments"
    )]
    CostOfSegments,
    /// The input is longer than this plan can handle.
    #[error(
        "{len} elements are more than this plan can scan at once ({max_len}): scan them in parts, each with the last result as initial value"
    )]
    TooLong {
        /// The length asked for.
        len: u64,
        /// The most elements.
        max_len: u64,
    },
}

/// Chooses the kernels' shape. A pure function: the same arguments give the same plans on every machine.
pub fn plan(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
    overrides: &Overrides,
) -> Result<Plans, PlanError> {
    check_operator(operator)?;
    let limits = &limits.usable()?;
    check_overrides(overrides)?;
    let Plans { shortest, longer } = plan_shapes(operator, spec, limits, overrides)?;
    let programmatic = overrides.programmatic.unwrap_or(true) && limits.architecture >= PROGRAMMATIC;
    let finish = |plan| Plan { programmatic, delays: overrides.delays, ..plan };
    let longer = within_the_grid(&shortest, longer);
    Ok(Plans { shortest: finish(shortest), longer: longer.into_iter().map(finish).collect() })
}

/// On a device with few blocks of a grid, plans whose tiles are larger begin where those before them can do no more.
fn within_the_grid(shortest: &Plan, longer: Vec<Plan>) -> Vec<Plan> {
    let mut end = shortest.max_len;
    let mut kept = Vec::with_capacity(longer.len());
    for mut plan in longer {
        plan.from = plan.from.min(end.saturating_add(1));
        if plan.max_len >= plan.from {
            end = plan.max_len;
            kept.push(plan);
        }
    }
    kept
}

/// The shapes for all lengths.
fn plan_shapes(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
    overrides: &Overrides,
) -> Result<Plans, PlanError> {
    let default = default_strategy(operator, overrides.deterministic);
    let any_length = plan_with(operator, spec, limits, overrides, default)?;
    if (Overrides { deterministic: false, programmatic: None, ..*overrides }) != Overrides::default() {
        return Ok(any_length.into());
    }
    // What one block scans at once it scans alone; from there on blocks look at all, and over long inputs ahead, or back where
    // that cannot be had.
    let long = plan_long(operator, spec, limits);
    if operator.largest_element() <= MOST_REGISTER_BYTES {
        let (shortest, mut longer) = plan_ranges(operator, spec, limits)?;
        // Nobody looks back where inputs with too many tiles to look at all are left to look-ahead.
        longer.retain(|plan| long.first().is_none_or(|long| plan.from < long.from && plan.strategy.is_deterministic()));
        for plan in longer.iter_mut().filter(|plan| overrides.deterministic && !plan.strategy.is_deterministic()) {
            *plan = Plan { from: plan.from, ..any_length.clone() };
        }
        longer.extend(long);
        return Ok(Plans { shortest, longer });
    }
    let one_block = Strategy { carry: Carry::OneBlock, ..default };
    let shortest = plan_with(operator, spec, limits, overrides, one_block)?.of_one_tile();
    // Nobody looks back where look-ahead can be had: results are the same from run to run then.
    let longer = long.into_iter().next_back().unwrap_or(any_length);
    let longer = Plan { from: u64::from(shortest.tile) + 1, ..longer };
    Ok(Plans { shortest, longer: vec![longer] })
}

/// A plan for all lengths, by an algorithm where `overrides` names none.
fn plan_with(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
    overrides: &Overrides,
    default: Strategy,
) -> Result<Plan, PlanError> {
    let strategy = overrides.strategy.unwrap_or(default);
    if overrides.deterministic && !strategy.is_deterministic() {
        let why = "look-back groups by what it finds ready, so floats may differ from run to run: choose another carry";
        return Err(PlanError::Strategy { strategy: strategy.to_string(), why: why.to_owned() });
    }
    if let Segments::Keys(key) = &spec.segments {
        check_element(key)?;
    }
    spec.segments.check()?;
    check_identity(operator, spec, strategy)?;
    if spec.total && !spec.segments.is_none() {
        return Err(PlanError::TotalOfSegments);
    }
    if strategy.carry == Carry::LookAhead {
        return plan_look_ahead(operator, spec, limits, overrides, strategy);
    }

    if strategy.block.in_registers || matches!(strategy.carry, Carry::LookAtAll | Carry::Cluster) {
        return plan_in_registers(operator, spec, limits, overrides, strategy);
    }

    let state_bytes = operator.state.size as u32;
    let segmented = !spec.segments.is_none();
    let shape = |run| move |threads| Shape { block: strategy.block, threads, run, state_bytes, segmented };
    let (run, most) = match overrides.run {
        Some(run) => (check_run(strategy.block, run)?, most_threads(limits, shape(run))?),
        None => run_length(strategy.block, state_bytes, |run| most_threads(limits, shape(run)))?,
    };
    let shape = shape(run);
    // Where runs make the tile large, fewer threads leave room for more blocks on a multiprocessor.
    let preferred = if strategy.block.coarsened { most.min(256) } else { most };
    let threads = overrides.threads.unwrap_or(preferred);
    if !(LEAST_THREADS..=most).contains(&threads) || !threads.is_power_of_two() {
        return Err(PlanError::Threads { threads, least: LEAST_THREADS, most });
    }

    let shape = shape(threads);
    Ok(Plan {
        spec: spec.clone(),
        from: 0,
        strategy,
        threads,
        run,
        tile: shape.tile(),
        shared_bytes: shape.shared_bytes(),
        partials_in_output: operator.state == operator.output,
        max_len: match strategy.carry {
            Carry::OneBlock => u64::MAX,
            Carry::Chained(TileNumbers::BlockIndex) => limits.blocks_at_once() * u64::from(shape.tile()),
            _ => limits.blocks_per_grid.saturating_mul(u64::from(shape.tile())),
        },
        pipeline: None,
        written_out: overrides.written_out.unwrap_or(WRITTEN_OUT),
        whole_runs: false,
        look_run: 1,
        cluster: 1,
        programmatic: false,
        delays: false,
        network_slots: shape.network_slots(),
        input_unit: 0,
        output_unit: 0,
        state_bytes: u64::from(state_bytes),
        input_bytes: operator.input.size as u64,
        output_bytes: operator.output.size as u64,
    })
}

/// What stands against an operator whatever is done with it.
pub(crate) fn check_operator(operator: &OpSource) -> Result<(), PlanError> {
    for ty in [&operator.input, &operator.state, &operator.output] {
        check_element(ty)?;
    }
    let size = operator.parameters.as_ref().map_or(0, |parameters| parameters.size);
    if size > MAX_PARAMETER_BYTES {
        return Err(PlanError::ParametersTooLarge { operator: operator.name.clone(), size });
    }
    Ok(())
}

/// What no kernel can have, whatever the device and the algorithm. What depends on these is checked where it is known.
fn check_overrides(overrides: &Overrides) -> Result<(), PlanError> {
    let ranges = [
        ("threads", overrides.threads, LEAST_THREADS, LEAST_THREADS * LEAST_THREADS),
        ("run", overrides.run, 1, MOST_RUN),
        ("teams", overrides.teams, 1, LEAST_THREADS),
        ("stages", overrides.stages, 3, MOST_STAGES),
    ];
    for (name, value, least, most) in ranges {
        if let Some(value) = value
            && !(least..=most).contains(&value)
        {
            return Err(match name {
                "threads" => PlanError::Threads { threads: value, least, most },
                "run" => PlanError::Run { run: value, why: format!("ask for {least} to {most}") },
                _ => PlanError::Override { name, value, least, most },
            });
        }
    }
    Ok(())
}

fn check_element(ty: &ElementType) -> Result<(), PlanError> {
    match ty.size {
        0 => Err(PlanError::ZeroSized { name: ty.name.clone() }),
        1..=MAX_ELEMENT_BYTES => Ok(()),
        size => Err(PlanError::TooLarge { name: ty.name.clone(), size }),
    }
}

fn check_identity(operator: &OpSource, spec: &ScanSpec, strategy: Strategy) -> Result<(), PlanError> {
    if operator.identity.is_some() {
        return Ok(());
    }
    let name = operator.name.clone();
    if matches!(strategy.block.network, Network::Blelloch { .. }) {
        return Err(PlanError::StrategyNeedsIdentity { strategy: strategy.block.to_string(), operator: name });
    }
    if spec.kind == ScanKind::Exclusive && !spec.initial_value {
        return Err(PlanError::NoIdentity { operator: name });
    }
    Ok(())
}

/// How many elements a thread scans on its own, and the most threads of a block then: about 32 bytes of elements, fewer
/// where shared memory is short, and an odd number, so that the runs of neighbouring threads begin in different memory banks.
fn run_length(
    block: BlockScan,
    state_bytes: u32,
    most_threads: impl Fn(u32) -> Result<u32, PlanError>,
) -> Result<(u32, u32), PlanError> {
    let preferred = if block.coarsened { (32 / state_bytes).clamp(3, 15) | 1 } else { 1 };
    let mut runs = (1..=preferred).rev().step_by(2).map(|run| most_threads(run).map(|most| (run, most)));
    runs.find(Result::is_ok).unwrap_or_else(|| most_threads(1).map(|most| (1, most)))
}

fn check_run(block: BlockScan, run: u32) -> Result<u32, PlanError> {
    match (block.coarsened, run) {
        (false, 1) | (true, _) => Ok(run),
        (false, _) => Err(PlanError::Run { run, why: "the block scan is not coarsened".to_owned() }),
    }
}

/// The most threads of a block: a power of two, bounded by the device and by what its shared memory holds.
fn most_threads(limits: &DeviceLimits, shape: impl Fn(u32) -> Shape) -> Result<u32, PlanError> {
    let powers = (0..u32::BITS).rev().map(|log| 1 << log);
    let room = limits.shared_bytes_per_block;
    powers
        .filter(|threads| (LEAST_THREADS..=limits.threads_per_block).contains(threads))
        .find(|&threads| shape(threads).shared_bytes() <= room)
        .ok_or_else(|| {
            let Shape { run, state_bytes, .. } = shape(LEAST_THREADS);
            let why = format!(
                "{LEAST_THREADS} threads' runs of {state_bytes} bytes an element outgrow {room} bytes of shared memory"
            );
            PlanError::Run { run, why }
        })
}

/// What a block scan needs of shared memory.
#[derive(Clone, Copy)]
struct Shape {
    block: BlockScan,
    threads: u32,
    run: u32,
    state_bytes: u32,
    segmented: bool,
}

impl Shape {
    fn tile(self) -> u32 {
        if self.block.coarsened { self.threads * self.run } else { self.network_values() }
    }

    /// How many values the network scans at most.
    fn network_values(self) -> u32 {
        if self.block.coarsened { self.threads } else { self.threads * self.block.network.values_per_thread() }
    }

    fn network_slots(self) -> u32 {
        let values = self.network_values();
        if self.block.network.is_padded() { values + values / 32 } else { values }
    }

    fn shared_bytes(self) -> u32 {
        let tile = if self.block.coarsened { self.tile() } else { 0 };
        let own = match self.block.network {
            Network::HillisSteele => 2 * self.threads,
            Network::WarpShuffle => self.threads / 32,
            _ => 0,
        };
        // The sum before the tile, too, and the tile's number, which a state's alignment may push apart.
        let sums = (tile + self.network_slots() + own + 1) * self.state_bytes + 16;
        // A bit for each element of the tile, and for each run.
        let heads = self.tile() / 8 + if self.block.coarsened { self.threads / 8 } else { 0 };
        if self.segmented { sums + heads } else { sums }
    }
}

impl Plan {
    /// Whether inputs of one tile are left to another kernel than longer ones: that of one block.
    pub(crate) fn has_kernel_of_one_block(&self) -> bool {
        match self.strategy.carry {
            Carry::OneBlock => true,
            Carry::LookAhead => false,
            _ => self.from <= u64::from(self.tile),
        }
    }

    /// Whether blocks of look-ahead need not all be on the device at once, because those that are tell the sums of the tiles of the
    /// others. They can where a warp can sum up a tile from memory: results do not take the place of elements, segments are not
    /// looked for, groups do not tell sums, and there are registers for it.
    pub(crate) fn helps(&self) -> bool {
        self.spec.segments.is_none()
            && self.state_bytes <= MOST_HELPED_BYTES
            && self.pipeline.is_some_and(|pipeline| pipeline.group <= 1)
    }

    /// Words of a sum that a packet of a message between blocks has room for, beside its tag.
    ///
    /// Look-ahead reads all messages, of which the shorter ones are read faster. Look-back waits at single ones, which other
    /// blocks write meanwhile: with messages of 8 bytes it is slower than with 16: `docs/tuning.md#bytes-of-a-packet`.
    pub(crate) fn packet_payload(&self) -> u64 {
        if self.strategy.carry == Carry::LookAhead && self.state_bytes <= 4 { 1 } else { 3 }
    }

    /// Bytes of a message between blocks: packets of a tag and a part of the sum.
    pub(crate) fn message_bytes(&self) -> u64 {
        let payload = self.packet_payload();
        self.state_bytes.div_ceil(4 * payload) * (payload + 1) * 4
    }
}

impl fmt::Display for Plans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.longer.is_empty() {
            return self.shortest.fmt(f);
        }
        write!(f, "{}", self.shortest.spec)?;
        let ends = self.longer.iter().map(|plan| Some(plan.from - 1)).chain([None]);
        for (plan, end) in self.iter().zip(ends) {
            match (plan.from, end) {
                (0, Some(end)) => writeln!(f, "\nup to {end} elements")?,
                (from, Some(end)) => writeln!(f, "\n{from} to {end} elements")?,
                (from, None) => writeln!(f, "\nfrom {from} elements on")?,
            }
            plan.fmt_shape(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.spec)?;
        self.fmt_shape(f)
    }
}

impl Plan {
    fn fmt_shape(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  strategy  {}", self.strategy)?;
        match &self.pipeline {
            None => {
                let (threads, bytes) = (self.threads, self.shared_bytes);
                match self.strategy.carry {
                    Carry::Cluster => write!(f, "  cluster   {} blocks, each of ", self.cluster)?,
                    _ => f.write_str("  block     ")?,
                }
                writeln!(f, "{threads} threads, {bytes} bytes of shared memory")?;
            }
            Some(pipeline) => {
                let Pipeline { teams, stages, blocks, dynamic_shared_bytes, group, .. } = pipeline;
                writeln!(
                    f,
                    "  blocks    {blocks} at most, {} bytes of shared memory each",
                    self.shared_bytes + dynamic_shared_bytes
                )?;
                writeln!(f, "  pipeline  {teams} teams of {} threads, {stages} stages", self.threads)?;
                if *group > 1 {
                    writeln!(f, "  groups    of {group} blocks, each of which tells one sum")?;
                }
            }
        }
        write!(f, "  tile      {} elements", self.tile)?;
        if self.strategy.block.coarsened {
            write!(f, ", {} a thread", self.run)?;
        }
        let partials = if self.partials_in_output { "in the output" } else { "in the workspace" };
        match self.strategy.carry {
            Carry::OneBlock | Carry::Cluster => Ok(()),
            Carry::Chained(_) | Carry::LookBack | Carry::LookAtAll | Carry::LookAhead => {
                write!(f, "\n  messages  {} bytes a tile", self.message_bytes())
            }
            Carry::Hierarchical => write!(f, "\n  partials  {partials}, {} bytes each", self.state_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::operator_of;

    const KOGGE_STONE: Strategy = Strategy { block: BlockScan::of(Network::KoggeStone), carry: Carry::Hierarchical };

    fn kogge_stone(bytes: usize, threads: u32) -> Result<Plans, PlanError> {
        let overrides = Overrides { strategy: Some(KOGGE_STONE), threads: Some(threads), ..Overrides::default() };
        plan(&operator_of(bytes), &ScanSpec::inclusive(), &DeviceLimits::BASELINE, &overrides)
    }

    #[test]
    fn a_large_element_gets_fewer_threads() {
        let threads = |bytes| {
            let overrides = Overrides { strategy: Some(KOGGE_STONE), ..Overrides::default() };
            plan(&operator_of(bytes), &ScanSpec::inclusive(), &DeviceLimits::BASELINE, &overrides)
                .unwrap()
                .shortest
                .threads
        };
        assert_eq!((threads(4), threads(47), threads(48), threads(256)), (1024, 1024, 512, 128));
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_reason() {
        assert!(matches!(kogge_stone(0, 32), Err(PlanError::ZeroSized { .. })));
        assert!(matches!(kogge_stone(257, 32), Err(PlanError::TooLarge { size: 257, .. })));
        let large = ElementType::array(operator_of(1).state, MAX_PARAMETER_BYTES + 1);
        let parameters = Some(ElementType::structure("Op".to_owned(), [("list".to_owned(), large)]));
        let (spec, overrides) = (ScanSpec::inclusive(), Overrides::default());
        let refused = plan(&OpSource { parameters, ..operator_of(4) }, &spec, &DeviceLimits::BASELINE, &overrides);
        assert!(matches!(refused, Err(PlanError::ParametersTooLarge { size: 3073, .. })));
        assert!(matches!(kogge_stone(4, 48), Err(PlanError::Threads { threads: 48, least: 32, most: 1024 })));
        let exclusive = plan(&operator_of(4), &ScanSpec::exclusive(), &DeviceLimits::BASELINE, &Overrides::default());
        assert!(matches!(exclusive, Err(PlanError::NoIdentity { .. })));
        let too_long = kogge_stone(4, 32).unwrap().shortest.schedule(u64::MAX);
        assert!(matches!(too_long, Err(PlanError::TooLong { .. })));
    }

    #[test]
    fn a_device_that_runs_no_kernel_is_refused_with_what_to_set() {
        let refused = |limits: DeviceLimits| {
            let plan = plan(&operator_of(4), &ScanSpec::inclusive(), &limits, &Overrides::default());
            let reduction = crate::plan_reduction(&operator_of(4), false, &limits, crate::Reduction::default());
            assert_eq!(plan.clone().err(), reduction.err());
            plan.map(|plans| plans.to_string()).unwrap_err().to_string()
        };
        let none = DeviceLimits { multiprocessors: 0, ..DeviceLimits::BASELINE };
        assert_eq!(
            refused(none),
            "a device with 0 multiprocessors runs no kernel: set `DeviceLimits::multiprocessors` to 1 at the least"
        );
        let few = DeviceLimits { threads_per_block: 31, ..DeviceLimits::BASELINE };
        assert!(refused(few).ends_with("set `DeviceLimits::threads_per_block` to 32 at the least"));
        assert!(refused(DeviceLimits { blocks_per_grid: 0, ..DeviceLimits::BASELINE }).contains("blocks_per_grid"));
        let small = DeviceLimits { shared_bytes_per_block: 15, ..DeviceLimits::BASELINE };
        assert!(refused_for_room(&small) && !refused_for_room(&DeviceLimits::BASELINE));
    }

    fn refused_for_room(limits: &DeviceLimits) -> bool {
        let plan = plan(&operator_of(4), &ScanSpec::inclusive(), limits, &Overrides::default());
        let reduction = crate::plan_reduction(&operator_of(4), false, limits, crate::Reduction::default());
        matches!((plan, reduction), (Err(PlanError::Run { .. }), Err(PlanError::Run { .. })))
    }

    #[test]
    fn what_a_device_grants_beyond_what_kernels_use_changes_nothing() {
        let all = DeviceLimits {
            architecture: Architecture { major: 9, minor: 0 },
            multiprocessors: u32::MAX,
            threads_per_block: u32::MAX,
            shared_bytes_per_block: u32::MAX,
            shared_bytes_per_block_optin: u32::MAX,
            blocks_per_grid: u64::MAX,
        };
        let usable = all.usable().unwrap();
        assert_eq!((usable.threads_per_block, usable.blocks_per_grid), (1024, (1 << 31) - 1));
        for bytes in [1, 4, 65, 256] {
            let of = |limits| plan(&operator_of(bytes), &ScanSpec::inclusive(), limits, &Overrides::default());
            assert_eq!(of(&all), of(&usable));
            let plans = of(&all).unwrap();
            assert!(plans.iter().all(|plan| plan.threads <= 1024 && plan.schedule(plan.max_len).is_ok()), "{plans}");
        }
    }

    #[test]
    fn chained_blocks_that_all_must_be_there_fit_a_small_grid() {
        let mut limits = DeviceLimits::new(Architecture { major: 7, minor: 5 }, 1024);
        limits.blocks_per_grid = 8;
        let strategy =
            Strategy { block: BlockScan::of(Network::KoggeStone), carry: Carry::Chained(TileNumbers::BlockIndex) };
        let overrides = Overrides { strategy: Some(strategy), ..Overrides::default() };
        let plans = plan(&operator_of(4), &ScanSpec::inclusive(), &limits, &overrides).unwrap();
        let longest = plans.longest();
        assert_eq!(longest.max_len, 8 * u64::from(longest.tile));
    }

    #[test]
    fn a_small_grid_leaves_longer_inputs_to_larger_tiles() {
        for blocks_per_grid in [1, 7, 100, 5_000] {
            let of = DeviceLimits::of(Architecture { major: 9, minor: 0 });
            let limits = DeviceLimits { blocks_per_grid, ..of };
            for bytes in [1, 4, 65] {
                let spec = ScanSpec::inclusive();
                let plans = plan(&operator_of(bytes), &spec, &limits, &Overrides::default()).unwrap();
                let longest = plans.longest().max_len;
                for len in (0..40).map(|log| 1 << log).chain(plans.iter().flat_map(|plan| [plan.from, plan.max_len])) {
                    let scheduled = plans.for_len(len).schedule(len).is_ok();
                    assert_eq!(scheduled, len <= longest, "{bytes} bytes, {len} elements: {plans}");
                }
            }
        }
    }

    /// The kernels of 1, 4, 31 and 256 bytes by every carry, with shapes that nothing has.
    #[test]
    fn a_shape_that_cannot_be_is_refused_and_nothing_overflows() {
        let odd = [0, 1, 31, 33, 1025, 1 << 16, u32::MAX - 1, u32::MAX];
        let default = Overrides::default();
        let shapes = odd.iter().flat_map(|&value| {
            let value = Some(value);
            [
                Overrides { threads: value, ..default },
                Overrides { run: value, ..default },
                Overrides { teams: value, ..default },
                Overrides { stages: value, ..default },
                Overrides { threads: value, run: value, teams: value, ..default },
                Overrides { blocks: value, look_run: value, group: value, written_out: value, ..default },
            ]
        });
        let shapes: Vec<Overrides> = shapes.collect();
        let carries = [Carry::OneBlock, Carry::LookBack, Carry::LookAtAll, Carry::Cluster, Carry::LookAhead];
        for (carry, bytes) in carries.iter().flat_map(|carry| [1, 4, 31, 256].map(|bytes| (*carry, bytes))) {
            let block = match (carry, bytes) {
                (Carry::LookAhead, _) | (_, 256) => BlockScan::coarsened(Network::WarpShuffle),
                _ => BlockScan::in_registers(),
            };
            for shape in &shapes {
                let overrides = Overrides { strategy: Some(Strategy { block, carry }), ..*shape };
                let limits = DeviceLimits::of(Architecture { major: 9, minor: 0 });
                match plan(&operator_of(bytes), &ScanSpec::inclusive(), &limits, &overrides) {
                    Ok(plans) => assert!(plans.longest().schedule(1 << 20).is_ok(), "{shape:?}"),
                    Err(error) => assert!(error.to_string().contains(": "), "{shape:?}: {error}"),
                }
            }
        }
        let teams = Overrides { teams: Some(0), ..default };
        let refused = plan(&operator_of(4), &ScanSpec::inclusive(), &DeviceLimits::BASELINE, &teams);
        assert_eq!(refused.unwrap_err().to_string(), "0 teams cannot be had: ask for 1 to 32");
    }

    #[test]
    fn what_differs_from_run_to_run_can_be_ruled_out() {
        let old = DeviceLimits::BASELINE;
        let new = DeviceLimits {
            shared_bytes_per_block_optin: 227 * 1024,
            ..DeviceLimits::of(crate::Architecture { major: 9, minor: 0 })
        };
        let of = |operator: &OpSource, limits: &DeviceLimits, deterministic| {
            let overrides = Overrides { deterministic, ..Overrides::default() };
            plan(operator, &ScanSpec::inclusive(), limits, &overrides).unwrap()
        };
        let plans = |bytes, limits: &DeviceLimits, deterministic| of(&operator_of(bytes), limits, deterministic);
        for bytes in [1, 2, 3, 4, 8, 12, 16, 36, 64, 65, 100, 256] {
            for state in [bytes, 8, 24, 40, 72, 256] {
                let operator = OpSource { state: operator_of(state).state, ..operator_of(bytes) };
                let default = of(&operator, &new, false);
                assert!(default.is_deterministic(), "{bytes}, {state}: {default}");
                assert_eq!(of(&operator, &new, true), default, "{bytes}, {state}");
                assert!(default.iter().is_sorted_by(|a, b| a.from < b.from), "{bytes}, {state}: {default}");
            }
        }
        for bytes in [4, 64, 65, 256] {
            let default = plans(bytes, &old, false);
            assert!(!default.is_deterministic(), "{bytes}: {default}");
            let strict = plans(bytes, &old, true);
            assert!(strict.is_deterministic(), "{bytes}: {strict}");
            assert_eq!(strict.longest().from, default.longest().from, "{bytes}");
            assert_eq!(strict.shortest(), default.shortest(), "{bytes}");
        }
        let strategy = Strategy { block: BlockScan::in_registers(), carry: Carry::LookBack };
        let overrides = Overrides { strategy: Some(strategy), deterministic: true, ..Overrides::default() };
        let refused = plan(&operator_of(4), &ScanSpec::inclusive(), &old, &overrides);
        assert!(matches!(refused, Err(PlanError::Strategy { .. })));
        let overrides = Overrides { threads: Some(64), deterministic: true, ..Overrides::default() };
        let shaped = plan(&operator_of(4), &ScanSpec::inclusive(), &old, &overrides).unwrap();
        assert_eq!((shaped.is_deterministic(), shaped.longest().threads), (true, 64));
    }

    #[test]
    fn a_shape_without_an_algorithm_stays_in_the_family_of_the_default() {
        let overrides = Overrides { threads: Some(64), ..Overrides::default() };
        let strategy = |bytes| {
            let plans = plan(&operator_of(bytes), &ScanSpec::inclusive(), &DeviceLimits::BASELINE, &overrides).unwrap();
            plans.longest().strategy
        };
        assert_eq!(strategy(4), Strategy { block: BlockScan::in_registers(), carry: Carry::LookBack });
        let shared = BlockScan::coarsened(Network::WarpShuffle);
        assert_eq!(strategy(65), Strategy { block: shared, carry: Carry::LookBack });
    }

    #[test]
    fn a_large_element_gets_shorter_runs() {
        let run = |bytes, network| {
            let strategy = Strategy { block: BlockScan::coarsened(network), carry: Carry::LookBack };
            let overrides = Overrides { strategy: Some(strategy), ..Overrides::default() };
            let plan = plan(&operator_of(bytes), &ScanSpec::inclusive(), &DeviceLimits::BASELINE, &overrides).unwrap();
            (plan.shortest.run, plan.shortest.threads)
        };
        assert_eq!(run(4, Network::WarpShuffle), (9, 256));
        assert_eq!(run(1, Network::WarpShuffle), (15, 256));
        assert_eq!(run(256, Network::WarpShuffle), (3, 32));
        assert_eq!(run(256, Network::HillisSteele), (1, 32));
    }
}

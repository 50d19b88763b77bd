//! The results of planning: a plan, or several for ranges of lengths.

use std::iter;

use super::{
    measured::{MAX_STAND_IN_BYTES, loads_packets},
    overrides::Request,
    pipeline::{Pipeline, packets},
};
use crate::{
    carry::Blocks,
    constants::{COPY_ALIGNMENT, PACKET_PAYLOAD, WORD},
    limits::DeviceLimits,
    operator::OpSource,
    ring::Ring,
    spec::ScanSpec,
    strategy::Strategy,
    weight::{Decided, INLINED, Places},
    zipped::Zipped,
};

/// The plans for one scan, each for a range of lengths. Only the kernels that a call needs are compiled. Plans that
/// differ only in the threads per block share kernels. If the caller chooses an algorithm or a shape, there is one plan
/// for all lengths. [`plan`](crate::plan()) makes them; their `Display` describes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plans {
    pub(super) device: DeviceLimits,
    pub(super) shortest: Plan,
    /// In the order of the lengths that they are for.
    pub(super) longer: Vec<Plan>,
}

impl Plans {
    /// The device that they are for.
    pub fn device(&self) -> &DeviceLimits {
        &self.device
    }

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

    /// These plans, with another one for inputs of `from` to `to - 1` elements.
    pub(crate) fn with_range(&self, from: u64, to: u64, plan: Plan) -> Self {
        // The old plan may not serve `to` elements.
        let after = Some(Plan { from: to, ..self.for_len(to).clone() }).filter(|after| after.max_len >= to);
        let before = self.iter().filter(|known| known.from < from).cloned();
        let later = self.iter().filter(|known| known.from > to).cloned();
        let mut ranges = before.chain([Plan { from, ..plan.clone() }]).chain(after).chain(later);
        let shortest = ranges.next().unwrap_or(plan);
        Plans { device: self.device, shortest, longer: ranges.collect() }
    }
}

/// Places of a kernel where the aggregates of runs, warps and tiles meet.
const JOINS: u64 = 16;

/// The shape of the kernels for one scan, of any length or of a range of lengths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Plan {
    /// The specification of the scan.
    pub spec: ScanSpec,
    /// The minimum number of elements that the plan is for.
    pub from: u64,
    /// The algorithm.
    pub strategy: Strategy,
    /// The number of threads that scan a tile together: those of a block, or of a team if there are teams.
    pub threads: u32,
    /// The run: the number of elements that a thread scans on its own; 1 if the block scan is not coarsened.
    pub run: u32,
    /// The tile: the number of elements that a block, or a team, scans at once.
    pub tile: u32,
    /// Bytes of shared memory that a block declares.
    pub shared_bytes: u32,
    /// The maximum number of elements of a scan under this plan.
    pub max_len: u64,
    /// The pipeline of look-ahead; `None` with another way to carry.
    pub pipeline: Option<Pipeline>,
    /// The maximum number of instructions that an operator's function may have at all its inlined places in a kernel
    /// together, estimated from its text. A function above that is called, not inlined. 8192 by default.
    pub inlined: u32,
    /// Whether its kernels themselves wait for the preceding work in the stream, so that a launch may begin before that
    /// work has ended ([`Launch::programmatic`](crate::Launch::programmatic)).
    pub programmatic: bool,
    /// Whether a run that is only partly inside the tile is scanned as a whole: the rest of it is zeros, whose results
    /// are not used.
    pub(crate) whole_runs: bool,
    /// Whether the run in which the input ends is reduced to its first element, because nothing follows it, and its
    /// results are stored one by one: less is unrolled for it.
    pub(crate) last_run_apart: bool,
    /// Statuses that a lane loads and folds on its own in look-back; 1 with another way to carry.
    pub(crate) statuses_per_lane: u32,
    /// Blocks per cluster; 1 with another way to carry.
    pub(crate) cluster: u32,
    /// The threads per block of its kernels: plans that differ only in `threads` share a text.
    pub(crate) block_sizes: BlockSizes,
    /// Whether its kernels wait at random, for tests.
    pub(crate) delays: bool,
    /// Slots of shared memory for the values that the network scans, unused ones among them.
    pub(crate) network_slots: u32,
    /// The bytes per access with which a thread reads its run from shared memory; 0 if it reads element by element.
    pub(crate) input_unit: u32,
    /// The same for its results.
    pub(crate) output_unit: u32,
    /// Whether the operator is stepped: its carry begins with the initial value, and no partial result does.
    pub(crate) stepped: bool,
    /// Whether the operator says how an input is appended to a partial result.
    pub(crate) appends: bool,
    /// Whether runs are folded from their ends.
    pub(crate) folds_backwards: bool,
    /// Whether runs are longer or shorter than those of a light operator.
    pub(crate) run_by_weight: bool,
    /// What the weight of the operator decides.
    pub(crate) decided: Decided,
    /// Whether an output is made of the carry before an element, and of the element.
    pub(crate) emits: bool,
    pub(crate) state_bytes: u64,
    /// The arrays, where there is one for each field of an element; `None` where input and output are one array each.
    pub(crate) zipped: Option<Zipped>,
    /// Bytes that are read for an element,
    pub(crate) input_bytes: u64,
    /// and that are written.
    pub(crate) output_bytes: u64,
}

/// The threads per block of the kernels of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BlockSizes {
    pub(crate) smallest: u32,
    pub(crate) largest: u32,
}

impl BlockSizes {
    /// Of kernels whose blocks all have so many threads.
    pub(crate) const fn of(threads: u32) -> Self {
        BlockSizes { smallest: threads, largest: threads }
    }

    pub(super) fn at_most(self, max: u32) -> Self {
        BlockSizes { smallest: self.smallest.min(max), largest: self.largest.min(max) }
    }
}

/// What every planner decides about the threads that scan a tile together.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) threads: u32,
    pub(super) run: u32,
    pub(super) tile: u32,
    pub(super) shared_bytes: u32,
}

impl Plan {
    /// The only constructor: a plan for all lengths, which each planner then adjusts.
    pub(super) fn new(request: Request<'_>, strategy: Strategy, block: Block) -> Self {
        let Request { operator, spec, limits, overrides } = request;
        let Block { threads, run, tile, shared_bytes } = block;
        let max_tiles = match strategy.carry.describe().blocks {
            Blocks::One | Blocks::Cluster => u64::MAX,
            Blocks::PerTile => limits.blocks_per_grid,
            // Statuses of tiles, and as many of groups, are counted in 32 bits; head padding adds a tile.
            Blocks::Persistent => limits.blocks_per_grid.min((1 << 31) - 2),
            Blocks::PerTileResident => limits.blocks_at_once(),
        };
        Plan {
            spec: spec.clone(),
            from: 0,
            strategy,
            threads,
            run,
            tile,
            shared_bytes,
            max_len: max_tiles.saturating_mul(tile.into()),
            pipeline: None,
            inlined: overrides.inlined.unwrap_or(INLINED),
            programmatic: false,
            whole_runs: false,
            last_run_apart: false,
            statuses_per_lane: 1,
            cluster: 1,
            block_sizes: BlockSizes::of(threads),
            delays: false,
            network_slots: 0,
            input_unit: 0,
            output_unit: 0,
            stepped: operator.carry.is_some(),
            appends: operator.has("append"),
            folds_backwards: operator.folds_backwards(),
            run_by_weight: false,
            decided: Decided::default(),
            emits: spec.emits(operator),
            state_bytes: operator.state.size as u64,
            zipped: Zipped::of(operator, spec, |_| 0),
            input_bytes: spec.input.bytes(&operator.input) as u64,
            output_bytes: spec.output.bytes(&operator.output) as u64,
        }
    }

    /// The ring of results at consecutive places. Only pipelines have one.
    pub(crate) fn ring(&self) -> Option<Ring> {
        self.zipped.as_ref().filter(|_| self.pipeline.is_some())?.ring
    }

    /// The bytes of a stage of look-ahead without its heads: of a tile, or its results where those are larger.
    pub(crate) fn stage_bytes(&self) -> u64 {
        let kept = self.pipeline.is_some_and(|pipeline| pipeline.keeps_states);
        let states = if kept { self.state_bytes } else { 0 };
        let tile = |bytes: u64| u64::from(self.tile) * bytes;
        match self.ring() {
            Some(ring) => tile(self.input_bytes.max(states)).max(ring.bytes(self.tile, self.threads).into()),
            None => tile(self.input_bytes.max(self.output_bytes).max(states)),
        }
    }

    /// The places of a kernel at which the operator's functions stand: twice for each element of a run (those of a
    /// stepped operator once, to fold it or to step past it), once the loops over runs that stay in registers have been
    /// unrolled, and where the sums of runs, warps and tiles meet.
    pub(crate) fn places(&self, operator: &OpSource) -> Places {
        let run = if self.strategy.block.in_registers || self.pipeline.is_some() { self.run } else { 4 };
        let loops = if operator.carry.is_some() { 1 } else { 2 };
        let elements = loops * u64::from(run) + JOINS;
        let by_input = operator.has("append") || operator.folds_backwards();
        Places { joins: if by_input { JOINS } else { elements }, elements }
    }

    /// Whether an initial value precedes the first partial result.
    pub(crate) fn seeds(&self) -> bool {
        self.spec.initial_value && !self.stepped
    }

    /// This plan, for inputs of one tile at the most.
    pub(super) fn of_one_tile(self) -> Self {
        Plan { max_len: self.tile.into(), ..self }
    }

    /// Whether inputs of one tile have a kernel of their own, that of one block.
    pub(crate) fn has_kernel_of_one_block(&self) -> bool {
        let facts = self.strategy.carry.describe();
        facts.has_kernel_of_one_block() && (facts.blocks == Blocks::One || self.from <= u64::from(self.tile))
    }

    /// Whether the kernel of one block scans at most one tile: it does if another kernel, or another plan, is for
    /// longer inputs.
    pub(crate) fn one_block_has_one_tile(&self) -> bool {
        self.strategy.carry.describe().blocks != Blocks::One || self.max_len <= u64::from(self.tile)
    }

    /// Whether look-ahead warps compute the aggregates of blocks that have not started (the stand-in), so that not all
    /// blocks need be resident at once. They do if a warp can reduce a tile from global memory: if there are no
    /// segments, no groups, enough registers, and slices alone. A scan in place cannot use it, because results overwrite the
    /// elements.
    pub(crate) fn stands_in(&self) -> bool {
        self.spec.segments.is_none()
            && self.spec.input_kinds.are_slices()
            && self.state_bytes <= MAX_STAND_IN_BYTES
            && self.pipeline.is_some_and(|pipeline| pipeline.group <= 1)
    }

    /// The number of words of a state in a packet of a tile status, in addition to its tag.
    ///
    /// Look-ahead loads all statuses, and loads shorter ones faster. Look-back polls single ones, which other blocks
    /// write meanwhile; it is slower with statuses of 8 bytes than of 16: `docs/tuning.md#bytes-of-a-packet`.
    pub(crate) fn packet_payload(&self) -> u64 {
        let short = self.strategy.carry.describe().short_packets && self.state_bytes <= u64::from(WORD);
        if short { 1 } else { PACKET_PAYLOAD.into() }
    }

    /// Whether neighbouring lanes of look-ahead load neighbouring packets, and not statuses.
    pub(crate) fn loads_packets(&self) -> bool {
        self.pipeline.is_some() && loads_packets(packets(self.state_bytes as u32))
    }

    /// Whether look-ahead loads the next statuses before it folds these. The loads then overlap the fold, but hold
    /// registers.
    pub(crate) fn loads_ahead(&self) -> bool {
        let packet_bytes = (self.packet_payload() + 1) * u64::from(WORD);
        !self.spec.segments.is_none() || self.status_bytes() > packet_bytes
    }

    /// Bytes of a tile status: packets of a tag and a part of the state.
    pub(crate) fn status_bytes(&self) -> u64 {
        let (payload, word) = (self.packet_payload(), u64::from(WORD));
        self.state_bytes.div_ceil(word * payload) * (payload + 1) * word
    }

    /// Whether the run of a thread is one of the units in which a tile is copied, so that each thread can read and
    /// write its own.
    pub(crate) fn runs_are_units(&self) -> bool {
        let (bytes, run) = (u64::from(COPY_ALIGNMENT), u64::from(self.run));
        self.strategy.block.in_registers
            && self.spec.segments.is_none()
            && self.zipped.is_none()
            && [self.input_bytes * run, self.output_bytes * run] == [bytes, bytes]
    }
}

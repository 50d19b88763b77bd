//! The plan of look-ahead: the shape of a pipeline in each block.

use crate::{
    limits::DeviceLimits,
    operator::OpSource,
    plan::{Overrides, Plan, PlanError},
    segments::Segments,
    spec::ScanSpec,
    strategy::{BlockScan, Carry, Network, Strategy},
    weight::{WRITTEN_OUT, Weights},
};

/// The shape of the line along which a block of look-ahead works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Pipeline {
    /// Teams of a block, which take its tiles in turn. Each tells the sum of a tile one turn before it scans it.
    pub teams: u32,
    /// Stages of shared memory, into which tiles are copied ahead of the teams: more than two for each team, because it keeps
    /// one tile while it tells of the next, and one more, because a stage is filled again a round after it is free.
    pub stages: u32,
    /// The most blocks that stay on the device: as many as there is room for at once.
    pub blocks: u32,
    /// Bytes of shared memory that a block asks for at its launch.
    pub dynamic_shared_bytes: u32,
    /// Sums of tiles that a lane folds on its own.
    pub look_run: u32,
    /// Blocks of a group, of which one tells the others the sum of all their tiles of a round; 1 where each block reads the sums
    /// of all tiles itself.
    pub group: u32,
    /// Sums that a warp reads at once.
    pub(crate) window: u32,
    /// Bytes of a stage for what tells where segments begin.
    pub(crate) head_bytes: u32,
    /// Room for the offsets of a tile, so many times, and its bytes.
    pub(crate) slots: u32,
    pub(crate) slot_bytes: u32,
    /// Threads of the warps that serve the teams.
    pub(crate) serving: u32,
    /// Whether elements are read one by one when a run is scanned, which takes fewer registers than the run as a whole.
    pub(crate) streams: bool,
}

/// Threads of a warp.
const WARP: u32 = 32;

/// Bytes of input and output from which on look-ahead is the faster one, for elements of so many bytes: a pipeline must be filled
/// and emptied. Bytes begin with short runs ([`middle_bytes`]), whose blocks have tiles enough for that at shorter lengths.
///
/// Measured: `docs/tuning.md#from-which-length-on-look-ahead`.
const fn long_bytes(element: usize, state: usize, segments: &Segments) -> u64 {
    let mebibytes: u64 = match (segments, element) {
        (Segments::None, 0..=1) => 448,
        (Segments::None, 2) if state > element => 448,
        (Segments::None, 2..=7) => 32,
        (Segments::None, 8..=11) => 24,
        (Segments::None, 12..=15) => 32,
        (Segments::None, 16..=24) => 28,
        (Segments::None, 25..=36) => 48,
        (Segments::None, 37..) => 9,
        (Segments::Keys(_), 0..=7) => 56,
        (Segments::HeadFlags | Segments::HeadBits, 0..=1) => 448,
        (Segments::HeadFlags | Segments::HeadBits, 2..=7) => 320,
        (Segments::Offsets(_), 0..=7) => 128,
        (Segments::Offsets(_), 12..=15) => 144,
        (_, 8..=11) => 56,
        (_, 12..=24) => 88,
        (_, 25..=36) => 100,
        (_, 37..) => 24,
    };
    mebibytes << 20
}

/// The same where sums are larger than elements, so that looking at all tiles, or back, takes longer; `None` where that makes no
/// difference, or has not been measured.
///
/// Measured: `docs/tuning.md#states-larger-than-elements`.
const fn long_bytes_of_large_sums(element: usize, state: usize, segments: &Segments) -> Option<u64> {
    let mebibytes: u64 = match (segments, element, state) {
        (Segments::None, _, 36..) => 14,
        (Segments::None, 3.., _) => 18,
        _ => return None,
    };
    if state > element { Some(mebibytes << 20) } else { None }
}

/// From where on there are short runs, for elements that begin with them. Sums that are larger than such elements go with long
/// runs from the first, but for elements of one and two bytes: short runs of those begin where looking at all tiles is slow, for
/// sums of 8 bytes and more and for heavy operators.
///
/// Measured: `docs/tuning.md#short-runs`.
const fn middle_bytes(element: usize, state: usize, heavy: bool, segments: &Segments) -> Option<u64> {
    let mebibytes: u64 = match (segments, element) {
        (Segments::None, 0..=2) if state >= 36 => return None,
        (Segments::None, 0..=2) if state > element && (state >= 8 || heavy) => 16,
        (Segments::None, 0..=1) => 64,
        (Segments::None, 2) if state > element => 96,
        (Segments::HeadFlags | Segments::HeadBits, 0..=1) => 112,
        (Segments::HeadFlags | Segments::HeadBits, 2..=7) => 96,
        _ => return None,
    };
    Some(mebibytes << 20)
}

/// Threads of a team, teams, and bytes of a run at middle lengths. Measured: `docs/tuning.md#short-runs`.
const MIDDLE: (u32, u32, u32) = (256, 3, 60);

/// Shared memory below which a pipeline has too few stages to be worth while.
const LONG_SHARED_BYTES: u32 = 160 * 1024;

/// Threads of a team and teams, in the order of preference; the later ones need less shared memory. The first is for elements
/// of one byte by flags, the second for elements of 5 to 12 bytes; small ones begin with the third, large ones further on, because
/// their teams need more registers.
///
/// Other segmented scans start with the third.
///
/// Measured: `docs/tuning.md#teams-and-runs`.
const TEAMS: [(u32, u32); 11] =
    [(320, 3), (256, 3), (192, 3), (192, 2), (128, 3), (128, 2), (64, 3), (64, 2), (32, 3), (32, 2), (32, 1)];

/// Registers of a multiprocessor, and the most of a thread.
const REGISTERS: u32 = 65536;
const MOST_REGISTERS: u32 = 255;

/// Registers of a lane of the looker that do not hold messages.
const OTHER_REGISTERS: u32 = 32;

/// The most bytes of shared memory in which the lanes of the look-ahead warp exchange statuses. It bounds how many a
/// lane folds. Measured: `docs/tuning.md#statuses-of-a-lane`.
const EXCHANGED_BYTES: u32 = 6 * 1024;

/// Stages beyond those that the teams need: more do not load faster. Measured: `docs/tuning.md#stages`.
const MORE_STAGES: u32 = 3;

/// Bytes of an element from which on a thread reads its elements one by one when it scans them.
const STREAMED_BYTES: u32 = 16;

/// Bytes of an element above which blocks form groups, and of a sum where sums are larger than elements.
///
/// One status waits for another then, but there is less to load and to fold. Measured:
/// `docs/tuning.md#groups-of-blocks`.
const GROUPED_ABOVE: u32 = 36;
const GROUPED_FROM: u32 = 36;

/// The most blocks of a group, and the most groups: a warp reads their sums, a lane each.
const MOST_GROUP: u32 = WARP;

/// Bytes above which what is combined is large: whether its words stay in registers is what counts. Its functions are written out
/// more often than others', since what they are called with goes by way of memory, and runs are short.
///
/// Measured: `docs/tuning.md#large-elements`.
pub(crate) const LARGE: u32 = 64;

/// Bytes of a run in teams of 64 threads, elements of one in smaller and in larger teams, and the most instructions of a function at
/// all its places, where what is combined is large.
const LARGE_RUN_BYTES: u32 = 600;
const LARGEST_RUN: u32 = 3;
const LARGE_WRITTEN_OUT: u32 = 1 << 16;

/// Whether sums are so large, and elements so much smaller, that tiles are longer: the sums of a round take as long as they do,
/// whatever a tile has.
///
/// Measured: `docs/tuning.md#runs-under-large-states`.
const fn has_large_sums(state: u32, element: u32) -> bool {
    state > 16 && state > element && element <= 16
}

/// Words of a sum in a packet of a message, beside the tag.
const PAYLOAD: u32 = 3;

/// Packets of a message about so many bytes.
const fn packets(state: u32) -> u32 {
    state.div_ceil(4).div_ceil(PAYLOAD)
}

/// Whether neighbouring lanes read neighbouring packets, and not messages, which they have to exchange then.
///
/// Measured: `docs/tuning.md#packets-or-statuses`.
pub(crate) const fn reads_packets(state: u32) -> bool {
    packets(state) > 2
}

/// Threads of the two warps that serve the teams.
///
/// One of them folds the aggregates of all tiles. Two or three that take the iterations in turn poll statuses that are
/// not published yet. Measured: `docs/tuning.md#one-look-ahead-warp`.
const SERVING: u32 = 2 * WARP;

impl Pipeline {
    /// Threads of a block with teams of so many threads: the warps that serve them besides.
    pub(crate) fn block_threads(&self, team: u32) -> u32 {
        self.teams * team + self.serving
    }

    /// Messages about groups, where so many blocks have so many tiles.
    pub(crate) fn group_messages(&self, tiles: u64, blocks: u64) -> u64 {
        if self.group <= 1 {
            return 0;
        }
        let (group, blocks) = (u64::from(self.group), blocks.max(1));
        tiles / blocks * blocks.div_ceil(group) + tiles % blocks / group
    }
}

/// Threads of the warps that serve the teams: another one looks for offsets, and two gather sums where there are
/// groups.
fn serving(segments: &Segments, group: u32) -> u32 {
    let finder = if matches!(segments, Segments::Offsets(_)) { WARP } else { 0 };
    let gatherers = if group > 1 { 2 * WARP } else { 0 };
    SERVING + finder + gatherers
}

/// Bytes that a bulk copy has at least, and with both of its ends.
const COPY: u64 = 16;

/// Bytes of a stage for what tells the heads of a tile. What is copied begins and ends at aligned addresses, so that it may be
/// more than what is needed.
fn head_bytes(segments: &Segments, tile: u32) -> u32 {
    let tile = u64::from(tile);
    let copied = |bytes: u64| bytes.next_multiple_of(COPY) + COPY;
    let bytes = match segments {
        Segments::None => 0,
        Segments::HeadFlags => copied(tile),
        Segments::HeadBits => copied(4 * (tile / 32 + 1)),
        // One more, with which the tile's first is compared.
        Segments::Keys(key) => copied((tile + 1) * key.size as u64),
        // A bit for each element.
        Segments::Offsets(_) => (tile / 8).next_multiple_of(COPY),
    };
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Room for the offsets of a tile, in bytes for each of its elements. Where a tile has more offsets, they are read where they are,
/// which takes longer: empty segments, and wide offsets of short ones.
const OFFSET_BYTES: u32 = 4;

/// Bytes of a slot for the offsets of a tile. They are of use only until the heads of the tile are marked, so that there are fewer
/// slots than stages: one for each team, and two at least, of which one is filled while the other is read.
fn slot_bytes(segments: &Segments, tile: u32) -> u32 {
    match segments {
        Segments::Offsets(_) => tile
            .saturating_mul(OFFSET_BYTES)
            .checked_next_multiple_of(COPY as u32)
            .unwrap_or(u32::MAX)
            .saturating_add(COPY as u32),
        _ => 0,
    }
}

fn slots(teams: u32) -> u32 {
    teams.max(2)
}

/// Look-ahead for middle and long inputs, where it can be had.
pub(crate) fn plan_long(operator: &OpSource, spec: &ScanSpec, limits: &DeviceLimits) -> Vec<Plan> {
    if limits.shared_bytes_per_block_optin < LONG_SHARED_BYTES {
        return Vec::new();
    }
    let strategy = Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::LookAhead };
    let bytes = (operator.input.size + operator.output.size).max(1) as u64;
    let (element, state) = (operator.input.size.max(operator.output.size), operator.state.size);
    let plan = |from: u64, overrides: &Overrides| {
        let plan = plan_look_ahead(operator, spec, limits, overrides, strategy).ok()?;
        Some(Plan { from: from / bytes, ..plan })
    };
    let longest_run = Weights::longest_run(operator);
    let (threads, teams, run_bytes) = MIDDLE;
    let run = (run_bytes / element.max(1) as u32).max(1);
    let shape = Overrides {
        threads: Some(threads),
        teams: Some(teams),
        run: Some(run.min(longest_run)),
        ..Overrides::default()
    };
    let long = long_bytes_of_large_sums(element, state, &spec.segments);
    let from = middle_bytes(element, state, longest_run < run, &spec.segments);
    let from = from.filter(|from| long.is_none_or(|long| *from < long));
    let middle = from.and_then(|from| plan(from, &shape));
    // Where there is no room for that shape, the other one takes its place.
    let long = match (from, &middle) {
        (Some(from), None) => from,
        _ => long.unwrap_or_else(|| long_bytes(element, state, &spec.segments)),
    };
    middle.into_iter().chain(plan(long, &Overrides::default())).collect()
}

/// The plan of look-ahead.
pub(crate) fn plan_look_ahead(
    operator: &OpSource,
    spec: &ScanSpec,
    limits: &DeviceLimits,
    overrides: &Overrides,
    strategy: Strategy,
) -> Result<Plan, PlanError> {
    let refuse = |why: &str| Err(PlanError::Strategy { strategy: strategy.to_string(), why: why.to_owned() });
    if strategy.block != BlockScan::coarsened(Network::WarpShuffle) {
        return refuse(
            "its teams scan runs over warp shuffles, so choose `BlockScan::coarsened(Network::WarpShuffle)`",
        );
    }
    if limits.architecture.major < 9 {
        return refuse("bulk copies need compute capability 9.0 or later; choose look-back");
    }
    let sizes = Sizes::of(operator, &spec.segments);
    let run = match overrides.run {
        None if sizes.is_large() => sizes.large_run(),
        None => sizes.run(Weights::longest_run(operator)),
        Some(run) => run,
    };
    let room = limits.shared_bytes_per_block_optin;
    // One source for all devices of an architecture, so that it can be compiled ahead of time. A lane with room for more sums
    // than there are reads the last one again.
    let most_blocks = DeviceLimits::of(limits.architecture).multiprocessors.max(limits.multiprocessors);
    // Shorter runs only where shared memory is too short for any teams with long ones, and the caller leaves it open.
    let shorter = |run: &u32| (overrides.run.is_none() && *run > 1).then_some(run / 2);
    let runs = std::iter::successors(Some(run), shorter);
    let blocks = overrides.blocks.map_or(most_blocks, |blocks| blocks.clamp(1, most_blocks));
    let group = match overrides.group.unwrap_or_else(|| sizes.group(blocks)) {
        group @ 2.. if blocks <= MOST_GROUP * MOST_GROUP => group.clamp(blocks.div_ceil(MOST_GROUP), MOST_GROUP),
        _ => 1,
    };
    let mut shapes = runs.flat_map(|run| sizes.teams().iter().map(move |&teams| (run, teams))).filter_map(
        |(run, (threads, teams))| {
            let (threads, teams) = (overrides.threads.unwrap_or(threads), overrides.teams.unwrap_or(teams));
            let block_threads = threads.saturating_mul(teams).saturating_add(serving(&spec.segments, group));
            let look_run = overrides.look_run.unwrap_or_else(|| sizes.look_run(most_blocks, block_threads)).clamp(1, 8);
            let look_run = if group > 1 { 1 } else { look_run };
            let window = if group > 1 { group.max(blocks.div_ceil(group)) } else { WARP * look_run };
            let shape = Shape { sizes, segments: &spec.segments, run, threads, teams, look_run, group, window };
            if !shape.is_possible(limits) {
                return None;
            }
            let stages = overrides.stages.unwrap_or_else(|| shape.most_stages(room));
            let fits = stages >= shape.least_stages()
                && shape.bytes(stages) <= room
                && shape.static_bytes(stages) <= limits.shared_bytes_per_block;
            fits.then_some((shape, stages))
        },
    );
    let Some((shape, stages)) = shapes.next() else {
        let serving = serving(&spec.segments, group);
        let most = limits.threads_per_block.saturating_sub(serving) / WARP * WARP;
        if let Some(threads) = overrides.threads
            && most > 0
            && (!threads.is_multiple_of(WARP) || threads > most)
        {
            return Err(PlanError::Threads { threads, least: WARP, most });
        }
        let why = format!(
            "it needs two stages for each team and one more at least, and these must fit {room} bytes of shared memory, \
             the teams and {} warps more {} threads",
            serving / WARP,
            limits.threads_per_block
        );
        return Err(PlanError::Run { run, why });
    };
    let Shape { threads, teams, run, look_run, group, window, .. } = shape;
    let tile = threads * run;
    let pipeline = Pipeline {
        teams,
        stages,
        blocks: overrides.blocks.unwrap_or(limits.multiprocessors).clamp(1, limits.multiprocessors),
        dynamic_shared_bytes: shape.dynamic_bytes(stages),
        look_run,
        group,
        window,
        head_bytes: head_bytes(&spec.segments, tile),
        slots: slots(teams),
        slot_bytes: slot_bytes(&spec.segments, tile),
        serving: serving(&spec.segments, group),
        streams: sizes.input == sizes.output && sizes.input >= STREAMED_BYTES && sizes.input.is_multiple_of(4),
    };
    Ok(Plan {
        spec: spec.clone(),
        from: 0,
        strategy,
        threads,
        run,
        tile,
        shared_bytes: shape.static_bytes(stages),
        partials_in_output: operator.state == operator.output,
        max_len: limits.blocks_per_grid.saturating_mul(u64::from(tile)),
        pipeline: Some(pipeline),
        written_out: overrides.written_out.unwrap_or(if sizes.state > LARGE { LARGE_WRITTEN_OUT } else { WRITTEN_OUT }),
        whole_runs: false,
        look_run: 1,
        cluster: 1,
        programmatic: false,
        delays: false,
        network_slots: 0,
        input_unit: unit(sizes.input, run),
        output_unit: unit(sizes.output, run),
        state_bytes: u64::from(sizes.state),
        input_bytes: u64::from(sizes.input),
        output_bytes: u64::from(sizes.output),
    })
}

/// Bytes of the three element types, and of what tells whether an element begins a segment.
#[derive(Clone, Copy)]
struct Sizes {
    input: u32,
    state: u32,
    output: u32,
    heads: u32,
    segmented: bool,
    /// Whether elements are bytes, and flags tell their segments.
    bytes_by_flags: bool,
    by_offsets: bool,
    /// Words that a thread has of elements, and of what tells their segments.
    words: u32,
}

impl Sizes {
    fn of(operator: &OpSource, segments: &Segments) -> Self {
        let (input, output) = (operator.input.size as u32, operator.output.size as u32);
        let state = operator.state.size as u32;
        Sizes {
            input,
            state,
            output,
            heads: match segments {
                Segments::None | Segments::HeadBits => 0,
                Segments::HeadFlags => 1,
                Segments::Keys(key) => key.size as u32,
                Segments::Offsets(_) => OFFSET_BYTES / 2, // there are fewer slots than stages
            },
            segmented: !segments.is_none(),
            bytes_by_flags: matches!(segments, Segments::HeadFlags) && input.max(output) == 1,
            by_offsets: matches!(segments, Segments::Offsets(_)),
            words: match segments {
                Segments::None if has_large_sums(state, input.max(output)) => match (input.max(output), state) {
                    (..=4, _) => 34,
                    (_, ..=36) => 50,
                    _ => 75, // by smaller teams
                },
                Segments::None if input.max(output) > 36 => 48,
                Segments::None if input.max(output) > 24 => 45,
                Segments::None if input.max(output) > 12 => 36,
                Segments::None if input.max(output) > 4 => 28,
                _ if input.max(output) > 36 => 85,
                _ if input.max(output) > 24 => 50,
                Segments::Offsets(_) if input.max(output) > 12 => 50,
                Segments::HeadFlags | Segments::Keys(_) if input.max(output) >= 4 => 39,
                Segments::HeadFlags if input.max(output) == 1 => 23,
                Segments::Offsets(_) if (4..8).contains(&input.max(output)) => 38,
                _ => 31,
            },
        }
    }

    /// Whether elements are large, and so what is combined, perhaps.
    fn is_large(self) -> bool {
        self.input.max(self.output) > LARGE
    }

    /// Elements of a run where they are large.
    fn large_run(self) -> u32 {
        match self.input.max(self.output) {
            element @ 97..=160 => LARGE_RUN_BYTES / element,
            _ => LARGEST_RUN,
        }
    }

    /// Threads of a team and teams, in the order of preference.
    fn teams(self) -> &'static [(u32, u32)] {
        let first = match self.input.max(self.output).max(self.state) {
            97..=160 => 7,
            161.. => 8,
            1 if self.bytes_by_flags => 0,
            ..=4 => 2,
            13..=24 if self.by_offsets => 3,
            ..=24 if self.segmented => 2,
            ..=36 if self.segmented => 3,
            _ if self.segmented => 5,
            ..=36 if has_large_sums(self.state, self.input.max(self.output)) => 3,
            5..=12 => 1,
            13..=24 => 2,
            25..=36 => 3,
            _ if self.input.max(self.output) > GROUPED_ABOVE => 4,
            _ => 5,
        };
        &TEAMS[first..]
    }

    /// Elements that a thread scans on its own: in whole words, and an odd number of units if that can be, so that neighbouring
    /// threads meet different memory banks. No more than `longest`.
    fn run(self, longest: u32) -> u32 {
        let most = (4 * self.words / (self.input.max(self.output) + self.heads)).min(longest).max(1);
        // Narrow elements fill words together.
        let step = |size: u32| if size < 4 { 4 / greatest_common_divisor(4, size) } else { 1 };
        let step = step(self.input).max(step(self.output));
        let candidates = || (1..=most).rev().filter(|run| run.is_multiple_of(step));
        let factor_of_two = |run: &u32| match unit(self.input, *run) {
            0 => u32::MAX,
            unit => (run * self.input / unit).trailing_zeros(),
        };
        candidates().min_by_key(factor_of_two).unwrap_or(most)
    }

    /// Sums that a lane folds on its own: all those of a round at once, as far as registers go.
    fn look_run(self, multiprocessors: u32, block_threads: u32) -> u32 {
        let exchanged = EXCHANGED_BYTES / (WARP * self.state);
        let registers = (REGISTERS / block_threads.max(1)).min(MOST_REGISTERS);
        let message = 4 * packets(self.state); // words
        let held = registers.saturating_sub(OTHER_REGISTERS) / message;
        multiprocessors.div_ceil(WARP).min(held).min(exchanged).clamp(1, 8)
    }

    /// Blocks of a group: as many as there are groups, so that both are few.
    fn group(self, multiprocessors: u32) -> u32 {
        let element = self.input.max(self.output);
        let grouped = element > GROUPED_ABOVE || self.state > element && self.state >= GROUPED_FROM;
        if grouped { multiprocessors.isqrt().max(1) } else { 1 }
    }

    /// Bytes of shared memory for a sum that a lane has read for another: where packets are read, whole ones, in an odd number of
    /// words. Otherwise it stays as it is, and where each lane reads its own it keeps it.
    fn seen_bytes(self, look_run: u32) -> u32 {
        match look_run {
            _ if reads_packets(self.state) => 4 * ((packets(self.state) * PAYLOAD) | 1),
            2.. => self.state,
            _ => 0,
        }
    }
}

fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Bytes in which a run of so many elements of a size is read or written: the widest words that divide an element, or 4 where
/// narrow elements fill such words together; 0 where they do not.
fn unit(size: u32, run: u32) -> u32 {
    let widest = 1 << size.trailing_zeros().min(4);
    match widest {
        4.. => widest,
        _ if (run * size).is_multiple_of(4) => 4,
        _ => 0,
    }
}

#[derive(Clone, Copy)]
struct Shape<'a> {
    sizes: Sizes,
    segments: &'a Segments,
    run: u32,
    threads: u32,
    teams: u32,
    look_run: u32,
    group: u32,
    window: u32,
}

impl Shape<'_> {
    fn is_possible(self, limits: &DeviceLimits) -> bool {
        let serving = serving(self.segments, self.group);
        let threads = self.threads.saturating_mul(self.teams).saturating_add(serving);
        let whole_warps = self.threads > 0 && self.threads.is_multiple_of(WARP) && self.threads <= WARP * WARP;
        whole_warps && self.teams > 0 && threads <= limits.threads_per_block
    }

    /// A stage has room for a tile, for its results after that, and for what tells its heads.
    fn stage_bytes(self) -> u32 {
        let largest = self.sizes.input.max(self.sizes.output);
        let tile = self.threads.saturating_mul(self.run);
        tile.saturating_mul(largest).saturating_add(head_bytes(self.segments, tile))
    }

    fn least_stages(self) -> u32 {
        2 * self.teams + 1
    }

    fn dynamic_bytes(self, stages: u32) -> u32 {
        let slot = slot_bytes(self.segments, self.threads.saturating_mul(self.run));
        stages.saturating_mul(self.stage_bytes()).saturating_add(slots(self.teams).saturating_mul(slot))
    }

    /// The barriers of a stage, the sums of its warps and of what stands before it, whether the warps have heads, and which
    /// offsets are its tile's.
    fn static_bytes_of_stage(self) -> u32 {
        let warps = self.threads / WARP;
        let segmented = if self.segments.is_none() { 0 } else { warps };
        let offsets = if matches!(self.segments, Segments::Offsets(_)) { 24 } else { 0 };
        8 * 8 + (warps + 1) * self.sizes.state + segmented + offsets
    }

    /// Those of all stages, the initial value, and what the looker reads at once; 128 bytes in which alignment may push them
    /// apart.
    fn static_bytes(self, stages: u32) -> u32 {
        let segmented = !self.segments.is_none();
        let initial = if segmented { self.sizes.state } else { 0 };
        let seen = self.sizes.seen_bytes(self.look_run);
        let head = u32::from(segmented);
        let gatherers = if self.group > 1 { 2 } else { 0 };
        let warps = gatherers.max(1);
        let window = if seen > 0 { warps * self.window * (seen + head) } else { 0 };
        let parts = 2 * gatherers * (2 * 8 + self.sizes.state + head);
        stages.saturating_mul(self.static_bytes_of_stage()).saturating_add(128 + initial + window + parts)
    }

    fn bytes(self, stages: u32) -> u32 {
        self.dynamic_bytes(stages).saturating_add(self.static_bytes(stages))
    }

    fn most_stages(self, room: u32) -> u32 {
        let of_stage = self.stage_bytes().saturating_add(self.static_bytes_of_stage()).max(1);
        (room.saturating_sub(self.bytes(0)) / of_stage).min(self.least_stages() + MORE_STAGES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Architecture, OffsetWidth, Plans, operator::operator_of, plan, plan::MAX_ELEMENT_BYTES};

    fn h200() -> DeviceLimits {
        let mut limits = DeviceLimits::new(Architecture { major: 9, minor: 0 }, 132);
        limits.shared_bytes_per_block_optin = 227 * 1024;
        limits
    }

    fn plan_of(bytes: usize, limits: &DeviceLimits) -> Plan {
        let strategy = Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::LookAhead };
        let overrides = Overrides { strategy: Some(strategy), ..Overrides::default() };
        plan(&operator_of(bytes), &ScanSpec::inclusive(), limits, &overrides).unwrap().longest().clone()
    }

    #[test]
    fn runs_fill_words_and_meet_all_banks() {
        let shape = |bytes| {
            let plan = plan_of(bytes, &h200());
            (plan.run, plan.input_unit)
        };
        let shapes = [1, 2, 3, 4, 6, 8, 12, 16, 24, 36, 64].map(shape);
        let expected =
            [(124, 4), (62, 4), (36, 4), (31, 4), (18, 4), (13, 8), (9, 4), (9, 16), (5, 8), (5, 4), (3, 16)];
        assert_eq!(shapes, expected);
    }

    #[test]
    fn segmented_stages_fit_small_and_large_shared_memory() {
        let key = |bytes| Segments::Keys(operator_of(bytes).state);
        let offsets = [Segments::Offsets(OffsetWidth::U32), Segments::Offsets(OffsetWidth::U64)];
        let tellings = [Segments::HeadFlags, Segments::HeadBits, key(1), key(7), key(64)].into_iter().chain(offsets);
        let strategy = Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::LookAhead };
        let overrides = Overrides { strategy: Some(strategy), ..Overrides::default() };
        for segments in tellings {
            for limits in [DeviceLimits::BASELINE, h200()] {
                for bytes in [1, 2, 3, 4, 8, 12, 16, 24, 36, 40, 64, 96, 100, 256] {
                    let spec = ScanSpec::inclusive().with_segments(segments.clone());
                    let default = plan(&operator_of(bytes), &spec, &limits, &Overrides::default()).unwrap();
                    assert!(default.iter().is_sorted_by(|a, b| a.from < b.from), "{bytes}: {default}");
                    let plans = plan(&operator_of(bytes), &spec, &limits, &overrides).unwrap();
                    let (plan, pipeline) = (plans.longest(), plans.longest().pipeline.unwrap());
                    let shared = plan.shared_bytes + pipeline.dynamic_shared_bytes;
                    assert!(shared <= limits.shared_bytes_per_block_optin, "{bytes}: {plan}");
                    assert!(pipeline.stages > 2 * pipeline.teams && pipeline.teams >= 1, "{bytes}: {plan}");
                    let heads = pipeline.head_bytes * pipeline.stages;
                    let elements = plan.tile * bytes as u32 * pipeline.stages;
                    let offsets = pipeline.slot_bytes * pipeline.slots;
                    assert_eq!(pipeline.dynamic_shared_bytes, heads + elements + offsets, "{bytes}: {plan}");
                }
            }
        }
    }

    #[test]
    fn runs_are_moved_in_the_widest_units_that_divide_them() {
        let units = [(1, 3), (1, 4), (2, 1), (2, 2), (3, 4), (4, 1), (6, 1), (6, 2), (8, 1), (12, 3), (16, 1), (64, 3)];
        assert_eq!(units.map(|(size, run)| unit(size, run)), [0, 4, 0, 4, 4, 4, 0, 4, 8, 4, 16, 16]);
    }

    #[test]
    fn sums_of_more_than_two_packets_are_read_by_packets() {
        assert_eq!([1, 12, 13, 24, 25, 36, 37].map(packets), [1, 1, 2, 2, 3, 3, 4]);
        assert_eq!([24, 25].map(reads_packets), [false, true]);
    }

    /// What is copied in bulk begins and ends at multiples of 16 bytes, wherever the first flag lies among them.
    #[test]
    fn a_stage_has_room_for_what_tells_the_heads_of_a_tile() {
        let key = |bytes| Segments::Keys(operator_of(bytes).state);
        let offsets = Segments::Offsets(OffsetWidth::U32);
        let room = |tile| {
            [Segments::None, Segments::HeadFlags, Segments::HeadBits].map(|segments| head_bytes(&segments, tile))
        };
        assert_eq!(room(96), [0, 112, 32]);
        assert_eq!(room(97), [0, 128, 32]);
        assert_eq!(room(128), [0, 144, 48]);
        assert_eq!([key(1), key(4), key(7)].map(|segments| head_bytes(&segments, 96)), [128, 416, 704]);
        assert_eq!([96, 128, 136].map(|tile| head_bytes(&offsets, tile)), [16, 16, 32]);
    }

    /// A group tells in each whole round of the blocks, and in the last one where all its blocks have a tile.
    #[test]
    fn a_group_tells_where_all_its_blocks_have_a_tile() {
        let messages = |group, tiles, blocks| Pipeline { group, ..Pipeline::default() }.group_messages(tiles, blocks);
        assert_eq!([0, 7, 8, 10, 11, 16, 22].map(|tiles| messages(3, tiles, 8)), [0, 2, 3, 3, 4, 6, 8]);
        assert_eq!((messages(1, 100, 8), messages(2, 5, 0)), (0, 5));
    }

    #[test]
    fn a_run_that_the_caller_names_is_not_made_shorter() {
        let run = |run| {
            let strategy =
                Some(Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::LookAhead });
            let overrides = Overrides { strategy, run, ..Overrides::default() };
            plan(&operator_of(100), &ScanSpec::inclusive(), &h200(), &overrides).map(|plans| plans.longest().run)
        };
        assert_eq!([run(Some(2)), run(Some(6))], [Ok(2), Ok(6)]);
        assert!(matches!(run(Some(1000)), Err(PlanError::Run { run: 1000, .. })));
    }

    /// Sums larger than elements have their own shapes and their own lengths from which long runs are faster.
    #[test]
    fn sums_larger_than_elements_are_planned_for_themselves() {
        let none = &Segments::None;
        let long = |element, state| long_bytes_of_large_sums(element, state, none).map(|bytes| bytes >> 20);
        assert_eq!(
            [long(4, 4), long(12, 12), long(4, 8), long(1, 32), long(1, 36), long(36, 36)],
            [None, None, Some(18), None, Some(14), None]
        );
        let middle = |element, state, heavy| middle_bytes(element, state, heavy, none).map(|bytes| bytes >> 20);
        assert_eq!(
            [middle(1, 1, false), middle(1, 4, false), middle(1, 8, false), middle(1, 36, false)],
            [Some(64), Some(64), Some(16), None]
        );
        assert_eq!([middle(2, 2, false), middle(2, 4, false), middle(2, 4, true)], [None, Some(96), Some(16)]);
        let teams = |element: usize, state: usize| {
            let op = OpSource { state: operator_of(state).state, ..operator_of(element) };
            Sizes::of(&op, none).teams()[0]
        };
        assert_eq!([teams(24, 24), teams(8, 24)], [(192, 3), (192, 2)]);
    }

    #[test]
    fn operators_of_large_elements_are_written_out_further() {
        let written_out = |bytes| plan_of(bytes, &h200()).written_out;
        assert_eq!([4, 64, 68].map(written_out), [WRITTEN_OUT, WRITTEN_OUT, LARGE_WRITTEN_OUT]);
    }

    #[test]
    fn segmented_runs_share_their_room_with_what_tells_the_segments() {
        let longest = |bytes, segments: Segments| {
            let spec = ScanSpec::inclusive().with_segments(segments);
            let plans = plan(&operator_of(bytes), &spec, &h200(), &Overrides::default()).unwrap();
            assert_eq!(plans.longest().strategy.carry, Carry::LookAhead);
            plans.longest().clone()
        };
        let run = |bytes, segments| longest(bytes, segments).run;
        let by_flags = [1, 4, 8, 12].map(|bytes| run(bytes, Segments::HeadFlags));
        assert_eq!(by_flags, [44, 31, 17, 11]);
        assert_eq!(run(4, Segments::HeadBits), 31);
        assert_eq!(run(4, Segments::Keys(operator_of(4).state)), 19);
        assert_eq!(run(4, Segments::Offsets(OffsetWidth::U32)), 25);
        // Large elements, in teams as small as without segments.
        let four = || Segments::Keys(operator_of(4).state);
        for segments in [Segments::HeadFlags, Segments::HeadBits, four(), Segments::Offsets(OffsetWidth::U64)] {
            let shape = |bytes| {
                let plan = longest(bytes, segments.clone());
                (plan.threads, plan.pipeline.unwrap_or_default().teams, plan.run)
            };
            assert_eq!([36, 64].map(shape), [(192, 2, 5), (128, 2, 5)], "{segments:?}");
        }
        assert_eq!([16, 24].map(|bytes| run(bytes, Segments::Offsets(OffsetWidth::U32))), [11, 7]);
    }

    #[test]
    fn every_size_fits_small_and_large_shared_memory() {
        for limits in [DeviceLimits::BASELINE, h200()] {
            for bytes in 1..=MAX_ELEMENT_BYTES {
                let plan = plan_of(bytes, &limits);
                let pipeline = plan.pipeline.unwrap();
                let shared = plan.shared_bytes + pipeline.dynamic_shared_bytes;
                assert!(shared <= limits.shared_bytes_per_block_optin, "{bytes}: {plan}");
                assert!(pipeline.stages > 2 * pipeline.teams && pipeline.teams >= 1, "{bytes}: {plan}");
            }
        }
    }

    #[test]
    fn what_is_combined_may_be_larger_than_elements() {
        let longest = |element, state| {
            let op = OpSource { state: operator_of(state).state, ..operator_of(element) };
            plan(&op, &ScanSpec::inclusive(), &h200(), &Overrides::default()).unwrap().longest().clone()
        };
        let shape = |plan: Plan| (plan.threads, plan.run, plan.pipeline.map(|pipeline| pipeline.group));
        // Tiles are longer than where both are as large as elements.
        assert_eq!(shape(longest(8, 8)), (256, 13, Some(1)));
        assert_eq!(shape(longest(8, 32)), (192, 25, Some(1)));
        assert_eq!(shape(longest(8, 72)), (128, 37, Some(11)));
        assert_eq!(shape(longest(8, 256)), (32, 37, Some(11)));
        // Sums of large elements are told in groups.
        assert_eq!([36, 64].map(|bytes| shape(longest(bytes, bytes)).2), [Some(1), Some(11)]);
        assert_eq!([64, 100, 144, 256].map(|bytes| longest(bytes, bytes).run), [3, 6, 4, 3]);
    }

    #[test]
    fn a_warp_reads_all_blocks_of_a_group_and_all_groups() {
        for multiprocessors in [1, 2, 24, 132, 148, 192, 1000, 1024, 2000] {
            for group in [None, Some(0), Some(2), Some(20), Some(100)] {
                let mut limits = h200();
                limits.multiprocessors = multiprocessors;
                let strategy =
                    Some(Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::LookAhead });
                let overrides = Overrides { strategy, group, ..Overrides::default() };
                let plans = plan(&operator_of(100), &ScanSpec::inclusive(), &limits, &overrides).unwrap();
                let pipeline = plans.longest().pipeline.unwrap();
                // 132 multiprocessors have one source with any fewer.
                let blocks = multiprocessors.max(132);
                assert!(pipeline.group == 1 || pipeline.window >= pipeline.group.max(blocks.div_ceil(pipeline.group)));
                assert!(pipeline.group == 1 || pipeline.window <= WARP, "{multiprocessors} {group:?}: {pipeline:?}");
            }
        }
    }

    #[test]
    fn the_default_looks_ahead_over_long_inputs_where_it_can() {
        let default = |limits: DeviceLimits| {
            plan(&operator_of(4), &ScanSpec::inclusive(), &limits, &Overrides::default()).unwrap()
        };
        let longest = |plans: &Plans| plans.longest().strategy.carry;
        assert_eq!(longest(&default(DeviceLimits::BASELINE)), Carry::LookBack);
        let plans = default(h200());
        let ahead = |plan: &&Plan| plan.strategy.carry == Carry::LookAhead;
        assert_eq!(plans.iter().filter(ahead).map(|plan| plan.run).collect::<Vec<_>>(), [31]);
        // Of bytes short runs come before the long ones.
        let bytes = plan(&operator_of(1), &ScanSpec::inclusive(), &h200(), &Overrides::default()).unwrap();
        let shape = |plan: &Plan| (plan.threads, plan.pipeline.unwrap_or_default().teams, plan.run);
        assert_eq!(bytes.iter().filter(ahead).map(shape).collect::<Vec<_>>(), [MIDDLE, (192, 3, 124)]);
        let from = plans.iter().find(ahead).unwrap().from;
        let kernel = |len| plans.for_len(len).schedule(len).unwrap().launches[0].kernel;
        assert_eq!((kernel(from - 1), kernel(from)), ("scan_look_at_all", "scan_look_ahead"));
        let mut ampere = h200();
        ampere.architecture = Architecture { major: 8, minor: 0 };
        assert_eq!(longest(&default(ampere)), Carry::LookBack);
    }
}

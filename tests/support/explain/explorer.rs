//! The explorer: a page that goes forward and back through what the emulator recorded.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use scan_codegen::Overrides;
use scan_runtime::{BlockScan, Carry, Network, ScanKind, ScanOp, Strategy, TileNumbers, WarpNetwork, Workers};
use serde::Serialize;

use super::{
    network::{Application, NetworkTrace, Step, value},
    shown::{Visitor, numbers, visit_shown},
};
use crate::emulated::{Banks, Emulator, EmulatorError, Module, Program, Spot, WarpAccess};

/// The page without its data: markup, style and script.
const PAGE: &str = include_str!("explorer.html");
/// Where the data goes.
const DATA: &str = "/* the recordings */";
/// Lines of the text that are shown before and after one that is executed.
const CONTEXT: usize = 3;

/// One scan as the emulator recorded it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recording {
    /// The strategy, the operator, and the number of elements: by these a recording is chosen.
    pub strategy: String,
    /// See `strategy`.
    pub operator: String,
    /// See `strategy`.
    pub length: u64,
    /// Elements of a tile.
    pub tile: u32,
    /// Elements that a thread begins with.
    pub run: u32,
    /// The kernel of each launch.
    pub kernels: Vec<String>,
    /// Parts of the generated text: the number of the first line, and the lines.
    #[serde(skip)]
    pub source: Vec<(usize, Vec<String>)>,
    /// What the whole run took: a name and a number for each count.
    pub counts: Vec<(&'static str, u64)>,
    /// The steps.
    #[serde(skip)]
    pub frames: Vec<Frame>,
}

/// One step. Values are texts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Frame {
    /// The launch, the block, and how many barriers the block has met at.
    pub at: (u32, u32, u32),
    /// The first column of the block's tile.
    #[serde(skip_serializing_if = "is_zero")]
    pub base: u64,
    /// The lines of the text that are executed.
    pub lines: BTreeSet<u32>,
    /// How many threads execute them.
    pub threads: usize,
    /// Elements that are read: column, value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<(u64, String)>,
    /// Applications.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applies: Vec<Apply>,
    /// Values that move: the column from which, if it is none with a value, the column, the value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<(Option<u64>, u64, String)>,
    /// Tile statuses that are published: tile, status, value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub publishes: Vec<(u64, u32, String)>,
    /// Tile statuses that are polled: tile, status, how many times it was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub polls: Vec<(u64, u32, u32)>,
    /// Results that are written: column, value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<(u64, String)>,
    /// Accesses of warps to shared memory: those of the step, and those of lines that belong to no step since the
    /// block's step before.
    #[serde(skip_serializing_if = "is_zero")]
    pub accesses: u64,
    /// Bank conflicts among them: the line, the degree, how many of both, the cycles lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<(u32, u64, u64, u64)>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Frame {
    /// Not so where the only atomic store is that of the tickets of the next launch.
    fn shows_something(&self) -> bool {
        let Frame { loads, applies, moves, publishes, polls, results, .. } = self;
        let lengths = [loads.len(), applies.len(), moves.len(), publishes.len(), polls.len(), results.len()];
        lengths.iter().any(|&length| length > 0)
    }

    /// The lines that are executed, and those with a bank conflict.
    fn marked(&self) -> impl Iterator<Item = u32> {
        self.lines.iter().copied().chain(self.conflicts.iter().map(|&(line, ..)| line))
    }

    /// Counts an access.
    fn add(&mut self, &WarpAccess { line, banks, degree, .. }: &WarpAccess) {
        self.accesses += 1;
        if degree < 2 {
            return;
        }
        let lost = banks.cycles - banks.without_conflicts;
        match self.conflicts.iter_mut().find(|row| (row.0, row.1) == (line, degree)) {
            Some((_, _, count, lost_before)) => {
                *count += 1;
                *lost_before += lost;
            }
            None => self.conflicts.push((line, degree, 1, lost)),
        }
    }
}

/// An application, as a row. Most have their right operand in the column of the result, and cover what ends there; the
/// last two numbers are only of others.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Apply {
    /// The column, that of the left operand, the first position that the result covers, the value.
    InPlace(u64, Option<u64>, Option<u64>, String),
    /// The same, the column of the right operand, and the last position that the result covers.
    Other(u64, Option<u64>, Option<u64>, String, Option<u64>, Option<u64>),
}

impl Apply {
    fn new(one: &Application, whole: bool, value: String) -> Self {
        let [left, right] = one.operands;
        // What comes from a status covers what the trace does not tell.
        let told = whole || !one.covered.contains(&None);
        let first = one.result.filter(|_| told).map(|(first, _)| first);
        let last = one.result.map(|(_, last)| last);
        match (right, last) == (Some(one.column), Some(one.column)) {
            true => Apply::InPlace(one.column, left, first, value),
            false => Apply::Other(one.column, left, first, value, right, last),
        }
    }
}

/// The status of a tile, from a packet of it: EMPTY, AGGREGATE or PREFIX, and the value. `None` for words that are no
/// packet of a status, and for values in several packets. The run is the first in its memory, so its epoch is 0.
fn status<State: Copy>((spot, bytes): &(Spot, Vec<u8>)) -> Option<(u64, u32, State)> {
    // The first part of memory that is kept has the tickets.
    let is_status = spot.buffer.starts_with("workspace+") && spot.buffer != "workspace+0";
    let tag = u32::from_le_bytes(*bytes.last_chunk()?);
    let whole = is_status && tag <= 2 && size_of::<State>() + size_of::<u32>() <= bytes.len();
    // SAFETY: a packet begins with the bytes of the state; of an empty one they are zero, and not shown.
    whole.then(|| (spot.index.unsigned_abs(), tag, unsafe { bytes.as_ptr().cast::<State>().read_unaligned() }))
}

/// Runs `program` over `input` and records it. `show` makes a short text of a partial result.
///
/// # Errors
///
/// Errors of the emulator, which are faults of the kernels.
pub fn recording<Op>(
    program: &Program<Op>,
    (strategy, operator): (&str, &str),
    input: &[Op::Input],
    show: impl Fn(Op::State) -> String,
) -> Result<Recording, EmulatorError>
where
    Op: ScanOp<Output: Debug> + Clone,
{
    let program = program.clone(); // with fresh memory, where the epoch is 0
    let (plan, length) = (&program.plan, input.len() as u64);
    // Blocks that wait for blocks with a smaller index need room for all.
    let emulator = Emulator::new(1).banks(Banks::TODAY).trace().resident_blocks(usize::MAX);
    let run = program.verify(&emulator, input)?;
    let block = plan.strategy.block;
    let padded = block.network.is_padded() && !block.coarsened;
    let position = move |slot: u64| if padded { slot - slot / 33 } else { slot };
    let network = NetworkTrace::new(run.trace.unwrap_or_default(), length, plan.tile, &position);
    let values = network.event_values(&program.op, input);
    let text = |event| value(&program.op, &values, event).map_or_else(String::new, &show);
    // A result of another type than the states is shown as it is.
    let result = |column: u64| match run.output.get(column as usize) {
        Some(output) => {
            (output as &dyn Any).downcast_ref::<Op::State>().map_or_else(|| numbers(output), |&state| show(state))
        }
        None => String::new(),
    };
    let whole = network.is_whole();
    let frame = |step: &Step| {
        let mut polls: BTreeMap<(u64, u32), u32> = BTreeMap::new();
        for (tile, status, _) in step.polled.iter().filter_map(status::<Op::State>) {
            *polls.entry((tile, status)).or_default() += 1;
        }
        let published = step.published.iter().filter_map(status::<Op::State>);
        Frame {
            at: (step.phase.0, step.block, step.phase.1),
            base: step.base,
            lines: step.lines.clone(),
            threads: step.threads.len(),
            loads: step.loads.iter().map(|&(column, event)| (column, text(event))).collect(),
            applies: step.applications.iter().map(|one| Apply::new(one, whole, text(one.event))).collect(),
            moves: step.moves.iter().map(|one| (one.from, one.to, text(one.event))).collect(),
            publishes: published.map(|(tile, status, state)| (tile, status, show(state))).collect(),
            polls: polls.into_iter().map(|((tile, status), times)| (tile, status, times)).collect(),
            results: step.results.iter().map(|&(column, _)| (column, result(column))).collect(),
            accesses: 0,
            conflicts: Vec::new(),
        }
    };
    let mut frames: Vec<Frame> = network.all_steps.iter().map(frame).filter(Frame::shows_something).collect();
    for access in &network.trace.accesses {
        let of_block = |frame: &Frame| (frame.at.0, frame.at.1) == (access.launch, access.block);
        let own = |frame: &Frame| frame.at.2 == access.phase && frame.lines.contains(&access.line);
        let own = frames.iter().position(|frame| of_block(frame) && own(frame));
        let next = || frames.iter().position(|frame| of_block(frame) && frame.at.2 >= access.phase);
        if let Some(frame) = own.or_else(next).or_else(|| frames.iter().rposition(of_block)) {
            frames[frame].add(access);
        }
    }
    let conflicts = network.trace.accesses.iter().filter(|access| access.degree > 1).count() as u64;
    let launches = &run.counters.launches;
    let sum = |count: fn(&crate::emulated::LaunchCounters) -> u64| launches.iter().map(count).sum();
    Ok(Recording {
        strategy: strategy.to_owned(),
        operator: operator.to_owned(),
        length,
        tile: plan.tile,
        run: if block.coarsened { plan.run } else { block.network.values_per_thread() },
        kernels: launches.iter().map(|launch| launch.kernel.clone()).collect(),
        source: parts(&program.source.text, frames.iter().flat_map(Frame::marked).collect()),
        counts: vec![
            ("applications", sum(|launch| launch.applications)),
            ("barriers of a thread", sum(|launch| launch.barriers.into())),
            ("accesses of a warp to shared memory", sum(|launch| launch.banks.requests)),
            ("those with a bank conflict", conflicts),
            ("cycles lost to bank conflicts", sum(|launch| launch.banks.cycles - launch.banks.without_conflicts)),
            ("bytes read", sum(|launch| launch.global_read)),
            ("bytes written", sum(|launch| launch.global_written)),
        ],
        frames,
    })
}

/// The lines that are executed, and those next to them.
fn parts(text: &str, executed: BTreeSet<u32>) -> Vec<(usize, Vec<String>)> {
    let mut parts: Vec<(usize, Vec<String>)> = Vec::new();
    let near = |line: usize| executed.range(line.saturating_sub(CONTEXT) as u32..=(line + CONTEXT) as u32).next();
    for (line, text) in (1..).zip(text.lines()).filter(|&(line, _)| near(line).is_some()) {
        match parts.last_mut().filter(|(first, lines)| first + lines.len() == line) {
            Some((_, lines)) => lines.push(text.to_owned()),
            None => parts.push((line, vec![text.to_owned()])),
        }
    }
    parts
}

/// The page with these recordings: one file that needs no other.
///
/// # Errors
///
/// [`serde_json::Error`], which no recording causes.
pub fn explorer(recordings: &[Recording]) -> Result<String, serde_json::Error> {
    // Kernels share most of their lines: each is there once, and a source has their numbers.
    let mut lines: Vec<&str> = Vec::new();
    let mut number_of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut parts = Vec::new();
    for recording in recordings {
        let mut source = Vec::new();
        for (first, text) in &recording.source {
            let number = |line| {
                *number_of.entry(line).or_insert_with(|| {
                    lines.push(line);
                    lines.len() - 1
                })
            };
            source.push((first, text.iter().map(String::as_str).map(number).collect::<Vec<_>>()));
        }
        let source = serde_json::to_string(&source)?;
        // A frame a line, so that a change of the kernels is a change of few lines.
        let frames = recording.frames.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        let head = serde_json::to_string(recording)?;
        parts.push(format!("[{head},\n{source}, [\n{}\n]]", frames.join(",\n")));
    }
    let lines = lines.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    let data = format!("{{\"lines\": [\n{}\n], \"recordings\": [\n{}\n]}}", lines.join(",\n"), parts.join(",\n"));
    // No text of the data ends the script that it is in.
    Ok(PAGE.replace(DATA, &data.replace('<', "\\u003c")))
}

const BRENT_KUNG: Network = Network::BrentKung { workers: Workers::Contiguous, padded: false };
const PADDED: Network = Network::BrentKung { workers: Workers::Contiguous, padded: true };

const fn over_warps(network: WarpNetwork) -> BlockScan {
    BlockScan::of(Network::WarpShuffle).over_warps(network)
}

/// The strategies of the page: name, how a block scans, how tiles carry, and how many operators are shown.
const STRATEGIES: &[(&str, BlockScan, Carry, usize)] = &[
    ("Kogge-Stone", BlockScan::of(Network::KoggeStone), Carry::OneBlock, 4),
    ("Hillis-Steele (two buffers)", BlockScan::of(Network::HillisSteele), Carry::OneBlock, 1),
    ("Brent-Kung", BlockScan::of(BRENT_KUNG), Carry::OneBlock, 4),
    ("Brent-Kung, padded", BlockScan::of(PADDED), Carry::OneBlock, 1),
    ("Blelloch, exclusive", BlockScan::of(Network::Blelloch { padded: false }), Carry::OneBlock, 4),
    ("warp shuffles: Kogge-Stone", over_warps(WarpNetwork::KoggeStone), Carry::OneBlock, 1),
    ("warp shuffles: Sklansky", over_warps(WarpNetwork::Sklansky), Carry::OneBlock, 1),
    ("warp shuffles: Ladner-Fischer", over_warps(WarpNetwork::LadnerFischer), Carry::OneBlock, 1),
    ("warp shuffles: Han-Carlson", over_warps(WarpNetwork::HanCarlson), Carry::OneBlock, 1),
    ("warp shuffles: Brent-Kung", over_warps(WarpNetwork::BrentKung), Carry::OneBlock, 1),
    ("two warps: Sklansky", over_warps(WarpNetwork::Sklansky), Carry::OneBlock, 1),
    ("3 a thread, then Kogge-Stone", BlockScan::coarsened(Network::KoggeStone), Carry::OneBlock, 1),
    ("four tiles: look-back", over_warps(WarpNetwork::Sklansky), Carry::LookBack, 2),
    ("four tiles: chained", over_warps(WarpNetwork::Sklansky), Carry::Chained(TileNumbers::Counter), 1),
    ("four tiles: reduce-then-scan", over_warps(WarpNetwork::Sklansky), Carry::ReduceThenScan, 1),
];

/// The lengths at which a strategy is shown: a short one and, where trees show bank conflicts, a whole tile. Of
/// operators besides the first, one.
fn lengths(tile: u32, block: BlockScan, carry: Carry, first: bool) -> Vec<u64> {
    match carry {
        Carry::OneBlock if block.coarsened => vec![24],
        Carry::OneBlock if first && block.network != Network::WarpShuffle => vec![16, tile.into()],
        Carry::OneBlock if tile == 32 || !first => vec![16],
        Carry::OneBlock => vec![tile.into()],
        _ => vec![4 * u64::from(tile)],
    }
}

/// A program of one of the strategies.
fn program<Op: ScanOp>(
    op: Op,
    (name, block, carry, _): (&str, BlockScan, Carry, usize),
) -> Result<Program<Op>, EmulatorError> {
    let mut overrides = Overrides::default();
    overrides.strategy = Some(Strategy { block, carry });
    overrides.threads = Some(if name.starts_with("two warps") { 64 } else { 32 });
    overrides.run = block.coarsened.then_some(3);
    let kind = if is_exclusive(block) { ScanKind::Exclusive } else { ScanKind::Inclusive };
    Program::new(op, kind, None, &overrides)
}

fn is_exclusive(block: BlockScan) -> bool {
    matches!(block.network, Network::Blelloch { .. })
}

/// The recordings of an operator in every strategy of the page. An operator without an identity has no exclusive scan.
///
/// # Errors
///
/// Errors of the emulator, which are faults of the kernels.
pub fn recordings_of<Op: ScanOp<Output: Debug> + Clone>(
    name: &str,
    op: &Op,
    input: fn(u64) -> Op::Input,
    show: impl Fn(Op::State) -> String,
) -> Result<Vec<Recording>, EmulatorError> {
    of_operator(1, name, op, input, show)
}

/// The recordings of one operator, in the strategies that show as many as its number, counted from 1.
fn of_operator<Op: ScanOp<Output: Debug> + Clone>(
    number: usize,
    name: &str,
    op: &Op,
    input: fn(u64) -> Op::Input,
    show: impl Fn(Op::State) -> String,
) -> Result<Vec<Recording>, EmulatorError> {
    let is_possible = |block: BlockScan| op.identity().is_some() || !is_exclusive(block);
    let strategies = STRATEGIES.iter().filter(|strategy| number <= strategy.3 && is_possible(strategy.1));
    let programs = strategies
        .map(|&strategy| Ok((strategy, program(op.clone(), strategy)?)))
        .collect::<Result<Vec<_>, EmulatorError>>()?;
    Module::compile(&programs.iter().map(|(_, program)| &program.source).collect::<Vec<_>>())?;
    let mut recordings = Vec::new();
    for ((strategy, block, carry, _), program) in &programs {
        for length in lengths(program.plan.tile, *block, *carry, number == 1) {
            let input: Vec<Op::Input> = (0..length).map(input).collect();
            recordings.push(recording(program, (strategy, name), &input, &show)?);
        }
    }
    Ok(recordings)
}

/// Collects the recordings of every operator.
struct Recorder {
    number: usize,
    recordings: Result<Vec<Recording>, EmulatorError>,
}

impl Visitor for Recorder {
    fn visit<Op>(&mut self, name: &str, op: Op, input: fn(u64) -> Op::Input, show: fn(Op::State) -> String)
    where
        Op: ScanOp<Output: Debug> + Clone,
    {
        self.number += 1;
        if let Ok(recordings) = &mut self.recordings {
            match of_operator(self.number, name, &op, input, show) {
                Ok(more) => recordings.extend(more),
                Err(error) => self.recordings = Err(error),
            }
        }
    }
}

/// What the page in `docs` has.
///
/// # Errors
///
/// Errors of the emulator, which are faults of the kernels.
pub fn recordings() -> Result<Vec<Recording>, EmulatorError> {
    let mut recorder = Recorder { number: 0, recordings: Ok(Vec::new()) };
    visit_shown(&mut recorder);
    recorder.recordings
}

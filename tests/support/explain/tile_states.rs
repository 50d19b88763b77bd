//! The tile statuses of a run over time: when each block loads, folds, publishes, reads the statuses of other tiles,
//! and stores. From the trace of the emulator, which has executed the generated kernels.

use std::collections::BTreeMap;

use scan_codegen::{DeviceLimits, Overrides};
use scan_runtime::{BlockScan, Carry, Network, ScanKind, Strategy, ops};

use crate::{
    emulated::{Emulator, EmulatorError, Event, Program, Spot, What},
    strategies::LOOK_AHEAD,
};

/// A kind of work on a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// Its elements are loaded.
    Load,
    /// They are folded, up to the tile's aggregate.
    Fold,
    /// The statuses of other tiles are polled and folded.
    Look,
    /// The results are computed from the exclusive prefix; with look-back, also stored.
    Scan,
    /// The results are copied out.
    Store,
}

/// A published tile status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// The aggregate of the tile.
    Aggregate,
    /// The inclusive prefix up to its end.
    Prefix,
}

/// The statuses that are read for the exclusive prefix of one tile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The steps before the first poll.
    pub from: u32,
    /// Each tile whose status was found published: when first, and which status.
    pub found: BTreeMap<u32, (u32, Status)>,
}

impl Window {
    /// When the last status was found.
    pub fn to(&self) -> u32 {
        self.found.values().map(|&(at, _)| at).max().unwrap_or(self.from)
    }

    /// The first tile that the prefix needs: the nearest one with a prefix, or the first that was read.
    pub fn first_needed(&self) -> Option<u32> {
        let prefix = self.found.iter().rev().find(|(_, (_, status))| *status == Status::Prefix);
        prefix.or(self.found.iter().next()).map(|(&tile, _)| tile)
    }
}

/// The history of one tile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileHistory {
    /// The block that scans it.
    pub block: u32,
    /// The steps before the first and with the last of each kind of work.
    pub work: BTreeMap<Work, (u32, u32)>,
    /// When its statuses were published.
    pub published: Vec<(u32, Status)>,
    /// The statuses that were read for it.
    pub window: Option<Window>,
    /// When the look-ahead warp passed the exclusive prefix to the team, if there is such a warp.
    pub prefix_passed: Option<u32>,
}

impl TileHistory {
    fn extend(&mut self, work: Work, now: u32) {
        let (from, to) = self.work.entry(work).or_insert((now, now));
        (*from, *to) = ((*from).min(now), now);
    }

    fn read(&mut self, tile: u32, status: Option<Status>, now: u32) {
        let window = self.window.get_or_insert_with(|| Window { from: now, found: BTreeMap::new() });
        if let Some(status) = status {
            window.found.entry(tile).or_insert((now, status));
        }
    }
}

/// A run, tile by tile. Time is counted in steps: accesses of threads, applications, beginnings and ends of copies.
/// Waits, and polls that find nothing, take no step. The emulator executes one thread at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileStates {
    /// The tiles.
    pub tiles: Vec<TileHistory>,
    /// All steps.
    pub steps: u32,
}

const TILES: u32 = 12;
/// Blocks that are resident at once with look-back, and blocks of look-ahead.
const RESIDENT: usize = 4;
const BLOCKS: u32 = 3;
/// Stages of the ring of each block of look-ahead.
const STAGES: u32 = 3;
/// The buffer of the statuses; the memory before has the tickets.
const STATUSES: &str = "workspace+256";

/// The status that a packet shows. The run is the first in its memory, so its epoch is 0; `None` for EMPTY.
fn status(bytes: &[u8]) -> Option<Status> {
    match bytes.last_chunk().map(|tag| u32::from_le_bytes(*tag)) {
        Some(1) => Some(Status::Aggregate),
        Some(2) => Some(Status::Prefix),
        _ => None,
    }
}

fn index(spot: &Spot) -> u32 {
    spot.index.unsigned_abs() as u32
}

impl TileStates {
    fn new(tiles: u32) -> Self {
        TileStates { tiles: vec![TileHistory::default(); tiles as usize], steps: 0 }
    }

    fn of(&mut self, tile: u32) -> &mut TileHistory {
        &mut self.tiles[tile as usize]
    }

    /// Counts an event that takes a step.
    fn step(&mut self, what: &What) -> u32 {
        self.steps += u32::from(match what {
            What::Wait { .. } => false,
            What::Load { spot, bytes } => spot.buffer == STATUSES && status(bytes).is_some(),
            _ => true,
        });
        self.steps
    }

    /// Twelve tiles, four blocks at once, by look-back.
    ///
    /// # Errors
    ///
    /// A fault of the kernels.
    pub fn of_look_back(seed: u64) -> Result<Self, EmulatorError> {
        let mut overrides = Overrides::default();
        let block = BlockScan::of(Network::WarpShuffle);
        overrides.strategy = Some(Strategy { block, carry: Carry::LookBack });
        overrides.threads = Some(32);
        let program = Program::new(ops::sum::<u32>(), ScanKind::Inclusive, None, &overrides)?;
        let (tile, events) = events(&program, &Emulator::new(seed).resident_blocks(RESIDENT))?;
        let mut states = TileStates::new(TILES);
        let mut of_block: BTreeMap<u32, u32> = BTreeMap::new();
        for event in &events {
            let (now, block) = (states.step(&event.what), event.place.block);
            if let What::Read { spot, .. } = &event.what
                && spot.buffer == "input"
            {
                of_block.insert(block, index(spot) / tile);
            }
            // Before it reads elements, a block only takes its ticket.
            let Some(&own) = of_block.get(&block) else { continue };
            let history = states.of(own);
            history.block = block;
            match &event.what {
                What::Read { spot, .. } if spot.buffer == "input" => history.extend(Work::Load, now),
                What::Write { spot, .. } if spot.buffer == "output" => history.extend(Work::Scan, now),
                What::Store { spot, bytes } if spot.buffer == STATUSES => {
                    history.published.extend(status(bytes).map(|status| (now, status)));
                }
                What::Load { spot, bytes } if spot.buffer == STATUSES => {
                    history.extend(Work::Look, now);
                    history.read(index(spot), status(bytes), now);
                }
                What::Apply { .. } if history.published.is_empty() => history.extend(Work::Fold, now),
                What::Apply { .. } if history.published.last().is_some_and(|last| last.1 == Status::Prefix) => {
                    history.extend(Work::Scan, now);
                }
                What::Apply { .. } => history.extend(Work::Look, now),
                _ => {}
            }
        }
        Ok(states)
    }

    /// Twelve tiles, three blocks of a team each, by look-ahead.
    ///
    /// # Errors
    ///
    /// A fault of the kernels.
    pub fn of_look_ahead(seed: u64) -> Result<Self, EmulatorError> {
        let mut overrides = Overrides::default();
        overrides.strategy = Some(LOOK_AHEAD);
        (overrides.threads, overrides.run, overrides.teams) = (Some(32), Some(4), Some(1));
        (overrides.stages, overrides.blocks, overrides.group) = (Some(STAGES), Some(BLOCKS), Some(1));
        let limits = DeviceLimits::H200;
        let program = Program::planned(ops::sum::<u32>(), ScanKind::Inclusive, None, &limits, &overrides)?;
        let (tile, events) = events(&program, &Emulator::new(seed).resident_blocks(BLOCKS as usize))?;
        let tile_of = |spot: &Spot| index(spot) / (4 * tile);
        let mut states = TileStates::new(TILES);
        (0..TILES).for_each(|tile| states.of(tile).block = tile % BLOCKS);
        // The tile in a stage of a block, and the tile that a thread scans.
        let mut in_stage: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut scanned: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for event in &events {
            let (now, block) = (states.step(&event.what), event.place.block);
            let here = |spot: &Spot| in_stage.get(&(block, index(spot))).copied();
            match &event.what {
                What::Copy { from, begun, .. } if from.buffer == "input" => {
                    let tile = tile_of(from);
                    states.of(tile).extend(Work::Load, now);
                    if *begun > 0 {
                        in_stage.insert((block, tile / BLOCKS % STAGES), tile);
                    }
                }
                What::Copy { to, .. } if to.buffer == "output" => states.of(tile_of(to)).extend(Work::Store, now),
                What::Wait { spot } if spot.buffer == "shared full" => {
                    here(spot).into_iter().for_each(|tile| states.of(tile).extend(Work::Fold, now));
                }
                What::Wait { spot } if spot.buffer == "shared prefix_ready" => {
                    if let Some(tile) = here(spot) {
                        scanned.insert((block, event.place.thread), tile);
                        states.of(tile).extend(Work::Scan, now);
                    }
                }
                What::Write { spot, .. } if spot.buffer == "shared dynamic_shared_memory" => {
                    let tile = scanned.get(&(block, event.place.thread)).copied();
                    tile.into_iter().for_each(|tile| states.of(tile).extend(Work::Scan, now));
                }
                What::Write { spot, .. } if spot.buffer == "shared exclusive_prefixes" => {
                    if let Some(tile) = here(spot) {
                        states.of(tile).prefix_passed = Some(now);
                        states.of(tile).extend(Work::Look, now);
                    }
                }
                What::Store { spot, bytes } if spot.buffer == STATUSES => {
                    let history = states.of(index(spot));
                    history.extend(Work::Fold, now);
                    history.published.extend(status(bytes).map(|status| (now, status)));
                }
                What::Load { spot, bytes } if spot.buffer == STATUSES => {
                    // A block folds each status once: for its first tile after the status's.
                    let tile = index(spot);
                    let reader = tile + 1 + (block + BLOCKS - (tile + 1) % BLOCKS) % BLOCKS;
                    states.of(reader).extend(Work::Look, now);
                    states.of(reader).read(tile, status(bytes), now);
                }
                _ => {}
            }
        }
        Ok(states)
    }
}

/// The elements of a tile, and the events of a run over whole tiles.
fn events(program: &Program<ops::Sum<u32>>, emulator: &Emulator) -> Result<(u32, Vec<Event>), EmulatorError> {
    let tile = program.plan.tile;
    let input: Vec<u32> = (0..TILES * tile).map(|index| index % 7).collect();
    // Threads take turns often, as side by side as one at a time can be.
    let run = program.clone().verify(&emulator.clone().interrupt_once_in(2).trace(), &input)?;
    Ok((tile, run.trace.unwrap_or_default().events))
}

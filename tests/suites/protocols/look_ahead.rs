//! Look-ahead inside a block: the ring of stages, and the places of exclusive prefixes. Models
//! `templates/kernel/pipeline/look_ahead.cu.tera`, `team.cu.tera` (`fold_tile`), `scan_tile.cu.tera` and
//! `copy.cu.tera`, with one team.
//!
//! The team has two warps of one lane here: the first one publishes, both scan. The copy warp and the look-ahead warp
//! have one lane, too. What the look-ahead warp folds is known here; [`between_blocks`] has the statuses. A barrier
//! that is left out (`edges_done`, `aggregates_ready`, `inputs_read`, `results_ready`) only takes orders away: what
//! holds without it holds with it.
//!
//! Not modelled: that bulk copies are accesses of another proxy, which `fence_for_copies` and the barrier's bytes
//! order. Here the copy warp reads and writes the stage itself.

use std::{array, ops::Range, sync::Arc};

use loom::thread;

use crate::{
    explore::{Switches, VALUE, Wrong, every_order, is_found, poll_again},
    intrinsics::{Barrier, Memory},
    status::{AGGREGATE, EMPTY, Interval, Loaded, TileStatus, status_of},
};

const EPOCH: u32 = 1;
const TEAMS: usize = 1;
const TEAM_WARPS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// A team warp arrives at `drained` before it reads its exclusive prefix and writes its result.
    DrainedBeforeReading,
    /// The first warp arrives at `drained` for the other one, which is not asked.
    OneArrivesForAll,
    /// Arrivals release nothing.
    RelaxedArrivals,
    /// The look-ahead warp does not wait until the prefix of the stage's last tile has been read.
    PublishedNotAwaited,
    /// It always waits for a phase of parity 0.
    ParityNotFlipped,
    /// It arrives before it writes the prefix.
    ReadyBeforeWriting,
    /// The copy warp does not wait until a stage is drained.
    DrainedNotAwaited,
}

/// The exclusive prefix of a tile.
fn prefix_of(tile_index: usize) -> Option<Interval> {
    (tile_index > 0).then_some(Interval { first: 0, end: tile_index as u32 })
}

struct Block<const STAGES: usize, const TILES: usize> {
    full: [Barrier; STAGES],
    published: [Barrier; STAGES],
    prefix_ready: [Barrier; STAGES],
    drained: [Barrier; STAGES],
    exclusive_prefixes: [Memory<Option<Interval>>; STAGES],
    /// An element of each team warp, later its result.
    stages: [[Memory<u32>; TEAM_WARPS]; STAGES],
    fault: Fault,
}

impl<const STAGES: usize, const TILES: usize> Block<STAGES, TILES> {
    fn new(fault: Fault) -> Arc<Self> {
        let barriers = |arrivals| array::from_fn(|_| Barrier::new(arrivals));
        Arc::new(Block {
            full: barriers(1),
            published: barriers(1),
            prefix_ready: barriers(1),
            drained: barriers(TEAM_WARPS),
            exclusive_prefixes: array::from_fn(|_| Memory::new(None)),
            stages: array::from_fn(|_| array::from_fn(|_| Memory::new(0))),
            fault,
        })
    }

    fn arrive(&self, barrier: &Barrier) {
        if self.fault == Fault::RelaxedArrivals { barrier.arrive_relaxed() } else { barrier.arrive() }
    }

    fn load_stage(&self, tile_index: usize) {
        let stage = tile_index % STAGES;
        self.stages[stage].iter().for_each(|element| element.write(tile_index as u32));
        self.arrive(&self.full[stage]);
    }

    fn copy_warp(&self) {
        (0..STAGES.min(TILES)).for_each(|tile_index| self.load_stage(tile_index));
        for iteration in 0..TILES {
            let stage = iteration % STAGES;
            if self.fault != Fault::DrainedNotAwaited {
                self.drained[stage].wait(iteration / STAGES % 2);
            }
            if iteration > 0 && iteration + STAGES - 1 < TILES {
                self.load_stage(iteration + STAGES - 1);
            }
            for result in &self.stages[stage] {
                assert_eq!(result.read(), 100 + iteration as u32, "{VALUE}: the result that is copied out");
            }
        }
    }

    fn look_ahead_warp(&self) {
        for iteration in 0..TILES {
            let (stage, parity) = (iteration % STAGES, iteration / STAGES % 2);
            let prefix = prefix_of(iteration);
            match self.fault {
                Fault::PublishedNotAwaited => {}
                Fault::ParityNotFlipped => self.published[stage].wait(0),
                _ => self.published[stage].wait(parity),
            }
            if self.fault == Fault::ReadyBeforeWriting {
                self.arrive(&self.prefix_ready[stage]);
                self.exclusive_prefixes[stage].write(prefix);
            } else {
                self.exclusive_prefixes[stage].write(prefix);
                self.arrive(&self.prefix_ready[stage]);
            }
        }
    }

    fn team_warp(&self, warp: usize) {
        for iteration in 0..TILES + TEAMS {
            if iteration < TILES {
                let stage = iteration % STAGES;
                self.full[stage].wait(iteration / STAGES % 2);
                assert_eq!(self.stages[stage][warp].read(), iteration as u32, "{VALUE}: the element");
                if warp == 0 {
                    self.arrive(&self.published[stage]);
                }
            }
            if iteration >= TEAMS {
                self.scan_tile(warp, iteration - TEAMS);
            }
        }
    }

    fn scan_tile(&self, warp: usize, iteration: usize) {
        let (stage, parity) = (iteration % STAGES, iteration / STAGES % 2);
        let drain = || match (self.fault, warp) {
            (Fault::OneArrivesForAll, 0) => (0..TEAM_WARPS).for_each(|_| self.arrive(&self.drained[stage])),
            (Fault::OneArrivesForAll, _) => {}
            _ => self.arrive(&self.drained[stage]),
        };
        if self.fault == Fault::DrainedBeforeReading {
            drain();
        }
        self.prefix_ready[stage].wait(parity);
        assert_eq!(self.exclusive_prefixes[stage].read(), prefix_of(iteration), "{VALUE}: the exclusive prefix");
        self.stages[stage][warp].write(100 + iteration as u32);
        if self.fault != Fault::DrainedBeforeReading {
            drain();
        }
    }
}

/// All warps of a block.
fn block<const STAGES: usize, const TILES: usize>(fault: Fault) {
    let block = Block::<STAGES, TILES>::new(fault);
    let warps: [fn(&Block<STAGES, TILES>); 3] =
        [Block::look_ahead_warp, |block| block.team_warp(0), |block| block.team_warp(1)];
    let warps = warps.map(|warp| {
        let block = block.clone();
        thread::spawn(move || warp(&block))
    });
    block.copy_warp();
    warps.into_iter().for_each(|warp| warp.join().unwrap());
}

/// Stages that one team needs: two for each, and one that is filled meanwhile.
const MIN_STAGES: usize = 2 * TEAMS + 1;

/// Tiles of which the last one uses a stage again: the place of its prefix has been written before.
const TILES: usize = MIN_STAGES + 1;

#[test]
fn each_warp_reads_the_prefix_of_its_tile() {
    // With two switches it takes longer than minutes.
    every_order(Switches::Bounded(1, 1), || block::<MIN_STAGES, TILES>(Fault::None));
}

#[test]
fn faults_are_found() {
    // A place that is read too early, or written, has the old value or is read while it is written.
    let found = |fault| {
        let wrong = [Wrong::Race, Wrong::Value];
        is_found(wrong, Switches::Bounded(1, 2), move || block::<MIN_STAGES, TILES>(fault));
    };
    found(Fault::DrainedBeforeReading);
    found(Fault::OneArrivesForAll);
    found(Fault::RelaxedArrivals);
    found(Fault::PublishedNotAwaited);
    found(Fault::ParityNotFlipped);
    found(Fault::ReadyBeforeWriting);
    found(Fault::DrainedNotAwaited);
}

/// With one stage less, a team that publishes the next tile before it scans this one waits for ever.
#[test]
fn one_stage_less_is_found() {
    is_found(Wrong::Hang, Switches::Bounded(1, 2), || block::<{ MIN_STAGES - 1 }, TILES>(Fault::None));
}

/// Statuses of several blocks, which the look-ahead warp of each folds in the order of the tiles.
mod between_blocks {
    use super::*;

    const BLOCKS: usize = 2;
    const TILES: usize = 4;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Fault {
        None,
        /// Statuses that were prefetched are folded as they were then.
        PrefetchedNotPolled,
    }

    type Statuses = [TileStatus<2>; TILES];

    /// Publishes the tiles of a block. Nothing of other blocks holds it back.
    fn teams(statuses: &Statuses, block_index: usize) {
        for tile_index in (block_index..TILES).step_by(BLOCKS) {
            statuses[tile_index].publish(Interval::of_tile(tile_index), AGGREGATE, EPOCH);
        }
    }

    /// Folds windows of two statuses, the next of which is loaded before this one is folded.
    fn look_ahead_warp(statuses: &Statuses, block_index: usize, fault: Fault) {
        let mut prefix = None;
        let mut folded = 0;
        let mut prefetched = None;
        for tile_index in (block_index..TILES).step_by(BLOCKS) {
            while folded < tile_index {
                let window = folded..tile_index.min(folded + 2);
                let mut loaded = prefetched.take().unwrap_or_else(|| load_statuses(statuses, window.clone()));
                if fault != Fault::PrefetchedNotPolled {
                    wait_for_window(statuses, window.clone(), &mut loaded);
                }
                folded = window.end;
                let end = if folded < tile_index { tile_index } else { tile_index + BLOCKS };
                prefetched = (end < TILES).then(|| load_statuses(statuses, folded..end.min(folded + 2)));
                for status in &loaded {
                    prefix = Interval::append(prefix, status_of(status, EPOCH).1);
                }
            }
            assert_eq!(prefix, prefix_of(tile_index), "{VALUE}: the exclusive prefix");
        }
    }

    fn load_statuses(statuses: &Statuses, window: Range<usize>) -> Vec<Loaded<2>> {
        statuses[window].iter().map(TileStatus::load).collect()
    }

    fn wait_for_window(statuses: &Statuses, window: Range<usize>, loaded: &mut Vec<Loaded<2>>) {
        let mut vain_polls = 0;
        while loaded.iter().any(|status| status_of(status, EPOCH).0 == EMPTY) {
            poll_again(&mut vain_polls, false);
            *loaded = load_statuses(statuses, window.clone());
        }
    }

    /// The teams of both blocks, and the look-ahead warp of one, which nobody else waits for.
    fn blocks(block_index: usize, fault: Fault) {
        let statuses: Arc<Statuses> = Arc::new(array::from_fn(|_| TileStatus::new()));
        let others: [fn(&Statuses, usize, Fault); 2] = [
            |statuses, _, _| teams(statuses, 1),
            |statuses, block_index, fault| look_ahead_warp(statuses, block_index, fault),
        ];
        let others = others.map(|other| {
            let statuses = statuses.clone();
            thread::spawn(move || other(&statuses, block_index, fault))
        });
        teams(&statuses, 0);
        others.into_iter().for_each(|other| other.join().unwrap());
    }

    #[test]
    fn each_block_folds_all_tiles_in_order() {
        for block_index in 0..BLOCKS {
            every_order(Switches::Bounded(1, 2), move || blocks(block_index, Fault::None));
        }
    }

    #[test]
    fn a_fault_is_found() {
        is_found(Wrong::Value, Switches::Bounded(1, 2), || blocks(1, Fault::PrefetchedNotPolled));
    }
}

/// Lanes of the look-ahead warp that part: each waits for `published` itself, and the first one alone passes the prefix
/// on. They meet when they shuffle, to fold the window of the next tile.
mod lanes {
    use super::*;

    struct Block<const STAGES: usize> {
        published: [Barrier; STAGES],
        prefix_ready: [Barrier; STAGES],
        shuffle: Barrier,
    }

    fn lane<const STAGES: usize>(block: &Block<STAGES>, lane: usize) {
        for iteration in 0..TILES {
            let (stage, parity) = (iteration % STAGES, iteration / STAGES % 2);
            if iteration > 0 {
                block.shuffle.arrive_relaxed();
                block.shuffle.wait_relaxed((iteration - 1) % 2);
            }
            block.published[stage].wait(parity);
            if lane == 0 {
                block.prefix_ready[stage].arrive();
            }
        }
    }

    fn team<const STAGES: usize>(block: &Block<STAGES>) {
        for iteration in 0..TILES + TEAMS {
            if iteration < TILES {
                block.published[iteration % STAGES].arrive();
            }
            if let Some(scanned) = iteration.checked_sub(TEAMS) {
                block.prefix_ready[scanned % STAGES].wait(scanned / STAGES % 2);
            }
        }
    }

    fn block<const STAGES: usize>() {
        let barriers = || array::from_fn(|_| Barrier::new(1));
        let block =
            Arc::new(Block::<STAGES> { published: barriers(), prefix_ready: barriers(), shuffle: Barrier::new(2) });
        let lanes = [0, 1].map(|index| {
            let block = block.clone();
            thread::spawn(move || lane(&block, index))
        });
        team(&block);
        lanes.into_iter().for_each(|lane| lane.join().unwrap());
    }

    /// No tile of the same stage can be published before the lanes have met: that takes a prefix of the next iteration.
    #[test]
    fn lanes_that_part_wait_for_the_right_phase() {
        every_order(Switches::Bounded(1, 2), block::<MIN_STAGES>);
        is_found(Wrong::Hang, Switches::Bounded(1, 2), block::<{ MIN_STAGES - 1 }>);
    }
}

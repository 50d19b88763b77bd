//! Look-ahead warps round-robin. Models `templates/kernel/pipeline/look_ahead_round_robin.cu.tera`: several warps take
//! the iterations round-robin, each folds the statuses of its own, waits for the prefix of the one before and passes
//! its own on through `exclusive_prefixes`, from which the team reads, too.
//!
//! The team is one thread, which stands for the chain of `drained`, `full` and `published`: it publishes a tile that
//! uses a stage again only after it has scanned the tile before it there ([`look_ahead`](crate::look_ahead) has the
//! chain). The first warp has one or two lanes, a thread each: they wait for mbarriers on their own, meet where they
//! shuffle, which orders no memory, and at `__syncwarp`. The other warps have one lane.

use std::{array, sync::Arc};

use loom::thread;

use crate::{
    explore::{Switches, VALUE, Wrong, every_order, is_found},
    intrinsics::{Barrier, Memory},
    status::{AGGREGATE, Interval, TileStatus},
};

const EPOCH: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// A warp does not wait for the prefix of the iteration before.
    PreviousNotAwaited,
    /// A warp waits for the phase of its own stage's parity, not of the one before.
    ParityOfOwnStage,
    /// A warp arrives before it reads the previous prefix.
    ArrivesBeforeReading,
    /// A warp does not wait until its tile is published, and so until the stage's last prefix has been read.
    PublishedNotAwaited,
}

/// Which lanes read the previous prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Readers {
    /// Lane 0, as once.
    First,
    /// Lane 0, and all lanes have met after their waits, as now.
    FirstAfterAllMeet,
    /// All, which meet before lane 0 writes the next one, as once.
    AllThenMeet,
    /// All, which meet after lane 0 has arrived, as before that.
    AllMeetLater,
}

#[derive(Clone, Copy)]
struct Shape {
    lanes: usize,
    readers: Readers,
    /// The block is not the first one: its warps fold tiles of other blocks before its first tile.
    folds_at_first: bool,
    fault: Fault,
}

/// What the kernel has, with lanes that do not part.
const NOW: Shape = Shape { lanes: 1, readers: Readers::FirstAfterAllMeet, folds_at_first: true, fault: Fault::None };

/// Two lanes.
const fn two_lanes(readers: Readers, folds_at_first: bool) -> Shape {
    Shape { lanes: 2, readers, folds_at_first, fault: Fault::None }
}

struct Block<const WARPS: usize, const STAGES: usize, const TILES: usize> {
    published: [Barrier; STAGES],
    prefix_ready: [Barrier; STAGES],
    exclusive_prefixes: [Memory<Option<Interval>>; STAGES],
    statuses: [TileStatus<1>; TILES],
    /// Where the lanes of the first warp meet.
    syncwarp: Barrier,
    shuffle: Barrier,
    shape: Shape,
}

impl<const WARPS: usize, const STAGES: usize, const TILES: usize> Block<WARPS, STAGES, TILES> {
    fn new(shape: Shape) -> Arc<Self> {
        Arc::new(Block {
            published: array::from_fn(|_| Barrier::new(1)),
            prefix_ready: array::from_fn(|_| Barrier::new(1)),
            exclusive_prefixes: array::from_fn(|_| Memory::new(None)),
            statuses: array::from_fn(|_| TileStatus::new()),
            syncwarp: Barrier::new(shape.lanes),
            shuffle: Barrier::new(shape.lanes),
            shape,
        })
    }

    fn look_ahead_warp(&self, turn: usize, lane: usize) {
        let Shape { readers, fault, folds_at_first, lanes } = self.shape;
        let part = turn == 0 && lanes > 1;
        let mut shuffles = 0;
        for (visit, iteration) in (turn..TILES).step_by(WARPS).enumerate() {
            let (stage, parity) = (iteration % STAGES, iteration / STAGES % 2);
            let syncwarp = || {
                if part {
                    self.syncwarp.arrive();
                    self.syncwarp.wait(visit % 2);
                }
            };
            if fault != Fault::PublishedNotAwaited {
                self.published[stage].wait(parity);
            }
            let between = (iteration > 0).then(|| self.statuses[iteration - 1].wait(EPOCH).1);
            if part && (iteration > 0 || folds_at_first) {
                self.shuffle.arrive_relaxed();
                self.shuffle.wait_relaxed(shuffles % 2);
                shuffles += 1;
            }
            let mut prefix = None;
            if let Some(previous) = iteration.checked_sub(1) {
                match fault {
                    Fault::PreviousNotAwaited => {}
                    Fault::ParityOfOwnStage => self.prefix_ready[previous % STAGES].wait(parity),
                    _ => self.prefix_ready[previous % STAGES].wait(previous / STAGES % 2),
                }
                if fault == Fault::ArrivesBeforeReading {
                    self.prefix_ready[stage].arrive();
                }
                if readers == Readers::FirstAfterAllMeet {
                    syncwarp();
                }
                if lane == 0 || [Readers::AllThenMeet, Readers::AllMeetLater].contains(&readers) {
                    prefix = self.exclusive_prefixes[previous % STAGES].read();
                }
            } else if readers == Readers::FirstAfterAllMeet {
                syncwarp();
            }
            if readers == Readers::AllThenMeet {
                syncwarp();
            }
            if lane == 0 {
                if let Some(between) = between {
                    prefix = Interval::append(prefix, between);
                }
                self.exclusive_prefixes[stage].write(prefix);
                if fault != Fault::ArrivesBeforeReading || iteration == 0 {
                    self.prefix_ready[stage].arrive();
                }
            }
            if [Readers::First, Readers::AllMeetLater].contains(&readers) {
                syncwarp();
            }
        }
    }

    fn team(&self) {
        for iteration in 0..=TILES {
            if iteration < TILES {
                self.statuses[iteration].publish(Interval::of_tile(iteration), AGGREGATE, EPOCH);
                self.published[iteration % STAGES].arrive();
            }
            if iteration >= 1 {
                let (tile, stage) = (iteration - 1, (iteration - 1) % STAGES);
                self.prefix_ready[stage].wait(tile / STAGES % 2);
                let before = (tile > 0).then_some(Interval { first: 0, end: tile as u32 });
                assert_eq!(self.exclusive_prefixes[stage].read(), before, "{VALUE}: the exclusive prefix");
            }
        }
    }
}

/// The warps of a block.
fn block<const WARPS: usize, const STAGES: usize, const TILES: usize>(shape: Shape) {
    let block = Block::<WARPS, STAGES, TILES>::new(shape);
    let warp = |(turn, lane)| {
        let block = block.clone();
        thread::spawn(move || block.look_ahead_warp(turn, lane))
    };
    let first = (0..shape.lanes).map(|lane| (0, lane));
    let warps: Vec<_> = first.chain((1..WARPS).map(|turn| (turn, 0))).map(warp).collect();
    block.team();
    warps.into_iter().for_each(|warp| warp.join().unwrap());
}

#[test]
fn each_prefix_is_passed_on() {
    every_order(Switches::Bounded(2, 3), || block::<2, 3, 4>(NOW));
    every_order(Switches::Bounded(1, 2), || block::<3, 3, 5>(NOW));
}

#[test]
fn faults_are_found() {
    let found =
        |wrong, fault| is_found(wrong, Switches::Bounded(2, 3), move || block::<2, 3, 4>(Shape { fault, ..NOW }));
    found(Wrong::Race, Fault::PreviousNotAwaited);
    found(Wrong::Race, Fault::ParityOfOwnStage);
    found(Wrong::Race, Fault::ArrivesBeforeReading);
    found(Wrong::Race, Fault::PublishedNotAwaited);
}

/// With more warps than stages, a warp waits for a phase that is two before its own and has the same parity.
#[test]
fn more_warps_than_stages_are_found() {
    is_found(Wrong::Race, Switches::Bounded(2, 3), || block::<3, 2, 4>(NOW));
}

/// Reads of the previous prefix by all lanes of a warp are ordered before the place is written again if the lanes meet
/// before the first one arrives. Racecheck reports these reads nevertheless: it follows the arrivals of each thread,
/// not what `__syncwarp` orders.
#[test]
fn lanes_that_read_the_previous_prefix_must_meet_before_the_first_one_arrives() {
    every_order(Switches::Bounded(0, 1), || block::<2, 3, 4>(two_lanes(Readers::First, true)));
    every_order(Switches::Bounded(0, 1), || block::<2, 3, 4>(two_lanes(Readers::AllThenMeet, true)));
    is_found(Wrong::Race, Switches::Bounded(1, 2), || block::<2, 2, 4>(two_lanes(Readers::AllMeetLater, true)));
}

/// CUDA does not promise that the lanes of a warp leave a wait together. If one stays in it, the phase that it waits
/// for may be followed by the next one of the stage, whose parity is the other one, and it waits for ever. The wait for
/// `published` allowed that in the first iteration of the first block, which folds no window and so does not shuffle.
/// The kernel has a `__syncwarp` between the waits and the arrival.
#[test]
fn lanes_that_part_must_meet_between_their_waits_and_the_arrival() {
    is_found(Wrong::Hang, Switches::Bounded(1, 2), || block::<2, 3, 4>(two_lanes(Readers::First, false)));
    every_order(Switches::Bounded(0, 1), || block::<2, 3, 4>(two_lanes(Readers::FirstAfterAllMeet, false)));
}

//! Groups of blocks. Models `templates/kernel/pipeline/look_ahead_of_groups.cu.tera`: two group warps fold the statuses
//! of tiles and of groups, and pass their parts to the look-ahead warp through two slots each.
//!
//! The warps have one lane here. The statuses of tiles, and those of other groups, are published before; the aggregate
//! of the block's own group is published by its warp for tiles and polled by its warp for groups.

use std::{array, ops::Range, sync::Arc};

use loom::thread;

use crate::{
    explore::{Switches, VALUE, Wrong, every_order, is_found},
    intrinsics::{Barrier, Memory},
    status::{AGGREGATE, Interval, TileStatus},
};

const EPOCH: u32 = 1;
const BLOCKS: usize = 4;
const GROUP: usize = 2;
const GROUPS_OF_BLOCKS: usize = BLOCKS / GROUP;
const ITERATIONS: usize = 3;
const ALL_TILES: usize = BLOCKS * ITERATIONS;
const STATUSES: usize = ALL_TILES + GROUPS_OF_BLOCKS * ITERATIONS;

const TILES: usize = 0;
const GROUPS: usize = 1;
const PARTS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// A group warp does not wait until the look-ahead warp has read its last part of the slot.
    EmptyNotAwaited,
    /// It waits for the phase of the part that it is about to write.
    ParityOfNextPart,
    /// It arrives before it writes the part.
    FullBeforeWriting,
    /// The look-ahead warp arrives before it reads a part.
    EmptyBeforeReading,
    /// The aggregate of a group is published without its last tile.
    GroupWithoutLastTile,
}

/// A block of a grid.
struct Block {
    group: usize,
    place_in_group: usize,
    part_full: [[Barrier; PARTS]; 2],
    part_empty: [[Barrier; PARTS]; 2],
    part_aggregates: [[Memory<Option<Interval>>; PARTS]; 2],
    statuses: [TileStatus<1>; STATUSES],
    fault: Fault,
}

impl Block {
    fn new(block_index: usize, fault: Fault) -> Arc<Self> {
        let barriers = || array::from_fn(|_| array::from_fn(|_| Barrier::new(1)));
        let statuses = array::from_fn(|_| TileStatus::new());
        let (group, place_in_group) = (block_index / GROUP, block_index % GROUP);
        let part_aggregates = array::from_fn(|_| array::from_fn(|_| Memory::new(None)));
        let block = Block {
            group,
            place_in_group,
            part_full: barriers(),
            part_empty: barriers(),
            part_aggregates,
            statuses,
            fault,
        };
        for tile_index in 0..ALL_TILES {
            block.statuses[tile_index].publish(Interval::of_tile(tile_index), AGGREGATE, EPOCH);
        }
        for index in (0..STATUSES - ALL_TILES).filter(|index| index % GROUPS_OF_BLOCKS != group || !block.publishes()) {
            let first = (index * GROUP) as u32;
            let aggregate = Interval { first, end: first + GROUP as u32 };
            block.statuses[ALL_TILES + index].publish(aggregate, AGGREGATE, EPOCH);
        }
        Arc::new(block)
    }

    /// The last block of a group publishes its aggregate.
    fn publishes(&self) -> bool {
        self.place_in_group == GROUP - 1
    }

    /// The first iteration with groups to fold.
    fn first_with_groups(&self) -> usize {
        usize::from(self.group == 0)
    }

    fn tile_index(&self, iteration: usize) -> usize {
        self.group * GROUP + self.place_in_group + iteration * BLOCKS
    }

    /// The statuses that a group warp folds in an iteration.
    fn folded(&self, kind: usize, iteration: usize) -> Range<usize> {
        let tile_index = self.tile_index(iteration);
        if kind == TILES {
            return tile_index - self.place_in_group..tile_index + usize::from(self.publishes());
        }
        let first = if iteration == 0 { 0 } else { self.group + (iteration - 1) * GROUPS_OF_BLOCKS };
        ALL_TILES + first..ALL_TILES + self.group + iteration * GROUPS_OF_BLOCKS
    }

    fn group_warp(&self, kind: usize) {
        let first_iteration = if kind == TILES { 0 } else { self.first_with_groups() };
        for iteration in first_iteration..ITERATIONS {
            let folded = self.folded(kind, iteration);
            if folded.is_empty() {
                return;
            }
            let preceding = if kind == TILES { self.place_in_group } else { folded.len() };
            let mut aggregate = None;
            let mut of_preceding = None;
            for (place, status) in self.statuses[folded].iter().enumerate() {
                aggregate = Interval::append(aggregate, status.wait(EPOCH).1);
                if place + 1 == preceding {
                    of_preceding = aggregate;
                }
            }
            if kind == TILES && self.publishes() {
                let of_group = if self.fault == Fault::GroupWithoutLastTile { of_preceding } else { aggregate };
                let status = &self.statuses[ALL_TILES + self.group + iteration * GROUPS_OF_BLOCKS];
                status.publish(of_group.unwrap(), AGGREGATE, EPOCH);
            }
            if preceding > 0 {
                let sequence = iteration - first_iteration;
                let slot = sequence % PARTS;
                if sequence >= PARTS {
                    match self.fault {
                        Fault::EmptyNotAwaited => {}
                        Fault::ParityOfNextPart => self.part_empty[kind][slot].wait(sequence / PARTS % 2),
                        _ => self.part_empty[kind][slot].wait((sequence / PARTS - 1) % 2),
                    }
                }
                if self.fault == Fault::FullBeforeWriting {
                    self.part_full[kind][slot].arrive();
                }
                self.part_aggregates[kind][slot].write(of_preceding);
                if self.fault != Fault::FullBeforeWriting {
                    self.part_full[kind][slot].arrive();
                }
            }
        }
    }

    /// The part of a group warp.
    fn take(&self, kind: usize, sequence: usize) -> Interval {
        let slot = sequence % PARTS;
        self.part_full[kind][slot].wait(sequence / PARTS % 2);
        if self.fault == Fault::EmptyBeforeReading {
            self.part_empty[kind][slot].arrive();
        }
        let part = self.part_aggregates[kind][slot].read();
        if self.fault != Fault::EmptyBeforeReading {
            self.part_empty[kind][slot].arrive();
        }
        part.unwrap()
    }

    fn look_ahead_warp(&self) {
        let mut prefix = None;
        for iteration in 0..ITERATIONS {
            if iteration >= self.first_with_groups() {
                prefix = Interval::append(prefix, self.take(GROUPS, iteration - self.first_with_groups()));
            }
            let mut of_tile = prefix;
            if self.place_in_group > 0 {
                of_tile = Interval::append(of_tile, self.take(TILES, iteration));
            }
            let tile_index = self.tile_index(iteration) as u32;
            let before = (tile_index > 0).then_some(Interval { first: 0, end: tile_index });
            assert_eq!(of_tile, before, "{VALUE}: the exclusive prefix");
        }
    }
}

/// The group warps and the look-ahead warp of a block.
fn block(block_index: usize, fault: Fault) {
    let block = Block::new(block_index, fault);
    let group_warps = [TILES, GROUPS].map(|kind| {
        let block = block.clone();
        thread::spawn(move || block.group_warp(kind))
    });
    block.look_ahead_warp();
    group_warps.into_iter().for_each(|warp| warp.join().unwrap());
}

#[test]
fn parts_make_the_prefix_of_each_tile() {
    for block_index in 0..BLOCKS {
        every_order(Switches::Bounded(1, 2), move || block(block_index, Fault::None));
    }
}

#[test]
fn faults_are_found() {
    let found = |wrong, fault| is_found(wrong, Switches::Bounded(1, 2), move || block(BLOCKS - 1, fault));
    found(Wrong::Race, Fault::EmptyNotAwaited);
    found(Wrong::Race, Fault::ParityOfNextPart);
    found(Wrong::Race, Fault::FullBeforeWriting);
    found(Wrong::Race, Fault::EmptyBeforeReading);
    found(Wrong::Value, Fault::GroupWithoutLastTile);
}

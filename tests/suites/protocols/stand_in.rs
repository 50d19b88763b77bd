//! The stand-in of look-ahead. Models `stand_in_for_blocks` of `templates/kernel/pipeline/stand_in.cu.tera`, called by
//! `templates/kernel/pipeline/look_ahead.cu.tera`, and the ticket that each block takes in
//! `templates/kernel/pipeline/kernel.cu.tera`.
//!
//! Tile `i` is of block `i % BLOCKS`. The team and the look-ahead warp of a block are a thread each, or one thread. A
//! poll of the tickets that finds blocks missing may be the last one (`has_waited_long`): both are explored.

use std::{array, sync::Arc};

use loom::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
};

use crate::{
    explore::{Switches, VALUE, Wrong, every_order, is_found},
    intrinsics::{Memory, take_number},
    status::{AGGREGATE, EMPTY, Interval, TileStatus, tag_of},
};

const EPOCH: u32 = 1;
const BLOCKS: usize = 2;
const TILES: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The look-ahead warp folds at once.
    NobodyStandsIn,
    /// The stand-in folds a tile in a grouping of its own: other bits.
    OtherGrouping,
    /// It stands in although results overwrite elements.
    InPlace,
    /// Each lane looks at the tickets itself, without a shuffle.
    LanesDecide,
}

struct Scan {
    tickets: AtomicU64,
    statuses: [TileStatus<2>; TILES],
    elements: [Memory<u32>; TILES],
    in_place: bool,
    fault: Fault,
}

/// The words of a tile's aggregate: two parts of one rounded number. Parts of two roundings make no number.
fn aggregate(tile: u32, rounding: u32) -> [u32; 2] {
    [10 * tile + rounding, 100 * tile + rounding]
}

impl Scan {
    fn new(in_place: bool, fault: Fault) -> Arc<Self> {
        Arc::new(Scan {
            tickets: AtomicU64::new(u64::from(EPOCH) << 32),
            statuses: array::from_fn(|_| TileStatus::new()),
            elements: array::from_fn(|tile| Memory::new(tile as u32)),
            in_place,
            fault,
        })
    }

    /// Takes the ticket, before the warps of the block part.
    fn begin(&self) {
        let ticket = take_number(&self.tickets);
        assert_eq!(ticket >> 32, u64::from(EPOCH), "{VALUE}: the epoch");
        if ticket as u32 as usize == BLOCKS - 1 {
            self.tickets.store(u64::from(EPOCH + 1) << 32, Relaxed);
        }
    }

    /// A team publishes the aggregate of a tile, and scans it.
    fn team(&self, tile_index: usize) {
        let element = self.elements[tile_index].read();
        self.statuses[tile_index].publish_words(aggregate(element, 1), tag_of(EPOCH, AGGREGATE));
        if self.in_place {
            self.elements[tile_index].write(77);
        }
    }

    fn stand_in_for_blocks(&self) {
        let all_have_started = || self.tickets.load(Relaxed) >> 32 != u64::from(EPOCH);
        for tile_index in 0..TILES - 1 {
            let lanes = [all_have_started(), all_have_started()];
            if self.fault == Fault::LanesDecide {
                assert_eq!(lanes[0], lanes[1], "{VALUE}: lanes of a warp part before a shuffle");
            }
            if lanes[0] {
                return;
            }
            if self.statuses[tile_index].poll(EPOCH).0 == EMPTY {
                let rounding = if self.fault == Fault::OtherGrouping { 2 } else { 1 };
                let words = aggregate(self.elements[tile_index].read(), rounding);
                self.statuses[tile_index].publish_words(words, tag_of(EPOCH, AGGREGATE));
            }
        }
    }

    /// Folds what is before the last tile of the block.
    fn look_ahead(&self, block_index: usize) {
        let overlaps = self.in_place && self.fault != Fault::InPlace;
        if !overlaps && self.fault != Fault::NobodyStandsIn {
            self.stand_in_for_blocks();
        }
        let last = (block_index..TILES).step_by(BLOCKS).next_back().unwrap();
        for tile_index in 0..last {
            let (_, Interval { first, end }) = self.statuses[tile_index].wait(EPOCH);
            let published = [1, 2].map(|rounding| aggregate(tile_index as u32, rounding));
            assert!(published.contains(&[first, end]), "{VALUE}: parts of two aggregates: {first} and {end}");
        }
    }

    /// A block in one thread. Its team publishes every tile before the look-ahead warp folds, or after it has stood in.
    fn block(&self, block_index: usize) {
        self.begin();
        (block_index..TILES).step_by(BLOCKS).for_each(|tile_index| self.team(tile_index));
        self.look_ahead(block_index);
    }
}

/// A place for one block: the second one starts when the first one has ended.
fn one_place(order: [usize; 2], fault: Fault) {
    let scan = Scan::new(false, fault);
    order.iter().for_each(|block| scan.block(*block));
}

/// A place for each block; block 1 has a thread for its team and one for its look-ahead warp.
fn two_places(in_place: bool, fault: Fault) {
    let scan = Scan::new(in_place, fault);
    let other = scan.clone();
    let block_0 = thread::spawn(move || other.block(0));
    scan.begin();
    let team = scan.clone();
    let team = thread::spawn(move || team.team(1));
    scan.look_ahead(1);
    team.join().unwrap();
    block_0.join().unwrap();
}

#[test]
fn no_block_waits_for_one_that_has_not_started() {
    for order in [[0, 1], [1, 0]] {
        every_order(Switches::Any, move || one_place(order, Fault::None));
    }
    is_found(Wrong::Hang, Switches::Any, || one_place([1, 0], Fault::NobodyStandsIn));
}

#[test]
fn a_tile_that_two_publish_is_the_same() {
    every_order(Switches::Bounded(1, 2), || two_places(false, Fault::None));
    is_found(Wrong::Value, Switches::Bounded(1, 2), || two_places(false, Fault::OtherGrouping));
}

#[test]
fn in_place_nothing_stands_in() {
    every_order(Switches::Bounded(1, 2), || two_places(true, Fault::None));
    is_found(Wrong::Race, Switches::Bounded(1, 2), || two_places(true, Fault::InPlace));
}

#[test]
fn lanes_that_decide_alone_are_found() {
    is_found(Wrong::Value, Switches::Bounded(1, 2), || two_places(false, Fault::LanesDecide));
}

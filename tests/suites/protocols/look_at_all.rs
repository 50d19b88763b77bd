//! Look-at-all. Models `exclusive_prefix`, `look_at_all` and `takes_tickets` of `templates/carry/look_at_all.cu.tera`
//! without segments: a block whose tile is that of its index computes the aggregates of tiles that stay unpublished
//! itself, because their blocks may not have started. Where results overwrite elements it must not, and tiles are
//! numbered by tickets.
//!
//! A poll that fails may be the last one (`has_waited_long`): both are explored. Elements are plain memory.

use std::{array, sync::Arc};

use loom::{sync::atomic::AtomicU64, thread};

use crate::{
    explore::{Switches, VALUE, Wrong, every_order, is_found},
    intrinsics::{Memory, take_number},
    status::{AGGREGATE, EMPTY, Interval, TileStatus},
};

const EPOCH: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// In place, and yet tiles are those of the blocks' indices.
    NoTickets,
    /// Not in place, and a block waits for ever.
    WaitsForEver,
}

struct Scan<const TILES: usize> {
    tickets: AtomicU64,
    statuses: [TileStatus<1>; TILES],
    /// One for each tile; in place the results, too.
    elements: [Memory<Interval>; TILES],
    in_place: bool,
    fault: Fault,
}

impl<const TILES: usize> Scan<TILES> {
    fn new(in_place: bool, fault: Fault) -> Arc<Self> {
        Arc::new(Scan {
            tickets: AtomicU64::new(0),
            statuses: array::from_fn(|_| TileStatus::new()),
            elements: array::from_fn(|tile| Memory::new(Interval::of_tile(tile))),
            in_place,
            fault,
        })
    }

    fn takes_tickets(&self) -> bool {
        self.in_place && self.fault != Fault::NoTickets
    }

    fn look_at_all(&self, tile_index: usize) -> Option<Interval> {
        let must_arrive = self.takes_tickets() || self.fault == Fault::WaitsForEver;
        let aggregate = |tile: usize| match must_arrive {
            true => self.statuses[tile].wait(EPOCH).1,
            false => match self.statuses[tile].poll(EPOCH) {
                (EMPTY, _) => self.elements[tile].read(), // `aggregate_of_tile`
                (_, aggregate) => aggregate,
            },
        };
        (0..tile_index).map(aggregate).reduce(Interval::combine)
    }

    fn block(&self, block_index: usize) {
        let ticket = take_number(&self.tickets) as usize;
        let tile_index = if self.takes_tickets() { ticket } else { block_index };
        let element = self.elements[tile_index].read();
        self.statuses[tile_index].publish(element, AGGREGATE, EPOCH);
        let prefix = self.look_at_all(tile_index);
        let result = Interval::append(prefix, element).unwrap();
        assert_eq!(result, Interval { first: 0, end: tile_index as u32 + 1 }, "{VALUE}: the inclusive prefix");
        if self.in_place {
            self.elements[tile_index].write(result);
        }
    }
}

/// A GPU with two places for blocks, each of which runs some, one after the other.
fn in_places<const TILES: usize>(places: [&'static [usize]; 2], in_place: bool, fault: Fault) {
    let scan = Scan::<TILES>::new(in_place, fault);
    let other = scan.clone();
    let other = thread::spawn(move || places[1].iter().for_each(|block| other.block(*block)));
    places[0].iter().for_each(|block| scan.block(*block));
    other.join().unwrap();
}

/// Every order in which three blocks start in two places.
const PLACES: [[&[usize]; 2]; 6] =
    [[&[0, 1], &[2]], [&[1, 0], &[2]], [&[0, 2], &[1]], [&[2, 0], &[1]], [&[1, 2], &[0]], [&[2, 1], &[0]]];

#[test]
fn a_block_computes_what_is_not_published() {
    for places in PLACES {
        every_order(Switches::Any, move || in_places::<3>(places, false, Fault::None));
    }
}

#[test]
fn in_place_blocks_wait_for_those_before_by_ticket() {
    for places in PLACES {
        every_order(Switches::Any, move || in_places::<3>(places, true, Fault::None));
    }
}

#[test]
fn faults_are_found() {
    is_found(Wrong::Race, Switches::Any, || in_places::<2>([&[0], &[1]], true, Fault::NoTickets));
    is_found(Wrong::Hang, Switches::Any, || in_places::<3>([&[2, 0], &[1]], false, Fault::WaitsForEver));
}

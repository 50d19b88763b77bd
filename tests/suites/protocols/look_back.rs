//! Look-back. Models `look_back` and `exclusive_prefix` of `templates/carry/look_back.cu.tera`: each block publishes
//! the aggregate of its tile, looks back over windows of statuses, and publishes its inclusive prefix.
//!
//! A window has two lanes here, which one thread takes one after the other: between lanes there are only ballots and
//! shuffles. Loads of a window are in flight at once; relaxed loads of different places are not ordered in C11 either.

use std::{array, sync::Arc};

use loom::thread;
use scan_tests::extent::is_long;

use crate::{
    explore::{Switches, VALUE, Wrong, every_order, is_found, poll_again},
    status::{AGGREGATE, EMPTY, Interval, PREFIX, TileStatus},
};

const EPOCH: u32 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The aggregate is published as a prefix.
    AggregateAsPrefix,
    /// A lane waits for nothing once another one has found a prefix.
    WaitsForNoAggregate,
    /// The first prefix of a window counts, not the last one.
    FirstPrefix,
}

type Statuses<const TILES: usize> = [TileStatus<1>; TILES];

/// The exclusive prefix of a tile.
fn look_back<const WARP: usize, const TILES: usize>(
    statuses: &Statuses<TILES>,
    tile_index: usize,
    fault: Fault,
) -> Interval {
    let mut prefix: Option<Interval> = None;
    let mut end = tile_index;
    loop {
        // The first tile publishes a prefix: a lane before it may load that again.
        let index = |lane: usize| (end + lane).saturating_sub(WARP);
        let mut loaded = [(EMPTY, Interval::of_tile(0)); WARP];
        let mut vain_polls = 0;
        let (found, first_lane) = loop {
            for (lane, status) in loaded.iter_mut().enumerate() {
                if status.0 == EMPTY {
                    *status = statuses[index(lane)].poll(EPOCH);
                }
            }
            let has_prefix = |lane: &usize| loaded[*lane].0 == PREFIX;
            let last_prefix = match fault {
                Fault::FirstPrefix => (0..WARP).find(has_prefix),
                _ => (0..WARP).rfind(has_prefix),
            };
            let first_lane = last_prefix.unwrap_or(0);
            let waits = (first_lane..WARP).any(|lane| loaded[lane].0 == EMPTY);
            if !waits || fault == Fault::WaitsForNoAggregate && last_prefix.is_some() {
                break (last_prefix.is_some(), first_lane);
            }
            poll_again(&mut vain_polls, false);
        };
        let window = loaded[first_lane..].iter().map(|status| status.1).reduce(Interval::combine).unwrap();
        prefix = Some(prefix.map_or(window, |prefix| window.combine(prefix)));
        if found {
            return prefix.unwrap();
        }
        end -= WARP;
    }
}

/// Scans a tile.
fn block<const WARP: usize, const TILES: usize>(statuses: &Statuses<TILES>, tile_index: usize, fault: Fault) {
    let aggregate = Interval::of_tile(tile_index);
    let status = &statuses[tile_index];
    if tile_index == 0 {
        return status.publish(aggregate, PREFIX, EPOCH);
    }
    status.publish(aggregate, if fault == Fault::AggregateAsPrefix { PREFIX } else { AGGREGATE }, EPOCH);
    let prefix = look_back::<WARP, TILES>(statuses, tile_index, fault);
    assert_eq!(prefix, Interval { first: 0, end: tile_index as u32 }, "{VALUE}: the exclusive prefix");
    status.publish(prefix.combine(aggregate), PREFIX, EPOCH);
}

/// All tiles at once.
fn scan<const WARP: usize, const TILES: usize>(fault: Fault) {
    let statuses: Arc<Statuses<TILES>> = Arc::new(array::from_fn(|_| TileStatus::new()));
    let run = |tile_index| {
        let statuses = statuses.clone();
        thread::spawn(move || block::<WARP, TILES>(&statuses, tile_index, fault))
    };
    let others: Vec<_> = (1..TILES).map(run).collect();
    block::<WARP, TILES>(&statuses, 0, fault);
    others.into_iter().for_each(|other| other.join().unwrap());
}

#[test]
fn each_block_finds_its_exclusive_prefix() {
    every_order(Switches::Any, || scan::<1, 2>(Fault::None));
    every_order(Switches::Bounded(2, 3), || scan::<1, 3>(Fault::None));
    every_order(Switches::Bounded(2, 3), || scan::<2, 3>(Fault::None));
    if is_long() {
        every_order(Switches::Bounded(0, 1), || scan::<2, 4>(Fault::None));
    }
}

#[test]
fn faults_are_found() {
    let found = |fault| is_found(Wrong::Value, Switches::Bounded(2, 3), move || scan::<2, 3>(fault));
    found(Fault::AggregateAsPrefix);
    found(Fault::WaitsForNoAggregate);
    found(Fault::FirstPrefix);
}

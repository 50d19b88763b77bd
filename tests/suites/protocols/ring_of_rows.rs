//! Statuses of scans along an axis. Models `templates/kernel/columns/carry.cu.tera` and the loop of
//! `templates/kernel/columns/kernel.cu.tera`: rows of tiles use a ring of statuses again and again, and a status has
//! the number of its generation. Nothing but the length of the ring keeps a status from being overwritten before it has
//! been read.
//!
//! There is one column of tiles, and blocks of one thread. In an iteration a block polls what the tile needs that it
//! scans, publishes the aggregate of the tile that it folds, and publishes the prefix of the tile that it scans.

use std::{array, sync::Arc};

use loom::thread;
use scan_codegen::{Argument, Axis, DeviceLimits, Overrides, ScanSpec, plan_columns};
use scan_runtime::{ScanOp, ops};

use crate::{
    explore::{Switches, VALUE, Wrong, every_order, is_found, poll_again},
    status::{Interval, TileStatus, status_of},
};

const EPOCH: u32 = 1;
const BLOCKS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// A status has no generation.
    NoLap,
    /// The aggregate of a tile is published before the block has polled what its tile before needs.
    PublishesBeforePolling,
}

struct Ring<const RING: usize, const WINDOW: usize> {
    aggregates: [TileStatus<1>; RING],
    prefixes: [TileStatus<1>; RING],
    rows: usize,
    fault: Fault,
}

impl<const RING: usize, const WINDOW: usize> Ring<RING, WINDOW> {
    /// The generation in which a row of tiles has its statuses.
    fn generation_of(&self, row: usize) -> u32 {
        if self.fault == Fault::NoLap { 1 } else { (row / RING) as u32 + 1 }
    }

    fn publish(&self, statuses: &[TileStatus<1>; RING], row: usize, state: Interval) {
        statuses[row % RING].publish(state, self.generation_of(row), EPOCH);
    }

    fn wait_for_row(&self, statuses: &[TileStatus<1>; RING], row: usize) -> Interval {
        let mut vain_polls = 0;
        loop {
            let status = &statuses[row % RING];
            let loaded = status.load();
            match status_of(&loaded, EPOCH) {
                (generation, state) if generation == self.generation_of(row) => return state,
                _ => poll_again(&mut vain_polls, status.is_old(&loaded)),
            }
        }
    }

    /// The exclusive prefix of a row: the inclusive one of the row that is a window above, and the aggregates between.
    fn fold_polled(&self, row: usize) -> Option<Interval> {
        let first = row.saturating_sub(WINDOW);
        let of = |polled| match polled == first && row >= WINDOW {
            true => self.wait_for_row(&self.prefixes, polled),
            false => self.wait_for_row(&self.aggregates, polled),
        };
        (first..row).map(of).reduce(Interval::combine)
    }

    fn block(&self, block_index: usize) {
        let mut scanning = None;
        let folding = (block_index..self.rows).step_by(BLOCKS).map(Some);
        for folding in folding.chain([None]) {
            let publish_aggregate = || {
                if let Some(row) = folding.filter(|row| row + 1 < self.rows) {
                    self.publish(&self.aggregates, row, Interval::of_tile(row));
                }
            };
            if self.fault == Fault::PublishesBeforePolling {
                publish_aggregate();
            }
            let before = scanning.and_then(|row| self.fold_polled(row));
            if self.fault != Fault::PublishesBeforePolling {
                publish_aggregate();
            }
            if let Some(row) = scanning {
                let inclusive = Interval::append(before, Interval::of_tile(row)).unwrap();
                assert_eq!(inclusive.first, 0, "{VALUE}: the inclusive prefix");
                if row + WINDOW < self.rows {
                    self.publish(&self.prefixes, row, inclusive);
                }
            }
            scanning = folding;
        }
    }
}

fn scan<const RING: usize, const WINDOW: usize>(rows: usize, fault: Fault) {
    let statuses = || array::from_fn(|_| TileStatus::new());
    let ring = Arc::new(Ring::<RING, WINDOW> { aggregates: statuses(), prefixes: statuses(), rows, fault });
    let other = ring.clone();
    let other = thread::spawn(move || other.block(1));
    ring.block(0);
    other.join().unwrap();
}

/// Rows of a window and of the ring, as the planner has them for two blocks and one column of tiles.
fn planned() -> [u64; 2] {
    let overrides = Overrides::default().threads(32).run(1).blocks(BLOCKS as u32);
    let operator = ops::sum::<u32>().source();
    let plan = plan_columns(&operator, &ScanSpec::inclusive(), &DeviceLimits::H200, &overrides).unwrap();
    let schedule = plan.schedule(&Axis::of(&[100_000, 1], 0).unwrap().layout()).unwrap();
    let numbers = schedule.launches[0].arguments.iter().filter_map(|argument| match argument {
        Argument::Length(number) => Some(*number),
        _ => None,
    });
    let [_across, window, ring_log] = numbers.collect::<Vec<_>>()[..] else { panic!("other arguments") };
    [window, 1 << ring_log]
}

#[test]
fn a_status_is_read_before_its_place_is_used_again() {
    every_order(Switches::Bounded(2, 3), || scan::<8, 2>(11, Fault::None));
    assert_eq!(planned(), [4, 16]);
    every_order(Switches::Bounded(1, 2), || scan::<16, 4>(21, Fault::None));
}

#[test]
fn faults_are_found() {
    is_found(Wrong::Hang, Switches::Bounded(2, 3), || scan::<4, 2>(7, Fault::None));
    is_found(Wrong::Value, Switches::Bounded(2, 3), || scan::<8, 2>(11, Fault::NoLap));
}

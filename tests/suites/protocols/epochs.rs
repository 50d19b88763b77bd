//! Tickets and epochs. Models `take_number` and `epoch_of` of `templates/carry/status.cu.tera`, `assign_tile` with
//! tickets, and the launches of `templates/kernel/tile_per_block.cu.tera` on one workspace. What a block does with
//! statuses is short: it publishes the aggregate of its tile and waits for those of all tiles before, as look-at-all.
//!
//! A cycle has four epochs here ([`EPOCHS`]). Launches follow each other on a stream: the next one begins when all
//! threads of the last one have been joined.

use std::sync::Arc;

use loom::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
};

use crate::{
    explore::{Switches, VALUE, Wrong, every_order, is_found},
    intrinsics::{Packet, take_number},
    status::{AGGREGATE, EMPTY, EPOCHS, Interval, TileStatus},
};

/// Statuses that the workspace has room for.
const ROOM: usize = 3;

/// A step that is done in another way, or at another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Taking a ticket is a load and a store.
    TicketInTwoSteps,
    /// The epoch is not that of the ticket: it is read again after the ticket has been taken.
    EpochReadAfterTicket,
    /// The block with the first ticket sets up the next launch.
    FirstTicketSetsUp,
    /// Nothing sets up the next launch.
    NothingSetsUp,
    /// The tag has no epoch.
    TagWithoutEpoch,
    /// Statuses are cleared in the last launch of a cycle alone.
    ClearsLast,
    /// In the last but one alone.
    ClearsLastButOne,
    /// All statuses are cleared, those that the launch publishes, too.
    ClearsPublished,
    /// One status more than the launch publishes is left.
    LeavesOne,
    /// Tiles are numbered by block, not by ticket.
    TileOfBlock,
}

/// What kernels keep from launch to launch.
struct Workspace {
    tickets: AtomicU64,
    statuses: [TileStatus<1>; ROOM],
}

impl Workspace {
    /// As after so many launches, of which the last `EPOCHS` have published nothing.
    fn before(epoch: u32) -> Arc<Self> {
        let tickets = AtomicU64::new(u64::from(epoch) << 32);
        Arc::new(Workspace { tickets, statuses: [(); ROOM].map(|()| TileStatus::new()) })
    }

    /// No status counts in the launch that comes next.
    fn assert_empty(&self) {
        let tickets = self.tickets.load(Relaxed);
        assert_eq!(tickets as u32, 0, "{VALUE}: tickets were taken before the launch");
        for status in &self.statuses {
            assert_eq!(status.poll((tickets >> 32) as u32).0, EMPTY, "{VALUE}: a status of an earlier cycle");
        }
    }
}

/// A launch.
#[derive(Clone, Copy)]
struct Launch {
    tiles: u32,
    /// The first element, which is another for each launch: nothing of another launch passes for its own.
    first: u32,
    fault: Fault,
}

impl Launch {
    fn new(number: usize, tiles: u32, fault: Fault) -> Self {
        Launch { tiles, first: 8 * number as u32, fault }
    }

    /// The epoch, from the ticket. The block with the last ticket sets up the next launch.
    fn epoch_of(self, ticket: u64, workspace: &Workspace) -> u32 {
        let (number, mut epoch) = (ticket as u32, (ticket >> 32) as u32);
        if self.fault == Fault::EpochReadAfterTicket {
            epoch = (workspace.tickets.load(Relaxed) >> 32) as u32;
        }
        let sets_up = if self.fault == Fault::FirstTicketSetsUp { 0 } else { self.tiles - 1 };
        if number == sets_up {
            if self.fault != Fault::NothingSetsUp {
                workspace.tickets.store(u64::from(epoch.wrapping_add(1)) << 32, Relaxed);
            }
            let clears = match (epoch % EPOCHS, self.fault) {
                (in_cycle, Fault::ClearsLast) => in_cycle == EPOCHS - 1,
                (in_cycle, Fault::ClearsLastButOne) => in_cycle == EPOCHS - 2,
                (in_cycle, _) => in_cycle >= EPOCHS - 2,
            };
            let first_unused = match self.fault {
                Fault::ClearsPublished => 0,
                Fault::LeavesOne => self.tiles + 1,
                _ => self.tiles,
            };
            for unused in workspace.statuses.iter().skip(first_unused as usize).filter(|_| clears) {
                unused.packets[0].store_relaxed(Packet::default());
            }
        }
        epoch
    }

    /// Scans the tile of a block.
    fn block(self, workspace: &Workspace, block_index: u32) {
        let ticket = match self.fault {
            Fault::TicketInTwoSteps => {
                let ticket = workspace.tickets.load(Relaxed);
                workspace.tickets.store(ticket + 1, Relaxed);
                ticket
            }
            _ => take_number(&workspace.tickets),
        };
        let tile_index = if self.fault == Fault::TileOfBlock { block_index } else { ticket as u32 };
        let mut epoch = self.epoch_of(ticket, workspace);
        if self.fault == Fault::TagWithoutEpoch {
            epoch = 0;
        }
        let aggregate = |tile: u32| Interval { first: self.first + tile, end: self.first + tile + 1 };
        assert!(tile_index < self.tiles, "{VALUE}: a ticket of another launch");
        let statuses = &workspace.statuses;
        statuses[tile_index as usize].publish(aggregate(tile_index), AGGREGATE, epoch);
        let wait = |tile: u32| statuses[tile as usize].wait(epoch).1;
        let before = (0..tile_index).map(wait).reduce(Interval::combine);
        if let Some(prefix) = before {
            assert_eq!(prefix.combine(aggregate(tile_index)).first, self.first, "{VALUE}: a prefix of another launch");
        }
    }

    /// One block after the other. In an earlier launch the order of blocks leaves nothing in memory.
    fn in_order(self, workspace: &Workspace) {
        (0..self.tiles).for_each(|block_index| self.block(workspace, block_index));
    }

    /// All blocks at once.
    fn at_once(self, workspace: &Arc<Workspace>) {
        let run = |block_index| {
            let workspace = workspace.clone();
            thread::spawn(move || self.block(&workspace, block_index))
        };
        let others: Vec<_> = (1..self.tiles).map(run).collect();
        self.block(workspace, 0);
        others.into_iter().for_each(|other| other.join().unwrap());
    }
}

/// Two launches of two blocks in every order of their steps, the first one of this epoch.
fn two_launches(epoch: u32, fault: Fault) {
    let workspace = Workspace::before(epoch);
    for number in 0..2 {
        Launch::new(number, 2, fault).at_once(&workspace);
    }
    if fault != Fault::TagWithoutEpoch {
        workspace.assert_empty();
    }
}

#[test]
fn launches_of_two_blocks_read_nothing_of_the_launch_before() {
    for epoch in 0..EPOCHS {
        every_order(Switches::Any, move || two_launches(epoch, Fault::None));
    }
    every_order(Switches::Any, || two_launches(u32::MAX - 2, Fault::None));
}

#[test]
fn a_launch_of_three_blocks_reads_its_own_statuses() {
    for epoch in [EPOCHS - 2, EPOCHS - 1] {
        every_order(Switches::Bounded(3, 4), move || {
            let workspace = Workspace::before(epoch - 1);
            Launch::new(0, 3, Fault::None).in_order(&workspace);
            Launch::new(1, 3, Fault::None).at_once(&workspace);
            workspace.assert_empty();
        });
    }
}

#[test]
fn faults_of_tickets_are_found() {
    let found = |wrong, fault| is_found(wrong, Switches::Any, move || two_launches(EPOCHS - 2, fault));
    found(Wrong::Value, Fault::TicketInTwoSteps);
    found(Wrong::Value, Fault::FirstTicketSetsUp);
    found(Wrong::Value, Fault::NothingSetsUp);
    found(Wrong::Value, Fault::TagWithoutEpoch);
    found(Wrong::Hang, Fault::EpochReadAfterTicket);
    found(Wrong::Hang, Fault::ClearsPublished);
}

/// Launches of these many tiles, the first one of this epoch. No status of an earlier one counts in any.
fn launches(epoch: u32, tiles: &[u32], fault: Fault) {
    let workspace = Workspace::before(epoch);
    for (number, tiles) in tiles.iter().enumerate() {
        Launch::new(number, *tiles, fault).in_order(&workspace);
        workspace.assert_empty();
    }
}

/// Every sequence of launches of one or of three tiles, over two cycles.
#[test]
fn no_status_counts_when_its_epoch_recurs() {
    const LAUNCHES: u32 = 2 * EPOCHS + 1;
    for first in [0, u32::MAX - EPOCHS + 1] {
        for sequence in 0..1_u32 << LAUNCHES {
            let tiles: Vec<_> = (0..LAUNCHES).map(|launch| 1 + 2 * (sequence >> launch & 1)).collect();
            every_order(Switches::Any, move || launches(first, &tiles, Fault::None));
        }
    }
}

/// One clearing launch in a cycle is not enough: its own statuses survive it.
#[test]
fn faults_of_clearing_are_found() {
    let found = |tiles: [u32; 8], fault| is_found(Wrong::Value, Switches::Any, move || launches(0, &tiles, fault));
    found([1, 1, 1, 3, 1, 1, 1, 1], Fault::ClearsLast);
    found([1, 1, 3, 1, 1, 1, 1, 1], Fault::ClearsLastButOne);
    found([1, 1, 3, 1, 1, 1, 1, 1], Fault::LeavesOne);
}

/// A GPU with room for two blocks, each of which runs some, one after the other.
fn in_places(places: [&'static [u32]; 2], fault: Fault) {
    let workspace = Workspace::before(0);
    let launch = Launch::new(0, 3, fault);
    let run =
        move |workspace: &Workspace, blocks: &[u32]| blocks.iter().for_each(|block| launch.block(workspace, *block));
    let (other, blocks) = (workspace.clone(), places[1]);
    let other = thread::spawn(move || run(&other, blocks));
    run(&workspace, places[0]);
    other.join().unwrap();
}

#[test]
fn with_tickets_no_block_waits_for_one_that_has_not_started() {
    for places in
        [[&[0, 1][..], &[2]], [&[1, 0], &[2]], [&[0, 2], &[1]], [&[2, 0], &[1]], [&[1, 2], &[0]], [&[2, 1], &[0]]]
    {
        every_order(Switches::Bounded(3, 4), move || in_places(places, Fault::None));
    }
    is_found(Wrong::Hang, Switches::Bounded(3, 4), || in_places([&[2, 0], &[1]], Fault::TileOfBlock));
}

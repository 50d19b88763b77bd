//! A late prefix: an initial value that another stream, another device or the host writes while the kernel already
//! reduces. `value/start_late.cu.tera` has the first of two protocols that it could have; `docs/protocols.md` says why.
//!
//! Hand-overs are numbered, so that nothing is cleared between launches; both sides count them in memory of their own,
//! because an argument would be frozen in a graph. The first tile's block waits for the value and publishes its
//! inclusive prefix; the second one waits for that. With a value and a flag the second one reads the value, too, as all
//! blocks of look-ahead do, and the flag is copied to the number of values taken when the launch has ended. With
//! packets the first block says that it has taken the value. The writer waits until the value of the last hand-over has
//! been taken, which can also be an event of its stream.
//!
//! | PTX, or what the driver does | here |
//! |---|---|
//! | `ld.acquire.sys`; `st.release.sys`, or `cuStreamWriteValue64` after other writes | `Acquire`; `Release` |
//! | a copy of the flag, in the order of the stream; `cuStreamWaitValue64` | `Release`; `Acquire` |
//! | `ld.relaxed.sys`, `st.relaxed.sys` of a packet | `Relaxed` |

use std::{array, sync::Arc};

use loom::{
    sync::atomic::{
        AtomicU32,
        Ordering::{self, Acquire, Relaxed, Release},
    },
    thread,
};

use crate::{
    explore::{Switches, VALUE, Wrong, every_order, is_found, poll_again},
    intrinsics::Memory,
    status::{Interval, PREFIX, TileStatus},
};

const LAUNCHES: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    /// A value in plain memory and a flag, the number of the hand-over.
    ValueAndFlag,
    /// Packets with tags, as a tile status: the number takes the place of the epoch.
    Packets,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// The flag is stored before the value.
    FlagFirst,
    /// The store of the flag releases nothing.
    RelaxedFlag,
    /// The poll of the flag acquires nothing.
    RelaxedPoll,
    /// The value is read before the flag is polled.
    ReadsBeforePolling,
    /// The flag, or the tag, has no number.
    NotNumbered,
    /// The writer does not wait until the last value has been taken.
    TakenNotAwaited,
    /// The reader says so before it has read the value.
    TakenBeforeReading,
    /// The first tile's block says so, and another one has yet to read the value.
    TakenByOneBlock,
    /// The writer starts when the reader has ended: it has no place before, as a kernel behind one that fills the GPU.
    WriterHasNoPlace,
}

struct Scan {
    value: Memory<Interval>,
    flag: AtomicU32,
    packets: TileStatus<2>,
    /// The number of the last value that has been taken.
    taken: AtomicU32,
    statuses: [TileStatus<1>; 2],
    protocol: Protocol,
    fault: Fault,
}

/// What the elements of a launch are numbered from: those before it are the late prefix.
fn first_of(number: u32) -> u32 {
    10 * number
}

fn late_prefix(number: u32) -> Interval {
    Interval { first: first_of(number) - 5, end: first_of(number) }
}

impl Scan {
    fn order(&self, fault: Fault, otherwise: Ordering) -> Ordering {
        if self.fault == fault { Relaxed } else { otherwise }
    }

    /// The number in flags and tags.
    fn told(&self, number: u32) -> u32 {
        if self.fault == Fault::NotNumbered { 1 } else { number }
    }

    fn write(&self, number: u32) {
        let mut vain_polls = 0;
        while self.fault != Fault::TakenNotAwaited && self.taken.load(Acquire) + 1 < number {
            poll_again(&mut vain_polls, false);
        }
        if self.protocol == Protocol::Packets {
            return self.packets.publish(late_prefix(number), PREFIX, self.told(number));
        }
        let store_flag = || self.flag.store(self.told(number), self.order(Fault::RelaxedFlag, Release));
        if self.fault == Fault::FlagFirst {
            store_flag();
        }
        self.value.write(late_prefix(number));
        if self.fault != Fault::FlagFirst {
            store_flag();
        }
    }

    /// Waits for the value: what `prefix_of_first_tile` would do.
    fn prefix_of_first_tile(&self, number: u32) -> Interval {
        let prefix = if self.protocol == Protocol::Packets {
            let prefix = self.packets.wait(self.told(number)).1;
            self.taken.store(number, Release);
            prefix
        } else {
            let early = (self.fault == Fault::ReadsBeforePolling).then(|| self.value.read());
            let taken = self.taken.load(Relaxed);
            let mut vain_polls = 0;
            while self.flag.load(self.order(Fault::RelaxedPoll, Acquire)) == taken {
                poll_again(&mut vain_polls, false);
            }
            if self.fault == Fault::TakenBeforeReading {
                self.take();
            }
            early.unwrap_or_else(|| self.value.read())
        };
        assert_eq!(prefix, late_prefix(number), "{VALUE}: the late prefix");
        prefix
    }

    /// What the stream does behind a launch.
    fn take(&self) {
        self.taken.store(self.flag.load(Relaxed), Release);
    }

    fn block(&self, tile_index: usize, number: u32) {
        let first = first_of(number) + tile_index as u32;
        let aggregate = Interval { first, end: first + 1 };
        let prefix = match tile_index {
            0 => self.prefix_of_first_tile(number),
            _ => {
                if self.protocol == Protocol::ValueAndFlag {
                    self.prefix_of_first_tile(number);
                }
                self.statuses[0].wait(number).1
            }
        };
        if tile_index == 0 && self.fault == Fault::TakenByOneBlock {
            self.take();
        }
        self.statuses[tile_index].publish(prefix.combine(aggregate), PREFIX, number);
    }
}

/// Launches, one after the other on a stream, and a writer.
fn scans(protocol: Protocol, fault: Fault) {
    let scan = Arc::new(Scan {
        value: Memory::new(Interval { first: 0, end: 0 }),
        flag: AtomicU32::new(0),
        packets: TileStatus::new(),
        taken: AtomicU32::new(0),
        statuses: array::from_fn(|_| TileStatus::new()),
        protocol,
        fault,
    });
    let writer = scan.clone();
    let write_all = move || (1..=LAUNCHES).for_each(|number| writer.write(number));
    let launch_all = move || {
        for number in 1..=LAUNCHES {
            let other = scan.clone();
            let other = thread::spawn(move || other.block(1, number));
            scan.block(0, number);
            other.join().unwrap();
            if protocol == Protocol::ValueAndFlag {
                scan.take();
            }
        }
    };
    if fault == Fault::WriterHasNoPlace {
        launch_all();
        write_all();
    } else {
        let launches = thread::spawn(launch_all);
        write_all();
        launches.join().unwrap();
    }
}

#[test]
fn a_value_with_a_flag_arrives() {
    every_order(Switches::Bounded(2, 3), || scans(Protocol::ValueAndFlag, Fault::None));
}

#[test]
fn packets_with_numbers_arrive() {
    every_order(Switches::Bounded(2, 3), || scans(Protocol::Packets, Fault::None));
}

/// Without an order the value may be read while it is written, or before, or the flag of the next one is seen.
const DISORDER: &[Wrong] = &[Wrong::Race, Wrong::Value, Wrong::Hang];

#[test]
fn faults_are_found() {
    let found = |wrong: &'static [Wrong], protocol, fault| {
        is_found(wrong, Switches::Bounded(2, 3), move || scans(protocol, fault));
    };
    let orders = [Fault::FlagFirst, Fault::RelaxedFlag, Fault::RelaxedPoll, Fault::ReadsBeforePolling];
    let taken = [Fault::TakenNotAwaited, Fault::TakenBeforeReading, Fault::TakenByOneBlock];
    for fault in orders.into_iter().chain([Fault::NotNumbered]).chain(taken) {
        found(DISORDER, Protocol::ValueAndFlag, fault);
    }
    found(&[Wrong::Value], Protocol::Packets, Fault::NotNumbered);
    found(&[Wrong::Hang], Protocol::Packets, Fault::TakenNotAwaited);
    for protocol in [Protocol::ValueAndFlag, Protocol::Packets] {
        found(&[Wrong::Hang], protocol, Fault::WriterHasNoPlace);
    }
}

//! Tile statuses: packets with tags. Models `publish`, `load_status`, `status_of`, `poll` and `wait_for_status` of
//! `templates/carry/status.cu.tera`, which all carries over statuses use.
//!
//! A packet has one word of payload, as for states of up to 4 bytes (`.b64`); a state of two packets stands for all
//! that have several. What is not modelled: that `.b128` is one access, and the words that repeat the tag, which guard
//! against compilers that split a load.

use std::array;

use crate::{
    explore::{VALUE, poll_again},
    intrinsics::{Packet, PacketInMemory},
};

pub(crate) const EMPTY: u32 = 0;
pub(crate) const AGGREGATE: u32 = 1;
pub(crate) const PREFIX: u32 = 2;
pub(crate) const STATUSES: u32 = 4;

/// Different epochs that fit a tag. There are 2³⁰ in the kernels: so few here that launches come round again.
pub(crate) const EPOCHS: u32 = 4;

/// The state: which elements have been folded. So each operand of `combine` is known to be the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) first: u32,
    pub(crate) end: u32,
}

impl Interval {
    /// A tile of one element.
    pub(crate) fn of_tile(tile_index: usize) -> Self {
        Interval { first: tile_index as u32, end: tile_index as u32 + 1 }
    }

    /// The operator.
    pub(crate) fn combine(self, right: Interval) -> Interval {
        assert_eq!(self.end, right.first, "{VALUE}: {self:?} and {right:?} are not adjacent");
        Interval { first: self.first, end: right.end }
    }

    /// What a `Prefix` does with the next aggregate.
    pub(crate) fn append(prefix: Option<Interval>, next: Interval) -> Option<Interval> {
        Some(prefix.map_or(next, |prefix| prefix.combine(next)))
    }

    /// The words of the state, one for each packet.
    fn words<const PACKETS: usize>(self) -> [u32; PACKETS] {
        array::from_fn(|k| match (PACKETS, k) {
            (1, _) => self.first << 16 | self.end,
            (_, 0) => self.first,
            _ => self.end,
        })
    }

    fn of_words<const PACKETS: usize>(words: [u32; PACKETS]) -> Self {
        match PACKETS {
            1 => Interval { first: words[0] >> 16, end: words[0] & 0xffff },
            _ => Interval { first: words[0], end: words[1] },
        }
    }
}

/// The tag of a kind of status in an epoch.
pub(crate) fn tag_of(epoch: u32, status: u32) -> u32 {
    STATUSES * (epoch % EPOCHS) + status
}

pub(crate) struct TileStatus<const PACKETS: usize> {
    pub(crate) packets: [PacketInMemory; PACKETS],
}

/// A status as a thread has loaded it, which may be incomplete.
pub(crate) type Loaded<const PACKETS: usize> = [Packet; PACKETS];

impl<const PACKETS: usize> TileStatus<PACKETS> {
    pub(crate) fn new() -> Self {
        TileStatus { packets: array::from_fn(|_| PacketInMemory::default()) }
    }

    pub(crate) fn publish(&self, state: Interval, status: u32, epoch: u32) {
        self.publish_words(state.words(), tag_of(epoch, status));
    }

    pub(crate) fn publish_words(&self, words: [u32; PACKETS], tag: u32) {
        for (packet, payload) in self.packets.iter().zip(words) {
            packet.store_relaxed(Packet { payload, tag });
        }
    }

    pub(crate) fn load(&self) -> Loaded<PACKETS> {
        array::from_fn(|k| self.packets[k].load_relaxed())
    }

    /// Whether a packet was an old one.
    pub(crate) fn is_old(&self, loaded: &Loaded<PACKETS>) -> bool {
        self.packets.iter().zip(loaded).any(|(packet, loaded)| packet.is_old(*loaded))
    }

    /// Reads a status once.
    pub(crate) fn poll(&self, epoch: u32) -> (u32, Interval) {
        status_of(&self.load(), epoch)
    }

    /// Polls a status until it is published.
    pub(crate) fn wait(&self, epoch: u32) -> (u32, Interval) {
        let mut vain_polls = 0;
        loop {
            let loaded = self.load();
            match status_of(&loaded, epoch) {
                (EMPTY, _) => poll_again(&mut vain_polls, self.is_old(&loaded)),
                published => return published,
            }
        }
    }
}

/// The kind of a loaded status, `EMPTY` if it is of another epoch or incomplete, and its value.
pub(crate) fn status_of<const PACKETS: usize>(loaded: &Loaded<PACKETS>, epoch: u32) -> (u32, Interval) {
    let tag = loaded[0].tag;
    let whole = loaded.iter().all(|packet| packet.tag == tag);
    let status = tag.wrapping_sub(tag_of(epoch, EMPTY));
    let state = Interval::of_words(loaded.map(|packet| packet.payload));
    (if whole && status < STATUSES { status } else { EMPTY }, state)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use loom::{
        sync::atomic::{
            AtomicU32,
            Ordering::{self, Acquire, Relaxed, Release},
        },
        thread,
    };

    use super::*;
    use crate::explore::{Switches, Wrong, every_order, is_found};

    /// The epoch of the launch.
    const EPOCH: u32 = 1;

    /// What look-back publishes of tile 2: its aggregate, then its inclusive prefix.
    const PUBLISHED: [(u32, Interval); 2] =
        [(AGGREGATE, Interval { first: 2, end: 3 }), (PREFIX, Interval { first: 0, end: 3 })];

    fn assert_published(status: u32, state: Interval) {
        let is_published = status == EMPTY || PUBLISHED.contains(&(status, state));
        assert!(is_published, "{VALUE}: nobody has published {state:?} as {status}");
    }

    /// One block publishes an aggregate and a prefix, in memory that an earlier launch has left, while others poll.
    fn polled_while_published<const PACKETS: usize>(
        pollers: usize,
        polls: usize,
        kind: fn(&Loaded<PACKETS>) -> (u32, Interval),
    ) {
        let status = Arc::new(TileStatus::<PACKETS>::new());
        status.publish(Interval { first: 7, end: 8 }, PREFIX, EPOCH - 1);
        let poll = |_| {
            let status = status.clone();
            thread::spawn(move || {
                for _ in 0..polls {
                    let (kind, state) = kind(&status.load());
                    assert_published(kind, state);
                }
            })
        };
        let pollers: Vec<_> = (0..pollers).map(poll).collect();
        for (kind, state) in PUBLISHED {
            status.publish(state, kind, EPOCH);
        }
        pollers.into_iter().for_each(|poller| poller.join().unwrap());
        assert_eq!(status.poll(EPOCH), PUBLISHED[1], "{VALUE}");
    }

    #[test]
    fn a_status_that_is_polled_is_empty_or_as_it_was_published() {
        every_order(Switches::Bounded(2, 3), || polled_while_published::<1>(2, 2, |loaded| status_of(loaded, EPOCH)));
        every_order(Switches::Any, || polled_while_published::<2>(1, 2, |loaded| status_of(loaded, EPOCH)));
    }

    /// A reader that looks at the tag of the first packet alone.
    fn by_first_tag(loaded: &Loaded<2>) -> (u32, Interval) {
        status_of(&loaded.map(|packet| Packet { tag: loaded[0].tag, ..packet }), EPOCH)
    }

    /// A reader that does not look at the epoch.
    fn of_any_epoch(loaded: &Loaded<1>) -> (u32, Interval) {
        let (_, state) = status_of(loaded, EPOCH);
        (loaded[0].tag % STATUSES, state)
    }

    #[test]
    fn a_reader_that_leaves_out_a_part_of_the_tags_is_found() {
        is_found(Wrong::Value, Switches::Any, || polled_while_published::<2>(1, 1, by_first_tag));
        is_found(Wrong::Value, Switches::Any, || polled_while_published::<1>(1, 1, of_any_epoch));
    }

    /// The protocol without packets: a value and a flag in words of their own.
    fn value_then_flag(flag_first: bool, publishes: Ordering, polls: Ordering) {
        let memory = Arc::new((AtomicU32::new(0), AtomicU32::new(EMPTY)));
        let polled = memory.clone();
        let poller = thread::spawn(move || {
            let (value, flag) = &*polled;
            if flag.load(polls) == AGGREGATE {
                assert_eq!(value.load(Relaxed), 42, "{VALUE}");
            }
        });
        let (value, flag) = &*memory;
        if flag_first {
            flag.store(AGGREGATE, publishes);
            value.store(42, Relaxed);
        } else {
            value.store(42, Relaxed);
            flag.store(AGGREGATE, publishes);
        }
        poller.join().unwrap();
    }

    /// What a tag in each packet saves: a release and an acquire, which are fences in the machine code.
    #[test]
    fn a_flag_beside_the_value_needs_a_release_and_an_acquire() {
        every_order(Switches::Any, || value_then_flag(false, Release, Acquire));
        is_found(Wrong::Value, Switches::Any, || value_then_flag(true, Release, Acquire));
        is_found(Wrong::Value, Switches::Any, || value_then_flag(false, Relaxed, Acquire));
        is_found(Wrong::Value, Switches::Any, || value_then_flag(false, Release, Relaxed));
    }
}

//! The trace of a run: what was read, combined and written, each event pointing at those it needs.

use super::{
    counters::BankCounters,
    fault::{Place, Spot},
};

/// What happened, in the order in which it happened. Event `n` is `events[n - 1]`; 0 stands for none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The events.
    pub events: Vec<Event>,
    /// The accesses of warps to shared memory, if [`Banks`](super::Banks) were given.
    pub accesses: Vec<WarpAccess>,
}

/// The accesses to shared memory that a warp makes with one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpAccess {
    /// The launch, counted from 0.
    pub launch: u32,
    /// The block's index in the grid.
    pub block: u32,
    /// How many barriers the block had met at before.
    pub phase: u32,
    /// The line of the generated text.
    pub line: u32,
    /// The cycles that it takes.
    pub banks: BankCounters,
    /// The degree of its bank conflict: how many words of one bank the threads want at once. 1 is no conflict.
    pub degree: u64,
}

/// The number of an event in its trace, from 1 on; 0 where a value comes from nowhere that is traced.
pub type EventNumber = u32;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The launch, counted from 0.
    pub launch: u32,
    /// How many barriers the block had met at before.
    pub phase: u32,
    /// Who, and on which line.
    pub place: Place,
    /// What.
    pub what: What,
}

/// What an [`Event`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A partial result is read from memory, or an input that is none.
    Read {
        /// From here.
        spot: Spot,
        /// The event that wrote it.
        written: EventNumber,
    },
    /// An input is lifted to a partial result.
    Lift {
        /// The event that read the input; 0 where it was not read from global memory by itself.
        read: EventNumber,
        /// The bytes of the partial result.
        state: Vec<u8>,
    },
    /// The operator is applied.
    Apply {
        /// The event that the left operand comes from.
        left: EventNumber,
        /// The event that the right operand comes from.
        right: EventNumber,
        /// The bytes of both.
        operands: [Vec<u8>; 2],
    },
    /// A partial result is written to memory, or an output that is none.
    Write {
        /// To here.
        spot: Spot,
        /// The event that it comes from; 0 for an output that is no partial result.
        value: EventNumber,
    },
    /// A word is loaded atomically, such as a packet of a tile status.
    Load {
        /// From here.
        spot: Spot,
        /// What it is found to be.
        bytes: Vec<u8>,
    },
    /// A word is stored atomically.
    Store {
        /// To here.
        spot: Spot,
        /// What it becomes.
        bytes: Vec<u8>,
    },
    /// A bulk copy begins, or has written its bytes.
    Copy {
        /// Of these bytes, which are counted one by one.
        from: Spot,
        /// To these.
        to: Spot,
        /// How many.
        bytes: u32,
        /// The event of its beginning; 0 where it begins.
        begun: EventNumber,
    },
    /// A wait at a barrier in shared memory has ended.
    Wait {
        /// At this barrier.
        spot: Spot,
    },
}

impl Trace {
    /// The event with this number.
    pub fn event(&self, number: EventNumber) -> Option<&Event> {
        self.events.get(number.checked_sub(1)? as usize)
    }

    pub(super) fn add(&mut self, event: Event) -> EventNumber {
        self.events.push(event);
        self.events.len() as EventNumber
    }

    /// The bulk copy that began at this event has written its bytes.
    pub(super) fn end_copy(&mut self, number: EventNumber) {
        let Some(mut event) = self.event(number).cloned() else { return };
        if let What::Copy { begun, .. } = &mut event.what {
            *begun = number;
            self.add(event);
        }
    }
}

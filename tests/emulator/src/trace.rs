//! The trace of a run: what was read, combined and written, each event pointing at those it needs.

use super::fault::{Place, Spot};

/// What happened, in the order in which it happened. Event `n` is `events[n - 1]`; 0 stands for none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The events.
    pub events: Vec<Event>,
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
    /// A partial result is read from memory.
    Read {
        /// From here.
        spot: Spot,
        /// The event that wrote it.
        written: EventNumber,
    },
    /// The operator is applied.
    Apply {
        /// The event that the left operand comes from.
        left: EventNumber,
        /// The event that the right operand comes from.
        right: EventNumber,
    },
    /// A partial result is written to memory.
    Write {
        /// To here.
        spot: Spot,
        /// The event that it comes from.
        value: EventNumber,
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
}

//! An initial value that another stream writes while kernels run: how many values it has handed over, how many earlier
//! launches have taken, and the value. The stream is a thread of no block: what it wrote before it stored the number is
//! ordered before whoever acquires that.

use std::rc::Rc;

use super::{
    Arrival,
    machine::Machine,
    memory::{Buffer, View},
    order::{Knowledge, Times, Who},
};

/// Bytes before the value.
const NUMBERS: usize = 16;

/// As many have been handed over, and taken, before. Of the value nothing is left.
const EARLIER: u64 = 6;

/// What is to arrive.
#[derive(Debug)]
pub(super) struct Late {
    buffer: u32,
    value: Vec<u8>,
    pub(super) arrival: Arrival,
}

/// The memory of a value of so many bytes that has not arrived.
pub(super) fn before(bytes: usize) -> Buffer {
    let mut memory = [EARLIER.to_le_bytes(); 2].concat();
    memory.resize(NUMBERS + bytes, 0xa5);
    Buffer::initialised("late initial value", memory).unwritten_from(NUMBERS)
}

impl Machine {
    pub(super) fn expect_late(&mut self, buffer: u32, value: &[u8], arrival: Arrival) {
        self.late = Some(Late { buffer, value: value.to_vec(), arrival });
    }

    /// Whether a value is still to arrive at such a time.
    pub(super) fn is_late(&self, arrival: Arrival) -> bool {
        self.late.as_ref().is_some_and(|late| late.arrival == arrival)
    }

    /// The other stream writes the value, then the number; `false` where there is none, or it has.
    pub(super) fn arrive_late(&mut self) -> bool {
        let Some(Late { buffer, value, .. }) = self.late.take() else { return false };
        let (time, launch_time, threads) = (self.now, self.launch_time, self.shape.threads);
        let who = Who::new(self.shape.blocks * threads, threads);
        let times = Times { thread: time, warp: launch_time, block: launch_time };
        let wrote = Rc::new(Knowledge::of(who, times, launch_time, None));
        let view = View { who, times, launch_time, known: None, threads };
        let memory = &mut self.memory[buffer as usize - 1];
        memory.write_by(&view, NUMBERS, &value);
        memory.store_by(&view, 0, &(EARLIER + 1).to_le_bytes(), wrote);
        self.now += 1;
        self.progress += 1;
        self.signals += 1;
        self.counters.applications_before_late = Some(self.counters.applications);
        true
    }
}

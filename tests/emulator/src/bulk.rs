//! Barriers in shared memory, and the bulk copies that arrive at them. What another block of the cluster is told is a copy, too.
//!
//! A copy is made by nobody's thread. It reads and writes some time after it has begun, in any order with other copies, and
//! what it does is ordered only after what the thread knew that began it. Whoever waits at the copy's barrier, or for its
//! source to have been read, knows of it from then on.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::{
    callbacks::Copy,
    fault::{Access, FaultKind, Place, Spot},
    machine::{Block, Machine, SHARED, State},
    memory::{Buffer, Request, View},
    order::{Knowledge, Times, Who, learn},
    trace::{EventNumber, What},
};

/// What both places of a bulk copy, and its bytes, are multiples of.
const ALIGNMENT: u32 = 16;

/// The number of the shared array that the launch asks for: more than a source declares.
const LAUNCHED: u32 = 255;

/// The barriers of a block, by where they lie.
pub(super) type Barriers = FxHashMap<(u32, i64), Barrier>;

/// A barrier in shared memory.
pub(super) struct Barrier {
    arrivals: u32,
    /// Arrivals, and bytes, that the phase still lacks.
    pending: u32,
    bytes: i64,
    phase: u32,
    /// Who made it, and when.
    begun: (u32, u32),
    /// What those know that have arrived in this phase, and what those knew that ended the last one.
    gathered: Option<Rc<Knowledge>>,
    ended: Option<Rc<Knowledge>>,
    waiting: Vec<usize>,
}

/// A copy that has begun.
pub(super) struct Pending {
    slot: usize,
    place: Place,
    copy: Copy,
    /// Its number among threads: one that no thread has.
    number: u32,
    known: Rc<Knowledge>,
    /// Where the block is that is told something, in place of the one that began the copy.
    told: Option<usize>,
    /// What a copy out of shared memory has read, or what is told.
    read: Option<Vec<u8>>,
    /// The event of its beginning.
    begun: EventNumber,
}

/// What a thread's copies out have to do with it.
#[derive(Default)]
pub(super) struct Copies {
    /// When it last showed its writes to copies.
    shown: u32,
    /// Copies whose source has not been read, and whether it waits for that.
    unread: u32,
    waits: bool,
    /// What those know that have read theirs.
    known: Option<Rc<Knowledge>>,
}

impl Copies {
    pub(super) fn shown(&self) -> u32 {
        self.shown
    }
}

impl Machine {
    /// The executing thread tells a block of its cluster something, and a barrier of that block.
    pub(super) fn tell(&mut self, copy: &Copy, value: &[u8], block: u32, line: u32) -> Result<(), FaultKind> {
        let slot = self.slot_of_told(block)?;
        let barrier = (copy.barrier_buffer, copy.barrier);
        let begun = self.blocks[slot].as_ref().and_then(|block| block.barriers_in_memory.get(&barrier)?.begun.into());
        let Some((thread, time)) = begun else { return Err(FaultKind::Uninitialised { spot: None }) };
        self.check_known(copy.barrier_buffer, copy.barrier, (thread, time))?;
        let known = self.knowledge();
        let place = self.place(line);
        self.copies_begun += 1;
        let number = (self.shape.blocks + self.copies_begun) * self.shape.threads;
        let (slot, told) = (self.slot, Some(slot));
        self.copies.push(Pending {
            slot,
            place,
            copy: *copy,
            number,
            known,
            told,
            read: Some(value.to_vec()),
            begun: 0,
        });
        Ok(())
    }

    /// The number of the shared array that the launch asks for.
    pub(super) fn launched_shared(&mut self) -> u32 {
        let bytes = u64::from(self.shape.dynamic_shared_bytes);
        self.shared(LAUNCHED, c"dynamic_shared_memory", bytes, 128)
    }

    pub(super) fn init_barrier(&mut self, place: (u32, i64), arrivals: u32) {
        let thread = self.thread;
        let block = self.block().index;
        let begun = (self.number(block, thread).thread, self.now);
        let barrier = Barrier {
            arrivals,
            pending: arrivals,
            bytes: 0,
            phase: 0,
            begun,
            gathered: None,
            ended: None,
            waiting: Vec::new(),
        };
        self.block().barriers_in_memory.insert(place, barrier);
    }

    /// That the barrier has been begun before this.
    fn check_begun(&mut self, place: (u32, i64)) -> Result<(), FaultKind> {
        let begun = self.block().barriers_in_memory.get(&place).map(|barrier| barrier.begun);
        match begun {
            Some(begun) => self.check_known(place.0, place.1, begun),
            None => Err(FaultKind::Uninitialised { spot: Some(self.spot_of_barrier(place)) }),
        }
    }

    fn spot_of_barrier(&mut self, (buffer, offset): (u32, i64)) -> Spot {
        self.with_buffer(buffer, |buffer, _| {
            buffer.spot(&Request { access: Access::Read, atomic: true, offset, size: 8, align: 8, line: 0 })
        })
    }

    /// That the executing thread knows of a barrier's beginning.
    fn check_known(&mut self, buffer: u32, offset: i64, (thread, time): (u32, u32)) -> Result<(), FaultKind> {
        let is_after = self.with_buffer(buffer, |_, view| view.is_after(thread, time));
        if is_after {
            return Ok(());
        }
        let threads = self.shape.threads;
        let spot = self.spot_of_barrier((buffer, offset));
        let other = Place { line: 0, block: thread / threads, thread: thread % threads };
        Err(FaultKind::Race { access: Access::Read, spot, other_access: Access::Write, other })
    }

    /// The executing thread arrives, and announces bytes that will be copied in.
    pub(super) fn arrive(&mut self, place: (u32, i64), bytes: u32) -> Result<(), FaultKind> {
        self.check_begun(place)?;
        let known = self.knowledge();
        let slot = self.slot;
        self.arrive_with(slot, place, 1, i64::from(bytes), &known)
    }

    fn arrive_with(
        &mut self,
        slot: usize,
        place: (u32, i64),
        arrivals: u32,
        bytes: i64,
        known: &Rc<Knowledge>,
    ) -> Result<(), FaultKind> {
        let Some(block) = self.blocks[slot].as_mut() else { return Ok(()) };
        let Some(barrier) = block.barriers_in_memory.get_mut(&place) else {
            return Err(FaultKind::Uninitialised { spot: None });
        };
        if barrier.pending < arrivals {
            return Err(FaultKind::Arrivals { counted: barrier.arrivals });
        }
        barrier.pending -= arrivals;
        barrier.bytes += bytes;
        learn(&mut barrier.gathered, known);
        self.progress += 1;
        if barrier.pending > 0 || barrier.bytes != 0 {
            return Ok(());
        }
        barrier.pending = barrier.arrivals;
        barrier.phase += 1;
        barrier.ended = barrier.gathered.take();
        let (woken, ended) = (std::mem::take(&mut barrier.waiting), barrier.ended.clone());
        for index in woken {
            let thread = &mut block.threads[index];
            thread.state = State::Ready;
            if let Some(ended) = &ended {
                learn(&mut thread.known, ended);
            }
            self.woken.push((slot, index));
        }
        Ok(())
    }

    /// Whether the phase with this parity has ended; if not, the executing thread is woken when it has.
    pub(super) fn wait(&mut self, place: (u32, i64), parity: u32, line: u32) -> Result<bool, FaultKind> {
        self.check_begun(place)?;
        let index = self.thread;
        let block = self.block();
        let Some(barrier) = block.barriers_in_memory.get_mut(&place) else { return Ok(true) };
        let thread = &mut block.threads[index];
        if barrier.phase % 2 != parity {
            if let Some(ended) = &barrier.ended {
                learn(&mut thread.known, ended);
            }
            return Ok(true);
        }
        barrier.waiting.push(index);
        (thread.state, thread.line) = (State::Waiting, line);
        Ok(false)
    }

    /// The phase that the executing thread has waited for has ended.
    pub(super) fn record_wait(&mut self, place: (u32, i64), line: u32) {
        if self.trace.is_some() {
            let spot = self.spot_of_barrier(place);
            self.record(line, What::Wait { spot });
        }
    }

    /// The executing thread begins a copy.
    pub(super) fn begin_copy(&mut self, copy: &Copy, line: u32) -> Result<(), FaultKind> {
        for (buffer, offset) in [(copy.to_buffer, copy.to), (copy.from_buffer, copy.from)] {
            if buffer == 0 {
                return Err(FaultKind::Uninitialised { spot: None });
            }
            let request =
                Request { access: Access::Read, atomic: false, offset, size: copy.bytes, align: ALIGNMENT, line };
            let (address, spot) = self.with_buffer(buffer, |buffer, _| (buffer.address, buffer.spot(&request)));
            self.check_turn(buffer, &request)?;
            let aligned = address.wrapping_add_signed(offset).is_multiple_of(u64::from(ALIGNMENT));
            if !aligned || !copy.bytes.is_multiple_of(ALIGNMENT) {
                return Err(FaultKind::Misaligned { spot, align: ALIGNMENT });
            }
        }
        let known = self.knowledge();
        let place = self.place(line);
        self.copies_begun += 1;
        let number = (self.shape.blocks + self.copies_begun) * self.shape.threads;
        let slot = self.slot;
        if copy.from_buffer & SHARED != 0 {
            self.current().copies.unread += 1;
        }
        let begun = self.record_copy(copy, line);
        self.copies.push(Pending { slot, place, copy: *copy, number, known, told: None, read: None, begun });
        Ok(())
    }

    fn record_copy(&mut self, copy: &Copy, line: u32) -> EventNumber {
        if self.trace.is_none() {
            return 0;
        }
        let mut byte = |buffer, offset| {
            let request = Request { access: Access::Read, atomic: false, offset, size: 1, align: 1, line };
            self.with_buffer(buffer, |buffer, _| buffer.spot(&request))
        };
        let (from, to) = (byte(copy.from_buffer, copy.from), byte(copy.to_buffer, copy.to));
        self.record(line, What::Copy { from, to, bytes: copy.bytes, begun: 0 })
    }

    /// Whether the sources of the executing thread's copies out have been read; if not, it is woken when they have.
    pub(super) fn wait_for_bulk_stores(&mut self, line: u32) -> bool {
        let thread = self.current();
        if thread.copies.unread == 0 {
            if let Some(known) = thread.copies.known.clone() {
                learn(&mut thread.known, &known);
            }
            return true;
        }
        thread.copies.waits = true;
        (thread.state, thread.line) = (State::Waiting, line);
        false
    }

    pub(super) fn fence_for_copies(&mut self) {
        self.now += 1;
        let now = self.now;
        self.current().copies.shown = now;
    }

    /// Goes on with the copy at this index, or ends it.
    pub(super) fn advance_copy(&mut self, index: usize) {
        let pending = self.copies.swap_remove(index);
        let place = pending.place;
        if let Err(kind) = self.advance(pending) {
            self.fault = Some((kind, place));
        }
    }

    fn advance(&mut self, mut pending: Pending) -> Result<(), FaultKind> {
        let copy = pending.copy;
        let into_shared = copy.to_buffer & SHARED != 0;
        if let Some(bytes) = pending.read.take() {
            self.write_of_copy(&pending, &bytes)?;
            let Some(slot) = pending.told else { return Ok(()) };
            let known = self.knowledge_of_copy(&pending);
            let barrier = (copy.barrier_buffer, copy.barrier);
            return self.arrive_with(slot, barrier, 0, -i64::from(copy.bytes), &known);
        }
        let bytes = self.read_of_copy(&pending)?;
        if into_shared {
            self.write_of_copy(&pending, &bytes)?;
            let known = self.knowledge_of_copy(&pending);
            return self.arrive_with(
                pending.slot,
                (copy.barrier_buffer, copy.barrier),
                0,
                -i64::from(copy.bytes),
                &known,
            );
        }
        let known = self.knowledge_of_copy(&pending);
        let (slot, index) = (pending.slot, pending.place.thread as usize);
        if let Some(block) = self.blocks[slot].as_mut() {
            let thread = &mut block.threads[index];
            thread.copies.unread -= 1;
            learn(&mut thread.copies.known, &known);
            if thread.copies.unread == 0 && std::mem::take(&mut thread.copies.waits) {
                learn(&mut thread.known, &known);
                if let Some(known) = thread.copies.known.clone() {
                    learn(&mut thread.known, &known);
                }
                thread.state = State::Ready;
                self.woken.push((slot, index));
            }
        }
        self.progress += 1;
        pending.read = Some(bytes);
        self.copies.push(pending);
        Ok(())
    }

    /// All that the copy knows, itself included.
    fn knowledge_of_copy(&mut self, pending: &Pending) -> Rc<Knowledge> {
        let (who, times) = (self.who_copies(pending), self.times_of_copy());
        self.now += 1;
        Rc::new(Knowledge::of(who, times, self.launch_time, Some(&pending.known)))
    }

    fn who_copies(&self, pending: &Pending) -> Who {
        Who::new(pending.number, self.shape.threads)
    }

    /// Nothing comes together with a copy.
    fn times_of_copy(&self) -> Times {
        Times { thread: self.now, warp: self.launch_time, block: self.launch_time }
    }

    fn read_of_copy(&mut self, pending: &Pending) -> Result<Vec<u8>, FaultKind> {
        let copy = pending.copy;
        let request = pending.request(Access::Read, copy.from);
        self.count_access(copy.from_buffer, &request)?;
        let view = self.view_of_copy(pending);
        let (bytes, writers) =
            buffer_of(&mut self.memory, &mut self.blocks, pending.slot, copy.from_buffer, |buffer| {
                let start = buffer.access(&request, &view)?;
                let end = start + copy.bytes as usize;
                Ok((buffer.bytes[start..end].to_vec(), buffer.writers(start, end).collect::<Vec<_>>()))
            })?;
        if copy.from_buffer & SHARED != 0
            && let Some(block) = &self.blocks[pending.slot]
        {
            let threads = self.shape.threads;
            for (writer, time) in writers {
                let of_block = writer / threads == block.index;
                if of_block && block.threads[(writer % threads) as usize].copies.shown <= time {
                    let other = Place { line: 0, block: block.index, thread: writer % threads };
                    return Err(FaultKind::NotShown { other });
                }
            }
        }
        Ok(bytes)
    }

    fn write_of_copy(&mut self, pending: &Pending, bytes: &[u8]) -> Result<(), FaultKind> {
        let copy = pending.copy;
        let request = pending.request(Access::Write, copy.to);
        self.count_access(copy.to_buffer, &request)?;
        let view = self.view_of_copy(pending);
        let slot = pending.told.unwrap_or(pending.slot);
        buffer_of(&mut self.memory, &mut self.blocks, slot, copy.to_buffer, |buffer| {
            let start = buffer.access(&request, &view)?;
            buffer.bytes[start..start + bytes.len()].copy_from_slice(bytes);
            buffer.forget_origins(start, start + bytes.len());
            Ok(())
        })?;
        self.progress += 1;
        if let Some(trace) = &mut self.trace {
            trace.end_copy(pending.begun);
        }
        Ok(())
    }

    fn view_of_copy<'a>(&self, pending: &'a Pending) -> View<'a> {
        View {
            who: self.who_copies(pending),
            times: self.times_of_copy(),
            launch_time: self.launch_time,
            known: Some(&pending.known),
            threads: self.shape.threads,
        }
    }

    /// A copy that still reads or writes this block's shared memory.
    pub(super) fn copy_left_behind(&self, slot: usize) -> Option<(FaultKind, Place)> {
        let left = self.copies.iter().find(|pending| match pending.told {
            Some(told) => told == slot,
            None => pending.slot == slot && pending.read.is_none(),
        });
        left.map(|pending| (FaultKind::CopyLeftBehind, pending.place))
    }
}

impl Pending {
    fn request(&self, access: Access, offset: i64) -> Request {
        let align = if self.told.is_some() { 4 } else { ALIGNMENT };
        Request { access, atomic: false, offset, size: self.copy.bytes, align, line: self.place.line }
    }
}

/// Runs `action` on a buffer, a shared one that of the block in this slot.
fn buffer_of<R>(
    memory: &mut [Buffer],
    blocks: &mut [Option<Block>],
    slot: usize,
    buffer: u32,
    action: impl FnOnce(&mut Buffer) -> Result<R, FaultKind>,
) -> Result<R, FaultKind> {
    let found = match buffer & SHARED {
        0 => memory.get_mut(buffer as usize - 1),
        _ => blocks[slot].as_mut().and_then(|block| block.shared.get_mut((buffer & !SHARED) as usize)?.as_mut()),
    };
    match found {
        Some(buffer) => action(buffer),
        None => Err(FaultKind::Uninitialised { spot: None }),
    }
}

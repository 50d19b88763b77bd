//! The machine that executes a launch: its blocks, its threads, and what each of their actions means.

use std::{ffi::CStr, rc::Rc};

use corosensei::Yielder;

use super::{
    bulk::{Barriers, Copies, Pending},
    callbacks::Origin,
    cluster::{Cluster, Membership},
    counters::{BankAccess, BankLog, Banks, LaunchCounters},
    fault::{Access, FaultKind, Place, Spot},
    late::Late,
    memory::{Buffer, Request, View},
    order::{Knowledge, Times, Who, learn},
    random::Random,
    trace::{Event, EventNumber, Trace, WarpAccess, What},
};

/// Set in the number of a shared array; the rest is its declaration's.
pub(super) const SHARED: u32 = 1 << 31;

/// The depth of a variable that has been given no value. Also in the host prelude.
const NEVER_SET: u32 = u32::MAX;

/// Loads, with nothing changing meanwhile, after which a thread is taken to wait where statuses are short. Every one of them is
/// executed by every thread that waits.
pub(super) const PATIENCE: u32 = 64;

/// Pauses, with nothing changing meanwhile, after which a thread that need not wait for ever gives up.
const LONG: u32 = 6;

/// Threads of a warp.
pub(super) const WARP: usize = 32;

/// Tells whether the operator may be applied to these two operands, by their bytes; if not, how to name them.
pub(super) type OperandCheck = Rc<dyn Fn(&[u8], &[u8]) -> Option<(String, String)>>;

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It can go on.
    Ready,
    /// It waits for the others of its block.
    Barrier,
    /// It waits for the others of its warp.
    Warp,
    /// It waits for other threads to change something.
    Paused,
    /// It waits at a barrier in shared memory, or for its copies.
    Waiting,
    /// It waits for the others of its cluster.
    Cluster,
    /// It has returned.
    Done,
}

/// A thread of a resident block.
pub(super) struct Thread {
    pub(super) state: State,
    /// The line on which it waits, or last did something that the emulator saw.
    pub(super) line: u32,
    pub(super) yielder: *const Yielder<(), ()>,
    /// What it has acquired.
    pub(super) known: Option<Rc<Knowledge>>,
    pub(super) copies: Copies,
    /// What it has begun to load into shared memory, which is there once it has waited.
    pub(super) loads_begun: Vec<Load>,
    /// Groups of loads that it has committed.
    pub(super) load_groups: u32,
    pub(super) membership: Membership,
    /// Whether it knows that what is before the launch in the stream has ended.
    follows: bool,
    /// What relaxed loads have shown it, and a fence would make it know.
    glimpsed: Option<Rc<Knowledge>>,
    /// What it knew at its last fence, which its relaxed stores pass on.
    fenced: Option<Rc<Knowledge>>,
    /// The machine's progress at its last load or pause, and how often it loaded or paused since.
    seen: u64,
    loads: u32,
    pauses: u32,
    /// The machine's signals when it last began to look, and the place it began at.
    heard: u64,
    began_at: (u32, i64),
    /// What it brought to the instruction that its warp executes together.
    exchange: Option<Exchange>,
    /// The event that read an input which it has not lifted yet, 0 for several, and the size of what was read.
    input: Option<(EventNumber, u32)>,
    log: BankLog,
}

/// Bytes on their way to a place, and the line that sent them there.
pub(super) struct Load {
    pub(super) buffer: u32,
    pub(super) offset: i64,
    pub(super) line: u32,
    pub(super) bytes: Vec<u8>,
    /// The groups that had been committed before it.
    pub(super) group: u32,
}

#[derive(Clone, Copy)]
struct Exchange {
    what: u32,
    argument: u32,
    size: u32,
    value: *mut u8,
}

/// A block that is being executed.
pub(super) struct Block {
    pub(super) index: u32,
    pub(super) threads: Vec<Thread>,
    pub(super) returned: u32,
    pub(super) shared: Vec<Option<Buffer>>,
    shared_bytes: u64,
    pub(super) barriers_in_memory: Barriers,
    /// Who has waited for the end of what is before the launch in the stream, and when.
    waited: Vec<(u32, u32)>,
    at_barrier: u32,
    first_at_barrier: usize,
    /// How many barriers it has met at, and the time of the last.
    barriers: u32,
    barrier_time: u32,
    warps: Vec<Warp>,
    steps: u32,
    phases: u32,
    last_phase: Option<u32>,
}

#[derive(Clone, Copy)]
struct Warp {
    /// Lanes that wait for the others, and the first of them.
    waiting: u32,
    first: usize,
    returned: u32,
    /// When its lanes last came together.
    time: u32,
}

/// What never changes while a launch runs.
#[derive(Clone, Copy, Default)]
pub(super) struct Shape {
    pub(super) launch: u32,
    pub(super) blocks: u32,
    pub(super) threads: u32,
    pub(super) dynamic_shared_bytes: u32,
    /// Whether what is before the launch in the stream may not have ended when it begins.
    pub(super) programmatic: bool,
    /// Blocks of a cluster.
    pub(super) cluster: u32,
}

/// The machine.
pub(super) struct Machine {
    pub(super) random: Random,
    /// Threads are interrupted once in so many accesses; 0 for never.
    pub(super) interrupt: usize,
    /// Accesses that a launch may make before it is taken to be endless.
    pub(super) limit: u64,
    /// Loads, with nothing changing meanwhile, after which a thread is taken to wait.
    pub(super) patience: u32,
    pub(super) check: Option<OperandCheck>,
    pub(super) banks: Option<Banks>,
    pub(super) trace: Option<Trace>,
    /// Global memory; buffer `n` is `memory[n - 1]`.
    pub(super) memory: Vec<Buffer>,
    pub(super) shape: Shape,
    pub(super) blocks: Vec<Option<Block>>,
    /// The clusters of these blocks: their slots follow each other.
    pub(super) clusters: Vec<Cluster>,
    /// The thread that is executing.
    pub(super) slot: usize,
    pub(super) thread: usize,
    /// Threads that have become ready since the scheduler last looked.
    pub(super) woken: Vec<(usize, usize)>,
    /// Counts changes of memory and ends of threads: while it stands still, waiting is in vain.
    pub(super) progress: u64,
    /// Counts those changes that atomic stores make: who looks for statuses need not look again before one.
    pub(super) signals: u64,
    pub(super) accesses: u64,
    pub(super) counters: LaunchCounters,
    pub(super) fault: Option<(FaultKind, Place)>,
    /// What another stream has yet to write.
    pub(super) late: Option<Late>,
    /// Bulk copies that have begun and not ended, and how many have begun in this launch.
    pub(super) copies: Vec<Pending>,
    pub(super) copies_begun: u32,
    pub(super) now: u32,
    pub(super) launch_time: u32,
}

impl Machine {
    pub(super) fn new(random: Random) -> Self {
        Machine {
            random,
            interrupt: 0,
            limit: u64::MAX,
            patience: PATIENCE,
            check: None,
            banks: None,
            trace: None,
            memory: Vec::new(),
            shape: Shape::default(),
            blocks: Vec::new(),
            clusters: Vec::new(),
            slot: 0,
            thread: 0,
            woken: Vec::new(),
            progress: 0,
            signals: 0,
            accesses: 0,
            counters: LaunchCounters::default(),
            fault: None,
            late: None,
            copies: Vec::new(),
            copies_begun: 0,
            now: 1,
            launch_time: 0,
        }
    }

    pub(super) fn begin_launch(&mut self, shape: Shape, kernel: &str) {
        self.shape = shape;
        self.launch_time = self.now;
        self.now += 1;
        self.accesses = 0;
        self.copies_begun = 0;
        let (kernel, blocks, threads) = (kernel.to_owned(), shape.blocks, shape.threads);
        self.counters = LaunchCounters { kernel, blocks, threads, ..LaunchCounters::default() };
        self.blocks.clear();
        self.clusters.clear();
    }

    /// A block as it starts. Its memory comes from a block that has ended, if there is one.
    pub(super) fn begin_block(&mut self, slot: usize, index: u32) {
        let mut shared = self.blocks.get_mut(slot).and_then(Option::take).map(|block| block.shared).unwrap_or_default();
        shared.iter_mut().flatten().for_each(Buffer::reset);
        let threads = self.shape.threads as usize;
        let thread = || Thread {
            state: State::Ready,
            line: 0,
            yielder: std::ptr::null(),
            known: None,
            copies: Copies::default(),
            loads_begun: Vec::new(),
            load_groups: 0,
            membership: Membership::default(),
            follows: !self.shape.programmatic,
            glimpsed: None,
            fenced: None,
            seen: 0,
            loads: 0,
            pauses: 0,
            heard: u64::MAX,
            began_at: (0, 0),
            exchange: None,
            input: None,
            log: BankLog::new(),
        };
        if self.blocks.len() <= slot {
            self.blocks.resize_with(slot + 1, || None);
        }
        self.blocks[slot] = Some(Block {
            index,
            threads: (0..threads).map(|_| thread()).collect(),
            returned: 0,
            shared_bytes: 0,
            shared,
            barriers_in_memory: Barriers::default(),
            waited: Vec::new(),
            at_barrier: 0,
            first_at_barrier: 0,
            barriers: 0,
            barrier_time: self.launch_time,
            warps: vec![Warp { waiting: 0, first: 0, returned: 0, time: self.launch_time }; threads.div_ceil(WARP)],
            steps: 0,
            phases: 0,
            last_phase: None,
        });
        self.progress += 1;
    }

    /// Takes a block's counts over, once all its threads have returned.
    pub(super) fn end_block(&mut self, slot: usize) {
        for warp in 0..(self.shape.threads as usize).div_ceil(WARP) {
            self.count_banks(slot, warp);
        }
        if let Some(left) = self.copy_left_behind(slot) {
            self.fault = Some(left);
        }
        if let Some(block) = &self.blocks[slot] {
            let counters = &mut self.counters;
            counters.steps = counters.steps.max(block.steps);
            counters.phases = counters.phases.max(block.phases);
            counters.shared_bytes = counters.shared_bytes.max(block.shared_bytes);
            let waits = block.threads.first().map_or(0, |thread| thread.membership.waits);
            counters.barriers = counters.barriers.max(block.barriers + waits);
        }
    }

    /// The executing thread's block. There always is one while a thread executes.
    pub(super) fn block(&mut self) -> &mut Block {
        self.blocks[self.slot].as_mut().unwrap_or_else(|| unreachable!("a thread executes outside of any block"))
    }

    pub(super) fn current(&mut self) -> &mut Thread {
        let thread = self.thread;
        &mut self.block().threads[thread]
    }

    pub(super) fn place(&mut self, line: u32) -> Place {
        let thread = self.thread as u32;
        Place { line, block: self.block().index, thread }
    }

    pub(super) fn number(&self, block: u32, thread: usize) -> Who {
        Who { thread: block * self.shape.threads + thread as u32, block, place: thread as u32 }
    }

    /// Runs `action` on a buffer, with the executing thread's view of it.
    pub(super) fn with_buffer<R>(&mut self, buffer: u32, action: impl FnOnce(&mut Buffer, &View<'_>) -> R) -> R {
        let index = self.blocks[self.slot].as_ref().map_or(0, |block| block.index);
        let who = self.number(index, self.thread);
        let Some(block) = self.blocks[self.slot].as_mut() else {
            unreachable!("a thread executes outside of any block")
        };
        let view = View {
            who,
            launch_time: self.launch_time,
            times: block.times(self.thread, self.now),
            known: block.threads[self.thread].known.as_deref(),
            threads: self.shape.threads,
        };
        let target = if buffer & SHARED == 0 {
            &mut self.memory[buffer as usize - 1]
        } else {
            let declaration = (buffer & !SHARED) as usize;
            block.shared[declaration].as_mut().unwrap_or_else(|| unreachable!("a shared array without a declaration"))
        };
        action(target, &view)
    }

    pub(super) fn count_access(&mut self, buffer: u32, request: &Request) -> Result<(), FaultKind> {
        self.accesses += 1;
        if self.accesses > self.limit {
            return Err(FaultKind::Endless);
        }
        let bytes = u64::from(request.size);
        match request.access {
            _ if buffer & SHARED != 0 => self.counters.shared_accesses += 1,
            Access::Read => self.counters.global_read += bytes,
            Access::Write => self.counters.global_written += bytes,
        }
        Ok(())
    }

    /// The executing thread waits for the end of what is before the launch in the stream.
    pub(super) fn wait_for_previous_launch(&mut self) {
        self.now += 1;
        let (now, index) = (self.now, self.thread);
        let block = self.block().index;
        let thread = self.number(block, index).thread;
        self.current().follows = true;
        self.block().waited.push((thread, now));
    }

    /// That what is before the launch in the stream has ended, for all that the executing thread knows, when it uses global memory.
    pub(super) fn check_turn(&mut self, buffer: u32, request: &Request) -> Result<(), FaultKind> {
        if buffer & SHARED != 0 || self.current().follows {
            return Ok(());
        }
        let waited = self.block().waited.clone();
        let (follows, spot) = self.with_buffer(buffer, |buffer, view| {
            (waited.iter().any(|&(thread, time)| view.is_after(thread, time)), buffer.spot(request))
        });
        self.current().follows = follows;
        if follows { Ok(()) } else { Err(FaultKind::TooEarly { access: request.access, spot }) }
    }

    fn log_banks(&mut self, buffer: u32, request: &Request) {
        if self.banks.is_some() && buffer & SHARED != 0 {
            let base = self.with_buffer(buffer, |buffer, _| buffer.address);
            let address = base.wrapping_add_signed(request.offset) as u32;
            let (line, size, align) = (request.line, request.size, request.align);
            self.current().log.push(BankAccess { line, address, size, align });
        }
    }

    /// Reads for the executing thread.
    pub(super) fn read(
        &mut self,
        buffer: u32,
        request: &Request,
        to: &mut [u8],
        with_origin: bool,
    ) -> Result<Origin, FaultKind> {
        self.count_access(buffer, request)?;
        self.check_turn(buffer, request)?;
        self.log_banks(buffer, request);
        let traced = with_origin && self.trace.is_some();
        let (depth, written, spot) = self.with_buffer(buffer, |buffer, view| {
            let start = buffer.access(request, view)?;
            to.copy_from_slice(&buffer.bytes[start..start + to.len()]);
            let (depth, written) = if with_origin { buffer.origin(start, view) } else { (0, 0) };
            Ok((depth, written, traced.then(|| buffer.spot(request))))
        })?;
        let event = spot.map_or(0, |spot| self.record(request.line, What::Read { spot, written }));
        if !with_origin && let Some(spot) = self.spot_of("input", buffer, request) {
            let event = self.record(request.line, What::Read { spot, written: 0 });
            let input = &mut self.current().input;
            *input = Some((if input.is_some() { 0 } else { event }, request.size));
        }
        Ok(Origin { depth, event })
    }

    /// Writes for the executing thread.
    pub(super) fn write(
        &mut self,
        buffer: u32,
        request: &Request,
        from: &[u8],
        origin: Option<Origin>,
    ) -> Result<(), FaultKind> {
        if origin.is_some_and(|origin| origin.depth == NEVER_SET) {
            return Err(FaultKind::Uninitialised { spot: None });
        }
        self.count_access(buffer, request)?;
        self.check_turn(buffer, request)?;
        self.log_banks(buffer, request);
        let mut event = 0;
        if let (Some(origin), true) = (origin, self.trace.is_some()) {
            let spot = self.with_buffer(buffer, |buffer, _| buffer.spot(request));
            event = self.record(request.line, What::Write { spot, value: origin.event });
        } else if let Some(spot) = self.spot_of("output", buffer, request) {
            self.record(request.line, What::Write { spot, value: 0 });
        }
        let changed = self.with_buffer(buffer, |buffer, view| {
            let start = buffer.access(request, view)?;
            let bytes = &mut buffer.bytes[start..start + from.len()];
            let changed = *bytes != *from;
            bytes.copy_from_slice(from);
            buffer.set_origin(start, origin.map_or(0, |origin| origin.depth), event);
            Ok(changed)
        })?;
        self.progress += u64::from(changed);
        Ok(())
    }

    pub(super) fn record(&mut self, line: u32, what: What) -> EventNumber {
        if self.trace.is_none() {
            return 0;
        }
        let place = self.place(line);
        let (launch, phase) = (self.shape.launch, self.phase());
        self.trace.as_mut().map_or(0, |trace| trace.add(Event { launch, phase, place, what }))
    }

    /// The place of an access, if it is traced and in the array of this name.
    fn spot_of(&mut self, name: &str, buffer: u32, request: &Request) -> Option<Spot> {
        let traced = self.trace.is_some() && buffer & SHARED == 0;
        traced.then(|| self.with_buffer(buffer, |buffer, _| (buffer.name == name).then(|| buffer.spot(request))))?
    }

    /// Notes that an input becomes a partial result: one with a past, or the one that the thread has read. What was
    /// read together with other inputs, or in parts, has no known place.
    pub(super) fn lift(&mut self, line: u32, (input, size): (Origin, u32), state: &[u8]) -> Origin {
        if self.trace.is_none() {
            return input;
        }
        let last = self.current().input.take().filter(|&(_, read)| read == size).map_or(0, |(event, _)| event);
        let read = if input.event > 0 { input.event } else { last };
        let event = self.record(line, What::Lift { read, state: state.to_vec() });
        Origin { event, ..input }
    }

    fn record_atomic(&mut self, buffer: u32, request: &Request, what: impl FnOnce(Spot) -> What) {
        if self.trace.is_some() {
            let spot = self.with_buffer(buffer, |buffer, _| buffer.spot(request));
            self.record(request.line, what(spot));
        }
    }

    /// Notes an application of the operator, before it happens.
    pub(super) fn apply(
        &mut self,
        line: u32,
        operands: (&[u8], &[u8]),
        left: Origin,
        right: Origin,
    ) -> Result<Origin, FaultKind> {
        if left.depth == NEVER_SET || right.depth == NEVER_SET {
            return Err(FaultKind::Uninitialised { spot: None });
        }
        if let Some(check) = &self.check
            && let Some((left, right)) = check(operands.0, operands.1)
        {
            return Err(FaultKind::Operands { left, right });
        }
        self.counters.applications += 1;
        self.current().line = line;
        let depth = 1 + left.depth.max(right.depth);
        let block = self.block();
        block.steps = block.steps.max(depth);
        if block.last_phase != Some(block.barriers) {
            block.last_phase = Some(block.barriers);
            block.phases += 1;
        }
        let mut event = 0;
        if self.trace.is_some() {
            let operands = [operands.0.to_vec(), operands.1.to_vec()];
            event = self.record(line, What::Apply { left: left.event, right: right.event, operands });
        }
        Ok(Origin { depth, event })
    }

    /// All that the executing thread knows, itself included. Time moves on, so what it does next is not part of it.
    pub(super) fn knowledge(&mut self) -> Rc<Knowledge> {
        let (slot, thread) = (self.slot, self.thread);
        let index = self.block().index;
        let (who, now) = (self.number(index, thread), self.now);
        self.now += 1;
        let Some(block) = &self.blocks[slot] else { unreachable!("a thread executes outside of any block") };
        let known = block.threads[thread].known.as_deref();
        Rc::new(Knowledge::of(who, block.times(thread, now), self.launch_time, known))
    }

    /// An atomic load, which may see an older value than the last.
    pub(super) fn load(
        &mut self,
        buffer: u32,
        request: &Request,
        acquire: bool,
        to: &mut [u8],
    ) -> Result<(), FaultKind> {
        let mut random = self.random.clone();
        let release = self.load_with(buffer, request, to, Some(&mut random))?;
        self.random = random;
        self.record_atomic(buffer, request, |spot| What::Load { spot, bytes: to.to_vec() });
        if let Some(release) = release {
            let thread = self.current();
            learn(if acquire { &mut thread.known } else { &mut thread.glimpsed }, &release);
        }
        Ok(())
    }

    fn load_with(
        &mut self,
        buffer: u32,
        request: &Request,
        to: &mut [u8],
        random: Option<&mut Random>,
    ) -> Result<Option<Rc<Knowledge>>, FaultKind> {
        self.count_access(buffer, request)?;
        self.check_turn(buffer, request)?;
        self.log_banks(buffer, request);
        self.with_buffer(buffer, |buffer, view| {
            let start = buffer.access(request, view)?;
            Ok(buffer.load_atomic(start, to, view, random))
        })
    }

    /// An atomic store.
    pub(super) fn store(
        &mut self,
        buffer: u32,
        request: &Request,
        release: bool,
        from: &[u8],
    ) -> Result<(), FaultKind> {
        let passed_on = if release { Some(self.knowledge()) } else { self.current().fenced.clone() };
        self.record_atomic(buffer, request, |spot| What::Store { spot, bytes: from.to_vec() });
        self.store_with(buffer, request, from, passed_on)
    }

    fn store_with(
        &mut self,
        buffer: u32,
        request: &Request,
        from: &[u8],
        passed_on: Option<Rc<Knowledge>>,
    ) -> Result<(), FaultKind> {
        self.count_access(buffer, request)?;
        self.check_turn(buffer, request)?;
        self.log_banks(buffer, request);
        let changed = self.with_buffer(buffer, |buffer, view| {
            let start = buffer.access(request, view)?;
            buffer.store_atomic(start, from, view, passed_on);
            let bytes = &mut buffer.bytes[start..start + from.len()];
            let changed = *bytes != *from;
            bytes.copy_from_slice(from);
            buffer.set_origin(start, 0, 0);
            Ok(changed)
        })?;
        self.progress += u64::from(changed);
        self.signals += u64::from(changed);
        self.now += 1; // this thread's next store is a later one
        Ok(())
    }

    /// An atomic change of a word, relaxed; gives back what was there, which is always the last value.
    pub(super) fn modify(
        &mut self,
        buffer: u32,
        request: &Request,
        value: &mut [u8],
        change: impl FnOnce(u64, u64) -> u64,
    ) -> Result<(), FaultKind> {
        let mut old = vec![0; value.len()];
        // A read-modify-write goes on with what the store before it passed on.
        let mut passed_on = self.load_with(buffer, &Request { access: Access::Read, ..*request }, &mut old, None)?;
        let thread = self.current();
        if let Some(release) = &passed_on {
            learn(&mut thread.glimpsed, release);
        }
        if let Some(fenced) = thread.fenced.clone() {
            learn(&mut passed_on, &fenced);
        }
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
        let changed = change(number(&old), number(value)).to_le_bytes();
        self.store_with(buffer, request, &changed[..old.len()], passed_on)?;
        value.copy_from_slice(&old);
        Ok(())
    }

    pub(super) fn fence(&mut self) {
        let thread = self.current();
        if let Some(glimpsed) = thread.glimpsed.take() {
            learn(&mut thread.known, &glimpsed);
        }
        let fenced = self.knowledge();
        self.current().fenced = Some(fenced);
    }

    /// Notes an atomic load. Whether the thread is taken to wait for others, because it has come back to where it began to look
    /// and nobody has told anything meanwhile, or has looked at so much: the thread is then to be suspended.
    pub(super) fn waits_at_load(&mut self, place: (u32, i64), line: u32) -> bool {
        let (progress, signals, patience) = (self.progress, self.signals, self.patience);
        let thread = self.current();
        thread.forget_waits_before(progress);
        thread.loads += 1;
        let in_vain = thread.loads.is_multiple_of(patience);
        thread.pauses += u32::from(in_vain);
        let again = thread.heard == signals && thread.began_at == place;
        if thread.heard != signals {
            (thread.heard, thread.began_at) = (signals, place);
        }
        if in_vain || again {
            (thread.state, thread.line) = (State::Paused, line);
        }
        in_vain || again
    }

    /// The executing thread waits for others to change something.
    pub(super) fn pause(&mut self, line: u32) {
        let (progress, signals) = (self.progress, self.signals);
        let thread = self.current();
        thread.forget_waits_before(progress);
        thread.pauses += 1;
        thread.heard = signals;
        (thread.state, thread.line) = (State::Paused, line);
    }

    /// Whether the executing thread has looked for something for long, and nothing has changed meanwhile: earlier than that is
    /// taken to be for ever.
    pub(super) fn has_waited_long(&mut self) -> bool {
        let progress = self.progress;
        self.current().waited(progress) >= LONG
    }

    /// The executing thread comes to a barrier. The last one to come wakes all.
    pub(super) fn barrier(&mut self, line: u32) -> Result<(), FaultKind> {
        let (slot, index) = (self.slot, self.thread);
        let thread = self.current();
        (thread.state, thread.line) = (State::Barrier, line);
        let block = self.block();
        let absent = if block.returned > 0 {
            block.threads.iter().position(|thread| thread.state == State::Done)
        } else {
            // All that wait do so on one line, so the first of them tells.
            let elsewhere = block.at_barrier > 0 && block.threads[block.first_at_barrier].line != line;
            elsewhere.then_some(block.first_at_barrier)
        };
        if let Some(missing) = absent {
            return Err(block.absent(missing, |missing, returned| FaultKind::Barrier { missing, returned }));
        }
        if block.at_barrier == 0 {
            block.first_at_barrier = index;
        }
        block.at_barrier += 1;
        if block.at_barrier == block.threads.len() as u32 {
            self.release_barrier(slot);
        }
        Ok(())
    }

    fn release_barrier(&mut self, slot: usize) {
        if self.banks.is_some() {
            for warp in 0..(self.shape.threads as usize).div_ceil(WARP) {
                self.count_banks(slot, warp);
            }
        }
        let (now, random) = (self.now, &mut self.random);
        self.now += 1;
        let Some(block) = &mut self.blocks[slot] else { return };
        block.at_barrier = 0;
        block.barriers += 1;
        block.barrier_time = now;
        join(&mut block.threads);
        block.threads.iter_mut().for_each(|thread| thread.state = State::Ready);
        let first = self.woken.len();
        self.woken.extend((0..block.threads.len()).map(|thread| (slot, thread)));
        shuffle(&mut self.woken[first..], random);
    }

    /// The executing thread comes to an instruction that its warp executes together. The last one to come executes it for
    /// all, and wakes them.
    pub(super) fn exchange(
        &mut self,
        what: u32,
        argument: u32,
        size: u32,
        line: u32,
        value: *mut u8,
    ) -> Result<(), FaultKind> {
        let (slot, index) = (self.slot, self.thread);
        let thread = self.current();
        (thread.state, thread.line) = (State::Warp, line);
        thread.exchange = Some(Exchange { what, argument, size, value });
        let warp = index / WARP;
        let block = self.block();
        let lanes = warp * WARP..((warp + 1) * WARP).min(block.threads.len());
        let together = block.warps[warp];
        let absent = if together.returned > 0 {
            lanes.clone().find(|&lane| block.threads[lane].state == State::Done)
        } else {
            let first = &block.threads[together.first];
            let elsewhere = first.line != line || first.exchange.is_none_or(|other| other.what != what);
            (together.waiting > 0 && elsewhere).then_some(together.first)
        };
        if let Some(missing) = absent {
            return Err(block.absent(missing, |missing, returned| FaultKind::Warp { missing, returned }));
        }
        if together.waiting == 0 {
            block.warps[warp].first = index;
        }
        block.warps[warp].waiting += 1;
        if block.warps[warp].waiting as usize == lanes.len() {
            self.release_warp(slot, warp, lanes);
        }
        Ok(())
    }

    fn release_warp(&mut self, slot: usize, warp: usize, lanes: std::ops::Range<usize>) {
        if self.banks.is_some() {
            self.count_banks(slot, warp);
        }
        let (now, random) = (self.now, &mut self.random);
        self.now += 1;
        let Some(block) = &mut self.blocks[slot] else { return };
        (block.warps[warp].waiting, block.warps[warp].time) = (0, now);
        let threads = &mut block.threads[lanes.clone()];
        join(threads);
        let brought: Vec<Exchange> = threads.iter_mut().filter_map(|thread| thread.exchange.take()).collect();
        // SAFETY: each value lies on the stack of a lane that waits here, with the size that it told.
        unsafe {
            super::exchange::execute(&brought.iter().map(|e| (e.what, e.argument, e.size, e.value)).collect::<Vec<_>>())
        };
        threads.iter_mut().for_each(|thread| thread.state = State::Ready);
        let first = self.woken.len();
        self.woken.extend(lanes.map(|thread| (slot, thread)));
        shuffle(&mut self.woken[first..], random);
    }

    fn count_banks(&mut self, slot: usize, warp: usize) {
        if let (Some(banks), Some(block)) = (self.banks, &mut self.blocks[slot]) {
            let lanes = warp * WARP..((warp + 1) * WARP).min(block.threads.len());
            let (launch, index, phase) = (self.shape.launch, block.index, block.barriers);
            let logs = block.threads[lanes].iter_mut().map(|thread| &mut thread.log);
            self.counters.count_banks(banks, logs, |line, banks, degree| {
                let access = WarpAccess { launch, block: index, phase, line, banks, degree };
                self.trace.iter_mut().for_each(|trace| trace.accesses.push(access));
            });
        }
    }

    /// The executing thread has returned.
    pub(super) fn finish(&mut self) {
        self.progress += 1;
        let index = self.thread;
        self.current().state = State::Done;
        let block = self.block();
        block.returned += 1;
        let warp = index / WARP;
        block.warps[warp].returned += 1;
        let waiting = if block.at_barrier > 0 {
            Some(block.first_at_barrier)
        } else {
            (block.warps[warp].waiting > 0).then_some(block.warps[warp].first)
        };
        if let Some(waiting) = waiting {
            let thread = &block.threads[waiting];
            let place = Place { line: thread.line, block: block.index, thread: waiting as u32 };
            let at_barrier = thread.state == State::Barrier;
            let kind = block.absent(index, |missing, returned| match at_barrier {
                true => FaultKind::Barrier { missing, returned },
                false => FaultKind::Warp { missing, returned },
            });
            self.fault = Some((kind, place));
        }
    }

    /// No thread can go on: what that means.
    pub(super) fn stuck(&mut self, blocks_not_started: u32) -> (FaultKind, Place) {
        let mut found = None;
        for block in self.blocks.iter().flatten() {
            let spins = |thread: &Thread| matches!(thread.state, State::Paused | State::Waiting | State::Cluster);
            let spinning = block.threads.iter().position(spins);
            let waiting = block.threads.iter().position(|thread| matches!(thread.state, State::Barrier | State::Warp));
            if let Some(thread) = spinning {
                let place = block.place(thread);
                return (FaultKind::Deadlock { blocks_not_started }, place);
            }
            if let Some(thread) = waiting {
                let state = block.threads[thread].state;
                let missing = block.threads.iter().position(|other| other.state != state);
                let kind = match (state, missing) {
                    (State::Barrier, Some(missing)) => {
                        block.absent(missing, |missing, returned| FaultKind::Barrier { missing, returned })
                    }
                    (_, Some(missing)) => {
                        block.absent(missing, |missing, returned| FaultKind::Warp { missing, returned })
                    }
                    _ => FaultKind::Deadlock { blocks_not_started },
                };
                found = found.or(Some((kind, block.place(thread))));
            }
        }
        let nowhere = Place { line: 0, block: 0, thread: 0 };
        found.unwrap_or((FaultKind::Deadlock { blocks_not_started }, nowhere))
    }

    /// The number of the shared array with this declaration, made for the block if it is the first to ask.
    pub(super) fn shared(&mut self, declaration: u32, name: &CStr, bytes: u64, align: u32) -> u32 {
        let block = self.block();
        let index = declaration as usize;
        if block.shared.len() <= index {
            block.shared.resize_with(index + 1, || None);
        }
        let fits = block.shared[index].as_ref().is_some_and(|buffer| buffer.bytes.len() as u64 == bytes);
        if !fits {
            let address = block.shared_bytes.next_multiple_of(u64::from(align.max(1)));
            block.shared_bytes = address + bytes;
            let mut buffer = Buffer::uninitialised(format!("shared {}", name.to_string_lossy()), bytes as usize);
            buffer.address = address;
            block.shared[index] = Some(buffer);
        }
        SHARED | declaration
    }

    /// Where the bytes of a buffer are in the host's memory, from this offset on.
    pub(super) fn place_of(&mut self, buffer: u32, offset: i64) -> u64 {
        self.with_buffer(buffer, |buffer, _| buffer.bytes.as_ptr() as u64).wrapping_add_signed(offset)
    }

    /// The shared array of the block that has its bytes at a place in the host's memory, and their offset.
    pub(super) fn shared_at(&mut self, place: u64) -> Option<(u32, i64)> {
        let arrays = self.block().shared.iter().zip(0..);
        let mut found = arrays.filter_map(|(buffer, declaration)| {
            let offset = place.checked_sub(buffer.as_ref()?.bytes.as_ptr() as u64)?;
            (offset < buffer.as_ref()?.bytes.len() as u64).then_some((SHARED | declaration, offset as i64))
        });
        found.next()
    }

    pub(super) fn address(&mut self, buffer: u32, offset: i64) -> u64 {
        // Buffers lie far apart, so that no offset leads from one into another.
        let base = self.with_buffer(buffer, |buffer, _| buffer.address);
        ((u64::from(buffer) << 40) + base).wrapping_add_signed(offset)
    }
}

impl Thread {
    fn forget_waits_before(&mut self, progress: u64) {
        if self.seen != progress {
            (self.seen, self.loads, self.pauses) = (progress, 0, 0);
        }
    }

    /// Whether nobody has told anything since it began to look.
    pub(super) fn has_heard(&self, signals: u64) -> bool {
        self.heard == signals
    }

    /// How often it has paused since anything changed.
    pub(super) fn waited(&self, progress: u64) -> u32 {
        if self.seen == progress { self.pauses } else { 0 }
    }
}

impl Block {
    fn times(&self, thread: usize, now: u32) -> Times {
        Times { thread: now, warp: self.warps[thread / WARP].time, block: self.barrier_time }
    }

    pub(super) fn barriers(&self) -> u32 {
        self.barriers
    }

    pub(super) fn has_ended(&self) -> bool {
        self.returned as usize == self.threads.len()
    }

    fn place(&self, thread: usize) -> Place {
        Place { line: self.threads[thread].line, block: self.index, thread: thread as u32 }
    }

    fn absent(&self, missing: usize, kind: impl FnOnce(Place, bool) -> FaultKind) -> FaultKind {
        kind(self.place(missing), self.threads[missing].state == State::Done)
    }
}

/// Threads that come together know what any of them knew.
fn join(threads: &mut [Thread]) {
    let mut all: Option<Rc<Knowledge>> = None;
    for known in threads.iter().filter_map(|thread| thread.known.as_ref()) {
        learn(&mut all, known);
    }
    if all.is_some() {
        threads.iter_mut().for_each(|thread| thread.known.clone_from(&all));
    }
}

/// Puts a list into random order.
pub(super) fn shuffle<T>(list: &mut [T], random: &mut Random) {
    for last in (1..list.len()).rev() {
        list.swap(last, random.below(last + 1));
    }
}

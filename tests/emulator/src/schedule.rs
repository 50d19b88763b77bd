//! The scheduler: a coroutine for each thread of the resident blocks, resumed in an order drawn from the seed.

use std::{
    collections::VecDeque,
    ffi::c_void,
    sync::{Arc, Condvar, Mutex, PoisonError},
};

use corosensei::{Coroutine, CoroutineResult, stack::DefaultStack};

use super::{
    Arrival,
    callbacks::{self, machine},
    machine::{Machine, Shape, State, shuffle},
    random::Random,
    watchdog::Watched,
};

/// Bytes of a thread's stack. Only the pages that a thread touches take memory.
const STACK: usize = 128 * 1024;

/// Rounds of waiting, with nothing changing meanwhile, after which a thread is taken to wait for ever.
const ROUNDS: u32 = 16;

/// The same, after which it is taken to wait for a bulk copy that is under way.
const ROUNDS_FOR_COPIES: u32 = 2;

/// Steps of threads in which what another stream writes arrives once, where it arrives meanwhile.
const LATE_ONCE_IN: usize = 512;

/// Threads that all launches of the process together may have at once; a launch of more runs alone. A process has a
/// limit of mappings, 65,530 on Linux unless it is raised, and a stack takes two.
const MAX: usize = 16 * 1024;

/// The stacks of the process.
struct Stacks {
    /// Those of threads that have ended.
    free: Vec<DefaultStack>,
    /// Threads of the launches that are running.
    threads: usize,
}

static STACKS: Mutex<Stacks> = Mutex::new(Stacks { free: Vec::new(), threads: 0 });

/// Notified when a launch ends.
static ENDED: Condvar = Condvar::new();

/// The stacks of one launch: as many as it has threads at once.
struct Reserved {
    threads: usize,
    free: Vec<DefaultStack>,
}

impl Reserved {
    /// Waits until there is room for a launch of `threads`.
    fn new(threads: usize) -> Self {
        let stacks = STACKS.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |stacks: &mut Stacks| stacks.threads > 0 && stacks.threads + threads > MAX;
        let mut stacks = ENDED.wait_while(stacks, is_full).unwrap_or_else(PoisonError::into_inner);
        stacks.threads += threads;
        let others = stacks.free.len().saturating_sub(threads);
        Reserved { threads, free: stacks.free.split_off(others) }
    }

    fn take(&mut self) -> std::io::Result<DefaultStack> {
        self.free.pop().map_or_else(|| DefaultStack::new(STACK), Ok)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut stacks = STACKS.lock().unwrap_or_else(PoisonError::into_inner);
        stacks.threads -= self.threads;
        stacks.free.append(&mut self.free);
        stacks.free.truncate(MAX);
        ENDED.notify_all();
    }
}

type Fiber = Coroutine<(), (), (), DefaultStack>;

/// In which order threads that can go on do so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Any of them.
    Random,
    /// The one that waited longest: all threads move side by side.
    First,
    /// The one that came last: some threads run far ahead of others.
    Last,
}

/// Executes a launch, watched from when there is room for it. Faults are left in the machine.
///
/// # Safety
///
/// A machine is active, prepared for a launch of this shape, and `arguments` are those that `entry` takes.
pub(super) unsafe fn launch(
    shape: Shape,
    resident: usize,
    entry: unsafe extern "C" fn(*const *const c_void),
    arguments: *const *const c_void,
    watch: impl FnOnce() -> Arc<Watched>,
) -> std::io::Result<()> {
    let bits = machine(|machine| machine.random.bits());
    let (mut random, mut of_copies) = (Random::new(bits), Random::new(!bits));
    // Blocks start alone, or with the others of their cluster.
    let mut pending: Vec<u32> = (0..shape.blocks / shape.cluster).collect();
    // The hardware promises nothing about the order in which blocks start.
    shuffle(&mut pending, &mut random);
    let order = [Order::Random, Order::Random, Order::First, Order::Last][random.below(4)];
    let clusters = (resident / shape.cluster as usize).max(1).min(pending.len());
    let slots = clusters * shape.cluster as usize;
    let stacks = Reserved::new(slots * shape.threads as usize);
    let watched = watch(); // from here on: to wait for other launches is no fault of the kernel
    let mut scheduler = Scheduler {
        pending,
        fibers: (0..slots).map(|_| Vec::new()).collect(),
        ready: VecDeque::new(),
        paused: Vec::new(),
        order,
        heard: 0,
        random,
        stacks,
        threads: shape.threads as usize,
        cluster: shape.cluster as usize,
        copy_once_in: [1, 4, 32, usize::MAX][of_copies.below(4)],
        of_copies,
        late_once_in: if machine(|machine| machine.is_late(Arrival::Meanwhile)) { LATE_ONCE_IN } else { usize::MAX },
    };
    if machine(|machine| machine.is_late(Arrival::Before)) {
        machine(Machine::arrive_late);
    }
    for cluster in 0..clusters {
        // SAFETY: the caller vouches for the arguments.
        unsafe { scheduler.start_cluster(cluster, entry, arguments)? };
    }
    // SAFETY: as above.
    unsafe { scheduler.run(entry, arguments, &watched) }
}

struct Scheduler {
    /// Clusters that have not started; the next is the last. Elsewhere a block is a cluster of its own.
    pending: Vec<u32>,
    /// The threads of the resident blocks. `None` for one that has ended.
    fibers: Vec<Vec<Option<Fiber>>>,
    ready: VecDeque<(usize, usize)>,
    paused: Vec<(usize, usize)>,
    order: Order,
    /// The machine's signals when threads that wait for them were last resumed.
    heard: u64,
    random: Random,
    stacks: Reserved,
    threads: usize,
    cluster: usize,
    /// Bulk copies go on once in so many steps of threads; where that is never, once nothing else can.
    copy_once_in: usize,
    of_copies: Random,
    /// What another stream writes arrives once in so many steps; where that is never, once nothing else can happen.
    late_once_in: usize,
}

impl Scheduler {
    /// # Safety
    ///
    /// As for [`launch`].
    unsafe fn start_cluster(
        &mut self,
        cluster: usize,
        entry: unsafe extern "C" fn(*const *const c_void),
        arguments: *const *const c_void,
    ) -> std::io::Result<()> {
        let Some(index) = self.pending.pop() else { return Ok(()) };
        machine(|machine| machine.begin_cluster(cluster));
        for rank in 0..self.cluster {
            let (slot, index) = (cluster * self.cluster + rank, index as usize * self.cluster + rank);
            // SAFETY: the caller vouches for the arguments.
            unsafe { self.start_block(slot, index as u32, entry, arguments)? };
        }
        Ok(())
    }

    /// # Safety
    ///
    /// As for [`launch`].
    unsafe fn start_block(
        &mut self,
        slot: usize,
        index: u32,
        entry: unsafe extern "C" fn(*const *const c_void),
        arguments: *const *const c_void,
    ) -> std::io::Result<()> {
        machine(|machine| machine.begin_block(slot, index));
        self.fibers[slot].clear();
        for _ in 0..self.threads {
            let fiber = Coroutine::with_stack(self.stacks.take()?, move |yielder, ()| {
                // SAFETY: the caller vouches for the arguments; fibers are resumed only while the launch lasts.
                unsafe { callbacks::execute(yielder, entry, arguments) };
            });
            self.fibers[slot].push(Some(fiber));
        }
        let mut threads: Vec<(usize, usize)> = (0..self.threads).map(|thread| (slot, thread)).collect();
        shuffle(&mut threads, &mut self.random);
        self.ready.extend(threads);
        Ok(())
    }

    /// Takes the next thread that can go on; `None` where all wait.
    fn next(&mut self) -> Option<(usize, usize)> {
        if self.ready.is_empty() {
            self.resume_paused();
        } else if !self.paused.is_empty() && self.random.one_in(8) {
            self.resume_signalled();
        }
        if self.ready.is_empty() {
            return None;
        }
        let any = self.order == Order::Random || self.random.one_in(8);
        match self.order {
            _ if any => {
                let index = self.random.below(self.ready.len());
                self.ready.swap_remove_back(index)
            }
            Order::First => self.ready.pop_front(),
            _ => self.ready.pop_back(),
        }
    }

    /// Threads that wait for others to tell something look again, if somebody has.
    fn resume_signalled(&mut self) {
        let signals = machine(|machine| machine.signals);
        if std::mem::replace(&mut self.heard, signals) == signals {
            return;
        }
        let (ready, paused) = (&mut self.ready, &mut self.paused);
        paused.retain(|&(slot, thread)| {
            let stays = machine(|machine| machine.has_heard(slot, thread));
            if !stays {
                machine(|machine| machine.wake(slot, thread));
                ready.push_back((slot, thread));
            }
            stays
        });
    }

    /// Threads that wait for a change look again, unless they have looked often enough with nothing changing.
    fn resume_paused(&mut self) {
        let hopeless = machine(|machine| {
            let rounds = if machine.copies.is_empty() { ROUNDS } else { ROUNDS_FOR_COPIES };
            self.paused.iter().all(|&(slot, thread)| machine.waits_in_vain(slot, thread, rounds))
        });
        if hopeless {
            return; // until a copy goes on
        }
        for (slot, thread) in self.paused.drain(..) {
            machine(|machine| machine.wake(slot, thread));
            self.ready.push_back((slot, thread));
        }
    }

    /// # Safety
    ///
    /// As for [`launch`].
    unsafe fn run(
        mut self,
        entry: unsafe extern "C" fn(*const *const c_void),
        arguments: *const *const c_void,
        watched: &Watched,
    ) -> std::io::Result<()> {
        let mut live = self.fibers.iter().filter(|fibers| !fibers.is_empty()).count();
        while live > 0 {
            if self.copy_once_in < usize::MAX && self.of_copies.one_in(self.copy_once_in) {
                self.advance_copies();
            }
            let next = self.next();
            if next.is_none() && (self.advance_copies() || machine(Machine::arrive_late)) {
                continue;
            }
            if self.late_once_in < usize::MAX && self.of_copies.one_in(self.late_once_in) {
                machine(Machine::arrive_late);
            }
            if machine(|machine| machine.fault.is_some()) {
                break;
            }
            let Some((slot, thread)) = next else {
                let not_started = (self.pending.len() * self.cluster) as u32;
                machine(|machine| machine.fault = Some(machine.stuck(not_started)));
                break;
            };
            let Some(fiber) = &mut self.fibers[slot][thread] else { continue };
            machine(|machine| (machine.slot, machine.thread) = (slot, thread));
            watched.resume();
            let result = fiber.resume(());
            if machine(|machine| machine.fault.is_some()) {
                break;
            }
            machine(|machine| self.ready.extend(machine.woken.drain(..)));
            match result {
                CoroutineResult::Yield(()) => {
                    if machine(|machine| machine.state(slot, thread) == State::Paused) {
                        self.paused.push((slot, thread));
                    }
                }
                CoroutineResult::Return(()) => {
                    if let Some(fiber) = self.fibers[slot][thread].take() {
                        self.stacks.free.push(fiber.into_stack());
                    }
                    if machine(|machine| machine.block_has_ended(slot)) {
                        machine(|machine| machine.end_block(slot));
                        if machine(|machine| machine.fault.is_some()) {
                            break;
                        }
                        let cluster = slot / self.cluster;
                        let mut slots = cluster * self.cluster..(cluster + 1) * self.cluster;
                        if !machine(|machine| slots.all(|slot| machine.block_has_ended(slot))) {
                            continue;
                        }
                        if self.pending.is_empty() {
                            live -= self.cluster;
                        } else {
                            // SAFETY: the caller vouches for the arguments.
                            unsafe { self.start_cluster(cluster, entry, arguments)? };
                        }
                    }
                }
            }
        }
        while self.advance_copies() {}
        Ok(())
    }

    /// Goes on with one of the bulk copies that are under way, whichever; `false` where there is none, or after a fault.
    fn advance_copies(&mut self) -> bool {
        let count = machine(|machine| if machine.fault.is_some() { 0 } else { machine.copies.len() });
        if count == 0 {
            return false;
        }
        let index = self.of_copies.below(count);
        machine(|machine| machine.advance_copy(index));
        machine(|machine| self.ready.extend(machine.woken.drain(..)));
        true
    }
}

impl Drop for Scheduler {
    /// Gives the stacks of threads that never end back, without unwinding them: they hold nothing to be dropped.
    fn drop(&mut self) {
        for mut fiber in self.fibers.drain(..).flatten().flatten() {
            if fiber.started() && !fiber.done() {
                // SAFETY: a suspended thread holds plain values on its stack: a kernel's variables, numbers and pointers.
                unsafe { fiber.force_reset() };
            }
            if fiber.done() {
                self.stacks.free.push(fiber.into_stack());
            }
        }
    }
}

impl Machine {
    pub(super) fn state(&self, slot: usize, thread: usize) -> State {
        self.blocks[slot].as_ref().map_or(State::Done, |block| block.threads[thread].state)
    }

    fn wake(&mut self, slot: usize, thread: usize) {
        if let Some(block) = &mut self.blocks[slot] {
            block.threads[thread].state = State::Ready;
        }
    }

    fn waits_in_vain(&self, slot: usize, thread: usize, rounds: u32) -> bool {
        self.blocks[slot].as_ref().is_some_and(|block| block.threads[thread].waited(self.progress) >= rounds)
    }

    fn has_heard(&self, slot: usize, thread: usize) -> bool {
        self.blocks[slot].as_ref().is_some_and(|block| block.threads[thread].has_heard(self.signals))
    }

    fn block_has_ended(&self, slot: usize) -> bool {
        self.blocks[slot].as_ref().is_some_and(|block| block.returned as usize == block.threads.len())
    }
}

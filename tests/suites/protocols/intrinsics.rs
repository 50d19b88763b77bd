//! The accesses to memory of `templates/intrinsics/`, as atomics of C11.
//!
//! | PTX | here |
//! |---|---|
//! | `ld.relaxed.gpu`, `st.relaxed.gpu` of a packet or a word | `load`, `store` of an atomic word, `Relaxed` |
//! | `atomicAdd` on the tickets, which is `atom.relaxed.gpu` | `fetch_add`, `Relaxed` |
//! | `mbarrier.arrive`, whose default is `.release.cta` | `fetch_add`, `Release` |
//! | `mbarrier.try_wait.parity`, whose default is `.acquire.cta` | `load`, `Acquire` |
//! | `bar.warp.sync`, which orders memory among the lanes | an arrival and a wait of each lane |
//! | `shfl.sync`, which does not | a relaxed arrival and a relaxed wait of each lane |
//! | `griddepcontrol.wait`, and the order of a stream | `join` of all threads of the launch before |
//! | plain loads and stores of shared or global memory | a cell: accesses without an order between them are an error |

use loom::{
    cell::UnsafeCell,
    sync::atomic::{
        AtomicU64,
        Ordering::{self, Acquire, Relaxed, Release},
    },
};

use crate::explore::poll_again;

/// What one access loads or stores: a word of a value, and its tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) payload: u32,
    pub(crate) tag: u32,
}

/// A packet in global memory: zero, as fresh memory is.
#[derive(Default)]
pub(crate) struct PacketInMemory {
    bits: AtomicU64,
    newest: Newest,
}

impl PacketInMemory {
    pub(crate) fn load_relaxed(&self) -> Packet {
        let bits = self.bits.load(Relaxed);
        Packet { payload: bits as u32, tag: (bits >> 32) as u32 }
    }

    pub(crate) fn store_relaxed(&self, packet: Packet) {
        let bits = u64::from(packet.tag) << 32 | u64::from(packet.payload);
        self.bits.store(bits, Relaxed);
        self.newest.set(bits);
    }

    /// Whether a load has seen the tag of an older packet than the newest one.
    pub(crate) fn is_old(&self, loaded: Packet) -> bool {
        loaded.tag != (self.newest.get() >> 32) as u32
    }
}

/// The newest value of an atomic, which is no part of the model: it tells a poll that was early from one that saw an
/// old value.
#[derive(Default)]
struct Newest(std::sync::atomic::AtomicU64);

impl Newest {
    fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Adds one to a counter that all blocks share, and returns its old value.
pub(crate) fn take_number(count: &AtomicU64) -> u64 {
    count.fetch_add(1, Relaxed)
}

/// A barrier in shared memory (mbarrier), which counts arrivals from its initialization on.
pub(crate) struct Barrier {
    arrivals: AtomicU64,
    newest: Newest,
    of_a_phase: u64,
}

impl Barrier {
    pub(crate) fn new(of_a_phase: usize) -> Self {
        Barrier { arrivals: AtomicU64::new(0), newest: Newest::default(), of_a_phase: of_a_phase as u64 }
    }

    pub(crate) fn arrive(&self) {
        self.newest.set(self.arrivals.fetch_add(1, Release) + 1);
    }

    /// An arrival that releases nothing: a fault, or a thread that shuffles, which orders no memory.
    pub(crate) fn arrive_relaxed(&self) {
        self.newest.set(self.arrivals.fetch_add(1, Relaxed) + 1);
    }

    /// Waits until a phase of this parity has completed and the next one has not: all that the hardware can tell.
    pub(crate) fn wait(&self, parity: usize) {
        self.wait_until(parity, Acquire);
    }

    /// A wait that acquires nothing.
    pub(crate) fn wait_relaxed(&self, parity: usize) {
        self.wait_until(parity, Relaxed);
    }

    fn wait_until(&self, parity: usize, order: Ordering) {
        let has_completed = |arrivals: u64| arrivals / self.of_a_phase % 2 != parity as u64;
        let mut vain_polls = 0;
        while !has_completed(self.arrivals.load(order)) {
            poll_again(&mut vain_polls, has_completed(self.newest.get()));
        }
    }
}

/// A place in shared or global memory that is accessed by plain loads and stores.
pub(crate) struct Memory<T>(UnsafeCell<T>);

// SAFETY: loom fails where two threads access the cell, one of them to write, without an order between them.
unsafe impl<T: Send> Sync for Memory<T> {}

impl<T: Copy> Memory<T> {
    pub(crate) fn new(value: T) -> Self {
        Memory(UnsafeCell::new(value))
    }

    pub(crate) fn read(&self) -> T {
        // SAFETY: see above.
        self.0.with(|place| unsafe { *place })
    }

    pub(crate) fn write(&self, value: T) {
        // SAFETY: see above.
        self.0.with_mut(|place| unsafe { *place = value });
    }
}

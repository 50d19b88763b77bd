//! Clusters: blocks that start together, reach each other's shared memory, and meet at a barrier of their own.
//!
//! The barrier has two halves. What a thread did before it arrived is known to those that have waited; what it does between
//! the two is not. A pointer into another block's shared memory has that block's rank in its number, one more than it is.

use std::rc::Rc;

use super::{
    fault::FaultKind,
    machine::{Machine, SHARED, State, shuffle},
    memory::Buffer,
    order::{Knowledge, learn},
};

/// Where the rank stands in the number of a shared array, and how many bits it has.
const RANK: u32 = 24;
const RANKS: u32 = 0x7f;

/// The blocks of a cluster, and their barrier.
#[derive(Default)]
pub(super) struct Cluster {
    /// Threads that have arrived in this phase, and when.
    arrived: Vec<(u32, u32)>,
    /// Phases that have ended, and what those know that have waited for the last.
    ended: u32,
    known: Option<Rc<Knowledge>>,
}

/// What a thread has to do with the barrier of its cluster.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Membership {
    /// The phase in which it has arrived, and not waited yet.
    arrived: Option<u32>,
    /// How often it has waited.
    pub(super) waits: u32,
}

/// The declaration that a shared array's number names.
pub(super) const fn declaration(buffer: u32) -> usize {
    (buffer & !SHARED & !(RANKS << RANK)) as usize
}

/// The rank of the block whose array is meant, where it is another one's.
pub(super) fn rank(buffer: u32) -> Option<usize> {
    let rank = if buffer & SHARED == 0 { 0 } else { buffer >> RANK & RANKS };
    rank.checked_sub(1).map(|rank| rank as usize)
}

impl Machine {
    /// The slot of the block with a rank, in the executing thread's cluster.
    pub(super) fn slot_of(&self, rank: usize) -> usize {
        let blocks = self.shape.cluster as usize;
        self.slot / blocks * blocks + rank
    }

    fn cluster(&mut self) -> &mut Cluster {
        let index = self.slot / self.shape.cluster as usize;
        if self.clusters.len() <= index {
            self.clusters.resize_with(index + 1, Cluster::default);
        }
        &mut self.clusters[index]
    }

    /// A cluster whose blocks are about to start has met at no barrier.
    pub(super) fn begin_cluster(&mut self, index: usize) {
        if let Some(cluster) = self.clusters.get_mut(index) {
            *cluster = Cluster::default();
        }
    }

    /// The number of a shared array as another block has it.
    pub(super) fn in_block(&mut self, buffer: u32, block: u32) -> Result<u32, FaultKind> {
        if buffer & SHARED == 0 || rank(buffer).is_some() || block >= self.shape.cluster {
            return Err(FaultKind::NoSuchBlock { block, blocks: self.shape.cluster });
        }
        let own = self.slot % self.shape.cluster as usize;
        Ok(if block as usize == own { buffer } else { buffer | (block + 1) << RANK })
    }

    /// Whether the executing thread may use the shared memory of the block with a rank: it must be known to have begun, and must
    /// not have ended. There is room for its array from then on.
    pub(super) fn check_other_block(&mut self, buffer: u32) -> Result<(), FaultKind> {
        let Some(rank) = rank(buffer) else { return Ok(()) };
        let declaration = declaration(buffer);
        let begun = self.current().membership.waits > 0;
        let own = self.block().shared.get(declaration).and_then(Option::as_ref);
        let (name, bytes, address) =
            own.map_or((String::new(), 0, 0), |own| (own.name.clone(), own.bytes.len(), own.address));
        let slot = self.slot_of(rank);
        let Some(block) = self.blocks[slot].as_mut() else {
            return Err(FaultKind::OtherBlock { block: rank as u32, ended: false });
        };
        let ended = block.returned as usize == block.threads.len();
        if ended || !begun {
            return Err(FaultKind::OtherBlock { block: block.index, ended });
        }
        if block.shared.len() <= declaration {
            block.shared.resize_with(declaration + 1, || None);
        }
        block.shared[declaration].get_or_insert_with(|| {
            let mut buffer = Buffer::uninitialised(name, bytes);
            buffer.address = address;
            buffer
        });
        Ok(())
    }

    /// The executing thread arrives at the barrier of its cluster. The last one ends the phase.
    pub(super) fn arrive_in_cluster(&mut self) -> Result<(), FaultKind> {
        let (thread, now) = (self.thread, self.now);
        self.now += 1;
        self.progress += 1;
        let index = self.block().index;
        let who = self.number(index, thread);
        let threads = self.shape.threads * self.shape.cluster;
        let phase = self.cluster().ended;
        if self.current().membership.arrived.replace(phase).is_some() {
            return Err(FaultKind::ClusterBarrier { arrives: true });
        }
        let cluster = self.cluster();
        cluster.arrived.push((who.thread, now));
        if cluster.arrived.len() < threads as usize {
            return Ok(());
        }
        // All that any of them knew, and what each of them did.
        let mut known = Some(Rc::new(Knowledge::of_threads(std::mem::take(&mut cluster.arrived))));
        cluster.ended += 1;
        let first = self.slot_of(0);
        let slots = first..first + self.shape.cluster as usize;
        let blocks = self.blocks[slots.clone()].iter().flatten();
        for other in blocks.flat_map(|block| &block.threads).filter_map(|thread| thread.known.as_ref()) {
            learn(&mut known, other);
        }
        self.cluster().known = known;
        let mut woken = Vec::new();
        for slot in slots {
            let Some(block) = self.blocks[slot].as_mut() else { continue };
            for (index, thread) in block.threads.iter_mut().enumerate() {
                if thread.state == State::Cluster {
                    thread.state = State::Ready;
                    woken.push((slot, index));
                }
            }
        }
        shuffle(&mut woken, &mut self.random);
        self.woken.extend(woken);
        Ok(())
    }

    /// The executing thread waits until its cluster has met; `false` where it must be suspended first.
    pub(super) fn wait_for_cluster(&mut self, line: u32) -> Result<bool, FaultKind> {
        let (ended, known) = (self.cluster().ended, self.cluster().known.clone());
        let thread = self.current();
        thread.line = line;
        match thread.membership.arrived {
            None => Err(FaultKind::ClusterBarrier { arrives: false }),
            Some(phase) if phase < ended => {
                thread.membership.arrived = None;
                thread.membership.waits += 1;
                if let Some(known) = known {
                    learn(&mut thread.known, &known);
                }
                Ok(true)
            }
            Some(_) => {
                thread.state = State::Cluster;
                Ok(false)
            }
        }
    }

    /// Barriers of all kinds that a thread has passed.
    pub(super) fn phase(&mut self) -> u32 {
        self.block().barriers() + self.current().membership.waits
    }
}

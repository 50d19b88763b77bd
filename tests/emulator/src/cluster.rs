//! Clusters: blocks that start together, meet at a barrier of their own, and write to each other's shared memory.
//!
//! The meeting has two halves, and shows nothing but what a thread did before it showed barriers. What a block is told arrives
//! some time later, in any order, at a barrier in its shared memory: that is the work of a [copy](super::bulk).

use std::rc::Rc;

use super::{
    fault::FaultKind,
    machine::{Machine, State, shuffle},
    order::{Knowledge, Who, learn},
};

/// The meetings of a cluster.
#[derive(Default)]
pub(super) struct Cluster {
    /// Threads that have arrived in this phase.
    arrived: u32,
    /// Those that have shown barriers, and when.
    shown: Vec<(Who, u32)>,
    /// Phases that have ended, and what those know that have waited for the last.
    ended: u32,
    known: Option<Rc<Knowledge>>,
}

/// What a thread has to do with the meetings of its cluster.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Membership {
    /// The phase in which it has arrived, and not waited yet.
    arrived: Option<u32>,
    /// How often it has waited.
    pub(super) waits: u32,
}

impl Machine {
    /// The slot of the block with a rank, in the executing thread's cluster.
    fn slot_of(&self, rank: usize) -> usize {
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

    /// A cluster whose blocks are about to start has not met.
    pub(super) fn begin_cluster(&mut self, index: usize) {
        if let Some(cluster) = self.clusters.get_mut(index) {
            *cluster = Cluster::default();
        }
    }

    /// The slot of a block that the executing thread may tell something: it is known to have begun, and has not ended.
    pub(super) fn slot_of_told(&mut self, rank: u32) -> Result<usize, FaultKind> {
        if rank >= self.shape.cluster {
            return Err(FaultKind::NoSuchBlock { block: rank, blocks: self.shape.cluster });
        }
        let slot = self.slot_of(rank as usize);
        let begun = self.current().membership.waits > 0;
        match &self.blocks[slot] {
            Some(block) if begun && !block.has_ended() => Ok(slot),
            Some(block) => Err(FaultKind::OtherBlock { block: block.index, ended: begun }),
            None => Err(FaultKind::OtherBlock { block: rank, ended: false }),
        }
    }

    /// The executing thread arrives where its cluster meets. The last one ends the phase.
    pub(super) fn arrive_in_cluster(&mut self) -> Result<(), FaultKind> {
        self.progress += 1;
        let (thread, index) = (self.thread, self.block().index);
        let who = self.number(index, thread);
        let threads = self.shape.threads * self.shape.cluster;
        let (phase, shown) = (self.cluster().ended, self.current().copies.shown());
        if self.current().membership.arrived.replace(phase).is_some() {
            return Err(FaultKind::ClusterBarrier { arrives: true });
        }
        let cluster = self.cluster();
        cluster.arrived += 1;
        if shown > 0 {
            cluster.shown.push((who, shown));
        }
        if cluster.arrived < threads {
            return Ok(());
        }
        cluster.arrived = 0;
        cluster.ended += 1;
        cluster.known = Some(Rc::new(Knowledge::of_threads(std::mem::take(&mut cluster.shown))));
        let first = self.slot_of(0);
        let mut woken = Vec::new();
        for slot in first..first + self.shape.cluster as usize {
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

    /// Barriers of the block and of the cluster that the executing thread has passed.
    pub(super) fn phase(&mut self) -> u32 {
        self.block().barriers() + self.current().membership.waits
    }
}

//! Several GPUs: a scan over the slices of all ranks of a [`World`], by [NCCL](https://developer.nvidia.com/nccl).
//!
//! ```no_run
//! use scan_runtime::{World, ops};
//!
//! let world = World::from_env()?;
//! let (rank, stream) = (world.rank() as u64, world.stream());
//! let slice = stream.clone_htod(&vec![rank; 1_000_000])?;
//! let sums = world.scanner().scan(ops::sum());
//! let results = sums.across(&world).run(&slice)?;
//! world.synchronize()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Scan::across`](crate::Scan::across) says how it works. Linear attention, Mamba layers and other recurrences whose
//! time axis is split over ranks scan [along](Across::along) that axis.
//!
//! # Ranks
//!
//! A rank is one GPU. Usually it is a process of its own, which a launcher starts: [`World::from_env`] reads what
//! `torchrun`, Open MPI's and MPICH's `mpirun`, and Slurm's `srun` say. [`World::of_devices`] makes a rank, for a
//! thread of its own, of each of some GPUs of one process, [`World::from_id`] joins ranks that have met in another way,
//! and [`World::of_threads`] makes ranks that are threads and scan host memory, for tests.
//!
//! # What can go wrong
//!
//! All ranks make the same calls in the same order. In the first call of each kind they compare the operator and the
//! options, and refuse with [`WorldError::Differs`]. A rank that makes another call than the others later, say of
//! arrays of another shape, is late in theirs. A rank that is gone, or late by more than the
//! [deadline](World::with_deadline), is an error on each other one, and the world is then lost: what is on its stream
//! ends, and what it has written is unspecified. [`World::synchronize`] waits for the stream and gives that error; a
//! wait on the stream alone does not.
//!
//! # NCCL
//!
//! NCCL 2.14 or later is found as NVRTC [is](crate::nvrtc): the variable `SCAN_NCCL` names the library or its folder;
//! then come Python's packages (`nvidia-nccl-cu13`, `nvidia-nccl-cu12`) and the system's loader.

mod across;
mod devices;
mod error;
mod launch;
mod memory;
pub mod nccl;
mod processes;
mod rendezvous;
mod threads;

use std::{
    any::TypeId,
    collections::HashSet,
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

pub use across::Across;
pub use error::WorldError;
pub use launch::Launch;
use memory::Link;
pub use memory::WorldMemory;
use scan_codegen::OpSource;

use crate::{Device, Error};

/// How long a rank waits for the others, unless the caller says otherwise.
const DEADLINE: Duration = Duration::from_secs(60);

/// One of several ranks that scan together, seen from this rank; the [module](crate::world) is about it.
pub struct World<M: WorldMemory = Device> {
    link: M::Link,
    /// What the ranks have compared.
    agreed: Mutex<HashSet<Kind>>,
}

/// All that must be the same on all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Kind {
    op: TypeId,
    /// The outcome.
    of: TypeId,
    is_exclusive: bool,
    is_reversed: bool,
    /// Whether there is an initial value, and one for each column.
    initial: (bool, bool),
    columns: Option<usize>,
}

impl<M: WorldMemory> World<M> {
    fn new(link: M::Link) -> Self {
        World { link, agreed: Mutex::default() }
    }

    /// The number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.link.rank()
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.link.size()
    }

    /// The same with another deadline: how long this rank waits for the others in a call, once its own stream has come
    /// there. 60 seconds by default.
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.link.set_deadline(deadline);
        self
    }

    /// Checks whether the world can still be used, without waiting.
    ///
    /// # Errors
    ///
    /// [`WorldError::Lost`].
    pub fn check(&self) -> Result<(), Error> {
        self.link.check()
    }

    /// Makes each further call of this rank an error; the other ranks get one, too.
    fn lose(&self, error: WorldError) {
        self.link.lose(error);
    }

    /// Gives bytes, and waits for those of the other ranks.
    fn exchange(&self, what: &'static str, bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        self.link.exchange(what, bytes)
    }

    /// Compares the call with those of the other ranks, unless they have done so before.
    fn agree(&self, kind: Kind, source: impl FnOnce() -> OpSource) -> Result<(), Error> {
        self.check()?;
        if self.agreed.lock().unwrap_or_else(PoisonError::into_inner).contains(&kind) {
            return Ok(());
        }
        let Kind { op: _, of: _, is_exclusive, is_reversed, initial, columns } = &kind;
        let source = source();
        let what = format!(
            "`{}`, exclusive: {is_exclusive}, reversed: {is_reversed}, initial value (one, for each column): \
             {initial:?}, columns: {columns:?}, version {}",
            source.name,
            env!("CARGO_PKG_VERSION")
        );
        let mine = blake3::hash(format!("{what} {source:?}").as_bytes());
        let all = self.link.compare(mine.as_bytes())?;
        if all.iter().any(|hash| *hash != all[0]) {
            let count = |hash: &Vec<u8>| all.iter().filter(|other| *other == hash).count();
            // Where as many say one thing as another, the first ones are right.
            let usual = all.iter().rev().max_by_key(|hash| count(hash));
            let rank = all.iter().position(|hash| Some(hash) != usual).unwrap_or_default();
            return Err(WorldError::Differs { rank, what }.into());
        }
        self.agreed.lock().unwrap_or_else(PoisonError::into_inner).insert(kind);
        Ok(())
    }
}

impl<M: WorldMemory> fmt::Debug for World<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("rank", &self.rank()).field("size", &self.size()).finish_non_exhaustive()
    }
}

//! The errors of worlds.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use super::nccl::{INSTALL_COMMAND, LIBRARY_VARIABLE, NcclError};

/// A world cannot be made, or its ranks cannot go on together. After [`TimedOut`](WorldError::TimedOut),
/// [`Gone`](WorldError::Gone), [`Interrupted`](WorldError::Interrupted), [`Failed`](WorldError::Failed),
/// [`Nccl`](WorldError::Nccl) and [`Lost`](WorldError::Lost) the world is lost: its further calls are errors on this
/// rank, and sooner or later on each other one.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// A variable of the launcher is missing, or has a value that is of no use.
    #[error(
        "{variable} {problem}; start the program by `torchrun`, `mpirun` or `srun`, or set the variables yourself (`scan_runtime::world`)"
    )]
    Variable {
        /// The variable.
        variable: String,
        /// The fault.
        problem: String,
    },
    /// A rank that is not below the number of ranks, or no ranks at all.
    #[error("rank {rank} of a world of {size}: ranks are numbered from 0 and below the size")]
    NoRank {
        /// The rank.
        rank: usize,
        /// How many ranks there are.
        size: usize,
    },
    /// NCCL, NVIDIA's library for communication between GPUs, cannot be found.
    #[error(
        "NCCL was not found; install it with `{INSTALL_COMMAND}`, or set {LIBRARY_VARIABLE} to its path; searched {} places",
        searched.len()
    )]
    NoNccl {
        /// Every place that was searched.
        searched: Vec<PathBuf>,
    },
    /// The library that was found is not usable.
    #[error("{} cannot be used as NCCL: {reason}", path.display())]
    NcclUnusable {
        /// The library.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// NCCL reports an error.
    #[error("NCCL failed in {call}: {source}")]
    Nccl {
        /// The function that was called.
        call: &'static str,
        /// NCCL's error.
        source: NcclError,
    },
    /// The ranks do not find each other.
    #[error("rank {rank} cannot meet the others at {address}: {problem}")]
    Meeting {
        /// This rank.
        rank: usize,
        /// Where rank 0 listens.
        address: String,
        /// The obstacle.
        problem: String,
        /// The system's error, if there is one.
        source: Option<Arc<io::Error>>,
    },
    /// A process that was started as a rank does not start, or has failed.
    #[error("rank {rank} {problem}")]
    Process {
        /// The rank.
        rank: usize,
        /// The event.
        problem: String,
        /// The system's error, if there is one.
        source: Option<Arc<io::Error>>,
    },
    /// The other ranks did not come in time.
    #[error("rank {rank} waited {seconds} s for {missing}: {what}", seconds = waited.as_secs_f32())]
    TimedOut {
        /// This rank.
        rank: usize,
        /// For whom it waited.
        missing: String,
        /// The step in which it waited.
        what: &'static str,
        /// How long it waited.
        waited: Duration,
    },
    /// Another rank has ended, or has left the world.
    #[error("rank {gone} has left the world while rank {rank} waited for it: {what}")]
    Gone {
        /// This rank.
        rank: usize,
        /// The rank that left.
        gone: usize,
        /// The step in which it waited.
        what: &'static str,
    },
    /// What this rank got is not the part of that rank: the exchange was ended by a rank that gave up.
    #[error("rank {rank} got no part of rank {missing}: a rank has given up {what}")]
    Interrupted {
        /// This rank.
        rank: usize,
        /// The first rank whose part is missing.
        missing: usize,
        /// The step that was interrupted.
        what: &'static str,
    },
    /// A rank was about to run something else than the others. Nothing has been run.
    #[error("rank {rank} is about to run something else than the others: {what}")]
    Differs {
        /// The rank that differs from most.
        rank: usize,
        /// The call that this rank was about to make.
        what: String,
    },
    /// A rank could not reduce its part, so that the others wait for it. The error of its call says why.
    #[error("rank {rank} could not reduce its part: {why}")]
    Failed {
        /// The rank.
        rank: usize,
        /// Its error.
        why: String,
    },
    /// The world has been lost by an earlier error.
    #[error("the world is lost: {cause}")]
    Lost {
        /// The first error.
        cause: Box<WorldError>,
    },
    /// Work across ranks that are not one process each was to be captured in a graph.
    #[error("a graph can hold work of several ranks only if each rank is a process of its own with one GPU")]
    Captured,
}

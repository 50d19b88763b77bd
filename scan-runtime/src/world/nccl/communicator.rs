//! A communicator of NCCL: one rank of several.

use std::{
    ffi::{c_int, c_void},
    ptr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::{CudaStream, sys};

use super::{
    Id, Nccl, WorldError,
    library::{BYTE, Comm, Config, IN_PROGRESS, SUCCESS, UniqueId},
    load,
    watch::Watch,
};
use crate::{Error, cuda::is_captured};

/// How long the host sleeps between two questions whether something is done.
pub(super) const PAUSE: Duration = Duration::from_micros(200);

/// A rank of a communicator.
#[derive(Debug)]
pub(crate) struct Communicator {
    pub(super) shared: Arc<Shared>,
    watch: Watch,
}

/// What the caller and the thread that watches share.
pub(super) struct Shared {
    nccl: &'static Nccl,
    rank: usize,
    size: usize,
    state: Mutex<State>,
}

struct State {
    /// Null once it has been aborted.
    comm: Comm,
    /// Whether to abort it at the end.
    is_owned: bool,
    lost: Option<WorldError>,
}

// SAFETY: the communicator is used by one thread at a time, which NCCL allows.
unsafe impl Send for State {}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Communicator").field("rank", &self.rank).field("size", &self.size).finish_non_exhaustive()
    }
}

/// Which rank joins which world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joining {
    pub(crate) id: Id,
    pub(crate) rank: usize,
    pub(crate) size: usize,
}

impl Communicator {
    /// Joins the other ranks, for work in the stream's context.
    pub(crate) fn join(joining: Joining, stream: &Arc<CudaStream>, deadline: Duration) -> Result<Self, Error> {
        let Joining { id, rank, size } = joining;
        let (nccl, mut comm, mut config) = (load()?, ptr::null_mut(), Config::NONBLOCKING);
        crate::cuda::bind(stream)?;
        let id = UniqueId(*id.as_bytes());
        // SAFETY: the pointers are good for a read and a write; the context is bound.
        let code = unsafe { (nccl.ncclCommInitRankConfig)(&mut comm, size as c_int, id, rank as c_int, &mut config) };
        let shared = Shared::new(nccl, rank, size, State { comm, is_owned: true, lost: None });
        shared.settle("ncclCommInitRankConfig", code, "joining the world", deadline)?;
        Ok(Communicator::of(shared))
    }

    /// One that the caller has made.
    ///
    /// # Safety
    ///
    /// It is a communicator of a device, and nothing else uses it as long as this one lives.
    pub(crate) unsafe fn from_raw(comm: *mut c_void) -> Result<Self, Error> {
        let (nccl, mut rank, mut size) = (load()?, 0, 0);
        // SAFETY: the caller vouches for the communicator; the pointers are good for writes.
        unsafe {
            nccl.check("ncclCommUserRank", (nccl.ncclCommUserRank)(comm, &mut rank))?;
            nccl.check("ncclCommCount", (nccl.ncclCommCount)(comm, &mut size))?;
        }
        let state = State { comm, is_owned: false, lost: None };
        Ok(Communicator::of(Shared::new(nccl, rank as usize, size as usize, state)))
    }

    fn of(shared: Shared) -> Self {
        let shared = Arc::new(shared);
        Communicator { watch: Watch::new(shared.clone()), shared }
    }

    pub(crate) fn rank(&self) -> usize {
        self.shared.rank
    }

    pub(crate) fn size(&self) -> usize {
        self.shared.size
    }

    /// An error if the world is lost.
    pub(crate) fn check(&self) -> Result<(), WorldError> {
        self.shared.usable().map(drop)
    }

    /// Enqueues that `bytes` bytes of each rank are written, in the order of the ranks, to memory of each.
    ///
    /// # Safety
    ///
    /// `from` are so many bytes of device memory, and `to` as many for each rank, which work of this stream may use.
    pub(crate) unsafe fn all_gather(
        &self,
        stream: &Arc<CudaStream>,
        (from, to, bytes): (sys::CUdeviceptr, sys::CUdeviceptr, usize),
        what: &'static str,
        deadline: Duration,
    ) -> Result<(), Error> {
        let shared = &self.shared;
        let watched = if is_captured(stream)? { None } else { Some(self.watch.begin(stream)?) };
        {
            let state = shared.usable()?;
            let (from, to) = (from as *const c_void, to as *mut c_void);
            // SAFETY: the caller vouches for the memory; the communicator is alive while it is locked.
            let code =
                unsafe { (shared.nccl.ncclAllGather)(from, to, bytes, BYTE, state.comm, stream.cu_stream().cast()) };
            drop(state);
            shared.settle("ncclAllGather", code, what, deadline)?;
        }
        if let Some(watched) = watched {
            self.watch.end(stream, watched, what, deadline)?;
        }
        Ok(())
    }

    /// Waits for the stream, unless the world is lost meanwhile.
    pub(crate) fn synchronize(&self, stream: &Arc<CudaStream>) -> Result<(), Error> {
        let end = stream.record_event(None).map_err(crate::cuda::driver_error("recording an event"))?;
        let start = Instant::now();
        while !end.is_complete() {
            self.check()?;
            if start.elapsed() > PAUSE { thread::sleep(PAUSE) } else { std::hint::spin_loop() }
        }
        self.check()?;
        stream.synchronize().map_err(crate::cuda::driver_error("waiting for a stream"))
    }
}

impl Shared {
    fn new(nccl: &'static Nccl, rank: usize, size: usize, state: State) -> Self {
        Shared { nccl, rank, size, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The communicator, if it can still be used.
    fn usable(&self) -> Result<MutexGuard<'_, State>, WorldError> {
        let state = self.lock();
        match &state.lost {
            Some(cause) => Err(WorldError::Lost { cause: Box::new(cause.clone()) }),
            None => Ok(state),
        }
    }

    /// Waits until a call that has returned this code is done.
    fn settle(
        &self,
        call: &'static str,
        code: c_int,
        what: &'static str,
        deadline: Duration,
    ) -> Result<(), WorldError> {
        let start = Instant::now();
        let mut code = code;
        while code == IN_PROGRESS {
            if start.elapsed() > deadline {
                return Err(self.lose(self.timed_out(what, start.elapsed())));
            }
            if start.elapsed() > PAUSE {
                thread::sleep(PAUSE);
            }
            code = self.progress(call)?;
        }
        match code {
            SUCCESS => Ok(()),
            code => {
                let comm = self.lock().comm;
                Err(self.lose(self.nccl.error(call, code, comm)))
            }
        }
    }

    /// What NCCL says of the work that it has begun.
    fn progress(&self, call: &'static str) -> Result<c_int, WorldError> {
        let (state, mut code) = (self.usable()?, SUCCESS);
        // SAFETY: the communicator is alive while it is locked; the pointer is good for a write.
        let asked = unsafe { (self.nccl.ncclCommGetAsyncError)(state.comm, &mut code) };
        if asked == SUCCESS { Ok(code) } else { Err(self.nccl.error(call, asked, state.comm)) }
    }

    /// An error of the work that has been enqueued.
    pub(super) fn failure(&self) -> Option<WorldError> {
        let call = "a collective operation";
        match self.progress(call) {
            Ok(SUCCESS | IN_PROGRESS) => None,
            Ok(code) => Some(self.nccl.error(call, code, self.lock().comm)),
            Err(error) => Some(error),
        }
    }

    pub(super) fn timed_out(&self, what: &'static str, waited: Duration) -> WorldError {
        WorldError::TimedOut { rank: self.rank, missing: "the other ranks".to_owned(), what, waited }
    }

    /// Ends the communicator, so that its work ends. The first error counts.
    pub(super) fn lose(&self, error: WorldError) -> WorldError {
        let mut state = self.lock();
        if state.lost.is_none() {
            state.lost = Some(error.clone());
            self.abort(&mut state);
        }
        error
    }

    fn abort(&self, state: &mut State) {
        let comm = std::mem::replace(&mut state.comm, ptr::null_mut());
        if !comm.is_null() {
            // SAFETY: it is alive, and is used no more. An error leaves nothing to be done.
            unsafe { (self.nccl.ncclCommAbort)(comm) };
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_owned {
            let comm = std::mem::replace(&mut state.comm, ptr::null_mut());
            if !comm.is_null() {
                // SAFETY: as in `abort`.
                unsafe { (self.nccl.ncclCommAbort)(comm) };
            }
        }
    }
}

//! A communicator of NCCL: one rank of several.
//!
//! It is a blocking one. Calls of one that is not blocking are made by a new thread of NCCL each, which takes 100 to
//! 300 microseconds in place of 10. What could wait for ever has a deadline in another way: to join is left to a
//! thread, and a thread of our own [watches](super::watch) calls and the work that they enqueue.

use std::{
    ffi::{c_int, c_void},
    fmt, hint, mem, ptr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::{CudaStream, sys};

use super::{
    Id, Nccl, WorldError,
    library::{BYTE, Comm, IN_PROGRESS, SUCCESS, UniqueId},
    load,
    tag::Tag,
    watch::Watch,
};
use crate::{
    Error,
    cuda::{bind, driver_error, is_captured},
};

/// How long the host sleeps between two questions whether something is done.
pub(super) const PAUSE: Duration = Duration::from_micros(100);
/// How long it asks without sleeping: a wait for a kernel or two should not become longer.
const SPINNING: Duration = Duration::from_millis(2);

/// Bytes at the end of each part, by which its receiver knows that it is of this exchange. A rank that aborts ends its
/// kernel, which no longer waits for the parts of others but passes on whatever is in its buffers.
pub(crate) const TAG_BYTES: usize = 8;

/// A rank of a communicator.
#[derive(Debug)]
pub(crate) struct Communicator {
    shared: Arc<Shared>,
    watch: Watch,
    /// How many exchanges there have been, which are numbered from 1.
    exchanges: AtomicU32,
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

// SAFETY: NCCL allows the use of a communicator by any thread, and to abort one from another thread than that whose
// call waits; all other calls are made by one thread at a time.
unsafe impl Send for State {}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
    /// Joins the other ranks, for work in the stream's context. If they do not come in time, the thread that waits for
    /// them is left to NCCL.
    pub(crate) fn join(joining: Joining, stream: &Arc<CudaStream>, deadline: Duration) -> Result<Self, Error> {
        let (nccl, start, (done, waited)) = (load()?, Instant::now(), mpsc::sync_channel(1));
        let Joining { rank, size, .. } = joining;
        let stream = stream.clone();
        let join = move || {
            // If the caller waits no longer, it is dropped, and so aborted.
            _ = done.send(bind(&stream).and_then(|()| Ok(Shared::join(nccl, joining)?)));
        };
        let what = "joining the world";
        let thread = thread::Builder::new().name("scan-join".to_owned()).spawn(join);
        thread.map_err(|error| WorldError::Process {
            rank,
            problem: "has no thread to join the others".to_owned(),
            source: Some(Arc::new(error)),
        })?;
        match waited.recv_timeout(deadline) {
            Ok(joined) => Communicator::of(joined?),
            Err(_) => {
                let missing = format!("some of {size} ranks");
                Err(WorldError::TimedOut { rank, missing, what, waited: start.elapsed() }.into())
            }
        }
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
        Communicator::of(Shared { nccl, rank: rank as usize, size: size as usize, state: Mutex::new(state) })
    }

    /// Without a thread that watches, a call would wait for ever for a rank that is gone.
    fn of(shared: Shared) -> Result<Self, Error> {
        let (rank, shared) = (shared.rank, Arc::new(shared));
        let watch = Watch::new(shared.clone()).map_err(|error| WorldError::Process {
            rank,
            problem: "has no thread to watch the others".to_owned(),
            source: Some(Arc::new(error)),
        })?;
        Ok(Communicator { watch, shared, exchanges: AtomicU32::new(0) })
    }

    pub(crate) fn rank(&self) -> usize {
        self.shared.rank
    }

    pub(crate) fn size(&self) -> usize {
        self.shared.size
    }

    /// Ends the communicator of this rank. The others find it gone, by an error of NCCL or by their deadlines.
    pub(crate) fn lose(&self, error: WorldError) {
        self.shared.lose(error);
    }

    /// An error if the world is lost.
    pub(crate) fn check(&self) -> Result<(), WorldError> {
        self.shared.usable().map(drop)
    }

    /// Enqueues that `bytes` bytes of each rank are written, in the order of the ranks, to memory of each. The last
    /// [`TAG_BYTES`] of them become the tag. In a graph there is none, as nothing watches its launches.
    ///
    /// # Safety
    ///
    /// `from` are `bytes` bytes of device memory, and `to` as many for each rank, which work of this stream may use.
    /// The tag begins at a multiple of four bytes.
    pub(crate) unsafe fn all_gather(
        &self,
        stream: &Arc<CudaStream>,
        (from, to, bytes): (sys::CUdeviceptr, sys::CUdeviceptr, usize),
        what: &'static str,
        deadline: Duration,
    ) -> Result<(), Error> {
        let shared = &self.shared;
        if is_captured(stream)? {
            // SAFETY: the caller vouches for the memory.
            return unsafe { self.enqueue(stream, (from, to, bytes)) };
        }
        let number = self.exchanges.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let tag = Tag { number, rank: shared.rank, size: shared.size };
        let marks = self.watch.begin(stream, tag.size, what, deadline)?;
        // SAFETY: the caller vouches for the memory.
        unsafe {
            tag.write(stream, from, bytes)?;
            self.enqueue(stream, (from, to, bytes))?;
            tag.read_all(stream, to, bytes, &marks)?;
        }
        self.watch.end(stream, marks, tag, what, deadline)
    }

    /// Enqueues an exchange.
    ///
    /// # Safety
    ///
    /// As for [`all_gather`](Communicator::all_gather).
    unsafe fn enqueue(
        &self,
        stream: &Arc<CudaStream>,
        (from, to, bytes): (sys::CUdeviceptr, sys::CUdeviceptr, usize),
    ) -> Result<(), Error> {
        let shared = &self.shared;
        let comm = shared.usable()?.comm;
        let (from, to) = (from as *const c_void, to as *mut c_void);
        // SAFETY: the caller vouches for the memory. The communicator is alive, or the thread that watches aborts it
        // meanwhile, which NCCL allows, and the call returns an error.
        let code = unsafe { (shared.nccl.ncclAllGather)(from, to, bytes, BYTE, comm, stream.cu_stream().cast()) };
        if code != SUCCESS {
            return Err(shared.lose(shared.nccl.error("ncclAllGather", code, ptr::null_mut())).into());
        }
        Ok(())
    }

    /// Waits for the stream, unless the world is lost meanwhile.
    pub(crate) fn synchronize(&self, stream: &Arc<CudaStream>) -> Result<(), Error> {
        let end = stream.record_event(None).map_err(driver_error("recording an event"))?;
        let start = Instant::now();
        while !end.is_complete() {
            self.check()?;
            if start.elapsed() > SPINNING { thread::sleep(PAUSE) } else { hint::spin_loop() }
        }
        self.check()?;
        stream.synchronize().map_err(driver_error("waiting for a stream"))?;
        self.watch.verify_done().map_err(|error| self.shared.lose(error))?;
        Ok(())
    }
}

impl Shared {
    fn join(nccl: &'static Nccl, Joining { id, rank, size }: Joining) -> Result<Self, WorldError> {
        let (mut comm, id) = (ptr::null_mut(), UniqueId(*id.as_bytes()));
        // SAFETY: the pointer is good for a write; the context is bound.
        let code = unsafe { (nccl.ncclCommInitRank)(&mut comm, size as c_int, id, rank as c_int) };
        nccl.check("ncclCommInitRank", code)?;
        Ok(Shared { nccl, rank, size, state: Mutex::new(State { comm, is_owned: true, lost: None }) })
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

    /// An error of the work that has been enqueued.
    pub(super) fn failure(&self) -> Option<WorldError> {
        let (state, mut code) = (self.usable().ok()?, SUCCESS);
        // SAFETY: the communicator is alive while it is locked; the pointer is good for a write.
        let asked = unsafe { (self.nccl.ncclCommGetAsyncError)(state.comm, &mut code) };
        let code = if asked == SUCCESS { code } else { asked };
        let is_well = matches!(code, SUCCESS | IN_PROGRESS);
        (!is_well).then(|| self.nccl.error("a collective operation", code, state.comm))
    }

    pub(super) fn timed_out(&self, what: &'static str, waited: Duration) -> WorldError {
        WorldError::TimedOut { rank: self.rank, missing: "the other ranks".to_owned(), what, waited }
    }

    /// Ends the communicator, so that its work ends; gives the first error.
    pub(super) fn lose(&self, error: WorldError) -> WorldError {
        let mut state = self.lock();
        let first = state.lost.get_or_insert(error).clone();
        self.abort(&mut state);
        first
    }

    fn abort(&self, state: &mut State) {
        let comm = mem::replace(&mut state.comm, ptr::null_mut());
        if !comm.is_null() {
            // SAFETY: it is alive, and is used no more. An error leaves nothing to be done.
            unsafe { (self.nccl.ncclCommAbort)(comm) };
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut state = self.lock();
        if state.is_owned {
            self.abort(&mut state);
        }
    }
}

//! The thread that watches what has been enqueued: work of several ranks that waits for one that does not come would
//! keep the stream for ever.

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use cudarc::driver::{CudaEvent, CudaStream};

use super::{
    WorldError,
    communicator::{PAUSE, Shared},
};
use crate::{Error, cuda::driver_error};

/// The longest pause between two looks at work that takes its time.
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// A thread that watches the work of a communicator.
#[derive(Debug)]
pub(super) struct Watch {
    queue: Arc<Queue>,
}

#[derive(Debug)]
struct Queue {
    watched: Mutex<Watched>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Watched {
    operations: VecDeque<Operation>,
    /// Events that are free.
    events: Vec<CudaEvent>,
    has_ended: bool,
}

/// Work of several ranks on a stream.
#[derive(Debug)]
struct Operation {
    before: CudaEvent,
    after: CudaEvent,
    what: &'static str,
    deadline: Duration,
}

impl Watch {
    /// Begins to watch. Without a thread nothing is watched but the calls.
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let queue = Arc::new(Queue { watched: Mutex::default(), changed: Condvar::new() });
        let seen = queue.clone();
        // Where there is no thread for it, `synchronize` of the stream waits for ever for a rank that is gone.
        if thread::Builder::new().name("scan-world".to_owned()).spawn(move || seen.watch(&shared)).is_err() {
            tracing::warn!("no thread watches the deadline of other ranks");
        }
        Watch { queue }
    }

    /// Marks where the stream comes to an operation.
    pub(super) fn begin(&self, stream: &Arc<CudaStream>) -> Result<CudaEvent, Error> {
        let event = self.event(stream)?;
        event.record(stream).map_err(driver_error("recording an event"))?;
        Ok(event)
    }

    /// Watches the operation that has been enqueued since.
    pub(super) fn end(
        &self,
        stream: &Arc<CudaStream>,
        before: CudaEvent,
        what: &'static str,
        deadline: Duration,
    ) -> Result<(), Error> {
        let after = self.begin(stream)?;
        self.queue.lock().operations.push_back(Operation { before, after, what, deadline });
        self.queue.changed.notify_one();
        Ok(())
    }

    fn event(&self, stream: &Arc<CudaStream>) -> Result<CudaEvent, Error> {
        if let Some(event) = self.queue.lock().events.pop() {
            return Ok(event);
        }
        stream.context().new_event(None).map_err(driver_error("creating an event"))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.queue.lock().has_ended = true;
        self.queue.changed.notify_one();
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next operation; `None` at the end.
    fn next(&self) -> Option<Operation> {
        let mut watched = self.lock();
        loop {
            if let Some(operation) = watched.operations.pop_front() {
                return Some(operation);
            }
            if watched.has_ended {
                return None;
            }
            watched = self.changed.wait(watched).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn watch(&self, shared: &Shared) {
        while let Some(operation) = self.next() {
            if let Err(error) = operation.wait(shared) {
                shared.lose(error);
                return;
            }
            self.lock().events.extend([operation.before, operation.after]);
        }
    }
}

impl Operation {
    /// Waits until it is done.
    fn wait(&self, shared: &Shared) -> Result<(), WorldError> {
        let mut pause = PAUSE;
        let mut begun = None;
        while !self.after.is_complete() {
            if let Some(failure) = shared.failure() {
                return Err(failure);
            }
            if begun.is_none() && self.before.is_complete() {
                begun = Some(Instant::now());
            }
            let waited = begun.map_or(Duration::ZERO, |begun: Instant| begun.elapsed());
            if waited > self.deadline {
                return Err(shared.timed_out(self.what, waited));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(())
    }
}

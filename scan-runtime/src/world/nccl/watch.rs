//! The thread that watches calls and the work that they enqueue: work that waits for a rank which does not come would keep
//! the stream for ever.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
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
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Queue {
    watched: Mutex<Watched>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Watched {
    /// A call that has not returned: since when, until when, and what it does.
    call: Option<(Instant, Duration, &'static str)>,
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
    /// Begins to watch.
    pub(super) fn new(shared: Arc<Shared>) -> io::Result<Self> {
        let queue = Arc::new(Queue { watched: Mutex::default(), changed: Condvar::new() });
        let seen = queue.clone();
        let thread = thread::Builder::new().name("scan-world".to_owned()).spawn(move || seen.watch(&shared));
        Ok(Watch { queue, thread: Some(thread?) })
    }

    /// Marks where the stream comes to an operation, before the call that enqueues it.
    pub(super) fn begin(
        &self,
        stream: &Arc<CudaStream>,
        what: &'static str,
        deadline: Duration,
    ) -> Result<CudaEvent, Error> {
        let before = self.mark(stream)?;
        self.queue.lock().call = Some((Instant::now(), deadline, what));
        self.queue.changed.notify_one();
        Ok(before)
    }

    /// Watches the operation that the call has enqueued.
    pub(super) fn end(
        &self,
        stream: &Arc<CudaStream>,
        before: CudaEvent,
        what: &'static str,
        deadline: Duration,
    ) -> Result<(), Error> {
        let after = self.mark(stream)?;
        let mut watched = self.queue.lock();
        watched.call = None;
        watched.operations.push_back(Operation { before, after, what, deadline });
        Ok(())
    }

    fn mark(&self, stream: &Arc<CudaStream>) -> Result<CudaEvent, Error> {
        let free = self.queue.lock().events.pop();
        let event = match free {
            Some(event) => event,
            None => stream.context().new_event(None).map_err(driver_error("creating an event"))?,
        };
        event.record(stream).map_err(driver_error("recording an event"))?;
        Ok(event)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.queue.lock().has_ended = true;
        self.queue.changed.notify_one();
        // It has lost the world if it panicked, which its drop shows soon enough.
        _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next operation; `None` at the end, an error where a call does not return.
    fn next(&self, shared: &Shared) -> Result<Option<Operation>, WorldError> {
        let mut watched = self.lock();
        loop {
            if let Some(operation) = watched.operations.pop_front() {
                return Ok(Some(operation));
            }
            watched = match watched.call {
                Some((since, deadline, what)) if since.elapsed() > deadline => {
                    return Err(shared.timed_out(what, since.elapsed()));
                }
                Some(_) => self.changed.wait_timeout(watched, LONGEST_PAUSE).unwrap_or_else(PoisonError::into_inner).0,
                None if watched.has_ended => return Ok(None),
                None => self.changed.wait(watched).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn watch(&self, shared: &Shared) {
        let watch = || -> Result<(), WorldError> {
            while let Some(operation) = self.next(shared)? {
                operation.wait(shared)?;
                self.lock().events.extend([operation.before, operation.after]);
            }
            Ok(())
        };
        if let Err(error) = watch() {
            shared.lose(error);
        }
    }
}

impl Operation {
    /// Waits until it is done.
    fn wait(&self, shared: &Shared) -> Result<(), WorldError> {
        let (mut pause, mut begun) = (PAUSE, None);
        while !self.after.is_complete() {
            if let Some(failure) = shared.failure() {
                return Err(failure);
            }
            if begun.is_none() && self.before.is_complete() {
                begun = Some(Instant::now());
            }
            let waited = begun.map_or(Duration::ZERO, |begun| begun.elapsed());
            if waited > self.deadline {
                return Err(shared.timed_out(self.what, waited));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        Ok(())
    }
}

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
    communicator::{PAUSE, Shared, TAG_BYTES},
    tag::Tag,
};
use crate::{
    Error,
    cuda::{LockedMemory, driver_error},
};

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
    operations: VecDeque<Arc<Operation>>,
    /// Those of earlier operations.
    free: Vec<Marks>,
    has_ended: bool,
}

/// Where an operation begins and ends on its stream, and the tags that it has brought.
#[derive(Debug)]
pub(super) struct Marks {
    before: CudaEvent,
    after: CudaEvent,
    pub(super) tags: LockedMemory,
}

/// Work of several ranks on a stream.
#[derive(Debug)]
struct Operation {
    marks: Marks,
    tag: Tag,
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
        ranks: usize,
        what: &'static str,
        deadline: Duration,
    ) -> Result<Marks, Error> {
        let free = self.queue.lock().free.pop();
        let event = || stream.context().new_event(None).map_err(driver_error("creating an event"));
        let marks = match free {
            Some(marks) => marks,
            None => {
                let tags = LockedMemory::new(stream.context(), ranks * TAG_BYTES)?;
                Marks { before: event()?, after: event()?, tags }
            }
        };
        marks.before.record(stream).map_err(driver_error("recording an event"))?;
        self.queue.lock().call = Some((Instant::now(), deadline, what));
        self.queue.changed.notify_one();
        Ok(marks)
    }

    /// Watches the operation that the call has enqueued.
    pub(super) fn end(
        &self,
        stream: &Arc<CudaStream>,
        marks: Marks,
        tag: Tag,
        what: &'static str,
        deadline: Duration,
    ) -> Result<(), Error> {
        marks.after.record(stream).map_err(driver_error("recording an event"))?;
        let mut watched = self.queue.lock();
        watched.call = None;
        watched.operations.push_back(Arc::new(Operation { marks, tag, what, deadline }));
        Ok(())
    }

    /// An error if an operation that is done has not brought the parts of all ranks.
    pub(super) fn verify_done(&self) -> Result<(), WorldError> {
        loop {
            let operation = match self.queue.lock().operations.front() {
                Some(operation) if operation.marks.after.is_complete() => operation.clone(),
                _ => return Ok(()),
            };
            operation.verify()?;
            self.queue.finish(operation);
        }
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
    fn next(&self, shared: &Shared) -> Result<Option<Arc<Operation>>, WorldError> {
        let mut watched = self.lock();
        loop {
            if let Some(operation) = watched.operations.front() {
                return Ok(Some(operation.clone()));
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

    /// Forgets an operation that has been verified. The last one who does keeps its marks for later ones.
    fn finish(&self, operation: Arc<Operation>) {
        let mut watched = self.lock();
        if watched.operations.front().is_some_and(|front| Arc::ptr_eq(front, &operation)) {
            watched.operations.pop_front();
        }
        watched.free.extend(Arc::into_inner(operation).map(|operation| operation.marks));
    }

    fn watch(&self, shared: &Shared) {
        let watch = || -> Result<(), WorldError> {
            while let Some(operation) = self.next(shared)? {
                operation.wait(shared)?;
                operation.verify()?;
                self.finish(operation);
            }
            Ok(())
        };
        if let Err(error) = watch() {
            shared.lose(error);
        }
    }
}

impl Operation {
    fn verify(&self) -> Result<(), WorldError> {
        self.tag.verify(&self.marks, self.what)
    }

    /// Waits until it is done.
    fn wait(&self, shared: &Shared) -> Result<(), WorldError> {
        let (mut pause, mut begun) = (PAUSE, None);
        while !self.marks.after.is_complete() {
            if let Some(failure) = shared.failure() {
                return Err(failure);
            }
            if begun.is_none() && self.marks.before.is_complete() {
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

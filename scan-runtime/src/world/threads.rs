//! Ranks that are threads of one process, and scan host memory.

use std::{
    any::Any,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{DEADLINE, World, WorldError};
use crate::Host;

/// What a rank gives to the others.
pub(super) type Part = Arc<dyn Any + Send + Sync>;

/// A rank that is a thread.
#[derive(Debug)]
pub struct Thread {
    meeting: Arc<Meeting>,
    pub(super) rank: usize,
    pub(super) deadline: Duration,
}

/// Where the threads exchange their parts.
#[derive(Debug)]
struct Meeting {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// The part of each rank that has come to this exchange.
    parts: Vec<Option<Part>>,
    /// The parts of all ranks, until each has taken them.
    complete: Option<Arc<Vec<Part>>>,
    taken: usize,
    /// A rank that has left.
    gone: Option<usize>,
    lost: Option<WorldError>,
}

impl World<Host> {
    /// A world of so many ranks that are threads of this process and scan host memory: to try a program that runs on
    /// several GPUs where there is none, and to test it with more ranks than there are GPUs. It is the same protocol.
    /// Move each of these to a thread of its own; one that is dropped has left the world. [`Scan::across`] has an
    /// example.
    ///
    /// [`Scan::across`]: crate::Scan::across
    pub fn of_threads(size: usize) -> Vec<World<Host>> {
        let state = State { parts: vec![None; size], complete: None, taken: 0, gone: None, lost: None };
        let meeting = Arc::new(Meeting { state: Mutex::new(state), changed: Condvar::new() });
        let thread = |rank| Thread { meeting: meeting.clone(), rank, deadline: DEADLINE };
        (0..size).map(|rank| World::new(thread(rank))).collect()
    }
}

impl Meeting {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change until the deadline; `None` if it has passed.
    fn wait<'a>(&self, state: MutexGuard<'a, State>, until: Instant) -> Option<MutexGuard<'a, State>> {
        let left = until.checked_duration_since(Instant::now())?;
        Some(self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0)
    }
}

impl Thread {
    pub(super) fn size(&self) -> usize {
        self.meeting.lock().parts.len()
    }

    /// Gives a part, and waits for those of the other ranks.
    pub(super) fn exchange(&self, what: &'static str, part: Part) -> Result<Arc<Vec<Part>>, WorldError> {
        let (rank, start) = (self.rank, Instant::now());
        let until = start + self.deadline;
        let mut state = self.meeting.lock();
        let mut given = Some(part);
        loop {
            if let Some(cause) = &state.lost {
                return Err(WorldError::Lost { cause: Box::new(cause.clone()) });
            }
            match (&mut given, &state.complete) {
                // Others have not yet taken what the exchange before gave.
                (Some(_), Some(_)) => {}
                (part @ Some(_), None) => {
                    state.parts[rank] = part.take();
                    if state.parts.iter().all(Option::is_some) {
                        let parts = state.parts.iter_mut().filter_map(Option::take).collect();
                        state.complete = Some(Arc::new(parts));
                        self.meeting.changed.notify_all();
                    }
                    continue;
                }
                (None, Some(complete)) if state.parts[rank].is_none() => {
                    let complete = complete.clone();
                    state.taken += 1;
                    if state.taken == state.parts.len() {
                        (state.taken, state.complete) = (0, None);
                        self.meeting.changed.notify_all();
                    }
                    return Ok(complete);
                }
                (None, _) => {}
            }
            let lost = match state.gone.filter(|gone| state.complete.is_none() && state.parts[*gone].is_none()) {
                Some(gone) => WorldError::Gone { rank, gone, what },
                None => match self.meeting.wait(state, until) {
                    Some(changed) => {
                        state = changed;
                        continue;
                    }
                    None => {
                        state = self.meeting.lock();
                        let missing: Vec<_> =
                            (0..state.parts.len()).filter(|rank| state.parts[*rank].is_none()).collect();
                        let missing = format!("ranks {missing:?}");
                        WorldError::TimedOut { rank, missing, what, waited: start.elapsed() }
                    }
                },
            };
            state.lost.get_or_insert(lost.clone());
            self.meeting.changed.notify_all();
            return Err(lost);
        }
    }

    /// Makes the world lost for all ranks. The first error counts.
    pub(super) fn lose(&self, error: WorldError) {
        self.meeting.lock().lost.get_or_insert(error);
        self.meeting.changed.notify_all();
    }

    /// An error if the world is lost.
    pub(super) fn check(&self) -> Result<(), WorldError> {
        match &self.meeting.lock().lost {
            Some(cause) => Err(WorldError::Lost { cause: Box::new(cause.clone()) }),
            None => Ok(()),
        }
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.meeting.lock().gone.get_or_insert(self.rank);
        self.meeting.changed.notify_all();
    }
}

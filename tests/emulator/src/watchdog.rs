//! Ends the process where a kernel runs on without doing anything that the emulator sees: an endless loop over a thread's own
//! variables, which no count of accesses ends. A thread of a kernel cannot be stopped from outside, so that there is no fault to
//! return; without this a test would hang, and nobody be told which.

use std::{
    sync::{
        Arc, Mutex, Once, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// How long a thread of a kernel may run before it comes back to the emulator. It shares the machine's cores with much else.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// How often the watchdog looks.
const PERIOD: Duration = Duration::from_millis(250);

/// A launch that is watched, as long as this is kept.
pub(super) struct Watched {
    what: String,
    patience: Duration,
    /// How often threads have been resumed.
    resumed: AtomicU64,
}

static ALL: Mutex<Vec<Weak<Watched>>> = Mutex::new(Vec::new());

/// Has a launch watched.
pub(super) fn watch(what: String, patience: Duration) -> Arc<Watched> {
    static START: Once = Once::new();
    let watched = Arc::new(Watched { what, patience, resumed: AtomicU64::new(0) });
    ALL.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&watched));
    START.call_once(|| {
        // Without a thread to be had, nothing is watched.
        drop(thread::Builder::new().name("emulator-watchdog".to_owned()).spawn(keep_watch));
    });
    watched
}

impl Watched {
    /// A thread of the kernel is about to run.
    pub(super) fn resume(&self) {
        self.resumed.fetch_add(1, Ordering::Relaxed);
    }
}

fn keep_watch() {
    // Launches, how often their threads had been resumed when that last changed, and since when it has not.
    let mut seen: Vec<(Weak<Watched>, u64, Instant)> = Vec::new();
    loop {
        thread::sleep(PERIOD);
        let now = Instant::now();
        seen.extend(ALL.lock().unwrap_or_else(PoisonError::into_inner).drain(..).map(|watched| (watched, 0, now)));
        seen.retain_mut(|(watched, resumed, since)| {
            let Some(watched) = watched.upgrade() else { return false };
            let resumed_now = watched.resumed.load(Ordering::Relaxed);
            if *resumed != resumed_now {
                (*resumed, *since) = (resumed_now, now);
            } else if now.duration_since(*since) > watched.patience {
                let Watched { what, patience, .. } = &*watched;
                eprintln!("{what}: a thread has run for {patience:?} without an access or a barrier: an endless loop?");
                std::process::abort();
            }
            true
        });
    }
}

//! Ends the process with the name of the test if a test hangs: a wait that never ends would otherwise not fail.

use std::{
    io::{Write, stderr},
    process,
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

/// A time limit that holds until it is dropped.
#[derive(Debug)]
#[must_use = "the limit ends when this is dropped"]
pub struct TimeLimit {
    _disarm: Sender<()>,
}

impl TimeLimit {
    /// A limit of `seconds` from now for the test on this thread, whose name is the test's.
    pub fn seconds(seconds: u64) -> Self {
        let (disarm, disarmed) = channel();
        // Miri takes a thousand times as long.
        let seconds = if cfg!(miri) { seconds * 1000 } else { seconds };
        let name = thread::current().name().unwrap_or("a test").to_owned();
        thread::spawn(move || {
            if disarmed.recv_timeout(Duration::from_secs(seconds)) == Err(RecvTimeoutError::Timeout) {
                // Not by `eprintln!`, whose text the test harness keeps until the test has ended.
                let _ = writeln!(stderr(), "\n{name} has run for {seconds} s: it hangs");
                process::abort();
            }
        });
        TimeLimit { _disarm: disarm }
    }
}

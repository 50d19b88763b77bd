//! Turns of processes that need the same kernel at once: one compiles it, the others wait and read what it has stored.

use std::{path::Path, time::Duration};

use super::{Key, RANDOM, UNFINISHED};

/// How long a process waits for another one's compiler. One that has not ended then has most likely been stopped.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often a process asks whether its turn has come.
#[cfg(unix)]
const PAUSE: Duration = Duration::from_millis(5);

/// The turn of this process to compile the kernel of a key. It ends when this is dropped, or the process ends.
pub(crate) struct Turn {
    #[cfg(unix)]
    _locked: unix::Locked,
}

impl Turn {
    /// Waits for the turn in this folder, in which kernels are kept. `None` where files cannot be locked, or another
    /// process has had its turn for too long: then several processes compile, and each stores the same.
    pub(super) fn of(folder: &Path, key: &Key) -> Option<Self> {
        // A process that is killed leaves the file, which is removed as one that was left unfinished.
        let name = format!("{UNFINISHED}{}", key.to_hex().get(..RANDOM).unwrap_or_default());
        #[cfg(unix)]
        return Some(Turn { _locked: unix::Locked::at(folder.join(name), PATIENCE)? });
        #[cfg(not(unix))]
        {
            let _ = (folder, name, PATIENCE);
            None
        }
    }
}

#[cfg(unix)]
mod unix {
    use std::{
        fs::{self, File},
        path::PathBuf,
        thread,
        time::{Duration, Instant},
    };

    use rustix::{
        fs::{FlockOperation, flock},
        io::Errno,
    };

    use super::PAUSE;

    /// A file of this path, locked until this is dropped.
    pub(super) struct Locked {
        path: PathBuf,
        _file: File,
    }

    impl Locked {
        /// `None` where it cannot be locked, or another process has kept it locked for so long.
        pub(super) fn at(path: PathBuf, patience: Duration) -> Option<Self> {
            let file = File::options().create(true).append(true).open(&path).ok()?;
            let begin = Instant::now();
            loop {
                match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                    Ok(()) => return Some(Locked { path, _file: file }),
                    Err(Errno::WOULDBLOCK | Errno::INTR) if begin.elapsed() < patience => thread::sleep(PAUSE),
                    Err(Errno::WOULDBLOCK | Errno::INTR) => {
                        tracing::warn!(
                            file = %path.display(),
                            seconds = patience.as_secs(),
                            "another process still compiles a kernel that this one waits for; it is compiled here, too"
                        );
                        return None;
                    }
                    Err(_) => return None,
                }
            }
        }
    }

    impl Drop for Locked {
        /// Processes that wait have opened the file. One that comes later makes another file, and finds the entry.
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use super::{Duration, unix::Locked};

    #[test]
    fn a_turn_is_given_up_after_a_while_and_taken_once_it_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = || folder.path().join("turn");
        let first = Locked::at(path(), Duration::ZERO);
        assert!(first.is_some() && Locked::at(path(), Duration::from_millis(20)).is_none());
        let waiting = std::thread::scope(|threads| {
            let second = threads.spawn(|| Locked::at(path(), Duration::from_secs(60)).is_some());
            drop(first);
            second.join().unwrap()
        });
        assert!(waiting && !path().exists());
    }
}

//! Copies in host memory, by several threads.

use std::{
    ptr,
    sync::{Arc, LazyLock},
    thread,
};

use super::{Staging, pieces::Pieces};

/// The number of bytes that a thread copies at a time.
const PIECE: usize = if cfg!(miri) { 1 << 7 } else { 128 << 10 };
/// This many threads copy faster than the bus.
const MAX_THREADS: usize = 8;

/// Threads that only copy, so that they are available to every call, even if the program's own threads are waiting.
static HELPERS: LazyLock<Option<rayon::ThreadPool>> = LazyLock::new(|| {
    let threads = (*CORES).min(MAX_THREADS) - 1;
    let name = |index| format!("scan-copy-{index}");
    // Without them, the caller copies alone.
    (threads > 0).then(|| rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build().ok()).flatten()
});

static CORES: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));

/// The default number of threads that copy, including the caller: some cores are left to the program.
fn usual_threads() -> usize {
    (*CORES / 2).min(MAX_THREADS)
}

/// A copy that several threads share.
struct Shared {
    from: *const u8,
    to: *mut u8,
    bytes: usize,
    pieces: Pieces,
}

// SAFETY: each piece is copied by the one thread that took its number, while the caller of `copy` waits; see there.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Copies pieces until none is left.
    fn work(&self) {
        self.pieces.work(|piece| {
            let start = piece * PIECE;
            // SAFETY: the piece lies within the copy, and nobody else has it. The memory is there: the caller of `copy` waits for
            // this piece.
            unsafe {
                ptr::copy_nonoverlapping(self.from.add(start), self.to.add(start), PIECE.min(self.bytes - start))
            };
        });
    }
}

/// Copies bytes, initialised or not, by as many threads as they are worth.
///
/// # Safety
///
/// As for [`ptr::copy_nonoverlapping`].
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize, staging: &Staging) {
    let is_shared = bytes >= staging.shared_bytes.max(PIECE);
    let threads = if is_shared { staging.copy_threads.unwrap_or_else(usual_threads) } else { 1 };
    let helpers = if threads < 2 { None } else { HELPERS.as_ref() };
    let Some(helpers) = helpers else {
        // SAFETY: the caller guarantees it.
        unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
        return;
    };
    let shared = Arc::new(Shared { from, to, bytes, pieces: Pieces::new(bytes.div_ceil(PIECE)) });
    for _ in 0..helpers.current_num_threads().min(threads - 1).min(shared.pieces.count() - 1) {
        let shared = shared.clone();
        helpers.spawn(move || shared.work());
    }
    shared.work();
    shared.pieces.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_copied_by_any_number_of_threads() {
        let mixed = |i: usize| (i * 31 + i / 251) as u8;
        let shared_bytes = 3 * PIECE;
        for bytes in [0, 1, PIECE, shared_bytes - 1, shared_bytes, shared_bytes + 1, 9 * PIECE + 17] {
            thread::scope(|scope| {
                for copy_threads in (0..6).map(Some).chain([None]) {
                    scope.spawn(move || {
                        let staging = Staging { copy_threads, shared_bytes, ..Staging::default() };
                        let from: Vec<u8> = (0..bytes).map(mixed).collect();
                        let mut to = vec![0; bytes + 1];
                        // SAFETY: both have this many bytes.
                        unsafe { copy(from.as_ptr(), to.as_mut_ptr(), bytes, &staging) };
                        assert!(to[..bytes] == from[..] && to[bytes] == 0, "{bytes}");
                    });
                }
            });
        }
    }
}

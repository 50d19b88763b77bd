//! How chunks of rounded states are scanned where the caller allows any grouping: by the plain loop or by blocks.
//!
//! The plain loop waits for one state after the other. Blocks do not, but apply the operator twice to each element.
//! Which of both takes less time depends on the operator: affine pairs take half the time by blocks, log-sum-exp twice
//! the time. So both ways are timed, in the first chunks after the very first one.

use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    time::Instant,
};

/// Elements of a chunk that the plain loop scans on trial; the rest of the chunk goes by blocks. Few, because a state
/// that is no normal float makes this loop a hundred times slower.
pub(super) const TRIAL: usize = 512;

/// Chunks on trial. The shortest times count.
const TRIALS: usize = 3;

/// The time of each way so far.
pub(super) struct Grouping {
    trials: AtomicUsize,
    /// The bits of the shortest time of an element in seconds, by blocks and by hand.
    shortest: [AtomicU64; 2],
}

// No memory is shared by these numbers, and a wrong choice costs time alone.
const RELAXED: Ordering = Ordering::Relaxed;

impl Grouping {
    pub(super) fn new() -> Self {
        let never = || AtomicU64::new(f64::INFINITY.to_bits());
        Grouping { trials: AtomicUsize::new(0), shortest: [never(), never()] }
    }

    /// Whether chunks are scanned by hand, if that is known.
    pub(super) fn is_by_hand(&self) -> Option<bool> {
        let [by_blocks, by_hand] = [0, 1].map(|way| self.shortest[way].load(RELAXED));
        (self.trials.load(RELAXED) >= TRIALS).then_some(by_hand < by_blocks)
    }

    /// Scans `elements` of a chunk on trial.
    pub(super) fn timed<T>(&self, by_hand: bool, elements: usize, scan: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let scanned = scan();
        self.note(by_hand, begin.elapsed().as_secs_f64() / elements as f64);
        scanned
    }

    fn note(&self, by_hand: bool, time: f64) {
        // The bits of positive floats are ordered as they are.
        self.shortest[usize::from(by_hand)].fetch_min(time.to_bits(), RELAXED);
        if !by_hand {
            self.trials.fetch_add(1, RELAXED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faster_way_is_taken_once_both_are_timed() {
        for by_hand in [false, true] {
            let grouping = Grouping::new();
            for time in [3.0, 1.0, 2.0] {
                assert_eq!(grouping.is_by_hand(), None);
                grouping.note(true, if by_hand { time } else { 2.5 * time });
                grouping.note(false, if by_hand { 2.5 * time } else { time });
            }
            assert_eq!(grouping.is_by_hand(), Some(by_hand));
        }
    }
}

//! Whether several threads take less time than one for an operator that has a step.
//!
//! One thread moves the carry on, input by input. Others do not know the carry, and fold their inputs into a partial
//! result: a function from carries to carries, which costs as much as a step or twenty times as much. The instructions
//! of kernels do not tell which (`docs/tuning.md#the-cpu-backend`), so that a few inputs are folded on trial. The
//! answer may differ from call to call. It is asked only where any grouping gives the same bits, and so results do not
//! depend on it.

use std::time::Instant;

/// Inputs that are folded on trial, and how often. The shortest time counts.
pub(super) const TRIAL: usize = 512;
const TRIALS: usize = 3;

/// The part of their time that threads work where they share a call.
const SHARED: f64 = 0.8;

/// Whether `threads` of them, which fold each input in `fold` seconds, are expected to take less time than one that
/// takes `step` seconds for its step.
pub(super) fn gains(step: f64, fold: f64, threads: usize) -> bool {
    fold < step * threads as f64 * SHARED
}

/// The shortest time that it takes, in seconds.
pub(super) fn shortest(mut trial: impl FnMut()) -> f64 {
    let mut timed = || {
        let begin = Instant::now();
        trial();
        begin.elapsed().as_secs_f64()
    };
    (0..TRIALS).map(|_| timed()).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_that_cost_as_much_as_a_step_are_shared_by_two_threads_and_others_by_more() {
        let min = |fold| (2..100).find(|threads| gains(1.0, fold, *threads));
        assert_eq!([0.5, 1.0, 1.3, 13.0, 1e3].map(min), [Some(2), Some(2), Some(2), Some(17), None]);
    }
}

//! Stepped operators, and operators that append inputs, on the device.

use scan_tests::stepped::COMPARISONS;

use crate::{Trials, older::scanner};

const LENGTHS: [usize; 5] = [0, 1, 33, 1_019, 12_345];
const LARGE: [usize; 2] = [300_007, 5_000_003];

pub(crate) fn add(trials: &mut Trials) {
    for (name, compare) in COMPARISONS {
        trials.add(format!("stepped_operators_{name}"), move || {
            LENGTHS.into_iter().try_for_each(|len| compare(&scanner()?, len))
        });
        // Apart: each length has kernels of its own, and compiling them takes most of the time.
        for len in LARGE {
            trials.add(format!("large_stepped_operators_{name}_{len}"), move || compare(&scanner()?, len));
        }
    }
}

//! Machines, and operators that append inputs, on the device.

use scan_tests::machines::compare_with_the_loop;

use crate::{Trials, older::scanner};

pub(crate) fn add(trials: &mut Trials) {
    trials.add("machines", || compare_with_the_loop(&scanner()?, &[0, 1, 33, 1_019, 12_345]));
    trials.add("large_machines", || compare_with_the_loop(&scanner()?, &[300_007, 5_000_003]));
}

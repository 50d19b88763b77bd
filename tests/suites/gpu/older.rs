//! What runs on devices older than the one at hand: plans for the limits of the largest of them, compiled to PTX of their
//! architecture, which the driver finishes for the device. The trials are those of the suite that ask for nothing newer.

use std::cell::Cell;

use scan_codegen::{Architecture, DeviceLimits};
use scan_runtime::{Error, Scanner};
use scan_tests::operators::visit_all;

use crate::{Outcome, Trials, gallery, ladder, reduction, segmented};

/// Without asynchronous copies to shared memory, and with them.
const ARCHITECTURES: [Architecture; 2] = [Architecture { major: 7, minor: 5 }, Architecture { major: 8, minor: 0 }];

thread_local! {
    /// The architecture as for which the trial on this thread runs.
    static AS_IF_ON: Cell<Option<Architecture>> = const { Cell::new(None) };
}

pub(crate) fn add(trials: &mut Trials) {
    for architecture in ARCHITECTURES {
        trials.older = Some(architecture);
        visit_all(trials);
        gallery::add(trials);
        ladder::add(trials);
        reduction::add(trials);
        segmented::add(trials);
    }
    trials.older = None;
}

/// Runs a trial whose [`scanner`] is one for this architecture.
pub(crate) fn as_if_on(architecture: Architecture, test: impl FnOnce() -> Outcome) -> Outcome {
    /// Trials that panic leave their thread to others, too.
    struct Reset;

    impl Drop for Reset {
        fn drop(&mut self) {
            AS_IF_ON.set(None);
        }
    }

    AS_IF_ON.set(Some(architecture));
    let _reset = Reset;
    test()
}

/// A scanner on the first device: as it is, or as if it were the one for which the trial runs.
pub(crate) fn scanner() -> Result<Scanner, Error> {
    match AS_IF_ON.get() {
        None => Scanner::cuda(0),
        Some(architecture) => Scanner::builder().device(0).no_cache().as_if_on(DeviceLimits::of(architecture)).build(),
    }
}

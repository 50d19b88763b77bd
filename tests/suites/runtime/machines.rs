//! Machines, and operators that append inputs, on the CPU: the plain loop, on one thread and on several.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_codegen::{DeviceLimits, Overrides, ScanSpec, Segments, plan};
use scan_runtime::{ScanOp, Scanner};
use scan_tests::{
    checked::render,
    machines::{COMPARISONS, Coder},
};

#[test]
fn machines_equal_a_plain_loop() {
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for (name, compare) in COMPARISONS {
            for len in [0, 1, 2, 100, 9_001] {
                let compared = pool.install(|| compare(&Scanner::cpu(), len).map_err(|error| error.to_string()));
                compared.unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }
}

/// A reduction by segments gives `project` of a carry, on every device: the kernels whose last results it takes do not emit.
#[test]
fn emitting_reductions_by_segments_are_refused() {
    let spec = ScanSpec::inclusive().with_segments(Segments::Rows);
    for (spec, emits) in [(spec.clone(), true), (spec.projecting(), false)] {
        let plans = plan(&Coder.source(), &spec, &DeviceLimits::H200, &Overrides::default()).unwrap();
        let text = render(&Coder.source(), plans.longest(), plans.device()).unwrap().text;
        assert_eq!(text.contains("op.emit("), emits, "{spec}");
    }
}

//! The operator language against Rust: the text of every operation and method, compiled by the host's C++ compiler in
//! place of NVRTC, and run on edge values and random ones beside the Rust that it came from.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the harness is a part of the test")]

#[path = "language/mod.rs"]
mod language;

#[test]
fn the_text_means_what_the_rust_means() {
    let report = language::suite().run();
    assert!(report.failures.is_empty(), "{} of {} values differ:\n{}", report.wrong, report.compared, report.failures);
    // A suite that compares little proves little.
    assert!(report.compared > 1_700_000, "only {} values were compared", report.compared);
}

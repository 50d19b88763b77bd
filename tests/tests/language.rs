//! The operator language against Rust: the text of every operation and method, compiled by the host's C++ compiler in
//! place of NVRTC, and run on edge values and random ones beside the Rust that it came from.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the harness is a part of the test")]

#[path = "language/harness.rs"]
mod harness;
#[path = "language/numbers.rs"]
mod numbers;
#[path = "language/statements.rs"]
#[allow(
    clippy::zero_prefixed_literal,
    clippy::precedence,
    clippy::let_and_return,
    clippy::needless_range_loop,
    clippy::identity_op,
    clippy::manual_is_multiple_of,
    clippy::excessive_precision,
    clippy::lossy_float_literal,
    clippy::nonminimal_bool,
    reason = "the language is wider than good style"
)]
mod statements;

#[test]
fn the_text_means_what_the_rust_means() {
    let mut suite = harness::Suite::default();
    numbers::cases(&mut suite);
    statements::cases(&mut suite);
    let report = suite.run();
    assert!(report.failures.is_empty(), "{} of {} values differ:\n{}", report.wrong, report.compared, report.failures);
    // A suite that compares little proves little.
    assert!(report.compared > 1_000_000, "only {} values were compared", report.compared);
}

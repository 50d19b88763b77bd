//! The operator language against Rust: the text of every operation and method, compiled by the host's C++ compiler in
//! place of NVRTC, and run on edge values and random ones beside the Rust that it came from.

#![allow(clippy::unwrap_used, clippy::panic, reason = "the harness is a part of the test")]

use scan_runtime::{Architecture, nvrtc};

#[path = "language/enums.rs"]
#[allow(non_camel_case_types, reason = "a word of C++")]
mod enums;
#[path = "language/functions.rs"]
mod functions;
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
#[path = "language/subset.rs"]
#[allow(clippy::all, reason = "the language is wider than good style")]
mod subset;
#[path = "language/tables.rs"]
mod tables;

#[test]
fn the_text_means_what_the_rust_means() {
    let mut suite = harness::Suite::default();
    numbers::cases(&mut suite);
    statements::cases(&mut suite);
    let report = suite.run("language");
    assert!(report.failures.is_empty(), "{} of {} values differ:\n{}", report.wrong, report.compared, report.failures);
    // A suite that compares little proves little.
    assert!(report.compared > 1_000_000, "only {} values were compared", report.compared);
}

/// What stands outside of the operator: functions, enums, constants, parameters.
fn items() -> harness::Suite {
    let mut suite = harness::Suite::default();
    functions::cases(&mut suite);
    enums::cases(&mut suite);
    tables::cases(&mut suite);
    subset::cases(&mut suite);
    suite
}

#[test]
fn items_mean_what_the_rust_means() {
    let report = items().run("items");
    assert!(report.failures.is_empty(), "{} of {} values differ:\n{}", report.wrong, report.compared, report.failures);
    assert!(report.compared > 15_000, "only {} values were compared", report.compared);
}

#[test]
fn items_compile_for_a_gpu() {
    scan_tests::nvrtc().unwrap();
    let kernels = items().kernels();
    assert!(kernels.len() > 15, "only {}", kernels.len());
    for kernel in kernels {
        let compiled = nvrtc::compile(&kernel, "operator", Architecture { major: 8, minor: 0 });
        let compiled = compiled.unwrap_or_else(|error| panic!("{error}"));
        assert!(compiled.log.is_empty(), "{}: {}", kernel.name, compiled.log);
    }
}

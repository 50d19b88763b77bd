//! The operator language against Rust: operators of every operation, method and statement, to be compiled and run beside
//! the Rust that they came from, on edge values and random ones. Shared by the test on the host and the one on a GPU.

#[allow(clippy::all, unused_parens, unused_braces, reason = "the language is wider than good style")]
pub(crate) mod advances;
pub(crate) mod composed;
#[allow(non_camel_case_types, reason = "a word of C++")]
pub(crate) mod enums;
pub(crate) mod functions;
#[allow(clippy::all, reason = "loops as the language has them")]
pub(crate) mod gathers;
pub(crate) mod halves;
pub(crate) mod harness;
#[allow(
    clippy::all,
    unused_labels,
    unused_parens,
    reason = "the language is wider than good style, and that of macros even more so"
)]
pub(crate) mod hygiene;
pub(crate) mod invariants;
#[allow(
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    clippy::all,
    reason = "words of C++, in places where Rust's style has others"
)]
pub(crate) mod names;
#[allow(clippy::bool_comparison, reason = "what is compared is how the text compares")]
pub(crate) mod numbers;
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
pub(crate) mod statements;
#[allow(clippy::all, reason = "the language is wider than good style")]
pub(crate) mod subset;
pub(crate) mod tables;

/// All operators.
pub(crate) fn suite() -> harness::Suite {
    let mut suite = harness::Suite::default();
    numbers::cases(&mut suite);
    halves::cases(&mut suite);
    statements::cases(&mut suite);
    hygiene::cases(&mut suite);
    invariants::cases(&mut suite);
    gathers::cases(&mut suite);
    advances::cases(&mut suite);
    suite
}

/// What stands outside of an operator: functions, enums, constants, parameters. Not for a GPU in this way: tables are in host
/// memory.
pub(crate) fn items() -> harness::Suite {
    let mut suite = harness::Suite::default();
    functions::cases(&mut suite);
    enums::cases(&mut suite);
    tables::cases(&mut suite);
    composed::cases(&mut suite);
    subset::cases(&mut suite);
    names::cases(&mut suite);
    hygiene::items(&mut suite);
    suite
}

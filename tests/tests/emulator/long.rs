//! Every rung of the ladder in the emulator, over inputs so long that several levels of totals, and many rounds of the blocks, come
//! into play. `cargo run --release -p scan-tests --bin soak -- --length N` takes longer ones.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use scan_tests::climb::every_strategy_at;

fn no_failures(length: u64, strategies: &str) {
    let failures = every_strategy_at(&[length], strategies, |_, _| {}).unwrap();
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n\n"));
}

/// One more than the square of a block's threads: the least that has three levels.
#[test]
fn interval_at_65537_with_levels() {
    no_failures(65_537, "hierarchical");
}

#[test]
fn interval_at_16385() {
    no_failures(16_385, "");
}

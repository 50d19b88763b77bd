//! Every rung of the ladder in the emulator, over an input so long, for blocks so small, that three levels of totals and many rounds
//! of the blocks come into play. `cargo run --release -p scan-tests --bin soak -- --length 65537` takes longer ones in larger blocks.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use scan_tests::climb::every_strategy_at;

#[test]
fn interval_at_8209() {
    let failures = every_strategy_at(64, &[8_209], "", |_, _| {}).unwrap();
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n\n"));
}

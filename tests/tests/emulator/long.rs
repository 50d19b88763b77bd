//! Every rung of the ladder in the emulator, over inputs so long that several levels of totals, and many rounds of the blocks, come
//! into play. `cargo run --release -p scan-tests --bin soak -- --length N` takes longer ones.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use scan_tests::climb::every_strategy_at;

#[test]
fn interval_at_65537() {
    let failures = every_strategy_at(&[65_537], "", |_, _| {}).unwrap();
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n\n"));
}

//! What crosses the crates. The tests are in `tests/`.

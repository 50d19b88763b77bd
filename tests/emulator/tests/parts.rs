//! The unit tests of the parts that stand alone. They are compiled here, because the whole library is optimised, and takes long to
//! compile a second time.

#![allow(dead_code, unreachable_pub, reason = "the library uses what no unit test does")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

#[path = "../src/counters.rs"]
mod counters;
#[path = "../src/order.rs"]
mod order;
#[path = "../src/random.rs"]
mod random;
#[path = "../src/target.rs"]
mod target;
#[path = "../src/translate/mod.rs"]
mod translate;

use random::Random; // as the library exports it

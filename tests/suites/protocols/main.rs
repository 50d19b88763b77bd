//! The protocols by which blocks, warps and launches exchange values, as small models that `loom` runs in every order
//! of the threads' steps that the memory model of C11 allows. `docs/protocols.md` says what they prove, and what a
//! model of C11 does not say of PTX.
//!
//! Names are those of the templates. A `Fault` is a step of a model that is left out, weaker or at another time; loom
//! must find each.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

mod epochs;
mod explore;
mod groups;
mod intrinsics;
mod late_prefix;
mod look_ahead;
mod look_ahead_round_robin;
mod look_at_all;
mod look_back;
mod ring_of_rows;
mod stand_in;
mod status;

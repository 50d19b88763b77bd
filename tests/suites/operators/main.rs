//! The operator language, operators and their laws: against Rust, the emulator, the compilers, and what users get
//! wrong.

mod advice;
mod against_rust;
mod compile_fail;
mod forbids_unsafe;
mod gallery;
mod halves;
mod items;
mod laws;
mod laws_attribute;
mod names;
mod programs;

//! The commands of this crate in short, what the support library promises, and what the documents say.

mod charts;
mod counts;
mod dependencies;
mod documents;
mod explain;
mod explorer;
mod extent;
mod fuzz;
mod inputs;
mod mutants;
mod tile_states;
mod unit_tests;

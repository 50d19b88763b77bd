//! The commands of this crate in short, and what the documents say.

mod counts;
mod documents;
mod explain;
mod fuzz;

//! Twenty operators from many fields, to use as they are or to begin from; with the feature `gallery`.
//!
//! Each is a file that can be copied: the types of its elements, the operator, its source in the literature, and an
//! example. The page of the operator describes its input and its output. `cargo test` checks the laws of each, and
//! compares its scans on the CPU and in a GPU emulator with results that are computed without it.
//!
//! | I want | operator |
//! |---|---|
//! | exponential smoothing, y ← (1 − α)·y + α·x | [`Smoothing`](linear_recurrence::Smoothing) |
//! | a filter of second order, y ← p·y₁ + q·y₂ + x | [`Oscillator`](second_order_recurrence::Oscillator) |
//! | running mean and variance | [`Moments`](welford::Moments) |
//! | where the largest value so far is | [`ArgMax`](argmax::ArgMax) |
//! | the best sum of neighbouring values | [`BestPeriod`](maximum_subarray::BestPeriod) |
//! | the length of runs of equal values | [`RunLength`](run_length::RunLength) |
//! | the longest run of values that do not descend | [`LongestClimb`](longest_sorted_run::LongestClimb) |
//! | sums of probabilities too small for a float | [`LogSumExp`](log_sum_exp::LogSumExp) |
//! | attention over a stream | [`Attention`](online_softmax::Attention) |
//! | Viterbi's best path | [`Viterbi`](tropical_matrices::Viterbi) |
//! | the states of a lexer | [`Lexer`](automaton::Lexer) |
//! | matching brackets | [`Depth`](brackets::Depth) |
//! | the hash of every prefix of a text | [`TextHash`](polynomial_hash::TextHash) |
//! | products modulo a number | [`ModularProduct`](modular_product::ModularProduct) |
//! | rotations in space | [`Attitude`](quaternions::Attitude) |
//! | the phase of an oscillator | [`Phase`](complex_product::Phase) |
//! | the order after many swaps | [`Shuffle`](permutations::Shuffle) |
//! | shift registers, linear maps of bits | [`ShiftRegister`](bit_matrices::ShiftRegister) |
//! | counters that saturate | [`BranchPredictor`](saturating_counter::BranchPredictor) |
//! | the union of intervals | [`Booked`](interval_union::Booked) |
//!
//! Use the operators like your own: their scans can be exclusive, reversed, by rows or by keys, and in device memory.
//! Your own operators can use the types of their states.
//!
//! ```
//! use scan_runtime::{Scanner, gallery::welford::Moments};
//!
//! // By station; and of the first station as a reduction.
//! let (stations, pressures) = ([7_u32, 7, 9, 9], [1000.0, 1002.0, 990.0, 994.0]);
//! let scanner = Scanner::new()?;
//! let moments = scanner.scan(Moments).by_keys(&stations).run(&pressures)?;
//! assert_eq!(moments, [[1000.0, 0.0], [1001.0, 2.0], [990.0, 0.0], [992.0, 8.0]]);
//! assert_eq!(scanner.reduce(Moments).run(&pressures[..2])?, [1001.0, 2.0]);
//! # Ok::<(), scan_runtime::Error>(())
//! ```

pub mod argmax;
pub mod automaton;
pub mod bit_matrices;
pub mod brackets;
pub mod complex_product;
pub mod interval_union;
pub mod linear_recurrence;
pub mod log_sum_exp;
pub mod longest_sorted_run;
pub mod maximum_subarray;
pub mod modular_product;
pub mod online_softmax;
pub mod permutations;
pub mod polynomial_hash;
pub mod quaternions;
pub mod run_length;
pub mod saturating_counter;
pub mod second_order_recurrence;
pub mod tropical_matrices;
pub mod welford;

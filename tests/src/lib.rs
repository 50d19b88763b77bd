//! What crosses the crates. The tests are in `tests/`, but for those that need a whole build to fail.
//!
//! The size of a generic element is known when it is used:
//!
//! ```
//! use scan_runtime::{ScanElement, scan_element};
//!
//! #[scan_element]
//! #[derive(Clone, Copy)]
//! struct Block<T, const N: usize> {
//!     items: [T; N],
//! }
//!
//! assert_eq!(Block::<u64, 32>::layout().name, "Block_u64_32");
//! ```
//!
//! ```compile_fail,E0080
//! use scan_runtime::{ScanElement, scan_element};
//!
//! #[scan_element]
//! #[derive(Clone, Copy)]
//! struct Block<T, const N: usize> {
//!     items: [T; N],
//! }
//!
//! Block::<u64, 33>::layout();
//! ```

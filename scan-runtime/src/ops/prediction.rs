//! Branches that the processor predicts.

use std::hint::black_box;

#[allow(unreachable_pub, reason = "the function below has its name, and only its translation is seen")]
mod on_gpu {
    use crate::scan_fn;

    #[scan_fn(crate = crate)]
    pub fn predicted(condition: bool) -> bool {
        condition
    }
}

pub use on_gpu::*;

/// The condition, which the CPU is to predict.
///
/// Compilers often compute both sides of an `if` and select one. The next element then waits for the selection. Behind
/// a branch it waits for nothing, as long as the processor predicts the branch. So use it for a condition on which the
/// carry depends, and which is mostly the same as for the elements before. On a GPU it is the condition.
///
/// ```
/// use scan_runtime::{ScanOp, Scanner, ops, scan_op};
///
/// /// The number of valid elements before each one, which stays at its largest value.
/// struct Count;
///
/// #[scan_op]
/// impl ScanOp for Count {
///     type Input = bool;
///     type State = u32;
///     type Carry = u32;
///     type Output = u32;
///     const START: u32 = 0;
///     const IDENTITY: u32 = 0;
///     fn lift(valid: bool) -> u32 { valid as u32 }
///     fn combine(a: u32, b: u32) -> u32 { a.saturating_add(b) }
///     fn apply(count: u32, before: u32) -> u32 { before.saturating_add(count) }
///     fn advance(before: u32, valid: bool) -> (u32, u32) {
///         let mut after = before;
///         if ops::predicted(valid) {
///             after = before.saturating_add(1);
///         }
///         (after, before)
///     }
///     fn project(count: u32) -> u32 { count }
/// }
///
/// assert_eq!(Scanner::new()?.scan(Count).run(&[true, false, true, true])?, [0, 1, 1, 2]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
// What Rust calls. The kernels have the translation of the function of this name above.
#[inline(always)]
pub fn predicted(condition: bool) -> bool {
    if condition {
        // An effect, which keeps the compiler from a selection.
        black_box(());
    }
    condition
}

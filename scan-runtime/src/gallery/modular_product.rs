//! Products modulo a number that is known at run time.

use crate::{ScanOp, scan_element, scan_op};

/// The product of all factors so far, modulo [`modulus`](Self::modulus).
///
/// The modulus is a field, so another one does not compile the kernels again.
///
/// - Input: a factor.
/// - Output: the product, below the modulus; an input that comes first is returned as it is, so let inputs be below
///   the modulus, too.
/// - Source: D. E. Knuth, *The Art of Computer Programming*, volume 2, section 4.3.2, *Modular Arithmetic*.
///
/// ```
/// use scan_runtime::{Scanner, gallery::modular_product::ModularProduct};
///
/// let products = Scanner::new()?.scan(ModularProduct { modulus: 7 }).run(&[3, 5, 4])?;
/// assert_eq!(products, [3, 1, 4]); // 15 is 1, modulo 7.
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct ModularProduct {
    /// The modulus: 2 or more.
    pub modulus: u32,
}

#[scan_op(crate = crate)]
impl ScanOp for ModularProduct {
    type Element = u32;
    const IDENTITY: u32 = 1;
    fn combine(&self, a: u32, b: u32) -> u32 {
        (a as u64 * b as u64 % self.modulus as u64) as u32
    }
}

//! Linear maps of bits: a shift register of sixteen bits that is clocked in two ways.
//!
//! Each way is a matrix over the field of two elements, so any sequence of clocks is one matrix. The product of
//! matrices is associative.

use crate::{ScanOp, scan_element, scan_op};

/// A linear map of sixteen bits.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct BitMatrix {
    /// The image of each bit, from the lowest on.
    pub columns: [u16; 16],
}

/// The bits into which the bit that leaves is fed back: x¹⁶ + x¹⁴ + x¹³ + x¹¹ + 1, whose period is 2¹⁶ − 1.
pub const TAPS: u16 = 0xb400;
/// The register before the first clock.
pub const SEED: u16 = 0xace1;

/// The state of a shift register after each clock. It starts with [`SEED`].
///
/// - Input: the kind of clock. `true` shifts by one bit, with feedback of the bit that leaves into [`TAPS`]; `false`
///   rotates by one bit. Both go towards the lowest bit.
/// - Output: the register.
/// - Source: H. Haramoto, M. Matsumoto, T. Nishimura, F. Panneton and P. L'Ecuyer, *Efficient Jump Ahead for F₂-Linear
///   Random Number Generators*, INFORMS Journal on Computing 20, 2008.
///
/// ```
/// use scan_runtime::{Scanner, gallery::bit_matrices::ShiftRegister};
///
/// let states = Scanner::new()?.scan(ShiftRegister).run(&[true, true, false])?;
/// assert_eq!(states, [0xe270, 0x7138, 0x389c]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShiftRegister;

#[scan_op(crate = crate)]
impl ScanOp for ShiftRegister {
    type Input = bool;
    type State = BitMatrix;
    type Output = u16;
    const IDENTITY: BitMatrix =
        BitMatrix { columns: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768] };
    fn lift(feedback: bool) -> BitMatrix {
        let mut columns = [0_u16; 16];
        for bit in 1..16_u32 {
            columns[bit as usize] = 1_u16 << (bit - 1);
        }
        columns[0] = if feedback { TAPS } else { 0x8000 };
        BitMatrix { columns }
    }
    /// The later matrix, applied to each column of the earlier one: their product.
    fn combine(a: BitMatrix, b: BitMatrix) -> BitMatrix {
        let mut columns = [0_u16; 16];
        for column in 0..16_usize {
            for bit in 0..16_usize {
                if a.columns[column] >> bit & 1 == 1 {
                    columns[column] ^= b.columns[bit];
                }
            }
        }
        BitMatrix { columns }
    }
    fn project(s: BitMatrix) -> u16 {
        let mut register = 0_u16;
        for bit in 0..16_usize {
            if SEED >> bit & 1 == 1 {
                register ^= s.columns[bit];
            }
        }
        register
    }
}

//! Linear maps of bits: a shift register of sixteen bits that is clocked in two ways.
//!
//! Each way is a matrix over the field of two elements, so any sequence of clocks is one matrix. The product of
//! matrices is associative.

use crate::{ScanOp, scan_element, scan_fn, scan_op};

/// A linear map of sixteen bits.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct BitMatrix {
    /// The image of each bit, from the lowest on, two in a word.
    pub columns: [u32; 8],
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
    type Carry = u16;
    type Output = u16;
    const IDENTITY: BitMatrix = IDENTITY;
    const START: u16 = SEED;
    fn lift(feedback: bool) -> BitMatrix {
        let mut columns = IDENTITY.columns;
        for pair in 0..8_usize {
            columns[pair] = clocked(columns[pair], feedback);
        }
        BitMatrix { columns }
    }
    /// The later matrix, applied to each column of the earlier one: their product.
    fn combine(a: BitMatrix, b: BitMatrix) -> BitMatrix {
        let mut columns = [0_u32; 8];
        for bit in 0..16_usize {
            let image = b.columns[bit / 2] >> (16 * (bit % 2)) & 0xffff;
            for pair in 0..8_usize {
                columns[pair] ^= (a.columns[pair] >> bit & 0x1_0001) * image;
            }
        }
        BitMatrix { columns }
    }
    fn append(s: BitMatrix, feedback: bool) -> BitMatrix {
        let mut columns = s.columns;
        for pair in 0..8_usize {
            columns[pair] = clocked(columns[pair], feedback);
        }
        BitMatrix { columns }
    }
    /// The clock moves each bit to the one below, so that columns move up; the first one is the image of the feedback.
    fn prepend(feedback: bool, s: BitMatrix) -> BitMatrix {
        let last = s.columns[7] >> 16;
        let tapped = (s.columns[7] ^ s.columns[6] ^ s.columns[5] << 16 ^ s.columns[6] << 16) >> 16;
        let mut columns = s.columns;
        columns[0] = s.columns[0] << 16 | if feedback { tapped } else { last };
        for pair in 1..8_usize {
            columns[pair] = s.columns[pair] << 16 | s.columns[pair - 1] >> 16;
        }
        BitMatrix { columns }
    }
    fn apply(s: BitMatrix, register: u16) -> u16 {
        let mut images = 0_u32;
        for pair in 0..8_usize {
            let bits = (register as u32) >> (2 * pair);
            images ^= (((bits & 1) | (bits & 2) << 15) * 0xffff) & s.columns[pair];
        }
        (images ^ images >> 16) as u16
    }
    fn step(register: u16, feedback: bool) -> u16 {
        register >> 1 ^ (register & 1).wrapping_mul(if feedback { TAPS } else { 0x8000 })
    }
}

const IDENTITY: BitMatrix =
    BitMatrix { columns: [0x2_0001, 0x8_0004, 0x20_0010, 0x80_0040, 0x200_0100, 0x800_0400, 0x2000_1000, 0x8000_4000] };

/// Two registers in a word, clocked.
#[scan_fn(crate = crate)]
fn clocked(registers: u32, feedback: bool) -> u32 {
    let leaving = registers & 0x1_0001;
    let shifted = registers >> 1 & 0x7fff_7fff;
    shifted ^ leaving.wrapping_mul(if feedback { TAPS as u32 } else { 0x8000 })
}

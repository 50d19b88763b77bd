//! Matrices over the field of two elements: a shift register of sixteen bits that can be clocked in two ways. Each way is a
//! linear map of bits, so any stretch of clocks is one matrix.

use super::{Example, below, each_prefix};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// The image of each bit.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct BitMatrix {
    columns: [u16; 16],
}

const TAPS: u16 = 0xb400;
const SEED: u16 = 0xace1;

/// The register after each clock.
#[derive(Clone, Copy, Debug)]
pub struct ShiftRegister;

#[scan_op]
impl ScanOp for ShiftRegister {
    /// Whether to shift with feedback; or else to rotate.
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
    /// The later matrix, applied to each column of the earlier one.
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

impl Example for ShiftRegister {
    fn new() -> Self {
        ShiftRegister
    }
    fn input(len: usize) -> Vec<bool> {
        (0..len).map(|i| below(3, i) > 0).collect()
    }
    fn expected(&self, input: &[bool]) -> Vec<u16> {
        each_prefix(input, SEED, |register, feedback| {
            *register = match feedback {
                false => register.rotate_right(1),
                true if *register & 1 == 1 => *register >> 1 ^ TAPS,
                true => *register >> 1,
            };
            *register
        })
    }
}

use super::{Example, below, each_prefix};
use scan_runtime::gallery::bit_matrices::{SEED, ShiftRegister, TAPS};

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

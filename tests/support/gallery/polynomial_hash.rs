use super::{Example, each_prefix};
use scan_runtime::gallery::polynomial_hash::{BASE, MODULUS, TextHash};

impl Example for TextHash {
    fn new() -> Self {
        TextHash
    }
    fn input(len: usize) -> Vec<u8> {
        b"It was the best of times, it was the worst of times, ".iter().copied().cycle().take(len).collect()
    }
    /// Horner's rule.
    fn expected(&self, input: &[u8]) -> Vec<u64> {
        each_prefix(input, 0_u64, |hash, byte| {
            *hash = ((u128::from(*hash) * u128::from(BASE) + u128::from(byte)) % u128::from(MODULUS)) as u64;
            *hash
        })
    }
}

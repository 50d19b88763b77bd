use super::{Example, below, each_prefix};
use scan_runtime::gallery::modular_product::ModularProduct;

/// Its powers are all numbers below the modulus but 0.
const ROOT: u64 = 3;

fn power(exponent: u64, modulus: u64) -> u32 {
    let (mut result, mut square, mut rest) = (1, ROOT, exponent);
    while rest > 0 {
        if rest & 1 == 1 {
            result = result * square % modulus;
        }
        square = square * square % modulus;
        rest >>= 1;
    }
    result as u32
}

impl Example for ModularProduct {
    fn new() -> Self {
        ModularProduct { modulus: 998_244_353 }
    }
    /// Powers of the primitive root.
    fn input(len: usize) -> Vec<u32> {
        (0..len).map(|i| power(below(1 << 30, i), 998_244_353)).collect()
    }
    /// By the sum of the exponents.
    fn expected(&self, input: &[u32]) -> Vec<u32> {
        let exponents: Vec<u64> = (0..input.len()).map(|i| below(1 << 30, i)).collect();
        each_prefix(&exponents, 0, |sum, exponent| {
            *sum = (*sum + exponent) % u64::from(self.modulus - 1);
            power(*sum, self.modulus.into())
        })
    }
}

//! The hash of every prefix of a text. One step of Horner's rule is not associative; the hash of a concatenation is, given the
//! power of the base that the later part brings.

use super::{Example, each_prefix};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// A text's hash, and the base to the power of its length.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Hash {
    power: u64,
    hash: u64,
}

const MODULUS: u64 = (1 << 61) - 1;
const BASE: u64 = 1_000_003;

/// The polynomial of a text's bytes at the base, modulo a prime.
#[derive(Clone, Copy, Debug)]
pub struct TextHash;

#[scan_op]
impl ScanOp for TextHash {
    type Input = u8;
    type State = Hash;
    type Output = u64;
    const IDENTITY: Hash = Hash { power: 1, hash: 0 };
    fn lift(byte: u8) -> Hash {
        Hash { power: BASE, hash: byte as u64 }
    }
    fn combine(a: Hash, b: Hash) -> Hash {
        let power = a.power as u128 * b.power as u128 % MODULUS as u128;
        let hash = (a.hash as u128 * b.power as u128 + b.hash as u128) % MODULUS as u128;
        Hash { power: power as u64, hash: hash as u64 }
    }
    fn project(s: Hash) -> u64 {
        s.hash
    }
}

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

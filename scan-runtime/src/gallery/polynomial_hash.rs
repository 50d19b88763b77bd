//! The hash of every prefix of a text.
//!
//! One step of Horner's rule is not associative. The hash of a concatenation is, given the power of the base by which
//! the right part shifts the left one.

use crate::{ScanOp, scan_element, scan_fn, scan_op};

/// The hash of a part of the text.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Hash {
    /// [`BASE`] to the power of the part's length, modulo [`MODULUS`].
    pub power: u64,
    /// The polynomial of the part's bytes.
    pub hash: u64,
}

/// The prime 2⁶¹ − 1.
pub const MODULUS: u64 = (1 << 61) - 1;
/// The base of the polynomial, a prime. Use another one where an adversary chooses the texts.
pub const BASE: u64 = 1_000_003;

/// The polynomial of all bytes so far at [`BASE`], modulo the prime [`MODULUS`].
///
/// From the hashes of the prefixes follows the hash of any part of the text, so equal parts are found without
/// comparing bytes.
///
/// - Input: a byte of the text.
/// - Output: the hash, below `MODULUS`.
/// - Source: R. M. Karp and M. O. Rabin, *Efficient Randomized Pattern-Matching Algorithms*, IBM Journal of Research
///   and Development 31, 1987.
///
/// ```
/// use scan_runtime::{Scanner, gallery::polynomial_hash::{BASE, MODULUS, TextHash}};
///
/// let hashes = Scanner::new()?.scan(TextHash).run(b"abcab")?;
/// assert_eq!(hashes[1], u64::from(b'a') * BASE + u64::from(b'b'));
///
/// // The hash of the last two bytes, from those of two prefixes.
/// let [whole, before, base, modulus] = [hashes[4], hashes[2], BASE, MODULUS].map(u128::from);
/// let last = (whole + modulus - before * base % modulus * base % modulus) % modulus;
/// assert_eq!(last, u128::from(hashes[1])); // "ab" is there twice.
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextHash;

#[scan_op(crate = crate)]
impl ScanOp for TextHash {
    type Input = u8;
    type State = Hash;
    type Carry = u64;
    type Output = u64;
    const IDENTITY: Hash = Hash { power: 1, hash: 0 };
    const START: u64 = 0;
    fn lift(byte: u8) -> Hash {
        Hash { power: BASE, hash: byte as u64 }
    }
    fn combine(a: Hash, b: Hash) -> Hash {
        Hash { power: times_and(a.power, b.power, 0), hash: times_and(a.hash, b.power, b.hash) }
    }
    fn append(s: Hash, byte: u8) -> Hash {
        Hash { power: times_base_and(s.power, 0), hash: times_base_and(s.hash, byte) }
    }
    fn apply(s: Hash, hash: u64) -> u64 {
        times_and(hash, s.power, s.hash)
    }
    fn step(hash: u64, byte: u8) -> u64 {
        times_base_and(hash, byte)
    }
}

/// `(a * BASE + byte) % MODULUS` of a number below the modulus: as [`BASE`] has 20 bits, two products of 64 bits are
/// enough.
#[scan_fn(crate = crate)]
fn times_base_and(a: u64, byte: u8) -> u64 {
    let (low, high) = ((a & 0xffff_ffff) * BASE, (a >> 32) * BASE);
    // high · 2³², of which what is beyond 2⁶¹ is added at the lower end.
    let sum = low + ((high & 0x1fff_ffff) << 32) + (high >> 29) + byte as u64;
    if sum >= MODULUS { sum - MODULUS } else { sum }
}

/// `(a * b + c) % MODULUS` of numbers below the modulus: as 2⁶¹ is 1 modulo 2⁶¹ − 1, the upper bits are added to the
/// lower ones.
#[scan_fn(crate = crate)]
fn times_and(a: u64, b: u64, c: u64) -> u64 {
    let full = a as u128 * b as u128 + c as u128;
    let sum = (full as u64 & MODULUS) + (full >> 61) as u64;
    if sum >= MODULUS { sum - MODULUS } else { sum }
}

//! Sums of floats without rounding errors, the same in every grouping.

use crate::{ScanOp, scan_element, scan_op};

/// Elements that were added: negative zeros, others, infinities, and what is not a number.
const NEGATIVE_ZERO: u32 = 1;
const OTHER: u32 = 2;
const POSITIVE_INFINITY: u32 = 4;
const NEGATIVE_INFINITY: u32 = 8;
const NOT_A_NUMBER: u32 = 16;

/// The exact sum of any number of `f32`: a fixed-point number of 352 bits (a superaccumulator).
///
/// It is the state of [`ExactSum`], so that initial values and totals of its scans are of this type:
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let sums = Scanner::new()?.scan(ops::exact_sum());
/// let (first, total) = sums.clone().with_total().run(&[1.0e30, 1.0])?;
/// let total = total.unwrap_or_default();
/// assert_eq!((first[1], total.to_f32()), (1.0e30, 1.0e30));
/// // The next chunk goes on from the exact sum, and not from the rounded one.
/// assert_eq!(sums.init(total).run(&[-1.0e30])?, [1.0]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accumulator {
    // In two's complement, in units of the smallest `f32`, 2⁻¹⁴⁹: the lowest word first, and the highest 32 bits. An
    // `f32` has 277 bits of these, so that 2⁷⁴ of them can be added.
    words: [u64; 5],
    high: u32,
    // Which kinds of elements were added.
    kinds: u32,
}

impl Accumulator {
    /// The sum of nothing.
    pub const ZERO: Accumulator = Accumulator { words: [0; 5], high: 0, kinds: 0 };

    /// The sum, rounded to the nearest `f32`, ties to even.
    pub fn to_f32(self) -> f32 {
        ExactSum.project(self)
    }
}

impl From<f32> for Accumulator {
    fn from(x: f32) -> Self {
        ExactSum.lift(x)
    }
}

/// The sum of `f32`, each result the exact sum of the elements so far, rounded once, to the nearest `f32`, ties to
/// even.
///
/// ```
/// use scan_runtime::{Scanner, ops};
///
/// let scanner = Scanner::new()?;
/// let x = [1.0e8, 1.0, 1.0, 1.0, 1.0, -1.0e8];
/// assert_eq!(scanner.scan(ops::exact_sum()).run(&x)?[5], 4.0);
/// assert_eq!(x.iter().sum::<f32>(), 0.0); // `f32` has no 100,000,001
/// # Ok::<(), scan_runtime::Error>(())
/// ```
///
/// Nothing is rounded before the end, so that
///
/// - the bits of each result are the same on every device, with every number of threads, by every strategy;
/// - the last result is the result of a reduction;
/// - where no element is negative, no result is smaller than the one before it;
/// - partial sums do not [overflow](ScanOp#overflow): `[f32::MAX, f32::MAX, -f32::MAX]` has the results `MAX`, ∞ and
///   `MAX`.
///
/// Infinities and NaN are as in IEEE 754: after ∞ all results are ∞, until -∞ comes; after both, or after a NaN, all
/// are NaN, with the bits of `f32::NAN`. A sum that is zero is 0.0; it is -0.0 where all elements are -0.0. The sum of
/// nothing is 0.0. Subnormal numbers count as all others.
///
/// # Costs
///
/// The state is an [`Accumulator`] of 48 bytes, and an addition is one of 352 bits. On an H200 a long scan has 0.04 of
/// the speed of a copy. One thread of the CPU takes about twenty times as long as a loop that adds in `f32`, 9 ns for
/// each of 1,000 elements (`cargo bench -p scan-tests --bench loops -- exact_sum`).
/// [`compensated_sum`](super::compensated_sum()) takes eleven times as long as that loop, and
/// [`sum_in::<f64, f32>`](super::sum_in()) about as long.
///
/// # Other types
///
/// Elements are `f32`. Numbers of 16 bits are added by a [`map`](super::map()) that converts them, which is exact.
/// There is no exact sum of `f64`: its accumulator would have 2,098 bits and the sign, and some for the number of
/// elements, which is more than the 256 bytes that an element may have.
///
/// # Source
///
/// U. W. Kulisch, *Computer Arithmetic and Validity*, de Gruyter, 2nd edition, 2013 (the accumulator); R. M. Neal,
/// *Fast Exact Summation Using Small and Large Superaccumulators*, arXiv:1505.05571, 2015; C. Collange, D. Defour, S.
/// Graillat and R. Iakymchuk, *Numerical Reproducibility for the Parallel Reduction on Multi- and Many-Core
/// Architectures*, Parallel Computing 49, 2015.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExactSum;

/// The operator [`ExactSum`].
pub fn exact_sum() -> ExactSum {
    ExactSum
}

#[scan_op(crate = crate)]
impl ScanOp for ExactSum {
    type Input = f32;
    type State = Accumulator;
    type Output = f32;
    const IDENTITY: Accumulator = Accumulator::ZERO;
    #[inline]
    fn lift(x: f32) -> Accumulator {
        let bits = x.to_bits();
        let exponent = bits >> 23 & 255;
        let fraction = bits & 0x7f_ffff;
        // The number is `significand` · 2^`place` units.
        let significand = if exponent == 255 {
            0
        } else if exponent == 0 {
            fraction
        } else {
            fraction | 0x80_0000
        };
        let place = if exponent == 0 { 0 } else { exponent - 1 };
        let magnitude = (significand as u128) << (place % 64);
        // All bits are set where the number is negative.
        let flip = (bits as i32 >> 31) as i128 as u128;
        let shifted = (magnitude ^ flip).wrapping_sub(flip);
        let low = shifted as u64;
        let next = (shifted >> 64) as u64;
        let sign = (shifted as i128 >> 127) as u64;
        let finite = if bits == 0x8000_0000 { NEGATIVE_ZERO } else { OTHER };
        let infinity = if bits >> 31 == 1 { NEGATIVE_INFINITY } else { POSITIVE_INFINITY };
        let not_finite = if fraction == 0 { infinity } else { NOT_A_NUMBER };
        let word = place / 64;
        Accumulator {
            words: [
                if word == 0 { low } else { 0 },
                if word == 0 {
                    next
                } else if word == 1 {
                    low
                } else {
                    0
                },
                if word == 0 {
                    sign
                } else if word == 1 {
                    next
                } else if word == 2 {
                    low
                } else {
                    0
                },
                if word < 2 {
                    sign
                } else if word == 2 {
                    next
                } else {
                    low
                },
                if word < 3 { sign } else { next },
            ],
            high: sign as u32,
            kinds: if exponent == 255 { not_finite } else { finite },
        }
    }
    #[inline]
    fn combine(a: Accumulator, b: Accumulator) -> Accumulator {
        let s0 = a.words[0] as u128 + b.words[0] as u128;
        let s1 = a.words[1] as u128 + b.words[1] as u128 + (s0 >> 64);
        let s2 = a.words[2] as u128 + b.words[2] as u128 + (s1 >> 64);
        let s3 = a.words[3] as u128 + b.words[3] as u128 + (s2 >> 64);
        let s4 = a.words[4] as u128 + b.words[4] as u128 + (s3 >> 64);
        Accumulator {
            words: [s0 as u64, s1 as u64, s2 as u64, s3 as u64, s4 as u64],
            high: a.high.wrapping_add(b.high).wrapping_add((s4 >> 64) as u32),
            kinds: a.kinds | b.kinds,
        }
    }
    #[inline]
    fn project(sum: Accumulator) -> f32 {
        // The magnitude: the complement and one, of a negative sum.
        let negative = sum.high >> 31 == 1;
        let flip = if negative { u64::MAX } else { 0 };
        let m0 = (sum.words[0] ^ flip) as u128 + (flip & 1) as u128;
        let m1 = (sum.words[1] ^ flip) as u128 + (m0 >> 64);
        let m2 = (sum.words[2] ^ flip) as u128 + (m1 >> 64);
        let m3 = (sum.words[3] ^ flip) as u128 + (m2 >> 64);
        let m4 = (sum.words[4] ^ flip) as u128 + (m3 >> 64);
        let m5 = (sum.high ^ flip as u32).wrapping_add((m4 >> 64) as u32);
        // The highest word that is not zero, the one below it, and whether any bit is set below these.
        let mut first = m0 as u64;
        let mut second = 0_u64;
        let mut rest = 0_u64;
        let mut below = 0_u32;
        if m1 as u64 != 0 {
            first = m1 as u64;
            second = m0 as u64;
            below = 64;
        }
        if m2 as u64 != 0 {
            first = m2 as u64;
            second = m1 as u64;
            rest = m0 as u64;
            below = 128;
        }
        if m3 as u64 != 0 {
            first = m3 as u64;
            second = m2 as u64;
            rest = m0 as u64 | m1 as u64;
            below = 192;
        }
        if m4 as u64 != 0 {
            first = m4 as u64;
            second = m3 as u64;
            rest = m0 as u64 | m1 as u64 | m2 as u64;
            below = 256;
        }
        if m5 != 0 {
            first = m5 as u64;
            second = m4 as u64;
            rest = m0 as u64 | m1 as u64 | m2 as u64 | m3 as u64;
            below = 320;
        }
        let sign = if negative { 0x8000_0000_u32 } else { 0 };
        let finite = if below == 0 && first < 0x100_0000 {
            // As many units: these are the bits, of a subnormal number as well.
            first as u32
        } else {
            // The highest 64 bits, of which the lowest says as well whether anything is lost.
            let zeros = first.leading_zeros();
            let all = ((first as u128) << 64 | second as u128) << zeros;
            let lost = all as u64 | rest;
            let highest = (all >> 64) as u64 | (if lost != 0 { 1 } else { 0 });
            let significand = (highest >> 40) as u32;
            let remainder = highest & 0xff_ffff_ffff;
            let half = 0x80_0000_0000_u64;
            let up = remainder > half || remainder == half && significand & 1 == 1;
            // The leading bit of the significand adds one to the exponent; so does one that rounding carries.
            let bits = ((below + 40 - zeros) << 23) + significand + up as u32;
            if bits > 0x7f80_0000 { 0x7f80_0000 } else { bits }
        };
        let infinities = sum.kinds & (POSITIVE_INFINITY | NEGATIVE_INFINITY);
        let bits = if sum.kinds >= NOT_A_NUMBER || infinities == POSITIVE_INFINITY | NEGATIVE_INFINITY {
            0x7fc0_0000_u32
        } else if infinities != 0 {
            if infinities == POSITIVE_INFINITY { 0x7f80_0000_u32 } else { 0xff80_0000 }
        } else if sum.kinds == NEGATIVE_ZERO {
            0x8000_0000
        } else {
            finite | sign
        };
        f32::from_bits(bits)
    }
}

//! Sums of floats without rounding errors, the same in every grouping.

use crate::{ScanOp, scan_element, scan_fn, scan_op};

/// What was added: anything, infinities, and what is not a number.
const SOMETHING: u32 = 1;
const POSITIVE_INFINITY: u32 = 2;
const NEGATIVE_INFINITY: u32 = 4;
const NOT_A_NUMBER: u32 = 8;
/// The sum is a fixed-point number.
const FIXED: u32 = 16;

const SIGN: u64 = 1 << 63;

/// The exact sum of any number of `f32`: two `f64`, or a fixed-point number of 352 bits (a superaccumulator) where two
/// do not hold it.
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
#[derive(Clone, Copy, Debug)]
pub struct Accumulator {
    // The bits of two `f64`: the sum, rounded to the nearest, and what is left. The other words are zero then. Or, if
    // `FIXED`, a number in two's complement, in units of the smallest `f32`, 2⁻¹⁴⁹: the lowest word first, and the
    // highest 32 bits. An `f32` has 277 bits of these, so that 2⁷⁴ of them can be added.
    words: [u64; 5],
    high: u32,
    // Which kinds of elements were added.
    kinds: u32,
}

impl Accumulator {
    /// The sum of nothing.
    pub const ZERO: Accumulator = Accumulator { words: [SIGN, 0, 0, 0, 0], high: 0, kinds: 0 };

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

impl Default for Accumulator {
    fn default() -> Self {
        Accumulator::ZERO
    }
}

/// Equal sums of the same kinds of elements, in whichever form they are.
impl PartialEq for Accumulator {
    fn eq(&self, other: &Self) -> bool {
        let [a, b] = [*self, *other].map(|sum| (fixed(sum), sum.to_f32().to_bits()));
        (a.0.words, a.0.high, a.0.kinds, a.1) == (b.0.words, b.0.high, b.0.kinds, b.1)
    }
}

impl Eq for Accumulator {}

/// A sum that is an `f64`.
#[scan_fn(crate = crate)]
#[inline]
fn of_one(sum: f64, kinds: u32) -> Accumulator {
    Accumulator { words: [sum.to_bits(), 0, 0, 0, 0], high: 0, kinds }
}

/// A sum as two numbers, of which the first one is the nearest to it.
#[scan_fn(crate = crate)]
#[inline]
fn pair(high: f64, low: f64, kinds: u32) -> Accumulator {
    let sum = high + low;
    let back = sum - high;
    let rest = (high - (sum - back)) + (low - back);
    Accumulator { words: [sum.to_bits(), rest.to_bits(), 0, 0, 0], high: 0, kinds }
}

/// A number whose bits are among those of a sum of `f32`, in fixed point.
#[scan_fn(crate = crate)]
#[cold]
fn fixed_number(x: f64) -> Accumulator {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as u32 & 2047;
    let fraction = bits & 0xf_ffff_ffff_ffff;
    // The number is `significand` · 2^`place` units: the smallest `f64` of a sum is a unit.
    let significand = if exponent == 0 || exponent == 2047 { 0 } else { fraction | 1 << 52 };
    let below = 926_u32.saturating_sub(exponent);
    let place = if exponent < 926 || exponent == 2047 { 0 } else { exponent - 926 };
    let magnitude = ((significand >> (below & 63)) as u128) << (place & 63);
    // All bits are set where the number is negative.
    let flip = (bits as i64 >> 63) as i128 as u128;
    let shifted = (magnitude ^ flip).wrapping_sub(flip);
    let low = shifted as u64;
    let next = (shifted >> 64) as u64;
    let sign = (shifted as i128 >> 127) as u64;
    let infinity = if x < 0.0 { NEGATIVE_INFINITY } else { POSITIVE_INFINITY };
    let not_finite = if fraction == 0 { infinity } else { NOT_A_NUMBER };
    let mut words = [sign; 5];
    for word in 0..5_u32 {
        if word < place >> 6 {
            words[word as usize] = 0;
        } else if word == place >> 6 {
            words[word as usize] = low;
        } else if word == (place >> 6) + 1 {
            words[word as usize] = next;
        }
    }
    let high = if place >> 6 == 4 { next as u32 } else { sign as u32 };
    Accumulator { words, high, kinds: FIXED | SOMETHING | if exponent == 2047 { not_finite } else { 0 } }
}

/// The sum of two fixed-point numbers.
#[scan_fn(crate = crate)]
#[cold]
fn fixed_sum(a: Accumulator, b: Accumulator) -> Accumulator {
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

/// A sum in fixed point.
#[scan_fn(crate = crate)]
#[cold]
fn fixed(sum: Accumulator) -> Accumulator {
    if sum.kinds >= FIXED {
        return sum;
    }
    let mut fixed = fixed_sum(fixed_number(f64::from_bits(sum.words[0])), fixed_number(f64::from_bits(sum.words[1])));
    fixed.kinds = sum.kinds | FIXED;
    fixed
}

/// A fixed-point number as two `f64`, if they hold it.
#[scan_fn(crate = crate)]
#[cold]
fn in_two(sum: Accumulator) -> Accumulator {
    let mut unit = f64::from_bits((171 + 1023) << 52);
    let mut high = sum.high as i32 as f64 * unit;
    let mut low = 0.0_f64;
    let mut lost = sum.kinds >= FIXED + POSITIVE_INFINITY;
    for half in 0..10_u32 {
        unit *= 1.0 / 4_294_967_296.0_f64;
        let digit = (sum.words[4 - (half >> 1) as usize] >> (32 - 32 * (half & 1))) as u32 as f64 * unit;
        let next = high + digit;
        let back = next - high;
        let error = (high - (next - back)) + (digit - back);
        let rest = low + error;
        let back = rest - low;
        lost |= (low - (rest - back)) + (error - back) != 0.0;
        high = next + rest;
        let back = high - next;
        low = (next - (high - back)) + (rest - back);
    }
    if lost { sum } else { pair(high, low, sum.kinds - FIXED) }
}

#[scan_fn(crate = crate)]
#[cold]
fn append_in_fixed(sum: Accumulator, x: f64) -> Accumulator {
    fixed_sum(fixed(sum), fixed_number(x))
}

#[scan_fn(crate = crate)]
#[cold]
fn combine_in_fixed(a: Accumulator, b: Accumulator) -> Accumulator {
    in_two(fixed_sum(fixed(a), fixed(b)))
}

/// A fixed-point number, rounded to the nearest `f32`.
#[scan_fn(crate = crate)]
#[cold]
fn round_fixed(sum: Accumulator) -> f32 {
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
    let bits = if sum.kinds & NOT_A_NUMBER != 0 || infinities == POSITIVE_INFINITY | NEGATIVE_INFINITY {
        0x7fc0_0000_u32
    } else if infinities != 0 {
        if infinities == POSITIVE_INFINITY { 0x7f80_0000_u32 } else { 0xff80_0000 }
    } else {
        finite | sign
    };
    f32::from_bits(bits)
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
/// The state is an [`Accumulator`] of 48 bytes. Where a sum spans at most 106 bits, from the highest bit of a prefix to
/// the lowest bit of an element, it is two `f64`, and an addition is a few of those; a sum that spans more is a number of
/// 352 bits. On an H200 a long scan has 0.11 of the speed of a copy, and 0.03 where elements have any bits. One thread of
/// the CPU takes about twenty times as long as a loop that adds in `f32`, 9 ns for each of 1,000 elements, and 16 ns
/// where they have any bits (`cargo bench -p scan-tests --bench loops -- exact_sum`).
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
/// D. E. Knuth, *The Art of Computer Programming*, volume 2, section 4.2.2 (the error of an addition); U. W. Kulisch,
/// *Computer Arithmetic and Validity*, de Gruyter, 2nd edition, 2013 (the accumulator); R. M. Neal,
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
        if x.is_finite() { of_one(x as f64, SOMETHING) } else { fixed_number(x as f64) }
    }
    #[inline]
    fn append(sum: Accumulator, x: f32) -> Accumulator {
        let high = f64::from_bits(sum.words[0]);
        let low = f64::from_bits(sum.words[1]);
        let x = x as f64;
        let next = high + x;
        // Nothing is rounded where both differences are exact: the one with the larger number always is.
        if next - high == x && next - x == high && low == 0.0 && sum.kinds < FIXED {
            return of_one(next, sum.kinds | SOMETHING);
        }
        let back = next - high;
        let error = (high - (next - back)) + (x - back);
        let rest = low + error;
        if rest - low == error && rest - error == low && sum.kinds < FIXED {
            pair(next, rest, sum.kinds | SOMETHING)
        } else {
            append_in_fixed(sum, x)
        }
    }
    #[inline]
    fn combine(a: Accumulator, b: Accumulator) -> Accumulator {
        let a_high = f64::from_bits(a.words[0]);
        let a_low = f64::from_bits(a.words[1]);
        let b_high = f64::from_bits(b.words[0]);
        let b_low = f64::from_bits(b.words[1]);
        let next = a_high + b_high;
        let back = next - a_high;
        let error = (a_high - (next - back)) + (b_high - back);
        if error == 0.0 && a_low == 0.0 && b_low == 0.0 && a.kinds < FIXED && b.kinds < FIXED {
            return of_one(next, a.kinds | b.kinds);
        }
        let low = a_low + b_low;
        let back = low - a_low;
        let lost = (a_low - (low - back)) + (b_low - back);
        let rest = low + error;
        let back = rest - low;
        let lost_too = (low - (rest - back)) + (error - back);
        if lost == 0.0 && lost_too == 0.0 && a.kinds < FIXED && b.kinds < FIXED {
            pair(next, rest, a.kinds | b.kinds)
        } else {
            combine_in_fixed(a, b)
        }
    }
    #[inline]
    fn project(sum: Accumulator) -> f32 {
        let high = f64::from_bits(sum.words[0]);
        let low = f64::from_bits(sum.words[1]);
        if sum.kinds >= FIXED {
            round_fixed(sum)
        } else if sum.kinds == 0 {
            0.0
        } else if low == 0.0 || sum.words[0] & 1 == 1 {
            high as f32
        } else {
            // Rounded to odd, so that it is rounded to the same `f32` as the sum: what is left lies between `high` and
            // one of the numbers next to it.
            let odd = if (low > 0.0) == (high > 0.0) { sum.words[0] + 1 } else { sum.words[0] - 1 };
            f64::from_bits(odd) as f32
        }
    }
}

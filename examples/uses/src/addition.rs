//! Addition of integers of millions of bits.
//!
//! The loop goes from the lowest word to the highest, because each sum needs the carry of the word before:
//!
//! ```text
//! for i in 0..n {
//!     let (sum, over) = a[i].overflowing_add(b[i]);
//!     (sums[i], carry) = (sum + carry, over || sum == u64::MAX && carry);
//! }
//! ```
//!
//! What a word does to a carry is one of three things, whatever the carry is: it *generates* one (the words overflow),
//! it *propagates* the one that comes (their sum is all ones), or it *kills* it. Of two words one after the other:
//!
//! ```text
//! combine(a, b) = if b propagates { a } else { b }
//! ```
//!
//! These are the constant functions and the identity on {0, 1}, and `combine` is their composition, which is
//! associative. The adders of processors are the same scan over bits in place of words. The networks with which this
//! crate scans a tile, [`Network::KoggeStone`] and [`Network::BrentKung`], have their names from such adders.
//!
//! Sources: A. Weinberger and J. L. Smith, *A One-Microsecond Adder Using One-Megacycle Circuitry*, 1956; P. M. Kogge
//! and H. S. Stone, 1973; R. P. Brent and H. T. Kung, *A Regular Layout for Parallel Adders*, 1982.
//!
//! [`Network::KoggeStone`]: scan_runtime::Network::KoggeStone
//! [`Network::BrentKung`]: scan_runtime::Network::BrentKung

use scan_runtime::{Error, ScanOp, Scanner, scan_element, scan_op};

use crate::report::{Outcome, Report, check, mixed};

#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Words {
    a: u64,
    b: u64,
}

/// What a part of the words does to a carry.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
enum Effect {
    Kills,
    Propagates,
    Generates,
}

/// The sum of each two words and the carry before them.
#[derive(Clone)]
struct Add;

#[scan_op(laws(samples = [Words { a: 1, b: 2 }, Words { a: 1, b: u64::MAX - 1 }, Words { a: 2, b: u64::MAX }]))]
impl ScanOp for Add {
    type Input = Words;
    // The loop.
    type Carry = bool;
    type Output = u64;
    const START: bool = false;
    fn advance(carry: bool, words: Words) -> (bool, u64) {
        let sum = words.a.wrapping_add(words.b);
        ((sum < words.a) | ((sum == u64::MAX) & carry), sum.wrapping_add(carry as u64))
    }
    // What a part of the words does to any carry.
    type State = Effect;
    const IDENTITY: Effect = Effect::Propagates;
    fn lift(words: Words) -> Effect {
        let sum = words.a.wrapping_add(words.b);
        if sum == u64::MAX {
            Effect::Propagates
        } else if sum < words.a {
            Effect::Generates
        } else {
            Effect::Kills
        }
    }
    fn combine(a: Effect, b: Effect) -> Effect {
        if b == Effect::Propagates { a } else { b }
    }
    fn apply(effect: Effect, carry: bool) -> bool {
        if effect == Effect::Propagates { carry } else { effect == Effect::Generates }
    }
}

/// The sum of two integers of equally many words, the lowest first, and whether one more bit is carried.
fn add(scanner: &Scanner, a: &[u64], b: &[u64], sum: &mut [u64]) -> Result<bool, Error> {
    Ok(scanner.scan(Add).with_total().run_into((a, b), sum)?.unwrap_or(false))
}

/// The plain loop.
fn add_in_a_loop(a: &[u64], b: &[u64], sum: &mut [u64]) -> bool {
    let mut carry = false;
    for ((&a, &b), to) in a.iter().zip(b).zip(sum) {
        let (sum, over) = a.overflowing_add(b);
        let (sum, over_by_carry) = sum.overflowing_add(u64::from(carry));
        (*to, carry) = (sum, over | over_by_carry);
    }
    carry
}

pub fn run(scanner: &Scanner, len: usize) -> Outcome {
    let a: Vec<u64> = (0..len as u64).map(mixed).collect();
    // The complement in most words, so that carries run far.
    let b: Vec<u64> = a.iter().enumerate().map(|(i, a)| if i % 1000 == 0 { mixed(*a) } else { !a }).collect();
    let (mut sum, mut expected) = (vec![0; len], vec![0; len]);
    let (mut over, mut over_expected) = (false, false);
    let mut report = Report::default();
    report.time(
        "sum of two integers, words",
        len,
        || over_expected = add_in_a_loop(&a, &b, &mut expected),
        || add(scanner, &a, &b, &mut sum).map(|carry| over = carry),
    )?;
    check((sum, over) == (expected, over_expected), "sum")?;
    report.drawing = drawing(scanner, 0b0110_1011_0011_0101, 0b0001_0100_1110_1011)?;
    Ok(report)
}

/// The same scan over the bits of two numbers: what each bit does to a carry, and the carries.
fn drawing(scanner: &Scanner, a: u16, b: u16) -> Result<String, Error> {
    // A bit at the top of a word: the word then overflows, or is all ones, where the bits do.
    let words = |bits: u16| -> Vec<u64> { (0..16).map(|i| u64::from(bits >> i & 1) << 63).collect() };
    let (tops, b_tops) = (words(a), words(b));
    let below = |top: &u64| top | (u64::MAX >> 1);
    let mut carries = vec![0; 16];
    let a_words: Vec<u64> = tops.iter().map(below).collect();
    add(scanner, &a_words, &b_tops, &mut carries)?;
    let effects = a_words.iter().zip(&b_tops).map(|(&a, &b)| match Add.lift(Words { a, b }) {
        Effect::Kills => '·',
        Effect::Propagates => 'p',
        Effect::Generates => 'g',
    });
    let effects: String = effects.collect::<Vec<char>>().into_iter().rev().collect();
    let sums: String = carries.iter().rev().map(|word| if word >> 63 == 1 { '1' } else { '0' }).collect();
    Ok(format!(
        "a        {a:016b}\nb        {b:016b}\neffects  {effects}   g generates, p propagates, · kills\na + b    {sums}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carries_run_through_all_words() {
        let mut sum = [0; 4];
        assert!(add(&Scanner::cpu(), &[u64::MAX; 4], &[1, 0, 0, 0], &mut sum).unwrap());
        assert_eq!(sum, [0; 4]);
        assert!(!add(&Scanner::cpu(), &[], &[], &mut []).unwrap());
        assert!(add(&Scanner::cpu(), &[1 << 63], &[1 << 63], &mut sum[..1]).unwrap());
    }

    #[test]
    fn sums_are_those_of_a_loop() {
        for len in [1, 2, 999, 70_000] {
            run(&Scanner::cpu(), len).unwrap();
        }
        let (a, b) = (0x6b35, 0x14eb);
        assert!(drawing(&Scanner::cpu(), a, b).unwrap().contains(&format!("a + b    {:016b}", a + b)));
    }
}

//! Stepped operators whose carry and output one function gives: `step` and `emit` of the text beside `advance` of Rust.

use super::harness::{Random, Sample, Suite};
use scan_runtime::{ScanOp, scan_element, scan_fn, scan_op};

/// A character of UTF-8 that is being read.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    bits: u32,
    left: u8,
}

impl Sample for Reading {
    fn edges() -> Vec<Reading> {
        [0, 1, 2, 3, 255].into_iter().flat_map(|left| [0, 0x3f, u32::MAX].map(|bits| Reading { bits, left })).collect()
    }
    fn random(random: &mut Random) -> Reading {
        Reading { bits: random.next() as u32, left: random.next() as u8 % 5 }
    }
}

#[scan_fn]
fn leading_ones(x: u8) -> u8 {
    x.leading_ones() as u8
}

macro_rules! stepped {
    ($($(#[$about:meta])* $name:ident: $input:ty, $carry:ty => $output:ty, $start:expr, { $($advance:tt)* })*) => {$(
        $(#[$about])*
        struct $name;

        #[scan_op]
        impl ScanOp for $name {
            type Input = $input;
            type State = bool;
            type Carry = $carry;
            type Output = $output;
            const IDENTITY: bool = false;
            const START: $carry = $start;
            fn lift(_x: $input) -> bool {
                true
            }
            fn combine(a: bool, b: bool) -> bool {
                a || b
            }
            fn apply(s: bool, c: $carry) -> $carry {
                if s { Self::START } else { c }
            }
            $($advance)*
        }
    )*};
}

stepped! {
    /// Returns from several places, and has variables that only one of the results needs.
    Utf8: u8, Reading => u32, Reading { bits: 0, left: 0 }, {
        fn advance(c: Reading, x: u8) -> (Reading, u32) {
            if x < 0x80 {
                return (Self::START, x as u32);
            }
            let ones = leading_ones(x);
            let mut complete = u32::MAX;
            let mut after = Reading { bits: (x & (0x7f_u8 >> (ones & 7))) as u32, left: ones - 1 };
            if ones == 1 {
                if c.left == 0 {
                    return (Self::START, 0xfffd);
                }
                after.bits = c.bits << 6 | (x & 0x3f) as u32;
                after.left = c.left - 1;
                if after.left == 0 {
                    complete = after.bits;
                }
            }
            (after, complete)
        }
    }
    /// Of one type, so that nothing but the values says which is which.
    Alike: u32, u32 => u32, 5, {
        fn advance(c: u32, x: u32) -> (u32, u32) {
            let sum = c.wrapping_add(x);
            match x & 3 {
                0 => (sum, c),
                1 if c > 9 => {
                    let twice = sum << 1;
                    (twice, twice ^ c)
                }
                1 => return (x, sum),
                _ => if c & 1 == 0 { (c, x) } else { { ((x, c)) } },
            }
        }
    }
    /// Branches and loops in which one result, the other, or a condition changes.
    Branches: u32, u32 => u32, 9, {
        fn advance(c: u32, x: u32) -> (u32, u32) {
            let (mut after, mut output, mut flips) = (c, x, 0_u32);
            if x & 1 == 0 {
                after = after.wrapping_mul(3);
            } else {
                let turned = output.rotate_left(1);
                output = turned ^ after;
            }
            if x & 2 == 0 {
                output = output.wrapping_add(after);
            } else if x & 4 == 0 {
                flips += 1;
            } else {
                after ^= 0x55;
            }
            for i in 0..x & 3 {
                flips = flips.wrapping_add(i ^ c & 1);
                if flips == 2 {
                    after = after.wrapping_sub(x);
                } else {
                    output = output.wrapping_sub(1);
                }
            }
            for i in 0..5_u32 {
                output = output.rotate_right(i) ^ flips;
            }
            (after, output)
        }
    }
    /// Leaves a loop, and changes its parameters.
    Loops: u16, i64 => [u8; 2], -1, {
        fn advance(mut c: i64, mut x: u16) -> (i64, [u8; 2]) {
            let mut digits = [0_u8; 2];
            let mut count = 0_i64;
            let mut steps = 0_u32;
            for i in 0..2_usize {
                digits[i] = (x % 10) as u8;
                x /= 10;
                steps += 1;
            }
            loop {
                if x == 0 {
                    return (c, digits);
                }
                x >>= 3;
                count += 1;
                c = c.wrapping_mul(3).wrapping_add(count);
                if c & 15 == 7 {
                    break;
                }
            }
            assert!(count < 3);
            (c ^ count, [digits[1], steps as u8])
        }
    }
    /// An operand that panics, in both of the results.
    Divides: i32, i32 => i32, 1, {
        fn advance(c: i32, x: i32) -> (i32, i32) {
            let (quotient, sum) = (c.wrapping_div(x), c.wrapping_add(x));
            (quotient, quotient ^ sum)
        }
    }
}

/// Reads its own fields.
struct Scaled {
    scale: u32,
    limit: u32,
}

#[scan_op]
impl ScanOp for Scaled {
    type Element = u32;
    type Carry = u32;
    const IDENTITY: u32 = 0;
    const START: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn apply(s: u32, c: u32) -> u32 {
        c.wrapping_add(s)
    }
    fn advance(&self, c: u32, x: u32) -> (u32, u32) {
        let after = c.wrapping_add(x);
        (after, after.wrapping_mul(self.scale).min(self.limit))
    }
}

pub(crate) fn cases(suite: &mut Suite) {
    suite.stepped(Utf8);
    suite.stepped(Alike);
    suite.stepped(Branches);
    suite.stepped(Loops);
    suite.stepped(Divides);
    suite.stepped(Scaled { scale: 3, limit: 1 << 31 });
}

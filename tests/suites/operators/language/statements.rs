//! Control flow, scopes, patterns, arrays, structs and literals.

use super::harness::{Random, Sample, Suite};
use scan_runtime::{ScanElement, ScanOp, scan_element, scan_op};

macro_rules! operator {
    ($suite:ident, $ty:ty, |$a:ident, $b:ident| $($body:tt)*) => {{
        struct Operator;
        #[scan_op]
        impl ScanOp for Operator {
            type Element = $ty;
            const IDENTITY: $ty = Default::default();
            fn combine($a: $ty, $b: $ty) -> $ty { $($body)* }
        }
        $suite.combine(Operator, 0);
    }};
}

const MODULUS: u64 = 1_000_000_007;
const TABLE: [u32; 5] = [3, 1, 4, 1, 5];

#[scan_element]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mixed {
    small: i8,
    wide: u64,
    flag: bool,
    point: Point<f32>,
    list: [u16; 3],
}

#[scan_element]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Point<T>(T, T);

impl Sample for Mixed {
    fn edges() -> Vec<Mixed> {
        (0..20).map(|i| Mixed::random(&mut Random(i))).chain([Mixed::default()]).collect()
    }
    fn random(random: &mut Random) -> Mixed {
        Mixed {
            small: i8::random(random),
            wide: u64::random(random),
            flag: bool::random(random),
            point: Point(f32::random(random), f32::random(random)),
            list: std::array::from_fn(|_| u16::random(random)),
        }
    }
}

/// Keywords of C++ as fields, and an alignment of its own.
#[scan_element]
#[repr(align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Words {
    int: i32,
    class: u8,
    r#struct: i16,
}

impl Sample for Words {
    fn edges() -> Vec<Words> {
        (0..20).map(|i| Words::random(&mut Random(i))).collect()
    }
    fn random(random: &mut Random) -> Words {
        Words { int: i32::random(random), class: u8::random(random), r#struct: i16::random(random) }
    }
}

#[scan_element]
#[derive(Clone, Copy)]
struct Scale<T: ScanElement> {
    template: T,
    pair: Point<T>,
}

#[scan_op]
impl ScanOp for Scale<f32> {
    type Element = f32;
    const IDENTITY: f32 = 0.0;
    fn combine(&self, a: f32, b: f32) -> f32 {
        a * self.template + b * self.pair.1 - self.pair.0
    }
}

struct Folded<const N: usize>;

#[scan_op]
impl<const N: usize> ScanOp for Folded<N> {
    type Element = [u32; 4];
    const IDENTITY: [u32; 4] = [0; 4];
    fn combine(a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
        let mut c = [0_u32; 4];
        for i in 0..N {
            c[i] = a[i].wrapping_mul(3).wrapping_add(b[N - 1 - i]);
        }
        c
    }
}

struct Weighted<T>(T);

#[scan_op]
impl<T: ScanElement> ScanOp for Weighted<T> {
    type Element = u16;
    const IDENTITY: Self::Element = 77;
    fn combine(a: u16, b: u16) -> u16 {
        if a == Self::IDENTITY { b } else { a ^ b ^ Self::IDENTITY }
    }
}

pub(crate) fn cases(suite: &mut Suite) {
    suite.combine(Weighted(1_u8), 0);
    suite.combine(Scale { template: 0.3, pair: Point(f32::MIN_POSITIVE, -7.25) }, 0);
    suite.combine(Folded::<4>, 0);
    suite.combine(Folded::<2>, 0);

    // Shadowing, blocks as values, names that C++ needs itself.
    operator!(suite, i32, |int, auto| {
        let x = int;
        let x = x ^ auto;
        let class = {
            let x = x.wrapping_mul(3);
            x.wrapping_add(1)
        };
        let x_1 = class & x;
        let x = x_1.wrapping_sub(x);
        x
    });
    // Early returns, in statements and in the arms of a value.
    operator!(suite, i32, |a, b| {
        if a > b {
            return a.wrapping_sub(b);
        }
        let half = if a == 0 {
            return -1;
        } else {
            b / 2
        };
        let other = if half < 0 { half } else { return half };
        other ^ a
    });
    // `if` and `match` as values, with and without statements.
    operator!(suite, i64, |a, b| {
        let sign = if a < 0 {
            -1
        } else if a == 0 {
            0
        } else {
            a & 1
        };
        let step = if b > 10 {
            let t = b % 10;
            t * sign
        } else {
            a & 7
        };
        let named: i64 = match step {
            0 | 1 => 5,
            i64::MIN..=-1 => {
                if b == 3 {
                    return 99;
                }
                step.wrapping_neg()
            }
            n @ 2..=4 => n * 2,
            n if n % 2 == 0 => n,
            _ => match b {
                7 => 1,
                _ => b,
            },
        };
        named.wrapping_add(step)
    });
    operator!(suite, u8, |a, b| match (a, b) {
        (0, _) => b,
        (_, 0) => a,
        (x, y) if x == y => 1,
        (1..=9, mut y) => {
            y = y.wrapping_add(a);
            y
        }
        (0x80.., 200..) => b'x',
        _ => !a,
    });
    operator!(suite, u8, |a, b| match (a % 5, b) {
        (0, b'a') | (1..=2, b'b'..=b'y') | (_, 0) => 1,
        (3, _) | (4, 0..=99 | 200..) if a > b => 2,
        (_, _) => b,
    });
    operator!(suite, bool, |a, b| match (a, b) {
        (true, x) => !x,
        (false, y) => y | a,
    });
    // Loops.
    operator!(suite, u64, |a, b| {
        let mut base = a % MODULUS;
        let mut exponent = b & 31;
        let mut power = 1_u64;
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = power * base % MODULUS;
            }
            base = base * base % MODULUS;
            exponent >>= 1;
        }
        power
    });
    operator!(suite, u32, |a, b| {
        let (mut x, mut y) = (a, b);
        while y != 0 {
            let rest = x % y;
            x = y;
            y = rest;
        }
        x
    });
    operator!(suite, u32, |a, b| {
        let mut n = a;
        let steps: u32 = loop {
            if n < 2 {
                break 1;
            }
            n = if n % 2 == 0 { n / 2 } else { break n };
            if n == b {
                continue;
            }
            n -= 1;
        };
        let found = loop {
            if n >= 3 {
                break n ^ 1;
            }
            n += 2;
        };
        steps.wrapping_add(found)
    });
    operator!(suite, u8, |a, b| {
        let mut sum = 0_u8;
        for i in a..=b {
            sum = sum.wrapping_mul(3).wrapping_add(i);
        }
        for i in (a..b).rev() {
            if i % 7 == 3 {
                continue;
            }
            if sum == 200 {
                break;
            }
            sum = sum.wrapping_mul(5) ^ i;
        }
        for _ in 0..3_u8 {
            sum = sum.wrapping_add(1);
        }
        for i in (250..=a).rev() {
            sum ^= i;
        }
        sum
    });
    operator!(suite, u8, |a, b| {
        let mut sum = a;
        let mut rounds = 0_u32;
        let found: u8 = 'outer: loop {
            let step = b | 1;
            rounds += 1;
            if rounds > 20 {
                break 4;
            }
            'inner: for i in 0..a {
                let twice = i.wrapping_mul(2);
                while sum != 0 {
                    rounds += 1;
                    if rounds > 500 {
                        break;
                    }
                    sum = sum.wrapping_add(step);
                    if sum == twice {
                        break 'outer sum ^ 5;
                    }
                    if sum % 7 == 2 {
                        continue 'inner;
                    }
                    if sum == 9 {
                        continue 'outer;
                    }
                }
                sum ^= 3;
                if sum > 250 {
                    break 'outer 1;
                }
            }
            sum = sum.wrapping_mul(5).wrapping_add(step);
            if sum % 3 == 0 {
                break 2;
            }
        };
        sum ^ found
    });
    operator!(suite, i8, |a, b| {
        let mut sum = 0_i8;
        for i in a..b {
            let i = i ^ 3;
            sum = sum.wrapping_add(i);
        }
        sum
    });
    // Operands from left to right, where they change what the others read.
    operator!(suite, i32, |a, b| {
        let mut x = a;
        let first = x.wrapping_add({
            x = b;
            x
        });
        let second = {
            x = x.wrapping_mul(3);
            x
        } ^ x;
        let both = a > 3 && {
            x = x.wrapping_add(7);
            x > b
        };
        let either = both || {
            x = x.wrapping_sub(a);
            false
        };
        let third = if either { x } else { second };
        first.wrapping_add(second).wrapping_mul(third)
    });
    operator!(suite, [u32; 4], |a, b| {
        let mut i = 0_usize;
        let mut c = a;
        while {
            i += 1;
            i < 4
        } {
            c[i - 1] = {
                i += 1;
                b[i & 3]
            };
            c[i & 3] |= TABLE[i];
        }
        c
    });
    // An index past the end, and a false assertion, are panics.
    operator!(suite, [u32; 2], |a, b| {
        let items = [a[0], 5, b[1], 7];
        assert!(b[0] != 3, "three");
        [items[(a[1] & 7) as usize], b[0]]
    });
    // Structs.
    operator!(suite, Mixed, |a, b| {
        let Mixed { small, .. } = a;
        Mixed { small, ..b }
    });
    operator!(suite, Mixed, |a, b| {
        let Point(x, y) = a.point;
        let mut c = Mixed { flag: a.flag & b.flag | (a.small > 3), ..a };
        c.point.0 = y;
        c.point = Point::<f32>(c.point.0 + x, 0.5);
        c.list[1] = b.list[2].wrapping_add(c.list[0]);
        c.wide = match c {
            Mixed { flag: true, wide: 0..=99, .. } => 1,
            Mixed { small: -3, .. } => 2,
            Mixed { wide, .. } => wide ^ 3,
        };
        c
    });
    operator!(suite, Words, |a, b| Words { class: a.class ^ b.class, r#struct: a.r#struct, int: b.int });
    // Literals.
    operator!(suite, u128, |a, b| {
        let big: u128 = 0xffff_ffff_ffff_ffff_ffff_ffff_ffff_ff00;
        a & big | b ^ 0x1_0000_0000_0000_0000 | 0xcbf2_9ce4_8422_2325
    });
    operator!(suite, i128, |a, b| if a < -170141183460469231731687303715884105728 {
        b
    } else {
        a ^ -9223372036854775808
    });
    operator!(suite, u64, |a, b| (a ^ 0xcbf2_9ce4_8422_2325).wrapping_mul(0x0000_0100_0000_01b3)
        ^ b & !0
        ^ (1 << 40)
        ^ 0b101
        ^ 0o17);
    operator!(suite, i32, |a, b| a & -2147483648 | b & (-1 - 5) ^ 010);
    operator!(suite, i64, |a, b| a.max(-9223372036854775808) ^ b.min(-1));
    operator!(suite, f32, |a, b| a * 0.1 + b * 1e-3 - 16777217.0 + 1_f32 + 2. * 1e10_f32);
    operator!(suite, f64, |a, b| a * 0.1 + b * 1e-3 - 9007199254740993.0 + 1f64 + if a < b { 0.1 } else { 0.7 });
    // Precedence.
    operator!(suite, i32, |a, b| {
        let x = a & b == b;
        let y = (a & 15) << 2 | b >> 3 ^ a & 6;
        let z = -(a & 0xff) - (b & 0xff) - ((a & 3) - (b & 7)) * -2;
        if x && y > 3 || z < 0 && !(a == b) { y } else { !(z ^ -y) }
    });
}

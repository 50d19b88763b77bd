//! Operators that a `macro_rules!` writes: names of several contexts, and arguments of every kind.

use super::harness::{Random, Sample, Suite};
use scan_runtime::{ScanOp, scan_element, scan_fn, scan_op};

#[scan_element]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pair {
    x: u32,
    y: u32,
}

impl Sample for Pair {
    fn edges() -> Vec<Pair> {
        (0..20).map(|seed| Pair::random(&mut Random(seed))).collect()
    }
    fn random(random: &mut Random) -> Pair {
        Pair { x: u32::random(random), y: u32::random(random) }
    }
}

const LIMIT: u32 = 1000;

/// An operator whose body has the macro's names beside the caller's.
macro_rules! operator {
    ($suite:ident, $ty:ty, |$a:ident, $b:ident| $($body:tt)*) => {{
        struct Operator;
        #[scan_op]
        impl ScanOp for Operator {
            type Element = $ty;
            fn combine($a: $ty, $b: $ty) -> $ty { $($body)* }
        }
        $suite.combine(Operator, 0);
    }};
}

macro_rules! function_form {
    ($n:ident, $x:ident) => {
        #[scan_op]
        fn $n($x: u32, b: u32) -> u32 {
            let y = b.wrapping_mul(2);
            $x ^ y
        }
    };
}

function_form!(two_names, y);

macro_rules! marked {
    ($n:ident, $x:ident) => {
        #[scan_fn]
        fn $n($x: u32) -> u32 {
            let y = $x >> 3;
            let $x = $x & 0xff;
            ($x << 4) ^ y
        }
    };
}

marked!(helper, y);

/// The macro shadows, and the caller's expression keeps meaning the caller's.
macro_rules! shadowed {
    ($suite:ident, $t:ident, $u:ident, $e:expr) => {
        operator!($suite, u32, |$t, $u| {
            let t = $e;
            let u = t.rotate_left(3) ^ $t;
            let $t = t.wrapping_add(u);
            let t = $t ^ u ^ $u;
            {
                let $u = t >> 1;
                let u = $u ^ $e;
                t.wrapping_mul(u | 1) ^ $u ^ $e
            }
        })
    };
}

/// The name comes through two macros, each of which has its own.
macro_rules! outer {
    ($suite:ident, $y:ident, $b:ident) => {
        inner!($suite, $y, $b, y, {
            let y = $b ^ 0x55;
            y.wrapping_mul(3) ^ $y
        })
    };
}

macro_rules! inner {
    ($suite:ident, $x:ident, $b:ident, $y:ident, $block:block) => {
        operator!($suite, u32, |$x, $b| {
            let y = $x >> 5;
            let $y = $block;
            let z = $y ^ y;
            $x.wrapping_sub(z) ^ $y.wrapping_add(y)
        })
    };
}

macro_rules! groups {
    ($suite:ident, |$a:ident, $b:ident| $e:expr, $f:expr, $t:ty, $l:literal, $p:pat, $c:block) => {
        operator!($suite, u32, |$a, $b| {
            let plain = $e;
            let product = plain * $f;
            let less = $e + $f * $e & $f;
            let cast = $f as $t as u32 * ($e as $t as u32 >> 1);
            let list: [$t; 2] = [$e as $t, $f as $t];
            let shifted = !$e << ($f & 3);
            let matched: u32 = match product {
                $l => 1,
                $p => 2,
                0..$l => 3,
                $l.. if $e > $f => 4,
                _ => $l,
            };
            let block = $c ^ $c;
            assert!($e != $f || $e > 0, "{}", $e);
            let array = [$e; 1 + 1];
            (product ^ cast ^ shifted ^ less).wrapping_add(matched + block) ^ (list[1] as u32) ^ array[1]
        })
    };
}

macro_rules! labels {
    ($suite:ident, |$a:ident, $b:ident| $label:lifetime, $i:ident, $leave:expr) => {
        operator!($suite, u32, |$a, $b| {
            let mut sum = $a & 7;
            $label: for $i in 0..5_u32 {
                'each: for i in 0..4_u32 {
                    sum = sum.wrapping_mul(3) ^ (i * 8 + $i);
                    if i == ($b & 3) {
                        continue $label;
                    }
                    if $i == 3 {
                        break 'each;
                    }
                    if sum % 7 == 2 {
                        $leave
                    }
                }
                sum = sum.wrapping_add(1);
            }
            sum
        })
    };
}

macro_rules! patterns {
    ($suite:ident, $x:ident, $y:ident) => {
        operator!($suite, Pair, |$x, $y| {
            let Pair { x, y } = $x;
            let Pair { x: $x, y: $y } = Pair { y: x, x: $y.y };
            let x = match $x {
                y if y > $y => y ^ x,
                x @ 0..=99 => x + LIMIT,
                mut x => {
                    x ^= $y;
                    x
                }
            };
            let y = Pair { x: $x, y };
            Pair { x, y: y.y ^ y.x ^ $y }
        })
    };
}

macro_rules! indexed {
    ($suite:ident, $i:ident) => {
        operator!($suite, [u32; 4], |a, b| {
            let mut c = a;
            for $i in 0..4 {
                for i in 0..2 {
                    c[$i] = c[$i].rotate_left(1) ^ b[i] ^ $i as u32;
                }
            }
            c
        })
    };
}

struct Weighted {
    weight: u32,
}

macro_rules! fields {
    ($self:ident, $weight:ident, $own:expr) => {
        #[scan_op]
        impl ScanOp for Weighted {
            type Element = u32;
            fn combine(&$self, $weight: u32, b: u32) -> u32 {
                let weight = $self.weight ^ b;
                $weight.wrapping_mul(weight) ^ $own ^ helper($weight)
            }
        }
    };
}

fields!(self, weight, self.weight);

pub(crate) fn cases(suite: &mut Suite) {
    suite.combine(two_names, 0);
    shadowed!(suite, t, u, t.wrapping_mul(3) ^ u);
    shadowed!(suite, u, t, t.wrapping_mul(3) ^ u);
    shadowed!(suite, first, second, first.wrapping_mul(3) ^ second);
    outer!(suite, y, b);
    outer!(suite, x, z);
    groups!(suite, |a, b| a & 15 | 3, b >> 28, u16, 21, 4 | 5 | 40..=60, { a & b & 0xff });
    groups!(suite, |product, list| product & 15 | 3, list >> 28, u8, 7, 30..=33, { (product & list) >> 30 });
    labels!(suite, |a, b| 'outer, j, break 'outer);
    labels!(suite, |a, b| 'each, i, break 'each);
    labels!(suite, |sum, i| 'each, n, continue 'each);
    labels!(suite, |sum, b| 'outer, i, return b);
    patterns!(suite, a, b);
    patterns!(suite, x, y);
    patterns!(suite, y, x);
    indexed!(suite, i);
    indexed!(suite, j);
    // A loop inside of a loop, and a name that is raw here and not there.
    operator!(suite, u32, |a, b| {
        let mut n = a & 7;
        'a: loop {
            'b: loop {
                n += 1;
                if n > 3 {
                    break 'b;
                }
            }
            if n > b & 15 {
                break 'a;
            }
        }
        let r#c = n;
        let r#type = c ^ a;
        r#c.wrapping_add(r#type)
    });
    // `mut` in patterns: a variable of the arm's own, of the value's part, and of a whole that keeps its value.
    operator!(suite, u32, |a, b| {
        let whole = match a & 3 {
            0 => b,
            mut n @ 1..=2 => {
                n += b & 0xff;
                n * 3
            }
            mut n => {
                while n < 100 {
                    n += n / 2 + (b & 3);
                }
                n
            }
        };
        whole ^ a
    });
    operator!(suite, Pair, |a, b| {
        let c = match a {
            all @ Pair { mut x, y: 0..=0x7fff_ffff } => {
                x ^= 5;
                Pair { x, y: all.x }
            }
            Pair { x, mut y } => {
                y ^= x;
                Pair { x: y, y: x }
            }
        };
        let x_1 @ mut x = b.x;
        x ^= 3;
        let (mut value, x_2) = (c, x_1);
        value.x ^= x;
        let (mut value) = value;
        value.y ^= x_2;
        value
    });
}

/// Has a parameter, so not for a GPU.
pub(crate) fn items(suite: &mut Suite) {
    suite.combine(Weighted { weight: 0x1234_5678 }, 0);
}

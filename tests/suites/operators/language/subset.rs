//! The paragraph of the language's subset, word by word: what the other cases do not have.

use super::harness::{Random, Sample, Suite};
use scan_runtime::{ScanElement, ScanOp, scan_element, scan_fn, scan_op};

#[scan_element]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pair<T, U> {
    first: T,
    second: U,
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Grid<T, const N: usize> {
    cells: [[T; N]; N],
    corner: Pair<T, Pair<u8, bool>>,
}

impl<T: Sample, U: Sample> Sample for Pair<T, U> {
    fn edges() -> Vec<Pair<T, U>> {
        (0..30).map(|seed| Pair::random(&mut Random(seed))).collect()
    }
    fn random(random: &mut Random) -> Pair<T, U> {
        Pair { first: T::random(random), second: U::random(random) }
    }
}

impl<T: Sample, const N: usize> Sample for Grid<T, N> {
    fn edges() -> Vec<Grid<T, N>> {
        (0..30).map(|seed| Grid::random(&mut Random(seed))).collect()
    }
    fn random(random: &mut Random) -> Grid<T, N> {
        Grid {
            cells: std::array::from_fn(|_| std::array::from_fn(|_| T::random(random))),
            corner: Sample::random(random),
        }
    }
}

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

struct Transposed<T, const N: usize>(std::marker::PhantomData<T>);

#[scan_op]
impl<T: ScanElement + PartialEq, const N: usize> ScanOp for Transposed<T, N> {
    type Element = Grid<T, N>;
    fn combine(a: Grid<T, N>, b: Grid<T, N>) -> Grid<T, N> {
        let mut c = a;
        for i in 0..N {
            for j in 0..N {
                c.cells[i][j] = b.cells[j][i];
            }
        }
        if a.corner == b.corner {
            return a;
        }
        c.corner.second = Pair::<u8, bool> { first: a.corner.second.first ^ b.corner.second.first, ..b.corner.second };
        if c.cells != a.cells { c } else { Grid::<T, N> { corner: a.corner, ..c } }
    }
}

const LIMIT: i32 = 40;

#[scan_fn]
fn clipped(x: i32) -> i32 {
    match x {
        i32::MIN..=-100 => -100,
        ..0 => x,
        0 | 1 | 2 => 2,
        LIMIT => 41,
        n @ 3..40 if n % 2 == 0 => n / 2,
        big if big > 1_000_000 => {
            let small = big % 1000;
            small
        }
        _ => 7,
    }
}

pub(crate) fn cases(suite: &mut Suite) {
    suite.combine(Transposed::<u16, 2>(std::marker::PhantomData), 0);
    suite.combine(Transposed::<f64, 3>(std::marker::PhantomData), 0);

    // A nested pattern with literals, ranges and bindings of structs.
    operator!(suite, Pair<i32, Pair<u8, bool>>, |a, b| {
        match a {
            Pair { first: 0, second } => Pair { first: clipped(b.first), second },
            Pair { first: n @ 1..=1000, second: Pair { first: 0..=9, second: true } } => Pair { first: n, ..b },
            Pair { second: Pair { second: false, .. }, .. } if a.first < b.first => a,
            Pair { first, second: Pair { first: byte, .. } } => {
                let flag = byte > 100 && first != b.first;
                Pair { first: clipped(first), second: Pair { first: byte, second: flag } }
            }
        }
    });
    operator!(suite, i32, |a, b| clipped(a).wrapping_add(clipped(b)));

    // Values of blocks, of `if`, of `match` and of `loop`, one inside the other.
    operator!(suite, u64, |a, b| {
        let found = 'outer: loop {
            let mut i = 0_u64;
            while i < 10 {
                i += 1;
                let step: u64 = match (a >> i) & 3 {
                    0 => continue,
                    1 => {
                        if b > a {
                            break 'outer i;
                        }
                        2
                    }
                    n => n,
                };
                if step + i > 11 {
                    break 'outer step;
                }
                i += step;
            }
            break if a > b { a - b } else { b - a };
        };
        let size: u64 = if found > 100 {
            let half = found / 2;
            half
        } else if found == 3 {
            return 1000;
        } else {
            found
        };
        size ^ {
            let c = a & b;
            c | 1
        }
    });
    // Compound assignment of every kind, on places of every kind.
    operator!(suite, [u32; 4], |a, b| {
        let mut c = a;
        let i = (b[0] % 4) as usize;
        c[i] = c[i].wrapping_mul(3);
        c[0] ^= b[3];
        c[1] |= b[2] << 3;
        c[2] &= !b[1];
        c[3] %= 1000;
        c[i] >>= 2;
        c[3 - i] <<= b[i] & 31;
        c[i] /= 3;
        c[(i + 1) % 4] -= c[(i + 1) % 4] / 2;
        c
    });
    // Ranges of every kind, with bounds of every kind.
    operator!(suite, u8, |a, b| {
        let mut sum = 0_u8;
        for i in a % 7..b % 9 {
            sum = sum.wrapping_mul(5).wrapping_add(i);
        }
        for i in (250..=255_u8).rev() {
            sum = sum.wrapping_mul(3) ^ i;
        }
        for _ in 0..b as i32 % 3 {
            sum = sum.rotate_left(1);
        }
        for i in (0..=(a as i16 % 4)).rev() {
            sum ^= i as u8;
        }
        sum
    });
    // Locals that are taken apart, declared without a value, and named like what C++ has.
    operator!(suite, Pair<i32, Pair<u8, bool>>, |a, b| {
        let Pair { first: mut int, second: Pair { first: short, second: r#bool } } = a;
        let (double, mut float) = (short ^ b.second.first, !r#bool);
        let long: i32;
        long = int.wrapping_sub(b.first);
        float |= b.second.second;
        int ^= long;
        Pair { first: int, second: Pair { first: double, second: float } }
    });
}

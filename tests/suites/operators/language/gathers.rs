//! Loops that do nothing but gather an array's items at places that the data tell.

use super::harness::Suite;
use scan_runtime::{ScanOp, scan_op};

macro_rules! gathers {
    ($suite:ident: $($name:ident, $items:literal from $given:literal, $item:ty, $mask:literal, $bits:literal;)*) => {$({
        #[derive(Clone, Copy, Debug)]
        struct $name;
        #[scan_op]
        impl ScanOp for $name {
            type Input = [u64; 2];
            type State = [$item; 24];
            type Output = [$item; 24];
            const IDENTITY: [$item; 24] = [0; 24];
            fn lift(x: [u64; 2]) -> [$item; 24] {
                let mut given = [0 as $item; $given];
                for i in 0..$given {
                    given[i] = (x[0] >> (5 * (i % 12)) ^ (i as u64)) as $item;
                }
                let mut places = [0_u8; $items];
                for i in 0..$items {
                    places[i] = (x[1] >> (4 * i)) as u8 & $mask;
                }
                let mut gathered = [0 as $item; $items];
                for i in 0..$items {
                    gathered[i] = given[places[i] as usize];
                }
                // Places of four bits each.
                let mut packed = gathered;
                let (row, narrow) = (x[0] ^ x[1], x[0] as u32);
                for i in 0..$items {
                    packed[i] = given[(row >> (4 * i) & $bits) as usize];
                }
                let mut of_narrow = gathered;
                for i in 0..3_usize {
                    of_narrow[i] = packed[(narrow >> (i * 4) & 3) as usize];
                }
                // From each other, and of some items only.
                let mut halves = gathered;
                for i in 0..$items {
                    halves[i] = gathered[(places[i] >> 1) as usize % $items];
                }
                let mut first = gathered;
                for i in 0..3_usize {
                    first[i] = given[places[i] as usize];
                }
                // What is gathered is read again.
                for i in 0..$items {
                    first[i] = first[(i + 1) % $items];
                }
                let mut all = [0 as $item; 24];
                for i in 0..$items {
                    all[i] = gathered[i] ^ (halves[i] << 1 as $item);
                    all[i] ^= packed[i].rotate_left(2) ^ of_narrow[i].rotate_left(4);
                    all[23 - i] ^= first[i];
                }
                all
            }
            fn combine(a: [$item; 24], _b: [$item; 24]) -> [$item; 24] { a }
        }
        $suite.lift($name, 0);
    })*};
}

pub(super) fn cases(suite: &mut Suite) {
    // Places past the end are panics.
    gathers! { suite:
        Four, 4 from 4, u8, 3, 3;
        FourOrPanic, 4 from 4, u8, 7, 5;
        Eight, 8 from 8, u8, 7, 7;
        EightOrPanic, 8 from 8, i8, 15, 15;
        Sixteen, 16 from 16, u8, 15, 15;
        SixteenOrPanic, 16 from 16, u8, 31, 9;
        FewOfMany, 4 from 16, i8, 15, 7;
        SomeOfMany, 8 from 16, i8, 15, 15;
        ManyOfFew, 16 from 4, u8, 3, 3;
        Odd, 5 from 7, u8, 7, 3;
        Wide, 8 from 8, u16, 7, 7;
    }
}

//! An operator that is made of others: of `flip`, of `lifted` before operators with a `lift` and without, of nested
//! `pair`s, with parameters and tables in several places.

use scan_runtime::{ScanOp, ops, scan_fn, scan_op};

use crate::{
    items::{Automaton, quotes},
    lifting::{Lifting, Narrow},
    operators::mixed,
};

/// A sum modulo a number that is known when the program runs.
#[derive(Clone, Copy, Debug)]
pub struct Modular {
    /// More than any element.
    pub modulus: u64,
}

#[scan_op]
impl ScanOp for Modular {
    type Element = u64;
    const IDENTITY: u64 = 0;
    fn combine(&self, a: u64, b: u64) -> u64 {
        (a + b) % self.modulus
    }
}

const LETTERS: [u8; 7] = *b"ab'\"\\#\n";

/// A byte that the automaton reads.
#[scan_fn]
pub fn letter(x: Narrow) -> u8 {
    LETTERS[(x.a % 7) as usize]
}

#[scan_fn]
fn twice<T: scan_runtime::ScanElement + std::ops::Add<Output = T>>(x: T) -> T {
    x + x
}

/// The summand: it calls another function.
#[scan_fn]
pub fn weight(x: Narrow) -> u64 {
    twice::<u64>(x.a as u64) + x.b as u64
}

/// The operator of [`composed`].
pub type Composed = ops::Pair<ops::Map<letter, Automaton>, ops::Pair<ops::Flip<Lifting>, ops::Map<weight, Modular>>>;

/// Three operators over one input, of which two have parameters and two do not commute.
pub fn composed(modulus: u64) -> Composed {
    ops::pair(
        ops::map::<letter, _>(quotes(b'"')),
        ops::pair(ops::flip(Lifting), ops::map::<weight, _>(Modular { modulus })),
    )
}

/// Elements with these values, whose keys go on for a few elements or for some tiles, and return later.
pub fn keyed<K, T>(values: Vec<T>, key: impl Fn(u64) -> K) -> Vec<ops::Keyed<K, T>> {
    let run = |index: u64| if index % 400 < 100 { index / 3 } else { !(index / 400) };
    let of = |index: u64| key(mixed(run(index)) % 3);
    (0..).zip(values).map(|(index, value)| ops::Keyed { key: of(index), value }).collect()
}

/// Elements with these values, of which some begin segments: of a few elements, and of some tiles.
pub fn flagged<T>(values: Vec<T>) -> Vec<ops::Flagged<T>> {
    let flag = |index: u64| if index % 400 < 100 { mixed(index).is_multiple_of(3) } else { index % 400 == 399 };
    (0..).zip(values).map(|(index, value)| ops::Flagged { flag: flag(index), value }).collect()
}

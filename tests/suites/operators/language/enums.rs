//! Enums without fields, and the equality of structs and arrays.

use super::harness::{Random, Sample, Suite};
use scan_runtime::{ScanOp, scan_element, scan_fn, scan_op};

/// Stored in a byte without being told.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Bracket {
    Open,
    Closed,
    /// A word of C++.
    register,
}

/// Numbers of its own, some without a literal in C++.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(i32)]
enum Level {
    Lowest = i32::MIN,
    Low = -3,
    Next,
    High = 1 << 20,
}

#[scan_element]
#[repr(u64)]
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wide {
    Small = 5,
    Large = u64::MAX,
}

/// Not in the order of its numbers, by which `<` goes.
#[scan_element]
#[repr(i16)]
#[derive(Clone, Copy, Debug, PartialEq, std::cmp::PartialOrd)]
enum Rank {
    Last = 300,
    First = -300,
    Middle = 0,
}

/// Compared by hand, so never by `==` in an operator; patterns are Rust's own.
#[scan_element]
#[derive(Clone, Copy, Debug)]
enum Mode {
    Plain,
    Bold,
}

impl PartialEq for Mode {
    fn eq(&self, other: &Mode) -> bool {
        *self as u8 != *other as u8
    }
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tagged {
    tag: Bracket,
    level: Level,
    list: [Bracket; 3],
    value: f32,
}

macro_rules! samples {
    ($($ty:ident: $($variant:ident)*;)*) => {$(
        impl Sample for $ty {
            fn edges() -> Vec<$ty> {
                vec![$($ty::$variant),*]
            }
            fn random(random: &mut Random) -> $ty {
                let all = $ty::edges();
                all[(random.next() % all.len() as u64) as usize]
            }
        }
    )*};
}

samples! {
    Bracket: Open Closed register;
    Level: Lowest Low Next High;
    Wide: Small Large;
    Rank: Last First Middle;
}

impl Sample for Tagged {
    fn edges() -> Vec<Tagged> {
        let floats = [0.0, -0.0, 1.0, f32::NAN];
        let tagged = |i: u64| Tagged { value: floats[(i % 4) as usize], ..Tagged::random(&mut Random(i % 9)) };
        (0..36).map(tagged).collect()
    }
    fn random(random: &mut Random) -> Tagged {
        Tagged {
            tag: Bracket::random(random),
            level: Level::random(random),
            list: std::array::from_fn(|_| Bracket::random(random)),
            value: (random.next() % 3) as f32,
        }
    }
}

impl Bracket {
    const USUAL: Bracket = Bracket::Open;
}

#[scan_fn]
fn flipped(bracket: Bracket) -> Bracket {
    match bracket {
        Bracket::Open => Bracket::Closed,
        Bracket::Closed => Bracket::Open,
        other => other,
    }
}

/// An enum as the element, by paths and by names that `use` brought.
#[scan_op]
fn brackets(a: Bracket, b: Bracket) -> Bracket {
    use_names(flipped(a), if a < b { b } else { Bracket::USUAL })
}

use Bracket::{Closed, Open};

#[scan_fn]
fn use_names(a: Bracket, b: Bracket) -> Bracket {
    match (a, b) {
        (Open | Closed, Bracket::register) => Open,
        (Open, _) if b == Closed => Bracket::register,
        (Bracket::register, Open) => Closed,
        _ => b,
    }
}

#[scan_op]
fn levels(a: Level, b: Level) -> Level {
    let both = [a, b];
    let i = (a as u8 ^ b as i64 as u8) as usize & 1;
    if both[i] == Level::Next { Level::High } else { both[1 - i] }
}

#[scan_op]
fn ranks(a: Rank, b: Rank) -> Rank {
    match (a < b, a >= Rank::Middle) {
        (true, true) => b,
        (true, false) => Rank::Middle,
        _ if a <= b => a,
        _ => {
            if Rank::First > b {
                a
            } else {
                b
            }
        }
    }
}

#[scan_op]
fn modes(a: u8, b: u8) -> u8 {
    let mode = if a < b { Mode::Plain } else { Mode::Bold };
    match mode {
        Mode::Plain => a,
        Mode::Bold => b | mode as u8,
    }
}

/// Casts to every integer type.
struct Numbers;

#[scan_op]
impl ScanOp for Numbers {
    type Input = Tagged;
    type State = u64;
    type Output = u64;
    fn lift(x: Tagged) -> u64 {
        let wide = if x.tag == Bracket::Open { Wide::Large } else { Wide::Small };
        let small = x.level as i8 as u64;
        (x.level as i16 as u64)
            ^ (x.level as u32 as u64) << 7
            ^ small
            ^ (wide as u64)
            ^ (wide as i32 as u64) << 3
            ^ (1_u64 << x.tag as u32)
            ^ (x.tag as u8 as f32 + 0.5) as u64
    }
    fn combine(a: u64, b: u64) -> u64 {
        a ^ b
    }
}

/// `==` and `!=` of structs and arrays; a struct pattern with enums in it.
#[scan_op]
fn tags(a: Tagged, b: Tagged) -> Tagged {
    if a == b {
        return Tagged { value: 100.0, ..a };
    }
    if a.list != b.list && a.level == b.level {
        return Tagged { value: 50.0, ..b };
    }
    match a {
        Tagged { tag: Bracket::Open, level: Level::Lowest | Level::Low, value, .. } => {
            Tagged { value: value * 2.0, ..b }
        }
        Tagged { tag, list, .. } if list == [tag, tag, Bracket::Closed] => a,
        Tagged { tag: Bracket::register, .. } => Tagged { list: [b.tag; 3], ..a },
        _ => b,
    }
}

pub(crate) fn cases(suite: &mut Suite) {
    suite.combine(brackets, 0);
    suite.combine(levels, 0);
    suite.combine(ranks, 0);
    suite.combine(modes, 0);
    suite.combine(tags, 0);
    suite.lift(Numbers, 0);
}

#[test]
fn an_enum_is_stored_as_its_number() {
    use scan_runtime::ScanElement;
    assert_eq!((Bracket::layout().size, Level::layout().size, Wide::layout().align), (1, 4, 8));
    assert_eq!(size_of::<Bracket>(), 1);
}

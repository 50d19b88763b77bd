//! Operators that append inputs, and machines, for every kernel that folds and scans input by input.

use scan_runtime::{ScanOp, scan_element, scan_op};

use crate::lifting::{Mapping, Narrow, Wide};

/// Composes affine mappings like [`Lifting`](crate::lifting::Lifting), and tells how an input is appended.
#[derive(Clone, Copy, Debug)]
pub struct Appending;

#[scan_op]
impl ScanOp for Appending {
    type Input = Narrow;
    type State = Mapping;
    type Output = Wide;
    const IDENTITY: Mapping = Mapping { a: 1, b: 0 };
    fn lift(x: Narrow) -> Mapping {
        Mapping { a: x.a as u32 | 1, b: x.b as u32 + 7 }
    }
    fn combine(f: Mapping, g: Mapping) -> Mapping {
        Mapping { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn append(f: Mapping, x: Narrow) -> Mapping {
        let factor = x.a as u32 | 1;
        Mapping { a: f.a.wrapping_mul(factor), b: f.b.wrapping_mul(factor).wrapping_add(x.b as u32).wrapping_add(7) }
    }
    fn project(f: Mapping) -> Wide {
        Wide { a: (f.b as u64) << 32 | f.a as u64, b: f.b as u64 + 1 }
    }
}

/// A register that each input maps, and an output of the register before an input and of the input. The four types are of
/// four sizes.
#[derive(Clone, Copy, Debug)]
pub struct Coder;

#[scan_op]
impl ScanOp for Coder {
    type Input = Narrow;
    type State = Mapping;
    type Carry = u32;
    type Output = Wide;
    const IDENTITY: Mapping = Mapping { a: 1, b: 0 };
    const START: u32 = 0x1234_5678;
    fn lift(x: Narrow) -> Mapping {
        Mapping { a: x.a as u32 | 1, b: x.b as u32 + 7 }
    }
    fn combine(f: Mapping, g: Mapping) -> Mapping {
        Mapping { a: f.a.wrapping_mul(g.a), b: g.a.wrapping_mul(f.b).wrapping_add(g.b) }
    }
    fn append(f: Mapping, x: Narrow) -> Mapping {
        let factor = x.a as u32 | 1;
        Mapping { a: f.a.wrapping_mul(factor), b: f.b.wrapping_mul(factor).wrapping_add(x.b as u32).wrapping_add(7) }
    }
    fn apply(f: Mapping, register: u32) -> u32 {
        f.a.wrapping_mul(register).wrapping_add(f.b)
    }
    fn step(register: u32, x: Narrow) -> u32 {
        (x.a as u32 | 1).wrapping_mul(register).wrapping_add(x.b as u32).wrapping_add(7)
    }
    fn emit(register: u32, x: Narrow) -> Wide {
        Wide { a: register as u64, b: x.b as u64 }
    }
    fn project(register: u32) -> Wide {
        Wide { a: register as u64, b: 1 << 40 }
    }
}

/// The numbers that have been read, one after the other: from `first` to before `end`.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The first of them; nothing has been read where it is the end.
    pub first: u32,
    /// The one that comes next.
    pub end: u32,
    /// Whether one was left out, or read twice.
    pub broken: u32,
}

/// What a [`Reader`] has read since it began.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Page {
    /// As of a [`Stretch`].
    pub first: u32,
    /// As of a [`Stretch`].
    pub end: u32,
}

/// In place of what is no page.
pub const TORN: Page = Page { first: u32::MAX, end: 0 };

/// Reads numbers that follow each other. Its outputs tell all that has been read, so that what is read at a wrong place, or from
/// a wrong begin, shows. An input is appended as what it is lifted to.
#[derive(Clone, Copy, Debug)]
pub struct Reader;

#[scan_op]
impl ScanOp for Reader {
    type Input = u16;
    type State = Stretch;
    type Carry = Page;
    type Output = Page;
    const IDENTITY: Stretch = Stretch { first: 0, end: 0, broken: 0 };
    const START: Page = Page { first: 0, end: 0 };
    fn lift(x: u16) -> Stretch {
        Stretch { first: x as u32, end: x as u32 + 1, broken: 0 }
    }
    fn combine(a: Stretch, b: Stretch) -> Stretch {
        if a.broken + b.broken > 0 {
            Stretch { first: 0, end: 0, broken: 1 }
        } else if a.first == a.end {
            b
        } else if b.first == b.end {
            a
        } else if a.end == b.first {
            Stretch { first: a.first, end: b.end, broken: 0 }
        } else {
            Stretch { first: 0, end: 0, broken: 1 }
        }
    }
    fn apply(s: Stretch, page: Page) -> Page {
        let nothing = page.first == page.end;
        if s.broken > 0 || page.first > page.end {
            TORN
        } else if s.first == s.end {
            page
        } else if nothing || page.end == s.first {
            Page { first: if nothing { s.first } else { page.first }, end: s.end }
        } else {
            TORN
        }
    }
    fn step(page: Page, x: u16) -> Page {
        let nothing = page.first == page.end;
        if page.first <= page.end && (nothing || page.end == x as u32) {
            Page { first: if nothing { x as u32 } else { page.first }, end: x as u32 + 1 }
        } else {
            TORN
        }
    }
}

/// Whether two partial results of a [`Reader`] are neighbours in this order, or one of them is the identity.
pub fn adjacent(a: &Stretch, b: &Stretch) -> bool {
    a.broken + b.broken == 0 && (a.first == a.end || b.first == b.end || a.end == b.first)
}

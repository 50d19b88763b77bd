//! Methods that are not those of numbers, under the names of such.

use scan_runtime::{ScanOp, scan_element, scan_op};

#[scan_element]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Low,
    High,
}

#[scan_element]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Count {
    count: i32,
}

impl Count {
    fn abs(self) -> Count {
        Count { count: -self.count }
    }
    fn pow(self, exponent: u32) -> Count {
        Count { count: self.count + exponent as i32 }
    }
    fn len(self) -> usize {
        1
    }
}

/// Methods of floats, for other types.
trait Root {
    fn sqrt(self) -> Self;
    fn is_positive(self) -> bool;
    fn from_bits(bits: u32) -> Self;
}

impl Root for u32 {
    fn sqrt(self) -> u32 {
        self.isqrt()
    }
    fn is_positive(self) -> bool {
        true
    }
    fn from_bits(bits: u32) -> u32 {
        bits
    }
}

impl Root for f32 {
    fn sqrt(self) -> f32 {
        self
    }
    fn is_positive(self) -> bool {
        self > 0.0
    }
    fn from_bits(_: u32) -> f32 {
        0.0
    }
}

#[scan_op]
fn levels(a: Level, b: Level) -> Level {
    a.max(b)
}

#[scan_op]
fn truths(a: bool, b: bool) -> bool {
    bool::min(a, b) || a.max(b)
}

#[scan_op]
fn pairs(a: [i32; 2], b: [i32; 2]) -> [i32; 2] {
    a.clamp([0_i32, 0], b)
}

#[scan_op]
fn counts(a: Count, b: Count) -> Count {
    let c = a.max(b);
    let d = Count { count: c.len() as i32 };
    if c.count > 0 { d.abs() } else { b.pow(3) }
}

struct Roots;

#[scan_op]
impl ScanOp for Roots {
    type Input = u32;
    type State = f32;
    type Output = bool;
    fn lift(x: u32) -> f32 {
        u32::from_bits(x).sqrt() as f32
    }
    fn combine(a: f32, b: f32) -> f32 {
        a.sqrt() + b
    }
    fn project(s: f32) -> bool {
        s.is_positive()
    }
}

/// What stands in the place of an array.
#[scan_element]
#[derive(Clone, Copy)]
struct Row {
    items: [f32; 4],
}

impl std::ops::Index<usize> for Row {
    type Output = f32;
    fn index(&self, index: usize) -> &f32 {
        &self.items[3 - index]
    }
}

impl std::ops::IndexMut<usize> for Row {
    fn index_mut(&mut self, index: usize) -> &mut f32 {
        &mut self.items[3 - index]
    }
}

struct Scaled {
    row: Row,
}

#[scan_op]
impl ScanOp for Scaled {
    type Element = Row;
    fn combine(&self, a: Row, b: Row) -> Row {
        let mut c = b;
        c[0] = self.row[1];
        c[1] += a[2];
        c
    }
}

fn main() {}

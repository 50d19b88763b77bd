//! Comparisons that are written by hand, and those of structs and arrays by `<`.

use scan_runtime::{ScanOp, scan_element, scan_fn, scan_op};

/// Its letters do not count.
#[scan_element]
#[derive(Clone, Copy, Eq)]
enum Letter {
    Small,
    Capital,
}

impl PartialEq for Letter {
    fn eq(&self, _: &Letter) -> bool {
        true
    }
}

#[scan_element]
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Low,
    High,
}

impl PartialOrd for Level {
    fn partial_cmp(&self, other: &Level) -> Option<std::cmp::Ordering> {
        (*other as u8).partial_cmp(&(*self as u8))
    }
}

/// Derived, of a field that is compared by hand.
#[scan_element]
#[derive(Clone, Copy, PartialEq)]
struct Word {
    letters: [Letter; 2],
    length: u32,
}

/// The same two levels down.
#[scan_element]
#[derive(Clone, Copy, PartialEq)]
struct Marked<T> {
    word: T,
    level: Level,
}

/// The attribute does not see the derive.
#[derive(Clone, Copy, PartialEq)]
#[scan_element]
struct Above {
    x: f32,
}

#[scan_element]
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Point {
    x: f32,
    y: f32,
}

impl PartialEq<Point> for f32 {
    fn eq(&self, other: &Point) -> bool {
        *self == other.x
    }
}

impl PartialEq<f32> for Point {
    fn eq(&self, other: &f32) -> bool {
        self.x == *other
    }
}

impl PartialOrd<Level> for u32 {
    fn partial_cmp(&self, _: &Level) -> Option<std::cmp::Ordering> {
        None
    }
}

impl PartialEq<Level> for u32 {
    fn eq(&self, _: &Level) -> bool {
        true
    }
}

const ORIGIN: Above = Above { x: 0.0 };

#[scan_fn]
fn same(a: Letter, b: Letter) -> bool {
    a == b
}

#[scan_op]
fn words(a: Word, b: Word) -> Word {
    if a == b || a.letters != b.letters { a } else { b }
}

#[scan_op]
fn marked(a: Marked<Word>, b: Marked<Word>) -> Marked<Word> {
    // Levels are equal as Rust derives it, and in the other order.
    if a.level == b.level && a.level < b.level { a } else if a != b { b } else { a }
}

#[scan_op]
fn above(a: Above, b: Above) -> Above {
    match a {
        ORIGIN => b,
        _ if a == b => a,
        _ => b,
    }
}

#[scan_op]
fn points(a: Point, b: Point) -> Point {
    if a < b {
        return a;
    }
    if [a.x, a.y] <= [b.x, b.y] {
        return b;
    }
    // One side is a number; arrays of such.
    if a.x == b || b == a.y || [a.x] == [b] || b != 1.0 { a } else { b }
}

struct Numbers;

#[scan_op]
impl ScanOp for Numbers {
    type Element = u32;
    fn combine(a: u32, b: u32) -> u32 {
        if a > Level::High || b != Level::Low { a } else { b }
    }
}

fn main() {}

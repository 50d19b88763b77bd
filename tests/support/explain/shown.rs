//! The operators that are explained, each with an input and with a short text of its partial results.

use std::fmt::Debug;

use scan_runtime::{
    ScanOp,
    gallery::brackets::{Depth, Unmatched},
    ops,
};

use crate::operators::{AffineU32, MapU32, mixed};

/// Does something with each of the operators.
pub trait Visitor {
    /// Called once an operator: its name, the operator, its input at a position, and the text of a partial result. A
    /// node of the explorer has room for seven characters.
    fn visit<Op>(&mut self, name: &str, op: Op, input: fn(u64) -> Op::Input, show: fn(Op::State) -> String)
    where
        Op: ScanOp<Output: Debug> + Clone;
}

/// Visits every operator. The page in `docs` has the first four. To step through scans of your operator, add a line;
/// [`numbers`] makes a text of any partial result.
pub fn visit_shown(visitor: &mut impl Visitor) {
    visitor.visit("sum", ops::sum::<u32>(), small, numbers);
    visitor.visit("affine", AffineU32, affine, affine_text);
    visitor.visit("max", ops::max::<u32>(), |index| mixed(index) as u32 % 100, numbers);
    visitor.visit("brackets", Depth, |index| b"(()(()))())(()(("[index as usize % 16], brackets_text);
    visitor.visit("product", ops::product::<u64>(), |index| mixed(index) % 3 + 1, numbers);
}

/// The text of any value: of a struct only its numbers, which are short.
pub fn numbers<T: Debug>(value: T) -> String {
    let is_part = |c: char| c.is_ascii_digit() || "+-.".contains(c);
    let text = format!("{value:?}");
    let numbers: Vec<&str> = text.split(|c| !is_part(c)).filter(|part| !part.is_empty()).collect();
    if text.contains('{') { numbers.join(" ") } else { text }
}

/// A number that can be followed in the head.
fn small(index: u64) -> u32 {
    (mixed(index) % 9) as u32 + 1
}

/// x + b or -x + b, modulo 2³²: these do not commute.
fn affine(index: u64) -> MapU32 {
    MapU32 { a: if mixed(index).is_multiple_of(3) { u32::MAX } else { 1 }, b: (mixed(index) >> 8) as u32 % 5 }
}

fn affine_text(map: MapU32) -> String {
    format!("{}x{:+}", if map.a == 1 { "" } else { "-" }, map.b as i32)
}

/// The brackets without those that match, or how many there are; a dot where all match.
fn brackets_text(left: Unmatched) -> String {
    match (left.close, left.open) {
        (0, 0) => "·".to_owned(),
        (close, open) if close + open <= 6 => ")".repeat(close as usize) + &"(".repeat(open as usize),
        (close, open) => format!("{close}) {open}("),
    }
}

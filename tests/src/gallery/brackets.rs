//! Bracket matching: how deep each byte of a text is nested, or that a bracket closed what was not open. What is left of a
//! stretch when matching brackets are gone is some closing ones, then some opening ones.

use super::{Example, each_prefix};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// `)))((`
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Unmatched {
    close: u32,
    open: u32,
}

/// How deep a text is nested, -1 once it is broken.
#[derive(Clone, Copy, Debug)]
pub struct Depth;

#[scan_op(laws = b"(()(x))")]
impl ScanOp for Depth {
    type Input = u8;
    type State = Unmatched;
    type Output = i32;
    const IDENTITY: Unmatched = Unmatched { close: 0, open: 0 };
    fn lift(byte: u8) -> Unmatched {
        match byte {
            b'(' | b'[' | b'{' => Unmatched { close: 0, open: 1 },
            b')' | b']' | b'}' => Unmatched { close: 1, open: 0 },
            _ => Unmatched { close: 0, open: 0 },
        }
    }
    fn combine(a: Unmatched, b: Unmatched) -> Unmatched {
        let matched = a.open.min(b.close);
        Unmatched { close: a.close + b.close - matched, open: a.open + b.open - matched }
    }
    fn project(s: Unmatched) -> i32 {
        if s.close > 0 { -1 } else { s.open as i32 }
    }
}

impl Example for Depth {
    fn new() -> Self {
        Depth
    }
    /// Source text; in its last eighth there is one closing bracket too many.
    fn input(len: usize) -> Vec<u8> {
        let text = b"fn f(x: [u8; 4]) { g(h(x[0]), { y + (1 * z) }); } struct S { a: (u8, u8) } mod m { ";
        let mut input: Vec<u8> = text.iter().copied().cycle().take(len).collect();
        for (index, byte) in input.iter_mut().enumerate() {
            if index >= len - len / 8 && byte.is_ascii_alphabetic() {
                *byte = b'}';
            }
        }
        input
    }
    fn expected(&self, input: &[u8]) -> Vec<i32> {
        each_prefix(input, Some(0_i32), |depth, byte| {
            if b"([{".contains(&byte) {
                *depth = depth.map(|depth| depth + 1);
            } else if b")]}".contains(&byte) {
                *depth = depth.and_then(|depth| if depth > 0 { Some(depth - 1) } else { None });
            }
            depth.unwrap_or(-1)
        })
    }
}

//! Matching brackets: the depth of nesting at every byte of a text.
//!
//! Without the brackets that match each other, a part of the text is some closing brackets and then some opening ones.
//! Two counts describe it fully.

use crate::{ScanOp, scan_element, scan_fn, scan_op};

/// The brackets of a part of the text that match none within it: `)))((`.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Unmatched {
    /// The number of closing ones.
    pub close: u32,
    /// The number of opening ones, after all closing ones.
    pub open: u32,
}

/// The number of brackets that are open after each byte, or −1 from the first one that closes none.
///
/// - Input: a byte of the text. `(`, `[` and `{` open. `)`, `]` and `}` close any of them.
/// - Output: the depth, or −1.
/// - Source: I. Bar-On and U. Vishkin, *Optimal Parallel Generation of a Computation Tree Form*, ACM Transactions on
///   Programming Languages and Systems 7, 1985.
///
/// ```
/// use scan_runtime::{Scanner, gallery::brackets::Depth};
///
/// let scanner = Scanner::new()?;
/// assert_eq!(scanner.scan(Depth).run(b"f(a[0])")?, [0, 1, 1, 2, 2, 1, 0]);
/// assert_eq!(scanner.scan(Depth).run(b"())(")?, [1, 0, -1, -1]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth;

#[scan_op(crate = crate, laws = b"(()(x))")]
impl ScanOp for Depth {
    type Input = u8;
    type State = Unmatched;
    type Carry = i32;
    type Output = i32;
    const IDENTITY: Unmatched = Unmatched { close: 0, open: 0 };
    const START: i32 = 0;
    fn lift(byte: u8) -> Unmatched {
        let change = change_at(byte);
        Unmatched { close: if change < 0 { 1 } else { 0 }, open: if change > 0 { 1 } else { 0 } }
    }
    fn combine(a: Unmatched, b: Unmatched) -> Unmatched {
        let matched = a.open.min(b.close);
        Unmatched { close: a.close + b.close - matched, open: a.open + b.open - matched }
    }
    fn append(s: Unmatched, byte: u8) -> Unmatched {
        let open = s.open as i32 + change_at(byte);
        Unmatched { close: s.close + (open < 0) as u32, open: open.max(0) as u32 }
    }
    fn apply(s: Unmatched, depth: i32) -> i32 {
        if depth < s.close as i32 { -1 } else { depth - s.close as i32 + s.open as i32 }
    }
    fn step(depth: i32, byte: u8) -> i32 {
        if depth < 0 { -1 } else { depth + change_at(byte) }
    }
}

/// What a byte adds to the depth.
#[scan_fn(crate = crate)]
fn change_at(byte: u8) -> i32 {
    let folded = byte | 0x20; // makes `[` a `{` and `]` a `}`
    let opens = (byte == b'(') | (folded == b'{');
    let closes = (byte == b')') | (folded == b'}');
    opens as i32 - closes as i32
}

//! A finite automaton over bytes: the state of a small lexer at every byte of a text.
//!
//! A part of the text is a function from states to states, stored as a table. Tables compose.

use crate::{ScanOp, scan_element, scan_fn, scan_op};

/// A function from states to states.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The state after, by the state before.
    pub next: [u8; 4],
}

/// Outside of strings and comments.
pub const CODE: u8 = 0;
/// In a string; after the byte that opens it, too.
pub const STRING: u8 = 1;
/// In a string, after `\`.
pub const ESCAPE: u8 = 2;
/// In a comment.
pub const COMMENT: u8 = 3;

/// The state of the lexer after each byte: [`CODE`], [`STRING`], [`ESCAPE`] or [`COMMENT`].
///
/// A string is between `"` and `"`, with `\` before a byte that does not end it. A comment goes from `#` to the end of
/// the line. The rules of another automaton are another `lift`; the example crate `tokenizer` reads them at run time.
///
/// - Input: a byte of the text.
/// - Output: the state, which is `CODE` before the first byte.
/// - Source: R. E. Ladner and M. J. Fischer, *Parallel Prefix Computation*, Journal of the ACM 27, 1980; W. D. Hillis
///   and G. L. Steele, *Data Parallel Algorithms*, Communications of the ACM 29, 1986.
///
/// ```
/// use scan_runtime::{Scanner, gallery::automaton::{CODE, COMMENT, Lexer, STRING}};
///
/// let states = Scanner::new()?.scan(Lexer).run(br##"x"#"#"##)?;
/// assert_eq!(states, [CODE, STRING, STRING, CODE, COMMENT]);
/// # Ok::<(), scan_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lexer;

#[scan_op(crate = crate)]
impl ScanOp for Lexer {
    type Input = u8;
    type State = Table;
    type Carry = u8;
    type Output = u8;
    const IDENTITY: Table = Table { next: [CODE, STRING, ESCAPE, COMMENT] };
    const START: u8 = CODE;
    fn lift(byte: u8) -> Table {
        let row = ROWS[byte as usize];
        Table { next: [after(row, CODE), after(row, STRING), after(row, ESCAPE), after(row, COMMENT)] }
    }
    fn combine(a: Table, b: Table) -> Table {
        let mut next = a.next;
        for state in 0..4_usize {
            next[state] = b.next[a.next[state] as usize];
        }
        Table { next }
    }
    /// The table of the rest, at the places in the row: on a GPU a permutation of bytes.
    fn prepend(byte: u8, s: Table) -> Table {
        let row = ROWS[byte as usize];
        let mut next = s.next;
        for state in 0..4_usize {
            next[state] = s.next[(row >> (4 * state) & 3) as usize];
        }
        Table { next }
    }
    fn apply(s: Table, state: u8) -> u8 {
        s.next[state as usize]
    }
    fn step(state: u8, byte: u8) -> u8 {
        after(ROWS[byte as usize], state)
    }
}

/// The state after a state, by the row of a byte.
#[scan_fn(crate = crate)]
fn after(row: u16, state: u8) -> u8 {
    (row >> (4 * state) & 3) as u8
}

/// The rules, a row for each byte: four bits for the state after each state, the first state's are the lowest.
pub const ROWS: [u16; 256] = {
    let mut rows = [0x3110; 256];
    rows[b'"' as usize] = 0x3101;
    rows[b'\\' as usize] = 0x3120;
    rows[b'#' as usize] = 0x3113;
    rows[b'\n' as usize] = 0x0110;
    rows
};

//! A finite automaton over bytes: the state of a small lexer at every byte of a text.
//!
//! A part of the text is a function from states to states, stored as a table. Tables compose.

use crate::{ScanOp, scan_element, scan_fn, scan_op};

/// A function from states to states.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The state after, by the state before: twice its number, which is where its rule stands in a row of [`ROWS`].
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
    const IDENTITY: Table = Table { next: [2 * CODE, 2 * STRING, 2 * ESCAPE, 2 * COMMENT] };
    const START: u8 = 2 * CODE;
    fn lift(byte: u8) -> Table {
        let row = ROWS[byte as usize] as u32 * 2;
        Table { next: [after(row, 2 * CODE), after(row, 2 * STRING), after(row, 2 * ESCAPE), after(row, 2 * COMMENT)] }
    }
    fn combine(a: Table, b: Table) -> Table {
        let mut next = a.next;
        for state in 0..4_usize {
            next[state] = b.next[(a.next[state] >> 1) as usize];
        }
        Table { next }
    }
    fn append(s: Table, byte: u8) -> Table {
        let row = ROWS[byte as usize] as u32 * 2;
        Table { next: [after(row, s.next[0]), after(row, s.next[1]), after(row, s.next[2]), after(row, s.next[3])] }
    }
    fn apply(s: Table, state: u8) -> u8 {
        s.next[(state >> 1) as usize]
    }
    fn step(state: u8, byte: u8) -> u8 {
        after(ROWS[byte as usize] as u32 * 2, state)
    }
    fn project(state: u8) -> u8 {
        state >> 1
    }
}

/// The state after a state, by twice the row of a byte; both states twice their numbers.
#[scan_fn(crate = crate)]
fn after(row: u32, state: u8) -> u8 {
    (row >> state & 6) as u8
}

/// The rules, a row for each byte: two bits for the state after each state.
pub const ROWS: [u8; 256] = {
    let mut rows = [0b11_01_01_00; 256];
    rows[b'"' as usize] = 0b11_01_00_01;
    rows[b'\\' as usize] = 0b11_01_10_00;
    rows[b'#' as usize] = 0b11_01_01_11;
    rows[b'\n' as usize] = 0b00_01_01_00;
    rows
};

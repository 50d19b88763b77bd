//! A finite automaton over bytes: the state of a small lexer at every byte of a text.
//!
//! A part of the text is a function from states to states, stored as a table. Tables compose.

use crate::{ScanOp, scan_element, scan_op};

/// A function from states to states.
#[scan_element(crate = crate)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The state after the part, indexed by the state before it.
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
    type Output = u8;
    const IDENTITY: Table = Table { next: [CODE, STRING, ESCAPE, COMMENT] };
    fn lift(byte: u8) -> Table {
        let next = match byte {
            b'"' => [STRING, CODE, STRING, COMMENT],
            b'\\' => [CODE, ESCAPE, STRING, COMMENT],
            b'#' => [COMMENT, STRING, STRING, COMMENT],
            b'\n' => [CODE, STRING, STRING, CODE],
            _ => [CODE, STRING, STRING, COMMENT],
        };
        Table { next }
    }
    fn combine(a: Table, b: Table) -> Table {
        let mut next = a.next;
        for state in 0..4_usize {
            next[state] = b.next[a.next[state] as usize];
        }
        Table { next }
    }
    fn project(s: Table) -> u8 {
        s.next[CODE as usize]
    }
}

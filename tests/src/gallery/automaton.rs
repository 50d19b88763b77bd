//! An automaton over bytes: the state of a small lexer at every byte of a text. What a stretch of text does is a function from
//! states to states, a table; tables compose.

use super::{Example, each_prefix};
use scan_runtime::{ScanOp, scan_element, scan_op};

/// Where each state goes: code, string, escape within a string, comment.
#[scan_element]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    next: [u8; 4],
}

const CODE: u8 = 0;
const STRING: u8 = 1;
const ESCAPE: u8 = 2;
const COMMENT: u8 = 3;

/// The state after each byte.
#[derive(Clone, Copy, Debug)]
pub struct Lexer;

#[scan_op]
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

impl Example for Lexer {
    fn new() -> Self {
        Lexer
    }
    fn input(len: usize) -> Vec<u8> {
        let text = b"name = \"a \\\"quoted\\\" # word\" # a \"comment\"\npath = \"C:\\\\\"\nn = 3 # \\ \n";
        text.iter().copied().cycle().take(len).collect()
    }
    /// Byte by byte, as lexers are written.
    fn expected(&self, input: &[u8]) -> Vec<u8> {
        each_prefix(input, CODE, |state, byte| {
            *state = match (*state, byte) {
                (CODE, b'"') => STRING,
                (CODE, b'#') => COMMENT,
                (STRING, b'"') => CODE,
                (STRING, b'\\') => ESCAPE,
                (ESCAPE, _) => STRING,
                (COMMENT, b'\n') => CODE,
                (state, _) => state,
            };
            *state
        })
    }
}

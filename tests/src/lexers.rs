//! The lexer of the example `tokenizer`, whose table is read at run time: the machine of the example, and an operator
//! that only composes tables.

use scan_runtime::{ScanOp, Table, scan_op};

use crate::gallery::{Example, Visitor};

#[allow(dead_code, unreachable_pub, reason = "it is a module of the example, which uses all of it")]
#[path = "../../examples/tokenizer/src/automaton.rs"]
mod automaton;
#[allow(unreachable_pub, reason = "it is a module of the example")]
#[path = "../../examples/tokenizer/src/lexer.rs"]
mod lexer;

use automaton::{Automaton, STATES};
use lexer::{Lexer, Transitions};

/// Composes tables.
#[derive(Clone)]
struct Composed {
    transitions: Table<Transitions>,
}

#[scan_op]
impl ScanOp for Composed {
    type Input = u8;
    type State = Transitions;
    type Output = u8;
    const IDENTITY: Transitions = Transitions { next: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] };
    fn lift(&self, byte: u8) -> Transitions {
        self.transitions[byte as usize]
    }
    fn combine(a: Transitions, b: Transitions) -> Transitions {
        let mut next = a.next;
        for state in 0..STATES {
            next[state] = b.next[a.next[state] as usize];
        }
        Transitions { next }
    }
    fn project(s: Transitions) -> u8 {
        s.next[0]
    }
}

fn rows() -> Table<u64> {
    #[allow(clippy::expect_used, reason = "the rules of the example can be read")]
    Automaton::read(include_str!("../../examples/tokenizer/rust.automaton")).expect("rules").rows
}

/// A program's text, and the state after each byte by a plain loop.
fn text(len: usize) -> Vec<u8> {
    include_bytes!("lexers.rs").iter().copied().cycle().take(len).collect()
}

fn states(text: &[u8]) -> Vec<u8> {
    let rows = rows();
    let step = |state: &mut u8, &byte: &u8| {
        *state = (rows[usize::from(byte)] >> (4 * *state) & 15) as u8;
        Some(*state)
    };
    text.iter().scan(0, step).collect()
}

impl Example for Composed {
    fn new() -> Self {
        let lexer = Lexer { rows: rows() };
        Composed { transitions: (0..=u8::MAX).map(|byte| lexer.lift(byte)).collect() }
    }
    fn input(len: usize) -> Vec<u8> {
        text(len)
    }
    fn expected(&self, input: &[u8]) -> Vec<u8> {
        states(input)
    }
}

impl Example for Lexer {
    fn new() -> Self {
        Lexer { rows: rows() }
    }
    fn input(len: usize) -> Vec<u8> {
        text(len)
    }
    fn expected(&self, input: &[u8]) -> Vec<u8> {
        states(input)
    }
}

/// Visits both.
pub fn visit_lexers(visitor: &mut impl Visitor) {
    visitor.visit::<Composed>("lexer");
    visitor.visit::<Lexer>("lexer_machine");
}

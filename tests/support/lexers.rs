//! The lexer of the example `tokenizer`, whose table is read at run time: the stepped operator of the example, one that
//! reads two bytes at a time, and an operator that only composes tables.

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

/// The stepped operator for two bytes at a time. Bytes that lead every state to the same one are a class, of which
/// there are at most sixteen, so that a table has a row for each two classes.
#[derive(Clone)]
struct InPairs {
    /// Sixteen times the class of each byte.
    classes: Table<u8>,
    /// The state after each class and each state.
    next: Table<u8>,
    /// Where each two classes lead, as in the rows of a byte.
    rows: Table<u64>,
}

#[scan_op]
impl ScanOp for InPairs {
    type Input = [u8; 2];
    type State = Transitions;
    type Carry = u8;
    type Output = [u8; 2];
    const IDENTITY: Transitions = Transitions { next: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] };
    const START: u8 = 0;
    fn advance(&self, state: u8, bytes: [u8; 2]) -> (u8, [u8; 2]) {
        let first = self.next[(self.classes[bytes[0] as usize] | state) as usize];
        let second = self.next[(self.classes[bytes[1] as usize] | first) as usize];
        (second, [first, second])
    }
    // What an exclusive scan gives: the state before both.
    fn project(state: u8) -> [u8; 2] {
        [state, state]
    }
    fn lift(&self, bytes: [u8; 2]) -> Transitions {
        let row = self.rows[(self.classes[bytes[0] as usize] | self.classes[bytes[1] as usize] >> 4) as usize];
        let mut next = Self::IDENTITY.next;
        for state in 0..STATES {
            next[state] = (row >> (4 * state) & 15) as u8;
        }
        Transitions { next }
    }
    fn prepend(&self, bytes: [u8; 2], rest: Transitions) -> Transitions {
        let row = self.rows[(self.classes[bytes[0] as usize] | self.classes[bytes[1] as usize] >> 4) as usize];
        let mut next = rest.next;
        for state in 0..STATES {
            next[state] = rest.next[(row >> (4 * state) & 15) as usize];
        }
        Transitions { next }
    }
    fn combine(a: Transitions, b: Transitions) -> Transitions {
        let mut next = a.next;
        for state in 0..STATES {
            next[state] = b.next[a.next[state] as usize];
        }
        Transitions { next }
    }
    fn apply(stretch: Transitions, state: u8) -> u8 {
        stretch.next[state as usize]
    }
}

impl InPairs {
    fn of(rows: &[u64]) -> Self {
        let after = |row: u64, state: usize| (row >> (4 * state) & 15) as usize;
        let mut classes = rows.to_vec();
        classes.sort_unstable();
        classes.dedup();
        assert!(classes.len() <= STATES, "{} classes of bytes", classes.len());
        let class = |row: &u64| classes.iter().position(|class| class == row).unwrap_or_default();
        // What no byte is of leads nowhere.
        let row = |class: usize| classes.get(class).copied().unwrap_or_default();
        let both = |first: usize, second: usize| {
            (0..STATES).rev().fold(0, |both, state| both << 4 | after(row(second), after(row(first), state)) as u64)
        };
        InPairs {
            classes: rows.iter().map(|row| (STATES * class(row)) as u8).collect(),
            next: (0..STATES * STATES).map(|at| after(row(at / STATES), at % STATES) as u8).collect(),
            rows: (0..STATES * STATES).map(|at| both(at / STATES, at % STATES)).collect(),
        }
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

impl Example for InPairs {
    fn new() -> Self {
        InPairs::of(&rows())
    }
    fn input(len: usize) -> Vec<[u8; 2]> {
        text(2 * len).as_chunks().0.to_vec()
    }
    fn expected(&self, input: &[[u8; 2]]) -> Vec<[u8; 2]> {
        states(input.as_flattened()).as_chunks().0.to_vec()
    }
}

/// Visits all three.
pub fn visit_lexers(visitor: &mut impl Visitor) {
    visitor.visit::<Composed>("lexer");
    visitor.visit::<Lexer>("lexer_stepped");
    visitor.visit::<InPairs>("lexer_in_pairs");
}

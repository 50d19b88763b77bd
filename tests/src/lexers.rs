//! The lexer of the example `tokenizer`, whose table is read at run time: as it stands there, and as a machine.

use scan_runtime::{ScanOp, Table, scan_op};

use crate::gallery::{Example, Visitor};

#[allow(dead_code, unreachable_pub, reason = "it is a module of the example, which uses all of it")]
#[path = "../../examples/tokenizer/src/automaton.rs"]
mod automaton;

use automaton::{Automaton, STATES, Transitions};

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

/// Composes tables to know where runs begin, and takes a step at each byte. Four bits of a row are the state after a
/// state.
#[derive(Clone)]
struct Stepping {
    rows: Table<u64>,
}

#[scan_op]
impl ScanOp for Stepping {
    type Input = u8;
    type State = Transitions;
    type Carry = u8;
    type Output = u8;
    const IDENTITY: Transitions = Transitions { next: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] };
    const START: u8 = 0;
    fn lift(&self, byte: u8) -> Transitions {
        let row = self.rows[byte as usize];
        let mut next = Self::IDENTITY.next;
        for state in 0..STATES {
            next[state] = (row >> (4 * state) & 15) as u8;
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
    fn prepend(&self, byte: u8, s: Transitions) -> Transitions {
        let row = self.rows[byte as usize];
        let mut next = s.next;
        for state in 0..STATES {
            next[state] = s.next[(row >> (4 * state) & 15) as usize];
        }
        Transitions { next }
    }
    fn apply(s: Transitions, state: u8) -> u8 {
        s.next[state as usize]
    }
    fn step(&self, state: u8, byte: u8) -> u8 {
        (self.rows[byte as usize] >> (4 * state) & 15) as u8
    }
}

fn automaton() -> Automaton {
    #[allow(clippy::expect_used, reason = "the rules of the example can be read")]
    Automaton::read(include_str!("../../examples/tokenizer/rust.automaton")).expect("rules")
}

/// A program's text, and the state after each byte by a plain loop.
fn text(len: usize) -> Vec<u8> {
    include_bytes!("lexers.rs").iter().copied().cycle().take(len).collect()
}

fn states(text: &[u8]) -> Vec<u8> {
    let transitions = automaton().transitions;
    let step = |state: &mut u8, &byte: &u8| {
        *state = transitions[usize::from(byte)].next[usize::from(*state)];
        Some(*state)
    };
    text.iter().scan(0, step).collect()
}

impl Example for Composed {
    fn new() -> Self {
        Composed { transitions: automaton().transitions }
    }
    fn input(len: usize) -> Vec<u8> {
        text(len)
    }
    fn expected(&self, input: &[u8]) -> Vec<u8> {
        states(input)
    }
}

impl Example for Stepping {
    fn new() -> Self {
        let row = |row: &Transitions| row.next.iter().rev().fold(0, |row, &next| row << 4 | u64::from(next));
        Stepping { rows: automaton().transitions.iter().map(row).collect() }
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
    visitor.visit::<Stepping>("lexer_machine");
}

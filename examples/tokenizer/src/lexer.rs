//! The scan: the state of the automaton after each byte.

use crate::automaton::{STATES, Transitions};
use scan_runtime::{ScanOp, Table, scan_op};

/// The loop `state = transitions[byte][state]`, and where a stretch of text leads from each state.
pub struct Lexer {
    pub transitions: Table<Transitions>,
}

#[scan_op]
impl ScanOp for Lexer {
    type Input = u8;
    type Output = u8;
    // The loop.
    type Carry = u8;
    const START: u8 = 0;
    fn step(&self, state: u8, byte: u8) -> u8 {
        self.transitions[byte as usize].next[state as usize]
    }
    // The effect of a stretch of text on any state.
    type State = Transitions;
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
    fn apply(stretch: Transitions, state: u8) -> u8 {
        stretch.next[state as usize]
    }
}

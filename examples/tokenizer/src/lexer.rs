//! The scan: the state of the automaton after each byte.

use super::automaton::STATES;
use scan_runtime::{ScanOp, Table, scan_element, scan_op};

/// Where a stretch of text leads from each state.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transitions {
    pub next: [u8; STATES],
}

/// The loop `state = rows[byte][state]`, and where a stretch of text leads from each state.
#[derive(Clone)]
pub struct Lexer {
    pub rows: Table<u64>,
}

#[scan_op]
impl ScanOp for Lexer {
    type Input = u8;
    type Output = u8;
    // The loop.
    type Carry = u8;
    const START: u8 = 0;
    fn step(&self, state: u8, byte: u8) -> u8 {
        (self.rows[byte as usize] >> (4 * state) & 15) as u8
    }
    // The effect of a stretch of text on any state.
    type State = Transitions;
    const IDENTITY: Transitions = Transitions { next: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] };
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
    // Where the rest leads from the states of the row: GPUs permute bytes by four bits each.
    fn prepend(&self, byte: u8, rest: Transitions) -> Transitions {
        let row = self.rows[byte as usize];
        let mut next = rest.next;
        for state in 0..STATES {
            next[state] = rest.next[(row >> (4 * state) & 15) as usize];
        }
        Transitions { next }
    }
    fn apply(stretch: Transitions, state: u8) -> u8 {
        stretch.next[state as usize]
    }
}

//! Operators with what stands outside of an operator: enums, functions, constants, tables; and without an identity.

use scan_runtime::{ScanOp, Table, scan_element, scan_fn, scan_op};

use crate::operators::mixed;

/// A place, and what stands there.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stamp {
    /// The place.
    pub place: u64,
    /// What stands there.
    pub kind: Kind,
}

/// What stands at a place.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(i16)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Kind {
    Letter = -7,
    Digit,
    Other = 300,
}

/// The last digit, else what is no letter and came first, else what came first. There is no stamp that changes nothing.
#[derive(Clone, Debug)]
pub struct Leading;

#[scan_op]
impl ScanOp for Leading {
    type Element = Stamp;
    fn combine(a: Stamp, b: Stamp) -> Stamp {
        match (a.kind, b.kind) {
            (_, Kind::Digit) => b,
            (Kind::Digit, _) => a,
            (Kind::Other, Kind::Letter | Kind::Other) => a,
            (Kind::Letter, Kind::Other) => b,
            _ if a.place == b.place => b,
            _ => a,
        }
    }
}

/// A stamp that looks random and is the same everywhere.
pub fn stamp(index: u64) -> Stamp {
    let kinds = [Kind::Letter, Kind::Letter, Kind::Letter, Kind::Letter, Kind::Other];
    let kind = if mixed(index).is_multiple_of(97) { Kind::Digit } else { kinds[(mixed(!index) % 5) as usize] };
    Stamp { place: index, kind }
}

/// The first value, in the short form without an identity.
#[scan_op]
pub fn leftmost(a: u32, _b: u32) -> u32 {
    a
}

/// The states of an automaton that reads bytes, and what it says of each place.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Verdict {
    Code,
    Text,
    Escape,
    Comment,
}

/// All of them, in the order of the states.
pub const VERDICTS: [Verdict; 4] = [Verdict::Code, Verdict::Text, Verdict::Escape, Verdict::Comment];

/// A function of states, which is what can be composed.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transition {
    /// The state after each state.
    pub to: [u8; 4],
}

/// One transition after the other.
#[allow(clippy::needless_range_loop, reason = "ranges are the operator language's loops")]
#[scan_fn]
pub fn after(f: Transition, g: Transition) -> Transition {
    let mut to = [0_u8; 4];
    for i in 0..4 {
        to[i] = g.to[f.to[i] as usize];
    }
    Transition { to }
}

/// An automaton whose transitions are known when the program runs.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// What each byte does.
    pub transitions: Table<Transition>,
    /// The first state.
    pub start: u8,
}

#[scan_op]
impl ScanOp for Automaton {
    type Input = u8;
    type State = Transition;
    type Output = Verdict;
    const IDENTITY: Transition = Transition { to: [0, 1, 2, 3] };

    fn lift(&self, byte: u8) -> Transition {
        self.transitions[byte as usize]
    }

    fn combine(f: Transition, g: Transition) -> Transition {
        after(f, g)
    }

    fn project(&self, f: Transition) -> Verdict {
        VERDICTS[f.to[self.start as usize] as usize]
    }
}

/// Quotes, backslashes and comments to the end of the line.
pub fn quotes(quote: u8) -> Automaton {
    let transition = |byte: usize| match byte as u8 {
        byte if byte == quote => Transition { to: [1, 0, 1, 3] },
        b'\\' => Transition { to: [0, 2, 1, 3] },
        b'#' => Transition { to: [3, 1, 1, 3] },
        b'\n' => Transition { to: [0, 0, 0, 0] },
        _ => Transition { to: [0, 1, 1, 3] },
    };
    Automaton { transitions: (0..256).map(transition).collect(), start: 0 }
}

/// Bytes that lead to every state.
pub fn text(length: u64) -> Vec<u8> {
    let letters = b"ab'\"\\#\nc ";
    (0..length).map(|i| letters[(mixed(i) % letters.len() as u64) as usize]).collect()
}

/// A lexer whose inputs belong to classes, and whose output is a word of its state: tables with items of several sizes.
#[derive(Clone)]
pub struct Classes {
    transitions: Table<Transition>,
    words: Table<u32>,
    classes: Table<u8>,
}

impl Classes {
    /// Of so many inputs, with so many words.
    pub fn new(inputs: usize, words: u64) -> Self {
        let row = |row: u64| Transition { to: [0, 1, 2, 3].map(|state| (mixed(row * 4 + state) % 4) as u8) };
        Classes {
            transitions: (0..256).map(row).collect(),
            words: (0..words).map(|word| mixed(word) as u32).collect(),
            classes: (0..inputs).map(|byte| mixed(byte as u64) as u8).collect(),
        }
    }

    /// Inputs that belong to a class.
    pub fn inputs(&self, len: usize) -> Vec<u16> {
        (0..len as u64).map(|i| (mixed(i) % self.classes.len() as u64) as u16).collect()
    }
}

#[scan_op]
impl ScanOp for Classes {
    type Input = u16;
    type State = Transition;
    type Carry = u8;
    type Output = u32;
    const IDENTITY: Transition = Transition { to: [0, 1, 2, 3] };
    const START: u8 = 2;
    fn combine(f: Transition, g: Transition) -> Transition {
        after(f, g)
    }
    fn apply(f: Transition, state: u8) -> u8 {
        f.to[(state & 3) as usize]
    }
    fn lift(&self, x: u16) -> Transition {
        self.transitions[self.classes[x as usize] as usize]
    }
    fn step(&self, state: u8, x: u16) -> u8 {
        self.transitions[self.classes[x as usize] as usize].to[(state & 3) as usize]
    }
    fn project(&self, state: u8) -> u32 {
        self.words[(state & 3) as usize]
    }
}

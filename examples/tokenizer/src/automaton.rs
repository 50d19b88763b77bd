//! A finite automaton that is read from a file.

use std::{error::Error, ops::RangeInclusive};

use scan_runtime::Table;

/// The most states that an automaton can have.
pub const STATES: usize = 16;

pub struct Automaton {
    /// The names of the states. The text begins in the first.
    pub states: Vec<String>,
    /// A row for each byte: four bits for the state after each state, the lowest for the first one.
    pub rows: Table<u64>,
    /// For each byte, a bit for each state in which it begins a token.
    begins: Vec<u16>,
}

impl Automaton {
    /// Reads the rules of a file: see `rust.automaton`.
    pub fn read(rules: &str) -> Result<Self, Box<dyn Error>> {
        let mut states: Vec<String> = vec!["start".to_owned()];
        let mut next = vec![[None; STATES]; 256];
        for (index, line) in rules.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [from, bytes @ .., to] = words.as_slice() else { continue };
            if line.starts_with('#') {
                continue;
            }
            let mut number = |name: &str| {
                let known = states.iter().position(|state| state == name).unwrap_or(states.len());
                if known == states.len() {
                    states.push(name.to_owned());
                }
                (known < STATES).then_some(known).ok_or(format!("line {}: more than {STATES} states", index + 1))
            };
            let (from, to) = (number(from)?, if *to == "-" { None } else { Some(number(to)? as u8) });
            for range in bytes {
                for byte in bytes_of(range).ok_or(format!("line {}: no bytes: `{range}`", index + 1))? {
                    next[usize::from(byte)][from] = to;
                }
            }
        }
        if let Some(byte) = next.iter().position(|next| next[0].is_none()) {
            return Err(format!("no token begins with byte {byte}").into());
        }
        let row = |next: &[Option<u8>; STATES]| {
            let after = |to: &Option<u8>| u64::from(to.or(next[0]).unwrap_or(0));
            next.iter().rev().fold(0, |row, to| row << 4 | after(to))
        };
        let begins =
            |next: &[Option<u8>; STATES]| (0..STATES).map(|state| u16::from(next[state].is_none()) << state).sum();
        Ok(Automaton { states, rows: next.iter().map(row).collect(), begins: next.iter().map(begins).collect() })
    }

    /// Whether a byte begins a token, in this state.
    pub fn begins(&self, state: u8, byte: u8) -> bool {
        state == 0 || self.begins[usize::from(byte)] >> state & 1 == 1
    }
}

/// The bytes that a rule is for: `a-z`, `_`, or a class by its name.
fn bytes_of(word: &str) -> Option<Vec<u8>> {
    let range = |range: RangeInclusive<u8>| Some(range.collect());
    match (word, word.as_bytes()) {
        ("any", _) => range(0..=255),
        ("newline", _) => range(b'\n'..=b'\n'),
        ("space", _) => Some(b" \t\r\n".to_vec()),
        (_, &[first, b'-', last]) => range(first..=last),
        (_, &[byte]) => range(byte..=byte),
        _ => None,
    }
}

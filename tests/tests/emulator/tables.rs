//! Tables of run time in the shared memory of look-ahead's blocks.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_runtime::{ScanKind, ScanOp, Table, scan_op};
use scan_tests::{
    emulator::{Emulator, Program},
    items::{Transition, after},
    operators::mixed,
    planted::each_is_found,
};

use crate::look_ahead::{limits, overrides_of};

/// A lexer whose output is a word of its state, with items of several sizes.
#[derive(Clone)]
struct Lexer {
    transitions: Table<Transition>,
    words: Table<u32>,
    bytes: Table<u8>,
}

impl Lexer {
    /// Of inputs below `classes`, with so many words.
    fn new(classes: usize, words: u64) -> Self {
        let row = |row: u64| Transition { to: [0, 1, 2, 3].map(|state| (mixed(row * 4 + state) % 4) as u8) };
        Lexer {
            transitions: (0..256).map(row).collect(),
            words: (0..words).map(|word| mixed(word) as u32).collect(),
            bytes: (0..classes).map(|byte| mixed(byte as u64) as u8).collect(),
        }
    }
}

#[scan_op]
impl ScanOp for Lexer {
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
        self.transitions[self.bytes[x as usize] as usize]
    }
    fn step(&self, state: u8, x: u16) -> u8 {
        self.transitions[self.bytes[x as usize] as usize].to[(state & 3) as usize]
    }
    fn project(&self, state: u8) -> u32 {
        self.words[(state & 3) as usize]
    }
}

fn program(op: Lexer) -> Program<Lexer> {
    Program::planned(op, ScanKind::Inclusive, None, &limits(), &overrides_of((32, 2, 5, 4, 3))).unwrap()
}

fn input(program: &Program<Lexer>, len: usize) -> Vec<u16> {
    (0..len as u64).map(|i| (mixed(i) % program.op.bytes.len() as u64) as u16).collect()
}

fn verify(program: &Program<Lexer>, seed: u64) -> Result<(), String> {
    let emulator = Emulator::new(seed).resident_blocks(3);
    let input = input(program, 5 * program.plan.tile as usize + 7);
    program.verify_at_offset(&emulator, &input, (3, 1)).map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn short_tables_are_read_in_shared_memory() {
    let program = program(Lexer::new(300, 5));
    assert!(program.plan.to_string().contains("tables    in 1568 bytes of shared memory"), "{}", program.plan);
    for seed in 0..4 {
        verify(&program, seed).unwrap();
    }
}

/// A table of more than 8 KiB does, and all of them if they have more together.
#[test]
fn long_tables_stay_in_device_memory() {
    for (op, kept) in [(Lexer::new(9_000, 5), true), (Lexer::new(5_000, 5), false)] {
        let program = program(op);
        assert_eq!(program.plan.to_string().contains("tables    in 1056 bytes"), kept, "{}", program.plan);
        assert_eq!(program.source.text.contains("move_table"), kept, "{}", program.source);
        verify(&program, 1).unwrap();
    }
}

#[test]
fn faults_of_tables_are_found() {
    let program = program(Lexer::new(300, 5));
    let planted = [
        // A word less is copied; nobody waits for the copies; two tables overlap; a table is read where another is.
        ("i < units;", "i + 1 < units;"),
        ("move_table(op.words, tables + 1536);\n  __syncthreads();", "move_table(op.words, tables + 1536);"),
        ("(unsigned char*)(tables + 1024)", "(unsigned char*)(tables + 1020)"),
        ("move_table(op.words, tables + 1536);\n", "move_table(op.words, tables);\n"),
    ];
    each_is_found(&program, &planted, |program| (0..4).any(|seed| verify(program, seed).is_err())).unwrap();
}

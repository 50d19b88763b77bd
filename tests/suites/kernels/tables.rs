//! Tables of run time, and constant ones, in the shared memory of look-ahead's blocks.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use scan_runtime::{ScanKind, ScanOp, Scanner, gallery::automaton::Lexer, scan_op};
use scan_tests::{
    emulated::{Emulator, Program},
    gallery::{Example, Visitor, compare},
    items::Classes,
    lexers::visit_lexers,
    planted::each_is_found,
};

use crate::look_ahead::{limits, overrides_of};

fn program(op: Classes) -> Program<Classes> {
    Program::planned(op, ScanKind::Inclusive, None, &limits(), &overrides_of((32, 2, 5, 4, 3))).unwrap()
}

fn verify(program: &Program<Classes>, seed: u64) -> Result<(), String> {
    let emulator = Emulator::new(seed).resident_blocks(3);
    let input = program.op.inputs(5 * program.plan.tile as usize + 7);
    program.verify_at_offset(&emulator, &input, (3, 1)).map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn short_tables_are_read_in_shared_memory() {
    let program = program(Classes::new(300, 5));
    assert!(program.plan.to_string().contains("tables    in 1568 bytes of shared memory"), "{}", program.plan);
    for seed in 0..4 {
        verify(&program, seed).unwrap();
    }
}

/// A table of more than 8 KiB does, and all of them if they have more together.
#[test]
fn long_tables_stay_in_device_memory() {
    for (op, kept) in [(Classes::new(9_000, 5), true), (Classes::new(5_000, 5), false)] {
        let program = program(op);
        assert_eq!(program.plan.to_string().contains("tables    in 1056 bytes"), kept, "{}", program.plan);
        assert_eq!(program.source.text.contains("move_table"), kept, "{}", program.source);
        verify(&program, 1).unwrap();
    }
}

#[test]
fn planted_faults_of_tables_are_found() {
    let program = program(Classes::new(300, 5));
    let planted = [
        // A word less is copied; nobody waits for the copies; two tables overlap; a table is read where another is.
        ("i < units;", "i + 1 < units;"),
        ("  keep_tables(op);\n  __syncthreads();", "  keep_tables(op);"),
        ("(unsigned char*)(tables + 1024)", "(unsigned char*)(tables + 1020)"),
        ("move_table(op.words, tables + 1536);\n", "move_table(op.words, tables);\n"),
    ];
    each_is_found(&program, &planted, |program| (0..4).any(|seed| verify(program, seed).is_err())).unwrap();
}

fn lexer() -> Program<Lexer> {
    Program::planned(Lexer, ScanKind::Inclusive, None, &limits(), &overrides_of((32, 2, 5, 4, 3))).unwrap()
}

fn verify_lexer(program: &Program<Lexer>) -> Result<(), String> {
    let input = Lexer::input(5 * program.plan.tile as usize + 7);
    let emulator = Emulator::new(1).resident_blocks(3);
    program.verify_at_offset(&emulator, &input, (3, 1)).map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn constant_arrays_are_read_in_shared_memory() {
    let program = lexer();
    assert!(program.plan.to_string().contains("tables    in 512 bytes of shared memory"), "{}", program.plan);
    assert!(program.source.text.contains("__shared__ Array<u16, 256> ROWS;"), "{}", program.source);
    verify_lexer(&program).unwrap();
}

#[test]
fn planted_faults_of_constant_arrays_are_found() {
    let planted = [
        // Some items are not copied; one is copied to all places; the first ones are not copied.
        ("copy_constant(ROWS, ROWS_IN_GLOBAL_MEMORY, 256);", "copy_constant(ROWS, ROWS_IN_GLOBAL_MEMORY, 64);"),
        ("to.items[i] = from.items[i];", "to.items[i] = from.items[0];"),
        ("unsigned i = threadIdx.x; i < count;", "unsigned i = threadIdx.x + 64; i < count;"),
    ];
    each_is_found(&lexer(), &planted, |program| verify_lexer(program).is_err()).unwrap();
}

/// Weights, of which there is an odd number.
const WEIGHTS: [u32; 67] = {
    let mut weights = [1; 67];
    weights[66] = 1_000_003;
    weights
};

/// Adds what each byte weighs.
#[derive(Clone, Copy, Debug)]
struct Weighing;

#[scan_op]
impl ScanOp for Weighing {
    type Input = u8;
    type State = u32;
    type Output = u32;
    const IDENTITY: u32 = 0;
    fn lift(x: u8) -> u32 {
        WEIGHTS[x as usize]
    }
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }
    fn project(s: u32) -> u32 {
        s
    }
}

#[test]
fn every_item_of_a_constant_array_of_odd_length_is_read_in_shared_memory() {
    let overrides = overrides_of((32, 2, 5, 4, 3));
    let program = Program::planned(Weighing, ScanKind::Inclusive, None, &limits(), &overrides).unwrap();
    assert!(program.source.text.contains("__shared__ Array<u32, 67> WEIGHTS;"), "{}", program.source);
    let input: Vec<u8> = (0..67).cycle().take(5 * program.plan.tile as usize + 7).collect();
    program.verify_at_offset(&Emulator::new(1).resident_blocks(3), &input, (3, 1)).unwrap();
}

/// Lexers that look their states up in tables: the laws, on the CPU, and in tiles of which each begins in a state that
/// the tiles before it decide.
struct Lexers(usize);

impl Visitor for Lexers {
    fn visit<Op: Example>(&mut self, name: &str) {
        self.0 += 1;
        let op = Op::new();
        Op::laws().run(&op, Op::input(24)).map_err(|failure| format!("{name}: {failure}")).unwrap();
        let overrides = overrides_of((32, 2, 5, 4, 3));
        let program = Program::planned(op.clone(), ScanKind::Inclusive, None, &limits(), &overrides).unwrap();
        let input = Op::input(5 * program.plan.tile as usize + 7);
        let expected = op.expected(&input);
        compare(&Scanner::cpu().scan(op).run(&input).unwrap(), &expected, 0.0).unwrap();
        compare(&program.run(&Emulator::new(1).resident_blocks(3), &input).unwrap().output, &expected, 0.0).unwrap();
    }
}

#[test]
fn lexers_look_up_states_in_shared_memory() {
    let mut lexers = Lexers(0);
    visit_lexers(&mut lexers);
    assert_eq!(lexers.0, 3);
}

//! Constants, tables of constants, and parameters known when the program runs, tables among them.

use super::harness::Suite;
use scan_codegen::{Target, operator_text};
use scan_runtime::{ScanElement, ScanOp, Table, scan_element, scan_fn, scan_op};

const fn squares() -> [u16; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = (i * i) as u16;
        i += 1;
    }
    table
}

const SQUARES: [u16; 256] = squares();
static NESTED: [[f32; 2]; 3] = [[1.0, f32::NAN], [-0.0, f32::INFINITY], [1e-40, 7.5]];

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rule {
    next: [u8; 4],
    weight: i64,
}

const RULES: [Rule; 2] = [Rule { next: [1, 2, 3, 0], weight: i64::MIN }, Rule { next: [3, 2, 1, 0], weight: -1 }];

struct Automaton;

impl Automaton {
    const TABLE: [[u8; 4]; 4] = [[0, 1, 2, 3], [1, 0, 3, 2], [2, 2, 2, 2], [3, 1, 0, 2]];
}

/// Two functions read one table, one of them past its end.
#[scan_fn]
fn square(x: u8) -> u16 {
    SQUARES[x as usize]
}

struct Tables;

#[scan_op]
impl ScanOp for Tables {
    type Element = u32;
    fn combine(a: u32, b: u32) -> u32 {
        let table = RULES[(a & 1) as usize];
        let next = table.next[(b & 3) as usize] ^ RULES[1].next[1];
        // Indexing past the end is a panic, in both.
        (square(a as u8) ^ SQUARES[b as usize % 260]) as u32 ^ (next as u32) << 16 ^ (table.weight as u32)
    }
}

struct Floats;

#[scan_op]
impl ScanOp for Floats {
    type Element = f32;
    fn combine(a: f32, b: f32) -> f32 {
        let row = NESTED[(a > b) as usize];
        row[0] + NESTED[2][(a < 0.0) as usize] * b + row.len() as f32
    }
}

#[scan_op]
impl ScanOp for Automaton {
    type Element = [u8; 4];
    const IDENTITY: [u8; 4] = Self::TABLE[0];
    fn combine(a: [u8; 4], b: [u8; 4]) -> [u8; 4] {
        let mut c = a;
        for i in 0..4 {
            c[i] = Self::TABLE[(a[i] & 3) as usize][(b[i] & 3) as usize];
        }
        c
    }
}

/// Parameters of every kind, of a struct that is no element itself.
pub(super) struct Transducer<T: ScanElement> {
    rules: Table<Rule>,
    offset: T,
    unused: Vec<String>,
    mask: [u16; 3],
    numbers: Table<u32>,
}

#[scan_op]
impl ScanOp for Transducer<u32> {
    type Element = u32;
    fn combine(&self, a: u32, b: u32) -> u32 {
        let rule = self.rules[(a & 1) as usize];
        let step = rule.next[(b & 3) as usize] as usize;
        let mut sum = self.offset ^ self.mask[step % 3] as u32;
        for i in 0..self.numbers.len() {
            sum = sum.wrapping_mul(31).wrapping_add(self.numbers[i]);
        }
        assert!(step < self.rules.len() + 3);
        // Past the end now and then.
        sum ^ self.numbers[(a % 6) as usize] ^ rule.weight as u32
    }
}

/// A tuple struct of one table.
pub(super) struct Lookup(pub(super) Table<u8>);

#[scan_op]
impl ScanOp for Lookup {
    type Input = u8;
    type State = u8;
    type Output = u8;
    fn lift(&self, x: u8) -> u8 {
        self.0[x as usize]
    }
    fn combine(a: u8, b: u8) -> u8 {
        a ^ b
    }
}

pub(super) fn transducer(numbers: &[u32]) -> Transducer<u32> {
    Transducer {
        rules: Table::from(RULES),
        offset: 17,
        unused: vec!["not an element".to_owned()],
        mask: [1, 0xff, 0x1234],
        numbers: numbers.into(),
    }
}

pub(crate) fn cases(suite: &mut Suite) {
    suite.combine(Tables, 0);
    suite.combine(Floats, 0);
    suite.combine(Automaton, 0);
    let transducer = transducer(&[3, 1, 4, 1, 5]);
    assert_eq!(transducer.unused.len(), 1);
    suite.combine(transducer, 0);
    suite.lift(Lookup((0..200).rev().collect()), 0);
    suite.lift(Lookup(Table::from(Vec::new())), 0);
}

pub(super) fn text(op: &impl ScanOp) -> String {
    operator_text(&op.source(), Target::Cuda).unwrap().text
}

#[test]
fn a_constant_table_is_written_once() {
    let text = text(&Tables);
    for table in ["> SQUARES = ", "> RULES = "] {
        assert_eq!(text.matches(table).count(), 1, "{table}:\n{text}");
    }
}

/// So that other values compile nothing.
#[test]
fn parameters_are_not_part_of_the_text() {
    assert_eq!(text(&transducer(&[1])), text(&transducer(&[2, 3])));
    let bytes = |op: &Transducer<u32>| op.parameters().bytes().to_vec();
    assert_ne!(bytes(&transducer(&[1])), bytes(&transducer(&[2, 3])));
}

#[test]
fn pieces_of_table_texts() {
    let part = |text: String, from: &str| text[text.find(from).unwrap()..].to_owned();
    insta::assert_snapshot!(part(text(&Automaton), "__device__ const"));
    insta::assert_snapshot!(part(text(&transducer(&[1])), "// Table<T>"));
}

//! Operators that give several results for an input, or none.

use scan_runtime::{ScanOp, ops, scan_element, scan_fn, scan_op};

use crate::{
    columns::{ColumnsOperator, Parcel, Router},
    operators::{MapU32, mixed},
};

/// A register and its halves, and where each goes.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts {
    /// Where item `j` of the others goes; nowhere if it is beyond them.
    pub places: [u64; 3],
    /// The register, and numbers near it.
    pub registers: [u32; 3],
    /// Halves of them.
    pub halves: [[u16; 2]; 3],
}

/// A stepped operator like [`Router`], of whose outputs up to three go to places that it computes.
#[derive(Clone, Copy, Debug)]
pub struct Splitter;

#[scan_op]
impl ScanOp for Splitter {
    type Input = Parcel;
    type State = MapU32;
    type Carry = u32;
    type Output = Parts;
    const IDENTITY: MapU32 = MapU32 { a: 1, b: 0 };
    const START: u32 = 5;
    fn lift(x: Parcel) -> MapU32 {
        MapU32 { a: x.step.gate, b: x.step.token }
    }
    fn combine(f: MapU32, g: MapU32) -> MapU32 {
        MapU32 { b: g.a.wrapping_mul(f.b).wrapping_add(g.b), a: f.a.wrapping_mul(g.a) }
    }
    fn apply(map: MapU32, register: u32) -> u32 {
        map.a.wrapping_mul(register).wrapping_add(map.b)
    }
    fn step(register: u32, x: Parcel) -> u32 {
        x.step.gate.wrapping_mul(register).wrapping_add(x.step.token)
    }
    fn emit(register: u32, x: Parcel) -> Parts {
        let after = x.step.gate.wrapping_mul(register).wrapping_add(x.step.token);
        let mut places = [u64::MAX; 3];
        let mut registers = [after; 3];
        let mut halves = [[0_u16; 2]; 3];
        for j in 0..3_u32 {
            if register >> j & 1 == 1 {
                places[j as usize] = 3 * (x.place as u64) + j as u64;
            }
            registers[j as usize] = after.wrapping_add(j);
            halves[j as usize] = [(after >> 16) as u16, j as u16];
        }
        Parts { places, registers, halves }
    }
    fn project(register: u32) -> Parts {
        Parts { places: [u64::MAX; 3], registers: [register; 3], halves: [[0_u16; 2]; 3] }
    }
}

impl ColumnsOperator for Splitter {
    fn new() -> Self {
        Splitter
    }
    /// One of the places, in the middle, leads beyond any output, though the lower halves of the places that are
    /// computed from it do not.
    fn inputs(len: usize, seed: u64) -> Vec<Parcel> {
        let mut inputs = Router::inputs(len, seed);
        inputs.iter_mut().skip(len / 2).take(1).for_each(|parcel| parcel.place = FAR);
        inputs
    }
    fn initial_value() -> u32 {
        9
    }
}

/// Three times this is 2^32 and a little more.
const FAR: u32 = 0x5555_5556;

/// A number, and where the sum up to it goes.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Posted {
    /// The place; nowhere if it is negative.
    pub place: i32,
    /// The number, or the sum.
    pub sum: u32,
}

/// Sums that go to signed places.
#[derive(Clone, Copy, Debug)]
pub struct Post;

#[scan_op]
impl ScanOp for Post {
    type Input = Posted;
    type State = Posted;
    type Output = Posted;
    fn lift(x: Posted) -> Posted {
        x
    }
    fn combine(a: Posted, b: Posted) -> Posted {
        Posted { place: b.place, sum: a.sum.wrapping_add(b.sum) }
    }
}

impl ColumnsOperator for Post {
    fn new() -> Self {
        Post
    }
    /// Some places lead nowhere, as negative numbers do, and the largest one.
    fn inputs(len: usize, seed: u64) -> Vec<Posted> {
        let place = |index: usize| match index * 16 / len.max(1) {
            9 => [-1, -2, i32::MIN, i32::MAX][index % 4],
            _ => index as i32,
        };
        (0..len).map(|index| Posted { place: place(index), sum: mixed(index as u64 + seed) as u32 }).collect()
    }
    fn initial_value() -> Posted {
        Posted { place: -1, sum: 9 }
    }
}

/// Two pairs of numbers.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pairs {
    /// Of which the first is added.
    pub a: [u32; 2],
    /// Of which the second is added.
    pub b: [u32; 2],
}

/// Two results, and where each goes.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// The places.
    pub places: [u32; 2],
    /// The results.
    pub items: [u32; 2],
}

/// Sums, of which each gives two results at places that it computes. Inputs and outputs are of the same sizes, so that
/// stages hold the results in the place of the elements.
#[derive(Clone, Copy, Debug)]
pub struct Spreader;

#[scan_op]
impl ScanOp for Spreader {
    type Input = Pairs;
    type State = u32;
    type Output = Placed;
    const IDENTITY: u32 = 0;
    fn lift(x: Pairs) -> u32 {
        x.a[0] + x.b[1]
    }
    fn combine(a: u32, b: u32) -> u32 {
        a + b
    }
    fn project(sum: u32) -> Placed {
        Placed { places: [2 * sum - 2, 2 * sum - 1], items: [7 * sum, sum] }
    }
}

/// What has been read of a text of numbers and commas.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The number that has begun; 0 where none has.
    pub number: u32,
    /// Whether one has.
    pub is_open: bool,
    /// How many tokens have ended.
    pub tokens: u32,
}

/// What a part of the text does to a [`Reading`].
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// What is read after the last byte that is no digit, and the power of ten by which it moves what was before.
    pub number: u32,
    /// The power of ten.
    pub scale: u32,
    /// Whether the last byte is a digit.
    pub is_open: bool,
    /// Whether there is another byte than digits,
    pub ends_numbers: bool,
    /// and whether the first one is.
    pub ends_at_once: bool,
    /// How many tokens end within it, where no number was open before it.
    pub tokens: u32,
}

/// The tokens that a byte ends: a number, itself, both or none.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tokens {
    /// Where they go.
    pub places: [u32; 2],
    /// The numbers; of a comma its code.
    pub numbers: [u32; 2],
    /// The kinds: `0` of a number, `,` of a comma.
    pub kinds: [u8; 2],
}

/// Reads the numbers and commas of a text. A comma that follows a digit ends two tokens.
#[derive(Clone, Copy, Debug)]
pub struct Tokenizer;

#[scan_fn]
fn is_digit(x: u8) -> bool {
    x.wrapping_sub(b'0') < 10
}

#[scan_op]
impl ScanOp for Tokenizer {
    type Input = u8;
    type State = Passage;
    type Carry = Reading;
    type Output = Tokens;
    const IDENTITY: Passage =
        Passage { number: 0, scale: 1, is_open: false, ends_numbers: false, ends_at_once: false, tokens: 0 };
    const START: Reading = Reading { number: 0, is_open: false, tokens: 0 };
    fn lift(x: u8) -> Passage {
        let digit = is_digit(x);
        Passage {
            number: if digit { (x - b'0') as u32 } else { 0 },
            scale: if digit { 10 } else { 1 },
            is_open: digit,
            ends_numbers: !digit,
            ends_at_once: !digit,
            tokens: (x == b',') as u32,
        }
    }
    fn combine(a: Passage, b: Passage) -> Passage {
        let nothing = !a.ends_numbers && !a.is_open;
        let tokens = a.tokens.wrapping_add(b.tokens).wrapping_add((a.is_open && b.ends_at_once) as u32);
        let ends_at_once = a.ends_at_once || nothing && b.ends_at_once;
        if b.ends_numbers {
            Passage { tokens, ends_at_once, ..b }
        } else {
            Passage {
                number: a.number.wrapping_mul(b.scale).wrapping_add(b.number),
                scale: a.scale.wrapping_mul(b.scale),
                is_open: a.is_open || b.is_open,
                ends_numbers: a.ends_numbers,
                ends_at_once,
                tokens,
            }
        }
    }
    fn apply(p: Passage, c: Reading) -> Reading {
        let tokens = c.tokens.wrapping_add(p.tokens).wrapping_add((c.is_open && p.ends_at_once) as u32);
        if p.ends_numbers {
            Reading { number: p.number, is_open: p.is_open, tokens }
        } else {
            let number = c.number.wrapping_mul(p.scale).wrapping_add(p.number);
            Reading { number, is_open: c.is_open || p.is_open, tokens }
        }
    }
    fn step(c: Reading, x: u8) -> Reading {
        if is_digit(x) {
            let number = c.number.wrapping_mul(10).wrapping_add((x - b'0') as u32);
            Reading { number, is_open: true, tokens: c.tokens }
        } else {
            let ended = c.is_open as u32 + (x == b',') as u32;
            Reading { number: 0, is_open: false, tokens: c.tokens.wrapping_add(ended) }
        }
    }
    fn emit(c: Reading, x: u8) -> Tokens {
        let none = u32::MAX;
        let ends = c.is_open && !is_digit(x);
        let number = if ends { c.tokens } else { none };
        let comma = if x == b',' { c.tokens.wrapping_add(ends as u32) } else { none };
        Tokens { places: [number, comma], numbers: [c.number, x as u32], kinds: [b'0', x] }
    }
    fn project(c: Reading) -> Tokens {
        Tokens { places: [u32::MAX; 2], numbers: [c.number; 2], kinds: [0_u8; 2] }
    }
}

/// A text of numbers of up to nine digits, commas and spaces. It ends with a space.
pub fn text(len: usize) -> Vec<u8> {
    let letter = |i: u64| match mixed(i) % 16 {
        0..=3 => b',',
        4..=5 => b' ',
        digit => b'0' + (digit - 6) as u8,
    };
    (0..len as u64).map(|i| if i + 1 == len as u64 || i % 9 == 8 { b' ' } else { letter(i) }).collect()
}

/// The tokens of such a text, read as one reads text: their numbers and kinds.
pub fn tokens_of(text: &[u8]) -> (Vec<u32>, Vec<u8>) {
    let text: String = text.iter().map(|&letter| char::from(letter)).collect();
    let spaced = text.replace(',', " , ");
    let token = |word: &str| word.parse().map_or((u32::from(b','), b','), |number| (number, b'0'));
    spaced.split_whitespace().map(token).unzip()
}

/// The digits of a byte that is no letter, in the order in which they are written: one to three; none of a letter.
#[scan_fn]
pub fn digits(x: u8) -> ops::Several<u8, 3> {
    let (hundreds, tens, ones) = (b'0' + x / 100, b'0' + x / 10 % 10, b'0' + x % 10);
    if x.wrapping_sub(b'a') < 26 {
        ops::Several { count: 0, items: [0_u8, 0, 0] }
    } else if x >= 100 {
        ops::Several { count: 7, items: [hundreds, tens, ones] }
    } else if x >= 10 {
        ops::Several { count: 2, items: [tens, ones, 0] }
    } else {
        ops::Several { count: 1, items: [ones, 0, 0] }
    }
}

/// What comes of all of them.
pub fn digits_of(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().filter(|byte| !byte.is_ascii_lowercase()).flat_map(|byte| byte.to_string().into_bytes()).collect()
}

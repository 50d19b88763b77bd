//! Decoding of LEB128 and UTF-8, with the place of the first error.
//!
//! The loop that one would write for LEB128, whose numbers have seven bits in each byte, and another byte to come where
//! the eighth is set:
//!
//! ```text
//! value |= (byte & 0x7f) << (7 * bytes);
//! bytes += 1;
//! if byte < 0x80 { output.push(value); (value, bytes) = (0, 0) }
//! ```
//!
//! A part of the bytes has an end of a number that began before it, then whole numbers, then the beginning of one. The
//! first and the last of these describe its effect, with the number of ends and the first error. Joining the end of `a`
//! with the beginning of `b` is a concatenation, which is associative. Whether a number is too long is known where its
//! bytes meet: see [`too_long`].
//!
//! UTF-8 is simpler, because no character has more than four bytes: each byte with the three before it says whether a
//! character ends here, which one, and whether there is an error. These are four slices of one array, each a byte
//! further on, which a scan reads as the fields of one element. What remains to be carried is the number of characters
//! (a sum) and the place of the first error (a minimum). Errors are where `str::from_utf8` reports them.
//!
//! On two threads of a CPU, UTF-8 takes 1.2 times the standard library, and LEB128 as long as the loop.
//!
//! Sources: the DWARF standard, section 7.6 (LEB128); The Unicode Standard, table 3-7; J. Keiser and D. Lemire,
//! *Validating UTF-8 in less than one instruction per byte*, 2021.

use scan_runtime::{Error, ScanOp, Scanner, arrays, scan_element, scan_fn, scan_op};

use crate::report::{Outcome, Report, check, mixed};

/// No error.
const NONE: u32 = u32::MAX;

/// What was decoded, and the place of the first error.
#[derive(Debug, PartialEq)]
struct Decoded {
    count: usize,
    error: Option<usize>,
}

fn decoded(count: u32, error: u32) -> Decoded {
    Decoded { count: count as usize, error: (error != NONE).then_some(error as usize) }
}

/// A byte with the three before it.
#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Window {
    index: u32,
    third: u8,
    second: u8,
    first: u8,
    byte: u8,
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Read {
    count: u32,
    error: u32,
}

#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Character {
    place: u32,
    code: u32,
}

#[scan_fn]
fn continues(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// Whether a character ends at a byte, if there is no error.
#[scan_fn]
fn ends(x: Window) -> bool {
    x.byte < 0x80 || x.first >> 5 == 6 || x.second >> 4 == 14 || x.third >> 3 == 30
}

#[scan_fn]
fn code(x: Window) -> u32 {
    let last = (x.byte & 0x3f) as u32;
    let two = ((x.first & 0x3f) as u32) << 6 | last;
    let three = ((x.second & 0x3f) as u32) << 12 | two;
    if x.byte < 0x80 {
        x.byte as u32
    } else if x.first >> 5 == 6 {
        two & 0x7ff
    } else if x.second >> 4 == 14 {
        three & 0xffff
    } else {
        ((x.third & 7) as u32) << 18 | three
    }
}

/// Where the character begins that cannot go on with this byte.
#[scan_fn]
#[inline(always)]
fn error(x: Window) -> u32 {
    let (one, two, three) = (x.first >= 0xc0, x.second >= 0xe0, x.third >= 0xf0);
    if (x.byte | x.first) < 0x80 && !two && !three {
        return NONE;
    }
    if continues(x.byte) {
        // The bytes after these four begin in a part of the range.
        let wrong = match x.first {
            0xe0 => x.byte < 0xa0,
            0xed => x.byte > 0x9f,
            0xf0 => x.byte < 0x90,
            0xf4 => x.byte > 0x8f,
            _ => false,
        };
        if wrong {
            x.index - 1
        } else if one || (two && continues(x.first)) || (three && continues(x.second) && continues(x.first)) {
            NONE
        } else {
            x.index
        }
    } else if three {
        x.index - 3
    } else if two {
        x.index - 2
    } else if one {
        x.index - 1
    } else if x.byte >= 0xf5 || x.byte & 0xfe == 0xc0 {
        x.index
    } else {
        NONE
    }
}

/// The characters of UTF-8.
#[derive(Clone)]
struct Utf8;

#[scan_op]
impl ScanOp for Utf8 {
    type Input = Window;
    type State = Read;
    type Carry = Read;
    type Output = Character;
    const IDENTITY: Read = Read { count: 0, error: NONE };
    const START: Read = Read { count: 0, error: NONE };
    fn lift(x: Window) -> Read {
        Read { count: ends(x) as u32, error: error(x) }
    }
    fn combine(a: Read, b: Read) -> Read {
        Read { count: a.count + b.count, error: a.error.min(b.error) }
    }
    fn apply(part: Read, c: Read) -> Read {
        Read { count: c.count + part.count, error: c.error.min(part.error) }
    }
    fn advance(c: Read, x: Window) -> (Read, Character) {
        let ends = ends(x);
        let after = Read { count: c.count + ends as u32, error: c.error.min(error(x)) };
        (after, Character { place: if ends { c.count } else { u32::MAX }, code: code(x) })
    }
}

/// The characters of a text that has three zeros before it and one after it, which ends a character that was cut off.
/// `characters` has as many items as the text with that zero.
fn decode_utf8(scanner: &Scanner, padded: &[u8], characters: &mut [u32]) -> Result<Decoded, Error> {
    let len = characters.len();
    let [third, second, first, byte] = [0, 1, 2, 3].map(|from| &padded[from..][..len]);
    let input = (arrays::indices(), third, second, first, byte);
    let read = scanner.scan(Utf8).with_total().run_into(input, arrays::scatter_by_output((characters,)))?;
    Ok(read.map_or(decoded(0, NONE), |read| decoded(read.count - 1, read.error)))
}

/// The first bytes of a number, or its last ones.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Number {
    value: u64,
    bytes: u32,
    last: u8,
}

/// The effect of a part.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    /// The place of its first byte.
    first: u32,
    /// Its bytes up to the first end of a number.
    head: Number,
    /// How many numbers end in it.
    count: u32,
    /// The bytes after the last end of a number, if one ends in it.
    tail: Number,
    /// The first error after the head.
    error: u32,
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Begun {
    number: Number,
    count: u32,
    error: u32,
}

#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Byte {
    index: u32,
    byte: u8,
}

#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Placed {
    place: u32,
    value: u64,
}

const EMPTY: Number = Number { value: 0, bytes: 0, last: 0 };

/// A number with another byte.
#[scan_fn]
fn push(number: Number, byte: u8) -> Number {
    let bits = ((byte & 0x7f) as u64).unbounded_shl(7 * number.bytes);
    Number { value: number.value | bits, bytes: number.bytes + 1, last: byte }
}

/// A number with the bytes that go on with it, the first of them at a place.
#[scan_fn]
fn join(a: Number, b: Number) -> Number {
    let last = if b.bytes > 0 { b.last } else { a.last };
    Number { value: a.value | b.value.unbounded_shl(7 * a.bytes), bytes: a.bytes + b.bytes, last }
}

/// The place of the first byte of `b`, which goes on with `a`, that is beyond 64 bits: the tenth, if it is more than 1.
#[scan_fn]
fn too_long(a: Number, b: Number, first: u32) -> u32 {
    let bytes = a.bytes + b.bytes;
    let is_wrong = a.bytes < 10 && (bytes > 10 || (bytes == 10 && b.last > 1));
    if is_wrong && b.bytes > 0 { first + 9 - a.bytes } else { NONE }
}

/// A part with another byte.
#[scan_fn]
fn append(part: Part, x: Byte) -> Part {
    let mut after = part;
    after.first = part.first.min(x.index);
    if part.count == 0 {
        after.head = push(part.head, x.byte);
    } else {
        after.tail = push(part.tail, x.byte);
        if after.tail.bytes == 10 && x.byte > 1 {
            after.error = part.error.min(x.index);
        }
    }
    if x.byte < 0x80 {
        after.count += 1;
        after.tail = EMPTY;
    }
    after
}

/// Short numbers, and some that are too long.
#[cfg(test)]
fn sample(i: usize) -> Byte {
    Byte { index: i as u32, byte: if i % 13 > 1 { 0x80 | i as u8 } else { i as u8 } }
}

/// Unsigned numbers of up to 64 bits in LEB128.
#[derive(Clone)]
struct Leb128;

#[scan_op(laws(
    samples = std::array::from_fn::<Byte, 40, _>(sample),
    longest_run = 30,
    in_order,
))]
impl ScanOp for Leb128 {
    type Input = Byte;
    // The loop.
    type Carry = Begun;
    type Output = Placed;
    const START: Begun = Begun { number: EMPTY, count: 0, error: NONE };
    fn advance(c: Begun, x: Byte) -> (Begun, Placed) {
        let number = push(c.number, x.byte);
        let ends = x.byte < 0x80;
        let error = if number.bytes == 10 && x.byte > 1 { x.index.min(c.error) } else { c.error };
        let after = Begun { number: if ends { EMPTY } else { number }, count: c.count + ends as u32, error };
        (after, Placed { place: if ends { c.count } else { u32::MAX }, value: number.value })
    }
    // The effect of a part on any number that has begun.
    type State = Part;
    const IDENTITY: Part = Part { first: u32::MAX, head: EMPTY, count: 0, tail: EMPTY, error: NONE };
    fn lift(x: Byte) -> Part {
        append(Self::IDENTITY, x)
    }
    fn append(part: Part, x: Byte) -> Part {
        append(part, x)
    }
    fn combine(a: Part, b: Part) -> Part {
        let first = a.first.min(b.first);
        if a.count == 0 {
            return Part { first, head: join(a.head, b.head), count: b.count, tail: b.tail, error: b.error };
        }
        let tail = if b.count == 0 { join(a.tail, b.head) } else { b.tail };
        let error = a.error.min(b.error).min(too_long(a.tail, b.head, b.first));
        Part { first, head: a.head, count: a.count + b.count, tail, error }
    }
    fn apply(part: Part, c: Begun) -> Begun {
        let number = if part.count == 0 { join(c.number, part.head) } else { part.tail };
        let error = c.error.min(part.error).min(too_long(c.number, part.head, part.first));
        Begun { number, count: c.count + part.count, error }
    }
}

/// Numbers of LEB128. Bytes of a number that is cut off are an error at the end.
fn decode_leb128(scanner: &Scanner, bytes: &[u8], numbers: &mut [u64]) -> Result<Decoded, Error> {
    let outputs = arrays::scatter_by_output((numbers,));
    let total = scanner.scan(Leb128).with_total().run_into((arrays::indices(), bytes), outputs)?;
    let end = |read: Begun| if read.number.bytes > 0 { read.error.min(bytes.len() as u32) } else { read.error };
    Ok(total.map_or(decoded(0, NONE), |read| decoded(read.count, end(read))))
}

/// The plain loop, which goes on after an error.
fn decode_leb128_in_a_loop(bytes: &[u8], numbers: &mut [u64]) -> Decoded {
    let (mut value, mut len, mut count, mut error) = (0, 0, 0, None);
    for (i, &byte) in bytes.iter().enumerate() {
        value |= u64::from(byte & 0x7f).unbounded_shl(7 * len);
        len += 1;
        if len == 10 && byte > 1 {
            error = error.or(Some(i));
        }
        if byte < 0x80 {
            numbers[count] = value;
            (value, len, count) = (0, 0, count + 1);
        }
    }
    Decoded { count, error: error.or((len > 0).then_some(bytes.len())) }
}

/// A text with characters of one to four bytes, three zeros before it and one after it.
fn padded(text: &[u8]) -> Vec<u8> {
    [&[0; 3], text, &[0]].concat()
}

pub fn run(scanner: &Scanner, len: usize) -> Outcome {
    let words = ["scan ", "Präfixe ", "和を求める ", "∑ ", "🦀 ", "обход "];
    let text: String = (0..len as u64 / 8).map(|i| words[mixed(i) as usize % words.len()]).collect();
    let padded = padded(text.as_bytes());
    let (mut ours, mut expected) = (vec![0; text.len() + 1], Vec::with_capacity(text.len()));
    let mut found = decoded(0, NONE);
    let mut report = Report::default();
    report.time(
        "UTF-8, as str::from_utf8 and chars",
        text.len(),
        || {
            expected.clear();
            if let Ok(text) = str::from_utf8(&padded[3..]) {
                expected.extend(text.chars().map(u32::from));
            }
        },
        || decode_utf8(scanner, &padded, &mut ours).map(|decoded| found = decoded),
    )?;
    check(found == Decoded { count: expected.len() - 1, error: None } && ours[..expected.len()] == expected, "UTF-8")?;

    let mut bytes = Vec::new();
    for i in 0..len as u64 / 4 {
        let mut value = mixed(i) >> (mixed(i + 1) % 64);
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
    }
    let [mut ours, mut expected] = [(); 2].map(|()| vec![0; bytes.len()]);
    let mut expected_found = decoded(0, NONE);
    report.time(
        "LEB128, bytes",
        bytes.len(),
        || expected_found = decode_leb128_in_a_loop(&bytes, &mut expected),
        || decode_leb128(scanner, &bytes, &mut ours).map(|decoded| found = decoded),
    )?;
    check(found == expected_found && ours == expected, "LEB128")?;
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_numbers_are_those_of_loops() {
        for len in [0, 8, 100, 30_000] {
            run(&Scanner::cpu(), len).unwrap();
        }
    }

    #[test]
    fn the_first_error_of_utf8_is_that_of_the_standard_library() {
        let pieces: [&[u8]; 16] = [
            b"a",
            b"\x80",
            b"\xbf",
            b"\xc2",
            b"\xc0",
            b"\xe0",
            b"\xed",
            b"\xef",
            b"\xf0",
            b"\xf4",
            b"\xf5",
            b"\x9f",
            b"\xa0",
            "é".as_bytes(),
            "和".as_bytes(),
            "🦀".as_bytes(),
        ];
        for i in 0..20_000 {
            let text: Vec<u8> = (0..4).flat_map(|j| pieces[mixed(4 * i + j) as usize % 16]).copied().collect();
            let mut characters = vec![0; text.len() + 1];
            let found = decode_utf8(&Scanner::cpu(), &padded(&text), &mut characters).unwrap();
            match str::from_utf8(&text) {
                Ok(text) => {
                    assert_eq!(found, Decoded { count: text.chars().count(), error: None });
                    assert!(text.chars().map(u32::from).eq(characters[..found.count].iter().copied()));
                }
                Err(error) => assert_eq!(found.error, Some(error.valid_up_to()), "{text:x?}"),
            }
        }
    }

    #[test]
    fn numbers_that_are_too_long_or_cut_off_are_errors() {
        let decode = |bytes: &[u8]| decode_leb128(&Scanner::cpu(), bytes, &mut [0; 40]).unwrap();
        assert_eq!(decode(&[0xe5, 0x8e, 0x26]), Decoded { count: 1, error: None });
        assert_eq!(decode(&[1, 0x80]), Decoded { count: 1, error: Some(2) });
        assert_eq!(decode(&[[0xff; 9].as_slice(), &[1]].concat()), Decoded { count: 1, error: None });
        assert_eq!(decode(&[[0xff; 9].as_slice(), &[2]].concat()).error, Some(9));
        assert_eq!(decode(&[&[7, 7], [0xff; 12].as_slice()].concat()).error, Some(11));
    }

    /// On several threads parts meet anywhere.
    #[test]
    fn an_error_far_from_the_beginning() {
        let bytes: Vec<u8> =
            (0..300_000).map(|i| if (200_000..200_011).contains(&i) { 0xff } else { i as u8 & 0x7f }).collect();
        let mut numbers = vec![0; bytes.len()];
        let found = decode_leb128(&Scanner::cpu(), &bytes, &mut numbers).unwrap();
        assert_eq!(found, decode_leb128_in_a_loop(&bytes, &mut numbers.clone()));
        assert_eq!(found.error, Some(200_009));
    }
}

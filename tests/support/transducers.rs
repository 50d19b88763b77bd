//! Decoders whose inputs give up to two results: documents of UTF-8 to UTF-16, each of which begins anew, and LEB128
//! with the place of the first error.

use scan_runtime::{ScanOp, scan_element, scan_fn, scan_op};

use crate::{columns::ColumnsOperator, operators::mixed};

/// A byte of a document.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utf8 {
    /// The byte.
    pub byte: u8,
    /// Whether a document begins with it.
    pub begins: bool,
}

/// The same with the document that the byte belongs to.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfDocument {
    /// The byte.
    pub byte: u8,
    /// The number of its document.
    pub document: u32,
    /// The number of the document of the byte before it.
    pub before: u32,
}

/// A document begins where its number is another one than before.
#[scan_fn]
pub fn where_documents_change(x: OfDocument) -> Utf8 {
    Utf8 { byte: x.byte, begins: x.document != x.before }
}

/// What has been read: the carry.
#[scan_element]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decoded {
    /// The units of all documents so far. A document that begins leaves them as they are.
    pub units: u32,
    /// The bits of a character that has begun.
    pub bits: u32,
    /// How many bytes it lacks. A document that begins forgets it.
    pub left: u32,
}

/// What a part of the bytes does to any [`Decoded`].
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// How many bytes go on with a character that has begun before the part, up to 3,
    pub continues: u32,
    /// and their bits.
    pub bits: u32,
    /// Whether other bytes follow these, or a document begins.
    pub is_anew: bool,
    /// What is read of the others.
    pub after: Decoded,
}

/// The units of a byte, and their places.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Units {
    /// The places; `u32::MAX` where there is no unit.
    pub places: [u32; 2],
    /// The units.
    pub units: [u16; 2],
}

/// UTF-8 of many documents to the UTF-16 of all of them, one after the other. Each document begins anew, even if the
/// one before it ends within a character; the count of units continues. An incomplete character gives nothing.
#[derive(Clone, Copy, Debug)]
pub struct Utf16;

#[scan_fn]
fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// What is read after a byte that goes on with no character.
#[scan_fn]
fn after_first(units: u32, byte: u8) -> Decoded {
    let x = byte as u32;
    if x < 0x80 {
        Decoded { units: units.saturating_add(1), bits: 0, left: 0 }
    } else if x < 0xc0 {
        Decoded { units, bits: 0, left: 0 }
    } else if x < 0xe0 {
        Decoded { units, bits: x & 0x1f, left: 1 }
    } else if x < 0xf0 {
        Decoded { units, bits: x & 0xf, left: 2 }
    } else {
        Decoded { units, bits: x & 7, left: 3 }
    }
}

/// What is read after `count` bytes that go on with a character, if there is one.
#[scan_fn]
fn after_continuations(c: Decoded, count: u32, bits: u32) -> Decoded {
    if count < c.left {
        Decoded { units: c.units, bits: c.bits << (6 * count) | bits, left: c.left - count }
    } else if c.left > 0 {
        let character = c.bits << (6 * c.left) | bits >> (6 * (count - c.left));
        Decoded { units: c.units.saturating_add(if character < 0x10000 { 1 } else { 2 }), bits: 0, left: 0 }
    } else {
        c
    }
}

#[scan_fn]
fn after_stretch(c: Decoded, s: Stretch) -> Decoded {
    let continued = after_continuations(c, s.continues, s.bits);
    if s.is_anew {
        Decoded { units: continued.units.saturating_add(s.after.units), bits: s.after.bits, left: s.after.left }
    } else {
        continued
    }
}

#[scan_op]
impl ScanOp for Utf16 {
    type Input = Utf8;
    type State = Stretch;
    type Carry = Decoded;
    type Output = Units;
    const IDENTITY: Stretch = Stretch { continues: 0, bits: 0, is_anew: false, after: Self::START };
    const START: Decoded = Decoded { units: 0, bits: 0, left: 0 };
    fn lift(x: Utf8) -> Stretch {
        if is_continuation(x.byte) && !x.begins {
            Stretch { continues: 1, bits: (x.byte & 0x3f) as u32, is_anew: false, after: Self::START }
        } else {
            Stretch { continues: 0, bits: 0, is_anew: true, after: after_first(0, x.byte) }
        }
    }
    fn combine(a: Stretch, b: Stretch) -> Stretch {
        if a.is_anew {
            return Stretch { after: after_stretch(a.after, b), ..a };
        }
        // Of more than three bytes, those after the third one belong to no character.
        let more = b.continues.min(3 - a.continues);
        let bits = a.bits << (6 * more) | b.bits >> (6 * (b.continues - more));
        Stretch { continues: a.continues + more, bits, ..b }
    }
    fn apply(s: Stretch, c: Decoded) -> Decoded {
        after_stretch(c, s)
    }
    fn advance(c: Decoded, x: Utf8) -> (Decoded, Units) {
        let none = Units { places: [u32::MAX; 2], units: [0_u16; 2] };
        if x.begins || !is_continuation(x.byte) {
            let unit = Units { places: [c.units, u32::MAX], units: [x.byte as u16, 0] };
            return (after_first(c.units, x.byte), if x.byte < 0x80 { unit } else { none });
        }
        let low = (x.byte & 0x3f) as u32;
        let after = after_continuations(c, 1, low);
        let character = c.bits << 6 | low;
        if c.left != 1 {
            (after, none)
        } else if character < 0x10000 {
            (after, Units { places: [c.units, u32::MAX], units: [character as u16, 0] })
        } else {
            let units = [(0xd7c0 + (character >> 10)) as u16, (0xdc00 + (character & 0x3ff)) as u16];
            (after, Units { places: [c.units, c.units.saturating_add(1)], units })
        }
    }
}

/// Documents of valid UTF-8 that have been cut anywhere, one after the other, and where each begins.
pub fn documents(len: usize, seed: u64) -> Vec<Utf8> {
    let letters = "aé€🪲 ß漢𝄞z";
    let letter = |i: u64| letters.chars().nth(mixed(seed ^ i << 9) as usize % 9).unwrap_or_default();
    let text: String = (0..len as u64).map(letter).collect();
    // Some of three bytes, and some longer than a tile.
    let begins = |i: usize| i % 3_001 == 3_000 || i % 4_096 < 1_000 && mixed(seed ^ i as u64).is_multiple_of(3);
    text.bytes().take(len).enumerate().map(|(i, byte)| Utf8 { byte, begins: begins(i) }).collect()
}

/// The units of documents, by the standard library: of each, the UTF-16 of all that is valid.
pub fn units_of(documents: &[Utf8]) -> Vec<u16> {
    let of_document = |document: &[Utf8]| {
        let bytes: Vec<u8> = document.iter().map(|x| x.byte).collect();
        bytes.utf8_chunks().flat_map(|chunk| chunk.valid().encode_utf16()).collect::<Vec<_>>()
    };
    documents.chunk_by(|_, next| !next.begins).flat_map(of_document).collect()
}

impl ColumnsOperator for Utf16 {
    fn new() -> Self {
        Utf16
    }
    fn inputs(len: usize, seed: u64) -> Vec<Utf8> {
        documents(len, seed)
    }
    /// Three units, and two bytes of a character of three.
    fn initial_value() -> Decoded {
        Decoded { units: 3, bits: 0x82, left: 1 }
    }
}

/// A byte, and its place.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IndexedByte {
    /// The byte.
    pub byte: u8,
    /// The place.
    pub index: u32,
}

/// What has been read of numbers in LEB128.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadNumbers {
    /// How many numbers have ended.
    pub numbers: u32,
    /// The place of the first byte that is in no `u32`, or `u32::MAX`.
    pub first_error: u32,
    /// The bits of the number that has begun.
    pub value: u32,
    /// How many bytes it has, up to 5.
    pub bytes: u32,
}

/// What a part of the bytes does to any [`ReadNumbers`].
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartOfNumbers {
    /// How many numbers end within it.
    pub numbers: u32,
    /// The place of the first error, if `j` bytes of a number come before the part.
    pub first_errors: [u32; 6],
    /// The bits after the last number that ends, or all of them,
    pub value: u32,
    /// and how many bytes these are, up to 5.
    pub bytes: u32,
    /// Whether a number ends.
    pub ends: bool,
}

/// A number, and its place.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    /// The place; `u32::MAX` where none ends.
    pub place: u32,
    /// The number.
    pub value: u32,
}

/// Numbers of 32 bits in LEB128, and the place of the first byte that is in no such number.
#[derive(Clone, Copy, Debug)]
pub struct Leb128;

/// Whether a byte is too much for a number that has so many bytes.
#[scan_fn]
fn is_beyond(bytes: u32, byte: u8) -> bool {
    bytes > 4 || bytes == 4 && byte & 0x7f > 15
}

/// The bits after so many bytes of seven bits.
#[scan_fn]
fn shifted(value: u32, bytes: u32) -> u32 {
    if bytes < 5 { value << (7 * bytes) } else { 0 }
}

#[scan_op]
impl ScanOp for Leb128 {
    type Input = IndexedByte;
    type State = PartOfNumbers;
    type Carry = ReadNumbers;
    type Output = Number;
    const IDENTITY: PartOfNumbers =
        PartOfNumbers { numbers: 0, first_errors: [u32::MAX; 6], value: 0, bytes: 0, ends: false };
    const START: ReadNumbers = ReadNumbers { numbers: 0, first_error: u32::MAX, value: 0, bytes: 0 };
    fn lift(x: IndexedByte) -> PartOfNumbers {
        let ends = x.byte < 0x80;
        let mut first_errors = [u32::MAX; 6];
        for bytes in 0..6_u32 {
            if is_beyond(bytes, x.byte) {
                first_errors[bytes as usize] = x.index;
            }
        }
        let value = if ends { 0 } else { (x.byte & 0x7f) as u32 };
        PartOfNumbers { numbers: ends as u32, first_errors, value, bytes: !ends as u32, ends }
    }
    fn combine(a: PartOfNumbers, b: PartOfNumbers) -> PartOfNumbers {
        let mut first_errors = a.first_errors;
        for bytes in 0..6_u32 {
            let between = if a.ends { a.bytes } else { u32::min(bytes + a.bytes, 5) };
            first_errors[bytes as usize] = a.first_errors[bytes as usize].min(b.first_errors[between as usize]);
        }
        PartOfNumbers {
            numbers: a.numbers.saturating_add(b.numbers),
            first_errors,
            value: if b.ends { b.value } else { a.value | shifted(b.value, a.bytes) },
            bytes: if b.ends { b.bytes } else { u32::min(a.bytes + b.bytes, 5) },
            ends: a.ends || b.ends,
        }
    }
    fn apply(s: PartOfNumbers, c: ReadNumbers) -> ReadNumbers {
        ReadNumbers {
            numbers: c.numbers.saturating_add(s.numbers),
            first_error: c.first_error.min(s.first_errors[c.bytes as usize]),
            value: if s.ends { s.value } else { c.value | shifted(s.value, c.bytes) },
            bytes: if s.ends { s.bytes } else { u32::min(c.bytes + s.bytes, 5) },
        }
    }
    fn advance(c: ReadNumbers, x: IndexedByte) -> (ReadNumbers, Number) {
        let first_error = if is_beyond(c.bytes, x.byte) { c.first_error.min(x.index) } else { c.first_error };
        let value = c.value | shifted((x.byte & 0x7f) as u32, c.bytes);
        if x.byte < 0x80 {
            let numbers = c.numbers.saturating_add(1);
            (ReadNumbers { numbers, first_error, value: 0, bytes: 0 }, Number { place: c.numbers, value })
        } else {
            let bytes = u32::min(c.bytes + 1, 5);
            (ReadNumbers { numbers: c.numbers, first_error, value, bytes }, Number { place: u32::MAX, value: 0 })
        }
    }
}

/// Numbers in LEB128. From the byte `wrong_from` on, some are not in 32 bits.
pub fn leb128(len: usize, seed: u64, wrong_from: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len + 9);
    for i in 0.. {
        if bytes.len() >= len {
            break;
        }
        let random = mixed(seed ^ i << 7);
        let is_wrong = bytes.len() >= wrong_from && random.is_multiple_of(7);
        let mut number = if is_wrong { random | 1 << 32 } else { u64::from(random as u32) >> (random >> 59) };
        while number > 0x7f {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
    bytes.truncate(len);
    bytes
}

/// The numbers, and the place of the first byte that is in none, by a plain loop.
pub fn numbers_of(bytes: &[u8]) -> (Vec<u32>, u32) {
    let (mut numbers, mut first_error, mut index) = (Vec::new(), u32::MAX, 0);
    for encoded in bytes.split_inclusive(|byte| *byte < 0x80) {
        let (mut number, mut digit_of_byte) = (0_u64, 0);
        for byte in encoded {
            let digit = u64::from(byte & 0x7f);
            if digit_of_byte >= 5 || number | digit << (7 * digit_of_byte) > u64::from(u32::MAX) {
                first_error = first_error.min(index);
            }
            number |= if digit_of_byte < 5 { digit << (7 * digit_of_byte) } else { 0 };
            number &= u64::from(u32::MAX);
            (digit_of_byte, index) = (digit_of_byte + 1, index + 1);
        }
        numbers.extend(encoded.last().filter(|byte| **byte < 0x80).map(|_| number as u32));
    }
    (numbers, first_error)
}

impl ColumnsOperator for Leb128 {
    fn new() -> Self {
        Leb128
    }
    fn inputs(len: usize, seed: u64) -> Vec<IndexedByte> {
        let bytes = leb128(len, seed, len / 2);
        bytes.into_iter().zip(0..).map(|(byte, index)| IndexedByte { byte, index }).collect()
    }
    fn initial_value() -> ReadNumbers {
        ReadNumbers { numbers: 2, first_error: u32::MAX, value: 77, bytes: 3 }
    }
}

//! Lexing: the tokens of Rust source, and what is outside of the strings of JSON.
//!
//! The loop that one would write:
//!
//! ```text
//! for (i, byte) in text.enumerate() {
//!     if ends(state, byte) { tokens.push((i, state)) }      // the state at the end of a token is its kind
//!     state = next[byte][state];
//! }
//! ```
//!
//! What a part of the text does to a state is a function from states to states. There are few states, so that the
//! function is a small table, and functions compose, which is associative. The state after each byte is a scan. The
//! ends of tokens are then known for each byte alone, from it and the state before it: `ops::filter` collects them.
//! The crate `examples/tokenizer` has such an operator with rules that are read from a file.
//!
//! In JSON only quotes count, and a quote is a beginning or an end by the parity of the quotes before it, but for those
//! after a backslash: three states. [`Structure`] goes one step further and collects the structural characters outside
//! of strings in the same pass: the effect of a part has also the number of them that it finds, from each state.
//!
//! The loops are as fast as their branches are predicted. On two threads of a CPU, both scans take 1.3 times as
//! long.
//!
//! Sources: R. E. Ladner and M. J. Fischer, *Parallel Prefix Computation*, 1980; W. D. Hillis and G. L. Steele, *Data
//! Parallel Algorithms*, 1986; G. Langdale and D. Lemire, *Parsing Gigabytes of JSON per Second*, 2019.

use scan_runtime::{Error, ScanOp, Scanner, arrays, ops, scan_element, scan_fn, scan_op};

use crate::report::{Outcome, Report, check, mixed};

/// States of a lexer for Rust, without raw strings and block comments: the last byte was …
const SPACE: u8 = 0;
const WORD: u8 = 1;
const PUNCTUATION: u8 = 2;
const SLASH: u8 = 3;
const COMMENT: u8 = 4;
const STRING: u8 = 5;
const ESCAPE: u8 = 6;
/// The end of a string or a character.
const CLOSED: u8 = 7;
/// A single quote, which begins a character or a lifetime.
const QUOTE: u8 = 8;
const CHARACTER_ESCAPE: u8 = 9;
const CHARACTER: u8 = 10;
const STATES: usize = 16;

const KINDS: [&str; 11] =
    ["space", "word", "punctuation", "/", "comment", "string", "string", "literal", "'", "character", "lifetime"];

/// The state after a byte, and whether a token ends before it.
const fn rule(state: u8, byte: u8) -> (u8, bool) {
    let is_word = byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let first = match byte {
        b' ' | b'\t' | b'\r' | b'\n' => SPACE,
        b'/' => SLASH,
        b'"' => STRING,
        b'\'' => QUOTE,
        _ if is_word => WORD,
        _ => PUNCTUATION,
    };
    match (state, byte) {
        (STRING, b'"') => (CLOSED, false),
        (STRING, b'\\') => (ESCAPE, false),
        (STRING | ESCAPE, _) => (STRING, false),
        (COMMENT, b'\n') => (SPACE, true),
        (COMMENT, _) => (COMMENT, false),
        (SLASH, b'/') => (COMMENT, false),
        (QUOTE, b'\\') => (CHARACTER_ESCAPE, false),
        (QUOTE, _) => (CHARACTER, false),
        (CHARACTER_ESCAPE, _) => (CHARACTER, false),
        (CHARACTER, b'\'') => (CLOSED, false),
        (CHARACTER, _) if is_word => (CHARACTER, false),
        (WORD, _) if is_word => (WORD, false),
        (SPACE, _) if first == SPACE => (SPACE, false),
        _ => (first, true),
    }
}

/// For each byte, four bits for the state after each state.
const ROWS: [u64; 256] = {
    let mut rows = [0; 256];
    let mut i = 0;
    while i < 256 * STATES {
        rows[i / STATES] |= (rule((i % STATES) as u8, (i / STATES) as u8).0 as u64) << (4 * (i % STATES));
        i += 1;
    }
    rows
};

/// For each byte, a bit for each state in which a token ends before it.
const ENDS: [u16; 256] = {
    let mut ends = [0; 256];
    let mut i = 0;
    while i < 256 * STATES {
        ends[i / STATES] |= (rule((i % STATES) as u8, (i / STATES) as u8).1 as u16) << (i % STATES);
        i += 1;
    }
    ends
};

/// A function from states to states.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Transitions {
    next: [u8; STATES],
}

#[scan_fn]
fn after(row: u64, state: u8) -> u8 {
    (row >> (4 * state) & 15) as u8
}

#[derive(Clone)]
struct Lexer;

#[scan_op(laws = b"a \"\\'/\n")]
impl ScanOp for Lexer {
    type Input = u8;
    type Output = u8;
    // The loop.
    type Carry = u8;
    const START: u8 = SPACE;
    fn step(state: u8, byte: u8) -> u8 {
        after(ROWS[byte as usize], state)
    }
    // Where a part of the text leads from each state.
    type State = Transitions;
    const IDENTITY: Transitions = Transitions { next: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] };
    fn lift(byte: u8) -> Transitions {
        let row = ROWS[byte as usize];
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
    fn prepend(byte: u8, rest: Transitions) -> Transitions {
        let row = ROWS[byte as usize];
        let mut next = rest.next;
        for state in 0..STATES {
            next[state] = rest.next[(row >> (4 * state) & 15) as usize];
        }
        Transitions { next }
    }
    fn apply(part: Transitions, state: u8) -> u8 {
        part.next[state as usize]
    }
}

#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Byte {
    index: u32,
    state_before: u8,
    byte: u8,
}

/// The token that ends before a byte, if one does: its kind in the upper half, its end in the lower.
#[scan_fn]
fn token_before(x: Byte) -> ops::Candidate<u64> {
    let ends = ENDS[x.byte as usize] >> x.state_before & 1 == 1;
    ops::Candidate { keep: ends, value: (x.state_before as u64) << 32 | x.index as u64 }
}

/// The tokens of a text that ends with a new line, spaces and comments too, and their number.
fn lex(scanner: &Scanner, text: &[u8], states: &mut [u8], tokens: &mut [u64]) -> Result<usize, Error> {
    scanner.scan(Lexer).run_into(text, &mut *states)?;
    let ends = scanner.scan(ops::map::<token_before, _>(ops::filter()));
    let input = (arrays::indices(), arrays::previous(&*states, SPACE), text);
    Ok(ends.with_total().run_into(input, arrays::scatter_by_output((tokens,)))?.unwrap_or(0) as usize)
}

/// The plain loop.
fn lex_in_a_loop(text: &[u8], tokens: &mut [u64]) -> usize {
    let (mut state, mut count) = (SPACE, 0);
    for (i, &byte) in text.iter().enumerate() {
        if ENDS[usize::from(byte)] >> state & 1 == 1 {
            tokens[count] = u64::from(state) << 32 | i as u64;
            count += 1;
        }
        state = (ROWS[usize::from(byte)] >> (4 * state) & 15) as u8;
    }
    count
}

/// States of JSON: outside of a string, in one, after a backslash in one.
const OUTSIDE: u8 = 0;
const INSIDE: u8 = 1;
const ESCAPED: u8 = 2;

#[scan_fn]
fn string_state(state: u8, byte: u8) -> u8 {
    // In a string a quote ends it and a backslash escapes; outside, only a quote counts.
    let in_string = if byte == b'"' {
        OUTSIDE
    } else if byte == b'\\' {
        ESCAPED
    } else {
        INSIDE
    };
    if state == INSIDE { in_string } else { (state == ESCAPED || byte == b'"') as u8 }
}

#[scan_fn]
fn is_structural(state: u8, byte: u8) -> bool {
    // `[` and `{`, `]` and `}` differ in one bit.
    let folded = byte | 0x20;
    state == OUTSIDE && (folded == b'{' || folded == b'}' || byte == b':' || byte == b',')
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reader {
    count: u32,
    state: u8,
}

/// Of a part, for each state before it: how many structural characters it has, and the state after it.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    counts: [u32; 3],
    states: [u8; 3],
}

#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Character {
    index: u32,
    byte: u8,
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Found {
    place: u32,
    index: u32,
}

/// A part with another character.
#[scan_fn]
fn append(part: Part, x: Character) -> Part {
    let mut after = part;
    for state in 0..3_usize {
        after.counts[state] += is_structural(part.states[state], x.byte) as u32;
        after.states[state] = string_state(part.states[state], x.byte);
    }
    after
}

/// Where the structural characters of JSON are: brackets, colons and commas outside of strings.
#[derive(Clone)]
struct Structure;

#[scan_op(laws(samples = b"\"\\[a".map(|byte| Character { index: 7, byte })))]
impl ScanOp for Structure {
    type Input = Character;
    // The loop.
    type Carry = Reader;
    type Output = Found;
    const START: Reader = Reader { count: 0, state: OUTSIDE };
    fn advance(c: Reader, x: Character) -> (Reader, Found) {
        let found = is_structural(c.state, x.byte);
        let after = Reader { count: c.count + found as u32, state: string_state(c.state, x.byte) };
        (after, Found { place: if found { c.count } else { u32::MAX }, index: x.index })
    }
    // What a part of the text does to any reader.
    type State = Part;
    const IDENTITY: Part = Part { counts: [0, 0, 0], states: [OUTSIDE, INSIDE, ESCAPED] };
    fn lift(x: Character) -> Part {
        append(Self::IDENTITY, x)
    }
    fn append(part: Part, x: Character) -> Part {
        append(part, x)
    }
    fn combine(a: Part, b: Part) -> Part {
        let mut both = a;
        for state in 0..3_usize {
            both.counts[state] += b.counts[a.states[state] as usize];
            both.states[state] = b.states[a.states[state] as usize];
        }
        both
    }
    fn apply(part: Part, c: Reader) -> Reader {
        Reader { count: c.count + part.counts[c.state as usize], state: part.states[c.state as usize] }
    }
}

/// The places of the structural characters, and their number.
fn structure(scanner: &Scanner, text: &[u8], places: &mut [u32]) -> Result<usize, Error> {
    let outputs = arrays::scatter_by_output((places,));
    let reader = scanner.scan(Structure).with_total().run_into((arrays::indices(), text), outputs)?;
    Ok(reader.map_or(0, |reader| reader.count as usize))
}

/// The plain loop.
fn structure_in_a_loop(text: &[u8], places: &mut [u32]) -> usize {
    let (mut state, mut count) = (OUTSIDE, 0);
    for (i, &byte) in text.iter().enumerate() {
        match (state, byte) {
            (OUTSIDE, b'"') => state = INSIDE,
            (OUTSIDE, b'[' | b']' | b'{' | b'}' | b':' | b',') => {
                places[count] = i as u32;
                count += 1;
            }
            (INSIDE, b'"') => state = OUTSIDE,
            (INSIDE, b'\\') => state = ESCAPED,
            (ESCAPED, _) => state = INSIDE,
            _ => (),
        }
    }
    count
}

/// The sources of this crate, or its beginning, ended by a new line.
fn source(len: usize) -> Vec<u8> {
    let all = [include_str!("lexing.rs"), include_str!("filters.rs"), include_str!("running.rs")].concat();
    let mut text: Vec<u8> = all.bytes().cycle().take(len).collect();
    text.push(b'\n');
    text
}

/// An array of records, some with quotes and brackets within strings; cut off at a length.
fn json(len: usize) -> Vec<u8> {
    let names = ["Ada", "Grace \\\"Amazing\\\" Hopper", "[none]", "back\\\\slash", "日本"];
    let record =
        |i: u64| format!("{{\"id\": {i}, \"name\": \"{}\", \"tags\": [1, 2]}},\n", names[mixed(i) as usize % 5]);
    let records = (0..).flat_map(|i| record(i).into_bytes());
    b"[".iter().copied().chain(records).take(len).collect()
}

pub fn run(scanner: &Scanner, len: usize) -> Outcome {
    let text = source(len);
    let (mut states, [mut ours, mut expected]) = (vec![0; text.len()], [(); 2].map(|()| vec![0; text.len()]));
    let (mut count, mut expected_count) = (0, 0);
    let mut report = Report::default();
    report.time(
        "tokens of Rust source, bytes",
        text.len(),
        || expected_count = lex_in_a_loop(&text, &mut expected),
        || lex(scanner, &text, &mut states, &mut ours).map(|tokens| count = tokens),
    )?;
    check(ours[..count] == expected[..expected_count], "tokens")?;

    let json = json(len);
    let [mut places, mut expected] = [(); 2].map(|()| vec![0; len]);
    report.time(
        "structure of JSON, bytes",
        len,
        || expected_count = structure_in_a_loop(&json, &mut expected),
        || structure(scanner, &json, &mut places).map(|found| count = found),
    )?;
    check(places[..count] == expected[..expected_count], "structure")?;
    report.drawing = drawing(scanner)?;
    Ok(report)
}

/// A line of Rust, each token with its kind, and a line of JSON with its structural characters.
fn drawing(scanner: &Scanner) -> Result<String, Error> {
    let text = b"fn f<'a>(x: &'a str) -> bool { x == \"a\\\"b\" || x == c('\\'') } // text\n";
    let mut tokens = vec![0; text.len()];
    let count = lex(scanner, text, &mut vec![0; text.len()], &mut tokens)?;
    let (mut begin, mut lines) = (0, String::new());
    for token in &tokens[..count] {
        let (end, kind) = (*token as u32 as usize, (token >> 32) as usize);
        if kind != usize::from(SPACE) {
            lines += &format!("{}:{}  ", String::from_utf8_lossy(&text[begin..end]), KINDS[kind]);
        }
        begin = end;
    }
    let json = r#"{"a [\"b\"]": [1, "\\"], "c": "{"}"#;
    let mut places = vec![0; json.len()];
    let count = structure(scanner, json.as_bytes(), &mut places)?;
    let mark = |i: usize| if places[..count].contains(&(i as u32)) { '^' } else { ' ' };
    Ok(format!("{lines}\n{json}\n{}", (0..json.len()).map(mark).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_structure_are_those_of_loops() {
        for len in [0, 1, 100, 30_000] {
            run(&Scanner::cpu(), len).unwrap();
        }
    }

    #[test]
    fn strings_characters_and_lifetimes_are_told_apart() {
        let drawn = drawing(&Scanner::cpu()).unwrap();
        for token in [r#""a\"b":literal"#, r"'\'':literal", "'a:lifetime", "// text:comment", "fn:word"] {
            assert!(drawn.contains(token), "{token} in {drawn}");
        }
        assert!(drawn.ends_with("^           ^ ^ ^     ^^    ^    ^"), "{drawn}");
    }
}

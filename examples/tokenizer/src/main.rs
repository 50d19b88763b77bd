//! The tokens of a text, by an automaton that is read from a file when the program runs.

mod automaton;
mod lexer;

use std::{collections::BTreeMap, env, error::Error, fs};

use automaton::Automaton;
use lexer::Lexer;
use scan_runtime::Scanner;

struct Token<'a> {
    kind: &'a str,
    text: &'a [u8],
}

/// The tokens of a text, from the state after each byte. The state at its end is a token's kind.
fn tokens<'a>(automaton: &'a Automaton, text: &'a [u8], states: &[u8]) -> Vec<Token<'a>> {
    let begins = |i: &usize| *i == 0 || automaton.begins(states[i - 1], text[*i]);
    let starts: Vec<usize> = (0..text.len()).filter(begins).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let token = |(&start, end): (&usize, usize)| {
        let kind = &automaton.states[usize::from(states[end - 1])];
        Token { kind, text: &text[start..end] }
    };
    starts.iter().zip(ends).map(token).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let here = env!("CARGO_MANIFEST_DIR");
    let mut arguments = env::args().skip(1);
    let read = |file: String| fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"));
    let text = read(arguments.next().unwrap_or(format!("{here}/src/main.rs")))?;
    let automaton = Automaton::read(&read(arguments.next().unwrap_or(format!("{here}/rust.automaton")))?)?;

    let scanner = Scanner::new()?;
    let lexer = Lexer { rows: automaton.rows.clone() };
    let states = scanner.scan(lexer).run(text.as_bytes())?;

    let tokens = tokens(&automaton, text.as_bytes(), &states);
    let tokens: Vec<&Token> = tokens.iter().filter(|token| token.kind != "space").collect();
    println!("{} tokens in {} bytes, on {}", tokens.len(), text.len(), scanner.backend());
    for Token { kind, text } in tokens.iter().take(12) {
        println!("{kind:>12}  {}", String::from_utf8_lossy(text));
    }
    let mut kinds = BTreeMap::<&str, usize>::new();
    tokens.iter().for_each(|token| *kinds.entry(token.kind).or_default() += 1);
    println!("{kinds:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use scan_runtime::laws;

    fn automaton() -> (Automaton, Lexer) {
        let automaton = Automaton::read(include_str!("../rust.automaton")).unwrap();
        let lexer = Lexer { rows: automaton.rows.clone() };
        (automaton, lexer)
    }

    #[test]
    fn every_state_is_that_of_a_loop() {
        let (automaton, lexer) = automaton();
        laws::check(&lexer, b"a 1\"\\'/\n").unwrap();
        let text = include_bytes!("main.rs").repeat(40);
        let expected = text.iter().scan(0, |state, &byte| {
            *state = (automaton.rows[usize::from(byte)] >> (4 * *state) & 15) as u8;
            Some(*state)
        });
        assert!(Scanner::new().unwrap().scan(lexer).run(&text).unwrap() == expected.collect::<Vec<u8>>());
    }

    #[test]
    fn each_kind_of_token_is_recognized() {
        let (automaton, lexer) = automaton();
        let text = br#"f('a', 'static, "say \"so\"", 0x1f) // "no string" "#;
        let states = Scanner::new().unwrap().scan(lexer).run(text).unwrap();
        let tokens = tokens(&automaton, text, &states);
        assert_eq!(tokens.iter().flat_map(|token| token.text).copied().collect::<Vec<u8>>(), text);
        let of = |kind: &str| tokens.iter().find(|token| token.kind == kind).unwrap().text;
        assert_eq!([of("word"), of("number")], [&b"f"[..], b"0x1f"]);
        assert_eq!([of("character"), of("lifetime")], [&b"'a'"[..], b"'static"]);
        assert_eq!([of("string"), of("comment")], [&br#""say \"so\"""#[..], br#"// "no string" "#]);
    }

    #[test]
    fn malformed_rules_are_refused() {
        let error = |rules| Automaton::read(rules).err().map(|error| error.to_string());
        assert_eq!(error("start word word").as_deref(), Some("line 1: no bytes: `word`"));
        assert_eq!(error("start a-z word").as_deref(), Some("no token begins with byte 0"));
    }
}

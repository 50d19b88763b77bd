//! Rust text that knows which of its parts can be left out, so that a failing program can be made smaller.

use std::collections::BTreeSet;

/// Text in pieces.
#[derive(Clone, Debug, Default)]
pub(super) struct Code(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    /// A part that `neutral` can stand in for: the program compiles and ends with either.
    Part {
        number: usize,
        code: Code,
        neutral: String,
    },
}

impl Code {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Code(vec![Piece::Text(text.into())])
    }

    pub(super) fn part(number: usize, code: Code, neutral: impl Into<String>) -> Self {
        Code(vec![Piece::Part { number, code, neutral: neutral.into() }])
    }

    pub(super) fn push(&mut self, more: impl Into<Code>) {
        self.0.extend(more.into().0);
    }

    /// The text, the parts of these numbers replaced.
    pub(super) fn write(&self, without: &BTreeSet<usize>) -> String {
        let mut text = String::new();
        self.write_to(without, &mut text);
        text
    }

    fn write_to(&self, without: &BTreeSet<usize>, text: &mut String) {
        for piece in &self.0 {
            match piece {
                Piece::Text(own) => text.push_str(own),
                Piece::Part { number, neutral, .. } if without.contains(number) => text.push_str(neutral),
                Piece::Part { code, .. } => code.write_to(without, text),
            }
        }
    }

    /// The numbers of the parts that the text still has, outer ones before those inside them.
    pub(super) fn parts(&self, without: &BTreeSet<usize>) -> Vec<usize> {
        let mut parts = Vec::new();
        let mut level = vec![self];
        while !level.is_empty() {
            let mut inner = Vec::new();
            for piece in level.iter().flat_map(|code| &code.0) {
                if let Piece::Part { number, code, .. } = piece
                    && !without.contains(number)
                {
                    parts.push(*number);
                    inner.push(code);
                }
            }
            level = inner;
        }
        parts
    }
}

impl From<&str> for Code {
    fn from(text: &str) -> Self {
        Code::text(text)
    }
}

impl From<String> for Code {
    fn from(text: String) -> Self {
        Code::text(text)
    }
}

impl From<&String> for Code {
    fn from(text: &String) -> Self {
        Code::text(text.as_str())
    }
}

/// Pieces one after the other.
macro_rules! code {
    ($($piece:expr),* $(,)?) => {{
        #[allow(unused_mut)]
        let mut code = $crate::programs::code::Code::default();
        $(code.push($piece);)*
        code
    }};
}
pub(super) use code;

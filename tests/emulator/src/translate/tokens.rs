//! CUDA text as tokens, as far as the translation needs them.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// White space or a comment.
    Blank,
    /// A preprocessor line.
    Directive,
    /// An identifier or a keyword.
    Word,
    /// A number.
    Number,
    /// A string or a character.
    Text,
    /// Anything else.
    Mark,
}

/// A token of the source, and what is to stand in its place.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// The line of the text, counted from 1.
    pub(super) line: u32,
    /// What takes its place; `None` where it stays as it is.
    pub(super) replacement: Option<String>,
}

const LONG_MARKS: [&str; 20] = [
    "<<=", "...", "::", "->", "++", "--", "&&", "||", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "<<",
];

/// Cuts a text into tokens. Nothing is left out: the tokens, end to end, are the text.
pub(super) fn tokenize(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut line = 1;
    let mut line_start = true;
    while let Some(first) = rest.chars().next() {
        let (kind, length) = token(rest, first, line_start);
        let (text, after) = rest.split_at(length);
        tokens.push(Token { kind, text, line, replacement: None });
        let newlines = text.matches('\n').count() as u32;
        line += newlines;
        line_start = if kind == Kind::Blank { newlines > 0 || line_start } else { false };
        rest = after;
    }
    tokens
}

fn token(rest: &str, first: char, line_start: bool) -> (Kind, usize) {
    let until = |stop: fn(char) -> bool| rest.find(stop).unwrap_or(rest.len());
    if first.is_whitespace() {
        return (Kind::Blank, until(|c| !c.is_whitespace()));
    }
    if rest.starts_with("//") {
        return (Kind::Blank, until(|c| c == '\n'));
    }
    if rest.starts_with("/*") {
        return (Kind::Blank, rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    if first == '#' && line_start {
        return (Kind::Directive, directive_length(rest));
    }
    if first.is_alphabetic() || first == '_' {
        let word = until(|c| !c.is_alphanumeric() && c != '_');
        // The type of an array, and of a unit of a run, is one word, so that it is treated as any other type.
        let arguments = if matches!(&rest[..word], "Array" | "RunUnit") { angles_length(&rest[word..]) } else { 0 };
        return (Kind::Word, word + arguments);
    }
    if first.is_ascii_digit() {
        return (Kind::Number, until(|c| !c.is_alphanumeric() && c != '.' && c != '\'' && c != '_'));
    }
    if first == '"' || first == '\'' {
        return (Kind::Text, quoted_length(rest, first));
    }
    let mark = LONG_MARKS.iter().find(|mark| rest.starts_with(**mark));
    (Kind::Mark, mark.map_or(first.len_utf8(), |mark| mark.len()))
}

/// From a `<` to the `>` that closes it; nothing where there is none.
fn angles_length(rest: &str) -> usize {
    let mut depth = 0;
    for (index, letter) in rest.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' if depth == 1 => return index + 1,
            '>' => depth -= 1,
            _ if depth == 0 => break,
            _ => {}
        }
    }
    0
}

/// To the end of the line, continued lines included.
fn directive_length(rest: &str) -> usize {
    let mut length = 0;
    for line in rest.split_inclusive('\n') {
        length += line.trim_end_matches('\n').len();
        if !line.ends_with("\\\n") {
            break;
        }
        length += 1;
    }
    length
}

fn quoted_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (index, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return index + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// The text that the tokens stand for.
pub(super) fn join(tokens: &[Token<'_>]) -> String {
    tokens.iter().map(|token| token.replacement.as_deref().unwrap_or(token.text)).collect()
}

impl Token<'_> {
    /// Takes the token out. Lines stay lines, so that what follows keeps its place.
    pub(super) fn remove(&mut self) {
        self.replacement = Some("\n".repeat(self.text.matches('\n').count()));
    }

    /// Leaves of a blank only what separates.
    pub(super) fn remove_comment(&mut self) {
        self.replacement =
            Some(if self.text.contains('\n') || self.text.starts_with("//") { "\n" } else { " " }.to_owned());
    }

    pub(super) fn replace(&mut self, text: impl Into<String>) {
        self.replacement = Some(text.into());
    }
}

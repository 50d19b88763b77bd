//! Mutants of Rust sources: the mistakes of the templates, and some that only Rust has.

use std::{collections::HashMap, fmt};

use super::{rules, shape};

/// A Rust source with one mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RustMutant {
    /// The file, from the root of the repository.
    pub file: String,
    /// The line in it, from 1.
    pub line: usize,
    /// The rule that made the mistake.
    pub rule: &'static str,
    place: usize,
    /// The line as it is.
    pub before: String,
    /// The line with the mistake.
    pub after: String,
}

impl fmt::Display for RustMutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.rule)?;
        if self.place > 0 { write!(f, "#{}", self.place + 1) } else { Ok(()) }
    }
}

impl RustMutant {
    /// Every mutant of a source, but for its tests, in the order of the text.
    pub fn all(file: &str, text: &str) -> Vec<RustMutant> {
        let shape = shape(text);
        let lines = text.lines().zip(shape.lines()).zip(1..);
        let lines = lines.take_while(|((line, _), _)| !line.starts_with("#[cfg(test)]"));
        let mut mutants = Vec::new();
        for ((before, shape), line) in lines {
            let mut places: HashMap<&str, usize> = HashMap::new();
            for (rule, after) in rules::changes_of_rust(before, shape) {
                let place = places.entry(rule).or_default();
                let (file, before) = (file.to_owned(), before.to_owned());
                mutants.push(RustMutant { file, line, rule, place: *place, before, after });
                *place += 1;
            }
        }
        mutants
    }

    /// What orders mutants at random: by a seed and the line's text.
    pub fn rank(&self, seed: u64) -> [u8; 32] {
        let RustMutant { file, before, after, .. } = self;
        *blake3::hash(format!("{seed}\n{file}\n{before}\n{after}").as_bytes()).as_bytes()
    }

    /// The source with the mistake.
    pub fn plant(&self, text: &str) -> String {
        let lines = text.lines().zip(1..).map(|(line, number)| if number == self.line { &self.after } else { line });
        lines.flat_map(|line| [line, "\n"]).collect()
    }
}

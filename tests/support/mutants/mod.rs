//! Mutants of the kernels' templates: a small mistake each, as a CUDA programmer makes them, and the programs that must show it.
//!
//! A mutant is made in a template, so that it reaches whatever is rendered from there; nothing of Rust is built again. The
//! [probes] that render another text with it are compiled and executed in the emulator, one after the other, until one
//! goes wrong. Those that nothing shows are listed with a reason in a [file](survivors).

mod crew;
pub mod probes;
pub mod rules;
mod rust;
pub mod survivors;

use std::{collections::HashMap, fmt, sync::LazyLock};

use scan_codegen::Templates;

pub use crew::{Crew, Outcome, serve};
pub use rust::RustMutant;

/// Templates that no mutant is made of, and why.
pub const LEFT_OUT: [(&str, &str); 6] = [
    ("heading", "it has comments only"),
    ("intrinsics", "the emulator has functions of its own in its place; the PTX of each is tested"),
    ("barrier", "as the intrinsics"),
    ("bulk_copy", "as the intrinsics"),
    ("distributed_memory", "as the intrinsics"),
    ("launches", "as the intrinsics"),
];

/// The variable of the environment that names a mutant: what the tests of this crate execute in the emulator is rendered with it then.
pub const MUTANT: &str = "SCAN_TESTS_MUTANT";

/// A template with one mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The template.
    pub template: &'static str,
    /// The line in it, from 1.
    pub line: usize,
    /// The rule that made the mistake.
    pub rule: &'static str,
    /// How many the same rule has made in the line before.
    pub place: usize,
    /// The line as it is.
    pub before: String,
    /// The line with the mistake.
    pub after: String,
    /// How many lines before this one are the same, and have the same mistake.
    pub same_before: usize,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.template, self.line, self.rule)?;
        if self.place > 0 { write!(f, "#{}", self.place + 1) } else { Ok(()) }
    }
}

impl Mutant {
    /// Every mutant of every template, in the order of the text.
    pub fn all() -> Vec<Mutant> {
        let is_left_out = |name: &str| LEFT_OUT.iter().any(|(left_out, _)| *left_out == name);
        Templates::texts()
            .filter(|(name, _)| !is_left_out(name))
            .flat_map(|(name, text)| Mutant::of_template(name, text))
            .collect()
    }

    /// Every mutant of one template, in the order of its text.
    pub fn of_template(template: &'static str, text: &str) -> Vec<Mutant> {
        let shape = shape(text);
        let mut mutants: Vec<Mutant> = Vec::new();
        let mut same: HashMap<(String, String), usize> = HashMap::new();
        for ((line, shape), number) in text.lines().zip(shape.lines()).zip(1..) {
            let mut places: HashMap<&str, usize> = HashMap::new();
            for (rule, after) in rules::changes(line, shape) {
                let place = places.entry(rule).or_default();
                let same_before = same.entry((line.to_owned(), after.clone())).or_default();
                mutants.push(Mutant {
                    template,
                    line: number,
                    rule,
                    place: *place,
                    before: line.to_owned(),
                    after,
                    same_before: *same_before,
                });
                *place += 1;
                *same_before += 1;
            }
        }
        mutants
    }

    /// The mutant of this name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn named(name: &str) -> Result<Mutant, String> {
        let found = Mutant::all().into_iter().find(|mutant| mutant.to_string() == name);
        found.ok_or_else(|| format!("no template has a mutant `{name}`; `--list` shows them all"))
    }

    /// What orders mutants at random: by a seed, the template and the line's text, not its number, so that a change of one line
    /// leaves the sample as it is otherwise.
    pub fn rank(&self, seed: u64) -> [u8; 32] {
        let Mutant { template, before, after, same_before, .. } = self;
        *blake3::hash(format!("{seed}\n{template}\n{before}\n{after}\n{same_before}").as_bytes()).as_bytes()
    }

    /// All templates, this one with the mistake.
    pub fn templates(&self) -> Templates {
        Templates::changed(|name, text| match name == self.template {
            true => self.plant(text),
            false => text.to_owned(),
        })
    }

    /// The text of its template with the mistake.
    pub fn plant(&self, text: &str) -> String {
        let lines = text.lines().zip(1..).map(|(line, number)| if number == self.line { &self.after } else { line });
        let mut planted = lines.collect::<Vec<_>>().join("\n");
        if text.ends_with('\n') {
            planted.push('\n');
        }
        planted
    }
}

/// The templates that the tests render from: those with the mutant that [the environment](MUTANT) names, where it names one.
///
/// # Panics
///
/// If there is no such mutant.
pub fn templates() -> &'static Templates {
    static PLANTED: LazyLock<Option<Templates>> = LazyLock::new(|| {
        let name = std::env::var(MUTANT).ok()?;
        Some(Mutant::named(&name).unwrap_or_else(|error| panic!("{error}")).templates())
    });
    PLANTED.as_ref().unwrap_or_else(|| Templates::of_kernels())
}

/// A text as long as a template's, line by line: Tera's expressions are letters in it, its other tags, comments and texts in quotes
/// are blanks.
pub fn shape(text: &str) -> String {
    let mut shape = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (length, by) = if rest.starts_with("{{") {
            (rest.find("}}").map(|end| end + 2), 'v')
        } else if rest.starts_with("{%") {
            (rest.find("%}").map(|end| end + 2), ' ')
        } else if rest.starts_with("{#") {
            (rest.find("#}").map(|end| end + 2), ' ')
        } else if rest.starts_with("//") {
            (rest.find('\n'), ' ')
        } else if let Some(quoted) = rest.strip_prefix('"') {
            (quoted.find('"').map(|end| end + 2), ' ')
        } else {
            let c = rest.chars().next().unwrap_or_default();
            shape.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        let (hidden, left) = rest.split_at(length.unwrap_or(rest.len()));
        shape.extend(hidden.bytes().map(|byte| if byte == b'\n' { '\n' } else { by }));
        rest = left;
    }
    shape
}

//! The mutants that no program can show, each with the reason: a text file beside the tests.

use std::fmt;

use super::Mutant;

/// Where the file is, from the folder of this crate.
pub const FILE: &str = "mutants/survivors.txt";

/// The file's content.
pub const TEXT: &str = include_str!("survivors.txt");

/// A mutant that survives, and why. It is known by its text, not by the number of its line, which changes with every line before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivor {
    template: String,
    before: String,
    after: String,
    same_before: usize,
    /// Why nothing can show it.
    pub reason: String,
}

impl fmt::Display for Survivor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Survivor { template, before, after, same_before, .. } = self;
        write!(f, "{template}\n- {before}\n+ {after}")?;
        if *same_before > 0 { write!(f, "\n@ {}", same_before + 1) } else { Ok(()) }
    }
}

impl Survivor {
    /// As the file would have this mutant.
    pub fn of(mutant: &Mutant, reason: String) -> Self {
        Survivor {
            template: mutant.template.to_owned(),
            before: mutant.before.clone(),
            after: mutant.after.trim_end().to_owned(),
            same_before: mutant.same_before,
            reason,
        }
    }

    /// Whether it is this mutant.
    pub fn is(&self, mutant: &Mutant) -> bool {
        *self == Survivor::of(mutant, self.reason.clone())
    }

    /// Those of the file that name no mutant any more, because their line or its template has changed.
    ///
    /// # Errors
    ///
    /// Those of [`Survivor::read`].
    pub fn stale() -> Result<Vec<Survivor>, String> {
        let all = Mutant::all();
        let is_stale = |survivor: &Survivor| !all.iter().any(|mutant| survivor.is(mutant));
        Ok(Survivor::read(TEXT)?.into_iter().filter(is_stale).collect())
    }

    /// Reads the entries of a file: paragraphs of a template's name, the line as it is after `- `, the line with the mistake after
    /// `+ `, after `@ ` which of several such lines it is, where there are several, and the reason. `#` begins a comment.
    ///
    /// # Errors
    ///
    /// What is missing, and where.
    pub fn read(text: &str) -> Result<Vec<Survivor>, String> {
        let is_comment = |line: &&str| !line.starts_with('#');
        let paragraphs = text.split("\n\n").map(|part| part.lines().filter(is_comment).collect::<Vec<_>>());
        paragraphs.filter(|lines| lines.iter().any(|line| !line.is_empty())).map(|lines| entry(&lines)).collect()
    }
}

fn entry(lines: &[&str]) -> Result<Survivor, String> {
    let missing = |what: &str| format!("an entry has no {what}:\n{}", lines.join("\n"));
    let mut rest = lines.iter().copied().filter(|line| !line.is_empty()).peekable();
    let template = rest.next().ok_or_else(|| missing("template"))?;
    let before =
        rest.next().and_then(|line| line.strip_prefix("- ")).ok_or_else(|| missing("line that begins with `- `"))?;
    let after =
        rest.next().and_then(|line| line.strip_prefix('+')).ok_or_else(|| missing("line that begins with `+`"))?;
    let after = after.strip_prefix(' ').unwrap_or(after);
    let number = match rest.next_if(|line| line.starts_with("@ ")) {
        Some(line) => {
            line[2..].parse::<usize>().ok().filter(|&number| number > 0).ok_or_else(|| missing("number after `@`"))?
        }
        None => 1,
    };
    let reason = rest.collect::<Vec<_>>().join(" ");
    if reason.is_empty() {
        return Err(missing("reason"));
    }
    Ok(Survivor {
        template: template.to_owned(),
        before: before.to_owned(),
        after: after.trim_end().to_owned(),
        same_before: number - 1,
        reason,
    })
}

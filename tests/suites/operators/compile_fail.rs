//! What the macros say of mistakes: each case is a file, its messages beside it, read as a user would read them.
//!
//! All cases are programs of one crate, which is built into the folder that the tests were built into: what it depends on is there.
//! `UPDATE_MESSAGES=1` writes the messages anew.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails panics")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use scan_tests::beside::{self, Beside};
use serde_json::Value;

const NAME: &str = "compile_fail_cases";

/// The cases by their names.
fn cases(folder: &Path) -> BTreeMap<String, PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let cases = files.filter(|file| file.extension().is_some_and(|extension| extension == "rs"));
    cases.map(|file| (file.file_stem().unwrap().to_str().unwrap().to_owned(), file)).collect()
}

/// Builds the cases, and returns what the compiler says of each: whether it is refused, and the messages.
fn compile(cases: &BTreeMap<String, PathBuf>) -> BTreeMap<String, (bool, String)> {
    let mut manifest = format!(
        "[package]\nname = \"{NAME}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\nresolver = \"3\"\n\n\
         [dependencies]\n{}\n[lints.rust]\ndead_code = \"allow\"\n",
        beside::dependencies(),
    );
    for (name, file) in cases {
        manifest.push_str(&format!("\n[[bin]]\nname = {name:?}\npath = {file:?}\n"));
    }
    let mut cargo = Beside::new("ui", &manifest).unwrap().cargo("build");
    // A build that goes on from an earlier one repeats some messages.
    cargo.env("CARGO_INCREMENTAL", "0");
    let output = cargo.args(["--quiet", "--bins", "--keep-going", "--message-format=json"]).output().unwrap();
    let mut said = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        let name = message["target"]["name"].as_str().unwrap_or_default();
        let Some(file) = cases.get(name).filter(|_| message["reason"] == "compiler-message") else { continue };
        let message = &message["message"];
        let text = message["rendered"].as_str().unwrap();
        // How many errors there are, and where to read more of them.
        if ["error: aborting due to", "Some errors have", "For more information"].iter().any(|of| text.starts_with(of))
        {
            continue;
        }
        let (refused, messages): &mut (bool, String) = said.entry(name.to_owned()).or_default();
        *refused |= message["level"].as_str().is_some_and(|level| level.starts_with("error"));
        messages.push_str(&normalised(text, file, beside::workspace()));
    }
    assert!(!said.is_empty(), "the cases do not build:\n{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// A message without what changes from machine to machine and from commit to commit: folders, the lines of files that are no cases, and
/// how much room the longest line number takes.
fn normalised(message: &str, file: &Path, workspace: &Path) -> String {
    let case = format!("ui/{}", file.file_name().unwrap().to_str().unwrap());
    let message = message.replace(file.to_str().unwrap(), &case);
    let message = message.replace(&format!("{}/", workspace.to_str().unwrap()), "");
    // Rust's own library is named by the commit that it was built from.
    let commit = message.find("/rustc/").map(|start| message[start..].split('/').take(4).collect::<Vec<_>>().join("/"));
    let message = commit.map_or(message.clone(), |commit| message.replace(&commit, "$RUST"));
    // The numbers of lines stand right-aligned before the sign of a place.
    let room = message.lines().find_map(|line| line.find("--> ")).unwrap_or_default();
    let mut elsewhere = false;
    let mut own_room = 1;
    let mut lines = Vec::new();
    // A file of this build's own.
    let is_kept = |line: &&str| !["full name for the type", "using `--verbose`"].iter().any(|of| line.contains(of));
    for line in message.trim_end().lines().filter(is_kept) {
        let (numbers, rest) =
            line.split_at(room.min(line.find(|c: char| c != ' ' && !c.is_ascii_digit()).unwrap_or(0)));
        let is_margin = numbers.len() == room;
        let place = rest.strip_prefix("--> ").or_else(|| rest.strip_prefix("::: "));
        match place {
            Some(place) => elsewhere = !place.starts_with(&case),
            None if !is_margin && !line.starts_with("...") => elsewhere = false,
            None => {}
        }
        if !is_margin {
            lines.push((false, line.trim_end().to_owned()));
        } else if elsewhere {
            let rest = place.map_or(rest, |place| &rest[..4 + place.find(':').unwrap_or(place.len())]);
            lines.push((true, format!("{}{rest}", " ".repeat(room))));
        } else {
            own_room = own_room.max(numbers.trim().len());
            lines.push((true, line.trim_end().to_owned()));
        }
    }
    let spare = room.saturating_sub(own_room);
    let narrowed = |(is_margin, line): (bool, String)| match line.strip_prefix("...") {
        _ if is_margin => others_uncounted(&line[spare..]),
        Some(rest) => format!("...{}", rest.get(spare..).unwrap_or(rest)),
        None => others_uncounted(&line),
    };
    let lines: Vec<String> = lines.into_iter().map(narrowed).collect();
    lines.join("\n") + "\n\n"
}

/// How many types implement a trait beside those that a message lists, changes with each type that is added.
fn others_uncounted(line: &str) -> String {
    let count = line.trim_start().strip_prefix("and ").and_then(|line| line.strip_suffix(" others"));
    match count {
        Some(count) if count.parse::<u32>().is_ok() => line.replace(count, "$N"),
        _ => line.to_owned(),
    }
}

#[test]
fn messages() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = cases(&crate_folder.join("ui"));
    assert!(cases.len() >= 26, "{} cases", cases.len());
    let said = compile(&cases);
    let update = env::var_os("UPDATE_MESSAGES").is_some();
    let mut failures = Vec::new();
    for (name, file) in &cases {
        let Some((true, messages)) = said.get(name) else {
            failures.push(format!("{name}: the compiler takes it"));
            continue;
        };
        let expected_file = file.with_extension("stderr");
        let expected = fs::read_to_string(&expected_file).unwrap_or_default();
        if update {
            fs::write(expected_file, messages.trim_end().to_owned() + "\n").unwrap();
        } else if expected.trim_end() != messages.trim_end() {
            let changed = |(a, b): &(&str, &str)| a != b;
            let differs = expected.lines().zip(messages.lines()).position(|lines| changed(&lines)).unwrap_or_default();
            failures.push(format!("{name}: from line {} other messages than before:\n{messages}", differs + 1));
        }
    }
    assert!(failures.is_empty(), "{}\n`UPDATE_MESSAGES=1` writes the messages anew", failures.join("\n"));
}

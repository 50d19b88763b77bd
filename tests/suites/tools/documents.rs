//! What the documents link to exists, headings too; so do the places in documents that comments name. Examples of the public
//! documentation are ones that users can write.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files below a folder, but for what is built there, whose names end like this.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        // A link to a folder is seen where it leads.
        if entry.file_type().unwrap().is_dir() {
            if name != "target" && name != "bundle" && !name.starts_with('.') {
                found.extend(files(&path, ending));
            }
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
    found
}

/// Without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if matches!(normal.components().next_back(), Some(Component::Normal(_))) => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// The lines outside of code.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    })
}

/// The headings of a document as links name them, on GitHub and elsewhere.
fn anchors(text: &str) -> Vec<String> {
    let headings = prose(text).filter_map(|(_, line)| line.strip_prefix('#')).map(|rest| rest.trim_start_matches('#'));
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    let anchor = |heading: &str| heading.trim().to_lowercase().chars().filter(kept).collect::<String>();
    headings.map(|heading| anchor(heading).replace(' ', "-")).collect()
}

/// Why a link from a file in this folder leads nowhere.
fn broken(folder: &Path, link: &str) -> Option<String> {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let path = normal(&folder.join(path));
    if !path.exists() {
        return Some(format!("there is no {}", path.display()));
    }
    let anchor = anchor.filter(|_| path.extension().is_some_and(|extension| extension == "md"))?;
    let headings = anchors(&fs::read_to_string(&path).unwrap());
    (!headings.iter().any(|heading| heading == anchor)).then(|| format!("{} has no heading `{anchor}`", path.display()))
}

/// The links of a line: `[…](…)`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// The places in documents that a line names: `docs/tuning.md#stages`.
fn mentions(line: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "/._-#".contains(c);
    line.split(move |c| !is_part(c)).filter(|word| word.starts_with("docs/") && word.contains(".md#"))
}

/// Of pages of the crate's documentation, rustdoc checks the links.
#[test]
fn links_of_documents_lead_to_existing_places() {
    let mut documents = files(&root(), ".md");
    documents.retain(|document| !document.components().any(|part| part.as_os_str() == "guide"));
    let (mut count, mut errors) = (0, Vec::new());
    for document in &documents {
        let text = fs::read_to_string(document).unwrap();
        let folder = document.parent().unwrap();
        for (line, link) in prose(&text).flat_map(|(line, text)| links(text).map(move |link| (line, link))) {
            if link.contains("://") {
                continue;
            }
            count += 1;
            // A heading of the document itself has no path before it.
            let own = document.file_name().unwrap().to_string_lossy().into_owned() + link;
            let error = broken(folder, if link.starts_with('#') { &own } else { link });
            errors.extend(error.map(|error| format!("{}:{}: {error}", document.display(), line + 1)));
        }
    }
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    assert!(count > 100, "{count} links in {documents:?}");
}

#[test]
fn places_in_documents_that_comments_name_exist() {
    let sources = ["scan-codegen/src", "scan-macros", "scan-runtime/src", "templates", "tests"];
    let sources = sources.iter().flat_map(|folder| [".rs", ".tera"].map(|ending| files(&root().join(folder), ending)));
    let (mut count, mut errors) = (0, Vec::new());
    for source in sources.flatten().filter(|source| !source.ends_with("documents.rs")) {
        let text = fs::read_to_string(&source).unwrap();
        for (line, place) in text.lines().enumerate().flat_map(|(line, text)| mentions(text).map(move |at| (line, at)))
        {
            count += 1;
            errors.extend(broken(&root(), place).map(|error| format!("{}:{}: {error}", source.display(), line + 1)));
        }
    }
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    assert!(count > 10, "{count}");
}

/// The lines of the examples in a file's documentation, with their numbers.
fn examples(text: &str) -> Vec<(usize, &str)> {
    let (mut in_code, mut lines) = (false, Vec::new());
    for (line, text) in text.lines().enumerate() {
        let text = text.trim_start();
        match text.strip_prefix("///").or_else(|| text.strip_prefix("//!")).map(str::trim) {
            None => in_code = false,
            Some(text) if text.starts_with("```") => in_code = !in_code,
            Some(text) if in_code => lines.push((line, text)),
            Some(_) => {}
        }
    }
    lines
}

/// What keeps a user from writing a line of an example: a crate that is no dependency of theirs, an item that is not public, or an item
/// that the page does not show.
fn unwritable(line: &str) -> Option<&'static str> {
    let hidden = line.strip_prefix("# ");
    let is_item =
        |line: &str| ["trait ", "impl ", "unsafe impl", "struct ", "enum "].iter().any(|of| line.starts_with(of));
    match hidden {
        // Users see the types of these crates as those of `scan_runtime`.
        Some("extern crate scan_codegen as scan_runtime;") => None,
        Some(line) if is_item(line.trim_start_matches("pub ")) => Some("the page does not show it"),
        Some(_) => None,
        None if line.contains("__private") => Some("it is not public"),
        None if line.contains("scan_codegen") && !line.contains("scan_runtime::scan_codegen") => {
            Some("users depend on `scan_runtime` alone")
        }
        None => None,
    }
}

#[test]
fn examples_of_public_items_are_ones_that_users_can_write() {
    assert!(unwritable("use scan_codegen::Axis;").is_some() && unwritable("# trait MapB { fn b(&self); }").is_some());
    assert!(unwritable("use scan_runtime::Axis;").or(unwritable("# let x = 1;")).is_none());
    let sources = ["scan-codegen/src", "scan-macros", "scan-runtime/src"].map(|of| files(&root().join(of), ".rs"));
    let (mut count, mut errors) = (0, Vec::new());
    for source in sources.iter().flatten() {
        let text = fs::read_to_string(source).unwrap();
        for (line, text) in examples(&text) {
            count += 1;
            let error = unwritable(text).map(|why| format!("{}:{}: {text}: {why}", source.display(), line + 1));
            errors.extend(error);
        }
    }
    assert!(errors.is_empty(), "{}", errors.join("\n"));
    assert!(count > 1_000, "{count} lines");
}

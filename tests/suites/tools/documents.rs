//! What the documents link to exists, headings too; so do the places in documents that comments name.

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

#[test]
fn links_of_documents_lead_to_existing_places() {
    let documents = files(&root(), ".md");
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
    let sources = ["scan-codegen/src", "scan-macros/src", "scan-runtime/src", "templates", "tests"];
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

//! The crates in `examples/`, which are no members of the workspace: built as a user would build them, and run.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use scan_tests::{MANIFEST, profile, target_dir};

/// Each crate, and what it prints; a library prints nothing. `ahead_of_time` has a test of its own.
const EXAMPLES: [(&str, Option<&str>); 4] = [
    ("recurrence", Some("sequence 1 ends at -0.8276")),
    ("snapshots", None),
    ("statistics_by_key", Some("  1990    521  360.38       4.99   350.7   371.5")),
    ("tokenizer", Some("        word  automaton\n punctuation  ;\n")),
];

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Copies an example; what lies beside it in the workspace is where it was.
pub(crate) fn copy(example: &str, to: &Path, manifest: impl Fn(&str) -> String) {
    let from = workspace().join("examples").join(example);
    let there = workspace().join("scan-runtime");
    for file in files(&from) {
        let text = fs::read_to_string(&file).unwrap().replace("../../scan-runtime", there.to_str().unwrap());
        let name = file.strip_prefix(&from).unwrap();
        let text = if name == Path::new("Cargo.toml") { manifest(&text) } else { text };
        write_if_changed(&text, &to.join(name));
    }
}

/// The files of an example, but for what building it leaves there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && !path.ends_with("Cargo.lock") {
            files.push(path);
        } else if path.is_dir() && !path.ends_with("target") {
            files.extend(self::files(&path));
        }
    }
    files
}

/// Cargo takes a file that is written anew for a changed one.
fn write_if_changed(text: &str, to: &Path) {
    if fs::read_to_string(to).is_ok_and(|there| there == text) {
        return;
    }
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::write(to, text).unwrap();
}

/// What it depends on has the versions that the workspace has.
pub(crate) fn copy_lock(to: &Path) {
    if !to.join("Cargo.lock").exists() {
        fs::copy(workspace().join("Cargo.lock"), to.join("Cargo.lock")).unwrap();
    }
}

#[test]
fn every_example_is_tested_and_runs() {
    let entries = fs::read_dir(workspace().join("examples")).unwrap();
    let mut folders: BTreeSet<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(folders.remove("ahead_of_time"), "it has a test of its own");
    assert!(folders.iter().eq(EXAMPLES.iter().map(|(folder, _)| folder)), "{folders:?}");

    // Members of one workspace here, so that what they depend on is built once for all of them.
    let target = target_dir().unwrap();
    let root = target.join("examples");
    for (example, _) in EXAMPLES {
        copy(example, &root.join(example), |manifest| {
            assert!(!profile(manifest).is_empty() && manifest.ends_with("\n[workspace]\n"), "{manifest}");
            manifest.replace(profile(manifest), "").replace("[workspace]", "")
        });
    }
    let members = EXAMPLES.map(|(example, _)| example);
    let manifest = format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n\n{}\n", profile(MANIFEST));
    write_if_changed(&manifest, &root.join("Cargo.toml"));
    copy_lock(&root);

    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{command:?}\n{text}{}", String::from_utf8_lossy(&output.stderr));
        text
    };
    let cargo = |command: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([command, "--workspace", "--manifest-path"]).arg(root.join("Cargo.toml"));
        // What is there is taken from there. A snapshot that differs is to be reviewed in the crate, not in its copy.
        run(cargo.env("CARGO_TARGET_DIR", &target).env("INSTA_UPDATE", "no"))
    };
    let tests = cargo("test");
    for test in
        ["every_sequence_is_that_of_a_loop", "text_of_end", "running_statistics", "every_state_is_that_of_a_loop"]
    {
        assert!(tests.contains(test), "{test} is not among\n{tests}");
    }
    cargo("build");
    for (example, printed) in EXAMPLES {
        if let Some(printed) = printed {
            let text = run(&mut Command::new(target.join("debug").join(example.replace('_', "-"))));
            assert!(text.contains(printed), "{example}:\n{text}");
        }
    }
}

//! The crates in `examples/`, which are no members of the workspace: built as a user would build them, and run.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use scan_runtime::nvrtc;
use scan_tests::{
    beside::{Beside, dependencies, workspace, write},
    nvrtc as fetch_nvrtc,
};

use super::aot::hide_nvrtc;

/// Each crate, and what it prints; a library prints nothing.
const EXAMPLES: [(&str, Option<&str>); 6] = [
    (AHEAD_OF_TIME, Some("at most 19990.00")),
    ("recurrence", Some("sequence 1 ends at -0.8276")),
    ("snapshots", None),
    ("statistics_by_key", Some("  1990    521  360.38       4.99   350.7   371.5")),
    ("tokenizer", Some("        word  automaton\n punctuation  ;\n")),
    ("uses", Some("a + b    1000000000100000\n")),
];

/// It needs NVRTC to be built, and nothing of it to run.
const AHEAD_OF_TIME: &str = "ahead_of_time";

/// Copies an example; what lies beside it in the workspace is where it was.
fn copy(example: &str, to: &Path) {
    const RUNTIME: &str = "scan-runtime = { path = \"../../scan-runtime\"";
    let from = workspace().join("examples").join(example);
    for file in files(&from) {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(&from).unwrap();
        let text = match name == Path::new("Cargo.toml") {
            true => {
                let runtime = text.lines().find(|line| line.starts_with(RUNTIME)).expect("a line for scan-runtime");
                let own = text.find("\n# Built like").or(text.find("\n[workspace]")).unwrap_or(text.len());
                text[..own].replace(&format!("{runtime}\n"), &dependencies())
            }
            false => text.replace("../../scan-runtime", workspace().join("scan-runtime").to_str().unwrap()),
        };
        write(&to.join(name), &text).unwrap();
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

#[test]
fn every_example_is_tested_and_runs() {
    let entries = fs::read_dir(workspace().join("examples")).unwrap();
    let folders: BTreeSet<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(folders.iter().eq(EXAMPLES.iter().map(|(folder, _)| folder)), "{folders:?}");

    // Members of one workspace here, so that what they depend on is built once for all of them.
    let members = EXAMPLES.map(|(example, _)| example);
    let manifest = format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\ndefault-members = {members:?}\n");
    let beside = Beside::new("examples", &manifest).unwrap();
    for (example, _) in EXAMPLES {
        copy(example, &beside.folder.join(example));
    }
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{command:?}\n{text}{}", String::from_utf8_lossy(&output.stderr));
        text
    };
    let cargo = |command: &str| {
        // A snapshot that differs is to be reviewed in the crate, not in its copy.
        let mut cargo = beside.cargo(command);
        run(cargo.env("INSTA_UPDATE", "no").env(nvrtc::LIBRARY_VARIABLE, fetch_nvrtc().unwrap()))
    };
    let tests = cargo("test");
    for test in [
        "every_sequence_is_that_of_a_loop",
        "text_of_end",
        "running_statistics",
        "every_state_is_that_of_a_loop",
        "nothing_is_left_to_compile",
        "carries_run_through_all_words",
    ] {
        assert!(tests.contains(test), "{test} is not among\n{tests}");
    }
    cargo("build");
    for (example, printed) in EXAMPLES {
        let Some(printed) = printed else { continue };
        let mut program = Command::new(beside.target.join("debug").join(example.replace('_', "-")));
        let text = run(if example == AHEAD_OF_TIME { hide_nvrtc(&mut program) } else { &mut program });
        assert!(text.contains(printed), "{example}:\n{text}");
    }
}

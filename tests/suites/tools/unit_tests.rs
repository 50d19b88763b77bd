//! Unit tests in the support library and in the emulator, which Cargo does not compile as tests.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The files below a folder that have unit tests.
fn with_unit_tests(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(with_unit_tests(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            if text.lines().any(|line| line.trim() == "#[cfg(test)]" || line.trim() == "#[test]") {
                files.push(path);
            }
        }
    }
    files
}

#[test]
fn every_unit_test_of_the_support_library_and_the_emulator_is_compiled() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = with_unit_tests(&tests.join("support"));
    assert!(found.is_empty(), "tests of the support library belong in a suite: {found:?}");
    let parts = fs::read_to_string(tests.join("emulator/tests/parts.rs")).unwrap();
    let found = with_unit_tests(&tests.join("emulator/src"));
    assert!(!found.is_empty());
    for file in found {
        let name = file.strip_prefix(tests.join("emulator")).unwrap();
        assert!(parts.contains(&format!("\"../{}\"", name.display())), "tests/parts.rs lacks {}", name.display());
    }
}

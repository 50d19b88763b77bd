//! What the published crates depend on.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use std::process::Command;

use scan_tests::beside;

/// The crates that a program with `scan-runtime` builds, with these options of Cargo.
fn tree(options: &[&str]) -> String {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["tree", "-p", "scan-runtime", "-e", "normal", "--prefix", "none", "--offline", "--locked"]);
    let output = cargo.args(options).current_dir(beside::workspace()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Whether a crate of this name is in a [`tree`].
fn names(tree: &str, name: &str) -> bool {
    tree.lines().any(|line| line.split(' ').next() == Some(name))
}

#[test]
fn without_cuda_no_driver_bindings_are_built() {
    let (with, without) = (tree(&[]), tree(&["--no-default-features"]));
    assert!(names(&with, "cudarc") && names(&with, "rayon"), "{with}");
    assert!(!without.contains("cudarc") && names(&without, "rayon"), "{without}");
    // No other feature turns CUDA on, but for `cli`.
    let others = tree(&["--no-default-features", "--features", "half,ndarray,gallery"]);
    assert!(!others.contains("cudarc") && names(&others, "half") && names(&others, "ndarray"), "{others}");
}

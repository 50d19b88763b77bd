//! Makes small mistakes in Rust sources, one at a time, in a copy of the repository, and looks whether a test fails.
//!
//! ```console
//! $ cargo run -p scan-tools --bin rust_mutants -- scan-codegen/src/columns/axis.rs -- -p scan-codegen --lib columns
//! $ cargo run -p scan-tools --bin rust_mutants -- scan-runtime/src/heads.rs --sample 20 -- -p scan-runtime --lib
//! ```

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use clap::Parser;
use scan_tests::{mutants::RustMutant, target_dir};

/// Makes mistakes in Rust sources, and looks whether tests find them.
#[derive(Parser)]
struct Arguments {
    /// The sources, from the root of the repository.
    #[arg(required = true)]
    files: Vec<String>,
    /// How many mutants, of all sources.
    #[arg(long, default_value_t = 40)]
    sample: usize,
    /// The seed that draws them.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Show the mutants, and try none.
    #[arg(long)]
    list: bool,
    /// Tests that take longer are taken never to end.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    patience: u64,
    /// What `cargo test` is called with.
    #[arg(last = true)]
    tests: Vec<String>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether a test fails with each mutant that compiles.
fn run(arguments: &Arguments) -> Result<bool, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut mutants = Vec::new();
    for file in &arguments.files {
        let text = fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
        mutants.extend(RustMutant::all(file, &text));
    }
    let all = mutants.len();
    mutants.sort_by_cached_key(|mutant| mutant.rank(arguments.seed));
    mutants.truncate(arguments.sample);
    if arguments.list {
        for mutant in &mutants {
            println!("{mutant}\n- {}\n+ {}\n", mutant.before.trim(), mutant.after.trim());
        }
        println!("{} of {all} mutants", mutants.len());
        return Ok(true);
    }
    let copy = Copy::of(&root, target_dir()?.join("rust-mutants"))?;
    let patience = Duration::from_secs(arguments.patience);
    if !copy.test(&arguments.tests, patience)? {
        return Err("the tests fail without a mutant".to_owned());
    }
    let [mut found, mut not_compiled, mut survived] = [0; 3];
    for mutant in &mutants {
        let path = copy.tree.join(&mutant.file);
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        fs::write(&path, mutant.plant(&text)).map_err(|error| error.to_string())?;
        let compiles = copy.compiles(&arguments.tests);
        let passes = if compiles.clone()? { Some(copy.test(&arguments.tests, patience)) } else { None };
        fs::write(&path, text).map_err(|error| error.to_string())?;
        match passes.transpose()? {
            None => not_compiled += 1,
            Some(false) => found += 1,
            Some(true) => {
                survived += 1;
                println!("{mutant}: SURVIVED\n- {}\n+ {}", mutant.before.trim(), mutant.after.trim());
            }
        }
    }
    println!("{} of {all} mutants: {found} found, {not_compiled} not compiled, {survived} survived", mutants.len());
    Ok(survived == 0)
}

/// A copy of the repository's files, with a target folder of its own.
struct Copy {
    tree: PathBuf,
    target: PathBuf,
}

impl Copy {
    fn of(root: &Path, folder: PathBuf) -> Result<Self, String> {
        let listed = Command::new("git")
            .arg("-C")
            .arg(root)
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .output()
            .map_err(|error| format!("git: {error}"))?;
        let copy = Copy { tree: folder.join("tree"), target: folder.join("target") };
        for file in String::from_utf8_lossy(&listed.stdout).split_terminator('\0') {
            let (from, to) = (root.join(file), copy.tree.join(file));
            let unchanged = || Some(fs::read(&from).ok()? == fs::read(&to).ok()?);
            if unchanged() == Some(true) {
                continue; // an unchanged file keeps its time, so that nothing is built again
            }
            to.parent().map_or(Ok(()), fs::create_dir_all).map_err(|error| format!("{}: {error}", to.display()))?;
            // A file that is deleted, but not in the index, is left out.
            if from.is_dir() {
                link(&from, &to)?;
            } else if from.exists() {
                fs::copy(&from, &to).map_err(|error| format!("{}: {error}", to.display()))?;
            }
        }
        Ok(copy)
    }

    fn cargo(&self, tests: &[String]) -> Command {
        let mut command = Command::new("cargo");
        command.current_dir(&self.tree).env("CARGO_TARGET_DIR", &self.target).env("CARGO_INCREMENTAL", "1");
        command.arg("test").args(tests).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Whether the tests compile.
    fn compiles(&self, tests: &[String]) -> Result<bool, String> {
        let end = tests.iter().position(|argument| argument == "--").unwrap_or(tests.len());
        let mut command = self.cargo(&tests[..end]);
        command.arg("--no-run").status().map(|status| status.success()).map_err(|error| format!("cargo: {error}"))
    }

    /// Whether the tests pass, in time.
    fn test(&self, tests: &[String], patience: Duration) -> Result<bool, String> {
        if !self.compiles(tests)? {
            return Ok(false);
        }
        let failed = |error: std::io::Error| format!("cargo: {error}");
        let mut process = self.cargo(tests).spawn().map_err(failed)?;
        let start = Instant::now();
        loop {
            match process.try_wait().map_err(failed)? {
                Some(status) => return Ok(status.success()),
                None if start.elapsed() > patience => {
                    process.kill().and_then(|()| process.wait()).map_err(failed)?;
                    return Ok(false);
                }
                None => thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

/// A link to a folder, such as the crate's templates, is a link in the copy.
fn link(from: &Path, to: &Path) -> Result<(), String> {
    let target = fs::read_link(from).map_err(|error| format!("{}: {error}", from.display()))?;
    match std::os::unix::fs::symlink(target, to) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(format!("{}: {error}", to.display())),
        _ => Ok(()),
    }
}

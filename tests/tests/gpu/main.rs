//! What can only be shown on a GPU. Where there is none, every test here is counted as ignored, and the reason printed;
//! `SCAN_TESTS_REQUIRE_GPU=1` makes that a failure instead. Tests named `large…` are left out under the sanitizer.

mod against_cpu;
mod cases;
mod errors;
mod gallery;
mod items;
mod ladder;
mod language;
mod large;
mod reduction;
mod segmented;
mod sharing;
mod stress;
mod tuner;

use std::{error::Error, process::ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use scan_runtime::Scanner;
use scan_tests::operators::visit_all;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    // SAFETY: no other thread runs yet. What the tests compile is of no use to anybody else.
    unsafe { std::env::set_var(scan_runtime::CACHE_VARIABLE, "off") };
    if let Some(error) = stress::keep_busy_if_asked() {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    let unusable = Scanner::cuda(0).err();
    if let Some(reason) = &unusable {
        if std::env::var_os("SCAN_TESTS_REQUIRE_GPU").is_some() {
            eprintln!("error: the GPU tests need a GPU: {reason}");
            return ExitCode::FAILURE;
        }
        println!("The GPU tests are skipped: {reason}");
    }
    let mut trials = Trials(Vec::new());
    visit_all(&mut trials);
    errors::add(&mut trials);
    gallery::add(&mut trials);
    items::add(&mut trials);
    ladder::add(&mut trials);
    language::add(&mut trials);
    large::add(&mut trials);
    segmented::add(&mut trials);
    reduction::add(&mut trials);
    sharing::add(&mut trials);
    stress::add(&mut trials);
    tuner::add(&mut trials);
    let shard = match shard() {
        Ok(shard) => shard,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::FAILURE;
        }
    };
    let trials = trials.0.into_iter().enumerate().filter(|(index, _)| index % shard.1 == shard.0);
    let trials = trials.map(|(_, trial)| trial.with_ignored_flag(unusable.is_some())).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Which part of the tests to run, and of how many, so that several processes can share them: `SCAN_TESTS_SHARD=2/8`.
fn shard() -> Result<(usize, usize), String> {
    let Ok(value) = std::env::var("SCAN_TESTS_SHARD") else { return Ok((0, 1)) };
    let parts = value.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
    match parts {
        Some((part, parts)) if (1..=parts).contains(&part) => Ok((part - 1, parts)),
        _ => Err(format!("SCAN_TESTS_SHARD is `{value}`; set it to a part and the number of parts, like 1/4")),
    }
}

/// The tests, gathered.
pub(crate) struct Trials(Vec<Trial>);

impl Trials {
    /// Adds a test.
    pub(crate) fn add(&mut self, name: impl Into<String>, test: impl FnOnce() -> Outcome + Send + 'static) {
        self.0.push(Trial::test(name, || test().map_err(|error| Failed::from(error.to_string()))));
    }
}

/// An error if the condition does not hold.
pub(crate) fn ensure(condition: bool, what: impl FnOnce() -> String) -> Outcome {
    if condition { Ok(()) } else { Err(what().into()) }
}

//! What can only be shown on a GPU. Where there is none, every test here is counted as ignored, and the reason printed;
//! `SCAN_TESTS_REQUIRE_GPU=1` makes that a failure instead. Tests named `large…` are left out under the sanitizer.

mod against_cpu;
mod errors;
mod items;
mod ladder;
mod large;
mod reduction;
mod segmented;
mod sharing;

use std::{error::Error, process::ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use scan_runtime::Scanner;
use scan_tests::operators::visit_all;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
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
    items::add(&mut trials);
    ladder::add(&mut trials);
    large::add(&mut trials);
    segmented::add(&mut trials);
    reduction::add(&mut trials);
    sharing::add(&mut trials);
    let trials = trials.0.into_iter().map(|trial| trial.with_ignored_flag(unusable.is_some())).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
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

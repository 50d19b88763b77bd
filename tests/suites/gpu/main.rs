//! What can only be shown on a GPU. Where there is none, every test here is counted as ignored, and the reason printed;
//! `SCAN_TESTS_REQUIRE_GPU=1` makes that a failure instead. Tests named `large…` are left out under the sanitizer, and
//! those named `fault…`, whose faults it would count. Those named `alone…` run after all others, and not in shards;
//! `alone_two_devices…` want two devices. Those named `older/…` run what older devices would.

mod against_cpu;
mod axis;
mod cases;
mod columns;
mod devices;
mod each_segment;
mod errors;
mod faults;
mod first_call;
mod gallery;
mod gradients;
mod initial_value;
mod items;
mod kinds;
mod ladder;
mod language;
mod large;
mod launches;
mod older;
mod prepared;
mod reduction;
mod reversed;
mod rows;
mod segmented;
mod sharing;
mod sides;
mod staging;
mod stepped;
mod stress;
mod totals;
mod transducers;
mod tuner;
mod warm;
mod world;

use std::{error::Error, process::ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use scan_codegen::Architecture;
use scan_runtime::{Carry, Scanner, Strategy};
use scan_tests::operators::visit_all;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    // SAFETY: no other thread runs yet. What the tests compile is of no use to anybody else.
    unsafe { std::env::set_var(scan_runtime::CACHE_VARIABLE, "off") };
    if let Some(exit_code) = faults::of_this_process() {
        return exit_code;
    }
    if let Some(error) = stress::keep_busy_if_asked() {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    if let Some(outcome) = world::of_this_process().or_else(first_call::of_this_process) {
        return match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let unusable = Scanner::cuda(0).err();
    if let Some(reason) = &unusable {
        if std::env::var_os("SCAN_TESTS_REQUIRE_GPU").is_some() {
            eprintln!("error: the GPU tests need a GPU: {reason}");
            return ExitCode::FAILURE;
        }
        println!("The GPU tests are skipped: {reason}");
    }
    let mut trials = Trials::default();
    visit_all(&mut trials);
    axis::add(&mut trials);
    devices::add(&mut trials);
    each_segment::add(&mut trials);
    errors::add(&mut trials);
    first_call::add(&mut trials);
    faults::add(&mut trials);
    gallery::add(&mut trials);
    initial_value::add(&mut trials);
    items::add(&mut trials);
    kinds::add(&mut trials);
    ladder::add(&mut trials);
    language::add(&mut trials);
    large::add(&mut trials);
    launches::add(&mut trials);
    prepared::add(&mut trials);
    columns::add(&mut trials);
    rows::add(&mut trials);
    segmented::add(&mut trials);
    reduction::add(&mut trials);
    stepped::add(&mut trials);
    reversed::add(&mut trials);
    sharing::add(&mut trials);
    sides::add(&mut trials);
    staging::add(&mut trials);
    stress::add(&mut trials);
    totals::add(&mut trials);
    gradients::add(&mut trials);
    transducers::add(&mut trials);
    tuner::add(&mut trials);
    warm::add(&mut trials);
    world::add(&mut trials);
    older::add(&mut trials);
    let shard = match shard() {
        Ok(shard) => shard,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::FAILURE;
        }
    };
    let Trials { trials, alone, .. } = trials;
    let trials = trials.into_iter().enumerate().filter(|(index, _)| index % shard.1 == shard.0).map(|(_, trial)| trial);
    let run = |trials: Vec<Trial>, arguments: &Arguments| {
        let ignored = |trial: Trial| if unusable.is_some() { trial.with_ignored_flag(true) } else { trial };
        let trials = trials.into_iter().map(ignored).collect();
        libtest_mimic::run(arguments, trials)
    };
    let mut arguments = Arguments::from_args();
    let conclusion = run(trials.collect(), &arguments);
    // Other processes share the device where there are shards.
    if shard.1 > 1 || conclusion.has_failed() {
        return conclusion.exit_code();
    }
    arguments.test_threads = Some(1);
    run(alone, &arguments).exit_code()
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
#[derive(Default)]
pub(crate) struct Trials {
    trials: Vec<Trial>,
    alone: Vec<Trial>,
    /// The architecture as for which those run that are added now, where that is an older one.
    older: Option<Architecture>,
}

impl Trials {
    /// Adds a test.
    pub(crate) fn add(&mut self, name: impl Into<String>, test: impl FnOnce() -> Outcome + Send + 'static) {
        self.trials.push(match self.older {
            None => trial(name, test),
            Some(architecture) => {
                trial(format!("older/{architecture}/{}", name.into()), move || older::as_if_on(architecture, test))
            }
        });
    }

    /// Whether the device has this strategy, as which the tests run that are added now.
    pub(crate) fn can_have(&self, strategy: Strategy) -> bool {
        self.older.is_none() || !matches!(strategy.carry, Carry::LookAhead | Carry::Cluster)
    }

    /// Adds a test that is ignored where there are not two devices, and beside which no other can run.
    pub(crate) fn add_on_two_devices(&mut self, name: &str, test: impl FnOnce() -> Outcome + Send + 'static) {
        let trial = trial(format!("alone_two_devices_{name}"), test);
        self.alone.push(trial.with_ignored_flag(!devices::two()));
    }

    /// Adds a test beside which no other can run.
    pub(crate) fn add_alone(&mut self, name: &str, test: impl FnOnce() -> Outcome + Send + 'static) {
        self.alone.push(trial(name, test));
    }
}

fn trial(name: impl Into<String>, test: impl FnOnce() -> Outcome + Send + 'static) -> Trial {
    Trial::test(name, || test().map_err(|error| Failed::from(error.to_string())))
}

/// An error if the condition does not hold.
pub(crate) fn ensure(condition: bool, what: impl FnOnce() -> String) -> Outcome {
    if condition { Ok(()) } else { Err(what().into()) }
}

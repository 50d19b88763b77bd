//! What a scan finds on this machine: the driver, the devices, NVRTC, the cache of compiled kernels; what is missing, and
//! the command that mends it.
//!
//! ```sh
//! cargo run --release -p scan-runtime --example doctor                      # the report, and a quick self-test
//! cargo run --release -p scan-runtime --example doctor -- cache --clear
//! cargo run --release -p scan-runtime --example doctor -- plan sum f32      # what would run
//! cargo run --release -p scan-runtime --example doctor -- source max i64 --exclusive
//! ```
//!
//! `operators.rs` finds the ready operators by name, `report.rs` looks around, `selftest.rs` scans.

mod operators;
mod report;
mod selftest;

use std::{
    error::Error,
    io::{self, Write},
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use operators::{Element, OperatorName};
use scan_runtime::DiskCache;

/// Tells what scans find on this machine
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// What is there, what is missing, and a quick self-test (this is the default)
    Report,
    /// The compiled kernels on disk
    Cache {
        /// Remove them all
        #[arg(long)]
        clear: bool,
    },
    /// How a ready operator would be scanned
    Plan {
        #[command(flatten)]
        what: What,
    },
    /// The CUDA source that would run
    Source {
        #[command(flatten)]
        what: What,
    },
    /// The self-test alone
    Test,
}

/// A scan by a ready operator
#[derive(clap::Args)]
struct What {
    /// The operator
    operator: OperatorName,
    /// The type of the elements; `all` and `any` are of `bool`
    #[arg(default_value = "f32")]
    element: Element,
    /// Exclusive, not inclusive
    #[arg(long)]
    exclusive: bool,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command.unwrap_or(Command::Report), &mut io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all is well.
fn run(command: Command, out: &mut impl Write) -> Result<bool, Box<dyn Error>> {
    match command {
        Command::Report => {
            let found = report::write(out)?;
            Ok(selftest::run(out)? && found)
        }
        Command::Test => Ok(selftest::run(out)?),
        Command::Cache { clear } => {
            let Some(cache) = DiskCache::of_user() else {
                writeln!(out, "no cache: {} says so, or there is no folder for it", scan_runtime::CACHE_VARIABLE)?;
                return Ok(true);
            };
            let bytes = cache.size()?;
            if clear {
                cache.clear()?;
                writeln!(out, "removed {bytes} bytes from {}", cache.folder().display())?;
            } else {
                writeln!(out, "{}: {bytes} bytes", cache.folder().display())?;
            }
            Ok(true)
        }
        Command::Plan { what } => {
            writeln!(out, "{}", operators::show(what.operator, what.element, what.exclusive)?.plan)?;
            Ok(true)
        }
        Command::Source { what } => {
            write!(out, "{}", operators::show(what.operator, what.element, what.exclusive)?.source)?;
            Ok(true)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use super::*;

    fn output(arguments: &[&str]) -> String {
        let arguments = Arguments::try_parse_from([&["doctor"], arguments].concat()).unwrap();
        let mut out = Vec::new();
        run(arguments.command.unwrap_or(Command::Report), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_report_names_all_that_a_scan_needs() {
        let report = output(&[]);
        for part in ["driver", "NVRTC", "kernels on disk", "CPU", "self-test"] {
            assert!(report.contains(part), "no {part} in:\n{report}");
        }
        assert!(!report.contains("wrong"), "{report}");
    }

    #[test]
    fn every_operator_of_every_type_has_a_plan_and_a_source() {
        let mut shown = 0;
        for operator in operators::OPERATORS {
            for element in operators::ELEMENTS {
                let [plan, source] = ["plan", "source"].map(|what| {
                    let arguments = [what, operator, element, "--exclusive"];
                    let arguments = Arguments::try_parse_from([&["doctor"][..], &arguments].concat()).unwrap();
                    let mut out = Vec::new();
                    run(arguments.command.unwrap(), &mut out).map(|_| String::from_utf8(out).unwrap()).ok()
                });
                assert_eq!(plan.is_some(), source.is_some());
                if let (Some(plan), Some(source)) = (plan, source) {
                    assert!(
                        plan.starts_with("exclusive scan") && source.contains("__global__"),
                        "{operator} {element}"
                    );
                    shown += 1;
                }
            }
        }
        // Four of numbers, three of bits (integers and bool), two of bool.
        assert_eq!(shown, 4 * 14 + 3 * 13 + 2);
    }

    #[test]
    fn what_does_not_go_together_is_said() {
        let arguments = Arguments::try_parse_from(["doctor", "plan", "all", "f32"]).unwrap();
        let error = run(arguments.command.unwrap(), &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "there is no `all` of f32: it is an operator on bool");
    }
}

//! Makes random operators of the operator language, and compares what their CUDA text computes with what their Rust does.
//!
//! ```console
//! $ cargo run --release -p scan-tools --bin programs -- --seed 1 --count 100000
//! $ cargo run --release -p scan-tools --bin programs -- --seed 1 --only 4711   # one of them, made smaller where it fails
//! ```

use clap::Parser;
use scan_tests::programs::{Programs, Report};
use std::process::ExitCode;

/// How many programs are built at a time.
const AT_A_TIME: usize = 10_000;

/// Compares random operators' CUDA text with their Rust.
#[derive(Parser)]
struct Arguments {
    /// The first seed; each seed has 10,000 programs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many programs.
    #[arg(long, default_value_t = AT_A_TIME)]
    count: usize,
    /// On how many pairs of values each is run.
    #[arg(long, default_value_t = 100)]
    values: usize,
    /// Only the program of this number.
    #[arg(long)]
    only: Option<usize>,
    /// Show the program, and run nothing.
    #[arg(long, requires = "only")]
    show: bool,
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

/// Whether nothing was found.
fn run(arguments: &Arguments) -> Result<bool, String> {
    let Arguments { seed, count, values, only, show } = *arguments;
    if let Some(index) = only {
        let programs = Programs { seed, count: index + 1, values };
        if show {
            println!("{}", programs.rust(index));
            return Ok(true);
        }
        return match programs.shrink("shrink", index)? {
            Some(failure) => {
                println!("{failure}");
                Ok(false)
            }
            None => {
                println!("program {index} of seed {seed}: nothing found");
                Ok(true)
            }
        };
    }
    let mut good = true;
    let mut total = 0;
    for (round, first) in (0..count).step_by(AT_A_TIME).enumerate() {
        let seed = seed + round as u64;
        let programs = Programs { seed, count: AT_A_TIME.min(count - first), values };
        let Report { programs: run, compared, panics, failures } = programs.build("long")?.run()?;
        total += run;
        println!("seed {seed}: {run} programs, {compared} results, {panics} panics; {total} programs so far");
        for failure in failures.iter().take(5) {
            println!("{failure}\nsmaller: --seed {seed} --only {}\n", failure.index);
        }
        if !failures.is_empty() {
            println!("{} of {run} programs failed", failures.len());
            good = false;
        }
    }
    Ok(good)
}

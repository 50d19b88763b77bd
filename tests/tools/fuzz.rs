//! Runs a fuzzer: see [`scan_tests::fuzz`].

use clap::{Parser, ValueEnum};
use scan_tests::fuzz::{self, Report, Until, edge::IN_A_BATCH};
use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

/// Runs random cases until the time is over.
#[derive(Parser)]
struct Arguments {
    /// What is tested.
    fuzzer: Fuzzer,
    /// For how long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The first case.
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Only the case of this number.
    #[arg(long)]
    only: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Fuzzer {
    /// The planner, the cost model and the renderer.
    Plans,
    /// The entries of the disk cache.
    DiskCache,
    /// The CPU backend.
    Cpu,
    /// The macro: programs beyond the edge of the language.
    Edge,
}

fn main() -> ExitCode {
    let Arguments { fuzzer, seconds, from, only } = Arguments::parse();
    let case = match fuzzer {
        Fuzzer::Plans => fuzz::plans::case,
        Fuzzer::DiskCache => fuzz::disk_cache::case,
        Fuzzer::Cpu => fuzz::cpu::case,
        Fuzzer::Edge => return edge(from, only, Duration::from_secs(seconds)),
    };
    if let Some(number) = only {
        let outcome = case(number);
        println!("{outcome:?}");
        return if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    show(&fuzz::run(from, Until::Time(Duration::from_secs(seconds)), case))
}

/// Programs are built a batch at a time.
fn edge(from: u64, only: Option<u64>, time: Duration) -> ExitCode {
    let (start, mut sum) = (Instant::now(), Report::default());
    let (mut from, count) = (only.unwrap_or(from), if only.is_some() { 1 } else { IN_A_BATCH });
    loop {
        match fuzz::edge::batch(from, count) {
            Ok(Report { executions, accepted, findings }) => {
                sum.executions += executions;
                sum.accepted += accepted;
                sum.findings.extend(findings);
            }
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
        from += count;
        if only.is_some() || start.elapsed() >= time {
            return show(&sum);
        }
    }
}

fn show(Report { executions, accepted, findings }: &Report) -> ExitCode {
    for finding in findings {
        println!("case {}: {}\n", finding.case, finding.message);
    }
    println!("{executions} cases, {accepted} accepted, {} findings", findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

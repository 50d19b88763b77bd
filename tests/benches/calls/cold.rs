//! The first call of a process with kernels that nobody on the machine has compiled before, part by part.

use std::{
    env,
    process::Command,
    time::{Duration, Instant},
};

use scan_runtime::{ScanOp, Scanner, gallery::linear_recurrence::Smoothing, nvrtc, ops};
use scan_tests::{
    gallery::{Example, compare},
    spans::{Record, Spans},
};
use tracing::Level;

use crate::{Outcome, median};

/// Operators and logarithms of lengths, each of which takes another kernel.
const OPERATORS: [&str; 2] = ["sum f32", "linear recurrence"];
const LOGARITHMS: [u32; 4] = [10, 20, 24, 27];

/// What one process tells, in milliseconds.
const PARTS: [&str; 7] =
    ["context", "loading NVRTC", "first call", "planning", "compiling", "loading the kernel", "second call"];

/// How many results are compared with those that are expected.
const COMPARED: usize = 1 << 16;

/// Makes the first call, and tells how long it took.
pub(crate) fn one(case: &str) -> Outcome {
    let (operator, log) = case.split_once(':').ok_or("a case is an operator, a colon, and a logarithm")?;
    let len = 1 << log.parse::<u32>()?;
    match operator {
        "sum f32" => {
            // Sums that floats have without rounding.
            let input: Vec<f32> = (0..len).map(|i| if i % 64 == 0 { 1.0 } else { 0.0 }).collect();
            let expected: Vec<f32> = (0..len).map(|i| (i / 64 + 1) as f32).collect();
            time(ops::sum(), &input, |output| if output == expected { Ok(()) } else { Err("a sum is wrong".into()) })
        }
        "linear recurrence" => {
            let input = Smoothing::input(len);
            let beginning = &input[..len.min(COMPARED)];
            let expected = Smoothing::new().expected(beginning);
            time(Smoothing::new(), &input, |output| {
                compare(&output[..beginning.len()], &expected, Smoothing::tolerance())
            })
        }
        other => Err(format!("there is no operator `{other}` here").into()),
    }
}

fn time<Op: ScanOp + Clone>(
    operator: Op,
    input: &[Op::Input],
    check: impl FnOnce(&[Op::Output]) -> Result<(), String>,
) -> Outcome {
    let spans = Spans::default();
    let _telling = tracing::subscriber::set_default(spans.subscriber(Level::DEBUG));
    let mut times = Vec::new();
    let mut lap = |start: Instant| times.push(milliseconds(start.elapsed()));
    let start = Instant::now();
    let scanner = Scanner::builder().device(0).no_cache().build()?;
    lap(start);
    let start = Instant::now();
    nvrtc::version()?;
    lap(start);

    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    let input = stream.clone_htod(input)?;
    // SAFETY: the scan writes all of it before it is read.
    let mut output = unsafe { stream.alloc::<Op::Output>(input.len()) }?;
    stream.synchronize()?;
    spans.take();
    let mut call = || -> Outcome {
        let start = Instant::now();
        scanner.scan(operator.clone()).on(&stream).run_into(&input, &mut output)?;
        stream.synchronize()?;
        lap(start);
        Ok(())
    };
    call()?;
    let records = spans.take();
    call()?;
    check(&stream.clone_dtoh(&output)?)?;

    let of = |names: &[&str]| records.iter().filter(|record| names.contains(&record.name)).map(span_time).sum::<f64>();
    let second = times.pop();
    times.extend([of(&["plan", "render"]), of(&["compile"]), of(&["load"])]);
    times.extend(second);
    let compiled = records.iter().filter(|record| record.name == "compile").count();
    if compiled != 1 {
        return Err(format!("a first call of one length compiled {compiled} modules").into());
    }
    let times: Vec<String> = times.iter().map(|time| format!("{time:.4}")).collect();
    println!("times {}", times.join(" "));
    Ok(())
}

fn span_time(record: &Record) -> f64 {
    record.fields.get("microseconds").and_then(|time| time.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1e3
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(crate) fn measure(processes: usize) -> Outcome {
    println!(
        "\nFirst calls with kernels that nobody has compiled, milliseconds, the median of {processes} processes\n"
    );
    println!("| operator | elements | {} |", PARTS.join(" | "));
    println!("|---|{}", "--:|".repeat(PARTS.len() + 1));
    for operator in OPERATORS {
        for log in LOGARITHMS {
            let rows = (0..processes).map(|_| start(operator, log)).collect::<Outcome<Vec<_>>>()?;
            let columns: Vec<String> = (0..PARTS.len())
                .map(|column| {
                    format!("{:.2}", median(rows.iter().filter_map(|row| row.get(column).copied()).collect()))
                })
                .collect();
            println!("| {operator} | 2^{log} | {} |", columns.join(" | "));
        }
    }
    Ok(())
}

/// The times that a process of its own tells.
fn start(operator: &str, log: u32) -> Outcome<Vec<f64>> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["--first", "unused", "--case", &format!("{operator}:{log}")]);
    // NVRTC has a cache of its own, since 12.9, and the driver has one.
    command.env("CUDA_CACHE_DISABLE", "1");
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let Some(times) = text.lines().find_map(|line| line.strip_prefix("times ")) else {
        return Err(format!("{}: {text}{}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    };
    Ok(times.split(' ').map(str::parse).collect::<Result<_, _>>()?)
}

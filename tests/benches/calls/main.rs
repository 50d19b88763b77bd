//! What a call costs: the first of a process, with the compiler and with kernels on disk, and every later one.
//!
//! ```console
//! $ cargo bench -p scan-tests --bench calls
//! ```
//!
//! Each first call has a process of its own. Host time is what the calling thread spends; the total ends when the result is
//! there. Results are compared with the CPU's before anything is timed. `peers.py` beside this file does the same with what
//! Python has.

mod chunks;
mod cold;
mod first;
mod host;
mod initial;
mod sides;
mod warm;

use std::{error::Error, path::PathBuf, process::ExitCode};

use clap::Parser;
use scan_runtime::Scanner;

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Times calls.
#[derive(Parser)]
#[command(long_about = None)]
struct Arguments {
    /// How many processes make each kind of first call.
    #[arg(long, default_value_t = 7)]
    processes: usize,
    /// Only the first calls, or the later ones, those with host slices, short or long, or those with an initial value.
    #[arg(long, value_parser = ["first", "warm", "host", "sides", "chunks", "initial"])]
    only: Option<String>,
    /// Make one first call, with this folder as cache, and tell of it: how this program starts itself.
    #[arg(long, hide = true)]
    first: Option<PathBuf>,
    /// The call to make where it is not the first of several: an operator, and the logarithm of the length.
    #[arg(long, hide = true)]
    case: Option<String>,
    /// Load NVRTC before the call, and tell how long that took.
    #[arg(long, hide = true)]
    load: bool,
    /// What cargo passes to a bench.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match (&arguments.first, &arguments.case) {
        (Some(_), Some(case)) => cold::one(case),
        (Some(folder), None) => first::one(folder, arguments.load),
        _ => measure(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Outcome {
    if let Err(reason) = Scanner::cuda(0) {
        println!("Nothing is measured: {reason}");
        return Ok(());
    }
    let wanted = |part: &str| arguments.only.as_deref().is_none_or(|only| only == part);
    if wanted("first") {
        cold::measure(arguments.processes)?;
        first::measure(arguments.processes)?;
    }
    if wanted("warm") {
        warm::measure()?;
    }
    if wanted("host") {
        host::measure()?;
    }
    if wanted("sides") {
        sides::measure()?;
    }
    if wanted("chunks") {
        chunks::measure()?;
    }
    if wanted("initial") {
        initial::measure()?;
    }
    Ok(())
}

/// The value in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

//! `scan`: reports a machine's support for scans, the plan of a scan, and its speed.
//!
//! ```sh
//! cargo install --path scan-runtime --features cli
//! scan                                                       # what is there and what is missing, and a self-test
//! scan plan sum f32 --exclusive --len 1000000 --arch sm_90   # how a scan would run
//! scan cuda max i64                                          # its CUDA source
//! scan explain sum f32 --len 1000000                         # what each strategy would take
//! scan bundle make --arch sm_90 --out kernels.scan sum:f32   # compiles ahead of time
//! scan bundle kernels.scan                                   # what is in such a file
//! scan cache --clear                                         # removes the compiled kernels on disk
//! scan bench sum f32                                         # times, against a copy
//! ```
//!
//! `what.rs` has the arguments that specify a scan, `ready.rs` finds the built-in operators by name.
//! Each command has a file.

mod bench;
mod bundle;
mod cache;
mod communication;
mod compiler;
mod doctor;
mod driver;
mod explain;
mod missing;
mod plan;
mod ranks;
mod ready;
mod selftest;
mod strategies;
mod table;
#[cfg(test)]
mod tests;
mod what;

use std::{
    error::Error,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use what::What;

/// The result of a command.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Reports this machine's support for scans, their plans, and their speed
#[derive(Parser)]
#[command(name = "scan", version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// What this machine has, what is missing, and a quick self-test (this is the default); fails if no GPU can be used
    Doctor {
        /// Also list every place where NVRTC is searched for, and the self-test of every device
        #[arg(long)]
        verbose: bool,
    },
    /// The plan of a scan with a built-in operator
    Plan {
        #[command(flatten)]
        what: What,
        /// For inputs of this length; the plan then lists the launches
        #[arg(long)]
        len: Option<usize>,
        /// Across so many GPUs, whose slices have that length together: what a rank moves and how long it takes
        #[arg(long, requires = "len")]
        ranks: Option<std::num::NonZero<usize>>,
    },
    /// The CUDA source that would run
    Cuda {
        #[command(flatten)]
        what: What,
        /// For inputs of this length, not for the longest
        #[arg(long)]
        len: Option<usize>,
    },
    /// The launches and the cost of each strategy, and which one is the default
    Explain(explain::Arguments),
    /// Kernels compiled ahead of time
    #[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
    Bundle {
        /// The file whose kernels to list
        #[arg(required = true)]
        file: Option<PathBuf>,
        #[command(subcommand)]
        command: Option<BundleCommand>,
    },
    /// The compiled kernels on disk
    Cache {
        /// Remove them all
        #[arg(long)]
        clear: bool,
    },
    /// Times of a scan on this machine, compared with a copy of the same bytes
    Bench(bench::Arguments),
}

#[derive(Subcommand)]
enum BundleCommand {
    /// Compile scans with built-in operators into a file
    Make {
        #[command(flatten)]
        scans: bundle::Scans,
        /// The file
        #[arg(long)]
        out: PathBuf,
    },
    /// List the kernels that scans with built-in operators need and a file lacks; fails if it lacks some
    Check {
        /// The file
        #[arg(long)]
        file: PathBuf,
        #[command(flatten)]
        scans: bundle::Scans,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse(), &mut io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // The reader has read enough: `scan cuda sum | head`.
        Err(error) if has_no_reader(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn has_no_reader(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Whether all is well.
fn run(arguments: Arguments, out: &mut impl Write) -> Outcome<bool> {
    match arguments.command.unwrap_or(Command::Doctor { verbose: false }) {
        Command::Doctor { verbose } => return Ok(doctor::write(verbose, out)?),
        Command::Plan { what, len, ranks } => plan::write(what, len, ranks, out)?,
        Command::Cuda { what, len } => plan::write_source(what, len, out)?,
        Command::Explain(arguments) => explain::write(arguments, out)?,
        Command::Bundle { command: Some(BundleCommand::Make { scans, out: file }), .. } => {
            bundle::make(&scans, &file, out)?;
        }
        Command::Bundle { command: Some(BundleCommand::Check { file, scans }), .. } => {
            return bundle::check(&scans, &file, out);
        }
        Command::Bundle { file, command: None } => bundle::show(&file.unwrap_or_default(), out)?,
        Command::Cache { clear: true } => cache::clear(out)?,
        Command::Cache { clear: false } => cache::write(out)?,
        Command::Bench(arguments) => bench::write(arguments, out)?,
    }
    Ok(true)
}

//! The weekly CO2 record of Mauna Loa, scanned with four operators.
//!
//! ```sh
//! cargo run --release -p scan-runtime --example 01_mauna_loa [-- FILE.csv] [--output curves.svg]
//! ```
//!
//! `operators.rs` holds the operators, `curves.rs` runs the scans; the rest reads, prints and draws.

#![allow(unreachable_pub, reason = "in a program, plain `pub` reads better and means the same")]

mod chart;
mod curves;
mod operators;
mod record;
mod report;

use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use curves::Curves;
use record::Week;
use scan_runtime::{HostMemory, Scanner};

/// Scans the weekly CO2 record of Mauna Loa, or another of the same shape, and draws the curves
#[derive(Parser)]
struct Arguments {
    /// A CSV file: a header, then rows of `date,co2`, the second field empty in a missing week
    file: Option<PathBuf>,
    /// Where the drawing goes
    #[arg(long, value_name = "FILE.svg", default_value = "mauna_loa.svg")]
    output: PathBuf,
    /// Weight of a new observation in the smoothed curve; 0.02 forgets within about a year
    #[arg(long, default_value_t = 0.02, value_parser = weight)]
    alpha: f64,
    /// Scan on the CPU even where there is a GPU
    #[arg(long)]
    cpu: bool,
}

fn weight(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(alpha) if alpha > 0.0 && alpha <= 1.0 => Ok(alpha),
        _ => Err("expected a number above 0 and up to 1".to_owned()),
    }
}

/// A record that was read, and what to call it.
struct Record {
    title: String,
    source: String,
    weeks: Vec<Week>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let record = open(arguments.file.as_ref())?;
    let weeks = &record.weeks;
    // On a GPU where there is one. Of so few weeks, `Scanner::new` would scan on the CPU.
    let on_device = || Scanner::builder().host_memory(HostMemory::OnDevice).build();
    let scanner = if arguments.cpu { Scanner::cpu() } else { on_device()? };
    let curves = Curves::scan(&scanner, weeks, arguments.alpha)?;
    let difference = curves.compare(&Curves::by_loop(weeks, arguments.alpha))?;
    chart::draw(&arguments.output, &record, &curves, arguments.alpha)?;

    let mut text = report::summary(&record.title, weeks);
    text += &format!("Scanned on {}\n\n", scanner.backend());
    text += &report::table(weeks, &curves);
    text += &format!("\n{}", report::compiled(&scanner.cache_stats()));
    text += &format!(
        "Checked against sequential loops: record high and largest fall are equal bit for bit; mean, variance and\n\
         smoothed curve are equal to within {difference:.0e} of their largest value.\n"
    );
    text += &format!("Drawn to {}\n", std::path::absolute(&arguments.output)?.display());
    match io::stdout().write_all(text.as_bytes()) {
        // Whoever reads this has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        outcome => Ok(outcome?),
    }
}

/// Reads the file, or the record that comes with this example, from its first observation on.
fn open(file: Option<&PathBuf>) -> Result<Record, Box<dyn Error>> {
    let (title, source, weeks) = match file {
        None => (
            "Atmospheric CO₂ at Mauna Loa".to_owned(),
            "C. D. Keeling and T. P. Whorf, 2004, Carbon Dioxide Information Analysis Center, Oak Ridge National Laboratory"
                .to_owned(),
            record::read(include_bytes!("../data/mauna_loa_co2.csv").as_slice())?,
        ),
        Some(path) => {
            let named = |error: &dyn Error| format!("{}: {error}", path.display());
            let weeks = record::read(File::open(path).map_err(|error| named(&error))?).map_err(|error| named(&error))?;
            let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
            (format!("Atmospheric CO₂, {name}"), path.display().to_string(), weeks)
        }
    };
    let weeks = weeks.into_iter().skip_while(|week| week.co2.is_none()).collect();
    Ok(Record { title, source, weeks })
}

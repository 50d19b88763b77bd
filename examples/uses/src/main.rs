//! What scans are for: a file for each use, checked against the plain loop and timed beside it.
//!
//! `uses [NAME] [--len N] [--pictures FOLDER]` runs one use, or all.

mod addition;
mod decoding;
mod filters;
mod groups;
mod histogram;
mod horner;
mod kalman;
mod lexing;
mod partition;
mod quicksort;
mod radix_sort;
mod report;
mod rolling;
mod running;
mod strings;
mod summed_area;
mod trees;

use std::{env, error::Error, path::PathBuf};

use report::Outcome;
use scan_runtime::Scanner;

/// A use: its name, what it does, and a number of elements.
type Use = (&'static str, fn(&Scanner, usize) -> Outcome, usize);

const USES: [Use; 16] = [
    ("partition", partition::run, 1 << 23),
    ("histogram", histogram::run, 1 << 22),
    ("summed_area", summed_area::run, 1 << 22),
    ("radix_sort", radix_sort::run, 1 << 21),
    ("quicksort", quicksort::run, 1 << 18),
    ("strings", strings::run, 1 << 24),
    ("lexing", lexing::run, 1 << 23),
    ("decoding", decoding::run, 1 << 23),
    ("horner", horner::run, 1 << 20),
    ("filters", filters::run, 1 << 21),
    ("trees", trees::run, 1 << 20),
    ("addition", addition::run, 1 << 23),
    ("kalman", kalman::run, 1 << 20),
    ("rolling", rolling::run, 1 << 22),
    ("running", running::run, 1 << 22),
    ("groups", groups::run, 1 << 20),
];

fn main() -> Result<(), Box<dyn Error>> {
    let (mut name, mut len, mut pictures) = (None, None, None);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--len" => len = Some(value()?.parse()?),
            "--pictures" => pictures = Some(PathBuf::from(value()?)),
            _ => name = Some(argument),
        }
    }
    let chosen = |(use_, ..): &&Use| name.as_ref().is_none_or(|name| name == use_);
    if !USES.iter().any(|use_| chosen(&use_)) {
        let names: Vec<&str> = USES.iter().map(|(name, ..)| *name).collect();
        return Err(format!("there is no use {}; there are {}", name.unwrap_or_default(), names.join(", ")).into());
    }
    let scanner = Scanner::new()?;
    println!("On {}. The last column is the time of the scan by that of the loop.", scanner.backend());
    for (name, run, usual) in USES.iter().filter(chosen) {
        // The times of a debug build say nothing.
        let usual = if cfg!(debug_assertions) { 2_000 } else { *usual };
        let report = run(&scanner, len.unwrap_or(usual)).map_err(|error| format!("{name}: {error}"))?;
        print!("{name}\n{report}");
        if let (Some(folder), Some(picture)) = (&pictures, report.picture) {
            let file = folder.join(name).with_extension("svg");
            svg::save(&file, &picture)?;
            println!("    {}", file.display());
        }
    }
    Ok(())
}

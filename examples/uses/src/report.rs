//! What a use reports: times beside those of the plain loop, and a picture.

use std::{error::Error, fmt, time::Instant};

use svg::Document;

/// The result of a use, or why there is none.
pub type Outcome = Result<Report, Box<dyn Error>>;

/// What a use has shown.
#[derive(Default)]
pub struct Report {
    comparisons: Vec<Comparison>,
    /// A picture of characters, or some lines of results.
    pub drawing: String,
    /// A picture for a file.
    pub picture: Option<Document>,
}

/// The times of a plain loop and of scans that compute the same.
struct Comparison {
    what: &'static str,
    elements: usize,
    plain: f64,
    scan: f64,
}

/// An odd number, so that one of them is the median.
const RUNS: usize = if cfg!(debug_assertions) { 1 } else { 7 };

impl Report {
    /// Runs both in turn, and keeps the median of each.
    pub fn time(
        &mut self,
        what: &'static str,
        elements: usize,
        mut plain: impl FnMut(),
        mut scan: impl FnMut() -> Result<(), scan_runtime::Error>,
    ) -> Result<(), scan_runtime::Error> {
        scan()?; // Threads start, memory is mapped, and on a GPU kernels are compiled.
        let mut times = [[0.0; RUNS]; 2];
        for run in 0..RUNS {
            let start = Instant::now();
            plain();
            times[0][run] = start.elapsed().as_secs_f64();
            let start = Instant::now();
            scan()?;
            times[1][run] = start.elapsed().as_secs_f64();
        }
        let [plain, scan] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[RUNS / 2]
        });
        self.comparisons.push(Comparison { what, elements, plain, scan });
        Ok(())
    }
}

/// An error unless the results of the scan are those of the loop.
pub fn check(same: bool, what: &str) -> Result<(), String> {
    if same { Ok(()) } else { Err(format!("{what}: the scan and the loop differ")) }
}

/// Whether floats are equal but for rounding: relative to the largest of all.
pub fn close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    let largest = a.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * largest)
}

/// Random bits for each number: SplitMix64.
pub fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Comparison { what, elements, plain, scan } in &self.comparisons {
            let [plain, scan] = [plain, scan].map(|seconds| seconds * 1e3);
            let ratio = scan / plain;
            writeln!(
                f,
                "  {what:<34} {elements:>9} elements  loop {plain:>8.2} ms  scan {scan:>8.2} ms  {ratio:>6.2}"
            )?;
        }
        self.drawing.lines().try_for_each(|line| writeln!(f, "    {line}"))
    }
}

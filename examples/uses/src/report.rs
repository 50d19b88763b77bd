//! What a use reports: times beside those of the plain loop, and a picture.

use std::{error::Error, fmt, time::Instant};

use svg::{
    Document,
    node::element::{Line, Polyline, Text},
};

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
        let mut times = [[0.0; 2]; RUNS];
        for [of_plain, of_scan] in &mut times {
            let start = Instant::now();
            plain();
            *of_plain = start.elapsed().as_secs_f64();
            let start = Instant::now();
            scan()?;
            *of_scan = start.elapsed().as_secs_f64();
        }
        let [plain, scan] = [0, 1].map(|which| {
            let mut times = times.map(|times| times[which]);
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

/// A curve of a picture: its name, its colour, and points.
pub type Curve = (&'static str, &'static str, Vec<[f64; 2]>);

/// Curves in one frame that is as large as all of their points.
pub fn curves(title: &str, curves: &[Curve]) -> Document {
    let range = |axis: usize| {
        let all = curves.iter().flat_map(|(.., points)| points).map(|point| point[axis]);
        all.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
    };
    let [of_x, of_y] = [range(0), range(1)];
    let scaled = |x: f64, [low, high]: [f64; 2]| (x - low) / (high - low).max(f64::MIN_POSITIVE);
    let frame = Document::new().set("viewBox", (0, 0, 640, 360)).set("font-family", "sans-serif").set("font-size", 13);
    let axis = |to: (i32, i32)| Line::new().set("x1", 10).set("y1", 330).set("x2", to.0).set("y2", to.1);
    let mut picture = frame.add(Text::new(title).set("x", 10).set("y", 20));
    for to in [(630, 330), (10, 30)] {
        picture = picture.add(axis(to).set("stroke", "gray"));
    }
    for (number, (name, colour, points)) in curves.iter().enumerate() {
        let point = |&[x, y]: &[f64; 2]| {
            format!("{:.1},{:.1} ", 10.0 + 620.0 * scaled(x, of_x), 330.0 - 300.0 * scaled(y, of_y))
        };
        let line = Polyline::new().set("points", points.iter().map(point).collect::<String>());
        picture = picture.add(line.set("fill", "none").set("stroke", *colour).set("stroke-width", 1.2));
        picture = picture.add(Text::new(*name).set("x", 10 + 160 * number).set("y", 350).set("fill", *colour));
    }
    picture
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

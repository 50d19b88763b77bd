//! What has been measured: tables, files, pictures.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use scan_runtime::ScanKind;
use scan_tests::charts::{LineChart, Series, power_of_two};
use serde::Serialize;

use crate::{
    Outcome,
    cases::Case,
    ours::Way,
    race::{Entrant, Mode, Times},
};

/// One entrant at one length.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    operator: &'static str,
    element_bytes: usize,
    scan: &'static str,
    elements: usize,
    /// What segments there are: their mean length, or a name; empty where there are none.
    segments: String,
    mean_segment: Option<usize>,
    mode: String,
    implementation: String,
    /// What must be read and written.
    bytes: usize,
    microseconds: Option<f64>,
    fastest: Option<f64>,
    slowest: Option<f64>,
    gigabytes_per_second: Option<f64>,
    /// The last against that of the copy.
    ratio_to_copy: Option<f64>,
    /// Why nothing was timed.
    note: String,
}

/// What all entrants of a race did.
pub(crate) struct Scanned {
    pub(crate) way: Way,
    pub(crate) mode: Mode,
    pub(crate) len: usize,
    /// How segments are called, and their mean length if they have one; `None` where there are none.
    pub(crate) segments: Option<(String, Option<usize>)>,
}

/// The machine and the libraries.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) device: String,
    pub(crate) cub: String,
    /// Microseconds between two events with nothing between them, which every cold time contains.
    pub(crate) empty_microseconds: f64,
    pub(crate) rounds: usize,
}

/// Everything measured so far.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    #[serde(flatten)]
    pub(crate) machine: Machine,
    rows: Vec<Row>,
}

const COPY: &str = "copy";

impl Report {
    pub(crate) fn new(machine: Machine) -> Self {
        Report { machine, rows: Vec::new() }
    }

    /// Adds the results of a race, in the order of its entrants, the copy first.
    pub(crate) fn add<C: Case>(
        &mut self,
        scanned: &Scanned,
        entrants: &[Entrant<'_, C::Item>],
        times: Vec<Result<Times, String>>,
    ) {
        let mut copy_rate = None;
        for (entrant, times) in entrants.iter().zip(times) {
            let bytes = 2 * scanned.len * size_of::<C::Item>() + entrant.side_bytes;
            let (times, note) = match times {
                Ok(times) => (Some(times), String::new()),
                Err(note) => (None, note),
            };
            let rate = times.map(|times| bytes as f64 / times.median * 1e-3);
            if entrant.name == COPY {
                copy_rate = rate;
            }
            let segments = scanned.segments.as_ref();
            self.rows.push(Row {
                operator: C::NAME,
                element_bytes: size_of::<C::Item>(),
                scan: match (scanned.way.kind, scanned.way.reversed) {
                    (ScanKind::Inclusive, false) => "inclusive",
                    (ScanKind::Exclusive, false) => "exclusive",
                    (ScanKind::Inclusive, true) => "inclusive, reversed",
                    (ScanKind::Exclusive, true) => "exclusive, reversed",
                },
                elements: scanned.len,
                segments: segments.map(|(name, _)| name.clone()).unwrap_or_default(),
                mean_segment: segments.and_then(|(_, mean)| *mean),
                mode: scanned.mode.to_string(),
                implementation: entrant.name.clone(),
                bytes,
                microseconds: times.map(|times| times.median),
                fastest: times.map(|times| times.fastest),
                slowest: times.map(|times| times.slowest),
                gigabytes_per_second: rate,
                ratio_to_copy: rate.zip(copy_rate).map(|(rate, copy)| rate / copy),
                note,
            });
        }
    }

    /// The tables of an operator, one for each way in which calls follow each other.
    pub(crate) fn tables(&self, operator: &str, segmented: bool) -> String {
        let mut text = String::new();
        let rows: Vec<_> =
            self.rows.iter().filter(|row| row.operator == operator && row.segments.is_empty() != segmented).collect();
        for mode in distinct(rows.iter().map(|row| row.mode.clone())) {
            let rows: Vec<_> = rows.iter().copied().filter(|row| row.mode == mode).collect();
            table(&mut text, &rows, &mode, segmented);
        }
        text
    }

    /// What it comes to: each operator at its largest length, and where CUB is faster.
    pub(crate) fn summary(&self) -> String {
        let mut text = String::from("## Summary\n\nRatios to the copy, back to back, at the largest length.\n\n");
        text.push_str("| operator | bytes | elements | ours | CUB | ours : CUB |\n|---|--:|--:|--:|--:|--:|\n");
        let plain = || self.rows.iter().filter(|row| row.segments.is_empty());
        let mut quotients = Vec::new();
        for operator in distinct(plain().map(|row| row.operator)) {
            let rows = || plain().filter(|row| row.operator == operator && row.mode == Mode::Stream.to_string());
            let Some(largest) = rows().map(|row| row.elements).max() else { continue };
            let of = |name: &str| rows().find(|row| row.elements == largest && row.implementation == name);
            let ratio = |name| of(name).and_then(|row| row.ratio_to_copy);
            let quotient = ratio("ours").zip(ratio("CUB")).map(|(ours, cub)| ours / cub);
            quotients.extend(quotient);
            let bytes = of(COPY).map_or(0, |row| row.element_bytes);
            let (ours, cub, quotient) = (number(ratio("ours"), 3), number(ratio("CUB"), 3), number(quotient, 2));
            let _ = writeln!(text, "| {operator} | {bytes} | {} | {ours} | {cub} | {quotient} |", length(largest));
        }
        if !quotients.is_empty() {
            let mean = quotients.iter().map(|quotient| quotient.ln()).sum::<f64>() / quotients.len() as f64;
            let _ = writeln!(text, "\nGeometric mean of ours : CUB over these: {:.2}.", mean.exp());
        }
        let (mut compared, mut slower) = (0, Vec::new());
        for cub in plain().filter(|row| row.implementation == "CUB") {
            let same = |row: &&Row| {
                row.implementation == "ours"
                    && (row.operator, row.elements, &row.mode) == (cub.operator, cub.elements, &cub.mode)
            };
            let ours = plain().find(same).and_then(|row| row.microseconds);
            if let Some((ours, theirs)) = ours.zip(cub.microseconds) {
                compared += 1;
                // Within two in a hundred it is the same.
                if ours > 1.02 * theirs {
                    slower.push((cub, ours / theirs));
                }
            }
        }
        let _ = writeln!(text, "CUB is faster in {} of {compared} cells of all tables.", slower.len());
        slower.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (row, times) in slower.iter().take(20) {
            let _ =
                writeln!(text, "- {}, {} elements, {}: {times:.2} times", row.operator, length(row.elements), row.mode);
        }
        text
    }

    /// Writes `peers.csv`, `peers.json`, `peers.md` and a picture for each operator into a folder.
    pub(crate) fn write(&self, folder: &Path) -> Outcome<Vec<PathBuf>> {
        fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        let (csv, json, markdown) = (folder.join("peers.csv"), folder.join("peers.json"), folder.join("peers.md"));
        let mut writer = csv::Writer::from_path(&csv)?;
        for row in &self.rows {
            writer.serialize(row)?;
        }
        writer.flush()?;
        fs::write(&json, serde_json::to_string_pretty(self)?)?;
        let mut files = vec![csv, json, markdown.clone()];
        let mut text = String::new();
        for operator in distinct(self.rows.iter().map(|row| row.operator)) {
            for segmented in [false, true] {
                text.push_str(&self.tables(operator, segmented));
                files.extend(self.plot(operator, segmented, folder)?);
            }
        }
        text.push_str(&self.summary());
        fs::write(&markdown, text)?;
        Ok(files)
    }

    /// A line an implementation: the part of copy bandwidth over the length, or over the mean length of segments.
    fn plot(&self, operator: &str, segmented: bool, folder: &Path) -> Outcome<Option<PathBuf>> {
        let at = |row: &Row| if segmented { row.mean_segment } else { Some(row.elements) };
        let rows: Vec<(&Row, (f64, f64))> = self
            .rows
            .iter()
            .filter(|row| row.operator == operator && row.segments.is_empty() != segmented)
            .filter(|row| row.mode == Mode::Stream.to_string() && row.implementation != COPY)
            .filter_map(|row| Some((row, (at(row)? as f64, row.ratio_to_copy?))))
            .collect();
        let mut series = Vec::new();
        for name in distinct(rows.iter().map(|row| row.0.implementation.clone())) {
            let mut points: Vec<_> = rows.iter().filter(|row| row.0.implementation == name).map(|row| row.1).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            series.push(Series { name, points });
        }
        let chart = LineChart {
            title: if segmented { format!("{operator}, in segments") } else { operator.to_owned() },
            caption: self.machine.device.clone(),
            lengths: if segmented { "mean length of segments" } else { "elements" }.to_owned(),
            series,
        };
        let Some(picture) = chart.draw() else { return Ok(None) };
        let what = if segmented { "_segments" } else { "" };
        let path = folder.join(format!("{}{what}.svg", operator.replace(' ', "_")));
        fs::write(&path, picture)?;
        Ok(Some(path))
    }
}

/// A row a length or kind of segments, two columns an implementation.
fn table(text: &mut String, rows: &[&Row], mode: &str, segmented: bool) {
    let Some(first) = rows.first() else { return };
    let names: Vec<String> =
        distinct(rows.iter().map(|row| row.implementation.clone())).into_iter().filter(|name| name != COPY).collect();
    let on = if segmented { format!(" of {} elements in segments", length(first.elements)) } else { String::new() };
    // A `String` takes whatever is written to it.
    let _ = writeln!(text, "### {}, {} scan{on}, {mode}\n", first.operator, first.scan);
    let label = if segmented { "mean length of segments" } else { "elements" };
    let _ = write!(text, "| {label} | copy, µs |");
    for name in &names {
        let _ = write!(text, " {name}, µs | {name} : copy |");
    }
    let _ = writeln!(text, "\n|---|--:|{}", "--:|--:|".repeat(names.len()));
    for (elements, segments) in distinct(rows.iter().map(|row| (row.elements, row.segments.clone()))) {
        let of = |name: &str| {
            let here = |row: &&&Row| row.elements == elements && row.segments == segments && row.implementation == name;
            rows.iter().find(here)
        };
        let time = |name| number(of(name).and_then(|row| row.microseconds), 2);
        let label = if segmented { segments.clone() } else { length(elements) };
        let _ = write!(text, "| {label} | {} |", time(COPY));
        for name in &names {
            let _ = write!(text, " {} | {} |", time(name), number(of(name).and_then(|row| row.ratio_to_copy), 3));
        }
        text.push('\n');
    }
    for name in &names {
        let notes = distinct(rows.iter().filter(|row| row.implementation == *name).map(|row| row.note.clone()));
        for note in notes.into_iter().filter(|note| !note.is_empty()) {
            let _ = writeln!(text, "\n{name}, where nothing stands: {note}.");
        }
    }
    text.push('\n');
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"))
}

/// `2²⁰` for powers of two, else the digits.
fn length(elements: usize) -> String {
    if elements.is_power_of_two() { power_of_two(i64::from(elements.ilog2())) } else { elements.to_string() }
}

/// Each value once, in the order of their first appearance.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

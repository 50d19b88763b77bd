//! What the example prints.

use std::fmt::Write;

use scan_runtime::CacheStats;

use crate::curves::Curves;
use crate::record::Week;

/// What the record holds.
pub fn summary(title: &str, weeks: &[Week]) -> String {
    let missing = weeks.iter().filter(|week| week.co2.is_none()).count();
    let span = match (weeks.first(), weeks.last()) {
        (Some(first), Some(last)) => format!("{} to {}", first.date, last.date),
        _ => "empty".to_owned(),
    };
    let count = weeks.len();
    format!("{title}, {span}\n{count} weeks, {missing} of them missing: skipped, their place in time kept\n")
}

/// A few rows of the curves: the first and the last observation, and the first one of every decade or so between them.
pub fn table(weeks: &[Week], curves: &Curves) -> String {
    let mut text =
        String::from("date        observed  record high      mean ± sd       smoothed  largest fall    (ppmv)\n");
    for row in rows(weeks) {
        let Some(co2) = weeks[row].co2 else { continue };
        let moments = curves.moments[row];
        // A `String` takes whatever is written to it.
        let _ = writeln!(
            text,
            "{:<12}{co2:>8.1}{:>13.1}{:>10.2} ±{:>6.2}{:>14.2}{:>14.1}",
            weeks[row].date.to_string(),
            curves.record_high[row],
            moments.mean,
            moments.standard_deviation(),
            curves.smoothed[row],
            curves.largest_fall[row],
        );
    }
    text
}

/// Years between the rows of the table, the smallest of these that makes it short.
const STEPS: [i16; 7] = [1, 2, 5, 10, 20, 50, 100];
const MAX_ROWS: i16 = 8;

fn rows(weeks: &[Week]) -> Vec<usize> {
    let observed: Vec<usize> = (0..weeks.len()).filter(|week| weeks[*week].co2.is_some()).collect();
    let (Some(&first), Some(&last)) = (observed.first(), observed.last()) else { return Vec::new() };
    let year = |week: usize| weeks[week].date.year();
    let span = year(last) - year(first);
    let step = STEPS.into_iter().find(|step| span / step <= MAX_ROWS).unwrap_or(1000);
    let mut rows = vec![first];
    for pair in observed.windows(2) {
        if year(pair[0]).div_euclid(step) != year(pair[1]).div_euclid(step) {
            rows.push(pair[1]);
        }
    }
    rows.push(last);
    rows.dedup();
    rows
}

/// What was compiled for the device, and how long that took.
pub fn compiled(cache: &CacheStats) -> String {
    if cache.modules.is_empty() {
        return "Compiled nothing: the CPU runs the operators as Rust compiled them.\n".to_owned();
    }
    let mut text =
        format!("Compiled in {:.0?}, of which the first includes loading the compiler:\n", cache.compile_time);
    for module in &cache.modules {
        let _ = writeln!(text, "  {:>6.0?} for {}: {}", module.compile_time, module.architecture, module.name);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weeks(years: impl IntoIterator<Item = i16>) -> Vec<Week> {
        years.into_iter().map(|year| Week { date: jiff::civil::date(year, 6, 1), co2: Some(1.0) }).collect()
    }

    #[test]
    fn the_table_is_short_whatever_the_span() {
        assert_eq!(rows(&weeks(1958..=2001)), [0, 2, 7, 12, 17, 22, 27, 32, 37, 42, 43]);
        assert_eq!(rows(&weeks([1990])), [0]);
        assert_eq!(rows(&weeks([1990, 1991])), [0, 1]);
        assert!(rows(&weeks(1..9999)).len() <= 103);
        assert!(rows(&[]).is_empty());
    }
}

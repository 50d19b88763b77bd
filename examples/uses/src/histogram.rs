//! Histograms of any range of the input, and their quantiles.
//!
//! The loop that one would write, with ascending levels that need not be equally far apart:
//!
//! ```text
//! for x in &input[begin..end] { counts[levels.partition_point(|level| level <= x)] += 1 }
//! ```
//!
//! Instead of the values between two levels, count those at or above each level: a comparison for each, without a
//! search. Counts are added, item by item, which is associative. Blocks of the input are reduced to such counts, and
//! the exclusive scan of these gives the counts before each block. The counts of a range of blocks are then a
//! difference of two, whatever its length: a dashboard that moves over the data reads two rows.
//!
//! Between two levels are the values at or above the first but not the second. A quantile is found among the levels,
//! and between two of them by a straight line.
//!
//! Sources: CUB's `DeviceHistogram::HistogramRange`; C.-T. Ho, R. Agrawal, N. Megiddo and R. Srikant, *Range Queries in
//! OLAP Data Cubes*, 1997 (differences of prefixes).

use scan_runtime::{Error, ScanOp, Scanner, scan_fn, scan_op};

use crate::report::{Outcome, Report, check, mixed};

const LEVELS: usize = 32;

/// For each level, how many values are at or above it.
type Counts = [u32; LEVELS];

/// The counts of values.
#[derive(Clone)]
struct AtOrAbove {
    levels: [f32; LEVELS],
}

#[scan_fn]
fn add(a: Counts, b: Counts) -> Counts {
    let mut sum = a;
    for level in 0..LEVELS {
        sum[level] += b[level];
    }
    sum
}

#[scan_op(laws(operator = AtOrAbove { levels: levels() }, samples = [-2.0, 0.0, 0.1, 1.0, 5.0]))]
impl ScanOp for AtOrAbove {
    type Input = f32;
    type State = Counts;
    type Output = Counts;
    const IDENTITY: Counts = [0; LEVELS];
    fn lift(&self, x: f32) -> Counts {
        let mut counts = Self::IDENTITY;
        for level in 0..LEVELS {
            counts[level] = (x >= self.levels[level]) as u32;
        }
        counts
    }
    fn combine(a: Counts, b: Counts) -> Counts {
        add(a, b)
    }
    // Inlined into the loop, so that the counts stay in vector registers.
    #[inline(always)]
    fn append(&self, counts: Counts, x: f32) -> Counts {
        let mut after = counts;
        for level in 0..LEVELS {
            after[level] += (x >= self.levels[level]) as u32;
        }
        after
    }
}

#[scan_op(identity = [0; LEVELS], name = Sum)]
fn sum(a: Counts, b: Counts) -> Counts {
    add(a, b)
}

/// Levels that are closest to each other around 0, the first below all values.
fn levels() -> [f32; LEVELS] {
    std::array::from_fn(|i| match i {
        0 => f32::NEG_INFINITY,
        _ => (i as f32 - 16.0) * (i as f32 - 16.0).abs() / 64.0,
    })
}

const BLOCK: usize = 1 << 12;

/// The counts of each block, the last of which may be shorter.
fn of_blocks(scanner: &Scanner, x: &[f32]) -> Result<Vec<Counts>, Error> {
    let blocks: Vec<usize> = (0..x.len()).step_by(BLOCK).chain([x.len()]).collect();
    scanner.reduce(AtOrAbove { levels: levels() }).by_offsets(&blocks).run(x)
}

/// The plain loop: a search for each value, and the counts of the levels below are added at the end of a block.
fn of_blocks_in_a_loop(x: &[f32]) -> Vec<Counts> {
    let levels = levels();
    let of_block = |block: &[f32]| {
        let mut counts = [0; LEVELS];
        block.iter().for_each(|x| counts[levels.partition_point(|level| level <= x) - 1] += 1);
        (0..LEVELS - 1).rev().for_each(|level| counts[level] += counts[level + 1]);
        counts
    };
    x.chunks(BLOCK).map(of_block).collect()
}

/// The value that a part of all values is below.
fn quantile(counts: &Counts, part: f64) -> f64 {
    let levels = levels();
    let above = f64::from(counts[0]) * (1.0 - part);
    let level = counts.iter().rposition(|count| f64::from(*count) >= above).unwrap_or(0);
    let (here, next) = (f64::from(counts[level]), counts.get(level + 1).map_or(0.0, |count| f64::from(*count)));
    let [from, to] = [level, (level + 1).min(LEVELS - 1)].map(|level| f64::from(levels[level]));
    if here == next || !from.is_finite() { to } else { from + (to - from) * (here - above) / (here - next) }
}

/// A sum of four random numbers, whose spread grows along the input.
fn values(len: usize) -> Vec<f32> {
    let random = |i: u64| (mixed(i) % 1_000) as f32 / 500.0 - 1.0;
    let spread = |i: u64| 0.3 + i as f32 / len as f32;
    (0..len as u64).map(|i| spread(i) * (0..4).map(|j| random(4 * i + j)).sum::<f32>()).collect()
}

pub fn run(scanner: &Scanner, len: usize) -> Outcome {
    let x = values(len);
    let (mut blocks, mut expected) = (vec![], vec![]);
    let mut report = Report::default();
    report.time(
        "counts of 32 levels, in blocks",
        len,
        || expected = of_blocks_in_a_loop(&x),
        || of_blocks(scanner, &x).map(|counts| blocks = counts),
    )?;
    check(blocks == expected, "counts")?;

    let before = scanner.scan(Sum).include_initial().run(&blocks)?;
    let ranges = [0, 1, 2, 3].map(|quarter| [quarter, quarter + 1].map(|at| at * blocks.len() / 4));
    report.drawing = "quarter of the input    5 %  median    95 %\n".into();
    for (quarter, [begin, end]) in ranges.into_iter().enumerate() {
        let counts: Counts = std::array::from_fn(|level| before[end][level] - before[begin][level]);
        let [low, median, high] = [0.05, 0.5, 0.95].map(|part| quantile(&counts, part));
        let bars = counts.iter().zip(counts[1..].iter().chain([&0])).map(|(here, next)| here - next);
        let bar = |count: u32| {
            ['·', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']
                [(64 * u64::from(count) / u64::from(counts[0].max(1))).min(8) as usize]
        };
        let bars: String = bars.map(bar).collect();
        report.drawing += &format!("{:<20} {low:>7.2} {median:>7.2} {high:>7.2}  {bars}\n", quarter + 1);
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_a_loop() {
        for len in [0, 1, BLOCK, BLOCK + 1, 40_000] {
            run(&Scanner::cpu(), len).unwrap();
        }
    }

    #[test]
    fn quantiles_are_near_those_of_sorted_values() {
        let mut x = values(BLOCK);
        let counts = of_blocks(&Scanner::cpu(), &x).unwrap()[0];
        x.sort_by(f32::total_cmp);
        for part in [0.05, 0.5, 0.9] {
            let exact = f64::from(x[(part * x.len() as f64) as usize]);
            assert!((quantile(&counts, part) - exact).abs() < 0.1, "{part}: {} {exact}", quantile(&counts, part));
        }
    }
}

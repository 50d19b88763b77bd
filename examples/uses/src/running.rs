//! Running sums that are not quite sums: with floor and ceiling, with a reset, over nulls; and forward fill.
//!
//! | also known as | here |
//! |---|---|
//! | cumulative sum clipped at zero, CUSUM chart, battery or stock level, saturating counter | [`Level`] |
//! | cumulative sum with reset, pandas' `groupby(...).cumsum()` | `.by_flags(&resets)` |
//! | `cumsum(skipna=True)`, Arrow's `cumulative_sum` with `skip_nulls` | `ops::skip_nulls(ops::sum())` |
//! | `ffill(limit=…)`, last observation carried forward, `LAST_VALUE(… IGNORE NULLS)` | [`Fill`] |
//!
//! The loops that one would write:
//!
//! ```text
//! level = (level + x).clamp(low, high);
//! sum = if reset { x } else { sum + x };
//! if let Some(x) = x { sum += x }
//! if let Some(x) = x { (last, age) = (x, 0) } else { age += 1 }    // valid where age ≤ limit
//! ```
//!
//! The first one is not associative as it stands: clamping after each step is not clamping at the end. But the maps
//! `x ↦ (x + add).clamp(low, high)` are closed under composition, which is always associative: the sum of the terms,
//! and the second map's image of the first one's bounds. Of a forward fill, a part is described by its last value and
//! the number of nulls after it. The other two are sums, with a flag or a null that the library takes care of.
//!
//! Sources: E. S. Page, *Continuous Inspection Schemes*, 1954 (CUSUM); G. E. Blelloch, *Prefix Sums and Their
//! Applications*, 1990 (segmented scans).

use scan_runtime::{ScanOp, Scanner, arrays, ops, scan_element, scan_op};

use crate::report::{Outcome, Report, check, mixed};

/// The map x ↦ (x + add).clamp(low, high).
#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Clamped {
    add: i64,
    low: i64,
    high: i64,
}

/// A level that changes move up and down, and that stays between a floor and a ceiling; 0 at first.
#[derive(Clone)]
struct Level {
    low: i64,
    high: i64,
}

#[scan_op(laws(operator = Level { low: -3, high: 5 }, samples = [1, -2, 4, 9, 0]))]
impl ScanOp for Level {
    type Input = i32;
    // The loop.
    type Carry = i64;
    type Output = i64;
    const START: i64 = 0;
    fn step(&self, level: i64, change: i32) -> i64 {
        (level + change as i64).clamp(self.low, self.high)
    }
    // What a part of the changes does to any level.
    type State = Clamped;
    const IDENTITY: Clamped = Clamped { add: 0, low: i64::MIN, high: i64::MAX };
    fn lift(&self, change: i32) -> Clamped {
        Clamped { add: change as i64, low: self.low, high: self.high }
    }
    fn combine(f: Clamped, g: Clamped) -> Clamped {
        Clamped {
            add: f.add + g.add,
            low: f.low.saturating_add(g.add).clamp(g.low, g.high),
            high: f.high.saturating_add(g.add).clamp(g.low, g.high),
        }
    }
    fn apply(f: Clamped, level: i64) -> i64 {
        (level + f.add).clamp(f.low, f.high)
    }
}

/// The last value, and how many nulls come after it: as many as there are, if there is no value.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    value: f32,
    known: bool,
    age: u32,
}

/// The last value that is not null, for at most `limit` nulls.
#[derive(Clone)]
struct Fill {
    limit: u32,
}

#[scan_op(laws(
    operator = Fill { limit: 2 },
    samples = [1.0, 2.0, -1.0].map(|value| ops::Nullable { value, valid: value > 0.0 }),
))]
impl ScanOp for Fill {
    type Input = ops::Nullable<f32>;
    type State = Seen;
    type Output = ops::Nullable<f32>;
    const IDENTITY: Seen = Seen { value: 0.0, known: false, age: 0 };
    fn lift(x: ops::Nullable<f32>) -> Seen {
        Seen { value: if x.valid { x.value } else { 0.0 }, known: x.valid, age: !x.valid as u32 }
    }
    fn combine(a: Seen, b: Seen) -> Seen {
        if b.known { b } else { Seen { value: a.value, known: a.known, age: a.age + b.age } }
    }
    fn project(&self, seen: Seen) -> ops::Nullable<f32> {
        ops::Nullable { value: seen.value, valid: seen.known && seen.age <= self.limit }
    }
}

pub fn run(scanner: &Scanner, len: usize) -> Outcome {
    let changes: Vec<i32> = (0..len as u64).map(|i| (mixed(i) % 201) as i32 - 100).collect();
    let values: Vec<f32> = changes.iter().map(|change| *change as f32).collect();
    // Runs of up to a few nulls; a bit for each value, as in Apache Arrow.
    let valid: Vec<u8> = (0..len.div_ceil(8) as u64).map(|i| mixed(i) as u8 & mixed(i + 1) as u8).collect();
    let is_valid = |i: usize| valid[i / 8] >> (i % 8) & 1 == 1;
    let resets: Vec<bool> = (0..len as u64).map(|i| mixed(i + 7).is_multiple_of(50)).collect();
    let mut report = Report::default();

    let (mut ours, mut expected) = (vec![0; len], vec![0; len]);
    let (low, high) = (0, 1_000);
    report.time(
        "level with floor and ceiling",
        len,
        || {
            let mut level = 0;
            for (to, change) in expected.iter_mut().zip(&changes) {
                level = (level + i64::from(*change)).clamp(low, high);
                *to = level;
            }
        },
        || scanner.scan(Level { low, high }).run_into(&changes, &mut ours),
    )?;
    check(ours == expected, "levels")?;

    let (mut ours, mut expected) = (vec![0; len], vec![0; len]);
    report.time(
        "sum with reset",
        len,
        || {
            let mut sum: i32 = 0;
            for ((to, x), reset) in expected.iter_mut().zip(&changes).zip(&resets) {
                sum = if *reset { *x } else { sum + x };
                *to = sum;
            }
        },
        || scanner.scan(ops::sum()).by_flags(&resets).run_into(&changes, &mut ours),
    )?;
    check(ours == expected, "sums with reset")?;

    report.time(
        "sum that skips nulls",
        len,
        || {
            let mut sum: i32 = 0;
            for (i, (to, x)) in expected.iter_mut().zip(&changes).enumerate() {
                sum += if is_valid(i) { *x } else { 0 };
                *to = sum;
            }
        },
        || {
            let scan = scanner.scan(ops::skip_nulls(ops::sum()));
            scan.run_into((&changes, arrays::bits(&valid, 0)), (&mut ours, arrays::discard()))
        },
    )?;
    check(ours == expected, "sums without nulls")?;

    let [mut ours, mut expected] = [(); 2].map(|()| (vec![0.0; len], vec![false; len]));
    let limit = 2;
    report.time(
        "forward fill with a limit",
        len,
        || {
            let (mut last, mut known, mut age) = (0.0, false, 0);
            for (i, value) in values.iter().enumerate() {
                (last, known, age) = if is_valid(i) { (*value, true, 0) } else { (last, known, age + 1) };
                (expected.0[i], expected.1[i]) = (last, known && age <= limit);
            }
        },
        || {
            let scan = scanner.scan(Fill { limit });
            scan.run_into((&values, arrays::bits(&valid, 0)), (&mut ours.0, &mut ours.1))
        },
    )?;
    check(ours == expected, "filled values")?;
    report.drawing = drawing(scanner)?;
    Ok(report)
}

/// The level of a battery that is charged and discharged at random: a row for each level.
fn drawing(scanner: &Scanner) -> Result<String, scan_runtime::Error> {
    let changes: Vec<i32> = (0..72).map(|i| (mixed(i) % 7) as i32 - 3).collect();
    let levels = scanner.scan(Level { low: 0, high: 8 }).run(&changes)?;
    let row =
        |height: i64| levels.iter().map(|level| if *level >= height { '█' } else { ' ' }).collect::<String>() + "\n";
    Ok((1..=8).rev().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_those_of_loops() {
        for len in [0, 1, 7, 30_000] {
            run(&Scanner::cpu(), len).unwrap();
        }
    }

    #[test]
    fn nothing_is_filled_before_the_first_value_and_beyond_the_limit() {
        let null = ops::Nullable { value: 0.0, valid: false };
        let values = [null, ops::Nullable { value: 5.0, valid: true }, null, null, null];
        let filled = Scanner::cpu().scan(Fill { limit: 2 }).run(&values).unwrap();
        assert_eq!(filled.map_valid(), [None, Some(5.0), Some(5.0), Some(5.0), None]);
    }

    trait Valid {
        fn map_valid(&self) -> Vec<Option<f32>>;
    }

    impl Valid for Vec<ops::Nullable<f32>> {
        fn map_valid(&self) -> Vec<Option<f32>> {
            self.iter().map(|x| x.valid.then_some(x.value)).collect()
        }
    }
}

//! Count, mean, deviation, least and largest value by key, of a CSV file.

use std::{env, error::Error};

use scan_runtime::{ScanOp, Scanner, scan_element, scan_op};

/// Weekly CO₂ at Mauna Loa in ppmv. Dates are 19580329, and weeks without a value have an empty field.
const RECORD: &str = "../../scan-runtime/examples/data/mauna_loa_co2.csv";

/// Statistics of some values.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Statistics {
    count: u32,
    min: f32,
    max: f32,
    mean: f64,
    /// The squared distances from the mean, added up.
    squares: f64,
}

impl Statistics {
    /// The variance of the sample.
    fn variance(&self) -> f64 {
        if self.count < 2 { 0.0 } else { self.squares / f64::from(self.count - 1) }
    }
}

/// Puts the statistics of neighbouring values together (Chan, Golub and LeVeque 1979).
struct Merge;

#[scan_op(laws(samples = [316.1, 317.3, 317.6, 314.1, 315.5], tolerance = 1e-9))]
impl ScanOp for Merge {
    type Input = f32;
    type State = Statistics;
    type Output = Statistics;
    fn lift(x: f32) -> Statistics {
        Statistics { count: 1, min: x, max: x, mean: f64::from(x), squares: 0.0 }
    }
    fn combine(a: Statistics, b: Statistics) -> Statistics {
        let count = a.count + b.count;
        let part = f64::from(b.count) / f64::from(count);
        let distance = b.mean - a.mean;
        Statistics {
            count,
            min: a.min.min(b.min),
            max: a.max.max(b.max),
            mean: a.mean + distance * part,
            squares: a.squares + b.squares + distance * distance * f64::from(a.count) * part,
        }
    }
}

/// The keys and values of a file, in the order of the keys: equal ones must be neighbours. `key` makes one of a date.
fn read(file: &str, key: fn(u32) -> u32) -> Result<(Vec<u32>, Vec<f32>), Box<dyn Error>> {
    let mut rows: Vec<(u32, f32)> = Vec::new();
    for row in csv::Reader::from_path(file).map_err(|error| format!("{file}: {error}"))?.records() {
        let row = row?;
        let (date, value) = (row.get(0).unwrap_or_default(), row.get(1).unwrap_or_default());
        if !value.is_empty() {
            rows.push((key(date.parse()?), value.parse()?));
        }
    }
    rows.sort_by_key(|(key, _)| *key); // rows of one key stay in their order
    Ok(rows.into_iter().unzip())
}

/// The last of the running statistics of each key: those of all its values.
fn last_of_each(keys: &[u32], running: &[Statistics]) -> Vec<(u32, Statistics)> {
    let is_last = |i: &usize| keys.get(i + 1) != Some(&keys[*i]);
    (0..keys.len()).filter(is_last).map(|i| (keys[i], running[i])).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let name = arguments.next().unwrap_or("decade".to_owned());
    let key: fn(u32) -> u32 = match name.as_str() {
        "decade" => |date| date / 100_000 * 10,
        "year" => |date| date / 10_000,
        "month" => |date| date / 100 % 100,
        _ => return Err(format!("no key: `{name}`; there are `decade`, `year` and `month`").into()),
    };
    let (keys, values) = read(&arguments.next().unwrap_or(RECORD.to_owned()), key)?;

    let scanner = Scanner::new()?;
    let running = scanner.scan(Merge).by_keys(&keys).run(&values)?;

    println!("{} values on {}", values.len(), scanner.backend());
    println!("{name:>6}  count    mean  deviation     min     max");
    for (key, all) in last_of_each(&keys, &running) {
        let Statistics { count, min, max, mean, .. } = all;
        println!("{key:>6}  {count:>5}  {mean:>6.2}  {:>9.2}  {min:>6.1}  {max:>6.1}", all.variance().sqrt());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In two passes over the values: one for the mean, one for the distances from it.
    fn in_two_passes(values: &[f32]) -> Statistics {
        let wide = || values.iter().map(|&x| f64::from(x));
        let mean = wide().sum::<f64>() / values.len() as f64;
        Statistics {
            count: values.len() as u32,
            min: values.iter().copied().fold(f32::MAX, f32::min),
            max: values.iter().copied().fold(f32::MIN, f32::max),
            mean,
            squares: wide().map(|x| (x - mean) * (x - mean)).sum(),
        }
    }

    #[test]
    fn running_statistics_are_those_of_all_values_so_far() {
        for key in [|date| date / 10_000, |date| date / 100 % 100] {
            let (keys, values) = read(RECORD, key).unwrap();
            let running = Scanner::new().unwrap().scan(Merge).by_keys(&keys).run(&values).unwrap();
            let mut start = 0;
            for (i, statistics) in running.iter().enumerate() {
                start = if keys[start] == keys[i] { start } else { i };
                let expected = in_two_passes(&values[start..=i]);
                let Statistics { count, min, max, .. } = expected;
                assert_eq!((statistics.count, statistics.min, statistics.max), (count, min, max), "row {i}");
                assert!((statistics.mean - expected.mean).abs() < 1e-9, "row {i}");
                assert!((statistics.variance() - expected.variance()).abs() < 1e-9, "row {i}");
            }
        }
    }

    #[test]
    fn the_last_of_each_key_has_all_its_values() {
        let keys = [1958, 1958, 1959, 1961];
        let running = Scanner::cpu().scan(Merge).by_keys(&keys).run(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        let counts: Vec<_> = last_of_each(&keys, &running).iter().map(|(key, all)| (*key, all.count)).collect();
        assert_eq!(counts, [(1958, 2), (1959, 1), (1961, 1)]);
    }
}

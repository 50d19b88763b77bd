//! The four scans, and the same curves by the loops that everyone would write.

use scan_runtime::{Error, Scanner};

use crate::operators::{Affine, Fall, Moments, compose, deepest, higher, merge};
use crate::record::Week;

/// One value per week, from the first observation on.
pub struct Curves {
    pub record_high: Vec<f64>,
    pub moments: Vec<Moments>,
    pub smoothed: Vec<f64>,
    pub largest_fall: Vec<f64>,
}

impl Curves {
    /// Runs the four scans. A missing week is the identity of each: it changes no result, and has one nonetheless.
    pub fn scan(scanner: &Scanner, weeks: &[Week], alpha: f64) -> Result<Self, Error> {
        let x: Vec<f64> = weeks.iter().map(|week| week.co2.unwrap_or(f64::NEG_INFINITY)).collect();
        let record_high = scanner.scan(higher).run(&x)?;

        let x: Vec<Moments> = weeks.iter().map(|week| week.co2.map_or(Moments::NONE, Moments::of)).collect();
        let moments = scanner.scan(merge).run(&x)?;

        let mut x: Vec<Affine> =
            weeks.iter().map(|week| week.co2.map_or(Affine::SAME, |x| Affine::step(alpha, x))).collect();
        if let Some((first, co2)) = x.first_mut().zip(weeks.first().and_then(|week| week.co2)) {
            *first = Affine::start(co2);
        }
        // All smoothing from the start on, applied to nothing: what is left is `b`.
        let smoothed = scanner.scan(compose).run(&x)?.into_iter().map(|steps| steps.b).collect();

        let x: Vec<Fall> = weeks.iter().map(|week| week.co2.map_or(Fall::NONE, Fall::of)).collect();
        let largest_fall = scanner.scan(deepest).run(&x)?.into_iter().map(|fall| fall.fall).collect();

        Ok(Curves { record_high, moments, smoothed, largest_fall })
    }

    /// The curves by one loop over the weeks, with the update formulas of textbooks and no operator.
    pub fn by_loop(weeks: &[Week], alpha: f64) -> Self {
        let mut curves =
            Curves { record_high: Vec::new(), moments: Vec::new(), smoothed: Vec::new(), largest_fall: Vec::new() };
        let (mut high, mut count, mut mean, mut m2) = (f64::NEG_INFINITY, 0.0, 0.0, 0.0);
        let (mut smoothed, mut largest_fall) = (0.0, 0.0_f64);
        for week in weeks {
            if let Some(x) = week.co2 {
                high = high.max(x);
                largest_fall = largest_fall.max(high - x);
                smoothed = if count == 0.0 { x } else { (1.0 - alpha) * smoothed + alpha * x };
                // Welford (1962).
                count += 1.0;
                let delta = x - mean;
                mean += delta / count;
                m2 += delta * (x - mean);
            }
            curves.record_high.push(high);
            curves.moments.push(Moments { count, mean, m2 });
            curves.smoothed.push(smoothed);
            curves.largest_fall.push(largest_fall);
        }
        curves
    }

    /// Compares the curves with others: maxima and falls bit for bit, the rest up to rounding, since a scan adds in
    /// another order than a loop. Returns the largest difference, as a part of the largest value.
    pub fn compare(&self, other: &Curves) -> Result<f64, String> {
        same("record high", &self.record_high, &other.record_high)?;
        same("largest fall", &self.largest_fall, &other.largest_fall)?;
        let part = |curves: &Curves, of: fn(&Moments) -> f64| curves.moments.iter().map(of).collect::<Vec<_>>();
        same("count", &part(self, |m| m.count), &part(other, |m| m.count))?;
        let mean = close("mean", &part(self, |m| m.mean), &part(other, |m| m.mean))?;
        let squares = close("sum of squares", &part(self, |m| m.m2), &part(other, |m| m.m2))?;
        let smoothed = close("smoothed curve", &self.smoothed, &other.smoothed)?;
        Ok(mean.max(squares).max(smoothed))
    }
}

fn same(what: &str, a: &[f64], b: &[f64]) -> Result<(), String> {
    if a == b { Ok(()) } else { Err(format!("the {what} differs from that of the sequential loop")) }
}

/// More than rounding in a few thousand sums can explain, less than any mistake makes.
const TOLERANCE: f64 = 1e-10;

fn close(what: &str, a: &[f64], b: &[f64]) -> Result<f64, String> {
    let scale = b.iter().fold(f64::MIN_POSITIVE, |largest, b| largest.max(b.abs()));
    let differences = || a.iter().zip(b).map(|(a, b)| (a - b).abs() / scale);
    let largest = differences().fold(0.0, f64::max);
    // Asked of each, since the maximum passes over a NaN.
    if a.len() == b.len() && differences().all(|difference| difference <= TOLERANCE) {
        Ok(largest)
    } else {
        Err(format!("the {what} differs from that of the sequential loop by {largest:.1e} of its largest value"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record;

    fn weeks() -> Vec<Week> {
        record::read(include_bytes!("../data/mauna_loa_co2.csv").as_slice()).unwrap()
    }

    #[test]
    fn the_scans_agree_with_the_loops() {
        let scanner = Scanner::cpu();
        let scanned = Curves::scan(&scanner, &weeks(), 0.02).unwrap();
        assert!(scanned.compare(&Curves::by_loop(&weeks(), 0.02)).unwrap() < 1e-12);
    }

    #[test]
    fn a_wrong_curve_is_noticed() {
        let right = Curves::by_loop(&weeks(), 0.02);
        for spoil in [
            (|curves| curves.record_high[700] += 0.1) as fn(&mut Curves),
            |curves| curves.largest_fall[2283] -= 0.1,
            |curves| curves.moments[1000].m2 *= 1.001,
            |curves| curves.moments[1000].mean = f64::NAN,
            |curves| curves.smoothed[12] += 0.001,
        ] {
            let mut wrong = Curves::by_loop(&weeks(), 0.02);
            spoil(&mut wrong);
            assert!(wrong.compare(&right).is_err());
        }
    }
}

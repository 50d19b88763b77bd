//! A polynomial of a million coefficients at many points: Horner's rule in parallel.
//!
//! The loop that one would write, for each point `x`, from the highest coefficient:
//!
//! ```text
//! for a in coefficients { value = value * x + a }
//! ```
//!
//! A part of the coefficients is a polynomial itself, and moves what comes before it up by as many powers as it has
//! coefficients:
//!
//! ```text
//! combine(a, b) = (a.len + b.len, a.value · x^b.len + b.value)
//! ```
//!
//! That is the concatenation of coefficients, which is associative. One more coefficient is Horner's step, so the scan
//! does what the loop does; powers are computed only where parts meet. A state has sixteen points, and each coefficient
//! is read once for all of them. `.rows(n)` evaluates many polynomials, and a scan in place of the reduction gives the
//! values of all prefixes, which are the hashes of a rolling hash.
//!
//! The numbers are those of the field modulo 2³¹ − 1, as in Reed–Solomon codes and secret sharing, so that the result
//! is exact.
//!
//! Sources: W. S. Dorn, *Generalizations of Horner's Rule for Polynomial Evaluation*, 1962; G. Estrin, *Organization of
//! Computer Systems*, 1960.

use scan_runtime::{Error, ScanOp, Scanner, scan_element, scan_fn, scan_op};

use crate::report::{Outcome, Report, check, mixed};

const MODULUS: u32 = (1 << 31) - 1;
const POINTS: usize = 16;

/// `a · b + c` modulo [`MODULUS`], of numbers below it.
#[scan_fn]
fn times_and(a: u32, b: u32, c: u32) -> u32 {
    let sum = a as u64 * b as u64 + c as u64;
    // 2³¹ is 1.
    let folded = (sum >> 31) as u32 + (sum as u32 & MODULUS);
    u32::min(folded, folded.wrapping_sub(MODULUS))
}

#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    values: [u32; POINTS],
    len: u32,
}

/// The values of a polynomial at some points.
#[derive(Clone)]
struct Horner {
    points: [u32; POINTS],
}

#[scan_op(laws(operator = Horner { points: points() }, samples = [0, 1, MODULUS - 1, 12345]))]
impl ScanOp for Horner {
    type Input = u32;
    type State = Part;
    type Output = [u32; POINTS];
    const IDENTITY: Part = Part { len: 0, values: [0; POINTS] };
    fn lift(a: u32) -> Part {
        Part { len: 1, values: [a; POINTS] }
    }
    #[inline(always)]
    fn append(&self, part: Part, a: u32) -> Part {
        let mut after = Part { len: part.len + 1, values: part.values };
        for i in 0..POINTS {
            after.values[i] = times_and(part.values[i], self.points[i], a);
        }
        after
    }
    fn combine(&self, a: Part, b: Part) -> Part {
        // The powers that are bits of the length.
        let (mut values, mut power, mut left) = (a.values, self.points, b.len);
        while left > 0 {
            for i in 0..POINTS {
                values[i] = if left & 1 == 1 { times_and(values[i], power[i], 0) } else { values[i] };
                power[i] = times_and(power[i], power[i], 0);
            }
            left >>= 1;
        }
        for i in 0..POINTS {
            values[i] = times_and(values[i], 1, b.values[i]);
        }
        Part { values, len: a.len + b.len }
    }
    fn project(part: Part) -> [u32; POINTS] {
        part.values
    }
}

fn points() -> [u32; POINTS] {
    std::array::from_fn(|i| mixed(i as u64) as u32 % MODULUS)
}

fn evaluate(scanner: &Scanner, points: [u32; POINTS], coefficients: &[u32]) -> Result<[u32; POINTS], Error> {
    scanner.reduce(Horner { points }).run(coefficients)
}

/// The plain loop, also for all points at once.
fn evaluate_in_a_loop(points: [u32; POINTS], coefficients: &[u32]) -> [u32; POINTS] {
    let mut values = [0; POINTS];
    for &a in coefficients {
        for (value, point) in values.iter_mut().zip(points) {
            *value = times_and(*value, point, a);
        }
    }
    values
}

pub fn run(scanner: &Scanner, len: usize) -> Outcome {
    let coefficients: Vec<u32> = (0..len as u64).map(|i| mixed(i) as u32 % MODULUS).collect();
    let (mut ours, mut expected) = ([0; POINTS], [0; POINTS]);
    let mut report = Report::default();
    report.time(
        "values at 16 points, coefficients",
        len,
        || expected = evaluate_in_a_loop(points(), &coefficients),
        || evaluate(scanner, points(), &coefficients).map(|values| ours = values),
    )?;
    check(ours == expected, "values")?;
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_a_loop() {
        for len in [0, 1, 2, 100_000] {
            run(&Scanner::cpu(), len).unwrap();
        }
    }

    #[test]
    fn a_polynomial_is_zero_at_its_roots() {
        // (x - 2)(x - 3) = x² - 5x + 6
        let mut points = points();
        [points[3], points[4], points[5]] = [2, 3, 4];
        let values = evaluate(&Scanner::cpu(), points, &[1, MODULUS - 5, 6]).unwrap();
        assert_eq!(values[3..6], [0, 0, 2]);
    }
}

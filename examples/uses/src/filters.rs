//! A bank of filters: cascades of two second-order sections, each in one pass over the signal.
//!
//! The loop that one would write, for a section with two delayed values `z`:
//!
//! ```text
//! y = b0 * x + z[0];
//! z = [b1 * x - a1 * y + z[1], b2 * x - a2 * y];
//! ```
//!
//! A cascade puts `y` into the next section. All delayed values together are one vector `z`, which an input moves on by
//! an affine map, `z ↦ A·z + B·x`. Affine maps compose, which is associative. Since `A` is the same for each input, the
//! map of a part is its number of inputs `n`, which stands for `Aⁿ`, and its effect `rest` on a `z` of zeros:
//!
//! ```text
//! combine(a, b) = (a.n + b.n, A^b.n · a.rest + b.rest)
//! ```
//!
//! So one more input costs no more than in the loop: `append` is the loop's step. Only where parts meet, vectors are
//! multiplied by powers of `A`, which are products of `A¹, A², A⁴, …` in a table. That is what makes recurrences of
//! higher order cheap; maps with coefficients that change need the whole matrix as state, as in the gallery's
//! [`Oscillator`](scan_runtime::gallery::second_order_recurrence::Oscillator), or in
//! [`Smoothing`](scan_runtime::gallery::linear_recurrence::Smoothing) for the first order.
//!
//! Coefficients and table are fields of the operator, so all filters of the bank are one compiled kernel. The filters
//! are stable, so powers of `A` become small, and nothing overflows.
//!
//! With `.any_grouping()` the last bits may depend on the number of threads of a CPU, and one thread takes the loop.
//! Without it, each thread also computes the effect of its parts, and one thread takes 1.5 times as long.
//!
//! Sources: P. M. Kogge and H. S. Stone, *A Parallel Algorithm for the Efficient Solution of a General Class of
//! Recurrence Equations*, 1973; the coefficients are those of R. Bristow-Johnson, *Audio EQ Cookbook*.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use scan_runtime::{ScanOp, Scanner, Table, scan_element, scan_fn, scan_op};

use crate::report::{Outcome, Report, check, close, curves, mixed};

/// The delayed values of two sections.
type Delayed = [f64; 4];

/// For each of two sections `b0`, `b1`, `b2`, `a1` and `a2`.
type Sections = [[f64; 5]; 2];

/// What one input gives.
#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Filtered {
    z: Delayed,
    y: f64,
}

#[scan_fn]
fn filter(sections: Sections, z: Delayed, x: f64) -> Filtered {
    let mut after = Filtered { z, y: x };
    for i in 0..2_usize {
        let (c, x) = (sections[i], after.y);
        let y = c[0] * x + z[2 * i];
        after.z[2 * i] = c[1] * x - c[3] * y + z[2 * i + 1];
        after.z[2 * i + 1] = c[2] * x - c[4] * y;
        after.y = y;
    }
    after
}

#[scan_fn]
fn times(a: [Delayed; 4], z: Delayed) -> Delayed {
    let mut product = z;
    for i in 0..4_usize {
        product[i] = a[i][0] * z[0] + a[i][1] * z[1] + a[i][2] * z[2] + a[i][3] * z[3];
    }
    product
}

#[scan_fn]
fn add(a: Delayed, b: Delayed) -> Delayed {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
}

/// The map z ↦ Aⁿ·z + rest.
#[scan_element]
#[derive(Clone, Copy, Debug)]
struct Part {
    n: u32,
    rest: Delayed,
}

#[derive(Clone)]
struct Cascade {
    sections: Sections,
    /// Power 2ⁱ of A.
    powers: Table<[Delayed; 4]>,
}

#[scan_op]
impl ScanOp for Cascade {
    type Input = f64;
    // The loop.
    type Carry = Delayed;
    type Output = f64;
    const START: Delayed = [0.0, 0.0, 0.0, 0.0];
    fn advance(&self, z: Delayed, x: f64) -> (Delayed, f64) {
        let filtered = filter(self.sections, z, x);
        (filtered.z, filtered.y)
    }
    // What a part of the signal does to any delayed values.
    type State = Part;
    const IDENTITY: Part = Part { n: 0, rest: [0.0, 0.0, 0.0, 0.0] };
    fn lift(&self, x: f64) -> Part {
        Part { n: 1, rest: filter(self.sections, Self::START, x).z }
    }
    fn append(&self, part: Part, x: f64) -> Part {
        Part { n: part.n + 1, rest: filter(self.sections, part.rest, x).z }
    }
    fn combine(&self, a: Part, b: Part) -> Part {
        let mut z = a.rest;
        for i in 0..32_u32 {
            if b.n >> i & 1 == 1 {
                z = times(self.powers[i as usize], z);
            }
        }
        Part { n: a.n + b.n, rest: add(z, b.rest) }
    }
    fn apply(&self, part: Part, z: Delayed) -> Delayed {
        let mut after = z;
        for i in 0..32_u32 {
            if part.n >> i & 1 == 1 {
                after = times(self.powers[i as usize], after);
            }
        }
        add(after, part.rest)
    }
}

impl Cascade {
    fn new(sections: Sections) -> Self {
        // Column `j` of A is what a step without input makes of unit vector `j`.
        let unit = |j: usize| std::array::from_fn(|i| f64::from(u8::from(i == j)));
        let columns: [Delayed; 4] = std::array::from_fn(|j| filter(sections, unit(j), 0.0).z);
        let mut power: [Delayed; 4] = std::array::from_fn(|i| columns.map(|column| column[i]));
        let square = |a: &[Delayed; 4]| a.map(|row| std::array::from_fn(|j| (0..4).map(|k| row[k] * a[k][j]).sum()));
        let powers = (0..32).map(|_| {
            let this = power;
            power = square(&power);
            this
        });
        Cascade { sections, powers: powers.collect() }
    }
}

/// A section that lets pass what is below (or above) a frequency, in units of the sampling rate.
fn section(low: bool, frequency: f64, q: f64) -> [f64; 5] {
    let (sin, cos) = (2.0 * PI * frequency).sin_cos();
    let (alpha, edge) = (sin / (2.0 * q), if low { 1.0 - cos } else { 1.0 + cos });
    let b1 = if low { edge } else { -edge };
    [edge / 2.0, b1, edge / 2.0, -2.0 * cos, 1.0 - alpha].map(|c| c / (1.0 + alpha))
}

/// Below, between and above two frequencies.
fn bank() -> [(&'static str, Cascade); 3] {
    let (flat, butterworth) = (FRAC_1_SQRT_2, [0.5412, 1.3066]);
    [
        ("low", Cascade::new(butterworth.map(|q| section(true, 0.01, q)))),
        ("band", Cascade::new([section(false, 0.01, flat), section(true, 0.1, flat)])),
        ("high", Cascade::new(butterworth.map(|q| section(false, 0.1, q)))),
    ]
}

pub fn run(scanner: &Scanner, len: usize) -> Outcome {
    let signal: Vec<f64> = (0..len as u64).map(|i| (mixed(i) % 2001) as f64 / 1000.0 - 1.0).collect();
    let (mut ours, mut expected) = ([(); 3].map(|()| vec![0.0; len]), [(); 3].map(|()| vec![0.0; len]));
    let bank = bank();
    let mut report = Report::default();
    report.time(
        "three filters of fourth order",
        len,
        || {
            for ((_, cascade), output) in bank.iter().zip(&mut expected) {
                let mut z = [0.0; 4];
                for (to, x) in output.iter_mut().zip(&signal) {
                    let filtered = filter(cascade.sections, z, *x);
                    (z, *to) = (filtered.z, filtered.y);
                }
            }
        },
        || {
            let mut outputs = bank.iter().zip(&mut ours);
            outputs.try_for_each(|((_, cascade), output)| {
                scanner.scan(cascade.clone()).any_grouping().run_into(&signal, output)
            })
        },
    )?;
    check(ours.iter().zip(&expected).all(|(ours, expected)| close(ours, expected, 1e-9)), "filtered signals")?;

    // The answer to a pulse, and what is in it of each frequency, in decibels.
    let pulse: Vec<f64> = (0..2_000).map(|i| f64::from(u8::from(i == 0))).collect();
    let mut responses = Vec::new();
    for ((name, cascade), colour) in bank.into_iter().zip(["steelblue", "seagreen", "firebrick"]) {
        let answer = scanner.scan(cascade).run(&pulse)?;
        let point = |i: i32| {
            let frequency = 0.001 * 500_f64.powf(f64::from(i) / 200.0);
            let wave = |i: usize| (2.0 * PI * frequency * i as f64).sin_cos();
            let sum = |(s, c): (f64, f64), (i, y): (usize, &f64)| (s + y * wave(i).0, c + y * wave(i).1);
            let (s, c) = answer.iter().enumerate().fold((0.0, 0.0), sum);
            [frequency.ln(), (10.0 * (s * s + c * c).log10()).max(-60.0)]
        };
        responses.push((name, colour, (0..200).map(point).collect()));
    }
    report.picture = Some(curves("Gain from -60 dB, by the logarithm of the frequency", &responses));
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scan_runtime::laws;

    #[test]
    fn cascades_keep_the_laws() {
        for (_, cascade) in bank() {
            laws::Check::default().tolerance(1e-9).run(&cascade, [1.0, -0.5, 0.0, 2.0]).unwrap();
        }
    }

    #[test]
    fn signals_are_filtered_as_by_loops() {
        for len in [0, 1, 3, 50_000] {
            run(&Scanner::cpu(), len).unwrap();
        }
    }

    #[test]
    fn a_low_pass_leaves_a_constant_and_takes_an_alternation() {
        let filtered = |signal: [f64; 2]| {
            let [(_, low), ..] = bank();
            Scanner::cpu().scan(low).run(&signal.repeat(2_000)).unwrap()[3_999]
        };
        assert!((filtered([1.0, 1.0]) - 1.0).abs() < 1e-9 && filtered([1.0, -1.0]).abs() < 1e-6);
    }
}

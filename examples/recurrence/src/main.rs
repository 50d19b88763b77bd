//! A layer of a state-space model: h[t] = a[t]·h[t-1] + b[t], for every sequence of a batch at once.

use std::error::Error;

use scan_runtime::{ScanOp, Scanner, scan_element, scan_op};

/// The step h ↦ a·h + b.
#[scan_element]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    /// How much of the state is kept.
    a: f32,
    /// What is added to it.
    b: f32,
}

/// Does one step after the other. The result of several is a step again; what it makes of h = 0 is its `b`.
struct Recurrence;

#[scan_op(laws(samples = steps(1, 16)))]
impl ScanOp for Recurrence {
    type Input = Step;
    type State = Step;
    type Output = f32;
    const IDENTITY: Step = Step { a: 1.0, b: 0.0 };
    fn combine(f: Step, g: Step) -> Step {
        Step { a: f.a * g.a, b: g.a * f.b + g.b }
    }
    fn project(f: Step) -> f32 {
        f.b
    }
}

/// A batch of sequences, one behind the other. The gate of each step depends on what it reads, as in a selective model.
fn steps(sequences: usize, len: usize) -> Vec<Step> {
    let step = |sequence: usize, t: usize| {
        let x = (0.05 * t as f32 + sequence as f32).sin();
        let kept = 1.0 / (1.0 + (-3.0 - x).exp());
        Step { a: kept, b: (1.0 - kept) * x }
    };
    (0..sequences).flat_map(|sequence| (0..len).map(move |t| step(sequence, t))).collect()
}

/// The same by a loop, in `f64`.
fn by_a_loop(steps: &[Step], len: usize) -> Vec<f64> {
    let states = steps.chunks(len).flat_map(|row| {
        row.iter().scan(0.0, |h, step| {
            *h = f64::from(step.a) * *h + f64::from(step.b);
            Some(*h)
        })
    });
    states.collect()
}

/// The largest difference.
fn difference(states: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(states.len(), expected.len());
    states.iter().zip(expected).map(|(&h, expected)| (f64::from(h) - expected).abs()).fold(0.0, f64::max)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (sequences, len) = (64, 4096);
    let steps = steps(sequences, len);

    let scanner = Scanner::new()?;
    let states = scanner.scan(Recurrence).rows(len).run(&steps)?;

    println!("{sequences} sequences of {len} steps on {}", scanner.backend());
    for (sequence, row) in states.chunks(len).enumerate().take(3) {
        println!("sequence {sequence} ends at {:+.4}", row[len - 1]);
    }
    println!("at most {:.0e} from a loop", difference(&states, &by_a_loop(&steps, len)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sequence_is_that_of_a_loop() {
        let scanner = Scanner::new().unwrap();
        for (sequences, len) in [(1, 1), (5, 1), (1, 1000), (7, 333), (100, 2048)] {
            let steps = steps(sequences, len);
            let states = scanner.scan(Recurrence).rows(len).run(&steps).unwrap();
            assert!(difference(&states, &by_a_loop(&steps, len)) < 1e-5, "{sequences} sequences of {len} steps");
        }
    }

    #[test]
    fn a_batch_has_whole_sequences() {
        let error = Scanner::cpu().scan(Recurrence).rows(10).run(&steps(1, 25)).unwrap_err();
        assert!(error.to_string().contains("25"), "{error}");
    }
}

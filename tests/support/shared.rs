//! One scanner in several threads at once.

use std::{error::Error, thread};

use scan_runtime::{Axis, Scanner, ops};

use crate::operators::{Interval, PolynomialHash, Span, TestOperator, bits, inputs, mixed};

/// What one thread computes, in the order of `turn`: results as bytes.
fn results(scanner: &Scanner, turn: usize) -> Result<Vec<Vec<u8>>, scan_runtime::Error> {
    let (rows, row) = (200 + turn, 150);
    let hashes = inputs::<PolynomialHash>(rows * row);
    let spans: Vec<Span> = inputs::<Interval>(40_000 + turn);
    let numbers: Vec<u64> = (0..(rows * row) as u64).map(|i| mixed(i + turn as u64)).collect();
    let flags: Vec<bool> = (0..spans.len() as u64).map(|i| mixed(i).is_multiple_of(77)).collect();
    let offsets: Vec<u32> = (0..=rows as u32).map(|index| index * row as u32).collect();
    let values: Vec<u64> = (0..rows as u64).collect();
    let down = Axis::of(&[rows, row], 0)?;
    let sums = ops::sum::<u64>;
    let run = |kind: usize| {
        Ok::<_, scan_runtime::Error>(match kind {
            0 => bits(&scanner.scan(PolynomialHash).run(&hashes)?),
            1 => bits(&scanner.scan(Interval).exclusive().init(Interval::initial_value()).run(&spans)?),
            2 => bits(&scanner.scan(Interval).reverse().by_flags(&flags).run(&spans)?),
            3 => bits(&scanner.scan(sums()).along(down.clone()).run(&numbers)?),
            4 => bits(&[scanner.reduce(sums()).run(&numbers)?]),
            5 => bits(&scanner.reduce(sums()).by_offsets(&offsets).run(&numbers)?),
            6 => {
                let (results, totals) =
                    scanner.scan(sums()).rows(row).init_each(&values).with_totals().run(&numbers)?;
                [bits(&results), bits(&totals)].concat()
            }
            _ => {
                let mut buffer = numbers.clone();
                scanner.scan(sums()).run_in_place(&mut buffer)?;
                bits(&buffer)
            }
        })
    };
    // Each thread begins with another kind, so that all kinds meet.
    let mut results: Vec<(usize, Vec<u8>)> = (0..8)
        .map(|k| (k + turn) % 8)
        .map(|kind| Ok((kind, run(kind)?)))
        .collect::<Result<_, scan_runtime::Error>>()?;
    results.sort_by_key(|(kind, _)| *kind);
    Ok(results.into_iter().map(|(_, bytes)| bytes).collect())
}

/// Compares what eight threads compute by one scanner at once, several times, with what the CPU does by itself.
///
/// # Errors
///
/// What goes wrong.
pub fn in_eight_threads(scanner: &Scanner) -> Result<(), Box<dyn Error>> {
    let expected = (0..8).map(|turn| results(&Scanner::cpu(), turn)).collect::<Result<Vec<_>, _>>()?;
    let of_thread = |turn: usize| {
        for run in 0..3 {
            let found = results(scanner, turn).map_err(|error| format!("thread {turn}, run {run}: {error}"))?;
            if let Some(kind) = (0..8).find(|&kind| found[kind] != expected[turn][kind]) {
                return Err(format!("thread {turn}, run {run}: kind {kind} is wrong"));
            }
        }
        Ok(())
    };
    let outcomes: Vec<Result<(), String>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|turn| scope.spawn(move || of_thread(turn))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err("a panic".to_owned()))).collect()
    });
    Ok(outcomes.into_iter().collect::<Result<(), String>>()?)
}

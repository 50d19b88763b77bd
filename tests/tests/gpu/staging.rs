//! Host memory on its way to the device and back: every size, in pieces of every length, from many threads at once.

use std::thread;

use scan_runtime::{ScanKind, ScanOp, Scanner, Staging, ops, scan_op};
use scan_tests::operators::{Interval, PolynomialHash, TestOperator, inputs, mixed};

use crate::{Outcome, Trials, ensure};

/// Results longer than elements, and longer than sums.
#[derive(Clone, Copy)]
struct Widens;

#[scan_op]
impl ScanOp for Widens {
    type Input = u8;
    type State = u32;
    type Output = [u64; 3];
    const IDENTITY: u32 = 0;
    fn lift(x: u8) -> u32 {
        x as u32
    }
    fn combine(a: u32, b: u32) -> u32 {
        a + b
    }
    fn project(sum: u32) -> [u64; 3] {
        [sum as u64, 1, !(sum as u64)]
    }
}

pub(crate) fn add(trials: &mut Trials) {
    let default = Staging::default();
    for (name, staging) in [
        ("as_usual", default),
        ("all_mapped", default.with_mapped_bytes(usize::MAX)),
        ("nothing_mapped", default.with_mapped_bytes(0)),
        ("short_pieces", default.with_mapped_bytes(100).with_piece_bytes(4000)),
        ("odd_pieces", default.with_mapped_bytes(1).with_piece_bytes(100_003).with_kept_bytes(0)),
        ("chunks", default.with_chunk_bytes(40_000)),
        ("chunks_of_pieces", default.with_mapped_bytes(0).with_piece_bytes(9_000).with_chunk_bytes(100_000)),
    ] {
        trials.add(format!("staging_{name}"), move || every_kind(staging));
    }
    trials.add("staging_threads_at_once", threads_at_once);
    trials.add("chunks_in_every_way", chunks);
    trials.add("large_staging", large);
}

fn every_kind(staging: Staging) -> Outcome {
    let (scanner, cpu) = (Scanner::builder().device(0).staging(staging).build()?, Scanner::cpu());
    let longest = 1_000_003;
    let bytes: Vec<u8> = (0..longest as u64).map(|i| mixed(i) as u8).collect();
    let hashes = inputs::<PolynomialHash>(longest);
    // Up and down, so that memory is kept, too small, and large enough.
    for len in [1, 3, 100, 65_535, 20, 65_537, 300_000, 7, longest, 1000, 70_000] {
        let what = |kind: &str| format!("{kind}, {len} elements");
        let (scan, expected) = (scanner.scan(PolynomialHash), cpu.scan(PolynomialHash).run(&hashes[..len])?);
        ensure(scan.run(&hashes[..len])? == expected, || what("run"))?;
        let mut buffer = hashes[..len].to_vec();
        scan.run_in_place(&mut buffer)?;
        ensure(buffer == expected, || what("in place"))?;
        let (output, total) = scan.run_with_total(&hashes[..len])?;
        ensure(output == expected && total == expected.last().copied(), || what("with total"))?;
        ensure(Some(scanner.reduce(PolynomialHash).run(&hashes[..len])?) == total, || what("reduction"))?;

        let wide = cpu.scan(Widens).exclusive().run(&bytes[..len])?;
        // A guard at the end, which nobody may touch.
        let mut guarded = vec![[7; 3]; len + 1];
        scanner.scan(Widens).exclusive().run_into(&bytes[..len], &mut guarded[..len])?;
        ensure(guarded[..len] == wide && guarded[len] == [7; 3], || what("wider results"))?;

        let keys: Vec<u16> = (0..len as u64).map(|i| (mixed(i / 50) % 3) as u16).collect();
        let by_keys = cpu.scan(PolynomialHash).by_keys(&keys).run(&hashes[..len])?;
        ensure(scanner.scan(PolynomialHash).by_keys(&keys).run(&hashes[..len])? == by_keys, || what("by keys"))?;
    }
    Ok(())
}

/// Results do not depend on the chunks: in both directions, with an initial value, of rows, and of rows longer than a chunk.
fn chunks() -> Outcome {
    let staging = Staging::default().with_chunk_bytes(100_000);
    let (scanner, cpu) = (Scanner::builder().device(0).staging(staging).build()?, Scanner::cpu());
    let input = inputs::<PolynomialHash>(720_000);
    let initial_value = PolynomialHash::initial_value();
    for (kind, reversed, with_initial_value) in [
        (ScanKind::Inclusive, false, false),
        (ScanKind::Exclusive, false, true),
        (ScanKind::Inclusive, true, true),
        (ScanKind::Exclusive, true, false),
    ] {
        let scan_on = |scanner: &Scanner| {
            let scan = scanner.scan(PolynomialHash);
            let scan = if kind == ScanKind::Exclusive { scan.exclusive() } else { scan };
            let scan = if with_initial_value { scan.init(initial_value) } else { scan };
            if reversed { scan.reverse() } else { scan }
        };
        let what = |kind: &str| format!("{kind}, reversed: {reversed}");
        for len in [1, 12_500, 12_501, 719_999] {
            let found = scan_on(&scanner).run_with_total(&input[..len])?;
            ensure(found == scan_on(&cpu).run_with_total(&input[..len])?, || what("with total"))?;
        }
        for row in [1, 900, 12_000, 90_000] {
            let (mut found, expected) = (input.clone(), scan_on(&cpu).rows(row).run(&input)?);
            scan_on(&scanner).rows(row).run_in_place(&mut found)?;
            ensure(found == expected, || what("rows"))?;
        }
    }
    Ok(())
}

fn threads_at_once() -> Outcome {
    const THREADS: usize = 12;
    let scanner = Scanner::cuda(0)?;
    let intervals = inputs::<Interval>(400_000);
    let expected = Scanner::cpu().scan(Interval).run(&intervals)?;
    let numbers: Vec<u64> = (0..400_000).map(mixed).collect();
    let sums = Scanner::cpu().scan(ops::sum()).run(&numbers)?;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (scanner, intervals, expected, numbers, sums) = (&scanner, &intervals, &expected, &numbers, &sums);
                scope.spawn(move || -> Result<bool, scan_runtime::Error> {
                    let mut good = true;
                    for round in 0..20 {
                        let len = (mixed((thread * 100 + round) as u64) % 400_000) as usize + 1;
                        good &= match (thread + round) % 2 {
                            0 => scanner.scan(Interval).run(&intervals[..len])? == expected[..len],
                            _ => scanner.scan(ops::sum()).run(&numbers[..len])? == sums[..len],
                        };
                    }
                    Ok(good)
                })
            })
            .collect();
        for thread in threads {
            ensure(thread.join().map_err(|_| "a panic")??, || "a result is wrong".to_owned())?;
        }
        Ok(())
    })
}

fn large() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let input = inputs::<ops::Sum<u64>>(50_000_000);
    let expected = Scanner::cpu().scan(ops::sum()).run(&input)?;
    for _ in 0..3 {
        ensure(scanner.scan(ops::sum()).run(&input)? == expected, || "a result is wrong".to_owned())?;
    }
    Ok(())
}

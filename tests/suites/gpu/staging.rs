//! Host memory on its way to the device and back: every size, in pieces of every length, from many threads at once.

use std::{
    sync::{Arc, Mutex},
    thread,
};

use scan_runtime::{Axis, PageLocked, Scan, ScanKind, ScanOp, Scanner, Staging, ops, scan_op};
use scan_tests::operators::{Hash, Interval, PolynomialHash, TestOperator, inputs, mixed};

use crate::{Outcome, Trials, ensure};

/// Arrays in page-locked memory are inputs, outputs, keys and totals like any other, whole and in parts, and the memory
/// outlives its scanner.
fn page_locked() -> Outcome {
    let (scanner, cpu) = (Scanner::cuda(0)?, Scanner::cpu());
    let hashes = inputs::<PolynomialHash>(300_000);
    let keys: Vec<u32> = (0..hashes.len() as u32).map(|index| index / 1000).collect();
    let input = PageLocked::from_slice(&scanner, &hashes)?;
    let locked_keys = PageLocked::from_slice(&scanner, &keys)?;
    let mut output = PageLocked::filled(&scanner, hashes[0], hashes.len())?;
    let nothing = PageLocked::from_slice(&scanner, &hashes[..0])?;
    ensure(input.is_page_locked() && output.is_page_locked() && nothing.is_empty(), || "not page-locked".to_owned())?;
    ensure(*input == *hashes && output.iter().all(|hash| *hash == hashes[0]), || "the items of new arrays".to_owned())?;
    for part in [0..hashes.len(), 1..70_000, 299_999..300_000] {
        let expected = cpu.scan(PolynomialHash).by_keys(&keys[part.clone()]).run(&hashes[part.clone()])?;
        let scan = scanner.scan(PolynomialHash);
        scan.by_keys(&locked_keys[part.clone()]).run_into(&input[part.clone()], &mut output[part.clone()])?;
        ensure(output[part.clone()] == expected, || format!("{part:?} by keys"))?;
    }
    let expected = cpu.scan(PolynomialHash).run(&hashes)?;
    scanner.scan(PolynomialHash).run_into(&input, &mut output)?;
    ensure(*output == *expected, || "the whole".to_owned())?;
    let mut buffer = PageLocked::from_slice(&scanner, &hashes)?;
    scanner.scan(PolynomialHash).run_in_place(&mut buffer)?;
    ensure(*buffer == *expected, || "in place".to_owned())?;
    drop(scanner);
    let kept = thread::spawn(move || output.to_vec()).join().map_err(|_| "a thread panicked")?;
    ensure(kept == expected, || "after the scanner".to_owned())
}

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
    trials.add("staging_from_concurrent_threads", threads_at_once);
    trials.add("chunks_change_no_results", chunks);
    for way in 0..WAYS.len() {
        trials.add(format!("chunks_of_segments: {way}"), move || chunks_of_segments(way));
    }
    trials.add("chunks_of_reductions", chunks_of_reductions);
    trials.add("chunks_of_columns", chunks_of_columns);
    trials.add("chunks_report_progress", progress);
    trials.add("page_locked_arrays", page_locked);
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
        let (output, total) = scan.with_total().run(&hashes[..len])?;
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
            let found = scan_on(&scanner).with_total().run(&input[..len])?;
            ensure(found == scan_on(&cpu).with_total().run(&input[..len])?, || what("with total"))?;
        }
        for row in [1, 900, 12_000, 90_000] {
            let (mut found, expected) = (input.clone(), scan_on(&cpu).rows(row).run(&input)?);
            scan_on(&scanner).rows(row).run_in_place(&mut found)?;
            ensure(found == expected, || what("rows"))?;
        }
    }
    Ok(())
}

/// Whether a scan is exclusive, whether it is reversed, and whether it has an initial value. Each way has kernels of its
/// own, which take seconds to compile.
const WAYS: [(bool, bool, bool); 2] = [(false, false, false), (true, true, true)];

/// A scan in one of these ways.
fn in_way((exclusive, reversed, with_initial_value): (bool, bool, bool), scanner: &Scanner) -> Scan<PolynomialHash> {
    let scan = scanner.scan(PolynomialHash);
    let scan = if exclusive { scan.exclusive() } else { scan };
    let scan = if with_initial_value { scan.init(PolynomialHash::initial_value()) } else { scan };
    if reversed { scan.reverse() } else { scan }
}

/// The two fields, each in an array of its own.
fn arrays(hashes: &[Hash]) -> [Vec<u32>; 2] {
    [hashes.iter().map(|hash| hash.power).collect(), hashes.iter().map(|hash| hash.hash).collect()]
}

/// The elements of inputs in chunks of which [`CHUNK`] bytes are on the device.
const LEN: usize = 200_000;
const CHUNK: usize = 100_000;

/// Segments of up to these many elements are shorter than a chunk, or some, or most of them are longer.
const LONGEST: [usize; 4] = [50, 3_000, 30_000, LEN];

/// The offsets of segments of up to so many elements, some of them empty.
fn offsets_of(longest: usize) -> Vec<usize> {
    let mut offsets = vec![0];
    while let Some(&last) = offsets.last().filter(|last| **last < LEN) {
        let is_empty = mixed(offsets.len() as u64).is_multiple_of(5);
        let len = if is_empty { 0 } else { mixed(last as u64) as usize % longest + 1 };
        offsets.push((last + len).min(LEN));
    }
    offsets.extend([LEN; 2]);
    offsets
}

/// A key for each element, another one for each segment.
fn keys_of(offsets: &[usize]) -> Vec<u32> {
    let mut keys = Vec::new();
    for (key, pair) in offsets.windows(2).enumerate() {
        keys.resize(pair[1], key as u32);
    }
    keys
}

fn in_chunks() -> Result<Scanner, scan_runtime::Error> {
    Scanner::builder().device(0).staging(Staging::default().with_chunk_bytes(CHUNK)).build()
}

/// Segments shorter and longer than a chunk, which end within chunks or with them, by every source of heads; with
/// initial values and totals of their own.
fn chunks_of_segments(way: usize) -> Outcome {
    let (scanner, cpu) = (in_chunks()?, Scanner::cpu());
    let (ours, expected) = (in_way(WAYS[way], &scanner), in_way(WAYS[way], &cpu));
    let input = inputs::<PolynomialHash>(LEN);
    let inputs = arrays(&input);
    for longest in LONGEST {
        let what = |by: &str| format!("{by}, up to {longest} elements");
        let offsets = offsets_of(longest);
        let keys = keys_of(&offsets);
        let mut flags = vec![false; LEN];
        offsets.iter().filter(|at| **at < LEN).for_each(|at| flags[*at] = true);
        let mut bits = vec![0_u32; LEN.div_ceil(32)];
        (0..LEN).filter(|at| flags[*at]).for_each(|at| bits[at / 32] |= 1 << (at % 32));
        let narrow: Vec<u32> = offsets.iter().map(|at| *at as u32).collect();
        let states = cpu.scan(PolynomialHash).run(&input[..offsets.len() - 1])?;

        let found = expected.by_flags(&flags).with_total().run(&input)?;
        ensure(ours.by_flags(&flags).with_total().run(&input)? == found, || what("flags"))?;
        ensure(ours.by_bits(&bits).with_total().run(&input)? == found, || what("bits"))?;
        ensure(ours.by_keys(&keys).with_total().run(&input)? == found, || what("keys"))?;
        ensure(ours.by_offsets(&narrow).run(&input)? == found.0, || what("offsets"))?;
        let mut outputs = [vec![0; LEN], vec![0; LEN]];
        let [powers, hashes] = &mut outputs;
        ours.by_flags(&flags).run_into((&inputs[0], &inputs[1]), (powers, hashes))?;
        ensure(outputs == arrays(&found.0), || what("arrays"))?;
        let found = expected.by_offsets(&offsets).with_totals().run(&input)?;
        ensure(ours.by_offsets(&offsets).with_totals().run(&input)? == found, || what("totals"))?;
        let found = expected.by_offsets(&offsets).init_each(&states).with_totals().run(&input)?;
        let each = ours.by_offsets(&narrow).init_each(&states);
        ensure(each.clone().with_totals().run(&input)? == found, || what("initial values"))?;
        let mut buffer = input.clone();
        let handle = each.prepare(LEN)?;
        handle.by_offsets(&narrow).init_each(&states).run_in_place(&mut buffer)?;
        ensure(buffer == found.0, || what("prepared"))?;
    }
    for row in [1_000, 50_000] {
        let states = cpu.scan(PolynomialHash).run(&input[..LEN / row])?;
        let found = expected.rows(row).init_each(&states).with_totals().run(&input)?;
        let ours = ours.rows(row).init_each(&states).with_totals().run(&input)?;
        ensure(ours == found, || format!("rows of {row}"))?;
    }
    Ok(())
}

fn chunks_of_reductions() -> Outcome {
    let (scanner, cpu) = (in_chunks()?, Scanner::cpu());
    let input = inputs::<PolynomialHash>(LEN);
    for longest in LONGEST {
        let (ours, expected) = (scanner.reduce(PolynomialHash), cpu.reduce(PolynomialHash));
        let what = |by: &str| format!("totals by {by}, up to {longest} elements");
        let offsets = offsets_of(longest);
        let keys = keys_of(&offsets);
        let found = ours.by_offsets(&offsets).run(&input)?;
        ensure(found == expected.by_offsets(&offsets).run(&input)?, || what("offsets"))?;
        ensure(ours.by_keys(&keys).run(&input)? == expected.by_keys(&keys).run(&input)?, || what("keys"))?;
    }
    let bytes: Vec<u8> = (0..LEN as u64).map(|i| mixed(i) as u8).collect();
    for reduce in [|scanner: &Scanner| scanner.reduce(Widens), |scanner: &Scanner| scanner.reduce(Widens).init(77)] {
        ensure(reduce(&scanner).run(&bytes)? == reduce(&cpu).run(&bytes)?, || "a reduction".to_owned())?;
    }
    Ok(())
}

/// Arrays that are cut along the scanned dimension, and along others.
fn chunks_of_columns() -> Outcome {
    let (scanner, cpu) = (in_chunks()?, Scanner::cpu());
    let apart = Axis::of(&[4, 5_000, 7], 1)?.strides(&[40_008, 8, 1])?;
    let longer = Axis::of(&[4, 900, 7], 0)?.input_strides(&[7_200, 8, 1])?;
    for axis in [
        Axis::of(&[3, 5_000, 7], 1)?,
        Axis::of(&[40, 100, 70], 1)?,
        Axis::of(&[30_000, 5], 0)?,
        Axis::of(&[2, 3, 40, 700], 2)?,
        Axis::of(&[1, 90_000, 1], 1)?,
        apart,
        longer,
        Axis::of(&[30_000, 5], 0)?.input_strides(&[-5, 1])?.output_strides(&[5, -1])?,
        Axis::of(&[3, 5_000, 7], 1)?.strides(&[-35_000, -7, 1])?,
    ] {
        let input = inputs::<PolynomialHash>(axis.input_len());
        let inputs = arrays(&input);
        let states = cpu.scan(PolynomialHash).run(&input[..axis.columns()])?;
        let mut found = vec![input[0]; axis.output_len()];
        let (mut expected, mut totals, mut sums) = (found.clone(), states.clone(), states.clone());
        for way in WAYS {
            let scans = [&scanner, &cpu].map(|scanner| in_way(way, scanner));
            let [ours, theirs] = [0, 1].map(|of| scans[of].along(axis.clone()));
            let what = |kind: &str| format!("{kind} {axis:?}, {way:?}");
            theirs.run_into(&input, &mut expected)?;
            ours.run_into(&input, &mut found)?;
            ensure(found == expected, || what("along"))?;
            let [mut powers, mut hashes] = arrays(&vec![input[0]; axis.output_len()]);
            ours.run_into((&inputs[0], &inputs[1]), (&mut powers, &mut hashes))?;
            ensure([powers, hashes] == arrays(&expected), || what("arrays along"))?;
            theirs.clone().init_each(&states).totals_into(&mut sums).run_into(&input, &mut expected)?;
            ours.clone().init_each(&states).totals_into(&mut totals).run_into(&input, &mut found)?;
            ensure((&found, &totals) == (&expected, &sums), || what("values and totals along"))?;
            if axis.lies_the_same() {
                let (mut found, mut expected) = (input.clone(), input.clone());
                ours.run_in_place(&mut found)?;
                theirs.run_in_place(&mut expected)?;
                ensure(found == expected, || what("in place along"))?;
            }
        }
    }
    Ok(())
}

/// Every element is reported once, in ascending numbers, and all of them at the end.
fn progress() -> Outcome {
    let input = inputs::<PolynomialHash>(LEN);
    let flags: Vec<bool> = (0..LEN).map(|at| at % 30_000 == 0).collect();
    let chunks =
        |bytes: usize| Scanner::builder().device(0).staging(Staging::default().with_chunk_bytes(bytes)).build();
    for (scanner, min) in [(chunks(100_000)?, 8), (chunks(usize::MAX)?, 1), (Scanner::cpu(), 1)] {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&reports);
        let scan = scanner.scan(PolynomialHash).with_progress(move |progress| {
            if let Ok(mut reports) = kept.lock() {
                reports.push((progress.done, progress.of));
            }
        });
        let taken = |what: &str| -> Outcome {
            let reports = std::mem::take(&mut *reports.lock().map_err(|_| "a panic")?);
            let ascends =
                reports.windows(2).all(|pair| pair[0].0 < pair[1].0) && reports.iter().all(|(_, of)| *of == LEN);
            let all = reports.last().is_some_and(|(done, _)| *done == LEN);
            let many = if min == 1 { reports.len() == 1 } else { reports.len() >= min };
            ensure(ascends && all && many, || format!("{what}: {reports:?}"))
        };
        scan.run(&input)?;
        taken("a scan")?;
        scan.by_flags(&flags).with_total().run(&input)?;
        taken("by flags")?;
        scan.rows(1_000).with_totals().run(&input)?;
        taken("rows")?;
        let ([x, y], [mut powers, mut hashes]) = (arrays(&input), arrays(&input));
        scan.clone().run_into((&x, &y), (&mut powers, &mut hashes))?;
        taken("arrays")?;
        scan.along(Axis::of(&[LEN / 2, 2], 0)?).run(&input)?;
        taken("an axis")?;
        scan.prepare(LEN)?.run_in_place(&mut input.clone())?;
        taken("prepared")?;
    }
    let ended = chunks(100_000)?.scan(PolynomialHash).with_progress(|_| std::ops::ControlFlow::Break(()));
    let found = ended.run(&input);
    let ends = matches!(&found, Err(scan_runtime::Error::Cancelled { done, of: LEN }) if (1..LEN).contains(done));
    ensure(ends, || format!("a break: {:?}", found.map(|hashes| hashes.len())))?;
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

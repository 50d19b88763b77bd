//! Many threads, many streams, many times.

use std::{sync::Barrier, thread};

use scan_runtime::{BlockScan, Carry, Network, ScanOp, Scanner, Strategy, TileNumbers, ops, scan_op};
use scan_tests::{
    configure,
    operators::{Interval, PolynomialHash, TestOperator, bits, first_difference, inputs},
    reference::WAYS,
};

use crate::{Outcome, Trials, cases::Case, ensure};

/// Used by one test only, so that its kernels cannot be there before.
#[derive(Clone, Copy)]
struct Untouched;

#[scan_op]
impl ScanOp for Untouched {
    type Element = u32;
    const IDENTITY: u32 = 0;
    fn combine(a: u32, b: u32) -> u32 {
        a.wrapping_add(b).wrapping_add(0)
    }
}

pub(crate) fn add(trials: &mut Trials) {
    trials.add("each_kernel_is_compiled_once", || {
        const THREADS: usize = 8;
        let scanner = Scanner::cuda(0)?;
        let barrier = Barrier::new(THREADS);
        let run = || -> Result<(), scan_runtime::Error> {
            // Half of them on a scanner of their own: the cubins are shared by the whole process.
            let own = Scanner::cuda(0)?;
            barrier.wait();
            for scanner in [&scanner, &own] {
                scanner.scan(Untouched).run(&[1, 2, 3])?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(run)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
        let stats = scanner.cache_stats();
        let compiled = stats.modules.iter().filter(|module| module.name.starts_with("Untouched:")).count();
        ensure(compiled == 1, || format!("compiled {compiled} times"))?;
        ensure(stats.hits >= 2 * THREADS as u64 - 1, || format!("{} hits", stats.hits))
    });
    trials.add("concurrent_streams", || {
        let scanner = Scanner::cuda(0)?;
        let context = scanner.context().ok_or("no context")?;
        let (hash_input, span_input) = (inputs::<PolynomialHash>(300_000), inputs::<Interval>(200_000));
        let hashes = Scanner::cpu().scan(PolynomialHash).run(&hash_input)?;
        let spans = Scanner::cpu().scan(Interval).run(&span_input)?;
        let (first, second) = (context.new_stream()?, context.new_stream()?);
        let (device_hashes, device_spans) = (first.clone_htod(&hash_input)?, second.clone_htod(&span_input)?);
        for _ in 0..50 {
            let a = scanner.scan(PolynomialHash).on(&first).run(&device_hashes)?;
            let b = scanner.scan(Interval).on(&second).run(&device_spans)?;
            ensure(first.clone_dtoh(&a)? == hashes, || "the first stream's result is wrong".to_owned())?;
            ensure(second.clone_dtoh(&b)? == spans, || "the second stream's result is wrong".to_owned())?;
        }
        Ok(())
    });
    trials.add("one_stream_feeds_another", || {
        let scanner = Scanner::cuda(0)?;
        let context = scanner.context().ok_or("no context")?;
        let (first, second) = (context.new_stream()?, context.new_stream()?);
        let input = inputs::<PolynomialHash>(2_000_000);
        let expected = Scanner::cpu().scan(PolynomialHash).run(&Scanner::cpu().scan(PolynomialHash).run(&input)?)?;
        for _ in 0..10 {
            let input = first.clone_htod(&input)?;
            let once = scanner.scan(PolynomialHash).on(&first).run(&input)?;
            let twice = scanner.scan(PolynomialHash).on(&second).run(&once)?;
            ensure(second.clone_dtoh(&twice)? == expected, || "the second scan did not wait for the first".to_owned())?;
        }
        Ok(())
    });
    trials.add("one_scanner_for_eight_threads", || scan_tests::shared::in_eight_threads(&Scanner::cuda(0)?));
    trials.add("floats_are_the_same_each_time", same_each_time);
    trials.add("large_look_ahead_many_times", || {
        many_times::<ops::Sum<i128>>()?;
        many_times::<Interval>()?;
        many_times::<PolynomialHash>()?;
        many_times::<ops::Sum<f32>>()?;
        many_times::<ops::Sum<u8>>()
    });
}

/// The same scan again and again, at the length where blocks have many rounds, apart and in place, beside another stream that
/// keeps the device busy: what happens once in a hundred runs is found.
fn many_times<Op: TestOperator>() -> Outcome {
    const RUNS: usize = 40;
    let scanner = Scanner::cuda(0)?;
    let context = scanner.context().ok_or("no context")?;
    let (stream, other) = (context.new_stream()?, context.new_stream()?);
    let case = Case::<Op>::shared();
    let len = case.longest();
    let input = stream.clone_htod(case.input(len))?;
    let noise = other.clone_htod(&vec![1_u32; 1 << 22])?;
    let strategy = Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry: Carry::LookAhead };
    for run in 0..RUNS {
        let way = run % 4;
        let scan = configure::<Op>(&scanner, WAYS[way]).strategy(strategy);
        let sums = scanner.scan(ops::sum()).on(&other).run(&noise)?;
        let output = if run % 3 == 0 {
            let mut buffer = input.clone();
            scan.on(&stream).run_in_place(&mut buffer)?;
            buffer
        } else {
            scan.on(&stream).run(&input)?
        };
        let (output, expected) = (stream.clone_dtoh(&output)?, case.expected(way, len));
        if let Some(first) = first_difference(&output, expected) {
            let wrong: Vec<usize> = (first..len).filter(|&i| bits(&output[i..=i]) != bits(&expected[i..=i])).collect();
            let plan = scan.plan()?;
            let name = std::any::type_name::<Op>();
            return Err(format!(
                "{name}, run {run}, {:?}: {} elements wrong, from {first} to {:?}; {plan}",
                WAYS[way],
                wrong.len(),
                wrong.last()
            )
            .into());
        }
        drop(sums);
    }
    Ok(())
}

/// Sums that depend on the grouping: in the strategies that promise it, the grouping does not depend on the run.
fn same_each_time() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let input: Vec<f32> = (0..3_000_000).map(|i| (scan_tests::operators::mixed(i) as u32 as f32) * 1.0e-6).collect();
    let carries = [Carry::OneBlock, Carry::ReduceThenScan, Carry::Chained(TileNumbers::Counter)];
    let strategies = carries.map(|carry| Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry });
    let at_all = Strategy { block: BlockScan::in_registers(), carry: Carry::LookAtAll };
    for strategy in strategies.into_iter().chain([at_all]) {
        let scan = scanner.scan(ops::sum()).strategy(strategy);
        let expected = bits(&scan.run(&input)?);
        for _ in 0..25 {
            ensure(bits(&scan.run(&input)?) == expected, || format!("two runs differ: {strategy}"))?;
        }
    }
    // Nor does it in the default, where its plans say so, nor where that is asked for.
    for scan in [scanner.scan(ops::sum()), scanner.scan(ops::sum()).deterministic()] {
        let plans = scan.plan()?;
        for len in [5_000, 40_000, 700_000, 1_800_000, 3_000_000] {
            let plan = plans.for_len(len as u64);
            let expected = bits(&scan.run(&input[..len])?);
            for _ in 0..if plan.strategy.is_deterministic() { 25 } else { 0 } {
                let same = bits(&scan.run(&input[..len])?) == expected;
                ensure(same, || format!("two runs of {len} elements differ:\n{plan}"))?;
            }
        }
    }
    Ok(())
}

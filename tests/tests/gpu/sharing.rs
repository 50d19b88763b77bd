//! Many threads, many streams, many times.

use std::{sync::Barrier, thread};

use scan_runtime::{BlockScan, Carry, Network, ScanOp, Scanner, Strategy, TileNumbers, ops, scan_op};
use scan_tests::operators::{Interval, PolynomialHash, bits, inputs};

use crate::{Outcome, Trials, ensure};

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
    trials.add("streams_at_once", || {
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
    trials.add("floats_are_the_same_each_time", same_each_time);
}

/// Sums that depend on the grouping: in the strategies that promise it, the grouping does not depend on the run.
fn same_each_time() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let input: Vec<f32> = (0..3_000_000).map(|i| (scan_tests::operators::mixed(i) as u32 as f32) * 1.0e-6).collect();
    for carry in [Carry::OneBlock, Carry::Hierarchical, Carry::Chained(TileNumbers::Counter)] {
        let strategy = Strategy { block: BlockScan::coarsened(Network::WarpShuffle), carry };
        let scan = scanner.scan(ops::sum()).strategy(strategy);
        let expected = bits(&scan.run(&input)?);
        for _ in 0..25 {
            ensure(bits(&scan.run(&input)?) == expected, || format!("two runs differ: {strategy}"))?;
        }
    }
    Ok(())
}

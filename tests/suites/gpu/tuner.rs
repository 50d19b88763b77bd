//! The search for the fastest shape.

use scan_runtime::{DiskCache, ScanOp, Scanner, TuningStep, scan_op};

use crate::{Trials, ensure};

/// Used by one test only, so that no other has its shape changed.
#[derive(Clone, Copy)]
struct Rotation;

/// Turns of an angle, in 1/1000 of a turn.
#[scan_op]
impl ScanOp for Rotation {
    type Element = u16;
    const IDENTITY: u16 = 0;
    fn combine(a: u16, b: u16) -> u16 {
        ((a as u32 + b as u32) % 1000_u32) as u16
    }
}

pub(crate) fn add(trials: &mut Trials) {
    trials.add("large_a_tuned_shape_is_kept", || {
        const LEN: usize = 200_003;
        let folder = std::env::temp_dir().join(format!("scan-tests-tuner-{}", std::process::id()));
        let scanner = || Scanner::builder().device(0).cache(DiskCache::at(&folder)).build();
        let tuning = {
            let scanner = scanner()?;
            let input: Vec<u16> = (0..LEN).map(|i| (i % 997) as u16).collect();
            let scan = scanner.scan(Rotation);
            let mut told = Vec::new();
            let tuning = scan.tune_with(&input, |progress| told.push((progress.step, progress.done, progress.of)))?;
            println!("{tuning}");
            // Each step counts up to its end, one step after the other.
            ensure(told.is_sorted() && told.iter().all(|(_, done, of)| done <= of), || format!("{told:?}"))?;
            let ends = told.iter().filter(|(_, done, of)| done == of).map(|&(step, ..)| step).collect::<Vec<_>>();
            let steps = [TuningStep::Compiling, TuningStep::Measuring, TuningStep::Comparing];
            ensure(ends == steps, || format!("{ends:?}"))?;
            let expected = Scanner::cpu().scan(Rotation).run(&input)?;
            ensure(scan.run(&input)? == expected, || "the tuned scan is wrong".to_owned())?;
            for shape in &tuning.shapes {
                let output = scanner.scan(Rotation).overrides(shape.overrides).run(&input)?;
                ensure(output == expected, || format!("wrong:\n{}", shape.plan))?;
            }
            tuning
        };
        ensure(tuning.shapes.len() > 10, || format!("{} shapes", tuning.shapes.len()))?;
        ensure(tuning.failures.is_empty(), || format!("{:?}", tuning.failures))?;
        let best = &tuning.shapes[0];
        ensure(best.default != tuning.kept, || "a shape that is better than the default is kept".to_owned())?;
        // Another scanner stands for another process.
        let plans = scanner()?.scan(Rotation).plan()?;
        let plan = plans.for_len(LEN as u64);
        ensure((plan.threads, plan.run) == (best.plan.threads, best.plan.run), || format!("{plan}\n{tuning}"))?;
        std::fs::remove_dir_all(&folder)?;
        Ok(())
    });
}

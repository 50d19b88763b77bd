//! Calls over host memory where the scanner chooses the side: those that are faster on the CPU do nothing on the
//! device.

use scan_runtime::{Axis, HostMemory, Scanner, arrays, gallery::quaternions::Attitude, ops};
use scan_tests::{driver, gallery::Example};

use crate::kinds::{FEW, Kinds, MANY, Outcome, floats};

fn choosing() -> Result<Scanner, scan_runtime::Error> {
    Scanner::builder().device(0).no_cache().host_memory(HostMemory::Faster).build()
}

/// A call that does nothing on the device, and gives this.
fn on_cpu<T: PartialEq>(what: &str, expected: &T, call: impl FnOnce() -> Result<T, scan_runtime::Error>) -> Outcome {
    let (result, record) = driver::record(call);
    match result? == *expected {
        true if record.is_empty() => Ok(()),
        true => Err(format!("{what}: the device has done\n{record}").into()),
        false => Err(format!("{what}: another result").into()),
    }
}

pub(crate) fn add(kinds: &mut Kinds) {
    kinds.refused("sides_light_operators_stay_on_the_cpu", |_| {
        let (chosen, cpu) = (choosing()?, Scanner::cpu());
        let [sums, plain] = [&chosen, &cpu].map(|scanner| scanner.scan(ops::sum::<f32>()));
        let [totals, plain_totals] = [&chosen, &cpu].map(|scanner| scanner.reduce(ops::sum::<f32>()));
        let (few, many) = (floats(FEW), floats(MANY));
        assert!(sums.backend_for(MANY).to_string().starts_with("CPU"), "{}", sums.backend_for(MANY));
        on_cpu("few", &plain.run(&few)?, || sums.run(&few))?;
        on_cpu("many", &plain.run(&many)?, || sums.run(&many))?;
        let mut buffer = many.clone();
        on_cpu("in place", &(), || sums.run_in_place(&mut buffer))?;
        assert!(buffer == plain.run(&many)?);
        let (values, keys) = (floats(10), (0..FEW as u32).map(|index| index / 7).collect::<Vec<_>>());
        on_cpu("keys", &plain.by_keys(&keys).run(&few)?, || sums.by_keys(&keys).run(&few))?;
        let rows = |scan: &scan_runtime::Scan<_>| scan.rows(100).init_each(&values).with_totals().run(&few);
        on_cpu("rows", &rows(&plain)?, || rows(&sums))?;
        let axis = Axis::of(&[10, 100], 0)?;
        on_cpu("an axis", &plain.along(axis.clone()).run(&few)?, || sums.along(axis.clone()).run(&few))?;
        on_cpu("a reduction", &plain_totals.run(&few)?, || totals.run(&few))?;
        let offsets = [0_u32, 10, 10, 999];
        on_cpu("offsets", &plain_totals.by_offsets(&offsets).run(&few)?, || totals.by_offsets(&offsets).run(&few))?;
        on_cpu("columns", &plain_totals.along(axis.clone()).run(&few)?, || totals.along(axis).run(&few))?;
        let [counted, expected] = [&chosen, &cpu].map(|scanner| scanner.scan(ops::sum::<u64>()));
        let mut results = vec![0; FEW];
        expected.run_into(arrays::indices(), &mut results)?;
        let mut found = vec![0; FEW];
        on_cpu("indices", &(), || counted.run_into(arrays::indices(), &mut found))?;
        assert_eq!(found, results);
        let handle = sums.prepare(FEW)?;
        on_cpu("a handle", &plain.run(&few)?, || handle.run(&few))
    });
    kinds.refused("sides_heavy_operators_leave_the_cpu", |_| {
        let scan = choosing()?.scan(Attitude);
        let (few, many) = (Attitude::input(16), Attitude::input(MANY));
        assert!(scan.backend_for(few.len()).to_string().starts_with("CPU"), "{}", scan.backend_for(few.len()));
        assert!(scan.backend_for(MANY).to_string().starts_with("CUDA device 0"), "{}", scan.backend_for(MANY));
        on_cpu("few", &Scanner::cpu().scan(Attitude).run(&few)?, || scan.run(&few))?;
        let (result, record) = driver::record(|| scan.run(&many));
        result?;
        assert!(record.contains("launch "), "many: nothing was launched\n{record}");
        // A handle has one side for all of its runs.
        let handle = scan.prepare(MANY)?;
        let (result, record) = driver::record(|| handle.run(&few));
        result?;
        assert!(record.contains("launch "), "a handle for many: nothing was launched\n{record}");
        Ok(())
    });
}

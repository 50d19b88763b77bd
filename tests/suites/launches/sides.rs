//! Calls over host memory where the scanner chooses the side: those that are faster on the CPU do nothing on the
//! device.

use scan_runtime::{
    Axis, HostMemory, PageLocked, Scanner, Staging, arrays,
    gallery::quaternions::Attitude,
    ndarray::{ArrayView2, ArrayViewMut2},
    ops,
};
use scan_tests::{columns::Recurrence, driver, gallery::Example};

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

/// A call that launches a kernel.
fn on_device<T>(what: &str, call: impl FnOnce() -> Result<T, scan_runtime::Error>) -> Outcome {
    let (result, record) = driver::record(call);
    result?;
    match record.contains("launch ") {
        true => Ok(()),
        false => Err(format!("{what}: nothing was launched\n{record}").into()),
    }
}

fn page_locked() -> Outcome {
    let scanner = choosing()?;
    let (sums, plain) = (scanner.scan(ops::sum::<f32>()), Scanner::cpu().scan(ops::sum::<f32>()));
    let many = floats(MANY);
    let locked = PageLocked::from_slice(&scanner, &many)?;
    let mut locked_sums = PageLocked::filled(&scanner, 0.0, MANY)?;
    assert!(sums.backend_for(MANY).to_string().starts_with("CPU"), "{}", sums.backend_for(MANY));
    let expected = plain.run(&many)?;
    on_cpu("vectors", &expected, || sums.run(&many))?;
    on_device("both", || sums.run_into(&locked, &mut locked_sums))?;
    on_device("slices", || sums.run_into(&locked[1..], &mut locked_sums[1..]))?;
    on_device("in place", || sums.run_in_place(&mut locked_sums))?;
    let with_initial = sums.clone().include_initial().init(1.0);
    on_device("with the initial value", || with_initial.run(&locked))?;
    on_device("from it", || with_initial.run_into(&locked[1..], &mut vec![0.0; MANY]))?;
    on_device("to it", || with_initial.run_into(&many[1..], &mut locked_sums))?;
    on_device("along an axis", || sums.along(Axis::of(&[1000, 1000], 0)?).run_into(&locked, &mut locked_sums))?;
    let shape = (1000, 1000);
    let (array, locked_array) = (ArrayView2::from_shape(shape, &many)?, ArrayView2::from_shape(shape, &locked)?);
    on_cpu("an array", &plain.along(0).run(array)?, || sums.along(0).run(array))?;
    let results = ArrayViewMut2::from_shape(shape, &mut locked_sums)?;
    on_device("an array in page-locked memory", || sums.along(0).run(locked_array))?;
    on_device("into an array in page-locked memory", || sums.along(0).run_into(array, results))?;
    on_device("a reduction", || scanner.reduce(ops::sum::<f32>()).run(&locked))?;
    // Each field counts.
    let pairs = scanner.scan(Recurrence);
    let is_on_device = |len: usize| -> Result<[bool; 3], scan_runtime::Error> {
        let (gates, tokens) = (vec![1_u32; len], vec![1_u32; len]);
        let (locked_gates, mut results) =
            (PageLocked::from_slice(&scanner, &gates)?, PageLocked::filled(&scanner, 0, len)?);
        let [vectors, one, all] = [
            driver::record(|| pairs.run((&gates, &tokens)).map(drop)),
            driver::record(|| pairs.run((&locked_gates, &tokens)).map(drop)),
            driver::record(|| pairs.run_into((&locked_gates, &locked_gates), &mut results)),
        ];
        let launched =
            |(result, record): (Result<(), scan_runtime::Error>, String)| result.map(|()| record.contains("launch "));
        Ok([launched(vectors)?, launched(one)?, launched(all)?])
    };
    let sides = (1..=20).map(|tens| is_on_device(tens * 10_000)).collect::<Result<Vec<_>, _>>()?;
    for expected in [[false, false, false], [false, false, true], [false, true, true]] {
        assert!(sides.contains(&expected), "never {expected:?}: {sides:?}");
    }
    // What kernels read where the host has copied it is copied by the host.
    let mapping = Scanner::builder().staging(Staging::default().with_mapped_bytes(usize::MAX));
    let mapping = mapping.device(0).no_cache().host_memory(HostMemory::Faster).build()?.scan(ops::sum::<f32>());
    on_cpu("arrays that are not copied to the device", &(), || mapping.run_into(&locked, &mut locked_sums))?;
    assert!(*locked_sums == *expected);
    // A handle has one side, whatever its runs bring.
    let handle = sums.prepare(MANY)?;
    on_cpu("a handle", &(), || handle.run_into(&locked, &mut locked_sums))?;
    assert!(*locked_sums == *expected);
    Ok(())
}

fn ranges() -> Outcome {
    let (chosen, cpu) = (choosing()?, Scanner::cpu());
    let [sum, plain] = [&chosen, &cpu].map(|scanner| scanner.reduce(ops::sum::<f32>()));
    let (few, many) = (floats(FEW), floats(MANY));
    // Of many elements, few are reduced.
    let (begins, ends) = ([10_u32, 5], [20, 10]);
    on_device("all", || sum.by_ranges(&[0_u32], &[MANY as u32]).run(&many))?;
    assert!(!sum.backend_for(MANY).to_string().starts_with("CPU"), "{}", sum.backend_for(MANY));
    let part = sum.by_ranges(&begins, &ends);
    assert!(part.backend_for(MANY).to_string().starts_with("CPU"), "{}", part.backend_for(MANY));
    on_cpu("a part", &plain.by_ranges(&begins, &ends).run(&many)?, || part.run(&many))?;
    let handle = part.prepare(MANY)?;
    on_cpu("a handle", &plain.by_ranges(&begins, &ends).run(&many)?, || handle.by_ranges(&begins, &ends).run(&many))?;
    // Few elements are reduced many times.
    let (begins, ends) = (vec![0_u32; FEW], vec![FEW as u32; FEW]);
    assert!(sum.backend_for(FEW).to_string().starts_with("CPU"), "{}", sum.backend_for(FEW));
    let again = sum.by_ranges(&begins, &ends);
    assert!(!again.backend_for(FEW).to_string().starts_with("CPU"), "{}", again.backend_for(FEW));
    on_device("again and again", || again.run(&few))
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
        on_device("many", || scan.run(&many))?;
        // A handle has one side for all of its runs.
        let handle = scan.prepare(MANY)?;
        on_device("a handle for many", || handle.run(&few))
    });
    kinds.refused("sides_page_locked_memory_leaves_the_cpu_earlier", |_| page_locked());
    kinds.refused("sides_ranges_count_by_their_elements", |_| ranges());
}

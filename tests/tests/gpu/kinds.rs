//! Kinds of results: the exclusive one beside the inclusive one, and one more than there are elements.

use scan_codegen::ScanSpec;
use scan_runtime::{Scanner, ops};
use scan_tests::{
    lifting::{INITIAL_VALUE, Lifting, Wide, inputs},
    operators::{bits, mixed},
    reference,
};

use crate::{Outcome, Trials, ensure};

/// Lengths of every range.
const LENGTHS: [usize; 6] = [1, 33, 4_097, 100_003, 1_500_007, 20_000_003];

pub(crate) fn add(trials: &mut Trials) {
    trials.add("exclusive_and_inclusive_results", both);
    trials.add("offsets_from_counts", offsets);
}

/// Both results in one launch: in host memory in one array, in device memory in two.
fn both() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for (turn, len) in LENGTHS.into_iter().enumerate() {
        let input = inputs(len);
        let factors = stream.clone_htod(&input.iter().map(|x| x.a).collect::<Vec<_>>())?;
        let summands = stream.clone_htod(&input.iter().map(|x| x.b).collect::<Vec<_>>())?;
        let (reversed, initial_value) = (turn % 2 == 1, (turn % 3 == 0).then_some(INITIAL_VALUE));
        let spec = |spec: ScanSpec| if reversed { spec.reverse() } else { spec };
        let scan = scanner.scan(ops::with_exclusive(Lifting));
        let scan = if reversed { scan.reverse() } else { scan };
        let scan = initial_value.iter().fold(scan, |scan, value| scan.init(*value));
        let [exclusive, inclusive] = [ScanSpec::exclusive(), ScanSpec::inclusive()]
            .map(|kind| reference::scan_as(&Lifting, &spec(kind), initial_value, &input, None));
        let right = |found: (Vec<Wide>, Vec<Wide>), memory: &str| {
            let same = bits(&found.0) == bits(&exclusive) && bits(&found.1) == bits(&inclusive);
            ensure(same, || format!("{memory}, {len} elements, reversed: {reversed}"))
        };
        right(scan.run(&input)?.iter().map(|result| (result.exclusive, result.inclusive)).unzip(), "host memory")?;
        let (mut before, mut after) = (stream.clone_htod(&inclusive)?, stream.clone_htod(&exclusive)?);
        scan.on(&stream).columns().run_into((&factors, &summands), (&mut before, &mut after))?;
        right((stream.clone_dtoh(&before)?, stream.clone_dtoh(&after)?), "device memory")?;
    }
    Ok(())
}

/// The results of an exclusive scan and the total side by side in one array, by a call and by a handle, from either end.
fn offsets() -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let stream = scanner.context().ok_or("no context")?.new_stream()?;
    for len in LENGTHS {
        let counts: Vec<u32> = (0..len as u64).map(|i| mixed(i) as u32 % 5).collect();
        let device_counts = stream.clone_htod(&counts)?;
        let mut expected = vec![0_u32; len + 1];
        counts.iter().enumerate().for_each(|(index, count)| expected[index + 1] = expected[index] + count);
        let sums = scanner.scan(ops::sum()).exclusive();
        let handle = sums.on(&stream).prepare_with_total(len)?;
        for prepared in [false, true] {
            let mut offsets = stream.clone_htod(&vec![u32::MAX; len + 1])?;
            let (mut begins, mut end) = offsets.split_at_mut(len);
            match prepared {
                true => handle.run_into_with_total(&device_counts, &mut begins, &mut end)?,
                false => sums.on(&stream).run_into_with_total(&device_counts, &mut begins, &mut end)?,
            }
            ensure(stream.clone_dtoh(&offsets)? == expected, || format!("{len} counts, prepared: {prepared}"))?;
        }
        let mut rests = stream.clone_htod(&vec![u32::MAX; len + 1])?;
        let (mut all, mut behind) = rests.split_at_mut(1);
        sums.clone().reverse().on(&stream).run_into_with_total(&device_counts, &mut behind, &mut all)?;
        let expected: Vec<u32> = expected.iter().map(|offset| expected[len] - offset).collect();
        ensure(stream.clone_dtoh(&rests)? == expected, || format!("{len} counts from the end"))?;
    }
    Ok(())
}

//! Every strategy, on the operators that tell the most: the interval monoid, which proves a network for all others, one of
//! eight bytes, one of thirty-six whose statuses take several packets, the smallest and the largest.

use scan_runtime::{Strategy, ops};
use scan_tests::{
    configure,
    operators::{Interval, MatrixProduct, PolynomialHash, TestOperator, first_difference},
    reference::WAYS,
    strategies,
};

use crate::{
    Outcome, Trials,
    cases::{Case, LONGEST},
    ensure,
    older::scanner,
};

pub(crate) fn add(trials: &mut Trials) {
    for strategy in strategies::all().filter(|&strategy| trials.can_have(strategy)).collect::<Vec<_>>() {
        trials.add(format!("ladder: {strategy}"), move || {
            climb::<Interval>(strategy, &[1, 2, 31, 32, 33, 63, 64, 65, 1_019, 4_101], Some(32))?;
            climb::<PolynomialHash>(strategy, &[33, 1_024, 4_101], Some(64))?;
            match strategies::takes_small_elements_only(strategy) {
                true => climb::<MatrixProduct<4>>(strategy, &[65, 200], Some(32)),
                false => climb::<MatrixProduct<8>>(strategy, &[65, 200], Some(32)),
            }
        });
        trials.add(format!("large ladder: {strategy}"), move || {
            climb::<Interval>(strategy, &[1_023, 1_024, 1_025, 2_049, 65_537, 786_437, 1_048_577, LONGEST], None)?;
            climb::<ops::Sum<f32>>(strategy, &[1_048_577, LONGEST], None)?;
            climb::<ops::Sum<u8>>(strategy, &[1_048_577, LONGEST], None)?;
            climb::<MatrixProduct<3>>(strategy, &[65_537, 1_048_577], None)
        });
    }
    if trials.can_have(strategies::LOOK_AHEAD) {
        trials.add("large_elements: look-ahead", large_elements);
    }
}

/// Elements so large that blocks of look-ahead form groups, over several rounds.
fn large_elements() -> Outcome {
    climb::<MatrixProduct<4>>(strategies::LOOK_AHEAD, &[65_537, 300_007], None)?;
    climb::<MatrixProduct<5>>(strategies::LOOK_AHEAD, &[65_537, 300_007], None)?;
    climb::<MatrixProduct<8>>(strategies::LOOK_AHEAD, &[65_537, 300_007], None)
}

/// Scans of these lengths in all four ways; of those that are longer than the strategy or the case can be, the longest that
/// can.
fn climb<Op: TestOperator>(strategy: Strategy, lengths: &[usize], threads: Option<u32>) -> Outcome {
    let scanner = scanner()?;
    let case = Case::<Op>::shared();
    for (place, way) in WAYS.into_iter().enumerate() {
        let scan = configure::<Op>(&scanner, way).strategy(strategy);
        let scan = match threads {
            Some(threads) => scan.threads(threads),
            None => scan,
        };
        let longest = case.longest().min(usize::try_from(scan.plan()?.longest().max_len).unwrap_or(usize::MAX));
        let mut lengths: Vec<_> = lengths.iter().map(|&len| len.min(longest)).collect();
        lengths.dedup();
        for len in lengths {
            let wrong = first_difference(&scan.run(case.input(len))?, case.expected(place, len));
            ensure(wrong.is_none(), || {
                format!("{}, {way:?}, length {len}: wrong from {wrong:?} on", std::any::type_name::<Op>())
            })?;
        }
    }
    Ok(())
}

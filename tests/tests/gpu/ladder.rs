//! Every strategy, on the operators that tell the most: the interval monoid, which proves a network for all others, one of
//! eight bytes, one of thirty-six whose messages take several packets, the smallest and the largest.

use scan_runtime::{Carry, Scanner, Strategy, TileNumbers, ops};
use scan_tests::{
    configure,
    operators::{Interval, MatrixProduct, PolynomialHash, TestOperator, bits, inputs},
    reference::{self, WAYS},
    strategies,
};

use crate::{Outcome, Trials, ensure};

pub(crate) fn add(trials: &mut Trials) {
    for strategy in strategies::all() {
        trials.add(format!("ladder: {strategy}"), move || {
            climb::<Interval>(strategy, &[1, 2, 31, 32, 33, 63, 64, 65, 1_019, 4_101], Some(32))?;
            climb::<PolynomialHash>(strategy, &[33, 1_024, 4_101], Some(64))?;
            climb::<MatrixProduct<8>>(strategy, &[65, 200], Some(32))
        });
        trials.add(format!("large ladder: {strategy}"), move || {
            let longest = match strategy.carry {
                Carry::OneBlock => 65_537,
                Carry::Chained(TileNumbers::BlockIndex) => 10_000,
                _ => 786_437,
            };
            climb::<Interval>(strategy, &[1_023, 1_024, 1_025, 2_049, longest], None)?;
            climb::<ops::Sum<f32>>(strategy, &[longest], None)?;
            climb::<ops::Sum<u8>>(strategy, &[longest], None)?;
            climb::<MatrixProduct<3>>(strategy, &[longest / 10], None)
        });
    }
}

fn climb<Op: TestOperator>(strategy: Strategy, lengths: &[usize], threads: Option<u32>) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    let input = inputs::<Op>(lengths.iter().copied().max().unwrap_or(0));
    for way in WAYS {
        let scan = configure::<Op>(&scanner, way).strategy(strategy);
        let scan = match threads {
            Some(threads) => scan.threads(threads),
            None => scan,
        };
        let expected = bits(&reference::scan(&Op::new(), way.0, way.1.then(Op::initial_value), &input));
        for &len in lengths {
            let bytes = len * size_of::<Op::Item>();
            let result = bits(&scan.run(&input[..len])?);
            let wrong = result.iter().zip(&expected).position(|(result, expected)| result != expected);
            ensure(wrong.is_none() && result.len() == bytes, || {
                let index = wrong.map(|byte| byte / size_of::<Op::Item>());
                format!("{}, {way:?}, length {len}: wrong from {index:?} on", std::any::type_name::<Op>())
            })?;
        }
    }
    Ok(())
}

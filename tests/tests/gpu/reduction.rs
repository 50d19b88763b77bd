//! Reductions, and the total of a scan, against a plain loop.

use scan_runtime::{BlockScan, Network, Reduction, ScanKind, Scanner};
use scan_tests::{
    configure,
    operators::{Interval, MatrixProduct, PolynomialHash, TestOperator, bits, inputs},
    reference, strategies,
};

use crate::{Outcome, Trials, ensure};

pub(crate) fn add(trials: &mut Trials) {
    for reduction in [Reduction::Divergent, Reduction::Contiguous, Reduction::Coarsened] {
        trials.add(format!("reduction: {reduction}"), move || {
            reduce::<Interval>(reduction, &[0, 1, 2, 33, 1_024, 2_049, 4_101])?;
            reduce::<PolynomialHash>(reduction, &[0, 1, 1_019])?;
            reduce::<MatrixProduct<8>>(reduction, &[0, 1, 200])
        });
        trials
            .add(format!("large reduction: {reduction}"), move || reduce::<Interval>(reduction, &[65_537, 3_000_001]));
    }
    trials.add("total", || {
        let block = BlockScan::coarsened(Network::WarpShuffle);
        for strategy in strategies::all().filter(|strategy| strategy.block == block) {
            let scanner = Scanner::cuda(0)?;
            for (len, with_initial_value) in [(0, true), (1, false), (100, true), (1_019, false), (5_000, true)] {
                let input = inputs::<PolynomialHash>(len);
                let scan = configure::<PolynomialHash>(&scanner, (ScanKind::Exclusive, with_initial_value));
                let scan = scan.strategy(strategy).threads(32);
                let (output, total) = scan.run_with_total(&input)?;
                let expected = sum_of::<PolynomialHash>(with_initial_value, &input);
                ensure(total == expected, || format!("{strategy}, length {len}: {total:?}, not {expected:?}"))?;
                ensure(output == scan.run(&input)?, || format!("{strategy}, length {len}: the scan is another"))?;
            }
        }
        Ok(())
    });
}

fn sum_of<Op: TestOperator>(with_initial_value: bool, input: &[Op::Item]) -> Option<Op::Item> {
    let initial_value = with_initial_value.then(Op::initial_value);
    reference::scan(&Op::new(), ScanKind::Inclusive, initial_value, input).last().copied().or(initial_value)
}

fn reduce<Op: TestOperator>(reduction: Reduction, lengths: &[usize]) -> Outcome {
    let scanner = Scanner::cuda(0)?;
    for &len in lengths {
        let input = inputs::<Op>(len);
        for with_initial_value in [false, true] {
            let reduce = scanner.reduce(Op::new()).reduction(reduction);
            let reduce = if with_initial_value { reduce.init(Op::initial_value()) } else { reduce };
            let expected =
                sum_of::<Op>(with_initial_value, &input).or_else(|| Op::new().identity()).ok_or("no identity")?;
            let sum = reduce.run(&input)?;
            ensure(bits(&[sum]) == bits(&[expected]), || format!("length {len}, initial value {with_initial_value}"))?;
        }
    }
    Ok(())
}
